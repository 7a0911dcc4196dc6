"""Find block devices used by processes: mounts of every mount namespace, open and mapped devices.

Source: proc(5). Root needs CAP_SYS_PTRACE to inspect the processes of other users.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from app.domain.messages.message import error_text, say
from app.storage.inspect.snapshot import DeviceUse, Reading, read, unreadable
from app.storage.inspect.sources import SourceFolders, number_of, text_of
from app.storage.inspect.uses import node_number, unescape
from app.storage.system.state import share_files

_FIRST_PID_NAMESPACE: Final = "pid:[4026531836]"
_WITH_SOURCE_ONLY: Final = frozenset({"btrfs", "bcachefs"})
_UDEV: Final = frozenset(
    f"{folder}/{name}"
    for folder in ("/bin", "/usr/bin", "/lib/systemd", "/usr/lib/systemd")
    for name in ("udevadm", "systemd-udevd")
)
_REMOTE: Final = frozenset({"nfs", "nfs4", "cifs", "smb3", "ceph", "9p", "virtiofs", "afs", "glusterfs"})


def _processes(places: SourceFolders) -> Iterator[Path]:
    return (folder for folder in places.proc.iterdir() if folder.name.isdigit())


def read_mounts(places: SourceFolders) -> Reading[tuple[DeviceUse, ...]]:
    """Return the mounts of every mount namespace of a process, seen from each root that one has there.

    A namespace that only a bind mount or an open file keeps alive is not found here; the kernel does not give
    its disks exclusively (D14).
    """
    found: dict[tuple[str, str], DeviceUse] = {}
    seen: set[tuple[str, str]] = set()
    denied = ""
    try:
        folders = [places.proc / "self", *_processes(places)]
        for folder in folders:
            try:
                namespace = (folder / "ns/mnt").readlink().name
                view = namespace, str((folder / "root").readlink())  # mountinfo shows the mounts below it
                if view not in seen:
                    for use in _mounts(text_of(folder / "mountinfo"), namespace):
                        found.setdefault((use.number, use.user), use)  # containers repeat the host's mounts
                    seen.add(view)
            except (FileNotFoundError, ProcessLookupError):
                continue  # it ended
            except PermissionError as err:
                if folder.exists():  # links of a process that ends meanwhile are denied (proc_ns_readlink)
                    denied = f"{err.filename}: {err.strerror}"
    except OSError as err:
        return unreadable(error_text(err), tuple(found.values()))
    uses = tuple(found.values())
    if denied:
        return places.denied(denied, uses)
    return read(uses) if seen else unreadable(say("no-process-shows-mounts"))


def _mounts(text: str, namespace: str) -> Iterator[DeviceUse]:
    for line in text.splitlines():
        left, _, right = line.partition(" - ")
        before, after = left.split(" "), right.split(" ")
        if len(before) < 6 or len(after) < 2:
            raise OSError(say("mountinfo-line-unknown", line=line[:80]))
        folder, filesystem, source = unescape(before[4]), after[0], unescape(after[1])
        detail = say("mount-detail", filesystem=filesystem, namespace=namespace)
        if not before[2].startswith("0:"):
            yield DeviceUse(before[2], folder, detail)
        elif filesystem in _WITH_SOURCE_ONLY:  # their device numbers are anonymous
            for part in source.split(":"):
                if number := node_number(part):
                    yield DeviceUse(number, folder, detail)


def read_openers(places: SourceFolders) -> Reading[tuple[DeviceUse, ...]]:
    """Return every process except this one with a block device open or mapped in any thread.

    An exclusive open detects only claimed devices; a virtual machine or dd claim none.
    """
    found: list[DeviceUse] = []
    denied = ""
    try:
        remote = _remote_folders(text_of(places.proc / "self/mountinfo"))
        for folder in _with_own_descriptors(places):
            try:
                found += _open_devices(folder, remote)
            except (FileNotFoundError, ProcessLookupError):
                continue  # it ended
            except PermissionError as err:
                if folder.exists():  # links of a process that ends meanwhile are denied (proc_ns_readlink)
                    denied = f"{err.filename}: {err.strerror}"
    except OSError as err:
        return unreadable(error_text(err), tuple(found))
    return places.denied(denied, tuple(found)) if denied else read(tuple(found))


def _with_own_descriptors(places: SourceFolders) -> Iterator[Path]:
    """Yield every process except this one, and each thread with a descriptor table of its own.

    /proc/PID/fd omits descriptors that only another thread has open; after a process's first thread has ended
    it shows nothing, nor does /proc/PID/maps. A thread has a folder in /proc like a process, though not
    listed.
    """
    for folder in _processes(places):
        if folder.name == str(os.getpid()):
            continue
        yield folder
        try:
            threads = sorted(int(thread.name) for thread in (folder / "task").iterdir())
        except OSError:
            continue  # it ended; without access here there is none to its descriptors either
        last = process = int(folder.name)
        for thread in threads:
            if thread != process and not share_files(last, thread):
                last = thread
                yield folder.with_name(str(thread))


def read_sees_all(places: SourceFolders) -> Reading[bool]:
    """Return whether /proc shows every process of the machine: only the first PID namespace does."""
    link = places.proc / "self/ns/pid"
    return places.attempt(places.proc, lambda: link.readlink().name == _FIRST_PID_NAMESPACE)


def _remote_folders(mountinfo: str) -> tuple[str, ...]:
    """Return the mount points of network filesystems: stat on one that hangs would hang this process."""
    return tuple(
        unescape(line.split(" ")[4]) + "/"
        for line in mountinfo.splitlines()
        if line.partition(" - ")[2].split(" ")[0] in _REMOTE
    )


def _open_devices(folder: Path, remote: tuple[str, ...]) -> Iterator[DeviceUse]:
    with os.scandir(folder / "fd") as entries:
        links = [entry.path for entry in entries]
    for link in links:
        with suppress(FileNotFoundError, ProcessLookupError):
            target = os.readlink(link)  # noqa: PTH115 - thousands of them
            if target.startswith("/") and not target.startswith(remote):
                status = os.stat(link)  # noqa: PTH116 - thousands of them
                if stat.S_ISBLK(status.st_mode) and not _is_udev_looking(folder, link):
                    yield DeviceUse(number_of(status), _program(folder), link)
    yield from _mapped_devices(folder)


def only_reads(link: str) -> bool:
    """Return whether a process has something open for reading only, by its link below /proc/PID/fd.

    Anything unknown or mapped counts as writable.
    """
    path = Path(link)
    if path.parent.name != "fd":
        return False
    try:
        return _access_of(path) == os.O_RDONLY
    except (OSError, ValueError, IndexError, StopIteration):
        return not path.is_symlink()  # it was closed


def _access_of(link: Path) -> int:
    """Return the access mode of a descriptor: flags in fdinfo, proc(5)."""
    information = (link.parent.parent / "fdinfo" / link.name).read_text(encoding="ascii")
    flags = next(line.split()[1] for line in information.splitlines() if line.startswith("flags:"))
    return int(flags, 8) & os.O_ACCMODE


def _is_udev_looking(folder: Path, link: str) -> bool:
    """Return whether udevd has a disk open only to inspect it, as it does for a moment after every change.

    It stays off disks locked by its protocol (systemd, BLOCK_DEVICE_LOCKING).

    SECURITY: a program with another path, or that may write (flags in fdinfo, proc(5)), uses the disk.
    """
    try:
        if str((folder / "exe").readlink()) not in _UDEV:
            return False
        return _access_of(Path(link)) == os.O_RDONLY
    except (OSError, ValueError, IndexError, StopIteration):
        return False


def _mapped_devices(folder: Path) -> Iterator[DeviceUse]:
    """Yield devices mapped by a process; the descriptor may have been closed long before."""
    text = (folder / "maps").read_bytes()
    if b"/dev/" not in text:
        return
    for line in text.split(b"\n"):
        # a chroot has its own /dev: "/dev/" may be anywhere in the path
        if b"/dev/" in line and b"/dev/shm/" not in line and b"/dev/zero" not in line:
            # map_files omits the leading zeros of the addresses in maps (fs/proc/base.c)
            addresses = line.split(b" ", 1)[0].split(b"-")
            area = folder / "map_files" / "-".join(f"{int(each, 16):x}" for each in addresses)
            with suppress(FileNotFoundError, ProcessLookupError):
                status = area.stat()
                if stat.S_ISBLK(status.st_mode):
                    yield DeviceUse(number_of(status), _program(folder), str(area))


def _program(folder: Path) -> str:
    try:
        name = text_of(folder / "comm")
    except OSError:
        name = "?"
    return say("process", program=name, pid=folder.name)
