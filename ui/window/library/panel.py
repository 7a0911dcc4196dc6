"""The list of runs on the left: ticked runs are in the charts, the current one is in focus there.

Mouse: a click moves the focus, a click on the tick or with Ctrl adds a run, a double click shows it alone.
Keyboard: Space ticks, Return shows alone, arrows move the focus, Delete moves to the trash, Escape goes to
the search.

Above it are the search line, and a menu that adds search terms to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Final

from PySide6.QtCore import QModelIndex, QPoint, Qt, Signal, SignalInstance
from PySide6.QtGui import QAction, QContextMenuEvent, QDrag, QKeyEvent, QMouseEvent, QPaintEvent, QPalette
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QLineEdit,
    QListView,
    QMenu,
    QToolButton,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from app.domain.text import number_text, tr, trn
from app.library.entries import CAMPAIGN_NAME, LibraryEntry
from app.library.query import (
    FIELDS,
    QueryField,
    Term,
    count_values,
    haystack,
    matches,
    parse_query,
    query_mistakes,
    query_remarks,
    write_query,
    write_term,
)
from app.library.scan import ListedRun
from ui.theme import TINY, Theme, painting
from ui.widgets.fields import plain
from ui.widgets.layouts import fill
from ui.widgets.texts import mark_words, mnemonic_label, one_line, state_words, wrapped_label
from ui.window.library.delegate import LibraryDelegate, check_width
from ui.window.library.model import Index, LibraryModel, RunRow

MENU_FIELDS: Final = ("fs", "raid", "option", "pg", "machine", "date", "tag", "state", "mark")
_MOST_VALUES: Final = 25
_DAYS: Final = (
    ("today", tr("today")),
    *((f"{days}d", tr("the last {count} days").format(count=days)) for days in (7, 30)),
)


@dataclass(frozen=True, slots=True)
class _Searchable:
    """A run with its searchable words, computed once."""

    run: ListedRun
    words: str


class Search:
    """Selects matching runs; caches the words of each run while it does not change."""

    def __init__(self) -> None:
        self.terms: tuple[Term, ...] = ()
        self._known: dict[str, _Searchable] = {}

    def pick(self, runs: Sequence[ListedRun]) -> Sequence[ListedRun]:
        """Return the matching runs; all of them without a search."""
        if not self.terms:
            return runs
        known = {run.entry.path: self._searchable(run) for run in runs}
        self._known = known
        return [each.run for each in known.values() if matches(self.terms, each.run.entry, each.words)]

    def _searchable(self, run: ListedRun) -> _Searchable:
        before = self._known.get(run.entry.path)
        return before if before is not None and before.run is run else _Searchable(run, haystack(run.entry))


class SearchLine(QWidget):
    """The search line.

    Attributes:
        line: text field.
        button: opens the menu of the existing values.

    Signals:
        changed: the terms; a tuple of `Term`.
        left: the keyboard focus goes to the list below.
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
        self.button.setAccessibleName(plain(tr("F&ilter")))
        self.button.setToolTip(tr("Filesystem, RAID level, option, version, machine, date, tag"))
        self.button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.menu = QMenu(self.button)
        self.menu.aboutToShow.connect(self._fill_menu)
        self.button.setMenu(self.menu)
        fill(QHBoxLayout(self), (self.line, 1), self.button, spacing=TINY, margins=0)
        self.line.textChanged.connect(lambda text: self.changed.emit(parse_query(text)))

    def set_runs(self, runs: Iterable[ListedRun]) -> None:
        """Set the runs whose values the menu offers."""
        self._entries = tuple(run.entry for run in runs)

    @property
    def text(self) -> str:
        """The typed text."""
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
        """Add a term to the typed text, or remove it."""
        terms = parse_query(self.text)
        (wanted,) = parse_query(write_term(field, value)) or (None,)
        if wanted is None:
            return
        rest = [term for term in terms if term != wanted]
        self.line.setText(write_query(rest if len(rest) < len(terms) else (*terms, wanted)))


