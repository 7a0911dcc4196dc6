"""Facts about files, without root: cached share, compressibility, attributes, compressed size.

Cached share: mincore(2) on a mapping of each file reports pages in the page cache, mapped or not; for files
that the caller neither owns nor may write it reports "all" (since Linux 5.2). ZFS uses its own cache, the
ARC, which reports only its total over all files, uncompressed (`uncompressed_size` of
/proc/spl/kstat/zfs/arcstats; OpenZFS, module/zfs/arc.c): an upper bound.

Compressibility: pieces of the files are compressed with libzstd at level 3, like ``zstd -3 -B128K``. libzstd
is loaded from the system, where Debian's dpkg and systemd, btrfs and PostgreSQL from 15 on need it anyway;
Python has a module for it from 3.14 on. The functions are stable since version 1.0 (zstd.h, "Simple API").

Attributes: as in lsattr(1). Source: ioctl_iflags(2), include/uapi/linux/fs.h.

Compressed size: FIEMAP (Linux, Documentation/filesystems/fiemap.rst) marks encoded extents, which on btrfs
means compressed (fs/btrfs/extent_io.c), and reports their uncompressed length. ZFS has no FIEMAP, but its
stat(2) blocks are the compressed size; on btrfs they are the uncompressed one (fs/btrfs/inode.c). The ioctl
of compsize, which knows the rest of btrfs, needs root.
"""

from __future__ import annotations

import array
import ctypes
import errno
import fcntl
import mmap
import os
import stat
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from app.domain.text import KIB, MIB, tr
from app.probes.base.backing_devices import Mount, mount_of
from app.probes.base.probe import ProbeUnavailable
from app.probes.sources.block_devices import parse_kstat

_AT_ONCE: Final = 64 * MIB
_RESIDENT: Final = bytes(value & 1 for value in range(256))
"""Only the lowest bit of mincore's answers is defined."""
_ARC: Final = Path("/proc/spl/kstat/zfs/arcstats")
_ARC_BYTES: Final = "uncompressed_size"


@contextmanager
def _opened(path: Path, *kinds: Callable[[int], bool]) -> Iterator[int]:
    """Open a file of one of these kinds, else a regular one.

    Raises:
        OSError: it cannot be read, or is of another kind.
    """
    # SECURITY: the runner may have more rights than the owner of the files: follow no link.
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not any(is_kind(os.fstat(file).st_mode) for is_kind in kinds or (stat.S_ISREG,)):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), str(path))
        yield file
    finally:
        os.close(file)


@dataclass(frozen=True, slots=True)
class CachedBytes:
    """How much of some files is cached.

    Attributes:
        data_bytes: size of all files.
        cached_bytes: cached part of it.
        is_bound: `cached_bytes` is an upper bound.
    """

    data_bytes: int = 0
    cached_bytes: int = 0
    is_bound: bool = False


def cached_bytes(
    folder: str,
    paths: Iterable[Path],
    find_mount: Callable[[str], Mount] = mount_of,
    arc: Path = _ARC,
) -> CachedBytes:
    """Return how much of some files is cached.

    Args:
        folder: contains the files.
        paths: of the files.
        find_mount: returns the mount of the folder.
        arc: statistics of the ZFS cache.

    Raises:
        ProbeUnavailable: the kernel does not report it.
        OSError: a file cannot be read, or is no regular file.
    """
    try:
        is_zfs = find_mount(folder).filesystem == "zfs"
    except LookupError as err:
        raise ProbeUnavailable(tr("the mount of {path} cannot be found").format(path=err)) from err
    data = cached = 0
    for path in paths:
        with _opened(path) as file:
            size = os.fstat(file).st_size
            data += size
            cached += 0 if is_zfs else _cached_of(file, size)
    if is_zfs:
        return CachedBytes(data, min(data, _in_arc(arc)), is_bound=True)
    return CachedBytes(data, min(data, cached))


def _cached_of(file: int, size: int) -> int:
    """Return how many bytes of a file are in cached pages; whole pages."""
    total = 0
    for start in range(0, size, _AT_ONCE):
        length = min(_AT_ONCE, size - start)
        # Private and writable, so that ctypes takes its address; nothing is ever written to it.
        with mmap.mmap(
            file, length, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE, offset=start
        ) as pages:
            total += _resident_pages(pages, length) * mmap.PAGESIZE
    return total


