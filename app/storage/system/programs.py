"""Run programs and wait for devices, with nothing of the caller, and always with an end.

Only the standard library: root runs this. Nothing of the caller reaches a program: no environment
(MKE2FS_CONFIG, LIBMOUNT_FORCE_MOUNT2 and similar change what tools do), no folder, no open file, no terminal.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import logging
import os
import re
import selectors
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from pathlib import Path
from typing import IO, Final

from app.domain.errors import CancelledError, ProgramError, StorageError
from app.domain.messages.message import say
from app.storage.system import state

FOLDERS: Final = ("/usr/sbin", "/usr/bin", "/sbin", "/bin")
"""Folders of the system's programs; never the PATH of a caller."""

ENVIRONMENT: Final = {"PATH": ":".join(FOLDERS), "LC_ALL": "C.UTF-8", "TZ": "UTC", "HOME": "/"}

TIMED_OUT: Final = 124
"""Exit code recorded for a program that timed out, as timeout(1)."""

OUTPUT_LIMIT_BYTES: Final = 256 * 1024
"""Kept part of each output; `dumpe2fs` without -h is the longest that is ever run."""

_log = logging.getLogger(__name__)

_LIBC: Final = ctypes.CDLL(None)
_CLONE_NEWNS: Final = 0x20000
_MS_BIND, _MS_REC, _MS_PRIVATE = 0x1000, 0x4000, 0x40000
"""Flags from linux/sched.h and linux/mount.h."""

_KILL_AFTER_S: Final = 10.0
_FIRST_WAIT_S: Final = 0.001
_LONGEST_WAIT_S: Final = 0.05


@dataclass(frozen=True, slots=True)
class CompletedProgram:
    """A program that ended.

    Attributes:
        argv: path of the program, and arguments.
        exit_code: exit status; negative for a signal; 124 after a time-out.
        stdout: output, cut at its end if it is very long.
        stderr: error output, cut the same way.
        seconds: running time.
    """

    argv: tuple[str, ...]
    exit_code: int
    stdout: str
    stderr: str
    seconds: float

    def complaint(self) -> str:
        """Return its message about the failure: the last lines of its errors, else of its output."""
        lines = (self.stderr.strip() or self.stdout.strip()).splitlines()[-3:]
        said = " / ".join(line.strip() for line in lines)
        if self.exit_code == TIMED_OUT:
            return say("program-time-up", seconds=self.seconds, said=said)
        return said or say("program-said-nothing")


class HangingProgramError(ProgramError):
    """A program cannot be ended: the kernel holds it, as it does if a disk does not answer.

    It is gone once the kernel lets it go.
    """

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        argv = " ".join(map(str, process.args))  # type: ignore[arg-type]
        super().__init__(say("program-not-ended", argv=argv, pid=process.pid))
        self._process = process

    @property
    def is_gone(self) -> bool:
        """Return whether the program has ended now."""
        return self._process.poll() is not None


class InterruptedProgramError(CancelledError):
    """A program was ended because it was cancelled.

    Attributes:
        ended: its result.
    """

    def __init__(self, message: str, ended: CompletedProgram) -> None:
        super().__init__(message)
        self.ended = ended


def find_program(name: str, folders: Sequence[str] = FOLDERS) -> str:
    """Return the absolute path of a program of the system.

    Raises:
        ProgramError: it is in none of the fixed folders.
    """
    if "/" not in name:
        for folder in folders:
            path = Path(folder, name)
            if path.is_file() and os.access(path, os.X_OK):
                return str(path)
    raise ProgramError(
        say("program-missing", name=name, folders=", ".join(folders)),
        hint=say("doctor-names-package"),
    )


def run_program(
    argv: Sequence[str],
    *,
    timeout_s: float,
    input_text: str = "",
    is_cancelled: Callable[[], bool] = lambda: False,
    kill_after_s: float = _KILL_AFTER_S,
    only_disks: Sequence[str] = (),
) -> CompletedProgram:
    """Run a program to its end and return the result, also after a failure or a time-out.

    Args:
        argv: name and arguments.
        timeout_s: time limit; then it gets SIGTERM.
        input_text: its standard input; empty means /dev/null, so that every question gets the answer no.
        is_cancelled: polled 20 times a second.
        kill_after_s: time after SIGTERM until it is killed, and after that until it is abandoned.
        only_disks: folders below /sys/devices of the disks that it finds; empty for all disks.

    Raises:
        ProgramError: there is no such program.
        HangingProgramError: it cannot be ended.
        InterruptedProgramError: `is_cancelled` returned True; the program was ended.
    """
    path = find_program(argv[0])
    started_s = time.monotonic()
    with _input(input_text) as stdin:
        process = subprocess.Popen(
            (path, *argv[1:]),
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd="/",
            env=ENVIRONMENT,
            start_new_session=True,
            umask=0o077,
            preexec_fn=partial(_show_disks, only_disks) if only_disks else None,  # noqa: PLW1509 - it calls the kernel, nothing else
        )
    try:
        ending = _Collector(process, started_s + timeout_s, is_cancelled)
        why = ending.collect()
    finally:
        _end(process, kill_after_s)
    code = TIMED_OUT if why is _Why.TIMED_OUT else process.returncode
    seconds = time.monotonic() - started_s
    _log.debug("%s: %d, %.3f s", " ".join((path, *argv[1:])), code, seconds)
    ended = CompletedProgram((path, *argv[1:]), code, ending.text("stdout"), ending.text("stderr"), seconds)
    if why is _Why.CANCELLED:
        raise InterruptedProgramError(say("cancelled-program", name=path), ended)
    return ended


