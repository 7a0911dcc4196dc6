"""Find the mount and the block devices that back a folder.

Follows partitions, md, device mapper, loop files, btrfs with several devices, and ZFS pools. Needs no root.
Sources: /proc/self/mountinfo (proc(5)), /sys/dev/block, `slaves` and `partition`
(Documentation/ABI/testing/sysfs-block), /sys/fs/btrfs, ``zpool status``.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from app.domain.errors import ProgramError
from app.domain.text import tr
from app.probes.base.probe import Ask, ProbeUnavailable, ask_program

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
"""Filesystems whose disks belong to another machine, or to the host of this virtual machine."""


@dataclass(frozen=True, slots=True)
class Mount:
    """One line of mountinfo.

    Attributes:
        id: mount id.
        device: ``major:minor``; major 0 if the filesystem has no single block device.
        root: the mounted folder of the filesystem.
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
        """Whether the filesystem is in memory."""
        return self.filesystem in MEMORY_FILESYSTEMS

    @property
    def on_network(self) -> bool:
        """Whether the disks belong to another machine or to this one's host."""
        return self.filesystem in NETWORK_FILESYSTEMS


def _unescape(text: str) -> str:
    return _ESCAPE.sub(lambda match: chr(int(match[1], 8)), text)


def parse_mountinfo(text: str) -> tuple[Mount, ...]:
    """Return the mounts in the order of the file; skip malformed lines."""
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
    """Return the mount that contains `path`, also for bind mounts and subvolumes.

    Uses the mount id of an open file from /proc/self/fdinfo (since Linux 3.15, proc(5)).

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


LOOP: Final = "loop"
"""Kind of a device that is backed by a file on another filesystem."""

_DEEPEST: Final = 8


@dataclass(frozen=True, slots=True)
class BackingDevice:
    """A whole block device below a folder.

    Attributes:
        name: kernel name, such as ``nvme0n1`` or ``md0``.
        kind: ``disk``, ``md``, ``dm``, ``loop``, ``bcache`` or ``zram``.
        is_leaf: there is no device below it: its writes reach the hardware.
        beneath_loop: it holds the file of a loop device, and no other part of the folder.
        partitions: partitions that the folder uses; empty if it uses the whole device.
    """

    name: str
    kind: str
    is_leaf: bool
    beneath_loop: bool = False
    partitions: tuple[str, ...] = ()

    @property
    def is_counted(self) -> bool:
        """Whether its requests count as those of the storage under test.

        A loop device counts instead of the disk below its file: the file's filesystem merges, caches and may
        drop flushes, and other programs use that disk too.
        """
        return (self.is_leaf or self.kind == LOOP) and not self.beneath_loop


@dataclass(frozen=True, slots=True)
class Backing:
    """The mount and the devices of a folder.

    Attributes:
        path: the folder.
        mount: its mount.
        devices: from the filesystem's own devices down to the disks; each once.
        pool: ZFS pool; empty for other filesystems.
    """

    path: str
    mount: Mount
    devices: tuple[BackingDevice, ...]
    pool: str = ""

    @property
    def leaves(self) -> tuple[BackingDevice, ...]:
        """The disks at the bottom."""
        return tuple(device for device in self.devices if device.is_leaf)

    @property
    def counted(self) -> tuple[BackingDevice, ...]:
        """The devices whose requests count as those of the storage under test."""
        return tuple(device for device in self.devices if device.is_counted)


def merged(backings: Iterable[Backing]) -> tuple[BackingDevice, ...]:
    """Return the devices of several folders, each once; directly used ones are not `beneath_loop`."""
    found: dict[str, BackingDevice] = {}
    for device in (each for backing in backings for each in backing.devices):
        known = found.get(device.name)
        if known is None or known.beneath_loop:
            found[device.name] = device
        elif known.partitions and device.partitions:
            partitions = tuple(sorted({*known.partitions, *device.partitions}))
            found[device.name] = replace(known, partitions=partitions)
        else:  # one of the folders uses all of it
            found[device.name] = replace(known, partitions=())
    return tuple(found.values())


def device_number(path: str) -> str | None:
    """Return ``major:minor`` of a block device node, or None for anything else."""
    try:
        status = os.stat(path)  # noqa: PTH116 - follows /dev/disk/by-id on purpose
    except OSError:
        return None
    if not stat.S_ISBLK(status.st_mode):
        return None
    return f"{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}"


@dataclass(slots=True)
class Resolver:
    """Finds backing devices; tests replace the attributes.

    Attributes:
        proc: where procfs is mounted.
        sys: where sysfs is mounted.
        ask: runs another program (``zpool``).
        number: ``major:minor`` of a device node.
        find_mount: the mount of a path.
    """

    proc: str = "/proc"
    sys: str = "/sys"
    ask: Ask = ask_program
    number: Callable[[str], str | None] = device_number
    find_mount: Callable[[str], Mount] = field(default=mount_of)

    def resolve(self, path: str) -> Backing:
        """Return the backing devices of `path`.

        Raises:
            ProbeUnavailable: this machine knows no block device of it.
        """
        return self._resolve(path, 0)

    def _resolve(self, path: str, depth: int) -> Backing:
        try:
            mount = self.find_mount(path)
        except (OSError, LookupError) as err:
            raise ProbeUnavailable(tr("the mount of {path} cannot be found").format(path=path)) from err
        if mount.filesystem == "overlay":
            return self._resolve_overlay(mount, depth)
        pool = mount.source.split("/", 1)[0] if mount.filesystem == "zfs" else ""
        found: dict[str, BackingDevice] = {}
        for number in self._numbers(mount, pool):
            self._walk(number, found, depth)
        if not found:
            raise ProbeUnavailable(_no_device(mount))
        ordered = sorted(found.values(), key=lambda device: device.is_leaf)
        return Backing(path, mount, tuple(ordered), pool)

    def _resolve_overlay(self, mount: Mount, depth: int) -> Backing:
        upper = mount.super_option("upperdir")
        if upper is None or depth >= _DEEPEST or not Path(upper).is_dir():
            raise ProbeUnavailable(
                tr(
                    "the folder is on an overlay filesystem, as in a container, whose disks cannot be seen "
                    "from here"
                )
            )
        return self._resolve(upper, depth + 1)

    def _numbers(self, mount: Mount, pool: str) -> list[str]:
        """Return ``major:minor`` of each device that the filesystem itself uses."""
        if pool:
            return self._pool_numbers(pool)
        if mount.filesystem == "btrfs":
            return self._btrfs_numbers(mount)
        if mount.in_memory or mount.on_network:
            return []
        if mount.filesystem == "bcachefs":
            return self._known(mount.source.split(":"))
        numbers = [] if mount.device.startswith("0:") else [mount.device]
        separate = (mount.super_option(name) for name in ("logdev", "rtdev"))  # XFS, xfs(5)
        return numbers + self._known([device for device in separate if device])

    def _known(self, paths: list[str]) -> list[str]:
        numbers = (self.number(path) for path in paths)
        return [number for number in numbers if number is not None]

    def _btrfs_numbers(self, mount: Mount) -> list[str]:
        """Return all devices of the btrfs that includes the mount's source."""
        wanted = self.number(mount.source)
        for folder in sorted(Path(self.sys, "fs", "btrfs").glob("*-*/devices")):
            numbers = [text for link in sorted(folder.iterdir()) if (text := _read(link / "dev"))]
            if wanted in numbers:
                return numbers
        return [wanted] if wanted else []

    def _pool_numbers(self, pool: str) -> list[str]:
        try:
            text = self.ask(("zpool", "status", "-LP", pool))
        except ProgramError as err:
            raise ProbeUnavailable(
                tr("the disks of ZFS pool {pool} cannot be found: {error}").format(
                    pool=pool, error=err.message
                )
            ) from err
        return self._known([f"/dev/{name}" if name[0] != "/" else name for name in parse_zpool_status(text)])

    def _walk(self, number: str, found: dict[str, BackingDevice], depth: int) -> None:
        """Add the whole device of `number` and everything below it to `found`."""
        folder = Path(os.path.realpath(Path(self.sys, "dev", "block", number)))
        partition: tuple[str, ...] = ()
        if (folder / "partition").exists():
            partition, folder = (folder.name,), folder.parent
        name = folder.name
        known = name in found and not found[name].beneath_loop
        if known:  # one that is used as a whole stays so
            both = {*found[name].partitions, *partition} if found[name].partitions and partition else ()
            found[name] = replace(found[name], partitions=tuple(sorted(both)))
        if not (folder / "stat").exists() or known or depth > _DEEPEST:
            return
        below = sorted(text for link in _list(folder / "slaves") if (text := _read(link / "dev")))
        under_file = self._below_file(_read(folder / "loop" / "backing_file"), depth)
        found[name] = BackingDevice(
            name, _kind(folder), is_leaf=not below and not under_file, partitions=partition
        )
        for other in below:
            self._walk(other, found, depth + 1)
        for device in under_file:
            found.setdefault(device.name, device)

    def _below_file(self, path: str, depth: int) -> tuple[BackingDevice, ...]:
        """Return the devices below the file of a loop device; empty if they are hidden from this process."""
        if not path or path.endswith(" (deleted)"):
            return ()
        try:
            below = self._resolve(path, depth + 1).devices
        except ProbeUnavailable:
            return ()
        return tuple(replace(device, beneath_loop=True) for device in below)


