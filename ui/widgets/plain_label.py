"""Labels that show a text as it is: Qt reads markup where there seems to be some, and names are anybody's."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QWidget


def plain_label(text: str = "", parent: QWidget | None = None) -> QLabel:
    """Return a label in which nothing is ever markup, whatever it is made to show later."""
    label = QLabel(text, parent)
    label.setTextFormat(Qt.TextFormat.PlainText)
    return label


def mnemonic_label(text: str, parent: QWidget | None = None) -> QLabel:
    """Return a label that names a control and carries its mnemonic, which plain text does not know.

    Its text is a constant of the program.
    """
    label = QLabel(text, parent)
    label.setTextFormat(Qt.TextFormat.AutoText)
    return label
