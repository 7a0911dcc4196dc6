"""Start programs as an account, in their own session, tied to this process's life.

No shell and no ``preexec_fn`` (unsafe with threads): the program `app.process.exec_as` switches to the
account and executes. The process id stays the same, so ``Popen.pid`` is the program's.
"""

from __future__ import annotations

import inspect
import logging
import os
import selectors
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, ParamSpec, TypeVar

from app.domain.errors import ProgramError
from app.domain.text import MIB, tr
from app.process.account import Account, child_environment, current_account, named_account
from app.process.child_call import pack, unpack
from app.process.spawn import Hold, Output, Start, end, launch

__all__ = [
    "NOT_STARTED",
    "TIMED_OUT",
    "Account",
    "CommandOutcome",
    "Hold",
    "Output",
    "Recorder",
    "as_account",
    "child_environment",
    "current_account",
    "named_account",
    "run_command",
    "spawn",
    "unrecorded",
]

CALL_TIMEOUT_S: Final = 60.0
"""Limit of a call as another account that only looks, or writes a little."""

P = ParamSpec("P")
T = TypeVar("T")
_log = logging.getLogger(__name__)


# --- Outcome of a command: stored in the run file, shown to the user if it failed.


TIMED_OUT: Final = 124
"""Exit code of a program that was ended by its time limit (as in timeout(1))."""

NOT_STARTED: Final = 127
"""Exit code recorded for a program that could not be started (as in the shell)."""


@dataclass(frozen=True, slots=True)
class CommandOutcome:
    """A command that ended.

    Attributes:
        argv: program and arguments.
        account: name of the account.
        started_s: `time.monotonic` at the start.
        duration_s: seconds until it had ended.
        exit_code: exit status; negative for a signal; 124 time-out; 127 could not be started.
        stdout: output, cut in the middle if it is very long.
        stderr: error output, cut in the same way.
    """

    argv: tuple[str, ...]
    account: str
    started_s: float
    duration_s: float
    exit_code: int
    stdout: str
    stderr: str

    @property
    def succeeded(self) -> bool:
        """Whether the exit status is 0."""
        return self.exit_code == 0

    def describe(self) -> str:
        """Return one sentence: program, account, end, and the last line of output."""
        lines = (self.stderr.strip() or self.stdout.strip()).splitlines()
        sentence = tr("{program} (as {account}) {end} after {duration_s:.1f} s.").format(
            program=Path(self.argv[0]).name,
            account=self.account,
            end=self._describe_end(),
            duration_s=self.duration_s,
        )
        return f"{sentence} {lines[-1]}" if lines and not self.succeeded else sentence

    def _describe_end(self) -> str:
        if self.exit_code == 0:
            return tr("succeeded")
        if self.exit_code == TIMED_OUT:
            return tr("did not finish and was stopped")
        if self.exit_code < 0:
            try:
                name = signal.Signals(-self.exit_code).name
            except ValueError:
                name = str(-self.exit_code)
            return tr("was killed by signal {name}").format(name=name)
        return tr("failed with exit status {code}").format(code=self.exit_code)


Recorder = Callable[[CommandOutcome], None]
"""Called with every command that ended."""


def unrecorded(_outcome: CommandOutcome) -> None:
    """Record nothing: for commands that change nothing."""


# --- Starting


