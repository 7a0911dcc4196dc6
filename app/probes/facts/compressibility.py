"""How far files can be compressed: pieces of them through libzstd at level 3, as ``zstd -3 -B128K`` does it.

libzstd is loaded where the system has it, which Debian's dpkg and systemd, btrfs and PostgreSQL from 15 on
need anyway; Python has a module for it only from 3.14 on. Its functions and their meaning are stable since
version 1.0 (zstd.h, "Simple API").
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, Final

from app.domain.text import tr
from app.domain.units import KIB
from app.probes.base.probe import ProbeUnavailable

LEVEL: Final = 3
"""The default of the program zstd, and of ``compress=zstd`` of btrfs and ``compression=zstd`` of ZFS."""
PIECE_BYTES: Final = 128 * KIB
"""The largest extent that btrfs compresses at once, and the default of ZFS for a record."""
_MOST_PIECES: Final = 64
_LIBRARY: Final = "libzstd.so.1"


@dataclass(frozen=True, slots=True)
class SampledCompression:
    """What became of pieces of files.

    Attributes:
        sampled_bytes: of all pieces.
        compressed_bytes: of the same.
        zstd_version: of the library, such as ``1.5.4``.
    """

    sampled_bytes: int
    compressed_bytes: int
    zstd_version: str


def sample_compression(paths: Iterable[Path]) -> SampledCompression:
    """Compress pieces, spread evenly over files, each for itself.

    Args:
        paths: regular files; what is left of a file after its last whole piece takes no part.

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
                piece = os.pread(file.fileno(), PIECE_BYTES, offset)
                sampled += len(piece)
                compressed += _compressed_size(zstd, piece)
    if not compressed:
        raise ProbeUnavailable(tr("the tables are too small to be sampled"))
    number = int(zstd.ZSTD_versionNumber())
    version = f"{number // 10_000}.{number // 100 % 100}.{number % 100}"
    return SampledCompression(sampled, compressed, version)


def _opened(path: Path) -> IO[bytes]:
    # SECURITY: the runner may have other rights than whose files these are: no link is followed.
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb", 0)
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), str(path))
    return file


def _whole_pieces(path: Path) -> int:
    with _opened(path) as file:
        return os.fstat(file.fileno()).st_size // PIECE_BYTES


def _spread(files: Sequence[tuple[Path, int]]) -> Iterator[tuple[Path, list[int]]]:
    """Yield each file with the offsets of its pieces, at equal distances in all files together.

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
        raise ProbeUnavailable(tr("{library} is not installed").format(library=_LIBRARY)) from error
    return zstd


def _compressed_size(zstd: ctypes.CDLL, piece: bytes) -> int:
    room = ctypes.create_string_buffer(zstd.ZSTD_compressBound(len(piece)))
    size = int(zstd.ZSTD_compress(room, len(room), piece, len(piece), LEVEL))
    if zstd.ZSTD_isError(size):
        raise ProbeUnavailable(tr("{library} cannot compress").format(library=_LIBRARY))
    return size
