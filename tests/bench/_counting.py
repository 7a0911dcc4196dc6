"""What the processes of a server execute, counted: the same on a busy machine as on a quiet one.

Valgrind's callgrind counts instructions in user mode, of a server that runs some fifty times slower for it.
The kernel counts system calls, context switches and page faults (perf), at full speed.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Protocol

from app.postgres.server import Server
from tests.bench._rig import Sessions

CALLGRIND: Final = ("--tool=callgrind", "--callgrind-out-file=/dev/null")
INSTRUCTIONS: Final = "instructions"
OF_PROBES: Final = "instructions of the sessions of probes"
EVENTS: Final = {
    "system calls": "raw_syscalls:sys_enter",
    "context switches": "context-switches",
    "page faults": "page-faults",
}
"""What perf counts, by the name that people read."""
_COLLECTED: Final = re.compile(r"^==(\d+)== Collected : (\d+)", re.MULTILINE)
_ENDED_S: Final = 60.0


class CountingError(Exception):
    """Nothing can be counted; says why."""


def collected(text: str) -> dict[int, int]:
    """Return the instructions of every process that has ended, from what callgrind said."""
    return {int(pid): int(count) for pid, count in _COLLECTED.findall(text)}


class Counter(Protocol):
    """Counts what the sessions of a server do that begin after `begin`."""

    def begin(self) -> None:
        """Count from now on."""

    def end(self) -> dict[str, int]:
        """Return the counts by name, when all these sessions have ended."""


@dataclass(slots=True)
class KernelCounter:
    """Counts `EVENTS` of a postmaster and of the children that it makes from `begin` on.

    Attributes:
        pid: of the postmaster.
    """

    pid: int
    _perf: subprocess.Popen[bytes] | None = field(default=None, init=False)

    def begin(self) -> None:
        """Attach, and return when it counts.

        Raises:
            CountingError: perf is not there or may not count.
        """
        if shutil.which("perf") is None:
            raise CountingError("perf is not installed")
        ours, commands = os.pipe()
        answers, theirs = os.pipe()
        self._perf = subprocess.Popen(
            (
                *("perf", "stat", "--field-separator=;", f"--event={','.join(EVENTS.values())}"),
                *(f"--pid={self.pid}", "--delay=-1", f"--control=fd:{ours},{theirs}"),
            ),
            stderr=subprocess.PIPE,
            pass_fds=(ours, theirs),
        )
        os.close(ours)
        os.close(theirs)
        os.write(commands, b"enable\n")
        answer = os.read(answers, 16)
        os.close(commands)
        os.close(answers)
        if not answer:
            raise CountingError(f"perf may not count here: {self._perf.communicate()[1].decode()}")

    def end(self) -> dict[str, int]:
        """Return the counts by the name of the event."""
        assert self._perf is not None
        self._perf.send_signal(signal.SIGINT)
        lines = self._perf.communicate()[1].decode().splitlines()
        counts = {fields[2]: int(fields[0]) for line in lines if len(fields := line.split(";")) > 2}
        return {name: counts[event] for name, event in EVENTS.items()}


@dataclass(slots=True)
class CountedServer:
    """A server whose sessions are executed by callgrind.

    Attributes:
        server: has run without before.
        valgrind: its program.
        folder: that the server's account may read; gets programs and callgrind's words.
    """

    server: Server
    valgrind: str
    folder: Path
    _all: Sessions | None = field(default=None, init=False)
    _new: Sessions | None = field(default=None, init=False)
    _before: set[int] = field(default_factory=set, init=False)

    def start(self, settings: Mapping[str, str]) -> None:
        """Start the server anew under callgrind, with settings that prevail over its configuration."""
        self.server.stop()
        programs = self.folder / "programs"
        real = Path(self.server.installation.program("postgres")).resolve()
        if not programs.exists():
            programs.mkdir()
            for program in real.parent.iterdir():
                (programs / program.name).symlink_to(program)
            (self.folder / "postgres").symlink_to(real)
            self._log.touch()
            self._log.chmod(0o666)  # the account writes it
            self.folder.chmod(0o755)
        own = " ".join(f"-c {name}={_quoted(value)}" for name, value in settings.items())
        script = programs / "postgres"
        script.unlink()
        script.write_text(
            f"#!/bin/sh\nexec {self.valgrind} {' '.join(CALLGRIND)} --toggle-collect=PostgresMain"
            f' --log-file={self._log} {(self.folder / "postgres").readlink()} "$@" {own}\n'
        )
        script.chmod(0o755)
        self.server.installation = replace(self.server.installation, bin_directory=str(programs))
        self.server.start()
        self._all = self._sessions()

    @property
    def _log(self) -> Path:
        return self.folder / "callgrind.log"

    def _sessions(self) -> Sessions:
        assert self.server.pid is not None
        return Sessions(self.server.pid)

    def begin(self) -> None:
        """Note which sessions there are, and which have ended."""
        self._new = self._sessions()
        self._before = set(collected(self._log.read_text()))

    def end(self) -> dict[str, int]:
        """Return the instructions in user mode of the sessions, and of those that there were at `begin`.

        Raises:
            CountingError: sessions do not end.
        """
        assert self._all is not None
        assert self._new is not None
        if not self._all.await_end(_ENDED_S):
            raise CountingError("sessions of the server do not end")
        others = self._new.others
        ended = {pid: n for pid, n in collected(self._log.read_text()).items() if pid not in self._before}
        return {
            INSTRUCTIONS: sum(count for pid, count in ended.items() if pid not in others),
            OF_PROBES: sum(count for pid, count in ended.items() if pid in others),
        }


def _quoted(value: str) -> str:
    return "'" + value.replace("'", "'\\''") + "'"
