"""Labels and texts: wrapped, plain, for errors and headings, with tool tips; and texts for screen readers.

Foreign text is always plain: Qt would interpret anything that looks like markup.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import Final, Protocol, runtime_checkable

from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QAccessibleEvent,
    QAccessibleInterface,
    QColor,
    QFont,
    QHelpEvent,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QAccessibleWidget,
    QCheckBox,
    QComboBox,
    QFrame,
    QLabel,
    QScrollArea,
    QSizePolicy,
    QStyle,
    QStyleOptionButton,
    QStyleOptionComboBox,
    QToolTip,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from app.analysis.labels import (
    MARK_WORDS,
    STATE_WORDS,
    UNREADABLE,
    format_figure,
    format_number,
    format_tps,
    mark_words,
    one_line,
    state_words,
)
from app.domain.errors import Problem
from app.domain.run import RunState
from app.domain.text import number_text, tr
from app.library.scan import ListedRun
from ui.theme import SMALL, TINY, Theme, painting
from ui.widgets.layouts import fill

# Texts of the window for states, marks, times and figures; no widgets.


__all__ = [
    "MARK_WORDS",
    "SEPARATOR",
    "STATE_WORDS",
    "UNREADABLE",
    "breakable",
    "format_figure",
    "format_number",
    "mark_words",
    "moment",
    "one_line",
    "run_name",
    "second_line",
    "spoken",
    "state_words",
    "tooltip",
]

SEPARATOR: Final = " · "


def tooltip(*lines: str) -> str:
    """Return a tool tip that shows these lines as plain text and wraps long ones."""
    texts = [html.escape(line) for line in lines if line]
    return f"<qt>{'<br>'.join(texts)}</qt>" if texts else ""


def moment(epoch_s: float | None) -> str:
    """Format a time in local time, with the year only if it is another one."""
    if epoch_s is None:
        return ""
    try:
        then = datetime.fromtimestamp(epoch_s).astimezone()
    except (ValueError, OverflowError, OSError):  # a file from elsewhere may say anything
        return ""
    now = datetime.now().astimezone()
    if then.date() == now.date():
        return tr("today {time}").format(time=then.strftime("%H:%M"))
    return then.strftime(tr("%d %b %H:%M") if then.year == now.year else tr("%d %b %Y"))


def breakable(text: str) -> str:
    """Let a label break words of more than 40 characters, such as a serial number of 128.

    Not for commands: a copy would include the break characters, which break them in a shell.
    """
    return re.sub(r"\S{41,}", lambda word: "\u200b".join(re.findall(".{1,16}", word[0])), text)


def run_name(run: ListedRun) -> str:
    """Return the name of a listed run in one line, never empty."""
    entry = run.entry
    return one_line(entry.name or "") or entry.path.rsplit("/", 1)[-1]


def second_line(run: ListedRun) -> str:
    """Return the line below the name in the list: the read error, or storage and latency."""
    entry = run.entry
    if entry.problem is not None:
        return one_line(entry.problem.replace(entry.path, "").strip())
    parts = [state_words(entry.state)] if entry.state == RunState.RUNNING else []
    if entry.filesystem:
        parts.append(one_line(entry.filesystem))
    if entry.p99_ms is not None:
        parts.append(f"p99 {number_text(entry.p99_ms, '.3g')} ms")
    parts += [f"#{one_line(tag)}" for tag in entry.tags]
    return SEPARATOR.join(parts)


def spoken(run: ListedRun) -> str:
    """Return the text of a listed run for a screen reader."""
    entry = run.entry
    tps = (
        tr("{tps} transactions per second, whole run").format(tps=format_tps(entry.tps))
        if entry.tps is not None
        else ""
    )
    state = "" if entry.state in {RunState.DONE, RunState.RUNNING} else state_words(entry.state)
    words = [tps, state, *map(mark_words, entry.marks), second_line(run), moment(entry.started)]
    parts = [run_name(run), *words]
    return ", ".join(part for part in parts if part)


def plain_label(text: str = "", parent: QWidget | None = None) -> QLabel:
    """Return a label that never interprets markup, also in later texts."""
    label = QLabel(text, parent)
    label.setTextFormat(Qt.TextFormat.PlainText)
    return label


def wrapped_label(text: str = "", parent: QWidget | None = None, *, selectable: bool = False) -> QLabel:
    """Return a plain label whose lines wrap; with mouse and keyboard its text can be selected if asked."""
    label = plain_label(text, parent)
    label.setWordWrap(True)
    if selectable:
        flags = Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        label.setTextInteractionFlags(flags)
    return label


def tint(label: QLabel, colour: QColor) -> None:
    """Set the colour of a label's text."""
    palette = label.palette()
    palette.setColor(label.foregroundRole(), colour)
    label.setPalette(palette)


def mnemonic_label(text: str, parent: QWidget | None = None) -> QLabel:
    """Return a label that names a control and has its mnemonic, which plain text does not support.

    Its text is a constant of the program.
    """
    label = QLabel(text, parent)
    label.setTextFormat(Qt.TextFormat.AutoText)
    return label


