"""Building blocks of the pages: a field with its label above and its error below, texts, columns.

Labels are above their fields and long texts wrap, so that pages fit narrow windows and large type.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtWidgets import (
    QAbstractButton,
    QComboBox,
    QHBoxLayout,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from app.domain.problem import Problem
from ui.theme import LARGE, MEDIUM, SMALL, TINY, Theme
from ui.widgets.layouts import fill
from ui.widgets.texts import ElidedComboBox, ErrorText, Heading, ReservedLines, Text, WrappedLabel

HELP: Final = "help_key"
"""Dynamic property of widgets with an explanation in the help panel."""

_ROLE_OF_FLAGS: Final = Qt.ItemDataRole.UserRole.value - 1
"""Where QStandardItem stores its flags (QStandardItem::setFlags in Qt's qstandarditemmodel.cpp)."""


def plain(text: str) -> str:
    """Return a label's text without its mnemonic, for screen readers."""
    return text.replace("&&", "\0").replace("&", "").replace("\0", "&").rstrip(":")


class Field(QWidget):
    """A control with its label above, its effect below, and its error last.

    Attributes:
        control: the input widget.
        note: effect of the value on this machine.
        error: why it is invalid.
    """

    def __init__(
        self,
        theme: Theme,
        label: str,
        control: QWidget,
        key: str,
        *,
        beside: Sequence[QWidget] = (),
        lines: int = 0,
    ) -> None:
        """Create a field.

        Args:
            theme: colours.
            label: above it.
            control: the input widget.
            key: of its explanation.
            beside: buttons next to it.
            lines: room reserved for note and error; 0 to take it only when needed.
        """
        super().__init__()
        self.control = control
        self.label = WrappedLabel(label)
        self.label.setTextFormat(Qt.TextFormat.AutoText)  # plain text knows no mnemonic
        self.label.setBuddy(control)
        control.setAccessibleName(plain(label))
        control.setProperty(HELP, key)
        self.note = Text(theme, role="muted")
        self.note.hide()
        self.error = ErrorText(theme)
        row = fill(QHBoxLayout(), (control, 1), *beside, spacing=SMALL)
        layout = fill(QVBoxLayout(self), self.label, row, spacing=TINY, margins=0)
        self._slot = ReservedLines(lines, self.error, self.note) if lines else None
        for widget in (self._slot,) if self._slot is not None else (self.note, self.error):
            layout.addWidget(widget)
        layout.addStretch(0)

    def set_note(self, text: str) -> None:
        """Show the effect of the value."""
        self.note.setText(text)
        self.note.setVisible(bool(text))
        self._arrange()

    def _arrange(self) -> None:
        if self._slot is not None:
            self._slot.arrange()

    def show_problems(self, problems: Sequence[Problem]) -> None:
        """Show the problems of this field, also to screen readers."""
        self.error.show_problems(problems)
        self._arrange()
        self.control.setAccessibleDescription(self.error.text())


def line_edit(placeholder: str = "") -> QLineEdit:
    """Return a text field that never makes a page wider."""
    edit = QLineEdit()
    edit.setPlaceholderText(placeholder)
    edit.setMinimumWidth(4 * edit.fontMetrics().averageCharWidth())
    return edit


def set_text(edit: QLineEdit | QPlainTextEdit, text: str) -> None:
    """Show a text; the cursor stays if it is shown already."""
    if isinstance(edit, QPlainTextEdit):
        if edit.toPlainText() != text:
            edit.setPlainText(text)
    elif edit.text() != text:
        edit.setText(text)


def combo_box() -> QComboBox:
    """Return a combo box whose longest entry does not affect the page's width."""
    box = ElidedComboBox()
    box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
    box.setMinimumContentsLength(8)
    box.installEventFilter(_Unscrolled(box))
    box.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    return box


def set_row_enabled(box: QComboBox, row: int, *, enabled: bool) -> None:
    """Enable a row of a list, or show it greyed.

    The flags are written as data, where QStandardItem stores them, and never through an item of the model:
    items created by ``addItem`` belong to C++, and PySide6 is not notified when they are deleted. Their
    wrapper stays, with the address of freed memory, and PySide6 6.8 takes the next object there for that
    item: an event arrived in HelpPanel.eventFilter as a QStandardItem, and ``event.type()`` was a
    segmentation fault.
    """
    box.setItemData(row, None if enabled else Qt.ItemFlag.NoItemFlags.value, _ROLE_OF_FLAGS)


def text_box(theme: Theme, placeholder: str, lines: int) -> QPlainTextEdit:
    """Return a box for several lines; Tab leaves it."""
    box = QPlainTextEdit()
    box.setPlaceholderText(placeholder)
    box.setTabChangesFocus(True)
    box.setFont(theme.fixed_font())
    box.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
    box.setFixedHeight(box.fontMetrics().lineSpacing() * lines + 2 * MEDIUM)
    return box


def push_button(text: str, key: str = "") -> QPushButton:
    """Return a button of a page; Enter belongs to Next, so this one is pressed with Space."""
    button = QPushButton(text)
    button.setAutoDefault(False)
    describe_button(button, key)
    return button


def describe_button(button: QAbstractButton, key: str) -> None:
    """Set a button's name for screen readers, and its explanation."""
    button.setAccessibleName(plain(button.text()))
    button.setProperty(HELP, key)


class _Unscrolled(QObject):
    """Makes the wheel scroll the page instead of changing a value below the pointer."""

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() is QEvent.Type.Wheel and isinstance(watched, QWidget) and not watched.hasFocus():
            event.ignore()
            return True
        return super().eventFilter(watched, event)


class Section(QWidget):
    """A part of a page: a heading and widgets below it."""

    def __init__(self, theme: Theme, title: str, widgets: Sequence[QWidget]) -> None:
        super().__init__()
        layout = fill(QVBoxLayout(self), spacing=SMALL, margins=0)
        if title:
            layout.addWidget(Heading(theme, title))
        for widget in widgets:
            layout.addWidget(widget)


class Choice(QWidget):
    """A check box or radio button with its meaning below it, and fields that belong to it.

    Attributes:
        button: the check box or radio button.
        state: its state on this machine.
        error: why it is impossible.
    """

    toggled = Signal(bool)

    def __init__(
        self, theme: Theme, button: QAbstractButton, meaning: str, key: str, fields: Sequence[QWidget] = ()
    ) -> None:
        super().__init__()
        self.button = button
        describe_button(button, key)
        button.setAccessibleDescription(meaning)
        self.meaning = Text(theme, meaning, role="muted")
        self.state = Text(theme, role="muted")
        self.state.hide()
        self.error = ErrorText(theme)
        inner = fill(
            QVBoxLayout(),
            self.meaning,
            *fields,
            self.state,
            self.error,
            spacing=SMALL,
            margins=(LARGE, 0, 0, 0),
        )
        fill(QVBoxLayout(self), button, inner, 1, spacing=TINY, margins=(0, 0, 0, SMALL))
        button.toggled.connect(self.toggled)

    def set_state(self, text: str) -> None:
        """Show its state on this machine."""
        self.state.setText(text)
        self.state.setVisible(bool(text))
