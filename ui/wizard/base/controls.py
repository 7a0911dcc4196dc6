"""Fields of keys of campaign files in a form, each made from its declaration; a table that is only read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import (
    QAbstractItemView,
    QCheckBox,
    QComboBox,
    QHeaderView,
    QLineEdit,
    QPlainTextEdit,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from app.campaign_file.kinds import BoolKind, CampaignField, EnumKind
from app.campaign_file.phases import SettingsTable, WorkNames
from app.domain.columns import Alignment, CellKind, Column
from app.domain.maintenance import maintenance
from app.draft.fields.state import FIELDS
from app.draft.fields.text import words_of_text
from ui.theme import LARGE, Theme
from ui.widgets.fields import HELP, Field, combo_box, line_edit, set_text, text_box
from ui.widgets.layouts import fill
from ui.widgets.texts import show_tip, tooltip

_LINES = 5
"""Height of a box for server settings."""


class Ticks(QWidget):
    """A check box for each kind of maintenance.

    Signals:
        edited: the ticked names, in the order of execution.
    """

    edited = Signal(str)

    def __init__(self, names: Sequence[str], key: str) -> None:
        super().__init__()
        self._order: list[str] = []
        self.ticks: dict[str, QCheckBox] = {}
        layout = fill(QVBoxLayout(self), spacing=0, margins=0)
        for name in names:
            tick = QCheckBox(maintenance(name).label)
            tick.setAccessibleName(maintenance(name).label)
            show_tip(tick, name)
            tick.setProperty(HELP, key)
            tick.toggled.connect(partial(self._on_ticked, name))
            self.ticks[name] = tick
            layout.addWidget(tick)

    def show_names(self, text: str) -> None:
        """Tick these names."""
        self._order = [name for each in text.split(",") if (name := each.strip())]
        for name, tick in self.ticks.items():
            blocked = tick.blockSignals(True)  # noqa: FBT003 - Qt's signature
            tick.setChecked(name in self._order)
            tick.blockSignals(blocked)

    def _on_ticked(self, name: str, ticked: bool) -> None:  # noqa: FBT001 - the signal's signature
        self._order = [each for each in self._order if each != name] + ([name] if ticked else [])
        self.edited.emit(", ".join(self._order))


class Form(QObject):
    """The fields of some keys.

    Attributes:
        fields: by key.
        controls: of the fields.

    Signals:
        edited: a key, and the text that was typed or chosen.
    """

    edited = Signal(str, str)

    def __init__(
        self,
        theme: Theme,
        keys: Iterable[str],
        declared: Mapping[str, CampaignField] = FIELDS,
        *,
        beside: Mapping[str, Sequence[QWidget]] | None = None,
        lines: int = 0,
        has_mnemonics: bool = True,
    ) -> None:
        """Create the fields.

        Args:
            theme: colours and fonts.
            keys: in order.
            declared: their declarations.
            beside: widgets next to the control of a key.
            lines: room reserved for note and error of each.
            has_mnemonics: whether the labels have mnemonics, of which each is on a page only once.
        """
        super().__init__()
        self._loading = False
        self._declared = {key: declared[key] for key in keys}
        self.fields: dict[str, Field] = {}
        for key, each in self._declared.items():
            label = each.label if has_mnemonics else each.label.replace("&", "")
            control = self._control(theme, key, each, label)
            ticked = isinstance(control, QCheckBox)
            more = (beside or {}).get(key, ())
            self.fields[key] = Field(theme, "" if ticked else label, control, key, beside=more, lines=lines)
            self.fields[key].label.setVisible(not ticked)
            if ticked:
                control.setAccessibleName(each.shown_name)
                self.fields[key].note.setContentsMargins(LARGE, 0, 0, 0)

    def _control(self, theme: Theme, key: str, declared: CampaignField, label: str) -> QWidget:
        take: Callable[[str], None] = partial(self._take, key)
        match declared.kind:
            case BoolKind():
                tick = QCheckBox(label)
                tick.toggled.connect(lambda ticked: take("true" if ticked else "false"))
                return tick
            case WorkNames(words=words):
                ticks = Ticks(words, key)
                ticks.edited.connect(take)
                return ticks
            case SettingsTable():
                lines = text_box(theme, declared.placeholder, _LINES)
                lines.textChanged.connect(lambda: take(lines.toPlainText()))
                return lines
            case _ if choices := _choices(declared):
                box = combo_box()
                for text, words_ in choices.items():
                    box.addItem(words_, str(text))
                box.currentIndexChanged.connect(lambda: take(str(box.currentData())))
                return box
            case _:
                edit = line_edit(declared.placeholder)
                edit.textEdited.connect(take)
                return edit

    def show_texts(self, texts: Mapping[str, str]) -> None:
        """Show texts by key; a field with an unchanged text keeps its cursor."""
        self._loading = True
        for key, field in self.fields.items():
            self._show(key, field.control, texts.get(key, ""))
        self._loading = False

    def _show(self, key: str, control: QWidget, text: str) -> None:
        match control:
            case QCheckBox():
                control.setChecked(text != "false")
            case QComboBox():
                while control.count() > len(_choices(self._declared[key])):
                    control.removeItem(control.count() - 1)
                if control.findData(text) < 0:  # from a campaign file
                    control.addItem(words_of_text(self._declared[key], text), text)
                control.setCurrentIndex(control.findData(text))
            case QLineEdit() | QPlainTextEdit():
                set_text(control, text)
            case Ticks():
                control.show_names(text)
            case _:  # there are no other controls
                raise AssertionError(key)

    def _take(self, key: str, text: str) -> None:
        if not self._loading:
            self.edited.emit(key, text)


def _choices(declared: CampaignField) -> Mapping[str, str]:
    """Return label by text of the values of a key; empty if it is a field of text."""
    if isinstance(declared.kind, EnumKind) and not declared.choices:
        return {"": declared.placeholder, **{word: word for word in declared.kind.words}}
    return declared.choices


@dataclass(frozen=True, slots=True)
class Entry:
    """One way to give a value.

    Attributes:
        label: as shown.
        key: of campaign files.
        text: of the key; None if it is typed.
    """

    label: str
    key: str
    text: str | None = None


class Alternatives(QObject):
    """A list of ways to give a value, and a line for those that are typed.

    Attributes:
        kind: the list.
        amount: the line.

    Signals:
        edited: a key, and the text that was typed or chosen.
    """

    edited = Signal(str, str)

    def __init__(self, entries: Sequence[Entry], name: str, key: str) -> None:
        """Create both.

        Args:
            entries: in order; the first one is the default.
            name: of the line, for screen readers.
            key: of its explanation.
        """
        super().__init__()
        self._entries = entries
        self._typed: dict[str, str] = {}
        self._loading = False
        self.kind = combo_box()
        for each in entries:
            self.kind.addItem(each.label)
        self.amount = line_edit()
        self.amount.setAccessibleName(name)
        self.amount.setProperty(HELP, key)
        self.kind.currentIndexChanged.connect(self._on_kind)
        self.amount.textEdited.connect(self._on_amount)

    def show_texts(self, texts: Mapping[str, str]) -> None:
        """Show texts by key; of keys that exclude each other only one is given."""
        given = {each.key: texts[each.key] for each in self._entries if each.key in texts}
        exact = [each for each in self._entries if each.text is not None and each.text == given.get(each.key)]
        typed = [each for each in self._entries if each.text is None and each.key in given]
        self._show((*exact, *typed, self._entries[0])[0], given)

    def _show(self, entry: Entry, texts: Mapping[str, str]) -> None:
        self._loading = True
        self.kind.setCurrentIndex(self._entries.index(entry))
        self.amount.setVisible(entry.text is None)
        if entry.text is None:
            self._typed[entry.key] = texts[entry.key]
            set_text(self.amount, texts[entry.key])
        self._loading = False

    def _on_kind(self, row: int) -> None:
        if self._loading:
            return
        entry = self._entries[row]
        text = entry.text
        if text is None:
            text = self._typed.get(entry.key) or FIELDS[entry.key].placeholder
        self._show(entry, {entry.key: text})
        self.edited.emit(entry.key, text)

    def _on_amount(self, text: str) -> None:
        entry = self._entries[self.kind.currentIndex()]
        self._typed[entry.key] = text
        self.edited.emit(entry.key, text)


# A table of texts, which is only read.


T = TypeVar("T")


class TextTable(QTableWidget):
    """Rows below headings; columns of words take the room that the others leave."""

    def __init__(self, name: str, key: str, *, selects: bool = False, most: int = 0) -> None:
        """Create an empty table.

        Args:
            name: for screen readers.
            key: of its explanation.
            selects: whether a row can be chosen.
            most: rows that are visible without scrolling, whose long texts take several lines; 0 for rows of
                one line in a table of fixed height.
        """
        super().__init__(0, 0)
        modes = QAbstractItemView.SelectionMode
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(modes.SingleSelection if selects else modes.NoSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setTabKeyNavigation(False)
        self.setShowGrid(False)
        self.setWordWrap(most > 0)
        self.setAccessibleName(name)
        self.setProperty(HELP, key)
        self.verticalHeader().hide()
        self._most = most
        if most:
            self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
            self.verticalHeader().sectionResized.connect(self._fit)
            self.horizontalScrollBar().rangeChanged.connect(self._fit)
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)

    def show_rows(self, columns: Sequence[Column[T]], rows: Sequence[T]) -> None:
        """Show rows; the current one stays."""
        blocked = self.blockSignals(True)  # noqa: FBT003 - Qt's signature
        current = self.currentRow()
        self.setColumnCount(len(columns))
        self.setHorizontalHeaderLabels([column.heading for column in columns])
        self.setRowCount(len(rows))
        for number, row in enumerate(rows):
            for place, column in enumerate(columns):
                text = column.cell(row)
                item = QTableWidgetItem(text)
                item.setToolTip(tooltip(*text.splitlines()))
                if column.alignment is Alignment.RIGHT:
                    item.setTextAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
                self.setItem(number, place, item)
        modes = QHeaderView.ResizeMode
        for place, column in enumerate(columns):
            is_words = column.kind is CellKind.WORDS
            mode = modes.Stretch if is_words else modes.ResizeToContents
            self.horizontalHeader().setSectionResizeMode(place, mode)
        if 0 <= current < len(rows):
            self.setCurrentCell(current, 0)
        self.blockSignals(blocked)
        if self._most:
            self._fit()

    def _fit(self, *_sizes: int) -> None:
        """Make it as high as its rows, or as the first of them; the rest scrolls."""
        rows = sum(self.rowHeight(row) for row in range(min(self._most, self.rowCount())))
        bar = self.horizontalScrollBar()
        below = bar.sizeHint().height() if bar.maximum() > 0 else 0
        header = self.horizontalHeader().sizeHint().height()
        self.setFixedHeight(header + rows + below + 2 * self.frameWidth())