def resolve_backing(path: str) -> Backing:
    """Return the block devices that back `path` on this machine.

    Raises:
        ProbeUnavailable: there are none, with the reason.
    """
    return Resolver().resolve(path)


def parse_zpool_status(text: str) -> tuple[str, ...]:
    """Return the names in the tree of ``zpool status``: groups and devices, without spares.

    The caller keeps the device nodes. Layout: zpool-status(8), OpenZFS 2.1 to 2.3.
    """
    names: list[str] = []
    inside = spares = False
    for line in text.splitlines():
        words = line.split()
        if words[:2] == ["NAME", "STATE"]:
            inside = True
        elif not words or line.startswith("errors:"):
            inside = inside and not names
        elif inside:
            if len(words) == 1:  # a heading: logs, cache, special, dedup, spares
                spares = words[0] == "spares"
            elif not spares:
                names.append(words[0])
    return tuple(names[1:])


def _kind(folder: Path) -> str:
    if (folder / "md").exists():
        return "md"
    if (folder / "dm").exists():
        return "dm"
    for kind in (LOOP, "bcache", "zram"):
        if folder.name.startswith(kind):
            return kind
    return "disk"


def _no_device(mount: Mount) -> str:
    if mount.in_memory:
        sentence = tr("the folder is in memory ({filesystem}), so no block device is involved")
    elif mount.on_network:
        sentence = tr(
            "the folder is on {filesystem}, whose disks belong to another machine and cannot be seen from "
            "here"
        )
    else:
        sentence = tr("{filesystem} does not report which block devices it uses")
    return sentence.format(filesystem=mount.filesystem)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="surrogateescape").strip()
    except OSError:
        return ""


def _list(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []
