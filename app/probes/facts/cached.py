"""How much of files is in the cache of the operating system: asked of the kernel, without root.

mincore(2) on a mapping of each file, which tells of pages in the page cache, mapped or not; of files that
the caller neither owns nor may write it says "all of it" (since Linux 5.2). ZFS keeps files in a cache of its
own, the ARC, which tells how much it holds of all files together, as they are read (`uncompressed_size` of
/proc/spl/kstat/zfs/arcstats; OpenZFS, module/zfs/arc.c): of ours that is the most it can be.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.domain.text import tr
from app.domain.units import MIB
from app.probes.base.mounts import Mount, mount_of
from app.probes.base.probe import ProbeUnavailable
from app.probes.sources.zfs import parse_kstat

_AT_ONCE: Final = 64 * MIB
_RESIDENT: Final = bytes(value & 1 for value in range(256))
"""Only the least bit of mincore's answers means anything."""
_ARC: Final = Path("/proc/spl/kstat/zfs/arcstats")
_ARC_BYTES: Final = "uncompressed_size"


@dataclass(frozen=True, slots=True)
class CachedBytes:
    """What is cached of files.

    Attributes:
        data_bytes: of all.
        cached_bytes: of those.
        is_bound: what is cached is that or less.
    """

    data_bytes: int
    cached_bytes: int
    is_bound: bool = False


def cached_bytes(
    folder: str,
    paths: Iterable[Path],
    find_mount: Callable[[str], Mount] = mount_of,
    arc: Path = _ARC,
) -> CachedBytes:
    """Return what is cached of files.

    Args:
        folder: in which they lie.
        paths: of them.
        find_mount: tells of which filesystem it is.
        arc: statistics of the cache of ZFS.

    Raises:
        ProbeUnavailable: the kernel does not tell.
        OSError: a file cannot be read, or is no regular file.
    """
    try:
        is_zfs = find_mount(folder).filesystem == "zfs"
    except LookupError as err:
        raise ProbeUnavailable(tr("the mount of {path} cannot be found").format(path=err)) from err
    data = cached = 0
    for path in paths:
        # SECURITY: the runner may have other rights than whose files these are: no link is followed.
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            found = os.fstat(file)
            if not stat.S_ISREG(found.st_mode):
                raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), str(path))
            data += found.st_size
            cached += 0 if is_zfs else _cached_of(file, found.st_size)
        finally:
            os.close(file)
    if is_zfs:
        return CachedBytes(data, min(data, _in_arc(arc)), is_bound=True)
    return CachedBytes(data, min(data, cached))


def _cached_of(file: int, size: int) -> int:
    """Return how many bytes of a file lie in pages that are cached; whole pages."""
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
        ProbeUnavailable: the kernel does not tell.
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
        raise ProbeUnavailable(tr("mincore failed: {reason}").format(reason=reason))
    return bytes(answer).translate(_RESIDENT).count(1)


def _in_arc(arc: Path) -> int:
    try:
        return int(parse_kstat(arc.read_bytes())[_ARC_BYTES])
    except (OSError, KeyError, ValueError) as err:
        reason = tr("ZFS does not tell how much its cache holds ({error})")
        raise ProbeUnavailable(reason.format(error=err)) from err
