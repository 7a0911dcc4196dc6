"""Building blocks of the pages: fields with label and error, large buttons, an empty page, an ordered list.

Labels are above their fields and long texts wrap, so that pages fit narrow windows and large type.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QComboBox,
    QHBoxLayout,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QPlainTextEdit,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from app.domain.errors import Problem
from app.domain.text import tr
from ui.icons import LARGE_ICON, icon_pixmap
from ui.theme import LARGE, MEDIUM, SMALL, TINY, Theme
from ui.widgets.layouts import fill
from ui.widgets.texts import (
    ElidedComboBox,
    ErrorText,
    Heading,
    ReservedLines,
    Text,
    WrappedLabel,
    mnemonic_label,
    plain_label,
    tint,
)

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


# A large button with a title and a sentence; if it is disabled, the reason instead.


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


# Placeholder of an empty page: what it will show, and a button for getting there.


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


# A list of check boxes that the user orders: by dragging, by buttons, by Alt with Up and Down.


_ID = Qt.ItemDataRole.UserRole


class _Rows(QListWidget):
    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}.get(Qt.Key(event.key()))
        if step is None or not event.modifiers() & Qt.KeyboardModifier.AltModifier:
            super().keyPressEvent(event)
        else:
            self.move_row(step)

    def move_row(self, step: int) -> None:
        """Move the current row up or down."""
        row = self.currentRow()
        if row >= 0 and 0 <= row + step < self.count():
            self.model().moveRow(self.rootIndex(), row, self.rootIndex(), row + step + (step > 0))


class OrderedList(QWidget):
    """Rows with ids.

    Attributes:
        list: the rows.
        up: moves the current row.
        down: likewise.

    Signals:
        changed: the user ticked or moved a row.
    """

    changed = Signal()

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.list = _Rows()
        self.list.setAccessibleName(name)
        self.list.setDragDropMode(QAbstractItemView.DragDropMode.InternalMove)
        self.up = QPushButton(tr("Move &up"))
        self.down = QPushButton(tr("Move &down"))
        buttons = QHBoxLayout()
        for button in (self.up, self.down):
            button.setAutoDefault(False)
            buttons.addWidget(button)
        buttons.addStretch(1)
        self.rows = fill(QVBoxLayout(self), self.list, buttons, margins=0)
        self.setFocusProxy(self.list)
        self.up.clicked.connect(lambda: self.list.move_row(-1))
        self.down.clicked.connect(lambda: self.list.move_row(1))
        self.list.currentRowChanged.connect(self._update_buttons)
        self.list.itemChanged.connect(self.changed)
        self.list.model().rowsMoved.connect(self._on_moved)

    def show_rows(self, rows: Iterable[tuple[str, str, bool]]) -> None:
        """Show (id, words, whether it is ticked) in this order."""
        self.list.blockSignals(True)  # noqa: FBT003 - Qt's signature
        self.list.clear()
        for name, words, ticked in rows:
            item = QListWidgetItem(words, self.list)
            item.setData(_ID, name)
            item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
            item.setCheckState(Qt.CheckState.Checked if ticked else Qt.CheckState.Unchecked)
        self.list.blockSignals(False)  # noqa: FBT003 - Qt's signature
        self.list.setCurrentRow(0)
        self._update_buttons()

    def ticked(self) -> list[str]:
        """Return the ids of the ticked rows, in order."""
        items = [self.list.item(row) for row in range(self.list.count())]
        return [str(item.data(_ID)) for item in items if item.checkState() is Qt.CheckState.Checked]

    def _on_moved(self) -> None:
        self._update_buttons()
        self.changed.emit()

    def _update_buttons(self) -> None:
        row = self.list.currentRow()
        self.up.setEnabled(row > 0)
        self.down.setEnabled(0 <= row < self.list.count() - 1)
