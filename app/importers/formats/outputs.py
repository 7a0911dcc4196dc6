"""Parse saved outputs of pgbench: stdout, stderr or both, of one run or of several in one file.

Read line by line. Of pgbench's reports the figures are kept, of everything else the first and the last lines:
a script that raises a notice fills gigabytes.

A copied output may have a prefix on every line: indents, quotes, times, names of containers. A prefix is
found, never guessed: whole lines that only pgbench prints are searched for behind it. Only a time may vary
from line to line in a prefix. Several prefixes in one file are several sources, such as two containers, and
are kept apart.
"""

from __future__ import annotations

import hashlib
import math
import re
from array import array
from collections import Counter, deque
from dataclasses import dataclass, field, fields
from typing import Final

from app.domain.errors import ForeignDataError, PgbenchError
from app.domain.text import tr
from app.importers.files.members import BadLines, Readable, read_lines
from app.postgres.pgbench.summary import (
    PgbenchSummary,
    ProgressLine,
    error_messages,
    is_aborted,
    parse_progress,
    parse_summary,
)
from app.recording.pgbench_streams import progress_samples

_COLOURS: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_TIME: Final = (
    r"(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?: ?(?:Z|[+-]\d\d:?\d\d|[A-Z]{3,5}\b))?"
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d{1,6})?"
    r"|\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"
    r"|\d{9,10}(?:\.\d{1,9})?"
    r"|(?<=\[) *\d{1,9}\.\d{1,9}(?=\]))"
)
_TIMES: Final = re.compile(_TIME)
_LINE: Final = re.compile(
    r"(?P<prefix>.{0,200}?)(?:"
    r"pgbench \([^()]+(?:\([^()]*\)[^()]*)*\)"
    r"|transaction type: \S.*"
    r"|scaling factor: \d+"
    r"|query mode: \w+"
    r"|number of (?:clients|threads): \d+"
    r"|number of transactions actually processed: \d+(?:/\d+)?"
    r"|tps = \d+\.\d+ \((?:with|in|ex)\w+ [a-z ]+\)"
    r"|progress: \d+\.\d+ s, \S+ tps, lat \S+ ms stddev [^\s,]+(?:, [^,]+)*"
    r")\s*",
    re.ASCII,
)
_MOST_SOURCES: Final = 16
_FEWEST_LINES: Final = 2
"""Least number with the same prefix: one line of pgbench may occur in any text."""


def without_colours(line: str) -> str:
    """Return a line without a terminal's colour sequences."""
    return _COLOURS.sub("", line) if "\x1b" in line else line


@dataclass(frozen=True, slots=True)
class LinePrefixes:
    """The prefixes of an output.

    Attributes:
        patterns: each with its constant text, without times; empty if lines have no prefix.
    """

    patterns: tuple[tuple[str, re.Pattern[str]], ...] = ()

    def split(self, line: str) -> tuple[str, str] | None:
        """Return (source, line as pgbench printed it); None for any other line."""
        line = without_colours(line)
        if not self.patterns:
            return "", line
        for source, pattern in self.patterns:
            if match := pattern.match(line):
                return source, line[match.end() :]
        return None


def find_prefixes(head: str) -> LinePrefixes | None:
    """Return the prefixes of an output from its start; None if no line is pgbench's."""
    counts: Counter[str] = Counter()
    for line in map(without_colours, head.splitlines()):
        if match := _LINE.fullmatch(line):
            if not match["prefix"]:
                return LinePrefixes()
            counts[_TIMES.sub("\0", match["prefix"])] += 1
    sources = [source for source, count in counts.most_common(_MOST_SOURCES) if count >= _FEWEST_LINES]
    if not sources:
        return None
    patterns = ((source, re.compile(re.escape(source).replace("\0", _TIME))) for source in sources)
    return LinePrefixes(tuple(patterns))


_SIGNS: Final = re.compile(
    r"^(?:progress: \d|tps = \d|transaction type: |pgbench \(\d|pgbench: \w+: |Run was aborted)",
    re.MULTILINE,
)
_ERRORS: Final = re.compile(
    r"pgbench:|progress: |Run was aborted|[Cc]lient \d+ |[Cc]onnection to |starting vacuum|vacuuming|end\.$"
)
_BEGIN: Final = re.compile(
    r"progress: |pgbench \(\d|transaction type: |starting vacuum|pgbench: setting random"
)
_END: Final = re.compile(r"tps = \d|number of transactions actually processed: 0")
MOST: Final = 1e15
MOST_S: Final = 4.2e9
"""The year 2103."""
MOST_RUNS: Final = 1000
"""Limit for one file."""
MOST_REPORTS: Final = 31 * 86_400
"""Limit for one file: a month by the second."""
_HEAD_LETTERS: Final = 32 * 1024
_KEPT_LETTERS: Final = 128 * 1024
"""Kept from the start of the output, and as much from its end."""
_SUMMARY: Final = re.compile(r"transaction type: |number of transactions actually processed: ", re.MULTILINE)


