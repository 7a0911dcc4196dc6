"""Run the programs that make and unmake storage, with nothing of the caller and always with an end.

Only the standard library: root runs this. Nothing of the caller reaches a program: no environment
(MKE2FS_CONFIG, LIBMOUNT_FORCE_MOUNT2 and similar change what tools do), no folder, no open file, no terminal.
"""

from __future__ import annotations

import ctypes
import logging
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from pathlib import Path
from typing import IO, Final

from app.domain.errors import CancelledError, ProgramError
from app.domain.messages.message import say

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