def _choices(field: QueryField, entries: Sequence[LibraryEntry]) -> list[tuple[str, str]]:
    words = {"state": state_words, "mark": mark_words}.get(field.id, one_line)
    return [(value, f"{words(value)} ({count})") for value, count in count_values(field, entries)]


def _date_choices(entries: Sequence[LibraryEntry]) -> list[tuple[str, str]]:
    """Return spans that end today, then the months with runs, the newest first."""
    months: dict[str, int] = {}
    for day, count in count_values(FIELDS["date"], entries):
        months[day[:7]] = months.get(day[:7], 0) + count
    form = "%B %Y"
    return [
        *_DAYS,
        *(
            (month, f"{datetime.fromisoformat(f'{month}-01').strftime(form)} ({count})")
            for month, count in sorted(months.items(), reverse=True)
        ),
    ]


class RunList(QListView):
    """The list view with the panel's keys and clicks.

    Signals:
        ticked: this row is to be added to the charts or removed.
        shown: only this row is to be in the charts.
        moved: another row is current.
        removed: this row is to be moved to the trash.
    """

    ticked = Signal(QModelIndex)
    shown = Signal(QModelIndex)
    moved = Signal(QModelIndex)
    removed = Signal(QModelIndex)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setLayoutDirection(Qt.LayoutDirection.LeftToRight)  # names of runs and their numbers
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setDragDropMode(QAbstractItemView.DragDropMode.DragOnly)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.empty = ""
        self._pressed = QModelIndex()

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self.empty and not self.model().rowCount():
            with painting(self.viewport()) as painter:
                painter.setPen(self.palette().color(QPalette.ColorRole.PlaceholderText))
                gap = self.fontMetrics().height()
                area = self.viewport().rect().adjusted(gap, gap, -gap, -gap)
                flags = Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignHCenter | Qt.TextFlag.TextWordWrap
                painter.drawText(area, flags, self.empty)

    @override
    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._pressed = self.indexAt(event.position().toPoint())
        super().mousePressEvent(event)

    @override
    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        index = self.indexAt(event.position().toPoint())
        is_left = event.button() == Qt.MouseButton.LeftButton
        if is_left and index.isValid() and index == self._pressed and self._adds(event):
            self.ticked.emit(index)

    @override
    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        super().mouseDoubleClickEvent(event)
        self._pressed = self.indexAt(event.position().toPoint())
        if self._pressed.isValid() and not self._adds(event):
            self.shown.emit(self._pressed)

    def _adds(self, event: QMouseEvent) -> bool:
        """Return whether a click adds a run or removes it."""
        control = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
        return control or event.position().x() < check_width(self.fontMetrics())

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        index = self.currentIndex()
        if index.isValid() and event.key() == Qt.Key.Key_Space:
            self.ticked.emit(index)
        elif index.isValid() and event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            self.shown.emit(index)
        elif index.isValid() and event.key() == Qt.Key.Key_Delete:
            self.removed.emit(index)
        else:
            super().keyPressEvent(event)

    @override
    def currentChanged(self, current: Index, previous: Index) -> None:
        super().currentChanged(current, previous)
        self.moved.emit(self.model().index(current.row(), 0))

    @override
    def startDrag(self, supportedActions: Qt.DropAction) -> None:
        indexes = [index for index in self.selectedIndexes() if self.model().flags(index)]
        data = self.model().mimeData(indexes)
        if data.hasUrls():
            drag = QDrag(self)
            drag.setMimeData(data)
            drag.exec(Qt.DropAction.CopyAction)


