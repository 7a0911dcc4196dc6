"""What lies on a disk: its first and last 16 MiB and samples in between, read past the page cache.

Only reads. Blank means: every byte of both ends is zero, and so is every sample. What belongs to our own
partition table and partition is left out.
"""

from __future__ import annotations

import errno
import hashlib
import mmap
import os
import random
import stat
import struct
import uuid
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Final

from app.domain.plan import PARTITION_NAME_PREFIX, PARTITION_TYPE
from app.domain.text import tr
from app.domain.units import GIB, KIB, MIB
from app.storage.places import Places, number_of
from app.storage.signatures import recognise
from app.storage.snapshot import Content, Medium, Reading, read, unreadable

EDGE_BYTES: Final = 16 * MIB
RANDOM_SAMPLES: Final = 64
SAMPLE_BYTES: Final = 64 * KIB
TELLING_OFFSETS: Final = (64 * MIB, 65 * MIB, 128 * MIB, 129 * MIB, 256 * GIB)
"""Copies of superblocks: btrfs at 64 MiB and 256 GiB, ext4 at 128 MiB; the same behind a first MiB."""

_PIECE: Final = MIB
_ZEROS: Final = bytes(_PIECE)
_GPT_HEADER_BYTES: Final = 92
_ENTRY_BYTES: Final = 128
_MOST_ENTRIES: Final = 128


@contextmanager
def opened_disk(places: Places, name: str, number: str, flags: int = 0) -> Iterator[int]:
    """Open the node of a disk for reading and make sure that it is this disk's; yield the descriptor.

    Raises:
        OSError: it cannot be opened, or the node is not the disk's.
    """
    node = places.dev / name.replace("!", "/")
    fd = os.open(node, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW | flags)
    try:
        status = os.fstat(fd)
        if not stat.S_ISBLK(status.st_mode) or number_of(status) != number:
            raise OSError(
                errno.ENODEV, tr("the node is not that of {number}").format(number=number), str(node)
            )
        yield fd
    finally:
        os.close(fd)


def read_exclusive(places: Places, name: str, number: str) -> Reading[str]:
    """Ask the kernel for the disk exclusively and give it back; empty where it was given.

    The kernel refuses while the disk or a partition is mounted in any namespace, swap, a member, a vdev.
    """
    try:
        with opened_disk(places, name, number, os.O_EXCL):
            return read("")
    except PermissionError as err:
        return places.denied(f"{err.filename}: {err.strerror}")
    except OSError as err:
        if err.errno == errno.EBUSY:
            return read(tr("open({path}, O_EXCL): {reason}").format(path=err.filename, reason=err.strerror))
        return unreadable(f"{err.filename}: {err.strerror}")


def read_content(
    places: Places, name: str, number: str, medium: Medium, choose: random.Random | None = None
) -> Reading[Content]:
    """Read the ends of a disk and samples in between.

    Args:
        places: where device nodes are.
        name: kernel name.
        number: device number that the node must have.
        medium: size and logical block of the disk.
        choose: draws the samples; the system's own generator, so that nobody can foresee them.
    """
    try:
        with opened_disk(places, name, number, os.O_DIRECT) as fd:
            return read(content_of(fd, medium, choose or random.SystemRandom()))
    except PermissionError as err:
        return places.denied(f"{err.filename}: {err.strerror}")
    except (OSError, ValueError) as err:
        return unreadable(str(err))