def _resident_pages(pages: mmap.mmap, length: int) -> int:
    """Return how many pages of a mapping are cached.

    Raises:
        ProbeUnavailable: the kernel does not report it.
    """
    answer = (ctypes.c_ubyte * -(-length // mmap.PAGESIZE))()
    first = ctypes.c_char.from_buffer(pages)
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        failed = libc.mincore(ctypes.c_void_p(ctypes.addressof(first)), ctypes.c_size_t(length), answer)
        reason = os.strerror(ctypes.get_errno())
    finally:
        del first  # a mapping that somebody points into cannot be closed
    if failed:
        raise ProbeUnavailable(tr("{label} failed: {reason}").format(label="mincore", reason=reason))
    return bytes(answer).translate(_RESIDENT).count(1)


def _in_arc(arc: Path) -> int:
    try:
        return int(parse_kstat(arc.read_bytes())[_ARC_BYTES])
    except (OSError, KeyError, ValueError) as err:
        reason = tr("ZFS does not report the contents of its cache ({error})")
        raise ProbeUnavailable(reason.format(error=err)) from err


LEVEL: Final = 3
"""Default level of the program zstd, of btrfs's ``compress=zstd`` and of ZFS's ``compression=zstd``."""
PIECE_BYTES: Final = 128 * KIB
"""The largest extent that btrfs compresses at once, and the default record size of ZFS."""
_MOST_PIECES: Final = 64
_LIBRARY: Final = "libzstd.so.1"


@dataclass(frozen=True, slots=True)
class SampledCompression:
    """Result of compressing samples of files.

    Attributes:
        sampled_bytes: size of all samples.
        compressed_bytes: size after compression.
        zstd_version: of the library, such as ``1.5.4``.
    """

    sampled_bytes: int = 0
    compressed_bytes: int = 0
    zstd_version: str = ""

    @property
    def ratio(self) -> float | None:
        """Their compression ratio, 2.0 for 2:1; None without samples."""
        if self.sampled_bytes <= 0 or self.compressed_bytes <= 0:
            return None
        return self.sampled_bytes / self.compressed_bytes


def sample_compression(paths: Iterable[Path]) -> SampledCompression:
    """Compress pieces that are spread evenly over files, each piece separately.

    Args:
        paths: regular files; the rest of a file after its last whole piece is ignored.

    Raises:
        ProbeUnavailable: there is no libzstd, or not one whole piece.
        OSError: a file cannot be read, or is no regular file.
    """
    zstd = _load()
    sampled = compressed = 0
    files = [(path, _whole_pieces(path)) for path in paths]
    for path, offsets in _spread(files):
        with _opened(path) as file:
            for offset in offsets:
                piece = os.pread(file, PIECE_BYTES, offset)
                sampled += len(piece)
                compressed += _compressed_size(zstd, piece)
    if not compressed:
        raise ProbeUnavailable(tr("the tables are too small to be sampled"))
    number = int(zstd.ZSTD_versionNumber())
    version = f"{number // 10_000}.{number // 100 % 100}.{number % 100}"
    return SampledCompression(sampled, compressed, version)


def _whole_pieces(path: Path) -> int:
    with _opened(path) as file:
        return os.fstat(file).st_size // PIECE_BYTES


def _spread(files: Sequence[tuple[Path, int]]) -> Iterator[tuple[Path, list[int]]]:
    """Yield each file with the offsets of its pieces, equally spaced over all files.

    Args:
        files: each with its number of whole pieces.
    """
    whole = sum(count for _, count in files)
    taken = min(whole, _MOST_PIECES)
    places = [number * whole // taken for number in range(taken)]
    before = 0
    for path, count in files:
        yield path, [(place - before) * PIECE_BYTES for place in places if 0 <= place - before < count]
        before += count


@cache
def _load() -> ctypes.CDLL:
    try:
        zstd = ctypes.CDLL(_LIBRARY)
        zstd.ZSTD_compressBound.restype = zstd.ZSTD_compress.restype = ctypes.c_size_t
        zstd.ZSTD_compressBound.argtypes = [ctypes.c_size_t]
        zstd.ZSTD_compress.argtypes = [
            ctypes.c_void_p,
            ctypes.c_size_t,
            ctypes.c_char_p,
            ctypes.c_size_t,
            ctypes.c_int,
        ]
        zstd.ZSTD_isError.argtypes = [ctypes.c_size_t]
    except (OSError, AttributeError) as error:
        raise ProbeUnavailable(tr("{program} is not installed").format(program=_LIBRARY)) from error
    return zstd


def _compressed_size(zstd: ctypes.CDLL, piece: bytes) -> int:
    room = ctypes.create_string_buffer(zstd.ZSTD_compressBound(len(piece)))
    size = int(zstd.ZSTD_compress(room, len(room), piece, len(piece), LEVEL))
    if zstd.ZSTD_isError(size):
        raise ProbeUnavailable(tr("{library} could not compress the data").format(library=_LIBRARY))
    return size


_FS_IOC_GETFLAGS: Final = 0x8008_6601 if array.array("l").itemsize == 8 else 0x8004_6601
"""_IOR('f', 1, long): the request has the size of a long, but returns an int (ioctl_iflags(2), NOTES)."""

LETTERS: Final = {"C": 0x0080_0000}
"""Attributes that options can set: FS_NOCOW_FL."""


def attributes_of(path: Path) -> frozenset[str]:
    """Return the letters of `LETTERS` that a file or folder has.

    Raises:
        OSError: it cannot be opened, is neither, or its filesystem has no attributes.
    """
    with _opened(path, stat.S_ISREG, stat.S_ISDIR) as file:
        flags = array.array("i", [0, 0])
        fcntl.ioctl(file, _FS_IOC_GETFLAGS, flags, True)  # noqa: FBT003 - the buffer is changed
    return frozenset(letter for letter, bit in LETTERS.items() if flags[0] & bit)


_FS_IOC_FIEMAP: Final = 0xC020660B
_HEADER: Final = struct.Struct("=QQIIII")
_EXTENT: Final = struct.Struct("=QQQQQIIII")
_SYNC: Final = 0x1
_LAST: Final = 0x1
_ENCODED: Final = 0x8
_EXTENTS_AT_ONCE: Final = 512
_STAT_BLOCK_BYTES: Final = 512


@dataclass(frozen=True, slots=True)
class StoredBytes:
    """Disk space of files.

    Attributes:
        logical_bytes: length of the contents.
        disk_bytes: blocks of stat(2); on btrfs those of the uncompressed data.
        encoded_bytes: part of `logical_bytes` in encoded extents; None if unknown.
        extents: number of extents; None if unknown.
    """

    logical_bytes: int = 0
    disk_bytes: int = 0
    encoded_bytes: int | None = None
    extents: int | None = None


def stored_bytes(paths: Iterable[Path]) -> StoredBytes:
    """Return the total disk space of files.

    Raises:
        OSError: one cannot be read, or is no regular file.
    """
    logical = disk = 0
    mapped: Extents | None = Extents()
    for path in paths:
        with _opened(path) as file:
            part = extents_of(file, os.fstat(file).st_size)
            os.fsync(file)
            found = os.fstat(file)
        logical += found.st_size
        disk += found.st_blocks * _STAT_BLOCK_BYTES
        mapped = None if mapped is None or part is None else mapped.with_those_of(part)
    if mapped is None:
        return StoredBytes(logical, disk, None)
    return StoredBytes(logical, disk, mapped.encoded_bytes, mapped.count)


@dataclass(frozen=True, slots=True)
class Extents:
    """Answer of FIEMAP for a file.

    Attributes:
        encoded_bytes: length of its encoded extents.
        count: number of extents.
    """

    encoded_bytes: int = 0
    count: int = 0

    def with_those_of(self, other: Extents) -> Extents:
        """Return the sum of two files' extents."""
        return Extents(self.encoded_bytes + other.encoded_bytes, self.count + other.count)


def extents_of(file: int, size: int) -> Extents | None:
    """Return number and encoded length of a file's extents; None if the filesystem has no FIEMAP.

    Raises:
        OSError: any other failure.
    """
    start = total = count = 0
    while start < size:
        end = start
        room = array.array("B", bytes(_HEADER.size + _EXTENTS_AT_ONCE * _EXTENT.size))
        _HEADER.pack_into(room, 0, start, size - start, _SYNC, 0, _EXTENTS_AT_ONCE, 0)
        try:
            fcntl.ioctl(file, _FS_IOC_FIEMAP, room, True)  # noqa: FBT003 - the buffer is changed
        except OSError as error:
            if error.errno in {errno.EOPNOTSUPP, errno.ENOTTY}:
                return None
            raise
        mapped = _HEADER.unpack_from(room, 0)[3]
        if not mapped:
            break
        for number in range(mapped):
            begin, _, length, _, _, flags, *_ = _EXTENT.unpack_from(
                room, _HEADER.size + number * _EXTENT.size
            )
            end = min(begin + length, size)
            count += begin >= start  # one that the last answer ended in is told again
            if flags & _ENCODED:
                total += max(0, end - max(begin, start))
            if flags & _LAST:
                return Extents(total, count)
        if end <= start:
            break
        start = end
    return Extents(total, count)
