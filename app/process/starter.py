"""How programs are started: as an account, in a session of their own, tied to this process's life.

No shell and no ``preexec_fn`` (unsafe with threads): `app.process.exec_as` is started as a program, becomes
the account and executes. The process id stays the same, so ``Popen.pid`` is the program's.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from app.domain.errors import ProgramError
from app.domain.text import tr
from app.process.account import Account, child_environment, current_account, named_account
from app.process.output import Capture
from app.process.spawn import Hold, Output, Start, end, launch

__all__ = [
    "NOT_STARTED",
    "TIMED_OUT",
    "Account",
    "CommandOutcome",
    "Hold",
    "Output",
    "Recorder",
    "child_environment",
    "current_account",
    "named_account",
    "run_command",
    "run_module",
    "spawn",
]


# --- What became of a command: stored in the run file, told to the user where it failed.


TIMED_OUT: Final = 124
"""Exit code of a program that was ended because its time was up (as timeout(1))."""

NOT_STARTED: Final = 127
"""Exit code recorded for a program that could not be started (as in the shell)."""


@dataclass(frozen=True, slots=True)
class CommandOutcome:
    """A command that ended.

    Attributes:
        argv: program and arguments.
        account: name of whom it ran as.
        started_s: `time.monotonic` at the start.
        duration_s: seconds until it had ended.
        exit_code: exit status; negative for a signal; 124 time-out; 127 could not be started.
        stdout: output, cut in the middle where it is very long.
        stderr: error output, likewise.
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
        """Return one sentence: what ran as whom, how it ended, and the last line it said."""
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
            return tr("did not finish and was ended")
        if self.exit_code < 0:
            try:
                name = signal.Signals(-self.exit_code).name
            except ValueError:
                name = str(-self.exit_code)
            return tr("was ended by signal {name}").format(name=name)
        return tr("failed with exit status {code}").format(code=self.exit_code)


Recorder = Callable[[CommandOutcome], None]
"""Told of every command that ended."""


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
) -> subprocess.Popen[bytes]:
    """Start a program as `account` and return once it has been executed.

    It has a session and process group of its own (the terminal's Ctrl-C does not reach it), cannot gain
    privileges, inherits no file descriptors and gets `death_signal` when this process ends, or the *thread*
    that called this.

    Args:
        argv: program (absolute, or a name that is looked up in the fixed PATH) and arguments.
        account: whom it runs as; another than this process's needs root.
        death_signal: what it gets when its starter is gone.
        cwd: working folder; entered as the account.
        env: added to `child_environment`.
        stdin: as in `subprocess`.
        stdout: as in `subprocess`, or a path that the account itself opens for appending.
        stderr: likewise; `subprocess.STDOUT` joins it to `stdout`.
        hold: called when the process has become the account and waits to be let go on.

    Raises:
        ProgramError: it could not be started; says at which step.
    """
    start = Start(tuple(argv), account, death_signal, cwd, env, stdin, stdout, stderr, hold=hold)
    return launch(start)


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
    """Run a command to its end and return its outcome, also when it failed or its time was up.

    Whatever is left of its process group when it ends, is killed. Output beyond 1 MiB is cut in the middle.

    Raises:
        ProgramError: it could not be started (recorded with exit code 127).
    """
    with _input(input_bytes) as stdin:
        pipe = subprocess.PIPE
        start = Start(tuple(argv), account, death_signal, cwd, env, stdin, pipe, pipe)
        return _run(start, timeout_s, record)


def run_module(
    module: Path,
    arguments: Sequence[str],
    *,
    account: Account,
    timeout_s: float,
    record: Recorder,
    input_bytes: bytes = b"",
) -> CommandOutcome:
    """Run ``main(arguments)`` of a Python file as `account`; the file is read before the account changes.

    For work in folders that belong to the account: root must not do it there, because the account could
    exchange a path component for a symbolic link meanwhile.

    Raises:
        ProgramError: it could not be started.
    """
    argv = (f"{module.stem}", *arguments)
    pipe = subprocess.PIPE
    with _input(input_bytes) as stdin:
        start = Start(argv, account, signal.SIGKILL, "/", None, stdin, pipe, pipe, module)
        return _run(start, timeout_s, record)


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
