"""End the processes of a server without its runner, and remove its shared memory.

Standard library only, see `app.hosts.folders.descriptors`: runs as the server's account, which needs no
privilege to inspect its own processes and can signal no others.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import stat
import struct
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

from app.hosts.folders.descriptors import FileIdentity, opened, strictly

_PROGRAM: Final = "postgres"
_DELETED: Final = " (deleted)"
"""Suffix of the target of a link in /proc to a deleted file (proc(5))."""


def end_servers(
    data_directory: str, identity: FileIdentity, *, patience_s: float = 15.0
) -> tuple[list[int], list[int]]:
    """End every process of a server that works in a recorded data directory, and remove its shared memory.

    First SIGQUIT, the immediate shutdown of PostgreSQL (postgres(1)), then SIGKILL.

    Args:
        data_directory: path as recorded.
        identity: of the folder.
        patience_s: how long to wait after each of the two signals.

    Returns:
        Ids of ended processes, and of those that are still there.
    """
    ended: set[int] = set()
    for number in (signal.SIGQUIT, signal.SIGKILL):
        found = _signal_all(data_directory, identity, number, patience_s)
        ended |= found
        if not found:
            break
    left = [pid for pid in _processes() if _works_in(pid, data_directory, identity)]
    if not left:
        remove_shared_memory(data_directory, identity)
    return sorted(ended - set(left)), sorted(left)


def _signal_all(
    data_directory: str, identity: FileIdentity, number: signal.Signals, patience_s: float
) -> set[int]:
    """Signal the server's processes, wait until all are gone or the time is up, and return them."""
    found: set[int] = set()
    with ExitStack() as held:
        poller = select.poll()
        waiting = 0
        for pid in _processes():
            with suppress(OSError):
                # SECURITY: the descriptor holds the process before it is checked, so that the number cannot
                # become another process's between check and signal.
                descriptor = os.pidfd_open(pid)
                held.callback(os.close, descriptor)
                if _works_in(pid, data_directory, identity):
                    signal.pidfd_send_signal(descriptor, number)
                    found.add(pid)
                    poller.register(descriptor, select.POLLIN)
                    waiting += 1
        deadline_s = time.monotonic() + patience_s
        while waiting:
            left_s = deadline_s - time.monotonic()
            gone = poller.poll(left_s * 1000) if left_s > 0 else []
            if not gone:
                break
            for descriptor, _ in gone:
                poller.unregister(descriptor)
                waiting -= 1
    return found


def _processes() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal()]


def _works_in(pid: int, data_directory: str, identity: FileIdentity) -> bool:
    """Return whether a process is PostgreSQL's and its working folder the recorded one, by path and inode.

    The inode alone would not do: when the recorded folder is gone its number may serve another cluster. The
    path alone would not do: another folder may have been put there.
    """
    try:
        program = str(Path(f"/proc/{pid}/exe").readlink()).removesuffix(_DELETED)
        working = Path(f"/proc/{pid}/cwd")
        folder = str(working.readlink()).removesuffix(_DELETED)
        found = working.stat()
    except OSError:  # gone in between, or not ours
        return False
    return (
        Path(program).name == _PROGRAM
        and folder == data_directory
        and (found.st_dev, found.st_ino) == (identity.device, identity.inode)
    )


# --- Shared memory of a killed server: found through its data directory, removed if it is that server's. A
# postmaster removes its segments itself, unless it is killed (by the OOM killer, by hand). Its data directory
# identifies the remains: the seventh line of postmaster.pid names a System V segment (pidfile.h,
# LOCK_FILE_LINE_SHMEM_KEY), whose header (pg_shmem.h, PGShmemHeader) names the data directory and the POSIX
# segment that lists the dynamic ones (dsm.c, dsm_control_header). The server does the same when it starts
# again (dsm_cleanup_using_control_segment); ours never starts again.


MEMORY: Final = "/dev/shm"  # noqa: S108 - where shm_open(3) has its segments; names come from the server's own
SYSTEM_V: Final = Path("/proc/sysvipc/shm")
_HEADER: Final = struct.Struct("@iiNNI4xPLL")
"""PGShmemHeader of 13 to 18: magic, creatorPID, totalsize, freeoffset, dsm_control, index, device, inode."""
_HEADER_MAGIC: Final = 679834894
_CONTROL: Final = struct.Struct("@III4x")
"""dsm_control_header: magic, nitems, maxitems; items follow at the alignment of a pointer."""
_CONTROL_MAGIC: Final = 0x9A503D32
_ITEM_SIZES: Final = {13: 24}
_ITEM_SIZE: Final = 40
"""dsm_control_item: handle, refcnt, (since 14: first_page, npages), a pointer, a bool."""
_MOST_SEGMENTS: Final = 10_000
_LARGEST_CONTROL: Final = 1 << 24
_READ_ONLY: Final = 0o10000
_REMOVE: Final = 0
"""SHM_RDONLY and IPC_RMID of linux/shm.h and linux/ipc.h."""


