"""Choose the places to read between the ends of a disk, read them past the page cache, and judge the sample.

The space between the ends is cut into strata of equal length, and one piece is drawn at random in each. Data
in one piece of at least two strata's length covers some stratum wholly, or reaches into an end, which is read
whole (`certain_bytes`); so it includes a piece, and is found if no 64 KiB of it in a row are all zeros. Also
read are places that reveal a filesystem with an intact beginning.
"""

from __future__ import annotations

import errno
import functools
import hashlib
import itertools
import mmap
import os
import random
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from typing import Final, TypeVar

from app.domain.messages.message import say
from app.domain.text import GIB, KIB, MIB
from app.storage.inspect.signatures import MAGICS

EDGE_BYTES: Final = 16 * MIB
"""Length of each end, read whole: both copies of a GPT, labels of md and ZFS at an end, NTFS's last sector.
"""
SAMPLE_BYTES: Final = 64 * KIB
STRATUM_BYTES: Final = GIB
LEAST_STRATA: Final = 256
MOST_PIECES: Final = 20_000
"""Takes some minutes on a rotating disk; from 20 TB on strata are longer than `STRATUM_BYTES`."""

PARTITION_STARTS: Final = (0, MIB, 16 * MIB, 17 * MIB, 32 * MIB)
"""Usual starts of filesystems: a whole disk; the first partition; after Microsoft's reserved partition of 16
or 32 MiB; the data of LUKS2 with a detached header (16 MiB).
"""

_LEAST_STRATUM: Final = MIB
_STEP: Final = 4 * KIB
_SINGLE_COPIES: Final = (
    64 * KIB,  # btrfs, and its copies (btrfs-progs, disk-io.h: BTRFS_SUPER_MIRROR_SHIFT)
    64 * MIB,
    256 * GIB,
    256 * KIB,  # the second label of a ZFS vdev (OpenZFS, vdev_label.c)
    3 * GIB,  # NTFS's table of files, with clusters of 4 KiB (mkntfs.c)
    *(GIB << 2 * number for number in range(8)),  # OCFS2's copies (ocfs2_fs.h, OCFS2_BACKUP_SB_START)
)
_EXT_BLOCKS: Final = (KIB, 2 * KIB, 4 * KIB)


@dataclass(frozen=True, slots=True)
class Stratum:
    """A part of a disk in which one piece is read.

    Attributes:
        start: first byte.
        end: byte after the last one.
    """

    start: int
    end: int

    def draw(self, choose: random.Random, step: int) -> int:
        """Return the start of a random piece in the stratum, a multiple of `step`."""
        lowest = -(-self.start // step)
        return choose.randint(lowest, max(lowest, (self.end - SAMPLE_BYTES) // step)) * step


@dataclass(frozen=True, slots=True)
class SamplingPlan:
    """The places to read between the ends of a disk.

    Attributes:
        offsets: starts of pieces of `SAMPLE_BYTES`, ascending.
        certain_bytes: contiguous data of this size is found for certain, if no 64 KiB of it are all zeros; 0
            if there is nothing between the ends.
    """

    offsets: tuple[int, ...]
    certain_bytes: int


def step_of(block_bytes: int) -> int:
    """Return the granularity of places on a disk with such logical blocks."""
    return max(block_bytes, _STEP)


def strata_of(size_bytes: int) -> tuple[Stratum, ...]:
    """Return the strata between the ends, which are read whole; none if nothing is between them."""
    begin, end = EDGE_BYTES, size_bytes - EDGE_BYTES
    if end <= begin:
        return ()
    room = MOST_PIECES - len(revealing_places(size_bytes))
    wanted = max(LEAST_STRATA, -(-(end - begin) // STRATUM_BYTES))
    count = max(1, min(wanted, room, (end - begin) // _LEAST_STRATUM))
    bounds = [begin + (end - begin) * number // count for number in range(count + 1)]
    return tuple(Stratum(low, high) for low, high in itertools.pairwise(bounds))


def certain_bytes(strata: Sequence[Stratum]) -> int:
    """Return the length of contiguous data that covers one of these strata wholly, wherever it starts."""
    return 2 * max((each.end - each.start for each in strata), default=0)


def sampling_of(size_bytes: int, block_bytes: int, choose: random.Random) -> SamplingPlan:
    """Return the places to read between the ends of a disk.

    Args:
        size_bytes: of the disk.
        block_bytes: its logical block.
        choose: draws the pieces.
    """
    strata, step = strata_of(size_bytes), step_of(block_bytes)
    highest = size_bytes - EDGE_BYTES
    revealing = {
        place // step * step for place in revealing_places(size_bytes) if EDGE_BYTES <= place < highest
    }
    drawn = {each.draw(choose, step) for each in strata}
    return SamplingPlan(tuple(sorted(revealing | drawn)), certain_bytes(strata))


@functools.lru_cache(maxsize=64)
def revealing_places(size_bytes: int) -> frozenset[int]:
    """Return the places of superblocks and their copies of every known kind, for each usual partition start.

    Excludes the ends of a disk: both are read whole.
    """
    quarters = (size_bytes * part // 4 for part in (1, 2, 3))  # XFS groups begin about there (mkfs.xfs)
    found = {start + offset for start in PARTITION_STARTS for offset in _superblocks(size_bytes)}
    return frozenset(each for each in (*found, *quarters) if EDGE_BYTES <= each < size_bytes - EDGE_BYTES)


def _superblocks(size_bytes: int) -> Iterator[int]:
    """Yield pieces, counted from the start of a filesystem, that contain a superblock or a copy of one."""
    for magic in MAGICS:
        if magic.offset >= 0:
            yield magic.offset // SAMPLE_BYTES * SAMPLE_BYTES
    yield from _SINGLE_COPIES
    for block in _EXT_BLOCKS:
        group_bytes = 8 * block * block  # one block is the bitmap of a group's blocks
        yield from (group * group_bytes for group in _sparse_groups(size_bytes // group_bytes))


def _sparse_groups(last: int) -> Iterator[int]:
    """Yield the groups of ext2 to ext4 with a copy of the superblock (sparse_super): 1, powers of 3, 5, 7."""
    yield 1
    for base in (3, 5, 7):
        group = base
        while group <= last:
            yield group
            group *= base


# Read pieces of a disk past the page cache, one after the other or several at once.


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
