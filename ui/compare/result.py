"""The result of a comparison: its answers, bars with intervals, reservations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QGuiApplication, QResizeEvent, QTextDocument, QTextOption
from PySide6.QtWidgets import (
    QCheckBox,
    QHBoxLayout,
    QMenu,
    QPushButton,
    QSplitter,
    QTextBrowser,
    QToolButton,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from app.analysis.facts import kept_run_facts
from app.analysis.labels import one_line
from app.comparison.overall.answer import Answer
from app.domain.errors import FootingError
from app.domain.text import tr
from app.library.entries import run_paths
from app.library.scan import ListedRun, read_listed
from app.library.spreads import read_spreads
from app.published.figures import published_figures
from ui.background import BackgroundOp
from ui.charts.figures.bars import FigureView
from ui.compare.content import NOT_YET, Choices, Content, LoadedRun, compare_content
from ui.compare.figures import TPS, known_figures, make_figure
from ui.compare.parts import Choice, View, control_row, figure_entries, labelled
from ui.theme import LARGE, MEDIUM, SMALL, Theme
from ui.widgets.plain_writer import DocumentColours, PlainWriter, written_at_once
from ui.widgets.texts import announce, plain_label

_ROOMY: Final = 1.5
"""Height relative to the least legible one."""
_ROUGHLY: Final = 600
"""Assumed height of bars and text in pixels; the real height is divided in the same ratio."""


class _AnswerWriter(PlainWriter):
    """Write the reservations next to the answer. Used once."""

    def __init__(self, document: QTextDocument, theme: Theme) -> None:
        super().__init__(document, DocumentColours.of(theme))

    def write(self, answer: Answer, problems: Sequence[str]) -> None:
        """Write the whole text."""
        weakened_by = (*problems, *answer.weakened_by)
        if weakened_by:
            self._heading(tr("Before you use this result"))
        for sentence in weakened_by:
            self._warn(sentence)
        if answer.limits:
            self._heading(tr("Bottleneck"))
        for sentence in answer.limits:
            self._line(sentence)
        if answer.verdicts:
            self._heading(tr("Compared with the baseline"))
        for sentence in answer.verdicts:
            self._line(sentence)


class ResultView(View):
    """The answer, bars, and reservations.

    Attributes:
        sentence: the answer.
        what: figure.
        published: whether to show published figures too.
        figure: bars.
        text: reservations, bottlenecks, every verdict; hidden if these are beside the view.
        copying: copies the answer or the numbers.
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
        self.figure = FigureView(theme)
        self.show_runs_of_cells(self.figure)
        self.what, self.published = Choice(tr("&Figure")), QCheckBox(tr("&Published figures"))
        self.published.setToolTip(
            tr("Shows published results for the same filesystem, RAID level and workload, as a reference.")
        )
        self.published.toggled.connect(lambda _on: self.refresh())
        self.what.chosen.connect(self.refresh)
        self.copying = QToolButton()
        self.copying.setText(tr("&Copy"))
        self.copying.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu = QMenu(self.copying)
        menu.addAction(tr("&Answer as text")).triggered.connect(lambda: self._copy(self.sentence.text()))
        menu.addAction(tr("&Numbers as CSV")).triggered.connect(lambda: self._copy(self._numbers()))
        self.copying.setMenu(menu)
        self.text = QTextBrowser()
        self.text.setOpenLinks(False)
        self.text.setAccessibleName(tr("Result caveats"))
        self.text.setFrameShape(QTextBrowser.Shape.NoFrame)
        self.text.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.text.document().setUndoRedoEnabled(False)
        self._parts = QSplitter(Qt.Orientation.Vertical)
        self._parts.setChildrenCollapsible(False)
        self._parts.addWidget(self.figure)
        self._parts.addWidget(self.text)
        self.text.hide()
        self.rows.setContentsMargins(SMALL, MEDIUM, SMALL, 0)
        self.rows.setSpacing(MEDIUM)
        self.rows.addWidget(self.sentence)
        row = control_row(self)
        labelled(row, tr("&Figure"), self.what)
        row.addWidget(self.published)
        row.addStretch(1)
        row.addWidget(self.copying)
        self.rows.addWidget(self._parts, 1)
        theme.changed.connect(self._apply_theme)
        self._apply_theme()

    def _apply_theme(self) -> None:
        self.sentence.clear()
        self.refresh()

    def _numbers(self) -> str:
        return "" if self.figure.figure is None else self.figure.figure.csv()

    @staticmethod
    def _copy(text: str) -> None:
        QGuiApplication.clipboard().setText(text)

    def _make_room(self) -> None:
        """Keep the whole sentence visible: next to large widgets Qt's layout leaves it one line."""
        self.sentence.setMinimumHeight(max(0, self.sentence.heightForWidth(self.sentence.width())))

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._make_room()

    @override
    def refresh(self) -> None:
        if self.content.comparison is None:
            return
        sentences = "\n".join(self.content.answer.sentences)
        if sentences != self.sentence.text():
            self.sentence.setFont(
                self.theme.font(1.35 if len(self.content.answer.sentences) < 2 else 1.15, bold=True)
            )
            self.sentence.setText(sentences)
            self._make_room()
            announce(self, sentences)
        self.what.offer(figure_entries(known_figures(self.content.comparison.groups)), TPS)
        self.published.setVisible(self.what.choice == TPS and self.content.matrix is None)
        published = published_figures() if self.published.isChecked() else ()
        figure = make_figure(self.content, self.what.choice or TPS, published)
        self.figure.show_figure(figure)
        if self.text.isHidden():
            return
        if figure is not None:
            bars = round(_ROOMY * figure.least_height(self.theme, self.width()))
            self._parts.setSizes([bars, max(bars // 2, _ROUGHLY - bars)])
        with written_at_once(self.text) as document:
            _AnswerWriter(document, self.theme).write(self.content.answer, self.problems)


_Found = tuple[Content, tuple[ListedRun, ...], tuple[str, ...]]
"""The runs of a campaign with their comparison, as listed, and the problems of unreadable ones."""


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
        self.view.text.show()
        self.view.setContentsMargins(0, 0, 0, 0)
        self.view.sentence.setText(NOT_YET)
        self.report, self.compare = QPushButton(tr("Re&port …")), QPushButton(tr("Compar&e"))
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
        content, self.listed, self.view.problems = found
        self.colours = {run.path: run.colour for run in content.runs}
        self.report.setEnabled(bool(self.listed))
        self.compare.setEnabled(len(self.listed) > 1)
        self.view.set_content(content)
        self.settled.emit()

    def _fail(self, error: FootingError) -> None:
        self.view.sentence.setText(one_line(f"{error.message} {error.hint}"))
        self.settled.emit()


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
    return content, tuple(listed), tuple(problems)