def _show_disks(folders: Sequence[str]) -> None:
    """Give this process its own lists of disks with only these, if the kernel allows it.

    libblkid finds in them the disks that it opens, including one that hangs: mkfs.btrfs makes it search every
    disk of the machine for the same UUID (btrfs-progs, test_uuid_unique; libblkid, probe_all). The properties
    that mkfs reads of its own disks, such as whether they rotate, remain.
    """
    if _LIBC.unshare(_CLONE_NEWNS) or _LIBC.mount(None, b"/", None, _MS_REC | _MS_PRIVATE, None):
        return
    _LIBC.mount(b"/dev/null", b"/proc/partitions", None, _MS_BIND, None)
    if _LIBC.mount(b"none", b"/sys/block", b"tmpfs", 0, None) == 0:
        for folder in folders:
            os.symlink(folder, f"/sys/block/{os.path.basename(folder)}")  # noqa: PTH119, PTH211 - a child of fork


def _input(text: str) -> IO[bytes]:
    if not text:
        return open(os.devnull, "rb")  # noqa: PTH123 - the caller closes it
    file = os.fdopen(os.memfd_create("input"), "w+b")
    file.write(text.encode())
    file.seek(0)
    return file


class _Why(Enum):
    """Why waiting for a program ended."""

    ENDED = auto()
    TIMED_OUT = auto()
    CANCELLED = auto()


class _Collector:
    """Read both outputs until the program ends, without letting it wait for a full pipe."""

    def __init__(
        self, process: subprocess.Popen[bytes], deadline_s: float, is_cancelled: Callable[[], bool]
    ) -> None:
        self._process = process
        self._deadline_s = deadline_s
        self._is_cancelled = is_cancelled
        self._kept = {"stdout": bytearray(), "stderr": bytearray()}

    def collect(self) -> _Why:
        """Wait until the program ends, times out or is cancelled."""
        wait_s = _FIRST_WAIT_S
        with selectors.DefaultSelector() as selector:
            for name in self._kept:
                selector.register(getattr(self._process, name), selectors.EVENT_READ, name)
            while True:
                if self._is_cancelled():
                    return _Why.CANCELLED
                ended = self._process.poll() is not None
                ready = selector.select(0 if ended else wait_s)
                for key, _ in ready:
                    self._read(selector, key)
                if ended and not ready:
                    return _Why.ENDED
                if time.monotonic() >= self._deadline_s and not ended:
                    return _Why.TIMED_OUT
                wait_s = _FIRST_WAIT_S if ready else min(2 * wait_s, _LONGEST_WAIT_S)

    def text(self, name: str) -> str:
        """Return one output; bytes that are not UTF-8 become U+FFFD."""
        return bytes(self._kept[name]).decode(errors="replace")

    def _read(self, selector: selectors.BaseSelector, key: selectors.SelectorKey) -> None:
        part = os.read(key.fd, 65536)
        kept = self._kept[key.data]
        kept += part[: OUTPUT_LIMIT_BYTES - len(kept)]
        if not part:
            selector.unregister(key.fileobj)


def _end(process: subprocess.Popen[bytes], kill_after_s: float) -> None:
    """End the rest of the program's process group and close its pipes.

    Raises:
        HangingProgramError: the kernel holds it; it stays.
    """
    try:
        for number in (signal.SIGTERM, signal.SIGKILL):
            if process.poll() is not None:
                return
            with suppress(ProcessLookupError):
                os.killpg(process.pid, number)
            with suppress(subprocess.TimeoutExpired):
                process.wait(kill_after_s)
        if process.poll() is None:
            raise HangingProgramError(process)
    finally:
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()


# Wait for udevd, for the kernel's devices and for arrays, always with an end.
#
# Sources: Linux Documentation/admin-guide/md.rst (sync_action, sync_completed, degraded, resync_start),
# systemd docs/BLOCK_DEVICE_LOCKING.md, udevadm(8).


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


# Limit the total time spent waiting for others: for locks, for readers, for the kernel to let go.


WITHOUT_END_S: Final = float("inf")


