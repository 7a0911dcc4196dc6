"""Choose which runs are compared, by their properties: a button for each property in which they differ."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QMenu, QToolButton, QWidget

from app.analysis.labels import one_line
from app.analysis.properties import Property
from app.comparison.factors import Dimension
from app.comparison.overall.conditions import role_of
from app.domain.text import tr
from ui.compare.content import Content
from ui.widgets.layouts import Flow
from ui.widgets.texts import show_tip

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
        return tr("{name}: {values}").format(name=one_line(name), values=", ".join(chosen) or tr("all"))

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
