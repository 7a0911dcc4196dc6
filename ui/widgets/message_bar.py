"""A line over the page for errors and unattended changes; it moves nothing and ends by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from PySide6.QtCore import QEvent, QObject, QTimer
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QToolButton, QWidget
from typing_extensions import override

from app.domain.text import tr
from ui.icons import set_icon
from ui.theme import MEDIUM, SMALL, Theme
from ui.widgets.fields import plain
from ui.widgets.layouts import fill
from ui.widgets.texts import show_tip, wrapped_label

_LEAST_MS: Final = 10_000
_MS_PER_CHARACTER: Final = 80
"""For a slow reader; with a button to press twice as long."""


class Notice(QFrame):
    """Hidden until there is a message.

    Attributes:
        words: the message.
        action: button for what can be done about it.
        other: a second one.
    """

    def __init__(self, theme: Theme, page: QWidget, parent: QWidget) -> None:
        """Create a notice over the foot of a page, which is a sibling."""
        super().__init__(parent)
        self._page = page
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self.setAutoFillBackground(True)
        self.words = wrapped_label(parent=self, selectable=True)
        self.words.setAccessibleName(tr("Notice"))
        self.action, self.other = QPushButton(self), QPushButton(self)
        self.close_button = QToolButton(self)
        self.close_button.setAutoRaise(True)
        self.close_button.setAccessibleName(plain(tr("&Close")))
        show_tip(self.close_button, plain(tr("&Close")))
        set_icon(self.close_button, "x", theme)
        layout = fill(QHBoxLayout(self), (self.words, 1), margins=(MEDIUM, SMALL))
        for button in (self.action, self.other, self.close_button):
            layout.addWidget(button)
            button.clicked.connect(self.hide)
        self._deeds: dict[QPushButton, Callable[[], None] | None] = {}
        for button in (self.action, self.other):
            button.clicked.connect(lambda _checked=False, button=button: self._act(button))
        self._timer = QTimer(self, singleShot=True)
        self._timer.timeout.connect(self._end)
        page.installEventFilter(self)
        self.hide()

    def show_message(
        self,
        sentence: str,
        action: str = "",
        do: Callable[[], None] | None = None,
        other: str = "",
        do_other: Callable[[], None] | None = None,
    ) -> None:
        """Show a sentence in place of the last one, optionally with buttons for one or two actions."""
        self.words.setText(sentence)
        self.words.setAccessibleDescription(sentence)
        for button, text, deed in ((self.action, action, do), (self.other, other, do_other)):
            self._deeds[button] = deed
            button.setText(text)
            button.setVisible(deed is not None)
        self.setVisible(bool(sentence))
        self._place()
        self._timer.start((_LEAST_MS + _MS_PER_CHARACTER * len(sentence)) * (1 if do is None else 2))

    def _act(self, button: QPushButton) -> None:
        if (deed := self._deeds[button]) is not None:
            deed()

    def _end(self) -> None:
        """Hide, but wait for a user who points at the notice or is in another window."""
        if self.underMouse() or not self.isActiveWindow():
            self._timer.start()
        else:
            self.hide()

    def _place(self) -> None:
        """Cover the foot of the page, as high as the words need."""
        around = self._page.geometry().adjusted(MEDIUM, MEDIUM, -MEDIUM, -MEDIUM)
        beside = sum(
            each.sizeHint().width() + SMALL
            for each in (self.action, self.other, self.close_button)
            if not each.isHidden()
        )
        width = min(
            around.width(), self.fontMetrics().horizontalAdvance(self.words.text()) + beside + 4 * MEDIUM
        )
        height = max(self.heightForWidth(width), self.action.sizeHint().height() + 2 * SMALL)
        left = around.left() + (around.width() - width) // 2
        self.setGeometry(left, around.bottom() - height + 1, width, height)
        self.raise_()

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in {QEvent.Type.Resize, QEvent.Type.Move} and self.isVisible():
            self._place()
        return super().eventFilter(watched, event)
