"""The control of a key of campaign files in a form, by its declaration."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QComboBox, QLineEdit

from app.campaign_file.kinds import CampaignField
from ui.widgets.fields import combo_box, line_edit, set_text


def control_of(field: CampaignField, take: Callable[[str], None]) -> QComboBox | QLineEdit:
    """Return a list of the values of a key if it has labels for them, else a line of text.

    Args:
        field: the key.
        take: is called with each chosen or typed text.
    """
    if not field.choices:
        edit = line_edit(field.placeholder)
        edit.textEdited.connect(take)
        return edit
    box = combo_box()
    for text, label in field.choices.items():
        box.addItem(label, str(text))
    box.currentIndexChanged.connect(lambda: take(str(box.currentData())))
    return box


def show_in(control: QComboBox | QLineEdit, text: object) -> None:
    """Show a text; a list that does not have it shows its first value."""
    if isinstance(control, QComboBox):
        control.setCurrentIndex(max(0, control.findData(text)))
    else:
        set_text(control, str(text))
