"""Tool tips for those who see them and those who hear them."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from ui.widgets.formatting import tooltip


def show_tip(widget: QWidget, *lines: str) -> None:
    """Show these lines as the tool tip of a widget, whatever is in them, and let screen readers say them.

    Qt describes a widget that has no description by its tool tip, and would have the tags said as well.
    """
    widget.setToolTip(tooltip(*lines))
    widget.setAccessibleDescription(" ".join(dict.fromkeys(filter(None, lines))))