def spawn(  # noqa: PLR0913 - the interface of subprocess, narrowed
    argv: Sequence[str],
    *,
    account: Account,
    death_signal: signal.Signals,
    cwd: str = "/",
    env: Mapping[str, str] | None = None,
    stdin: int | IO[bytes] = subprocess.DEVNULL,
    stdout: Output = subprocess.DEVNULL,
    stderr: Output = subprocess.DEVNULL,
    hold: Hold | None = None,
    memory_bytes: int | None = None,
) -> subprocess.Popen[bytes]:
    """Start a program as `account` and return once it has been executed.

    It has its own session and process group (the terminal's Ctrl-C does not reach it), cannot gain
    privileges, inherits no file descriptors and gets `death_signal` when this process ends, or the *thread*
    that called this.

    Args:
        argv: program (absolute, or a name looked up in the fixed PATH) and arguments.
        account: to run as; another one than this process's needs root.
        death_signal: sent when its starter is gone.
        cwd: working folder; entered as the account.
        env: added to `child_environment`.
        stdin: as in `subprocess`.
        stdout: as in `subprocess`, or a path that the account itself opens for appending.
        stderr: as `stdout`; `subprocess.STDOUT` joins it to `stdout`.
        hold: called when the process runs as the account, before it executes the program.
        memory_bytes: see `Start`.

    Raises:
        ProgramError: it could not be started; names the step.
    """
    start = Start(
        tuple(argv), account, death_signal, cwd, env, stdin, stdout, stderr, None, hold, memory_bytes
    )
    process = launch(start)
    _log.debug("%s, as %s: process %d", shlex.join(start.argv), account.name, process.pid)
    return process


def run_command(  # noqa: PLR0913 - see spawn
    argv: Sequence[str],
    *,
    account: Account,
    timeout_s: float,
    record: Recorder,
    cwd: str = "/",
    env: Mapping[str, str] | None = None,
    death_signal: signal.Signals = signal.SIGKILL,
    input_bytes: bytes = b"",
) -> CommandOutcome:
    """Run a command to its end and return its outcome, even if it failed or timed out.

    The rest of its process group is killed when it ends. Output beyond 1 MiB is cut in the middle.

    Raises:
        ProgramError: it could not be started (recorded with exit code 127).
    """
    with _input(input_bytes) as stdin:
        pipe = subprocess.PIPE
        start = Start(tuple(argv), account, death_signal, cwd, env, stdin, pipe, pipe)
        return _run(start, timeout_s, record)


def as_account(
    function: Callable[P, T], account: Account, record: Recorder, timeout_s: float = CALL_TIMEOUT_S
) -> Callable[P, T]:
    """Return a function of a module as `account` calls it, in a child; imported before the account changes.

    For work in folders of the account: root must not do it there, because the account could replace a path
    component by a symbolic link at any time, and anything that root does would happen where the link leads.

    Args:
        function: of a module that imports only the standard library. Arguments and result are JSON,
            dataclasses or enumerations that its module knows; of the arguments one may be bytes.
        account: that calls it.
        record: called with the command.
        timeout_s: for the whole call.

    Raises:
        OSError: of the function, like errors of its own module.
        ProgramError: the child could not be started, or the function failed otherwise.
    """
    module = sys.modules[function.__module__]

    def called(*args: P.args, **kwargs: P.kwargs) -> T:
        given = inspect.signature(function).bind(*args, **kwargs).arguments
        argv = (module.__name__.rpartition(".")[2], function.__name__, pack(given))
        pipe = subprocess.PIPE
        with _input(b"".join(each for each in given.values() if isinstance(each, bytes))) as stdin:
            start = Start(argv, account, signal.SIGKILL, "/", None, stdin, pipe, pipe, module.__name__)
            outcome = _run(start, timeout_s, record)
        if not outcome.succeeded:
            message = tr("Working as {account} failed. {outcome}")
            raise ProgramError(message.format(account=account.name, outcome=outcome.describe()))
        answer = unpack(outcome.stdout, module)
        if "error" in answer:
            raise answer["error"]
        result: T = answer["result"]
        return result

    return called


def _input(content: bytes) -> IO[bytes]:
    """Return an unnamed file in memory with `content`, so that writing it cannot block."""
    file = os.fdopen(os.memfd_create("input"), "w+b")
    file.write(content)
    file.seek(0)
    return file


