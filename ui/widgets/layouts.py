"""Fill layouts with widgets in one call."""

from __future__ import annotations

from typing import TypeVar

from PySide6.QtWidgets import QBoxLayout, QLayout, QWidget

Part = QWidget | QLayout
Layout = TypeVar("Layout", bound=QBoxLayout)


def fill(
    layout: Layout,
    *items: Part | tuple[Part, int] | int,
    spacing: int | None = None,
    margins: int | tuple[int, int] | tuple[int, int, int, int] | None = None,
) -> Layout:
    """Add items to a layout and return it.

    Args:
        layout: a row or column.
        items: widgets and layouts, each alone or with its stretch; a number is empty space with that stretch.
        spacing: between items; None for the style's.
        margins: of all sides, of (sides, top and bottom), or of each from the left; None for the style's.
    """
    if spacing is not None:
        layout.setSpacing(spacing)
    if margins is not None:
        each = margins if isinstance(margins, tuple) else (margins,)
        layout.setContentsMargins(*(each * (4 // len(each))))
    for item in items:
        part, stretch = item if isinstance(item, tuple) else (item, 0)
        if isinstance(part, QWidget):
            layout.addWidget(part, stretch)
        elif isinstance(part, QLayout):
            layout.addLayout(part, stretch)
        else:
            layout.addStretch(part)
    return layout


def empty(layout: QLayout) -> None:
    """Remove all widgets from a layout; Qt deletes them when it comes to it."""
    while (item := layout.takeAt(0)) is not None:
        if (widget := item.widget()) is not None:
            widget.setParent(None)
            widget.deleteLater()
