"""The line in which one searches the library, and the menu that writes into it what can be searched for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QMenu, QToolButton, QWidget
from typing_extensions import override

from app.domain.text import tr
from app.library.entries import LibraryEntry
from app.library.query import (
    FIELDS,
    QueryField,
    Term,
    count_values,
    haystack,
    matches,
    parse_query,
    write_query,
    write_term,
)
from app.library.scan import ListedRun
from ui.theme import TINY
from ui.widgets.formatting import mark_words, one_line, state_words

MENU_FIELDS: Final = ("fs", "raid", "option", "pg", "machine", "date", "tag", "state", "mark")
_MOST_VALUES: Final = 25
_DAYS: Final = (("today", tr("today")), ("7d", tr("the last 7 days")), ("30d", tr("the last 30 days")))


@dataclass(frozen=True, slots=True)
class _Searchable:
    """A run with its words, worked out once."""

    run: ListedRun
    words: str


class Search:
    """Which runs are meant; keeps the words of each run while it does not change."""

    def __init__(self) -> None:
        self.terms: tuple[Term, ...] = ()
        self._known: dict[str, _Searchable] = {}

    def pick(self, runs: Sequence[ListedRun]) -> Sequence[ListedRun]:
        """Return the runs that are meant; all of them where nothing is searched for."""
        if not self.terms:
            return runs
        known = {run.entry.path: self._searchable(run) for run in runs}
        self._known = known
        return [each.run for each in known.values() if matches(self.terms, each.run.entry, each.words)]

    def _searchable(self, run: ListedRun) -> _Searchable:
        before = self._known.get(run.entry.path)
        return before if before is not None and before.run is run else _Searchable(run, haystack(run.entry))


class SearchLine(QWidget):
    """What is searched for.

    Attributes:
        line: where it is typed.
        button: opens the menu of what runs have.

    Signals:
        changed: the terms; a tuple of `Term`.
        left: the keyboard goes to the list below.
    """

    changed = Signal(tuple)
    left = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._entries: tuple[LibraryEntry, ...] = ()
        self.line = QLineEdit(self)
        self.line.setPlaceholderText(tr("Search"))
        self.line.setClearButtonEnabled(True)
        self.line.setAccessibleName(tr("Search the library"))
        self.line.setToolTip(tr("Words, or fields such as fs:xfs pg:15 tag:baseline date:7d -state:failed"))
        self.button = QToolButton(self)
        self.button.setText(tr("F&ilter") + " ▾")
        self.button.setAccessibleName(tr("Filter"))
        self.button.setToolTip(tr("Filesystem, RAID level, option, version, machine, date, tag"))
        self.button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.menu = QMenu(self.button)
        self.menu.aboutToShow.connect(self._fill_menu)
        self.button.setMenu(self.menu)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(TINY)
        layout.addWidget(self.line, 1)
        layout.addWidget(self.button)
        self.line.textChanged.connect(lambda text: self.changed.emit(parse_query(text)))

    def set_runs(self, runs: Iterable[ListedRun]) -> None:
        """Offer what these runs have."""
        self._entries = tuple(run.entry for run in runs)

    @property
    def text(self) -> str:
        """What is typed."""
        return self.line.text()

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.line.text():
            self.line.clear()
        elif event.key() in {Qt.Key.Key_Down, Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            self.left.emit()
        else:
            super().keyPressEvent(event)

    # The menu

    def _fill_menu(self) -> None:
        self.menu.clear()
        for name in MENU_FIELDS:
            field = FIELDS[name]
            self._fill(self.menu.addMenu(field.label.replace("&", "&&")), field)
        self.menu.addSeparator()
        nothing = self.menu.addAction(tr("Show &all runs"), self.line.clear)
        nothing.setEnabled(bool(self.line.text()))

    def _fill(self, menu: QMenu, field: QueryField) -> None:
        chosen = {
            term.text for term in parse_query(self.text) if term.field == field.id and not term.excluded
        }
        found = _date_choices(self._entries) if field.id == "date" else _choices(field, self._entries)
        for value, words in found[:_MOST_VALUES]:
            action = menu.addAction(words.replace("&", "&&"))
            action.setCheckable(True)
            action.setChecked(value.casefold() in chosen)
            action.triggered.connect(lambda _checked, value=value: self.toggle(field.id, value))
        if len(found) > _MOST_VALUES:
            more = tr("{count} more; type {field}:…")
            menu.addAction(more.format(count=len(found) - _MOST_VALUES, field=field.id)).setEnabled(False)
        menu.setEnabled(bool(found))

    def toggle(self, field: str, value: str) -> None:
        """Add a term to what is typed, or take it out."""
        terms = parse_query(self.text)
        (wanted,) = parse_query(write_term(field, value)) or (None,)
        if wanted is None:
            return
        rest = [term for term in terms if term != wanted]
        self.line.setText(write_query(rest if len(rest) < len(terms) else (*terms, wanted)))


def _choices(field: QueryField, entries: Sequence[LibraryEntry]) -> list[tuple[str, str]]:
    words = {"state": state_words, "mark": mark_words}.get(field.id, one_line)
    line = tr("{value} ({count})")
    return [
        (value, line.format(value=words(value), count=count)) for value, count in count_values(field, entries)
    ]


def _date_choices(entries: Sequence[LibraryEntry]) -> list[tuple[str, str]]:
    """Return spans that end today, then the months in which there are runs, the newest first."""
    months: dict[str, int] = {}
    for day, count in count_values(FIELDS["date"], entries):
        months[day[:7]] = months.get(day[:7], 0) + count
    line = tr("{value} ({count})")
    return [
        *_DAYS,
        *(
            (month, line.format(value=datetime.fromisoformat(f"{month}-01").strftime("%B %Y"), count=count))
            for month, count in sorted(months.items(), reverse=True)
        ),
    ]
