"""Read the current state of disks, partitions, arrays, pools and mounts from the kernel and the disks.

Every function reads afresh; nothing is cached. Sources: Linux md, drivers/md/md_p.h (superblock 1.2); proc(5)
mountinfo; statx(2) and include/uapi/linux/stat.h; sysfs ABI.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import re
import stat
import struct
import sys
import uuid
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from app.domain.errors import RefusedError
from app.domain.messages.message import say

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


SYSFS: Final = Path("/sys")
PROC: Final = Path("/proc")

_LIBC: Final = ctypes.CDLL(None, use_errno=True)
_STATX_BYTES: Final = 256
_MNT_ID_AT: Final = 144
_STATX_MNT_ID_UNIQUE: Final = 0x4000
_AT_FDCWD: Final = -100
_AT_SYMLINK_NOFOLLOW: Final = 0x100
_AT_NO_AUTOMOUNT: Final = 0x800
_AT_STATX_DONT_SYNC: Final = 0x4000
MD_MAGIC: Final = 0xA92B4EFC
_MD_OFFSET_BYTES: Final = 4096
_ESCAPE: Final = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True)
class MountEntry:
    """One line of mountinfo: mount id, folder, type, source, and both kinds of options together."""

    mount_id: int
    folder: str
    filesystem: str
    source: str
    options: tuple[str, ...]


def device_number(node: str) -> str:
    """Return ``major:minor`` of a block device.

    Raises:
        OSError: there is no such node.
        RefusedError: it is not a block device.
    """
    found = Path(node).stat()
    if not stat.S_ISBLK(found.st_mode):
        raise RefusedError(say("no-block-device", node=node))
    return f"{os.major(found.st_rdev)}:{os.minor(found.st_rdev)}"


def sysfs_folder(node: str) -> Path:
    """Return the folder of a block device below /sys/devices.

    Raises:
        OSError: there is no such device.
        RefusedError: the node is not a block device.
    """
    return (SYSFS / "dev/block" / device_number(node)).resolve(strict=True)


def disk_folder(node: str) -> str:
    """Return the folder below /sys/devices of a disk, or of the disk of a partition.

    Raises:
        OSError: there is no such device.
        RefusedError: the node is not a block device.
    """
    folder = sysfs_folder(node)
    return str(folder.parent if (folder / "partition").exists() else folder)


def size_bytes(node: str) -> int:
    """Return the size of a block device; 0 if there is none with that name."""
    try:
        return int((sysfs_folder(node) / "size").read_text(encoding="ascii")) * 512
    except OSError:
        return 0


def array_uuid(node: str) -> str | None:
    """Return the UUID of the md array (metadata 1.2) of which a partition is a member, or None."""
    with suppress(OSError), _reading(node) as fd:
        found = os.pread(fd, 32, _MD_OFFSET_BYTES)
        if len(found) == 32 and struct.unpack_from("<I", found)[0] == MD_MAGIC:
            return str(uuid.UUID(bytes=found[16:32]))
    return None


def holders(node: str) -> tuple[str, ...]:
    """Return the kernel names of devices built on a device (md, dm, bcache); none for one that is gone."""
    try:
        return tuple(sorted(entry.name for entry in (sysfs_folder(node) / "holders").iterdir()))
    except OSError:
        return ()


def array_on(members: Sequence[str]) -> str | None:
    """Return the node, such as ``/dev/md127``, of the array that holds one of the members, or None."""
    for member in members:
        for name in holders(member):
            if (SYSFS / "class/block" / name / "md").is_dir():
                return f"/dev/{name}"
    return None


def is_array_of(array: str, uuid: str, members: Sequence[str]) -> bool:
    """Return whether an array has this UUID, and consists only of some of these members.

    The superblocks read are the array's own only if its metadata is 1.2. A member that is gone or unreadable
    names no other array.
    """
    folder = SYSFS / "class/block" / Path(array).name
    try:
        version = (folder / "md/metadata_version").read_text(encoding="ascii").strip()
        held = {f"/dev/{entry.name}" for entry in (folder / "slaves").iterdir()}
    except OSError:
        return False
    found = {array_uuid(node) for node in held} - {None}
    return version == "1.2" and held <= set(members) and found == {uuid}


def is_claimed(node: str) -> bool:
    """Return whether the kernel refuses an exclusive open: mounted, swap, member, vdev, held by others.

    Raises:
        OSError: it cannot be opened for another reason.
    """
    try:
        os.close(os.open(node, os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC | os.O_NONBLOCK))
    except OSError as err:
        if err.errno == errno.EBUSY:
            return True
        raise
    return False


def mounts_on(folder: str) -> tuple[MountEntry, ...]:
    """Return the mounts on a folder in this mount namespace, the topmost last.

    Raises:
        OSError: mountinfo cannot be read.
    """
    text = (PROC / "self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
    return tuple(entry for entry in parse_mountinfo(text) if entry.folder == folder)


def mount_of(folder: str) -> str:
    """Return the identity of the topmost mount on a folder; empty if nothing is mounted there.

    Since Linux 6.8 the kernel gives each mount a number that no other one ever gets in the same boot; older
    ones give the numbers of mountinfo, which later mounts may get again.

    Raises:
        OSError: mountinfo cannot be read.
    """
    entries = mounts_on(folder)
    if not entries:
        return ""
    # The buffer is struct statx: the mask is at byte 0, stx_mnt_id at byte 144.
    found = ctypes.create_string_buffer(_STATX_BYTES)
    flags = _AT_SYMLINK_NOFOLLOW | _AT_NO_AUTOMOUNT | _AT_STATX_DONT_SYNC
    failed = _LIBC.statx(_AT_FDCWD, os.fsencode(folder), flags, _STATX_MNT_ID_UNIQUE, found)
    (mask,), (number,) = struct.unpack_from("=I", found), struct.unpack_from("=Q", found, _MNT_ID_AT)
    if failed or not mask & _STATX_MNT_ID_UNIQUE:
        return f"mountinfo {entries[-1].mount_id}"
    return f"unique {number}"


def is_unique(mount: str) -> bool:
    """Return whether a result of `mount_of` is the number of no other mount in this boot."""
    return mount.startswith("unique ")


def pool_mounts(pool: str) -> tuple[MountEntry, ...]:
    """Return the mounts of a pool's datasets in this mount namespace.

    Raises:
        OSError: mountinfo cannot be read.
    """
    text = (PROC / "self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
    return tuple(
        entry
        for entry in parse_mountinfo(text)
        if entry.filesystem == "zfs" and entry.source.partition("/")[0] == pool
    )


def parse_mountinfo(text: str) -> Iterator[MountEntry]:
    """Yield the lines of /proc/self/mountinfo (proc(5)); skips those in another format."""
    for line in text.splitlines():
        left, _, right = line.partition(" - ")
        before, after = left.split(" "), right.split(" ")
        if len(before) >= 6 and len(after) >= 3 and before[0].isdecimal():
            options = (*before[5].split(","), *after[2].split(","))
            yield MountEntry(
                int(before[0]),
                _unescape(before[4]),
                after[0],
                _unescape(after[1]),
                tuple(map(_unescape, options)),
            )


def _unescape(text: str) -> str:
    return _ESCAPE.sub(lambda match: chr(int(match[1], 8)), text)


def partition_place(node: str) -> tuple[int, int]:
    """Return the kernel's place of a partition: first byte, and size in bytes.

    Raises:
        OSError: there is no such partition.
    """
    folder = sysfs_folder(node)
    start, size = (int((folder / name).read_text(encoding="ascii")) * 512 for name in ("start", "size"))
    return start, size


def boot_id() -> str:
    """Return the identifier of this boot of the machine (random(4)); empty if it cannot be read."""
    with suppress(OSError):
        return (PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return ""


def same_device(one: str, other: str) -> bool:
    """Return whether two nodes are one block device, or two names are the same."""
    if one == other:
        return True
    with suppress(OSError, RefusedError):
        return device_number(one) == device_number(other)
    return False


def btrfs_is_mounted(filesystem_uuid: str) -> bool:
    """Return whether the kernel has a mounted btrfs with this UUID."""
    return (SYSFS / "fs/btrfs" / filesystem_uuid).is_dir()


def pool_is_imported(pool: str) -> bool:
    """Return whether a pool with this name is imported (/proc/spl/kstat/zfs, one folder each)."""
    return (PROC / "spl/kstat/zfs" / pool).is_dir()


@contextmanager
def _reading(node: str) -> Iterator[int]:
    fd = os.open(node, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        yield fd
    finally:
        os.close(fd)


# Detect threads with their own descriptors (clone(2), CLONE_FILES). Source: kcmp(2).


_KCMP: Final = {"x86_64": 312, "aarch64": 272, "riscv64": 272, "ppc64le": 354, "s390x": 343}
"""Number of kcmp(2) by machine; the C library has no function for it."""
_KCMP_FILES: Final = 2


def share_files(one: int, other: int) -> bool:
    """Return whether two threads certainly have the same descriptors, which need reading only once then."""
    number = _KCMP.get(platform.machine())
    if number is None or sys.maxsize <= 2**32:
        return False
    return bool(ctypes.CDLL(None).syscall(number, one, other, _KCMP_FILES, 0, 0) == 0)
