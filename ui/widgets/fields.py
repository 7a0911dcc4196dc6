"""Building blocks of the pages: a field with its label above and its error below, texts, columns.

Labels stand above their fields and long texts wrap, so that pages fit narrow windows and large type.
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
from ui.widgets.elided import ElidedComboBox
from ui.widgets.texts import ErrorText, Heading, ReservedLines, Text, WrappedLabel

HELP: Final = "help_key"
"""Dynamic property of widgets that the quiet panel explains."""

_ROLE_OF_FLAGS: Final = Qt.ItemDataRole.UserRole.value - 1
"""Where QStandardItem keeps its flags (QStandardItem::setFlags in Qt's qstandarditemmodel.cpp)."""


def plain(text: str) -> str:
    """Return a label's text without its mnemonic, for screen readers."""
    return text.replace("&&", "\0").replace("&", "").replace("\0", "&").rstrip(":")


class Field(QWidget):
    """A control with its label above, what it comes to beneath, and its error last.

    Attributes:
        control: what is typed or chosen in.
        note: what the value comes to on this machine.
        error: why it is not right.
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
        """Make a field.

        Args:
            theme: colours.
            label: above it.
            control: what is typed or chosen in.
            key: of its explanation.
            beside: buttons that belong to it.
            lines: room that note and error always have; 0 where they take it when they say something.
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
        row = QHBoxLayout()
        row.setSpacing(SMALL)
        row.addWidget(control, 1)
        for widget in beside:
            row.addWidget(widget)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(TINY)
        layout.addWidget(self.label)
        layout.addLayout(row)
        self._slot = ReservedLines(lines, self.error, self.note) if lines else None
        for widget in (self._slot,) if self._slot is not None else (self.note, self.error):
            layout.addWidget(widget)
        layout.addStretch(0)

    def set_note(self, text: str) -> None:
        """Show what the value comes to."""
        self.note.setText(text)
        self.note.setVisible(bool(text))
        self._arrange()

    def _arrange(self) -> None:
        if self._slot is not None:
            self._slot.arrange()

    def show_problems(self, problems: Sequence[Problem]) -> None:
        """Show what is wrong with this field, and tell screen readers."""
        self.error.show_problems(problems)
        self._arrange()
        self.control.setAccessibleDescription(self.error.text())


def line_edit(placeholder: str = "") -> QLineEdit:
    """Return a line to type in that never makes a page wider."""
    edit = QLineEdit()
    edit.setPlaceholderText(placeholder)
    edit.setMinimumWidth(4 * edit.fontMetrics().averageCharWidth())
    return edit


def combo_box() -> QComboBox:
    """Return a list to choose from; its longest entry does not decide the page's width."""
    box = ElidedComboBox()
    box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
    box.setMinimumContentsLength(8)
    box.installEventFilter(_Unscrolled(box))
    box.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    return box


def set_row_enabled(box: QComboBox, row: int, *, enabled: bool) -> None:
    """Let a row of a list be chosen, or show it greyed.

    The flags are written as data, where QStandardItem keeps them, and never through an item of the model:
    items that ``addItem`` makes are C++'s own, and PySide6 is not told when they go. Its wrapper stays, with
    the address of memory that is free, and PySide6 6.8 takes whatever lies there next for that item: an event
    came to HelpPanel.eventFilter as a QStandardItem, and ``event.type()`` was a segmentation fault.
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
    """Give a button the name that screen readers say, and its explanation."""
    button.setAccessibleName(plain(button.text()))
    button.setProperty(HELP, key)


class _Unscrolled(QObject):
    """Lets the wheel scroll the page and not change a value that happens to lie under it."""

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() is QEvent.Type.Wheel and isinstance(watched, QWidget) and not watched.hasFocus():
            event.ignore()
            return True
        return super().eventFilter(watched, event)


class Section(QWidget):
    """A part of a page: heading and widgets below each other."""

    def __init__(self, theme: Theme, title: str, widgets: Sequence[QWidget]) -> None:
        super().__init__()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(SMALL)
        if title:
            layout.addWidget(Heading(theme, title))
        for widget in widgets:
            layout.addWidget(widget)


class Choice(QWidget):
    """A tick or a radio button with what it means below it, and fields that belong to it.

    Attributes:
        button: the tick.
        state: how it looks on this machine.
        error: why it cannot be.
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
        inner = QVBoxLayout()
        inner.setSpacing(SMALL)
        inner.setContentsMargins(LARGE, 0, 0, 0)
        for widget in (self.meaning, *fields, self.state, self.error):
            inner.addWidget(widget)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, SMALL)
        layout.setSpacing(TINY)
        layout.addWidget(button)
        layout.addLayout(inner)
        layout.addStretch(1)
        button.toggled.connect(self.toggled)

    def set_state(self, text: str) -> None:
        """Show how it looks on this machine."""
        self.state.setText(text)
        self.state.setVisible(bool(text))