def _run(start: Start, timeout_s: float, record: Recorder) -> CommandOutcome:
    started_s = time.monotonic()

    def outcome(code: int, out: str, errors: str) -> CommandOutcome:
        duration_s = time.monotonic() - started_s
        found = CommandOutcome(start.argv, start.account.name, started_s, duration_s, code, out, errors)
        _log.debug("%s, as %s: %d, %.3f s", shlex.join(start.argv), found.account, code, duration_s)
        record(found)
        return found

    try:
        process = launch(start)
    except ProgramError as err:
        outcome(NOT_STARTED, "", err.message)
        raise
    capture = Capture(process)
    try:
        in_time = capture.collect(started_s + timeout_s)
    finally:
        end(process)
    code = process.returncode if in_time else TIMED_OUT
    return outcome(code, capture.stdout.text(), capture.stderr.text())


# --- Collecting a program's output, bounded in size and time.


OUTPUT_LIMIT_BYTES: Final = MIB
"""Limit of each of a program's two outputs: the first and the last half are kept."""

_PART_BYTES: Final = 65536
_SHORTEST_WAIT_S: Final = 0.0005
_LONGEST_WAIT_S: Final = 0.05
_STRAGGLERS_S: Final = 1.0
"""How long output is read after the program ended, while a child of it still prints."""


class BoundedOutput:
    """The beginning and the end of an output."""

    def __init__(self, limit_bytes: int = OUTPUT_LIMIT_BYTES) -> None:
        self._half_bytes = limit_bytes // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped_bytes = 0

    def add(self, part: bytes) -> None:
        """Append `part`; drop data beyond the limit from the middle."""
        room = self._half_bytes - len(self._head)
        self._head += part[:room]
        self._tail += part[room:]
        excess = len(self._tail) - self._half_bytes
        if excess > 0:
            del self._tail[:excess]
            self._dropped_bytes += excess

    def text(self) -> str:
        """Return the output as text; invalid UTF-8 becomes U+FFFD, a note gives the size of the gap."""
        head, tail = (bytes(part).decode(errors="replace") for part in (self._head, self._tail))
        if not self._dropped_bytes:
            return bytes(self._head + self._tail).decode(errors="replace")
        gap = tr("[{count} bytes omitted]").format(count=self._dropped_bytes)
        return f"{head}\n{gap}\n{tail}"


class Capture:
    """Both outputs of a running program whose stdout and stderr are pipes.

    Attributes:
        stdout: its output.
        stderr: its error output.
    """

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.stdout = BoundedOutput()
        self.stderr = BoundedOutput()
        self._process = process

    def collect(self, deadline_s: float) -> bool:
        """Read until the program has ended; return whether that was before `deadline_s` (`time.monotonic`).

        The program is not reaped: while it is a zombie its process group's number cannot be reused.
        """
        wait_s = _SHORTEST_WAIT_S
        stragglers_until_s: float | None = None
        with selectors.DefaultSelector() as selector:
            self._register(selector)
            while True:
                now_s = time.monotonic()
                if stragglers_until_s is None and _has_ended(self._process):
                    stragglers_until_s = now_s + _STRAGGLERS_S
                if stragglers_until_s is None and now_s >= deadline_s:
                    return False
                ready = selector.select(0 if stragglers_until_s else min(wait_s, deadline_s - now_s))
                for key, _ in ready:
                    self._read(selector, key)
                if stragglers_until_s and (not ready or now_s >= stragglers_until_s):
                    return True
                wait_s = _SHORTEST_WAIT_S if ready else min(wait_s * 2, _LONGEST_WAIT_S)

    def _register(self, selector: selectors.BaseSelector) -> None:
        for pipe, kept in ((self._process.stdout, self.stdout), (self._process.stderr, self.stderr)):
            if pipe is not None:
                os.set_blocking(pipe.fileno(), False)
                selector.register(pipe, selectors.EVENT_READ, kept)

    @staticmethod
    def _read(selector: selectors.BaseSelector, key: selectors.SelectorKey) -> None:
        part = os.read(key.fd, _PART_BYTES)
        if part:
            key.data.add(part)
        else:
            selector.unregister(key.fileobj)


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
