"""The text next to the charts: warnings, differences, verdicts, every single run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from PySide6.QtGui import QColor, QTextDocument

from app.analysis.labels import format_tps, one_line
from app.analysis.sentences import WITHIN_RUN_NOTE
from app.comparison.differences import PropertyDifference, describe_sameness, what_differs
from app.comparison.limits import describe_bottlenecks, describe_part_limitations
from app.comparison.overall.factor_verdicts import EXPLANATION, describe_factors, describe_not_counted
from app.comparison.overall.phases import (
    COMPARED_PHASE_COLUMNS,
    ComparedPhase,
    phase_rows,
)
from app.comparison.overall.phases import (
    EXPLANATION as PHASES_EXPLANATION,
)
from app.comparison.table import COMPARISON_COLUMNS, ComparisonColumn, ComparisonRow
from app.comparison.warnings import comparison_notes, comparison_warnings
from app.comparison.wording import format_difference
from app.domain.columns import choose, column_of
from app.domain.text import tr
from ui.compare.content import NOT_YET, Content
from ui.theme import Theme
from ui.widgets.plain_writer import DocumentColours, PlainWriter

SWATCH: Final = "■"
_LONGEST: Final = 300
_MOST_SWATCHES: Final = 8
_MOST_NAMES: Final = 6


_PHASE_LATENCIES: Final = choose(COMPARED_PHASE_COLUMNS, ("p95", ComparisonColumn.P99))


class ComparisonWriter(PlainWriter):
    """Write one document in plain text. Used once."""

    def __init__(self, document: QTextDocument, theme: Theme) -> None:
        super().__init__(document, DocumentColours.of(theme))
        self._theme = theme

    def write(self, content: Content, problems: Sequence[str]) -> None:
        """Write the whole text about these runs."""
        for problem in problems:
            self._warn(problem)
        if content.comparison is None:
            self._line(NOT_YET if content.runs else tr("No run can be shown."), colour=self._ink.quiet)
            return
        self._write_warnings(content)
        self._write_differences(content)
        self._write_factors(content)  # the only verdicts for a matrix of single runs
        self._write_verdicts(content)
        self._write_configurations(content)
        self._write_phases(content)
        self._write_runs(content)

    def _write_warnings(self, content: Content) -> None:
        warnings = () if content.comparison is None else comparison_warnings(content.comparison)
        if warnings:
            self._heading(tr("Before you compare"))
        for warning in warnings:
            self._warn(warning)
        for note in () if content.comparison is None else comparison_notes(content.comparison):
            self._line(note)

    def _write_differences(self, content: Content) -> None:
        self._heading(tr("What differs"))
        found = what_differs([run.facts for run in content.runs if run.facts is not None])
        if not found.differences:
            self._line(describe_sameness(found), colour=self._ink.quiet)
        for difference in found.differences:
            self._write_difference(content, difference)

    def _write_difference(self, content: Content, difference: PropertyDifference) -> None:
        name = tr("{topic}: {name}").format(topic=difference.topic, name=one_line(difference.name))
        self._line(name, colour=self._ink.quiet)
        for variant in difference.variants:
            self._begin(indent=True)
            numbers = dict.fromkeys(content.runs[place].colour for place in variant.runs)
            for number in list(numbers)[:_MOST_SWATCHES]:
                self._put(SWATCH, colour=self._colour(number))
            text = one_line(variant.value)
            self._put(f" {text if len(text) <= _LONGEST else text[:_LONGEST] + '…'}")
            if (whose := _whose(content, variant.runs)) != text:
                self._put(f"  {whose}", colour=self._ink.quiet, small=True)

    def _write_verdicts(self, content: Content) -> None:
        if content.comparison is None:
            return
        self._heading(tr("Verdict"))
        for sentence in content.fastest:
            self._line(sentence)
        for part in content.comparison.parts:
            if part.condition:
                self._line(part.condition, colour=self._ink.quiet)
            for verdict in part.verdicts:
                self._line(verdict)
            if not part.verdicts:
                self._line(
                    tr("One configuration only: there is nothing to compare it with."), colour=self._ink.quiet
                )
            for text in filter(None, (describe_bottlenecks(part), describe_part_limitations(part))):
                self._line(text)

    def _write_factors(self, content: Content) -> None:
        if not content.factors.verdicts:
            return
        self._heading(tr("Over all cells"))
        self._line(EXPLANATION, colour=self._ink.quiet, small=True)
        for sentence in describe_factors(content.factors):
            self._line(sentence)
        if message := describe_not_counted(content.factors):
            self._line(message, colour=self._ink.quiet)

    def _write_configurations(self, content: Content) -> None:
        if content.comparison is None:
            return
        self._heading(tr("Configurations"))
        for row in content.comparison.rows:
            self._write_configuration(content, row)

    def _write_configuration(self, content: Content, row: ComparisonRow) -> None:
        group = row.group
        self._begin()
        self._put(SWATCH + " ", colour=self._colour(content.group_colour(group)))
        self._put(group.name)
        if group.warning:
            self._put(f"  {group.warning}", colour=self._ink.warning, bold=True, small=True)
        self._begin(indent=True)
        self._put(_row_words(row), colour=self._ink.quiet)

    def _write_phases(self, content: Content) -> None:
        if not content.phases:
            return
        self._heading(tr("Each phase for itself"))
        self._line(PHASES_EXPLANATION, colour=self._ink.quiet, small=True)
        for phase in content.phases:
            self._write_phase(content, phase)

    def _write_phase(self, content: Content, phase: ComparedPhase) -> None:
        self._begin()
        self._put(phase.label, bold=True)
        self._put(f"  {phase.transactions}", colour=self._ink.quiet, small=True)
        for each in phase_rows([phase]):
            self._write_configuration(content, each.row)
            for column in _PHASE_LATENCIES:
                if cell := column.cell(each):
                    self._put(f"  {column.heading} {cell}", colour=self._ink.quiet)
        for verdict in phase.verdicts:
            self._line(verdict)

    def _write_runs(self, content: Content) -> None:
        if content.comparison is None:
            return
        self._heading(tr("Each run for itself"))
        self._line(WITHIN_RUN_NOTE, colour=self._ink.quiet, small=True)
        for run, loaded in zip(content.comparison.runs, content.runs, strict=True):
            self._begin()
            self._put(SWATCH + " ", colour=self._colour(loaded.colour))
            self._put(run.name, bold=loaded.path == content.focus)
            self._begin(indent=True)
            self._put(
                " ".join(run.sentences) or tr("Nothing of its seconds is known."), colour=self._ink.quiet
            )

    def _colour(self, number: int) -> QColor:
        return self._theme.series_colour(number)


def _whose(content: Content, places: Sequence[int]) -> str:
    """Return names of configurations if all their runs are included, else of runs."""
    if content.comparison is None:
        return ""
    having, names = set(places), []
    for group in content.comparison.groups:
        found = [content.names[run.index] for run in group.runs if run.index in having]
        names += [group.name] if len(found) == len(group.runs) else found
    if len(names) <= _MOST_NAMES:
        return ", ".join(names)
    text = ", ".join(names[: _MOST_NAMES - 1])
    return tr("{names} and {count} more").format(names=text, count=len(names) - _MOST_NAMES + 1)


def _row_words(row: ComparisonRow) -> str:
    """Return the table row of a configuration as a line of text."""
    interval = column_of(COMPARISON_COLUMNS, ComparisonColumn.INTERVAL).cell(row)
    runs = column_of(COMPARISON_COLUMNS, ComparisonColumn.RUNS).cell(row)
    sentences = [
        tr("{tps} TPS").format(tps=format_tps(row.mean.mean)) if row.mean.mean is not None else tr("no TPS")
    ]
    if interval:
        sentences.append(f"({interval})")
    sentences.append(tr("runs: {runs}").format(runs=runs))
    if row.comparison is not None and (difference := format_difference(row.comparison)):
        sentences.append(difference)
    if row.references:
        sentences.append(tr("reference: {names}").format(names=", ".join(row.references)))
    return "  ".join(sentences)
