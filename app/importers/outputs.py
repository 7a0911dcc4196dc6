"""What pgbench printed, as people keep it: stdout, stderr or both, of one run or of several in one file."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from app.domain.errors import PgbenchError
from app.importers.bad_lines import BadLines
from app.postgres.pgbench_progress import ProgressLine, parse_progress
from app.postgres.pgbench_summary import PgbenchSummary, error_messages, parse_summary

_SIGNS: Final = re.compile(
    rb"^(?:progress: \d|tps = \d|transaction type: |pgbench \(\d|pgbench: \w+: |Run was aborted)",
    re.MULTILINE,
)
_ERRORS: Final = re.compile(r"pgbench:|progress: |Run was aborted|starting vacuum|vacuuming|end\.$")
_BEGIN: Final = re.compile(
    r"progress: |pgbench \(\d|transaction type: |starting vacuum|pgbench: setting random"
)
_END: Final = re.compile(r"tps = \d|number of transactions actually processed: 0")
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
                self.summary = parse_summary(self.stdout, self.stderr)
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


def split_output(text: str, file: str, bad: BadLines) -> tuple[PgbenchOutput, ...]:
    """Return what each run in a text printed, in order.

    A run ends with its TPS; the next begins with whatever pgbench prints first.

    Raises:
        ForeignDataError: too many progress lines that are none.
    """
    found: list[PgbenchOutput] = []
    current, ended, last_s = PgbenchOutput(file), False, -1.0
    out: list[str] = []
    errors: list[str] = []

    def finish() -> None:
        current.stdout, current.stderr = "\n".join((*out, "")), "\n".join((*errors, ""))
        found.append(current.complete())

    for number, line in enumerate(text.split("\n"), 1):
        parsed = parse_progress(line)
        if (ended and _BEGIN.match(line)) or (parsed is not None and parsed.time_s < last_s):
            finish()
            current, ended, last_s = PgbenchOutput(file), False, -1.0
            out, errors = [], []
        if parsed is not None:
            current.progress.append(parsed)
            last_s = parsed.time_s
        elif line.startswith("progress: "):
            bad.add(file, number, line)
        if parsed is not None or _ERRORS.match(line):
            errors.append(line)
        elif line.strip():
            out.append(line)
        ended = ended or _END.match(line) is not None
    if out or errors:
        finish()
    return tuple(each for each in found if each.summary or each.progress or each.problem or each.messages)