def show_tip(widget: QWidget, *lines: str) -> None:
    """Set these lines as the plain-text tool tip of a widget, and as its description for screen readers.

    Qt would use the tool tip as the description of a widget without one, including its tags.
    """
    widget.setToolTip(tooltip(*lines))
    widget.setAccessibleDescription(" ".join(dict.fromkeys(filter(None, lines))))


class WrappedLabel(QLabel):
    """A label whose lines wrap, and which gets the room for that."""

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


class Text(WrappedLabel):
    """A wrapped text; foreign text is never parsed as markup."""

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


class ReservedLines(QWidget):
    """Room for a number of lines that is always there, so that nothing moves when a text appears.

    Shows the first non-empty one of its texts; longer texts are cut, with a tool tip.
    """

    def __init__(self, lines: int, *texts: Text) -> None:
        super().__init__()
        self._lines = lines
        self._texts = texts
        for text in texts:
            text.setParent(self)
        self._more = plain_label("…", self)
        self._more.setAutoFillBackground(True)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def arrange(self) -> None:
        """Show the first non-empty text."""
        chosen = next((text for text in self._texts if text.text()), None)
        for text in self._texts:
            text.setGeometry(self.rect())
            text.setVisible(text is chosen)
        words = chosen.text() if chosen is not None else ""
        is_cut = chosen is not None and chosen.heightForWidth(self.width()) > self.height()
        show_tip(self, *(words.splitlines() if is_cut else ()))
        self._more.setVisible(is_cut)
        if is_cut:
            size = self._more.sizeHint()
            line = self.fontMetrics().lineSpacing()
            self._more.setGeometry(self.width() - size.width(), self.height() - line, size.width(), line)
            self._more.raise_()

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.arrange()

    @override
    def sizeHint(self) -> QSize:
        return QSize(0, self._lines * self.fontMetrics().lineSpacing())

    @override
    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()


class ErrorText(Text):
    """Why a field is invalid; takes no room without an error."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, role="warning", parent=parent)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.hide()

    def show_problems(self, problems: Sequence[Problem]) -> None:
        """Show problems, except those that are only not known yet, which are shown next to the button."""
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


class ScrollingTexts(QScrollArea):
    """Texts below each other in a scrolling area of fixed height, so that nothing around them moves."""

    def __init__(self, lines: int, *texts: Text) -> None:
        super().__init__()
        inside = QWidget()
        fill(QVBoxLayout(inside), *texts, *(1,) * (len(texts) > 1), spacing=TINY, margins=0)
        self.setWidget(inside)
        self.setWidgetResizable(True)
        self.setAccessibleName(tr("Remarks"))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFixedHeight(lines * self.fontMetrics().lineSpacing() + 2 * TINY)


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


def below_rule(theme: Theme, widget: QWidget) -> QWidget:
    """Return a widget below a thin line, which marks the end of the scrolling page above."""
    whole = QWidget()
    fill(QVBoxLayout(whole), Rule(theme), widget, spacing=SMALL, margins=0)
    return whole


@runtime_checkable
class AccessibleText(Protocol):
    """A painted widget that describes its data as text."""

    def accessible_text(self) -> str:
        """Return all currently shown data in sentences."""


class _Described(QAccessibleWidget):
    """Describes a widget by its data."""

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget, QAccessible.Role.Chart)

    @override
    def text(self, t: QAccessible.Text) -> str:
        if t is QAccessible.Text.Description and self.isValid():
            widget = self.object()
            if isinstance(widget, AccessibleText):
                return widget.accessible_text()
        return super().text(t)


def _interface_of(_class_name: str, asked: QObject) -> QAccessibleInterface | None:
    """Return the interface of a widget that describes its data; None for all others."""
    return (
        _Described(asked) if isinstance(asked, QWidget) and hasattr(type(asked), "accessible_text") else None
    )


@lru_cache(maxsize=1)
def expose_data_to_screen_readers() -> None:
    """Describe every `AccessibleText` of this process by its data; once is enough."""
    QAccessible.installFactory(_interface_of)


def is_listened_to() -> bool:
    """Return whether a screen reader or a similar program is active."""
    return QAccessible.isActive()


def announce(widget: QWidget, sentence: str) -> None:
    """Let a screen reader say a sentence after its current one; no effect without a screen reader."""
    if sentence and is_listened_to():
        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(widget, sentence))


def announce_change(widget: QWidget) -> None:
    """Notify screen readers that the data of a widget have changed."""
    if is_listened_to():
        QAccessible.updateAccessibility(QAccessibleEvent(widget, QAccessible.Event.DescriptionChanged))


# Texts that are cut with an ellipsis if there is no room, and shown in full in a tool tip.
#
# Other languages are longer than English, and Qt cuts the texts of lists and check boxes without a sign.


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
