"""A large button with a title and a sentence; if it is disabled, the reason instead."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtWidgets import QPushButton, QSizePolicy, QVBoxLayout, QWidget
from typing_extensions import override

from ui.icons import LARGE_ICON, icon_pixmap
from ui.theme import LARGE, SMALL, Theme
from ui.widgets.layouts import fill
from ui.widgets.texts import mnemonic_label, plain_label


class ChoiceButton(QPushButton):
    """One of a few choices of a page.

    Attributes:
        title: its label.
        sentence: what it does, or why it cannot.
    """

    def __init__(
        self, title: str, sentence: str, theme: Theme, parent: QWidget | None = None, *, icon: str = ""
    ) -> None:
        """Create the button.

        Args:
            title: in a few words, with its mnemonic.
            sentence: description.
            theme: colours.
            parent: Qt's.
            icon: name of an icon above the title, in resources/icons/lucide; empty for none.
        """
        super().__init__(parent)
        self._theme = theme
        self._sentence = sentence
        self._plain_title = title.replace("&", "")
        self.title = mnemonic_label(title, self)
        self.title.setBuddy(self)  # its mnemonic clicks the button
        self.sentence = plain_label(sentence, self)
        for label in (self.title, self.sentence):
            label.setWordWrap(True)
            label.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.sentence.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
        layout = fill(QVBoxLayout(self), spacing=SMALL, margins=LARGE)
        self._icon = icon
        self.picture = plain_label(parent=self)
        self.picture.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.picture.setVisible(bool(icon))
        layout.addWidget(self.picture)
        layout.addWidget(self.title)
        layout.addWidget(self.sentence, 1)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setAutoDefault(True)
        self.allow()
        self._fit_font()
        theme.changed.connect(self._paint_icon)

    def allow(self) -> None:
        """Enable it."""
        self.setEnabled(True)
        self._show_sentence(self._sentence)

    def refuse(self, reason: str) -> None:
        """Disable it and show the reason."""
        self.setEnabled(False)
        self._show_sentence(reason)

    def _show_sentence(self, sentence: str) -> None:
        self.sentence.setText(sentence)
        self._paint_icon()
        self.setAccessibleName(self._plain_title)
        self.setAccessibleDescription(sentence)
        self.updateGeometry()

    def _paint_icon(self) -> None:
        if self._icon:
            colour = self._theme.colour("accent" if self.isEnabled() else "muted")
            self.picture.setPixmap(icon_pixmap(self._icon, colour, LARGE_ICON, self.devicePixelRatioF()))

    def _fit_font(self) -> None:
        font = self.font()
        font.setPointSizeF(font.pointSizeF() * 1.3)
        font.setBold(True)
        if self.title.font() != font:
            self.title.setFont(font)

    @override
    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._fit_font()

    @override
    def hasHeightForWidth(self) -> bool:
        return True

    @override
    def heightForWidth(self, width: int) -> int:
        layout = self.layout()
        return layout.heightForWidth(width) if layout is not None else -1

    @override
    def sizeHint(self) -> QSize:
        width = self.fontMetrics().averageCharWidth() * 30 + 2 * LARGE
        return QSize(width, self.heightForWidth(width))

    @override
    def minimumSizeHint(self) -> QSize:
        width = self.fontMetrics().averageCharWidth() * 20 + 2 * LARGE
        return QSize(width, self.heightForWidth(width))
