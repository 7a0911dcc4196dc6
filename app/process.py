"""How programs are started: as an account, in a session of their own, tied to this process's life.

No shell and no ``preexec_fn`` (unsafe with threads): `app.become` is started as a program, becomes the
account and executes. The process id stays the same, so ``Popen.pid`` is the program's.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from app.account import Account, child_environment, current_account, named_account
from app.become import STARTED
from app.capture import Capture
from app.domain.errors import ProgramError
from app.domain.text import tr
from app.outcome import NOT_STARTED, TIMED_OUT, CommandOutcome, Recorder

__all__ = [
    "NOT_STARTED",
    "TIMED_OUT",
    "Account",
    "CommandOutcome",
    "Output",
    "Recorder",
    "child_environment",
    "current_account",
    "named_account",
    "run_command",
    "run_module",
    "spawn",
]

START_TIMEOUT_S: Final = 30.0
KILL_TIMEOUT_S: Final = 10.0
_BECOME: Final = Path(__file__).with_name("become.py")

Output = int | IO[bytes] | Path
"""Where output goes: as in `subprocess`, or a file that the account itself opens for appending."""


@dataclass(frozen=True, slots=True)
class _Start:
    """Everything about one start, gathered so that it is checked in one place."""

    argv: tuple[str, ...]
    account: Account
    death_signal: signal.Signals
    cwd: str
    env: Mapping[str, str] | None
    stdin: int | IO[bytes]
    stdout: Output
    stderr: Output
    module: Path | None = None


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

    Raises:
        ProgramError: it could not be started; says at which step.
    """
    return _launch(_Start(tuple(argv), account, death_signal, cwd, env, stdin, stdout, stderr))


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
        start = _Start(tuple(argv), account, death_signal, cwd, env, stdin, pipe, pipe)
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
        start = _Start(argv, account, signal.SIGKILL, "/", None, stdin, pipe, pipe, module)
        return _run(start, timeout_s, record)


def _input(content: bytes) -> IO[bytes]:
    """Return an unnamed file in memory with `content`, so that writing it cannot block."""
    file = os.fdopen(os.memfd_create("input"), "w+b")
    file.write(content)
    file.seek(0)
    return file


def _order(start: _Start, report: int) -> str:
    account = start.account
    output = str(start.stdout) if isinstance(start.stdout, Path) else None
    errors = str(start.stderr) if isinstance(start.stderr, Path) else None
    if start.stderr == subprocess.STDOUT:
        errors = output
    identity = None
    if not account.is_current:
        identity = {"uid": account.uid, "gid": account.gid, "groups": list(account.groups)}
    order = {
        "report": report,
        "parent": os.getpid(),
        "death_signal": int(start.death_signal),
        "identity": identity,
        "folder": start.cwd,
        "output": output,
        "errors": errors,
        "module": str(start.module) if start.module else None,
    }
    return json.dumps(order)


def _launch(start: _Start) -> subprocess.Popen[bytes]:
    if not start.argv or ("/" in start.argv[0] and not start.argv[0].startswith("/")):
        raise ProgramError(tr("“{argv}” is not an absolute path.").format(argv=" ".join(start.argv)))
    reading, report = os.pipe()
    try:
        launcher = (sys.executable, "-I", "-S", "-B", str(_BECOME), _order(start, report))
        arguments = start.argv[1:] if start.module else start.argv
        process = subprocess.Popen(
            (*launcher, *arguments),
            stdin=start.stdin,
            stdout=subprocess.DEVNULL if isinstance(start.stdout, Path) else start.stdout,
            stderr=subprocess.DEVNULL if isinstance(start.stderr, Path) else start.stderr,
            cwd="/",
            env=child_environment(start.account, start.env),
            start_new_session=True,
            pass_fds=(report,),
            umask=0o077,
        )
    except (OSError, ValueError) as err:
        os.close(reading)
        raise ProgramError(
            tr("{program} could not be started: {reason}.").format(program=start.argv[0], reason=err)
        ) from err
    finally:
        os.close(report)
    try:
        _await_start(process, reading, start)
    except BaseException:
        _end(process)
        raise
    finally:
        os.close(reading)
    return process


def _await_start(process: subprocess.Popen[bytes], reading: int, start: _Start) -> None:
    """Read the launcher's report until execve closes it.

    Raises:
        ProgramError: what the launcher reports, or that it reports nothing.
    """
    deadline_s = time.monotonic() + START_TIMEOUT_S
    report = b""
    while True:
        ready, _, _ = select.select([reading], [], [], max(0.0, deadline_s - time.monotonic()))
        if not ready:
            raise ProgramError(
                tr("{program} was not executed within {seconds:.0f} s.").format(
                    program=start.argv[0], seconds=START_TIMEOUT_S
                )
            )
        part = os.read(reading, 65536)
        if not part:
            break
        report += part
    if report == STARTED:
        return
    if report:
        raise ProgramError(_explain(json.loads(report.removeprefix(STARTED)), start))
    raise ProgramError(
        tr("{program} could not be started: its launcher ended with status {status}.").format(
            program=start.argv[0], status=process.wait()
        )
    )


def _explain(failure: Mapping[str, object], start: _Start) -> str:
    """Return the sentence for a step that `app.become` reports."""
    sentence = {
        "load": tr("{program} could not be started: {path}: {text}."),
        "account": tr("{program} could not be started: becoming {account} failed: {text}."),
        "tie": tr("{program} could not be started: it could not be tied to this process: {text}."),
        "output": tr("{program} could not be started: {account} cannot write {path}: {text}."),
        "folder": tr("{program} could not be started: {account} cannot enter {path}: {text}."),
    }.get(str(failure["step"]), tr("{program} could not be started as {account}: {text}."))
    return sentence.format(
        program=start.argv[0],
        account=start.account.name,
        path=failure["path"],
        text=failure["text"] or failure["errno"],
    )


def _run(start: _Start, timeout_s: float, record: Recorder) -> CommandOutcome:
    started_s = time.monotonic()

    def outcome(code: int, out: str, errors: str) -> CommandOutcome:
        duration_s = time.monotonic() - started_s
        found = CommandOutcome(start.argv, start.account.name, started_s, duration_s, code, out, errors)
        record(found)
        return found

    try:
        process = _launch(start)
    except ProgramError as err:
        outcome(NOT_STARTED, "", err.message)
        raise
    capture = Capture(process)
    try:
        in_time = capture.collect(started_s + timeout_s)
    finally:
        _end(process)
    code = process.returncode if in_time else TIMED_OUT
    return outcome(code, capture.stdout.text(), capture.stderr.text())


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill what is left of the process group, reap the program and close the pipes.

    A program that the kernel holds in a write to a hung device cannot be killed: it is left to it.
    """
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            process.wait(KILL_TIMEOUT_S)
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
