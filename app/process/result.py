"""What became of a command: stored in the run file, told to the user where it failed."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.domain.text import tr

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
