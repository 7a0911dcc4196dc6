"""Placeholder of an empty page: what it will show, and a button for getting there."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtWidgets import QPushButton, QVBoxLayout, QWidget
from typing_extensions import override

from ui.icons import icon_pixmap
from ui.theme import LARGE, SMALL, Theme
from ui.widgets.layouts import fill
from ui.widgets.texts import plain_label, tint

_PICTURE: Final = 48


class EmptyState(QWidget):
    """An icon, a title, a sentence and a button, in the middle of the page.

    Attributes:
        title: in a few words.
        sentence: what this page will show, and how.
        button: the action; hidden if there is none.

    Signals:
        asked: the button was pressed.
    """

    asked = Signal()

    def __init__(self, theme: Theme, icon: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._icon = icon
        self._picture = plain_label(parent=self)
        self.title, self.sentence = plain_label(parent=self), plain_label(parent=self)
        self.button = QPushButton(self)
        self.button.clicked.connect(self.asked)
        layout = fill(QVBoxLayout(self), 2, spacing=SMALL, margins=LARGE)
        for label in (self._picture, self.title, self.sentence):
            label.setAlignment(Qt.AlignmentFlag.AlignCenter)
            label.setWordWrap(True)
            layout.addWidget(label)
        layout.addSpacing(SMALL)
        layout.addWidget(self.button, 0, Qt.AlignmentFlag.AlignHCenter)
        layout.addStretch(3)
        theme.changed.connect(self._apply_theme)
        self._apply_theme()

    def set_texts(self, title: str, sentence: str, button: str = "") -> None:
        """Set the texts; `button` is the button's label, empty for none."""
        self.title.setText(title)
        self.sentence.setText(sentence)
        self.button.setText(button)
        self.button.setVisible(bool(button))

    def _apply_theme(self) -> None:
        muted = self._theme.muted
        self._picture.setPixmap(icon_pixmap(self._icon, muted, _PICTURE, self.devicePixelRatioF()))
        self.title.setFont(self._theme.font(1.25, bold=True))
        tint(self.sentence, muted)

    @override
    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._apply_theme()
