"""What pgbench printed, as people keep it: stdout, stderr or both, of one run or of several in one file."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, fields
from typing import Final

from app.domain.errors import ForeignDataError, PgbenchError
from app.domain.text import tr
from app.importers.files.parse_errors import BadLines
from app.postgres.pgbench.progress import ProgressLine, parse_progress
from app.postgres.pgbench.summary import PgbenchSummary, error_messages, parse_summary

_SIGNS: Final = re.compile(
    rb"^(?:progress: \d|tps = \d|transaction type: |pgbench \(\d|pgbench: \w+: |Run was aborted)",
    re.MULTILINE,
)
_ERRORS: Final = re.compile(r"pgbench:|progress: |Run was aborted|starting vacuum|vacuuming|end\.$")
_BEGIN: Final = re.compile(
    r"progress: |pgbench \(\d|transaction type: |starting vacuum|pgbench: setting random"
)
_END: Final = re.compile(r"tps = \d|number of transactions actually processed: 0")
MOST: Final = 1e15
MOST_S: Final = 4.2e9
"""The year 2103."""
MOST_RUNS: Final = 1000
"""In one file."""
_SUMMARY: Final = re.compile(r"transaction type: |number of transactions actually processed: ", re.MULTILINE)


def is_output(head: bytes) -> bool:
    """Return whether a file that begins so holds what pgbench prints."""
    return _SIGNS.search(head.replace(b"\r\n", b"\n")) is not None


@dataclass(slots=True)
class PgbenchOutput:
    """What one pgbench printed.

    Attributes:
        file: where it stands.
        stdout: the summary; empty where only progress was kept.
        stderr: everything else.
        progress: its reports.
        summary: None where there is none that can be read.
        problem: why, where something like a summary is there.
    """

    file: str
    stdout: str = ""
    stderr: str = ""
    progress: list[ProgressLine] = field(default_factory=list)
    summary: PgbenchSummary | None = None
    problem: str = ""

    def complete(self) -> PgbenchOutput:
        """Read the summary, once all lines are there; return itself."""
        if _SUMMARY.search(self.stdout):
            try:
                self.summary = _sane(parse_summary(self.stdout, self.stderr))
                self.problem = ""
            except PgbenchError as error:
                self.problem = error.message
        return self

    @property
    def messages(self) -> tuple[str, ...]:
        """What pgbench complained of."""
        return error_messages(self.stderr) if "pgbench:" in self.stderr else ()

    def joined(self, other: PgbenchOutput) -> PgbenchOutput:
        """Return stdout of one file and stderr of another as of one run."""
        return PgbenchOutput(
            file=f"{self.file}, {other.file}",
            stdout=self.stdout + other.stdout,
            stderr=self.stderr + other.stderr,
            progress=self.progress or other.progress,
        ).complete()


def _sane(summary: PgbenchSummary) -> PgbenchSummary:
    """Return a summary whose figures some machine may reach.

    Raises:
        PgbenchError: they are too large for any.
    """
    numbers = [getattr(summary, each.name) for each in fields(summary)]
    if any(isinstance(each, int | float) and abs(each) > MOST for each in numbers):
        raise PgbenchError(tr("The summary of pgbench holds figures that no machine reaches."))
    return summary


def _is_sane(line: ProgressLine) -> bool:
    """Return whether some machine may reach what a progress line holds; NaN is left to others."""
    numbers = (line.tps, line.latency_ms, line.stddev_ms, line.lag_ms or 0.0)
    return line.time_s <= MOST_S and all(not math.isfinite(each) or abs(each) <= MOST for each in numbers)


def split_output(text: str, file: str, bad: BadLines) -> tuple[PgbenchOutput, ...]:
    """Return what each run in a text printed, in order.

    A run ends with its TPS; the next begins with whatever pgbench prints first.

    Raises:
        ForeignDataError: too many runs, or too many progress lines that are none.
    """
    splitter = _Splitter(file, bad)
    for number, line in enumerate(text.split("\n"), 1):
        splitter.feed(number, line)
    splitter.finish()
    return tuple(
        each for each in splitter.found if each.summary or each.progress or each.problem or each.messages
    )


class _Splitter:
    """Sorts lines into runs.

    Attributes:
        found: runs that are complete.
    """

    def __init__(self, file: str, bad: BadLines) -> None:
        self.found: list[PgbenchOutput] = []
        self._file = file
        self._bad = bad
        self._begin()

    def _begin(self) -> None:
        self._current = PgbenchOutput(self._file)
        self._out: list[str] = []
        self._errors: list[str] = []
        self._has_ended = False
        self._last_s = -1.0

    def feed(self, number: int, line: str) -> None:
        """Take a line."""
        parsed = parse_progress(line)
        if parsed is not None and not _is_sane(parsed):
            parsed = None
        runs_back = parsed is not None and parsed.time_s < self._last_s
        if runs_back or (self._has_ended and _BEGIN.match(line)):
            self.finish()
        if parsed is not None:
            self._current.progress.append(parsed)
            self._last_s = parsed.time_s
        elif line.startswith("progress: "):
            self._bad.add(self._file, number, line)
        if _ERRORS.match(line):
            self._errors.append(line)
        elif line.strip():
            self._out.append(line)
        self._has_ended = self._has_ended or _END.match(line) is not None

    def finish(self) -> None:
        """End the run."""
        if len(self.found) >= MOST_RUNS:
            message = tr("{file} holds the output of more than {count} runs.")
            raise ForeignDataError(message.format(file=self._file, count=MOST_RUNS))
        self._current.stdout = "\n".join((*self._out, ""))
        self._current.stderr = "\n".join((*self._errors, ""))
        if self._out or self._errors:
            self.found.append(self._current.complete())
        self._begin()