def content_of(fd: int, medium: Medium, choose: random.Random) -> Content:
    """Return what an open disk (or a file that stands for one) holds.

    Raises:
        OSError: it cannot be read to its end.
    """
    size, block = medium.size_bytes, medium.logical_block_bytes
    edge = min(EDGE_BYTES, size // block * block)
    with _Reader(fd) as reader:
        if reader.first_data(0, edge) is None and reader.first_data(size - edge, edge) is None:
            offsets = _sample_offsets(size, block, choose)
            samples = tuple(each for each in offsets if reader.first_data(each, SAMPLE_BYTES) is not None)
            digest = _digest(b"", b"") if samples else ""
            return Content(samples=samples, sampled=len(offsets), digest=digest)
        head, tail = reader.read(0, edge), reader.read(size - edge, edge)
        own = _own_table(head, size, block)
        offsets = () if own else _sample_offsets(size, block, choose)
        samples = tuple(each for each in offsets if reader.first_data(each, SAMPLE_BYTES) is not None)
    if own:
        tail = _without_own(tail, size - edge, size, head, block)
        head = _without_own(head, 0, size, head, block)
    first, last = _first_data(head), _first_data(tail)
    edges = [] if first is None else [first]
    if last is not None and size - edge + last not in edges:
        edges.append(size - edge + last)
    signatures = recognise(head, tail, size) if edges else ()
    digest = _digest(head, tail) if (edges or samples) and not signatures else ""
    return Content(signatures, tuple(edges), samples, len(offsets), digest, own)


def _digest(head: bytes, tail: bytes) -> str:
    """Return the SHA-256 of what is not zero in both ends, each piece with its place.

    Most of what a filesystem leaves at the ends is zero, and comparing is far cheaper than hashing: this is
    asked of every disk before each step that writes to it.
    """
    digest = hashlib.sha256()
    for number, end in enumerate((head, tail)):
        view = memoryview(end)
        for start in range(0, len(end), SAMPLE_BYTES):
            piece = view[start : start + SAMPLE_BYTES]
            if not _ZEROS.startswith(piece):
                digest.update(struct.pack("<QQQ", number, start, len(piece)))
                digest.update(piece)
    return digest.hexdigest()


class _Reader:
    """Reads pieces of a disk through one buffer that is aligned as O_DIRECT wants it."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._buffer = mmap.mmap(-1, _PIECE)

    def __enter__(self) -> _Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self._buffer.close()

    def _pieces(self, offset: int, length: int) -> Generator[memoryview, None, None]:
        """Yield `length` bytes in pieces, each valid until the next one is asked for.

        Raises:
            OSError: an error of the disk, or fewer bytes than it should have.
        """
        done = 0
        while done < length:
            wanted = min(_PIECE, length - done)
            with memoryview(self._buffer) as view, view[:wanted] as part:
                count = os.preadv(self._fd, [part], offset + done)
                if count <= 0:
                    raise OSError(
                        errno.EIO, tr("the disk ends at byte {offset}").format(offset=offset + done)
                    )
                with part[:count] as piece:
                    yield piece
            done += count

    def read(self, offset: int, length: int) -> bytes:
        """Return `length` bytes."""
        return b"".join(bytes(piece) for piece in self._pieces(offset, length))

    def first_data(self, offset: int, length: int) -> int | None:
        """Return where the first byte that is not zero lies, from `offset` on; None for blank."""
        position = 0
        with closing(self._pieces(offset, length)) as pieces:
            for piece in pieces:
                if not _ZEROS.startswith(piece):
                    return position + (_first_data(bytes(piece)) or 0)
                position += len(piece)
        return None


def _first_data(data: bytes) -> int | None:
    """Return the position of the first byte that is not zero; None for blank."""
    for start in range(0, len(data), _PIECE):
        piece = data if len(data) <= _PIECE else data[start : start + _PIECE]
        if not _ZEROS.startswith(piece):
            return start + len(piece) - len(piece.lstrip(b"\0"))
    return None


def _sample_offsets(size: int, block: int, choose: random.Random) -> Sequence[int]:
    """Return where to look between the ends: at random, and where filesystems keep copies."""
    lowest, highest = EDGE_BYTES, size - EDGE_BYTES - SAMPLE_BYTES
    if highest <= lowest:
        return ()
    step = max(block, 4 * KIB)
    telling = (*TELLING_OFFSETS, *(size * part // 4 for part in (1, 2, 3)))
    offsets = {offset // step * step for offset in telling if lowest <= offset <= highest}
    offsets |= {choose.randrange(lowest, highest) // step * step for _ in range(RANDOM_SAMPLES)}
    return sorted(offsets)


def _entries(head: bytes, block: int) -> list[bytes] | None:
    """Return the used entries of the GPT at the beginning of a disk (UEFI 2.10, 5.3); None without one."""
    header = head[block : block + _GPT_HEADER_BYTES]
    if not header.startswith(b"EFI PART"):
        return None
    start, count, entry_bytes = struct.unpack_from("<QII", header, 72)
    if entry_bytes != _ENTRY_BYTES or count > _MOST_ENTRIES or start != 2:
        return None
    table = head[2 * block : 2 * block + count * _ENTRY_BYTES]
    return [
        entry
        for at in range(0, len(table), _ENTRY_BYTES)
        if any((entry := table[at : at + _ENTRY_BYTES])[:16])
    ]


def _own_table(head: bytes, size: int, block: int) -> bool:
    """Return whether the disk has a GPT with one partition, and that of pgFooting's type and name."""
    entries = _entries(head, block)
    if entries is None or len(entries) != 1:
        return False
    kind = str(uuid.UUID(bytes_le=entries[0][:16]))
    name = entries[0][56:128].decode("utf-16-le", errors="replace").partition("\0")[0]
    first, last = struct.unpack_from("<QQ", entries[0], 32)
    fits = 0 < first <= last < size // block
    return kind == PARTITION_TYPE and name.startswith(PARTITION_NAME_PREFIX) and fits


def _without_own(data: bytes, start: int, size: int, head: bytes, block: int) -> bytes:
    """Return data of a disk with our own table with zeros where table and partition are."""
    entry = (_entries(head, block) or [b""])[0]
    first, last = struct.unpack_from("<QQ", entry, 32)
    entry_blocks = _MOST_ENTRIES * _ENTRY_BYTES // block
    own = (
        (0, (2 + entry_blocks) * block),
        (first * block, (last + 1) * block),
        (size - (1 + entry_blocks) * block, size),
    )
    blanked = bytearray(data)
    for begin, end in own:
        low, high = max(begin - start, 0), min(end - start, len(data))
        if low < high:
            blanked[low:high] = bytes(high - low)
    return bytes(blanked)
