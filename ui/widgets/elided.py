"""Texts that are cut with an ellipsis if there is no room, and shown in full in a tool tip.

Other languages are longer than English, and Qt cuts the texts of lists and check boxes without a sign.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QHelpEvent, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QLabel,
    QSizePolicy,
    QStyle,
    QStyleOptionButton,
    QStyleOptionComboBox,
    QToolTip,
    QWidget,
)
from typing_extensions import override

from ui.painting import painting
from ui.widgets.formatting import tooltip
from ui.widgets.texts import show_tip


class ElidedLabel(QLabel):
    """A label of one line that never needs more room than a few letters."""

    def __init__(
        self, parent: QWidget | None = None, mode: Qt.TextElideMode = Qt.TextElideMode.ElideRight
    ) -> None:
        super().__init__(parent)
        self._mode = mode
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def show_line(self, text: str) -> None:
        """Show a text as one line, with unprintable characters as blanks."""
        line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
        if line != self.text():
            self.setText(line)
            show_tip(self, line)

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(self.fontMetrics().averageCharWidth() * 6, super().minimumSizeHint().height())

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        with painting(self) as painter:
            painter.setLayoutDirection(self.layoutDirection())  # without this it is the program's
            room = self.contentsRect()
            text = self.fontMetrics().elidedText(self.text(), self._mode, room.width())
            painter.setPen(self.palette().color(self.foregroundRole()))
            painter.drawText(room, int(self.alignment() | Qt.AlignmentFlag.AlignVCenter), text)


class ShortenedLabel(ElidedLabel):
    """A label of one line with shorter texts for less room; the longest is its tool tip."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._words: tuple[str, ...] = ("",)

    def show_words(self, *words: str) -> None:
        """Show the first text that fits, else the last."""
        self._words = words
        self._choose()

    def _choose(self) -> None:
        room, metrics = self.contentsRect().width(), self.fontMetrics()
        fits = (each for each in self._words if metrics.horizontalAdvance(each) <= room)
        self.show_line(next(fits, self._words[-1]))
        show_tip(self, self._words[0])

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._choose()


class ElidedComboBox(QComboBox):
    """A combo box that cuts its entry with an ellipsis."""

    def _room(self, option: QStyleOptionComboBox) -> int:
        field = QStyle.SubControl.SC_ComboBoxEditField
        return (
            self.style().subControlRect(QStyle.ComplexControl.CC_ComboBox, option, field, self).width()
            - 2  # as the style itself leaves on both sides
        )

    def _option(self) -> QStyleOptionComboBox:
        option = QStyleOptionComboBox()
        self.initStyleOption(option)
        return option

    @property
    def is_cut(self) -> bool:
        """Whether the entry needs more room than there is."""
        option = self._option()
        return self.fontMetrics().horizontalAdvance(option.currentText) > self._room(option)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        option = self._option()
        right = Qt.TextElideMode.ElideRight
        option.currentText = self.fontMetrics().elidedText(option.currentText, right, self._room(option))
        with painting(self) as painter:
            style = self.style()
            style.drawComplexControl(QStyle.ComplexControl.CC_ComboBox, option, painter, self)
            style.drawControl(QStyle.ControlElement.CE_ComboBoxLabel, option, painter, self)

    @override
    def event(self, event: QEvent) -> bool:
        return _shows_whole(self, event, self.currentText()) or super().event(event)


class ElidedCheckBox(QCheckBox):
    """A check box that cuts its text with an ellipsis."""

    def _room(self, option: QStyleOptionButton) -> int:
        contents = QStyle.SubElement.SE_CheckBoxContents
        return self.style().subElementRect(contents, option, self).width()

    def _option(self) -> QStyleOptionButton:
        option = QStyleOptionButton()
        self.initStyleOption(option)
        return option

    @property
    def is_cut(self) -> bool:
        """Whether the text needs more room than there is."""
        option = self._option()
        shown = Qt.TextFlag.TextShowMnemonic
        return self.fontMetrics().size(shown, option.text).width() > self._room(option)

    @override
    def minimumSizeHint(self) -> QSize:
        whole = super().minimumSizeHint()
        return QSize(min(whole.width(), self.fontMetrics().averageCharWidth() * 12), whole.height())

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        option = self._option()
        right, mnemonic = Qt.TextElideMode.ElideRight, Qt.TextFlag.TextShowMnemonic
        option.text = self.fontMetrics().elidedText(option.text, right, self._room(option), mnemonic.value)
        with painting(self) as painter:
            self.style().drawControl(QStyle.ControlElement.CE_CheckBox, option, painter, self)

    @override
    def event(self, event: QEvent) -> bool:
        return _shows_whole(self, event, self.text()) or super().event(event)


def _shows_whole(widget: ElidedComboBox | ElidedCheckBox, event: QEvent, text: str) -> bool:
    """Show a text that is cut as a tool tip where there is no other; return whether it is shown."""
    if not isinstance(event, QHelpEvent) or event.type() is not QEvent.Type.ToolTip:
        return False
    if is_shown := not widget.toolTip() and widget.is_cut:
        QToolTip.showText(event.globalPos(), tooltip(text), widget)
    return is_shown
