"""What widgets show, and whether there is room for it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from PySide6.QtCore import (
    QAbstractItemModel,
    QAbstractListModel,
    QAbstractTableModel,
    QModelIndex,
    QPoint,
    QRect,
    QSize,
    Qt,
)
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractScrollArea,
    QApplication,
    QComboBox,
    QGroupBox,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QTabBar,
    QTextEdit,
    QWidget,
)

from ui.widgets.texts import ElidedCheckBox, ElidedComboBox, ElidedLabel, ReservedLines

MOST_ROWS: Final = 60
MOST_LESS: Final = 3
"""Pixels that a button may be smaller than its style asks for: its words have margins."""
_TAG: Final = re.compile(r"<[^<>]*>")
_ENTITY: Final = re.compile(r"&(?:[a-z]+|#\w+);")
_TYPED: Final = re.compile(r"`[^`]*`|[\"“][^\"”]*[\"”]")
_ENGLISH: Final = re.compile(r"(?<![\w./=-])[A-Za-z]?[a-z]+(?:,? [a-z]+)+(?![\w./=-])")
"""Two words or more beside each other, all in letters that translated texts do not have."""
_ENGLISH_NUMBER: Final = re.compile(
    r"(?<![\w.,-])\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\w,-])|(?<![\w.,-])\d+\.\d+(?=\s?(?:%|[a-zµ]?s\b|min\b|h\b|[KMGTk]i?B\b|:1|×))"  # noqa: RUF001
)
"""A number with thousands parted by commas, or with a point before its fraction and a unit behind it."""


def describe(widget: QWidget) -> str:
    """Return where a widget stands, for who reads what failed."""
    names: list[str] = []
    each: QWidget | None = widget
    while each is not None and len(names) < 4:
        names.append(type(each).__name__)
        each = each.parentWidget()
    return " < ".join(names)


def texts_of(widget: QWidget) -> Iterator[tuple[str, str]]:
    """Yield what a widget shows or tells, each with its kind."""
    yield "tool tip", widget.toolTip()
    yield "what's this", widget.whatsThis()
    yield "accessible name", widget.accessibleName()
    yield "accessible description", widget.accessibleDescription()
    if widget.isWindow():
        yield "title", widget.windowTitle()
    for action in widget.actions():
        yield "action", action.text()
        yield "tool tip of an action", action.toolTip()
    yield from _own_texts(widget)


def _own_texts(widget: QWidget) -> Iterator[tuple[str, str]]:
    match widget:
        case QLabel() | QAbstractButton():
            yield "text", widget.text()
        case QGroupBox():
            yield "title", widget.title()
        case QTabBar():
            for index in range(widget.count()):
                yield "tab", widget.tabText(index)
                yield "tool tip of a tab", widget.tabToolTip(index)
        case QLineEdit():
            yield "placeholder", widget.placeholderText()
        case QTextEdit() | QPlainTextEdit():
            yield "placeholder", widget.placeholderText()
            yield "text", widget.toPlainText() if widget.isReadOnly() else ""
        case QComboBox() | QAbstractItemView():
            model = widget.model()
            if model is not None:
                yield from _items(model, QModelIndex(), 3)
        case _:
            pass


def _items(model: QAbstractItemModel, parent: QModelIndex, depth: int) -> Iterator[tuple[str, str]]:
    rows = min(MOST_ROWS, model.rowCount(parent))
    # Qt hides columnCount of lists and hasChildren of tables.
    columns = 1 if isinstance(model, QAbstractListModel) else model.columnCount(parent)
    for column in range(columns if depth == 3 else 0):
        yield "heading", str(model.headerData(column, Qt.Orientation.Horizontal) or "")
    for row in range(rows):
        for column in range(columns):
            index = model.index(row, column, parent)
            yield "item", str(index.data(Qt.ItemDataRole.DisplayRole) or "")
            yield "tool tip of an item", str(index.data(Qt.ItemDataRole.ToolTipRole) or "")
            if depth and column == 0 and not isinstance(model, QAbstractListModel | QAbstractTableModel):
                yield from _items(model, index, depth - 1)


def english_in(text: str, known: Iterable[str] = ()) -> list[str]:
    """Return the English pieces of a text; what is typed or quoted is in nobody's language."""
    plain = _TYPED.sub(" · ", _TAG.sub(" · ", text))
    for each in sorted(known, key=len, reverse=True):
        plain = plain.replace(each, " · ")
    return [found.group() for found in _ENGLISH.finditer(plain)]


