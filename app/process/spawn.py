"""Start one program through `app.process.exec_as`, and wait until it is executed."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from app.domain.errors import ProgramError
from app.domain.text import tr
from app.process.account import Account, child_environment
from app.process.exec_as import HELD, STARTED

START_TIMEOUT_S: Final = 30.0
KILL_TIMEOUT_S: Final = 10.0
_EXEC_AS: Final = Path(__file__).with_name("exec_as.py")

Output = int | IO[bytes] | Path
"""Output destination: as in `subprocess`, or a file that the account itself opens for appending."""

Hold = Callable[[int], None]
"""Called with the process id just before the program is executed; an exception prevents that."""


@dataclass(frozen=True, slots=True)
class Start:
    """All parameters of one start, see `spawn`.

    Attributes:
        module: name of the Python module with the function that is called instead of a program.
        memory_bytes: limit of heap and stacks; None for no limit.
    """

    argv: tuple[str, ...]
    account: Account
    death_signal: signal.Signals
    cwd: str
    env: Mapping[str, str] | None
    stdin: int | IO[bytes]
    stdout: Output
    stderr: Output
    module: str | None = None
    hold: Hold | None = None
    memory_bytes: int | None = None


def launch(start: Start) -> subprocess.Popen[bytes]:
    """Start a program and return once it has been executed.

    Raises:
        ProgramError: it could not be started; names the step. Exceptions of `Start.hold` are passed on.
    """
    if not start.argv or ("/" in start.argv[0] and not start.argv[0].startswith("/")):
        raise ProgramError(tr("{path} is not an absolute path.").format(path=" ".join(start.argv)))
    with ExitStack() as stack:
        reading, report = _pipe(stack)
        gate, opener = _pipe(stack)
        process = _popen(start, report, gate if start.hold is not None else None)
        report.close()
        gate.close()
        try:
            _Watch(start, process, reading, opener).until_executed()
        except BaseException:
            opener.close()
            end(process)
            raise
    return process


def _pipe(stack: ExitStack) -> tuple[IO[bytes], IO[bytes]]:
    reading, writing = os.pipe()
    return (
        stack.enter_context(os.fdopen(reading, "rb", buffering=0)),
        stack.enter_context(os.fdopen(writing, "wb", buffering=0)),
    )


def _popen(start: Start, report: IO[bytes], gate: IO[bytes] | None) -> subprocess.Popen[bytes]:
    passed = [each.fileno() for each in (report, gate) if each is not None]
    order = _order(start, passed[0], passed[1] if gate is not None else None)
    launcher = (sys.executable, "-I", "-S", "-B", str(_EXEC_AS), order)
    arguments = start.argv[1:] if start.module else start.argv
    try:
        return subprocess.Popen(
            (*launcher, *arguments),
            stdin=start.stdin,
            stdout=subprocess.DEVNULL if isinstance(start.stdout, Path) else start.stdout,
            stderr=subprocess.DEVNULL if isinstance(start.stderr, Path) else start.stderr,
            cwd="/",
            env=child_environment(start.account, start.env),
            start_new_session=True,
            pass_fds=passed,
            umask=0o077,
        )
    except (OSError, ValueError) as err:
        raise ProgramError(
            tr("{program} could not be started: {reason}.").format(program=start.argv[0], reason=err)
        ) from err


def _order(start: Start, report: int, gate: int | None) -> str:
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
        "gate": gate,
        "parent": os.getpid(),
        "death_signal": int(start.death_signal),
        "identity": identity,
        "folder": start.cwd,
        "output": output,
        "errors": errors,
        "memory": start.memory_bytes,
        "module": start.module,
    }
    return json.dumps(order)


@dataclass(frozen=True, slots=True)
class _Watch:
    """Reads the launcher's report until execve closes its pipe."""

    start: Start
    process: subprocess.Popen[bytes]
    reading: IO[bytes]
    opener: IO[bytes]

    def until_executed(self) -> None:
        """Wait for the program's start, and release it if it is held.

        Raises:
            ProgramError: the launcher's error, or a missing report.
        """
        report = self._read(until=HELD if self.start.hold is not None else None)
        if report == HELD and self.start.hold is not None:
            self.start.hold(self.process.pid)
            with suppress(BrokenPipeError):  # it has been killed: reported below
                self.opener.write(HELD)
            report = self._read()
        if report == STARTED:
            return
        if report:
            raise ProgramError(_explain(json.loads(report.removeprefix(STARTED)), self.start))
        raise ProgramError(
            tr("{program} could not be started: its launcher ended with status {status}.").format(
                program=self.start.argv[0], status=self.process.wait()
            )
        )

    def _read(self, until: bytes | None = None) -> bytes:
        """Return the report up to its end, or as soon as it equals `until`."""
        deadline_s = time.monotonic() + START_TIMEOUT_S
        report = b""
        while True:
            left_s = max(0.0, deadline_s - time.monotonic())
            ready, _, _ = select.select([self.reading], [], [], left_s)
            if not ready:
                raise ProgramError(
                    tr("{program} was not executed within {seconds:.0f} s.").format(
                        program=self.start.argv[0], seconds=START_TIMEOUT_S
                    )
                )
            part = self.reading.read(65536)
            report += part
            if not part or report == until:
                return report


def _explain(failure: Mapping[str, object], start: Start) -> str:
    """Return the sentence for a step that `app.process.exec_as` reports."""
    beyond = tr("{program} could not be started, because {account} cannot use {path}: {text}.")
    sentence = {
        "tie": tr("{program} could not be started, because it could not be tied to this process: {text}."),
        "output": beyond,
        "folder": beyond,
    }.get(str(failure["step"]), tr("{program} could not be started as {account}: {text}."))
    return sentence.format(
        program=start.argv[0],
        account=start.account.name,
        path=failure["path"],
        text=failure["text"] or failure["errno"],
    )


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill the rest of the process group, reap the program and close the pipes.

    A program that the kernel holds in a write to a hung device cannot be killed: it is left alone.
    """
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            process.wait(KILL_TIMEOUT_S)
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