@dataclass(slots=True)
class TimeBudget:
    """Remaining time for all waits of one execution.

    Attributes:
        left_s: seconds; each wait also has its own limit.
    """

    left_s: float = WITHOUT_END_S

    def pause(self, seconds: float) -> bool:
        """Wait, and return True; or return False at once if no time is left."""
        if self.left_s <= 0:
            return False
        time.sleep(min(seconds, self.left_s))
        self.left_s -= seconds
        return True

    def limit(self, seconds: float) -> float:
        """Return how long a wait with its own limit may take."""
        return max(0.0, min(seconds, self.left_s))

    def spent(self, seconds: float) -> None:
        """Count a wait made elsewhere."""
        self.left_s -= seconds


# Read the kernel's messages while a program fails: mount(8) itself gives no details.
#
# Source: Linux Documentation/ABI/testing/dev-kmsg: one record a read, ``priority,sequence,time,flags;text``.


KMSG: Final = Path("/dev/kmsg")
_LONGEST_RECORD: Final = 8192
_MOST_LINES: Final = 3
_MOST_ABOUT: Final = 20
_LONGEST_LINE: Final = 300


def naming_pattern(name: str) -> re.Pattern[str]:
    """Return a pattern for a disk or its partitions, but not for other disks with the same prefix."""
    partition = r"p\d+" if name[-1:].isdigit() else r"\d+"
    return re.compile(rf"(?<![A-Za-z0-9]){re.escape(name)}(?:{partition})?(?![A-Za-z0-9])")


class KernelLog:
    """The kernel's messages since it was opened; empty if they may not be read."""

    def __init__(self, fd: int | None) -> None:
        self._fd = fd

    def lines(self) -> tuple[str, ...]:
        """Return the last few new messages."""
        return tuple(self._records())[-_MOST_LINES:]

    def lines_about(self, names: Collection[str]) -> tuple[str, ...]:
        """Return the last new messages that name one of these disks, or a partition of one."""
        naming = [naming_pattern(name) for name in names]
        found = (
            text[:_LONGEST_LINE] for text in self._records() if any(each.search(text) for each in naming)
        )
        return tuple(deque(found, _MOST_ABOUT))

    def _records(self) -> Iterator[str]:
        while self._fd is not None:
            try:
                record = os.read(self._fd, _LONGEST_RECORD)
            except BrokenPipeError:
                continue  # overwritten before it was read: the next one is available
            except OSError:
                return  # no more
            if not record:
                return
            text = record.decode(errors="replace").partition(";")[2].partition("\n")[0]
            yield "".join(char if char.isprintable() else "?" for char in text).strip()


@contextmanager
def kernel_log(path: Path = KMSG) -> Iterator[KernelLog]:
    """Open the kernel's log at its end."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        yield KernelLog(None)
        return
    try:
        os.lseek(fd, 0, os.SEEK_END)
        yield KernelLog(fd)
    finally:
        os.close(fd)


# Check whether a disk answers at all, by a separate program, which may hang in our place.
#
# A process that waits for an unresponsive disk cannot be ended, not even killed, and one such thread keeps
# the whole process alive. So a child process is the first to read a disk.


ANSWER_S: Final = 20.0
"""Longer than a rotating disk takes to start."""
_KILLED_S: Final = 1.0

_waiting: dict[str, HangingProgramError] = {}
_guard = threading.Lock()


class NoAnswerError(OSError):
    """A disk does not answer.

    Attributes:
        reason: for the user.
    """

    def __init__(self, node: str) -> None:
        self.reason = say("disk-no-answer", node=node, seconds=ANSWER_S)
        super().__init__(errno.ETIMEDOUT, self.reason, node)


def find_unanswered(node: str) -> NoAnswerError | None:
    """Return an error if a child still waits for a disk; None if none does."""
    with _guard:
        before = _waiting.get(node)
        if before is not None and not before.is_gone:
            return NoAnswerError(node)
        _waiting.pop(node, None)
    return None


def check_answers(node: str) -> None:
    """Make sure that a disk answers to a read of its first block; an error is an answer as well.

    Starts no further child while an earlier one still waits for the disk. Skips disks that this user may not
    read.

    Raises:
        NoAnswerError: it does not answer in time.
    """
    if not os.access(node, os.R_OK):
        return
    if (earlier := find_unanswered(node)) is not None:
        raise earlier
    read = ("dd", f"if={node}", "of=/dev/null", "bs=4096", "count=1", "iflag=direct,nonblock", "status=none")
    try:
        ended = run_program(read, timeout_s=ANSWER_S, kill_after_s=_KILLED_S)
    except HangingProgramError as err:
        with _guard:
            _waiting[node] = err
        raise NoAnswerError(node) from err
    if ended.exit_code == TIMED_OUT:
        raise NoAnswerError(node)
