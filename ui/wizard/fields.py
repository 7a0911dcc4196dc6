"""Building blocks of the pages: a field with its label above and its error below, texts, columns.

Labels stand above their fields and long texts wrap, so that pages fit narrow windows and large type.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Signal
from PySide6.QtGui import QFont, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QComboBox,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from app.runs.draft_parts import Problem
from ui.theme import LARGE, MEDIUM, SMALL, TINY, Theme

HELP: Final = "help_key"
"""Dynamic property of widgets that the quiet panel explains."""

_COLUMN_EMS: Final = 26
_MOST_COLUMNS: Final = 3


def plain(text: str) -> str:
    """Return a label's text without its mnemonic, for screen readers."""
    return text.replace("&&", "\0").replace("&", "").replace("\0", "&").rstrip(":")


class _Wrapped(QLabel):
    """A label whose lines wrap, and which gets the room for it."""

    def __init__(self, text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(text, parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        self.setWordWrap(True)
        policy = QSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    @override
    def minimumSizeHint(self) -> QSize:
        # Qt's own guesses a width and keeps two lines for one; the layouts ask heightForWidth.
        return QSize(0, self.fontMetrics().height())

    @override
    def heightForWidth(self, width: int) -> int:
        # Painting wraps a little earlier than measuring.
        return super().heightForWidth(max(1, width - TINY))


class Text(_Wrapped):
    """A wrapped text; foreign words are never read as markup."""

    def __init__(
        self, theme: Theme, text: str = "", *, role: str = "text", parent: QWidget | None = None
    ) -> None:
        super().__init__(text, parent)
        self._theme = theme
        self._role = role
        theme.changed.connect(self._apply_colour)
        self._apply_colour()

    def set_role(self, role: str) -> None:
        """Change the colour: a name of the theme's palette."""
        if role != self._role:
            self._role = role
            self._apply_colour()

    def _apply_colour(self) -> None:
        palette = self.palette()
        for group in (palette.ColorGroup.Active, palette.ColorGroup.Inactive, palette.ColorGroup.Disabled):
            palette.setColor(group, self.foregroundRole(), self._theme.colour(self._role))
        self.setPalette(palette)


class ErrorText(Text):
    """Why a field is not right; takes no room while it is."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, role="warning", parent=parent)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.hide()

    def show_problems(self, problems: Sequence[Problem]) -> None:
        """Show what is wrong; what is only not known yet is told beside the button."""
        lines = [f"{problem.message}\n{problem.hint}".strip() for problem in problems if not problem.pending]
        self.setText("\n".join(dict.fromkeys(lines)))
        self.setVisible(bool(lines))


class Heading(Text):
    """The title of a part of a page."""

    def __init__(self, theme: Theme, text: str, parent: QWidget | None = None) -> None:
        super().__init__(theme, text, parent=parent)
        font = QFont(self.font())
        font.setBold(True)
        self.setFont(font)


class Rule(QFrame):
    """A thin line between parts of the window."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.setFixedHeight(1)
        self.setAutoFillBackground(True)
        theme.changed.connect(self._apply_colour)
        self._apply_colour()

    def _apply_colour(self) -> None:
        palette = self.palette()
        palette.setColor(self.backgroundRole(), self._theme.colour("frame"))
        self.setPalette(palette)


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
    ) -> None:
        super().__init__()
        self.control = control
        self.label = _Wrapped(label)
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
        layout.addWidget(self.note)
        layout.addWidget(self.error)
        layout.addStretch(0)

    def set_note(self, text: str) -> None:
        """Show what the value comes to."""
        self.note.setText(text)
        self.note.setVisible(bool(text))

    def show_problems(self, problems: Sequence[Problem]) -> None:
        """Show what is wrong with this field, and tell screen readers."""
        self.error.show_problems(problems)
        self.control.setAccessibleDescription(self.error.text())


class Columns(QWidget):
    """Widgets in as many columns as there is room for, each row as high as its texts need.

    Places them itself: Qt's grid keeps the heights of the widths before.
    """

    def __init__(self, widgets: Sequence[QWidget], column_ems: int = _COLUMN_EMS) -> None:
        super().__init__()
        self._widgets = list(widgets)
        self._column_ems = column_ems
        for widget in self._widgets:
            widget.setParent(self)
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    @override
    def hasHeightForWidth(self) -> bool:
        return True

    @override
    def heightForWidth(self, width: int) -> int:
        return self._arrange(width, place=False)

    @override
    def sizeHint(self) -> QSize:
        width = 2 * self._column_ems * self.fontMetrics().averageCharWidth()
        return QSize(width, self._arrange(width, place=False))

    @override
    def minimumSizeHint(self) -> QSize:
        widest = max((widget.minimumSizeHint().width() for widget in self._shown()), default=0)
        return QSize(widest, 0)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange(event.size().width(), place=True)

    @override
    def event(self, event: QEvent) -> bool:
        if event.type() is QEvent.Type.LayoutRequest:
            self._arrange(self.width(), place=True)
            self.updateGeometry()
        return super().event(event)

    def _shown(self) -> list[QWidget]:
        return [widget for widget in self._widgets if not widget.isHidden()]

    def _arrange(self, width: int, *, place: bool) -> int:
        """Return the height that the widgets take in this width; put them there where asked to."""
        shown = self._shown()
        least = self._column_ems * self.fontMetrics().averageCharWidth()
        columns = max(1, min(_MOST_COLUMNS, (width + LARGE) // (least + LARGE), len(shown)))
        each = (width - (columns - 1) * LARGE) // columns
        top = 0
        for first in range(0, len(shown), columns):
            row = shown[first : first + columns]
            height = max(_height_of(widget, each) for widget in row)
            for number, widget in enumerate(row):
                if place:
                    widget.setGeometry(number * (each + LARGE), top, each, height)
            top += height + MEDIUM
        return max(0, top - MEDIUM)


def _height_of(widget: QWidget, width: int) -> int:
    if widget.hasHeightForWidth():
        return max(widget.heightForWidth(width), widget.minimumSizeHint().height())
    return widget.sizeHint().height()


def line_edit(placeholder: str = "") -> QLineEdit:
    """Return a line to type in that never makes a page wider."""
    edit = QLineEdit()
    edit.setPlaceholderText(placeholder)
    edit.setMinimumWidth(4 * edit.fontMetrics().averageCharWidth())
    return edit


def combo_box() -> QComboBox:
    """Return a list to choose from; its longest entry does not decide the page's width."""
    box = QComboBox()
    box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
    box.setMinimumContentsLength(8)
    box.installEventFilter(_Unscrolled(box))
    box.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    return box


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
        button.toggled.connect(self.toggled)

    def set_state(self, text: str) -> None:
        """Show how it looks on this machine."""
        self.state.setText(text)
        self.state.setVisible(bool(text))