class LibraryPanel(QWidget):
    """Title, search, list, and a line with the number of runs.

    Attributes:
        remarks: about the search: unknown fields, values that no run has.
        folder: of the library: runs below it are moved to the trash, others only leave the list.

    Signals:
        focus_changed: the path of the run in focus, empty for none.
        replay_asked: the path of a run to replay.
        folder_asked: the path of a run whose folder is to be opened.
        edit_asked: paths of runs whose names, tags and notes are to be edited.
        remove_asked: paths of runs to move to the trash, or to remove from the list.
        replaced: other runs than the ticked ones are about to be shown.
        go_on_asked: folder of a campaign to resume.
        again_asked: folder of a campaign to repeat.
        changes_asked: folder of a campaign to repeat with changes.
    """

    focus_changed = Signal(str)
    replay_asked = Signal(str)
    folder_asked = Signal(str)
    edit_asked = Signal(list)
    remove_asked = Signal(list)
    replaced = Signal()
    go_on_asked = Signal(Path)
    again_asked = Signal(Path)
    changes_asked = Signal(Path)

    def __init__(self, model: LibraryModel, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._model = model
        self._runs: Sequence[ListedRun] = ()
        self._complete = False
        self._picking = Search()
        self.folder = Path()
        self.search = SearchLine(self)
        self.list = RunList(self)
        self.list.setAccessibleName(tr("Library runs"))
        self.list.setModel(model)
        self.list.setItemDelegate(LibraryDelegate(theme, self.list))
        self.list.setFrameShape(QListView.Shape.NoFrame)
        self.list.ticked.connect(self._tick)
        self.list.shown.connect(self._show_alone)
        self.list.moved.connect(self._move)
        self.list.removed.connect(lambda index: self.remove_asked.emit(list(self._paths(index))))
        self.search.changed.connect(self._search)
        self.search.left.connect(self._enter_list)
        title = mnemonic_label(tr("&Library"), self)
        title.setBuddy(self.list)
        self.remarks, self.count = wrapped_label(parent=self), wrapped_label(parent=self)
        self.remarks.hide()
        fill(QVBoxLayout(self), title, self.search, self.remarks, (self.list, 1), self.count)
        theme.changed.connect(self.list.viewport().update)

    def show_runs(self, runs: Sequence[ListedRun], *, complete: bool) -> None:
        """Show the matching ones of these runs; `complete` is False while more are being read."""
        if (runs, complete) == (self._runs, self._complete):
            return  # called every few seconds during a campaign: it must cost the machine nothing
        self._runs, self._complete = runs, complete
        self.search.set_runs(runs)
        self._show()

    def _search(self, terms: tuple[Term, ...]) -> None:
        self._picking.terms = terms
        self._show()

    def _show(self) -> None:
        current = self._model.row(self.list.currentIndex())
        shown = self._picking.pick(self._runs)
        self._model.set_runs(self._runs, shown)
        if current is not None and not self.list.currentIndex().isValid():  # the list was reset
            self.list.setCurrentIndex(self._model.index_of(current.key))
        searched = tr("No run matches “{text}”.").format(text=self.search.text.strip())
        self.list.empty = searched if self._picking.terms else ""
        self.count.setText(self._count(len(shown)))
        self._show_remarks()

    def _show_remarks(self) -> None:
        """Show below the search what no run can match, or, once all runs are known, what none matches."""
        terms = self._picking.terms if self._complete else ()
        entries = [run.entry for run in self._runs] if terms else []
        remarks = list(query_mistakes(terms, entries)) or list(query_remarks(terms, entries))
        words = "\n".join(map(one_line, remarks))
        self.remarks.setText(words)
        self.remarks.setVisible(bool(words))
        self.search.line.setAccessibleDescription(words)

    def _count(self, shown: int) -> str:
        """Return the number of shown runs, as a line."""
        total = len(self._runs)
        count = trn("{count} run", "{count} runs", total).format(count=number_text(total, ","))
        if self._picking.terms:
            count = tr("{number} of {count}").format(number=number_text(shown, ","), count=count)
        bad = sum(run.entry.problem is not None for run in self._runs)
        if bad:
            count += ", " + tr("{count} cannot be read").format(count=bad)
        if not self._complete:
            count += ", " + tr("reading …")
        return count

    def _enter_list(self) -> None:
        """Move the focus to the list, to the first run found."""
        self.list.setFocus(Qt.FocusReason.TabFocusReason)
        if not self.list.currentIndex().isValid() and self._model.rowCount():
            self.list.setCurrentIndex(self._model.index(min(1, self._model.rowCount() - 1)))

    def enter_search(self) -> None:
        """Move the focus to the search."""
        self.search.line.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.search.line.selectAll()

    def _paths(self, index: QModelIndex) -> tuple[str, ...]:
        """Return the files of a row."""
        row = self._model.row(index)
        return () if row is None else (row.key,) if isinstance(row, RunRow) else row.paths

    @property
    def current_paths(self) -> tuple[str, ...]:
        """The files of the row in focus."""
        return self._paths(self.list.currentIndex())

    def focus_run(self, key: str) -> None:
        """Make a run current; clear the search if it hides the run."""
        index = self._model.index_of(key)
        if not index.isValid() and self._model.run(key) is not None:
            self.search.line.clear()
            index = self._model.index_of(key)
        if index.isValid():
            self.list.setCurrentIndex(index)
            self.list.scrollTo(index)

    def _key(self, index: QModelIndex) -> str:
        row = self._model.row(index)
        return row.key if isinstance(row, RunRow) and row.readable else ""

    def _tick(self, index: QModelIndex) -> None:
        row = self._model.row(index)
        if row is not None:
            self._model.toggle(row.key)

    def _show_alone(self, index: QModelIndex) -> None:
        if wanted := [path for path in self._paths(index) if self._model.is_readable(path)]:
            self.replaced.emit()
            self._model.choose(wanted)

    def _move(self, index: QModelIndex) -> None:
        self.focus_changed.emit(self._key(index))

    @override
    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        index = self.list.currentIndex()
        place = event.globalPos()
        if event.reason() is QContextMenuEvent.Reason.Keyboard:
            corner = self.list.visualRect(index).bottomLeft()
            place = self.list.viewport().mapToGlobal(corner)
        if index.isValid():
            self.open_menu(index, place)

    def open_menu(self, index: QModelIndex, place: QPoint) -> QMenu:
        """Open the menu of a row; it deletes itself when it closes."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        key = self._key(index)
        row = self._model.row(index)
        chosen = key in self._model.chosen

        def add(text: str, do: object, *, enabled: bool = True) -> None:
            action = QAction(text, menu)
            action.setEnabled(enabled)
            action.triggered.connect(do)
            menu.addAction(action)

        add(tr("&Show only this"), lambda: self._show_alone(index), enabled=bool(key or not _is_run(row)))
        word = tr("Remove from &the charts") if chosen else tr("&Add to the charts")
        add(word, lambda: self._tick(index), enabled=bool(key or not _is_run(row)))
        add(tr("&Replay"), lambda: self.replay_asked.emit(key), enabled=bool(key))
        path = row.key if isinstance(row, RunRow) else ""
        add(tr("Open its &folder"), lambda: self.folder_asked.emit(path), enabled=bool(path))
        menu.addSeparator()
        paths = list(self._paths(index))
        folder = campaign_folder(paths)
        for words, signal in (
            (tr("R&esume the campaign"), self.go_on_asked),
            (tr("Run the campaign aga&in"), self.again_asked),
            (tr("Run again with &changes …"), self.changes_asked),
        ):
            add(words, partial(_emit, signal, folder), enabled=folder is not None)
        menu.addSeparator()
        readable = bool(paths) and all(self._model.is_readable(one) for one in paths)
        words = tr("Name, ta&gs, note …") if path else tr("Campaign &name and tags …")
        add(words, lambda: self.edit_asked.emit(paths), enabled=readable)
        inside = all(Path(one).is_relative_to(self.folder) for one in paths)
        word = tr("&Move to the trash") if inside else tr("Remove from the &list")
        add(word, lambda: self.remove_asked.emit(paths), enabled=bool(paths))
        menu.popup(place)
        return menu


def _emit(signal: SignalInstance, folder: Path | None, _checked: object = None) -> None:
    signal.emit(folder)


def campaign_folder(paths: Sequence[str]) -> Path | None:
    """Return the campaign folder of runs; None for several or none."""
    folders = {Path(path).parent for path in paths}
    folder = folders.pop() if len(folders) == 1 else None
    return folder if folder is not None and (folder / CAMPAIGN_NAME).is_file() else None


def _is_run(row: object) -> bool:
    return isinstance(row, RunRow)
