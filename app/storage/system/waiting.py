"""Wait for udevd, for the kernel's devices and for arrays, always with an end.

Sources: Linux Documentation/admin-guide/md.rst (sync_action, sync_completed, degraded, resync_start), systemd
docs/BLOCK_DEVICE_LOCKING.md, udevadm(8).
"""

from __future__ import annotations

import fcntl
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from app.domain.errors import CancelledError, StorageError
from app.domain.messages.message import say
from app.storage.system import state
from app.storage.system.programs import CompletedProgram

NODE_S: Final = 120.0
_POLL_S: Final = 0.02
_SYNC_POLL_S: Final = 0.5
_UDEV_CONTROL: Final = Path("/run/udev/control")


def udevd_runs() -> bool:
    """Return whether a udevd listens here."""
    return _UDEV_CONTROL.exists()


def await_udevd(
    nodes: Iterable[str], run: Callable[[Sequence[str]], CompletedProgram]
) -> CompletedProgram | None:
    """Make udevd inspect devices again, and wait until it has handled all their events.

    Not `udevadm settle`, which waits for every device of the machine, even for a disk that hangs. udevd
    handles the events of a disk and of its partitions in order, and the event triggered here is the last of
    them. It answers a ping once every device file that was closed before has become an event.

    Args:
        nodes: devices; those that do not exist are skipped.
        run: runs a program.

    Returns:
        Result of the last program; None if there is no udevd or no such device.
    """
    there = [node for node in nodes if state.size_bytes(node)]
    if not there or not udevd_runs():
        return None
    pinged = run(("udevadm", "control", "--ping"))
    if pinged.exit_code != 0:
        return pinged
    return run(("udevadm", "trigger", "--action=change", "--settle", *there))


def lock(fd: int, node: str, limit_s: float, kind: int = fcntl.LOCK_EX) -> None:
    """Take the lock of a disk, waiting while udevd or another tool inspects it.

    Raises:
        StorageError: another process holds it for longer.
    """
    deadline_s = time.monotonic() + limit_s
    while True:
        with suppress(BlockingIOError):
            fcntl.flock(fd, kind | fcntl.LOCK_NB)
            return
        if time.monotonic() >= deadline_s:
            raise StorageError(say("disk-locked", node=node, seconds=limit_s))
        time.sleep(_POLL_S)


def await_node(node: str, size_bytes: int, is_cancelled: Callable[[], bool]) -> None:
    """Wait until a device exists with at least this size.

    Raises:
        StorageError: it does not appear.
        CancelledError: it was cancelled.
    """
    deadline_s = time.monotonic() + NODE_S
    while (found := state.size_bytes(node)) < max(1, size_bytes):
        _check_cancelled(is_cancelled, node)
        if time.monotonic() >= deadline_s:
            raise StorageError(
                say("node-did-not-appear", node=node, seconds=NODE_S, found=found, size=size_bytes)
            )
        time.sleep(_POLL_S)


def await_sync(
    node: str, report: Callable[[str, float | None, float | None], None], is_cancelled: Callable[[], bool]
) -> None:
    """Wait until an array is complete and idle, without a limit while it advances.

    Raises:
        StorageError: a member failed, or it stopped advancing.
        CancelledError: it was cancelled.
        OSError: the array is gone.
    """
    folder = state.sysfs_folder(node) / "md"
    last: tuple[str, ...] = ()
    moved_s = time.monotonic()
    while True:
        now = tuple(
            _read(folder / name) for name in ("sync_action", "degraded", "resync_start", "sync_completed")
        )
        action, degraded, resync_start, completed = now
        if action == "idle" and degraded in {"0", ""} and resync_start in {"none", ""}:
            return
        _check_failed_members(folder, node)
        if now != last:
            last, moved_s = now, time.monotonic()
        if time.monotonic() - moved_s > NODE_S * 5:
            raise StorageError(say("sync-stands-still", node=node, state=now))
        speed = _read(folder / "sync_speed")
        text = say("sync-goes-on", node=node, action=action, speed=speed)
        report(text, *_how_far(completed, speed))
        _check_cancelled(is_cancelled, node)
        time.sleep(_SYNC_POLL_S)


def _how_far(completed: str, speed: str) -> tuple[float | None, float | None]:
    """Return the fraction done and the seconds left; None if unknown.

    Args:
        completed: sectors of 512 bytes, as ``1024 / 4096``; ``none`` or ``delayed`` (kernel: md.rst).
        speed: KiB/s; ``none`` if nothing is synchronised.
    """
    done, _, whole = completed.partition(" / ")
    if not (done.isdigit() and whole.isdigit() and int(whole)):
        return None, None
    left_kib = (int(whole) - int(done)) / 2
    return int(done) / int(whole), left_kib / int(speed) if speed.isdigit() and int(speed) else None


def _check_failed_members(folder: Path, node: str) -> None:
    for member in folder.glob("dev-*/state"):
        if "faulty" in _read(member):
            raise StorageError(say("member-lost", node=node, member=member.parent.name[4:]))


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except OSError:
        return ""  # raid0 has none of these files


def _check_cancelled(is_cancelled: Callable[[], bool], node: str) -> None:
    if is_cancelled():
        raise CancelledError(say("cancelled-waiting", node=node))
