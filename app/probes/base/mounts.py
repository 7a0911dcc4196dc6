"""Which mount a path lies on, from /proc/self/mountinfo (proc(5))."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_ESCAPE: Final = re.compile(r"\\([0-7]{3})")

MEMORY_FILESYSTEMS: Final = frozenset({"tmpfs", "ramfs", "rootfs", "devtmpfs", "hugetlbfs"})
NETWORK_FILESYSTEMS: Final = frozenset(
    {
        "9p",
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "fuse.ceph-fuse",
        "fuse.glusterfs",
        "fuse.s3fs",
        "fuse.sshfs",
        "gfs2",
        "glusterfs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs4",
        "smb3",
        "smbfs",
        "virtiofs",
    }
)
"""Filesystems whose disks are in another machine, or on the host of this virtual machine."""


@dataclass(frozen=True, slots=True)
class Mount:
    """One line of mountinfo.

    Attributes:
        id: mount id.
        device: ``major:minor``; major 0 where the filesystem has no single block device.
        root: which folder of the filesystem is mounted.
        mount_point: where.
        options: options of this mount.
        filesystem: type.
        source: device, pool or export, as given when mounting.
        super_options: options of the filesystem itself.
    """

    id: int
    device: str
    root: str
    mount_point: str
    options: tuple[str, ...]
    filesystem: str
    source: str
    super_options: tuple[str, ...]

    def super_option(self, name: str) -> str | None:
        """Return the value of ``name=value`` among the super options."""
        prefix = f"{name}="
        return next((text[len(prefix) :] for text in self.super_options if text.startswith(prefix)), None)

    @property
    def in_memory(self) -> bool:
        """Whether the filesystem lies in memory."""
        return self.filesystem in MEMORY_FILESYSTEMS

    @property
    def on_network(self) -> bool:
        """Whether the disks are in another machine or on the host of this one."""
        return self.filesystem in NETWORK_FILESYSTEMS


def _unescape(text: str) -> str:
    return _ESCAPE.sub(lambda match: chr(int(match[1], 8)), text)


def parse_mountinfo(text: str) -> tuple[Mount, ...]:
    """Return the mounts in the order of the file; lines of another form are left out."""
    mounts: list[Mount] = []
    for line in text.splitlines():
        left, separator, right = line.partition(" - ")
        before, after = left.split(" "), right.split(" ")
        if not separator or len(before) < 6 or len(after) < 2:
            continue
        mounts.append(
            Mount(
                id=int(before[0]),
                device=before[2],
                root=_unescape(before[3]),
                mount_point=_unescape(before[4]),
                options=tuple(before[5].split(",")),
                filesystem=after[0],
                source=_unescape(after[1]),
                super_options=tuple(_unescape(after[2]).split(",")) if len(after) > 2 else (),
            )
        )
    return tuple(mounts)


def mount_of(path: str, proc: str = "/proc") -> Mount:
    """Return the mount on which `path` lies, exact also for bind mounts and subvolumes.

    The kernel tells the mount id of an open file in /proc/self/fdinfo (since Linux 3.15, proc(5)).

    Raises:
        OSError: the path or /proc cannot be read.
        LookupError: the mount is not in this process's mountinfo.
    """
    fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        info = Path(proc, "self", "fdinfo", str(fd)).read_text(encoding="ascii")
    finally:
        os.close(fd)
    mount_id = int(re.search(r"^mnt_id:\s*(\d+)$", info, re.MULTILINE)[1])  # type: ignore[index]
    text = Path(proc, "self", "mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
    for mount in parse_mountinfo(text):
        if mount.id == mount_id:
            return mount
    raise LookupError(path)
