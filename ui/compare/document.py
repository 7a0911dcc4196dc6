"""The text next to the charts: warnings, differences, verdicts, every single run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from PySide6.QtGui import QTextDocument

from app.analysis.labels import one_line
from app.analysis.sentences import WITHIN_RUN_NOTE
from app.comparison.differences import PropertyDifference, describe_sameness, what_differs
from app.comparison.matrix import standing_columns
from app.comparison.overall.phases import (
    EXPLANATION as PHASES_EXPLANATION,
)
from app.comparison.overall.phases import (
    ComparedPhase,
)
from app.comparison.warnings import comparison_notes, comparison_warnings
from app.domain.text import tr
from ui.compare.content import Content
from ui.compare.parts import name_some
from ui.theme import Theme
from ui.widgets.plain_writer import DocumentColours, PlainWriter

_SWATCHES: Final = "■●▲◆▼□○△◇▽"
_LONGEST: Final = 300
_MOST_SWATCHES: Final = 8


class ComparisonWriter(PlainWriter):
    """Write one document in plain text. Used once."""

    def __init__(self, document: QTextDocument, theme: Theme) -> None:
        super().__init__(document, DocumentColours.of(theme))
        self._theme = theme

    def write(self, content: Content, problems: Sequence[str]) -> None:
        """Write the whole text about these runs."""
        for problem in problems:
            self._warn(problem)
        if content.why_empty:
            self._line(content.why_empty, colour=self._ink.quiet)
            return
        self._write_warnings(content)
        self._write_differences(content)
        self._write_ranking(content)
        self._write_verdicts(content)
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
            numbers = dict.fromkeys(content.colours[place] for place in variant.runs)
            for number in list(numbers)[:_MOST_SWATCHES]:
                self._put_swatch(number)
            text = one_line(variant.value)
            self._put(f" {text if len(text) <= _LONGEST else text[:_LONGEST] + '…'}")
            if (whose := _whose(content, variant.runs)) != text:
                self._put(f"  {whose}", colour=self._ink.quiet, small=True)

    def _write_verdicts(self, content: Content) -> None:
        self._heading(tr("Verdict"))
        for sentence in (*content.answer.sentences, *content.answer.verdicts, *content.answer.limits):
            self._line(sentence)

    def _write_ranking(self, content: Content) -> None:
        if content.matrix is None:
            return
        self._heading(tr("Ranking"))
        _, *columns = standing_columns(content.matrix)
        for place, standing in enumerate(content.matrix.columns):
            self._begin()
            self._put_swatch(place, " ")
            self._put(standing.level)
            cells = [(column.heading, column.cell(standing)) for column in columns]
            self._begin(indent=True)
            self._put("; ".join(f"{name} {cell}" for name, cell in cells if cell), colour=self._ink.quiet)

    def _write_phases(self, content: Content) -> None:
        if not content.phases:
            return
        self._heading(tr("Each phase for itself"))
        self._line(PHASES_EXPLANATION, colour=self._ink.quiet, small=True)
        for phase in content.phases:
            self._write_phase(phase)

    def _write_phase(self, phase: ComparedPhase) -> None:
        self._begin()
        self._put(phase.label, bold=True)
        self._put(f"  {phase.transactions}", colour=self._ink.quiet, small=True)
        for verdict in phase.verdicts:
            self._line(verdict)

    def _write_runs(self, content: Content) -> None:
        if content.comparison is None:
            return
        self._heading(tr("Each run for itself"))
        self._line(WITHIN_RUN_NOTE, colour=self._ink.quiet, small=True)
        for run, loaded, colour in zip(content.comparison.runs, content.runs, content.colours, strict=True):
            self._begin()
            self._put_swatch(colour, " ")
            self._put(run.name, bold=loaded.path == content.focus)
            self._begin(indent=True)
            self._put(
                " ".join(run.sentences) or tr("Nothing of its seconds is known."), colour=self._ink.quiet
            )

    def _put_swatch(self, number: int, after: str = "") -> None:
        """Write a sign in the colour of a configuration, of another shape from the ninth on."""
        sign = _SWATCHES[self._theme.series_mark(number) % len(_SWATCHES)]
        self._put(sign + after, colour=self._theme.series_colour(number))


def _whose(content: Content, places: Sequence[int]) -> str:
    """Return names of configurations if all their runs are included, else of runs."""
    if content.comparison is None:
        return ""
    having, names = set(places), []
    for group in content.comparison.groups:
        found = [content.names[run.index] for run in group.runs if run.index in having]
        names += [group.name] if len(found) == len(group.runs) else found
    return name_some(names)
