"""A line at the top for errors and unattended changes; stays until it is closed or replaced."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QWidget

from app.domain.text import tr
from ui.theme import MEDIUM, SMALL
from ui.widgets.texts import plain_label


class Notice(QFrame):
    """Hidden until there is a message."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self.words = plain_label(parent=self)
        self.words.setTextFormat(Qt.TextFormat.PlainText)
        self.words.setWordWrap(True)
        self.words.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.words.setAccessibleName(tr("Notice"))
        self.action = QPushButton(self)
        self.action.hide()
        self.button = QPushButton(tr("&Understood"), self)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(MEDIUM, SMALL, MEDIUM, SMALL)
        layout.addWidget(self.words, 1)
        layout.addWidget(self.action)
        layout.addWidget(self.button)
        self._do: Callable[[], None] | None = None
        self.button.clicked.connect(self.hide)
        self.action.clicked.connect(self._act)
        self.hide()

    def show_message(self, sentence: str, action: str = "", do: Callable[[], None] | None = None) -> None:
        """Show a sentence in place of the last one, optionally with a button for an action."""
        self.words.setText(sentence)
        self.words.setAccessibleDescription(sentence)
        self._do = do
        self.action.setText(action)
        self.action.setVisible(do is not None)
        self.setVisible(bool(sentence))

    def _act(self) -> None:
        self.hide()
        if self._do is not None:
            self._do()
