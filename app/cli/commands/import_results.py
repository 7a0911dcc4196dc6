"""`pgfooting import`: import other programs' results as runs of the library."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final, TextIO

from rich.console import Console

from app.analysis.labels import format_tps
from app.cli.commands.runs.show import print_json
from app.cli.terminal.tables import print_line, print_table
from app.domain.columns import CellKind, Column
from app.domain.errors import ExitStatus
from app.domain.text import number_text, titled, tr, trn
from app.importers.importing import ImportedRun, ImportReport, as_json, import_paths
from app.importers.runs.discovery import SkippedFile, shown
from app.library.entries import default_library
from app.terminal.plain_text import plain

_MOST_NAMES: Final = 3
_LINE_LENGTH: Final = 78
_MOST_MEANS: Final = 20
_MOST_PRESENT: Final = 10
_MEAN_ONLY: Final = "mean-only"


class _ProgressLine:
    """One changing line on a terminal; no output elsewhere."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._shows = stream.isatty()
        self._last = ""

    def __call__(self, done: int, total: int, what: str) -> None:
        head = (
            titled(tr("run {number} of {total}").format(number=done + 1, total=total)) + ": "
            if total
            else tr("Checking …") + " "
        )
        text = head + plain(what)
        if not what:
            text = ""
        elif len(text) > _LINE_LENGTH:
            text = f"{head}…{text[-(_LINE_LENGTH - len(head) - 1) :]}"
        if self._shows and text != self._last:
            self._stream.write(f"\r{text.ljust(len(self._last))}" if text else f"\r{' ' * len(self._last)}\r")
            self._stream.flush()
            self._last = text

    def close(self) -> None:
        """Clear the line."""
        self(0, 0, "")


def import_command(arguments: argparse.Namespace) -> int:
    """Import results and report on each file."""
    library: Path = arguments.library if arguments.library is not None else default_library()
    progress = _ProgressLine(sys.stderr)
    try:
        report = import_paths(arguments.paths, library, progress)
    finally:
        progress.close()
    if arguments.json:
        print_json(as_json(report, library))
    else:
        _print_report(report, library, Console())
    found_any = bool(report.imported or report.present)
    return ExitStatus.DONE if found_any and not report.problems else ExitStatus.FAILED


def _print_report(report: ImportReport, library: Path, console: Console) -> None:
    if report.imported:
        sentence = tr("Imported into {library}: {count}")
        print_line(console, sentence.format(library=library, count=len(report.imported)), style="bold")
        with_seconds = [each for each in report.imported if _MEAN_ONLY not in each.marks]
        means = [each for each in report.imported if _MEAN_ONLY in each.marks]
        shown = report.imported if len(means) <= _MOST_MEANS else with_seconds
        if shown:
            print_table(console, IMPORTED_COLUMNS, shown)
        if len(shown) < len(report.imported):
            sentence = trn(
                "{count} more run has only a mean; `pgfooting list` shows it.",
                "{count} more runs have only a mean; `pgfooting list` shows them.",
                len(means),
            )
            print_line(console, sentence.format(count=len(means)))
        _print_missing(report.imported, console)
        _print_notes(report.imported, console)
    if report.present:
        _section(console, titled(tr("in the library already")))
        for name, path in report.present[:_MOST_PRESENT]:
            print_line(console, f"{name}  {path}")
        more = len(report.present) - _MOST_PRESENT
        if more > 0:
            print_line(console, tr("and {count} more").format(count=more))
        print_line(console, tr("They were not changed. To import a run again, delete it first."))
    _print_left(report.left, console)
    if not report.imported and not report.present:
        print_line(console, tr("Nothing was imported: no readable pgbench results were found."))


def _section(console: Console, title: str) -> None:
    console.print()
    print_line(console, title, style="bold")


def _marks(run: ImportedRun) -> str:
    return ", ".join(mark for mark in run.marks if mark != "imported")


def _tps(run: ImportedRun) -> str:
    return format_tps(run.tps) if run.tps is None or run.tps < 1 else number_text(run.tps, ",.1f")


IMPORTED_COLUMNS: Final[tuple[Column[ImportedRun], ...]] = (
    Column("id", tr("Id"), lambda run: run.id[:8], CellKind.LABEL),
    Column("run", tr("Run"), lambda run: run.name, CellKind.WORDS),
    Column("tps", "TPS", _tps),
    Column(
        "tps_source",
        tr("per-second TPS"),
        lambda run: run.tps_source or tr("not known"),
        CellKind.WORDS,
    ),
    Column("marks", tr("Marks"), _marks, CellKind.WORDS, optional=1),
)
"""Columns of the imported runs."""


def _print_missing(runs: Sequence[ImportedRun], console: Console) -> None:
    """Print unknown facts; the same fact of several runs only once."""
    found: dict[tuple[str, str], list[str]] = {}
    for each in runs:
        for gap in dict.fromkeys(each.missing):
            found.setdefault(gap, []).append(each.name)
    if found:
        _section(console, titled(tr("not known")))
    for (what, reason), names in found.items():
        print_line(console, f"{what}: {reason} {_whose(names, len(runs))}".strip())


def _whose(names: Sequence[str], total: int) -> str:
    if len(names) == total:
        return "(" + tr("all") + ")" if total > 1 else ""
    shown = ", ".join(names[:_MOST_NAMES])
    more = len(names) - _MOST_NAMES
    return f"({shown})" if more <= 0 else tr("{names} and {count} more").format(names=shown, count=more)


def _print_notes(runs: Sequence[ImportedRun], console: Console) -> None:
    notes = [(each.name, note) for each in runs for note in each.notes]
    if notes:
        _section(console, tr("Notes"))
    for name, note in notes:
        print_line(console, f"{name}: {note}")


def _print_left(found: Sequence[SkippedFile], console: Console) -> None:
    left = [SkippedFile(shown(each.path), shown(each.reason), is_problem=each.is_problem) for each in found]
    problems = [each for each in left if each.is_problem]
    if problems:
        _section(console, tr("Cannot be read"))
        for each in problems:
            text = each.reason if each.reason.startswith(each.path) else f"{each.path}: {each.reason}"
            print_line(console, text, style="yellow")
    others = [each for each in left if not each.is_problem]
    if others:
        _section(console, titled(tr("not used")))
        by_reason: dict[str, Counter[str]] = {}
        for each in others:
            by_reason.setdefault(each.reason, Counter())[each.path.rpartition("/")[2]] += 1
        for reason, names in by_reason.items():
            names_shown = [
                f"{name} ({count})" if count > 1 else name for name, count in names.most_common(_MOST_NAMES)
            ]
            more = len(names) - len(names_shown)
            names_shown += [tr("{count} more").format(count=more)] if more > 0 else []
            print_line(console, f"{', '.join(names_shown)}: {reason}")