def _prefixes(head: str) -> LinePrefixes | None:
    """Return the prefixes of pgbench's lines; None if there are no such lines."""
    return LinePrefixes() if _SIGNS.search(without_colours(head)) else find_prefixes(head)


def is_output(text: bytes) -> bool:
    """Return whether a piece of a file contains output of pgbench."""
    return _prefixes(text.decode("utf-8", "replace").replace("\r\n", "\n")) is not None


class ReportColumns:
    """The reports of one run, by column.

    Attributes:
        times_s: end of each, seconds since the start or since the epoch.
        series: (times, values) by metric, of the reports with a value.
        is_epoch: times count from the epoch.
        has_lag: there was a rate.
    """

    def __init__(self) -> None:
        self.times_s = array("d")
        self.series: dict[str, tuple[array[float], array[float]]] = {}
        self.is_epoch = False
        self.has_lag = False

    def __len__(self) -> int:
        return len(self.times_s)

    def add(self, line: ProgressLine) -> None:
        """Add the next report."""
        self.times_s.append(line.time_s)
        self.is_epoch = line.is_epoch
        self.has_lag = self.has_lag or line.lag_ms is not None
        for sample in progress_samples(line):
            times, values = self.series.setdefault(sample.metric, (array("d"), array("d")))
            times.append(line.time_s)
            values.append(sample.value)


class _KeptLines:
    """The first and the last lines of a text."""

    def __init__(self) -> None:
        self._first: list[str] = []
        self._last: deque[str] = deque()
        self._letters = 0
        self._last_letters = 0
        self._left_out = 0
        self._left_hash = hashlib.sha256()

    def add(self, line: str) -> None:
        """Add the next line."""
        if self._letters < _KEPT_LETTERS:
            self._letters += len(line) + 1
            self._first.append(line)
            return
        self._last.append(line)
        self._last_letters += len(line) + 1
        while self._last_letters > _KEPT_LETTERS:
            self.leave_out(left := self._last.popleft())
            self._last_letters -= len(left) + 1
            self._left_out += 1

    def leave_out(self, line: str) -> None:
        """Count a line in the digest without keeping it."""
        self._left_hash.update(line.encode())

    def text(self) -> str:
        """Return all kept lines, with the number of skipped ones between them."""
        gap = [tr("[{count} lines omitted]").format(count=self._left_out)] if self._left_out else []
        return "\n".join((*self._first, *gap, *self._last, ""))

    def left_out_digest(self) -> str:
        """Return a digest of the skipped lines; empty for none."""
        found = self._left_hash.hexdigest()
        return "" if found == hashlib.sha256().hexdigest() else found

    def __bool__(self) -> bool:
        return bool(self._first)


@dataclass(slots=True)
class PgbenchOutput:
    """Output of one pgbench.

    Attributes:
        file: its source.
        stdout: the summary; empty if only progress was kept.
        stderr: everything else except the reports.
        progress: its reports.
        summary: None if there is no readable one.
        problem: why not, if something like a summary is there.
        left_out: a digest of the lines missing from these texts, including reports.
    """

    file: str
    stdout: str = ""
    stderr: str = ""
    progress: ReportColumns = field(default_factory=ReportColumns)
    summary: PgbenchSummary | None = None
    problem: str = ""
    left_out: str = ""

    def complete(self) -> PgbenchOutput:
        """Parse the summary, once all lines are there; return itself."""
        if _SUMMARY.search(self.stdout):
            try:
                self.summary = _sane(parse_summary(self.stdout, self.stderr, allow_remarks=True))
                self.problem = ""
            except PgbenchError as error:
                self.problem = error.message
        return self

    @property
    def messages(self) -> tuple[str, ...]:
        """Errors that pgbench reported."""
        return error_messages(self.stderr) if "pgbench:" in self.stderr else ()

    @property
    def why_incomplete(self) -> str:
        """Why its figures are not those of the requested run; empty if they are."""
        if is_aborted(self.stderr):
            return tr("pgbench reports an aborted client or run: its figures are incomplete")
        if self.summary is not None and self.summary.not_done:
            message = tr("{count} of {planned} requested transactions were not done")
            return message.format(count=self.summary.not_done, planned=self.summary.transactions_planned)
        return ""

    def joined(self, other: PgbenchOutput) -> PgbenchOutput:
        """Return stdout of one file and stderr of another as one run."""
        return PgbenchOutput(
            file=f"{self.file}, {other.file}",
            stdout=self.stdout + other.stdout,
            stderr=self.stderr + other.stderr,
            progress=self.progress or other.progress,
            left_out=self.left_out + other.left_out,
        ).complete()


