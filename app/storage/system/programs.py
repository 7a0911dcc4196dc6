"""Running the programs that make and unmake storage, with nothing of the caller and always with an end.

Only the standard library: root runs this. Nothing of the caller reaches a program: no environment
(MKE2FS_CONFIG, LIBMOUNT_FORCE_MOUNT2 and their like change what tools do), no folder, no open file, no
terminal.
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
"""Where programs of the system are; never the PATH of a caller."""

ENVIRONMENT: Final = {"PATH": ":".join(FOLDERS), "LC_ALL": "C.UTF-8", "TZ": "UTC", "HOME": "/"}

TIMED_OUT: Final = 124
"""Exit code recorded for a program whose time was up, as timeout(1)."""

OUTPUT_LIMIT_BYTES: Final = 256 * 1024
"""What is kept of each output; `dumpe2fs` without -h is the longest that is ever asked for."""

_log = logging.getLogger(__name__)

_LIBC: Final = ctypes.CDLL(None)
_CLONE_NEWNS: Final = 0x20000
_MS_BIND, _MS_REC, _MS_PRIVATE = 0x1000, 0x4000, 0x40000
"""linux/sched.h, linux/mount.h."""

_KILL_AFTER_S: Final = 10.0
_FIRST_WAIT_S: Final = 0.001
_LONGEST_WAIT_S: Final = 0.05


@dataclass(frozen=True, slots=True)
class CompletedProgram:
    """A program that ended.

    Attributes:
        argv: program as it was found, and arguments.
        exit_code: exit status; negative for a signal; 124 where its time was up.
        stdout: output, cut at its end where it is very long.
        stderr: error output, likewise.
        seconds: how long it ran.
    """

    argv: tuple[str, ...]
    exit_code: int
    stdout: str
    stderr: str
    seconds: float

    def complaint(self) -> str:
        """Return what it said about its failure: the last lines of its errors, else of its output."""
        lines = (self.stderr.strip() or self.stdout.strip()).splitlines()[-3:]
        said = " / ".join(line.strip() for line in lines)
        if self.exit_code == TIMED_OUT:
            return say("program-time-up", seconds=self.seconds, said=said)
        return said or say("program-said-nothing")


class HangingProgramError(ProgramError):
    """A program cannot be ended: the kernel holds it, as it does where a disk does not answer.

    It is gone once the kernel lets it go.
    """

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        argv = " ".join(map(str, process.args))  # type: ignore[arg-type]
        super().__init__(say("program-not-ended", argv=argv, pid=process.pid))
        self._process = process

    @property
    def is_gone(self) -> bool:
        """Whether the program has ended by now."""
        return self._process.poll() is not None


class InterruptedProgramError(CancelledError):
    """A program was ended because it was cancelled.

    Attributes:
        ended: how it ended then.
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
    """Run a program to its end and return how it ended, also when it failed or its time was up.

    Args:
        argv: name and arguments.
        timeout_s: after which it is told to end.
        input_text: its standard input; empty means /dev/null, so that every question gets the answer no.
        is_cancelled: asked 20 times a second.
        kill_after_s: after which it is killed if it did not end when it was told to, and after which it is
            left if that did not help either.
        only_disks: folders below /sys/devices of the disks that it finds; empty for all that there are.

    Raises:
        ProgramError: there is no such program.
        HangingProgramError: it cannot be ended.
        InterruptedProgramError: `is_cancelled` said so; the program was ended.
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
    """Give this process lists of disks of its own with these alone, if the kernel lets it.

    libblkid finds in them the disks that it opens, one that hangs among them: mkfs.btrfs has it look at every
    disk of the machine for one of the same UUID (btrfs-progs, test_uuid_unique; libblkid, probe_all). What
    mkfs asks of its own disks, such as whether they rotate, is there as ever.
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
    """Why a program is not waited for any more."""

    ENDED = auto()
    TIMED_OUT = auto()
    CANCELLED = auto()


class _Collector:
    """Reads both outputs until the program ended, without letting it wait for a full pipe."""

    def __init__(
        self, process: subprocess.Popen[bytes], deadline_s: float, is_cancelled: Callable[[], bool]
    ) -> None:
        self._process = process
        self._deadline_s = deadline_s
        self._is_cancelled = is_cancelled
        self._kept = {"stdout": bytearray(), "stderr": bytearray()}

    def collect(self) -> _Why:
        """Wait for the program as long as it makes sense."""
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
        """Return one output; what is no UTF-8 becomes U+FFFD."""
        return bytes(self._kept[name]).decode(errors="replace")

    def _read(self, selector: selectors.BaseSelector, key: selectors.SelectorKey) -> None:
        part = os.read(key.fd, 65536)
        kept = self._kept[key.data]
        kept += part[: OUTPUT_LIMIT_BYTES - len(kept)]
        if not part:
            selector.unregister(key.fileobj)


def _end(process: subprocess.Popen[bytes], kill_after_s: float) -> None:
    """End what is left of the program's process group and close its pipes.

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
