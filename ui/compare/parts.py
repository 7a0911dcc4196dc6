"""Parts of views: a row of controls, choices of figures, dimensions and runs, a sentence for no figure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Final

from PySide6.QtCore import QPointF, QSizeF, Qt, Signal
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QLabel,
    QMenu,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.analysis.labels import one_line
from app.analysis.properties import Property
from app.comparison.factors import Dimension
from app.comparison.overall.conditions import role_of
from app.domain.text import tr
from ui.background import BackgroundOp
from ui.charts.figures.bars import FigureView, PanelFigure
from ui.compare.content import Content
from ui.compare.figures import figure_label
from ui.theme import LARGE, SMALL, Theme
from ui.widgets.fields import plain
from ui.widgets.layouts import Flow
from ui.widgets.texts import ElidedComboBox, mnemonic_label, plain_label, show_tip, tooltip

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

    def __init__(self, label: str) -> None:
        super().__init__()
        self.setAccessibleName(plain(label))
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


# Choose which runs are compared, by their properties: a button for each property in which they differ.


_WIDEST_EMS: Final = 34
_RUNS: Final = "runs"
_MOST_VALUES: Final = 60
"""More are not read in a menu."""


class FilterRow(Flow):
    """Buttons with the chosen values of each property; hidden if the runs differ in none.

    Signals:
        changed: other runs are to be compared.
    """

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._values: dict[str, dict[str, str]] = {}
        self._chosen: dict[str, frozenset[str]] = {}
        self.hide()

    def offer(self, content: Content) -> None:
        """Offer the properties of all runs; nothing stays chosen."""
        self._values, self._chosen = {}, {}
        if content.comparison is not None:
            for each in _independent(content.dimensions):
                self._values[each.name] = _values_of(content, each)
        self._show()

    def choose(self, name: str, values: Iterable[str]) -> None:
        """Compare runs with these values of a property only; with any if there are none."""
        self._chosen[name] = frozenset(values)
        self._chosen = {each: chosen for each, chosen in self._chosen.items() if chosen}
        self._show()
        self.changed.emit()

    def choose_runs(self, words: str, paths: Iterable[str]) -> None:
        """Compare these runs only, besides the chosen values."""
        self._values[_RUNS] = dict.fromkeys(paths, words)
        self.choose(_RUNS, [words])

    def clear(self) -> None:
        """Compare all runs."""
        self._chosen = {}
        self._show()
        self.changed.emit()

    @property
    def words(self) -> str:
        """The chosen values; empty if all runs are compared."""
        return "; ".join(self._words(name) for name in self._chosen)

    def keeps(self, path: str) -> bool:
        """Whether a run has the chosen values."""
        return all(self._values[name].get(path) in chosen for name, chosen in self._chosen.items())

    def _words(self, name: str) -> str:
        if name == _RUNS:
            return ", ".join(self._chosen[_RUNS])
        chosen = [value for value in _ordered(self._values[name]) if value in self._chosen.get(name, ())]
        values = ", ".join(chosen) or tr("all")
        return f"{one_line(name)}: {values}"

    def _show(self) -> None:
        if _RUNS not in self._chosen:
            self._values.pop(_RUNS, None)
        buttons: list[QWidget] = [self._button(name) for name in self._values]
        if self._chosen:
            every = QToolButton()
            every.setText(tr("Compare &all"))
            every.clicked.connect(lambda _checked: self.clear())
            buttons.append(every)
        self.show_widgets(buttons)
        self.setVisible(bool(buttons))

    def _button(self, name: str) -> QToolButton:
        button, words = QToolButton(), self._words(name)
        button.setCheckable(True)
        button.setChecked(name in self._chosen)
        elided = QFontMetrics(button.font()).elidedText(
            words, Qt.TextElideMode.ElideMiddle, _WIDEST_EMS * button.fontMetrics().averageCharWidth()
        )
        button.setText(elided.replace("&", "&&"))
        button.setAccessibleName(words)
        show_tip(button, words)
        if name == _RUNS:
            button.setText(button.text() + "  ✕")
            button.clicked.connect(lambda _checked: self.choose(_RUNS, ()))
            return button
        menu = QMenu(button)
        chosen = self._chosen.get(name, frozenset())
        for value in _ordered(self._values[name]):
            action = menu.addAction(value.replace("&", "&&"))
            action.setCheckable(True)
            action.setChecked(value in chosen)
            # queued: the button with its menu is replaced
            action.triggered.connect(partial(self._toggle, name, value), Qt.ConnectionType.QueuedConnection)
        button.setMenu(menu)
        button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        return button

    def _toggle(self, name: str, value: str, _checked: bool = False) -> None:  # noqa: FBT001, FBT002 - Qt's
        self.choose(name, self._chosen.get(name, frozenset()) ^ {value})


def _independent(dimensions: Sequence[Dimension]) -> list[Dimension]:
    """Return the dimensions with a role and few values that do not follow from one before."""
    kept: list[Dimension] = []
    for each in dimensions:
        known = role_of(Property(each.topic, each.name, "")) and len(each.levels) <= _MOST_VALUES
        if known and not any(
            len(set(zip(other.values, each.values, strict=True))) == len(other.levels) for other in kept
        ):
            kept.append(each)
    return kept


def _values_of(content: Content, dimension: Dimension) -> dict[str, str]:
    """Return the value of each run by its path, in the order of the values."""
    groups = () if content.comparison is None else content.comparison.groups
    found = {
        content.runs[run.index].path: value
        for group, value in zip(groups, dimension.values, strict=True)
        for run in group.runs
    }
    return dict(sorted(found.items(), key=lambda each: dimension.levels.index(each[1])))


def _ordered(values: dict[str, str]) -> list[str]:
    return list(dict.fromkeys(values.values()))
