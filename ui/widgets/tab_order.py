"""Tab moves through a window in reading order, independent of the order in which its parts were created.

Qt uses the order of creation. Pages create parts late (a view when it is first shown, the options of a
filesystem when it is chosen), and these would come last. Qt also treats a widget with a focus proxy as a stop
of its own, and so skips the widgets before the proxy.

Here Python inspects the widgets only while the user presses Tab, through a shortcut, and leaves the step to
Qt. With an override of `focusNextPrevChild` tests of the wizard died of segmentation faults. The cause is not
proved; observed: Qt also calls it when the focused widget is hidden or disabled, so while a page is being
replaced and its parts deleted, and Python's wrapper of a layout's item (`itemAt`; no QObject) claims to be
valid when Qt has freed it. So there is no override here, and no layout is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from PySide6.QtCore import QEvent, QObject, QRect, Qt
from PySide6.QtGui import QKeyEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import QApplication, QTextBrowser, QWidget

_FORTH: Final = (QKeySequence(Qt.Key.Key_Tab),)
_BACK: Final = (
    QKeySequence(Qt.Key.Key_Backtab),
    QKeySequence(Qt.Modifier.SHIFT | Qt.Key.Key_Backtab),
)


def set_reading_tab_order(window: QWidget) -> None:
    """Make Tab and Shift+Tab move through a window in reading order, from now on."""
    _TabKeys(window)


class _TabKeys(QObject):
    """Inspects a window each time Tab is pressed in it, and only then."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)  # lives as long
        self._window = window
        self._shortcuts = (QShortcut(window), QShortcut(window))
        forth, back = self._shortcuts
        forth.setKeys(_FORTH)
        back.setKeys(_BACK)
        forth.activated.connect(self._go_forth)
        back.activated.connect(self._go_back)

    def _go_forth(self) -> None:
        here = _focus_in(self._window)
        following = _after(here, stops_of(self._window))
        if following is not None:
            _join(here, following)
        self._press(here, Qt.Key.Key_Tab, Qt.KeyboardModifier.NoModifier)

    def _go_back(self) -> None:
        here = _focus_in(self._window)
        before = _after(here, stops_of(self._window)[::-1])
        if before is not None:
            _join(before, here)
        link = _link_of(here)
        self._press(here, Qt.Key.Key_Backtab, Qt.KeyboardModifier.ShiftModifier)
        if link and before is not None and _link_of(_focus_in(self._window)) == link:
            before.setFocus(Qt.FocusReason.BacktabFocusReason)  # Qt never goes back from the first link

    def _press(self, widget: QWidget, key: Qt.Key, modifiers: Qt.KeyboardModifier) -> None:
        """Pass the key to a widget, which may have its own use for it: links of a text, cells of a table."""
        for shortcut in self._shortcuts:  # Qt looks for shortcuts of this key, too
            shortcut.setEnabled(False)
        try:
            QApplication.sendEvent(widget, QKeyEvent(QEvent.Type.KeyPress, key, modifiers))
        finally:
            for shortcut in self._shortcuts:
                shortcut.setEnabled(True)


def _focus_in(window: QWidget) -> QWidget:
    """Return the focused widget, or the window itself if there is none."""
    here: QWidget | None = window.focusWidget()
    return window if here is None else here


def _after(here: QWidget, stops: Sequence[QWidget]) -> QWidget | None:
    """Return the stop after a widget, the first after the last; None if there is no other."""
    place = stops.index(here) if here in stops else -1
    found = stops[(place + 1) % len(stops)] if stops else None
    return found if found is not here else None


def _link_of(widget: QWidget) -> tuple[int, int] | None:
    """Return the range of the link selected by Tab in a text; None for other widgets."""
    if not isinstance(widget, QTextBrowser):
        return None
    cursor = widget.textCursor()
    return (cursor.anchor(), cursor.position())


def _join(first: QWidget, second: QWidget) -> None:
    """Put a widget directly after another in Qt's own order.

    Qt leaves widgets without their own focus between them, including focus proxies: so do it twice.
    """
    QWidget.setTabOrder(second, first)
    QWidget.setTabOrder(first, second)


def stops_of(window: QWidget) -> list[QWidget]:
    """Return the tab stops of a visible window in reading order: from top to bottom, row by row."""
    inner: dict[QWidget, list[QWidget]] = {}
    stops = [each for each in _ring(window) if _stops_at(each)]
    for stop in stops:
        child = stop
        while child is not window and (parent := child.parentWidget()) is not None:
            known = inner.setdefault(parent, [])
            if child in known:
                break
            known.append(child)
            child = parent
    return [each for each in _with_parts(window, inner) if each in stops]


def _ring(window: QWidget) -> Iterator[QWidget]:
    """Yield all widgets of a window in Qt's own order, without the window."""
    at = window.nextInFocusChain()
    while at is not None and at is not window:
        yield at
        at = at.nextInFocusChain()


def _stops_at(widget: QWidget) -> bool:
    wants = bool(widget.focusPolicy() & Qt.FocusPolicy.TabFocus) and widget.focusProxy() is None
    return wants and widget.isVisible() and widget.isEnabled()


def _with_parts(widget: QWidget, inner: dict[QWidget, list[QWidget]]) -> Iterator[QWidget]:
    yield widget
    for part in _as_read(inner.get(widget, [])):
        yield from _with_parts(part, inner)


def _as_read(parts: Sequence[QWidget]) -> list[QWidget]:
    """Return parts row by row; if rows cannot be separated, column by column."""
    if len(parts) < 2:
        return list(parts)
    rows = _cut(parts, lambda place: (place.top(), place.bottom()))
    if len(rows) > 1:
        return [part for row in rows for part in _as_read(row)]
    columns = _cut(parts, lambda place: (place.left(), place.right()))
    if len(columns) > 1:
        from_right = parts[0].layoutDirection() is Qt.LayoutDirection.RightToLeft
        return [part for column in columns[:: -1 if from_right else 1] for part in _as_read(column)]
    return sorted(parts, key=lambda part: (part.y(), part.x()))


def _cut(parts: Sequence[QWidget], extent: Callable[[QRect], tuple[int, int]]) -> list[list[QWidget]]:
    """Return parts in groups that a straight line can separate."""
    groups: list[list[QWidget]] = []
    end = 0
    for part in sorted(parts, key=lambda part: extent(part.geometry())):
        first, last = extent(part.geometry())
        if groups and first <= end:
            groups[-1].append(part)
            end = max(end, last)
        else:
            groups.append([part])
            end = last
    return groups
