"""Windows through which Tab goes as they are read, whenever and in whatever order their parts were made.

Qt goes through widgets in the order of their making. Pages make parts late (a view when it is looked at, the
options of a filesystem when it is chosen), and these would come last. It also takes what hands its focus on
for a stop of its own, and so jumps over what stands before the part that gets it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QDialog,
    QFormLayout,
    QLayout,
    QLayoutItem,
    QMainWindow,
    QSplitter,
    QTabWidget,
    QWidget,
)
from typing_extensions import override


def go_on(window: QWidget, *, forth: bool) -> bool:
    """Give the focus to what is read next in a window, or before; return whether there is anything."""
    read = list(_read(window, _places(window)))
    here = window.focusWidget()
    place = read.index(here) if here in read else 0
    others = [*read[place + 1 :], *read[:place]]
    stop = next((each for each in (others if forth else others[::-1]) if _stops_at(each, window)), None)
    if stop is not None:
        stop.setFocus(Qt.FocusReason.TabFocusReason if forth else Qt.FocusReason.BacktabFocusReason)
    return stop is not None


def _places(window: QWidget) -> dict[QWidget, int]:
    """Return the widgets of a window with their places in Qt's own order."""
    places: dict[QWidget, int] = {}
    at: QWidget | None = window
    while at is not None and at not in places:
        places[at] = len(places)
        at = at.nextInFocusChain()
    return places


def _stops_at(widget: QWidget, window: QWidget) -> bool:
    wants = bool(widget.focusPolicy() & Qt.FocusPolicy.TabFocus) and widget.focusProxy() is None
    return wants and widget.isEnabled() and widget.isVisibleTo(window)


def _read(widget: QWidget, places: Mapping[QWidget, int]) -> Iterator[QWidget]:
    """Yield a widget and what is in it, as one reads; what has no layout keeps the order of these places."""
    yield widget
    first = list(dict.fromkeys(_first_parts(widget)))
    others = [each for each in widget.children() if isinstance(each, QWidget) and each not in first]
    for part in (*first, *sorted(others, key=lambda each: places.get(each, 0))):
        if part in places:
            yield from _read(part, places)


def _first_parts(widget: QWidget) -> Iterator[QWidget]:
    """Yield the parts of a widget whose order is known."""
    layout = widget.layout()
    if isinstance(widget, QSplitter):
        parts = [widget.widget(place) for place in range(widget.count())]
        yield from (part for part in parts if part is not None)
    elif isinstance(widget, QTabWidget):
        yield widget.tabBar()
    elif layout is not None:
        yield from _laid_out(layout)


def _laid_out(layout: QLayout) -> Iterator[QWidget]:
    for item in _items(layout):
        widget, inner = item.widget(), item.layout()
        if widget is not None:
            yield widget
        elif inner is not None:
            yield from _laid_out(inner)


def _items(layout: QLayout) -> Iterator[QLayoutItem]:
    if isinstance(layout, QFormLayout):  # whose own count is in the order of adding, not of rows
        roles = (QFormLayout.ItemRole.LabelRole, QFormLayout.ItemRole.FieldRole)
        found = [layout.itemAt(row, role) for row in range(layout.rowCount()) for role in roles]
    else:
        found = [layout.itemAt(place) for place in range(layout.count())]
    yield from (item for item in found if item is not None)


class OrderedWindow(QMainWindow):
    """A window through which Tab goes as it is read."""

    @override
    def focusNextPrevChild(self, next: bool) -> bool:
        return go_on(self, forth=next)


class OrderedDialog(QDialog):
    """A dialog through which Tab goes as it is read."""

    @override
    def focusNextPrevChild(self, next: bool) -> bool:
        return go_on(self, forth=next)
