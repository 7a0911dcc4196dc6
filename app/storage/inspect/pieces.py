"""Read pieces of a disk past the page cache, one after the other or several at once."""

from __future__ import annotations

import errno
import hashlib
import mmap
import os
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Final, TypeVar

from app.domain.messages.message import say
from app.domain.units import MIB
from app.storage.inspect.sampling import SAMPLE_BYTES

T = TypeVar("T")

Progress = Callable[[int, int], None]
"""Called with the amount done and the total, in any unit; an exception ends the reading."""

_PIECE: Final = MIB
ZEROS: Final = bytes(_PIECE)
_AT_ONCE: Final = 4
"""Concurrent requests to a disk: enough for an SSD, and a rotating disk orders them by itself."""
_WINDOW: Final = 128
_DIGEST_BYTES: Final = 16


def ignore_progress(_done: int, _all: int) -> None:
    """Ignore the progress."""


class PieceReader:
    """Read pieces of a disk through one buffer that is aligned as O_DIRECT requires."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._buffer = mmap.mmap(-1, _PIECE)

    def __enter__(self) -> PieceReader:
        return self

    def __exit__(self, *_: object) -> None:
        self._buffer.close()

    def pieces(self, offset: int, length: int) -> Generator[memoryview, None, None]:
        """Yield `length` bytes in pieces, each valid until the next one is requested.

        Raises:
            OSError: an error of the disk, or an early end of it.
        """
        done = 0
        while done < length:
            wanted = min(_PIECE, length - done)
            with memoryview(self._buffer) as view, view[:wanted] as part:
                count = os.preadv(self._fd, [part], offset + done)
                if count <= 0:
                    raise OSError(errno.EIO, say("disk-ends", offset=offset + done))
                with part[:count] as piece:
                    yield piece
            done += count

    def read(self, offset: int, length: int) -> bytes:
        """Return `length` bytes."""
        return b"".join(bytes(piece) for piece in self.pieces(offset, length))

    def first_data(self, offset: int, length: int, progress: Progress = ignore_progress) -> int | None:
        """Return the position, from `offset` on, of the first byte that is not zero; None for only zeros."""
        position = 0
        with closing(self.pieces(offset, length)) as pieces:
            for piece in pieces:
                if not ZEROS.startswith(piece):
                    return position + (first_data(bytes(piece)) or 0)
                position += len(piece)
                progress(position, length)
        return None

    def digest(self, offset: int) -> str:
        """Return a digest of one sample; empty if it is all zeros."""
        data = self.read(offset, SAMPLE_BYTES)
        return "" if ZEROS.startswith(data) else digest_of(data)


def digest_of(data: bytes) -> str:
    """Return a short digest of a sample."""
    return hashlib.blake2b(data, digest_size=_DIGEST_BYTES).hexdigest()


def first_data(data: bytes) -> int | None:
    """Return the position of the first byte that is not zero; None if all are zeros."""
    for start in range(0, len(data), _PIECE):
        piece = data[start : start + _PIECE]
        if not ZEROS.startswith(piece):
            return start + len(piece) - len(piece.lstrip(b"\0"))
    return None


def at_each(
    fd: int,
    offsets: Sequence[int],
    look: Callable[[PieceReader, int], T],
    progress: Progress = ignore_progress,
) -> list[T]:
    """Return the results of `look` at each offset; several run at once, started in the order of the disk.

    Args:
        fd: the disk.
        offsets: ascending.
        look: called in other threads, with a reader of that thread and the offset.
        progress: called now and then, in this thread.

    Raises:
        OSError: something cannot be read.
    """

    def work(part: Sequence[int]) -> list[T]:
        with PieceReader(fd) as reader:
            return [look(reader, offset) for offset in part]

    found: list[T] = []
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for start in range(0, len(offsets), _WINDOW):
            window = offsets[start : start + _WINDOW]
            parts = list(pool.map(work, [window[number::_AT_ONCE] for number in range(_AT_ONCE)]))
            found += [parts[number % _AT_ONCE][number // _AT_ONCE] for number in range(len(window))]
            progress(len(found), len(offsets))
    return found
