"""The result of a comparison: the answer as a sentence, a large number, bars with intervals, reservations.

The number is legible from the other side of a room.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QPalette, QResizeEvent, QTextDocument, QTextOption
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QSplitter,
    QTextBrowser,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from app.analysis.facts import kept_run_facts
from app.analysis.labels import format_tps, one_line, with_warning
from app.comparison.comparison import RunComparison
from app.comparison.overall.answer import Answer, by_speed, find_answer
from app.domain.errors import FootingError
from app.domain.text import tr
from app.library.entries import run_paths
from app.library.scan import ListedRun, read_listed
from app.library.spreads import read_spreads
from ui.background import BackgroundOp
from ui.charts.figures.bars import BarFigure, BarGroup
from ui.charts.figures.figure import FigureView
from ui.compare.content import NOT_YET, Choices, Content, LoadedRun, compare_content
from ui.compare.figures import TPS, bar_of, better_words, measured_label
from ui.compare.parts import View
from ui.theme import LARGE, MEDIUM, SMALL, Theme
from ui.widgets.plain_writer import DocumentColours, PlainWriter, written_at_once
from ui.widgets.texts import announce, plain_label, show_tip

_SCALE: Final = 3.0
"""Type size of the number, relative to texts."""


def headline_words(comparison: RunComparison) -> tuple[str, str] | None:
    """Return the highest mean TPS of the ranked configurations, and its configuration with interval.

    None if there is none, or if there are several conditions: no single figure represents them.
    """
    if len(comparison.parts) > 1:
        return None
    first = next(iter(by_speed(comparison)), None)
    if first is None or first.mean.mean is None:
        return None
    group, mean = first.group, first.mean
    message = with_warning(group.name, group.warning)
    is_highest = all((row.mean.mean or 0.0) <= (mean.mean or 0.0) for row in comparison.rows)
    if mean.low is None or mean.high is None:
        sentence = tr("{name}: highest mean, indicative only")
        if not is_highest:
            sentence = tr("{name}: highest mean of what is durable, indicative only")
        return format_tps(mean.mean), comparison.measured(sentence.format(name=message))
    sentence = tr("{name}: highest mean, 95 % interval {low} to {high}")
    if not is_highest:
        sentence = tr("{name}: highest mean of what is durable, 95 % interval {low} to {high}")
    message = sentence.format(name=message, low=format_tps(mean.low), high=format_tps(mean.high))
    return format_tps(mean.mean), comparison.measured(message)


class Headline(QWidget):
    """A large number with its unit, and its configuration.

    Attributes:
        value: the number.
        words: its configuration.
    """

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.value, self._unit = plain_label(parent=self), plain_label(tr("TPS"), self)
        self.words = plain_label(parent=self)
        self.words.setWordWrap(True)
        self.words.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        for label in (self.value, self._unit, self.words):
            label.setTextFormat(Qt.TextFormat.PlainText)
        row = QHBoxLayout()
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SMALL)
        for label in (self.value, self._unit):
            row.addWidget(label, 0, Qt.AlignmentFlag.AlignBaseline)
        row.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(row)
        layout.addWidget(self.words)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.hide()
        theme.changed.connect(self._apply_theme)
        self._apply_theme()

    def show_comparison(self, comparison: RunComparison) -> None:
        """Show the main figure of a comparison; hidden if there is none."""
        sentence = headline_words(comparison)
        for label, text in zip((self.value, self.words), sentence or ("", ""), strict=True):
            label.setText(text)
        self.setVisible(
            sentence is not None
        )  # last: showing lays out at once, a text only with the next event

    def _apply_theme(self) -> None:
        self.value.setFont(self._theme.number_font(_SCALE, bold=True))
        self._unit.setFont(self._theme.font(1.35))
        for label in (self._unit, self.words):
            _quieten(label, self._theme)


def _quieten(label: QLabel, theme: Theme) -> None:
    palette = QPalette(label.palette())
    palette.setColor(QPalette.ColorRole.WindowText, theme.muted)
    label.setPalette(palette)


_ROOMY: Final = 1.5
"""Height relative to the least legible one."""
_ROUGHLY: Final = 600
"""Assumed height of bars and text in pixels; the real height is divided in the same ratio."""


def result_figure(content: Content) -> BarFigure | None:
    """Return the TPS of every configuration as bars, for each condition the fastest first."""
    comparison = content.comparison
    if comparison is None:
        return None
    groups = tuple(
        BarGroup(part.condition, tuple(bar_of(content, row.group, TPS) for row in by_speed(part)))
        for part in comparison.parts
    )
    note = tr("{better}; whiskers: 95 % interval over runs, dotted: within one run; dots: runs")
    return BarFigure(measured_label(comparison, TPS), groups, note.format(better=better_words(TPS)))


class _AnswerWriter(PlainWriter):
    """Write the reservations next to the answer. Used once."""

    def __init__(self, document: QTextDocument, theme: Theme) -> None:
        super().__init__(document, DocumentColours.of(theme))

    def write(self, answer: Answer, problems: Sequence[str]) -> None:
        """Write the whole text."""
        weakened_by = (*problems, *answer.weakened_by)
        if weakened_by:
            self._heading(tr("Before you use it"))
        for sentence in weakened_by:
            self._warn(sentence)
        if answer.limits:
            self._heading(tr("What limited the runs"))
        for sentence in answer.limits:
            self._line(sentence)
        if answer.verdicts:
            self._heading(tr("Each against the first"))
        for sentence in answer.verdicts:
            self._line(sentence)


class ResultView(View):
    """The answer, bars, and reservations.

    Attributes:
        sentence: the answer.
        headline: the highest mean, large.
        figure: bars of TPS.
        text: reservations, bottlenecks, every verdict.
        problems: of reading, a sentence each.
    """

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self.sentence = plain_label(parent=self)
        self.sentence.setTextFormat(Qt.TextFormat.PlainText)
        self.sentence.setWordWrap(True)
        self.sentence.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.problems: tuple[str, ...] = ()
        self.headline = Headline(theme, self)
        self.figure = FigureView(theme)
        self.text = QTextBrowser()
        self.text.setOpenLinks(False)
        self.text.setAccessibleName(tr("What to know about the result"))
        self.text.setFrameShape(QTextBrowser.Shape.NoFrame)
        self.text.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.text.document().setUndoRedoEnabled(False)
        self._parts = QSplitter(Qt.Orientation.Vertical)
        self._parts.setChildrenCollapsible(False)
        self._parts.addWidget(self.figure)
        self._parts.addWidget(self.text)
        self.rows.setContentsMargins(SMALL, MEDIUM, SMALL, 0)
        self.rows.setSpacing(MEDIUM)
        self.rows.addWidget(self.sentence)
        self.rows.addWidget(self.headline)
        self.rows.addWidget(self._parts, 1)
        theme.changed.connect(self._apply_theme)
        self._apply_theme()

    def _apply_theme(self) -> None:
        self.sentence.setFont(self.theme.font(1.35, bold=True))
        self.refresh()

    def _make_room(self) -> None:
        """Keep the whole sentence visible: next to large widgets Qt's layout leaves it one line."""
        self.sentence.setMinimumHeight(max(0, self.sentence.heightForWidth(self.sentence.width())))

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._make_room()

    @override
    def why_not(self, content: Content) -> str:
        return "" if content.comparison is not None else NOT_YET

    @override
    def refresh(self) -> None:
        if self.content.comparison is None:
            return
        answer = find_answer(self.content.comparison)
        sentence = one_line(answer.sentence)
        if sentence != self.sentence.text():
            self.sentence.setText(sentence)
            self._make_room()
            announce(self, sentence)
        self.headline.show_comparison(self.content.comparison)
        figure = result_figure(self.content)
        self.figure.show_figure(figure)
        if figure is not None:
            bars = round(_ROOMY * figure.least_height(self.theme, self.width()))
            self._parts.setSizes([bars, max(bars // 2, _ROUGHLY - bars)])
        document = self.text.document()
        document.clear()
        document.setDefaultFont(self.font())
        with written_at_once(document):
            _AnswerWriter(document, self.theme).write(answer, self.problems)


class CampaignResult(QWidget):
    """The result of an ended campaign, with the next actions.

    Attributes:
        view: the result.
        report: writes a PDF of these runs.
        compare: shows them on the compare page.
        listed: the runs, as in the library; empty until read.
        colours: number of each run's colour, by the path of its file.

    Signals:
        wanted: the command chosen for these runs.
        settled: the result is shown, or why there is none.
    """

    wanted = Signal(str)
    settled = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.listed: tuple[ListedRun, ...] = ()
        self.colours: dict[str, int] = {}
        self._op: BackgroundOp[Any] | None = None
        self.view = ResultView(theme)
        self.view.setContentsMargins(0, 0, 0, 0)
        self.view.sentence.setText(NOT_YET)
        self.report, self.compare = QPushButton(tr("&Report …")), QPushButton(tr("&Compare"))
        show_tip(self.report, tr("Writes a PDF of these runs."))
        show_tip(self.compare, tr("Shows these runs over each other, and all their figures."))
        for button, command in ((self.report, "report"), (self.compare, "compare")):
            button.setEnabled(False)
            button.clicked.connect(lambda _checked, command=command: self.wanted.emit(command))
        row = QHBoxLayout()
        row.setSpacing(SMALL)
        row.addStretch(1)
        row.addWidget(self.compare)
        row.addWidget(self.report)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, SMALL)
        layout.setSpacing(LARGE)
        layout.addWidget(self.view, 1)
        layout.addLayout(row)
        self.setFocusProxy(self.report)

    def show_campaign(self, folder: Path, colours: Mapping[str, int], library: Path) -> None:
        """Read and show the result of a campaign.

        Args:
            folder: of the campaign.
            colours: number of each configuration's colour, by its name.
            library: with repeats that show the variation of runs.
        """
        self.stop()
        self._op = BackgroundOp(lambda: _read(folder, colours, library), self._take, self._fail).start()

    def stop(self) -> None:
        """Cancel pending work."""
        if self._op is not None:
            self._op.cancel()

    @override
    def deleteLater(self) -> None:
        self.stop()
        super().deleteLater()

    def _take(self, found: _Found) -> None:
        self.listed = found.listed
        self.colours = {run.path: run.colour for run in found.content.runs}
        self.report.setEnabled(bool(self.listed))
        self.compare.setEnabled(len(self.listed) > 1)
        self.view.problems = found.problems
        self.view.set_content(found.content)
        self.settled.emit()

    def _fail(self, error: FootingError) -> None:
        self.view.sentence.setText(one_line(f"{error.message} {error.hint}"))
        self.settled.emit()


@dataclass(frozen=True, slots=True)
class _Found:
    """The runs of a campaign with their comparison, and the problems of unreadable ones."""

    content: Content
    listed: tuple[ListedRun, ...]
    problems: tuple[str, ...]


def _read(folder: Path, colours: Mapping[str, int], library: Path) -> _Found:
    loaded: list[LoadedRun] = []
    listed: list[ListedRun] = []
    problems: list[str] = []
    for path in sorted(run_paths(folder)):
        try:
            facts = kept_run_facts(path)
        except FootingError as error:
            problems.append(one_line(f"{path.name}: {error.message}"))
            continue
        colour = colours.get(facts.configuration, len(colours))
        loaded.append(LoadedRun(str(path), colour, one_line(facts.name), facts=facts))
        listed.append(read_listed(path))
    content = compare_content(Content(tuple(loaded)), Choices(), read_spreads(library))
    return _Found(content, tuple(listed), tuple(problems))