def remove_shared_memory(data_directory: str, identity: FileIdentity) -> list[str]:
    """Remove a killed server's shared memory; nothing while a process is attached.

    Args:
        data_directory: path as recorded; no process works in it any more.
        identity: of the folder.

    Returns:
        Removed items: paths of POSIX segments and ``System V NUMBER``.
    """
    with suppress(OSError, ValueError), strictly(data_directory) as folder:
        found = os.fstat(folder)
        if (found.st_dev, found.st_ino) != (identity.device, identity.inode):
            return []
        number = _segment_number(_read(folder, "postmaster.pid"))
        major = int(_read(folder, "PG_VERSION").decode().strip().partition(".")[0])
        return _remove_segments(number, identity, major)
    return []


def _read(folder: int, name: str) -> bytes:
    with opened(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, folder) as descriptor:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError(name)
        return os.read(descriptor, 4096)


def _segment_number(content: bytes) -> int:
    """Return the id of the System V segment in a postmaster.pid.

    Raises:
        ValueError: it names none.
    """
    lines = content.decode(errors="replace").splitlines()
    if len(lines) < 7:
        raise ValueError(content)
    _key, number = lines[6].split()
    return int(number)


def _remove_segments(number: int, identity: FileIdentity, major: int) -> list[str]:
    if not _is_unattached(number):
        return []
    magic, _pid, _total, _free, control, _index, device, inode = _HEADER.unpack(_attached(number))
    # SECURITY: segment numbers are used again; only one that names this very data directory is its server's.
    if (magic, device, inode) != (_HEADER_MAGIC, identity.device, identity.inode):
        return []
    removed = [path for path in _dynamic_segments(control, major) if _unlink(path)]
    if ctypes.CDLL(None, use_errno=True).shmctl(ctypes.c_int(number), ctypes.c_int(_REMOVE), None) == 0:
        removed.append(f"System V {number}")
    return removed


def _is_unattached(number: int) -> bool:
    """Return whether a segment of this user exists without attached processes (proc_sysvipc(5))."""
    heading, *rows = SYSTEM_V.read_text(encoding="ascii").splitlines()
    names = heading.split()
    for row in rows:
        found = dict(zip(names, row.split(), strict=True))
        if int(found["shmid"]) == number:
            return int(found["nattch"]) == 0 and int(found["uid"]) == os.geteuid()
    return False


def _attached(number: int) -> bytes:
    """Return the start of a System V segment.

    Raises:
        OSError: it cannot be attached.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    libc.shmat.restype = ctypes.c_void_p
    address = libc.shmat(ctypes.c_int(number), None, ctypes.c_int(_READ_ONLY))
    if address in {None, ctypes.c_void_p(-1).value}:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    try:
        return ctypes.string_at(address, _HEADER.size)
    finally:
        libc.shmdt(ctypes.c_void_p(address))


def _dynamic_segments(control: int, major: int) -> list[str]:
    """Return the paths of the dynamic segments, the one that lists them last."""
    path = _path(control)
    if not control:
        return []
    content = b""
    with (
        suppress(OSError),
        strictly(MEMORY) as folder,
        opened(Path(path).name, os.O_RDONLY | os.O_NOFOLLOW, folder) as descriptor,
    ):
        content = os.read(descriptor, _LARGEST_CONTROL)
    return [*(_path(handle) for handle in parse_control(content, major)), path]


def parse_control(content: bytes, major: int) -> list[int]:
    """Return the handles of the segments in use in a control segment; none if it is not one.

    Args:
        content: the segment's bytes.
        major: version of the server; decides the size of an item.
    """
    if len(content) < _CONTROL.size:
        return []
    magic, count, _most = _CONTROL.unpack_from(content)
    size = _ITEM_SIZES.get(major, _ITEM_SIZE)
    if magic != _CONTROL_MAGIC or count > _MOST_SEGMENTS or _CONTROL.size + count * size > len(content):
        return []
    items = (struct.unpack_from("@II", content, _CONTROL.size + place * size) for place in range(count))
    return [handle for handle, references in items if references]


def _path(handle: int) -> str:
    """Return the path of a segment (dsm_impl.c, PG_DYNSHMEM_..., ``/PostgreSQL.%u``)."""
    return f"{MEMORY}/PostgreSQL.{handle}"


def _unlink(path: str) -> bool:
    """Remove a segment of this user; False if it does not exist, or is part of the main segment."""
    with suppress(OSError):
        if Path(path).lstat().st_uid == os.geteuid():
            Path(path).unlink()
            return True
    return False