def _sane(summary: PgbenchSummary) -> PgbenchSummary:
    """Return a summary if its figures are possible.

    Raises:
        PgbenchError: they are too large for any machine.
    """
    numbers = [getattr(summary, each.name) for each in fields(summary)]
    if any(isinstance(each, int | float) and abs(each) > MOST for each in numbers):
        raise PgbenchError(tr("pgbench's summary contains impossible figures."))
    return summary


def _is_sane(line: ProgressLine) -> bool:
    """Return whether the values of a progress line are possible; NaN is checked elsewhere."""
    numbers = (line.tps, line.latency_ms, line.stddev_ms, line.lag_ms or 0.0)
    return line.time_s <= MOST_S and all(not math.isfinite(each) or abs(each) <= MOST for each in numbers)


def split_output(stream: Readable, file: str, bad: BadLines) -> tuple[PgbenchOutput, ...]:
    """Return the output of each run in a file, in order.

    A run ends with its TPS; the next starts with pgbench's first line after that. Lines of several sources,
    with different prefixes, belong to several runs.

    Raises:
        ForeignDataError: too many runs or reports, or too many invalid progress lines.
    """
    splitters: dict[str, _Splitter] = {}
    prefixes: LinePrefixes | None = None
    reports = 0
    for lines in read_lines(stream, file):
        text = lines.text.decode("utf-8", "replace").removeprefix("\ufeff").removesuffix("\n")
        if prefixes is None:
            prefixes = _prefixes(text[:_HEAD_LETTERS]) or LinePrefixes()
        for number, line in enumerate(text.split("\n"), lines.first):
            if (parted := prefixes.split(line)) is not None:
                source, printed = parted
                if source not in splitters:
                    splitters[source] = _Splitter(file, bad)
                reports += splitters[source].feed(number, printed.rstrip())
        if reports > MOST_REPORTS:
            message = tr("{file} has more than {count} entries, too many for a benchmark.")
            raise ForeignDataError(message.format(file=file, count=MOST_REPORTS))
    for splitter in splitters.values():
        splitter.finish()
    found = [each for splitter in splitters.values() for each in splitter.found]
    return tuple(each for each in found if each.summary or each.progress or each.problem or each.messages)


class _Splitter:
    """Sorts lines into runs.

    Attributes:
        found: complete runs.
    """

    def __init__(self, file: str, bad: BadLines) -> None:
        self.found: list[PgbenchOutput] = []
        self._file = file
        self._bad = bad
        self._begin()

    def _begin(self) -> None:
        self._current = PgbenchOutput(self._file)
        self._out = _KeptLines()
        self._errors = _KeptLines()
        self._has_ended = False
        self._last_s = -1.0

    def feed(self, number: int, line: str) -> bool:
        """Add a line; return whether it is a report."""
        is_like_report = line.startswith("progress: ")
        parsed = parse_progress(line, allow_remarks=True) if is_like_report else None
        if parsed is not None and not _is_sane(parsed):
            parsed = None
        runs_back = parsed is not None and parsed.time_s < self._last_s
        if runs_back or (self._has_ended and _BEGIN.match(line)):
            self.finish()
        if parsed is not None:
            self._current.progress.add(parsed)
            self._last_s = parsed.time_s
            self._errors.leave_out(line)
            return True
        if is_like_report:
            self._bad.add(self._file, number, line)
        if _ERRORS.match(line):
            self._errors.add(line)
        elif line.strip():
            self._out.add(line)
        self._has_ended = self._has_ended or _END.match(line) is not None
        return False

    def finish(self) -> None:
        """End the run."""
        if len(self.found) >= MOST_RUNS:
            message = tr("{file} contains the output of more than {count} runs.")
            raise ForeignDataError(message.format(file=self._file, count=MOST_RUNS))
        self._current.stdout = self._out.text()
        self._current.stderr = self._errors.text()
        self._current.left_out = self._out.left_out_digest() + self._errors.left_out_digest()
        if self._out or self._errors or self._current.progress:
            self.found.append(self._current.complete())
        self._begin()
