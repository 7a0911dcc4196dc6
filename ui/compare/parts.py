"""Parts of views: a row of controls, choices of figures and dimensions, a sentence instead of a figure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from PySide6.QtCore import QPointF, QSizeF, Qt, Signal
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget

from app.domain.text import tr
from ui.background import BackgroundOp
from ui.charts.figures.figure import FigureView
from ui.charts.figures.panels import PanelFigure
from ui.compare.content import Content
from ui.compare.figures import figure_label
from ui.theme import LARGE, SMALL, Theme
from ui.widgets.formatting import tooltip
from ui.widgets.texts import ElidedComboBox, mnemonic_label, plain_label

_MOST_NAMES: Final = 6


def list_and_charts(widget: QWidget) -> list[int]:
    """Return the initial widths of a list of lines and its charts: names with their warnings must fit."""
    em = widget.fontMetrics().averageCharWidth()
    return [em * 45, em * 120]


class View(QWidget):
    """One view of the runs. Its content is replaced as a whole.

    Attributes:
        theme: colours and fonts.
        content: the shown one.

    Signals:
        focus_asked: path of a run that was clicked.
        runs_asked: name of a cell that was clicked, and the paths of its runs.
    """

    focus_asked = Signal(str)
    runs_asked = Signal(str, tuple)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self.content = Content(())
        self._op: BackgroundOp[Any] | None = None
        self.rows = QVBoxLayout(self)
        self.rows.setContentsMargins(0, SMALL, 0, 0)

    def set_content(self, content: Content) -> None:
        """Show the content."""
        self.content = content
        self.refresh()

    def refresh(self) -> None:
        """Show the content again, with the current controls."""
        raise NotImplementedError

    def stop(self) -> None:
        """Cancel pending work."""
        if self._op is not None:
            self._op.cancel()

    def show_runs_of_cells(self, shown: FigureView) -> None:
        """Let a click on a cell of tables of bars show its runs over time."""

        def ask(at: QPointF) -> None:
            found = None
            if isinstance(shown.figure, PanelFigure):
                found = shown.figure.cell_at(QSizeF(shown.sheet.size()), self.theme, at)
            if found is not None:
                panel, place = found
                words = ", ".join(filter(None, (panel.heading, *place)))
                self.runs_asked.emit(words, self.content.paths_of(panel.heading, place))

        shown.sheet.clicked.connect(ask)


class Choice(ElidedComboBox):
    """A combo box that keeps its choice when its entries change, and limits its width.

    Signals:
        chosen: the user chose another entry; not emitted when entries change.
    """

    chosen = Signal()

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.setMinimumContentsLength(8)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.setMinimumWidth(80)
        self.setMaximumWidth(320)
        self.activated.connect(lambda _place: self.chosen.emit())

    def offer(self, entries: Iterable[tuple[str, str]], default: str = "") -> None:
        """Offer these (id, words); the current choice is kept if offered, else the default is chosen."""
        offered = list(entries)
        before = self.choice or default
        if [(self.itemData(place), self.itemText(place)) for place in range(self.count())] == offered:
            return
        self.clear()
        for name, words in offered:
            self.addItem(words, name)
            self.setItemData(self.count() - 1, tooltip(words), Qt.ItemDataRole.ToolTipRole)
        place = self.findData(before)
        self.setCurrentIndex(max(place, 0) if offered else -1)

    @property
    def choice(self) -> str:
        """The chosen id; empty for none."""
        return str(self.currentData() or "")

    def choose(self, name: str) -> None:
        """Choose an entry as if the user did."""
        place = self.findData(name)
        if place >= 0:
            self.setCurrentIndex(place)
            self.chosen.emit()


def labelled(layout: QHBoxLayout, words: str, widget: QWidget) -> None:
    """Add a control with its label and mnemonic."""
    label = mnemonic_label(words)
    label.setBuddy(widget)
    layout.addWidget(label)
    layout.addWidget(widget)


def control_row(view: View) -> QHBoxLayout:
    """Return a row of controls at the top of a view."""
    row = QHBoxLayout()
    row.setContentsMargins(SMALL, 0, SMALL, 0)
    view.rows.addLayout(row)
    return row


def sentence_label(words: str = "") -> QLabel:
    """Return a muted sentence for the middle of an empty view; always plain text."""
    label = plain_label(words)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setAlignment(Qt.AlignmentFlag.AlignCenter)
    label.setWordWrap(True)
    label.setMargin(LARGE)
    return label


def name_some(names: Sequence[str]) -> str:
    """Return names in a row; of many the first ones, and how many there are more."""
    if len(names) <= _MOST_NAMES:
        return ", ".join(names)
    text = ", ".join(names[: _MOST_NAMES - 1])
    return tr("{names} and {count} more").format(names=text, count=len(names) - _MOST_NAMES + 1)


def figure_entries(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return figures as entries of a choice."""
    return [(name, figure_label(name)) for name in names]