def english_numbers(known: Iterable[str] = ()) -> set[str]:
    """Return numbers in what any widget of the process shows that are written as in English."""
    found = set()
    for widget in QApplication.allWidgets():
        for kind, text in texts_of(widget):
            plain = _TYPED.sub(" · ", _TAG.sub(" · ", text))
            for each in known:
                plain = plain.replace(each, " · ")
            found |= {
                f"{describe(widget)}: {kind}: {number.group()!r} in {text[:100]!r}"
                for number in _ENGLISH_NUMBER.finditer(plain)
            }
    return found


def markup_for_screen_readers() -> set[str]:
    """Return what a screen reader would say of visible widgets with tags or entities in it."""
    found = set()
    for widget in QApplication.allWidgets():
        if not widget.isVisible():
            continue
        interface = QAccessible.queryAccessibleInterface(widget)
        for kind in (QAccessible.Text.Name, QAccessible.Text.Description):
            text = interface.text(kind)
            if _TAG.search(text) or _ENTITY.search(text):
                found.add(f"{kind.name} of {describe(widget)}: {text[:160]!r}")
    return found


def untranslated(known: Iterable[str] = ()) -> set[str]:
    """Return what any widget of the process shows in English."""
    found = set()
    for widget in QApplication.allWidgets():
        for kind, text in texts_of(widget):
            pieces = english_in(text, known)
            if pieces:
                found.add(f"{kind} of {describe(widget)}: {pieces} in {text[:160]!r}")
    return found


def _shown_part(widget: QWidget) -> QRect:
    """Return the part of a widget that its parents leave visible, down to what scrolls it or its window."""
    part, at = widget.rect(), widget
    while not at.isWindow():
        parent = at.parentWidget()
        if parent is None or (
            isinstance(parent.parentWidget(), QAbstractScrollArea)
            and parent.objectName() == "qt_scrollarea_viewport"
        ):
            break
        origin = widget.mapTo(parent, QPoint(0, 0))
        part = part.intersected(parent.rect().translated(-origin))
        at = parent
    return part


def cut_texts() -> set[str]:
    """Return what is visible and shows less than its text, without an ellipsis that a tool tip completes."""
    found = set()
    for widget in QApplication.allWidgets():
        if not widget.isVisible() or widget.visibleRegion().isEmpty():
            continue
        text = next((text for kind, text in texts_of(widget) if kind in {"text", "title"}), "")
        for what in _wrong_with(widget):
            found.add(f"{what}: {describe(widget)}: {text[:120]!r}")
    return found


def _wrong_with(widget: QWidget) -> Iterator[str]:
    if isinstance(widget, ElidedComboBox | ElidedCheckBox) or isinstance(
        widget.parentWidget(), ReservedLines
    ):
        return  # these end in an ellipsis by themselves, with the whole in a tool tip
    match widget:
        case ElidedLabel():
            needed = widget.fontMetrics().horizontalAdvance(widget.text())
            if needed > widget.contentsRect().width() and not widget.toolTip():
                yield "elided without a tool tip"
        case QLabel() | QAbstractButton():
            yield from _wrong_with_room(widget)
        case QComboBox():
            yield "a list to choose from that cuts without an ellipsis"
        case QGroupBox() if widget.fontMetrics().horizontalAdvance(widget.title()) > widget.width():
            yield "title of a group cut"
        case QTabBar() if not widget.usesScrollButtons() and widget.sizeHint().width() > widget.width() + 1:
            yield "tabs cut"
        case _:
            pass


def _wrong_with_room(widget: QLabel | QAbstractButton) -> Iterator[str]:
    """Yield what a label or button lacks that shows its text as it is."""
    if not widget.text():
        return
    wanted, size = widget.sizeHint(), widget.size()
    if isinstance(widget, QLabel) and widget.wordWrap():
        wanted = QSize(0, widget.heightForWidth(size.width()))
    elif isinstance(widget, QLabel):
        wanted.setHeight(0)
    narrower = MOST_LESS if isinstance(widget, QAbstractButton) else 1
    if wanted.width() > size.width() + narrower or wanted.height() > size.height() + MOST_LESS:
        yield f"{wanted.width()} x {wanted.height()} px in {size.width()} x {size.height()}"
    part = _shown_part(widget).size()
    if part.width() < size.width() - 2 or part.height() < size.height() - 2:
        yield f"only {part.width()} x {part.height()} of {size.width()} x {size.height()} px are in sight"
