"""The list model of the library: rows, chosen runs, and the colours of their lines.

The rows are a heading for each campaign with its runs below, unreadable files last; no widgets.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from PySide6.QtCore import (
    QAbstractListModel,
    QMimeData,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
    QUrl,
    Signal,
)
from typing_extensions import override

from app.analysis.labels import WHOLE_RUN_TPS, format_tps
from app.domain.text import tr
from app.library.scan import ListedRun, folder_of, newest_first
from ui.widgets.texts import mark_words, moment, one_line, run_name, second_line, spoken, tooltip


@dataclass(frozen=True, slots=True)
class Heading:
    """A campaign.

    Attributes:
        key: unique among all rows.
        title: name of the campaign.
        when: its start as text.
        paths: its readable runs.
    """

    key: str
    title: str
    when: str
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run; `key` is the path of its file."""

    key: str
    run: ListedRun

    @property
    def readable(self) -> bool:
        """Whether it can be shown."""
        return self.run.entry.problem is None


Row = Heading | RunRow


def make_rows(runs: Sequence[ListedRun]) -> list[Row]:
    """Return the rows for runs in any order."""
    rows: list[Row] = []
    groups: dict[str, list[ListedRun]] = {}
    for run in newest_first(runs):
        bad = run.entry.problem is not None
        groups.setdefault("" if bad else folder_of(run), []).append(run)
    for folder, group in groups.items():
        rows.append(_heading(folder, group))
        rows += [RunRow(run.entry.path, run) for run in group]
    return rows


def _heading(folder: str, group: Sequence[ListedRun]) -> Heading:
    if not folder:
        return Heading("unreadable:", tr("Cannot be read"), "", ())
    names = {run.entry.campaign or "" for run in group}
    title = one_line(names.pop()) if len(names) == 1 else ""
    begun = min((run.entry.started for run in group if run.entry.started is not None), default=None)
    paths = tuple(run.entry.path for run in group)
    return Heading(f"campaign:{folder}", title or Path(folder).name, moment(begun), paths)


Index = QModelIndex | QPersistentModelIndex

ROW_ROLE: Final = Qt.ItemDataRole.UserRole + 1
"""The `Row` itself."""
COLOUR_ROLE: Final = Qt.ItemDataRole.UserRole + 2
"""Number of the colour of a chosen run's configuration; -1 if it is not chosen."""
MIME_TYPE: Final = "application/x-pgfooting-runs"

_NOTE_LINES: Final = 6
"""Lines of a note in a tool tip."""
_MOST_CHANGES: Final = 60
"""From this number of changed rows on a reset of the list is cheaper."""
_NO_PARENT: Final = QModelIndex()


Group = tuple[str, str]
"""Identifies a configuration: campaign and name."""


def group_of(run: ListedRun) -> Group:
    """Return the identity of a run's configuration."""
    return folder_of(run), run.entry.configuration or run_name(run)


@dataclass(frozen=True, slots=True)
class Numbering:
    """Numbers of colours.

    Attributes:
        runs: of chosen ones, by the path of their files.
        groups: of configurations, including those that were chosen earlier.
    """

    runs: dict[str, int]
    groups: dict[Group, int]

    def free_colour(self, group: Group, taken: set[int]) -> int:
        """Return the configuration's earlier colour, else the first free one."""
        remembered = self.groups.get(group)
        if remembered is not None and remembered not in taken:
            return remembered
        return next(number for number in range(len(taken) + 1) if number not in taken)


class LibraryModel(QAbstractListModel):
    """Headings and runs.

    Signals:
        chosen_changed: the chosen runs or their colours have changed.
    """

    chosen_changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: list[Row] = []
        self._numbers: dict[str, int] = {}
        self._runs: dict[str, ListedRun] = {}
        self._colours: dict[str, int] = {}
        self._remembered: dict[Group, int] = {}

    # What others ask

    def row(self, index: Index) -> Row | None:
        """Return the row of an index."""
        return self._rows[index.row()] if index.isValid() and index.row() < len(self._rows) else None

    def run(self, key: str) -> ListedRun | None:
        """Return a run by the path of its file, even if the search hides it."""
        return self._runs.get(key)

    def index_of(self, key: str) -> QModelIndex:
        """Return the index of a row by its key, an invalid one if it is not shown."""
        number = self._numbers.get(key, -1)
        return self.index(number) if number >= 0 else QModelIndex()

    @property
    def runs(self) -> int:
        """Number of runs, including hidden and unreadable ones."""
        return len(self._runs)

    @property
    def chosen(self) -> dict[str, int]:
        """Paths of the chosen runs, each with the number of its configuration, in the order of choosing."""
        return dict(self._colours)

    def newest_campaign(self) -> tuple[str, ...]:
        """Return the runs of the newest campaign."""
        return next((row.paths for row in self._rows if isinstance(row, Heading) and row.paths), ())

    def paths_in(self, folder: str) -> tuple[str, ...]:
        """Return the readable runs of one campaign folder, including hidden ones."""
        inside = (run for run in self._runs.values() if folder_of(run) == folder)
        return tuple(run.entry.path for run in newest_first(inside) if run.entry.problem is None)

    # What others change

    def set_runs(self, runs: Sequence[ListedRun], shown: Sequence[ListedRun] | None = None) -> None:
        """Set the runs; rows that stay keep their position in the view.

        Args:
            runs: all of them: chosen ones stay chosen even if they are hidden.
            shown: those with a row; None for all.
        """
        self._runs = {run.entry.path: run for run in runs}
        rows = make_rows(runs if shown is None else shown)
        if not self._merge(rows):
            self.beginResetModel()
            self._rows = rows
            self._count()
            self.endResetModel()
        if gone := [key for key in self._colours if not self.is_readable(key)]:
            self.choose([key for key in self._colours if key not in gone])

    @property
    def numbering(self) -> Numbering:
        """The colours of runs and configurations, current and earlier."""
        return Numbering(dict(self._colours), dict(self._remembered))

    def choose(self, keys: Iterable[str], numbering: Numbering | None = None) -> None:
        """Choose exactly these runs; repeats of a configuration share a colour.

        A configuration keeps its earlier colour if that is free; new ones are numbered by their first run's
        time, as on the live page.

        Args:
            keys: of the runs.
            numbering: earlier colours; default: the current ones. For runs that arrive one by one, as their
                files are read, it is the state before the first, because the order of reading is random.
        """
        wanted = [key for key in dict.fromkeys(keys) if self.is_readable(key)]
        shown, had = self._colours, numbering or self.numbering
        groups = {key: self._group_of(key) for key in wanted}
        colours = {groups[key]: had.runs[key] for key in wanted if key in had.runs}
        for key in sorted(wanted, key=self._when_measured):
            if groups[key] not in colours:
                colours[groups[key]] = had.free_colour(groups[key], set(colours.values()))
        self._colours = {key: colours[groups[key]] for key in wanted}
        self._remembered = had.groups | colours
        if shown != self._colours:
            self._repaint()
            self.chosen_changed.emit()

    def toggle(self, key: str) -> None:
        """Add a run to the chosen ones or remove it; for a campaign all its runs."""
        row = self.row(self.index_of(key))
        keys = row.paths if isinstance(row, Heading) else (key,)
        if all(one in self._colours for one in keys):
            self.choose([one for one in self._colours if one not in keys])
        else:
            self.choose([*self._colours, *keys])

    def is_readable(self, key: str) -> bool:
        """Return whether a run can be shown."""
        run = self._runs.get(key)
        return run is not None and run.entry.problem is None

    def _count(self) -> None:
        self._numbers = {row.key: number for number, row in enumerate(self._rows)}

    def _group_of(self, key: str) -> Group:
        return group_of(self._runs[key])

    def _when_measured(self, key: str) -> float:
        return self._runs[key].entry.started or 0.0

    def _repaint(self) -> None:
        if self._rows:
            roles = [COLOUR_ROLE, int(Qt.ItemDataRole.CheckStateRole)]
            self.dataChanged.emit(self.index(0), self.index(len(self._rows) - 1), roles)

    def _merge(self, rows: list[Row]) -> bool:
        """Insert, remove and change rows one by one; return False for too many changes or a new order."""
        wanted = {row.key for row in rows}
        known = [row.key for row in self._rows if row.key in wanted]
        changes = len(self._rows) + len(rows) - 2 * len(known)
        kept = set(known)
        if changes > _MOST_CHANGES or known != [row.key for row in rows if row.key in kept]:
            return False
        for number in range(len(self._rows) - 1, -1, -1):
            if self._rows[number].key not in wanted:
                self.beginRemoveRows(_NO_PARENT, number, number)
                del self._rows[number]
                self.endRemoveRows()
        for number, row in enumerate(rows):
            if row.key not in kept:
                self.beginInsertRows(_NO_PARENT, number, number)
                self._rows.insert(number, row)
                self.endInsertRows()
            elif self._rows[number] != row:
                self._rows[number] = row
                self.dataChanged.emit(self.index(number), self.index(number))
        self._count()
        return True

    # What the view asks

    @override
    def rowCount(self, parent: Index = _NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self._rows)

    @override
    def flags(self, index: Index) -> Qt.ItemFlag:
        row = self.row(index)
        if row is None:
            return Qt.ItemFlag.NoItemFlags
        flags = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemNeverHasChildren
        flags |= Qt.ItemFlag.ItemIsDragEnabled
        if isinstance(row, RunRow) and row.readable:
            flags |= Qt.ItemFlag.ItemIsUserCheckable
        return flags

    @override
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        row = self.row(index)
        if row is None:
            return None
        if role == ROW_ROLE:
            return row
        if role == COLOUR_ROLE:
            return self._colours.get(row.key, -1)
        return _heading_data(row, role) if isinstance(row, Heading) else self._run_data(row, role)

    def _run_data(self, row: RunRow, role: int) -> object:
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return run_name(row.run)
            case Qt.ItemDataRole.AccessibleTextRole:
                return spoken(row.run)
            case Qt.ItemDataRole.ToolTipRole:
                entry = row.run.entry
                marks = ", ".join(map(mark_words, entry.marks))
                tags = " ".join(f"#{one_line(tag)}" for tag in entry.tags)
                tps = "" if entry.tps is None else f"{WHOLE_RUN_TPS}: {format_tps(entry.tps)}"
                campaign = one_line(entry.campaign or "")
                lines = (run_name(row.run), campaign, tps, second_line(row.run), marks, tags)
                return tooltip(
                    *lines, *entry.note.splitlines()[:_NOTE_LINES], moment(entry.started), entry.path
                )
            case Qt.ItemDataRole.CheckStateRole if row.readable:
                chosen = row.key in self._colours
                return Qt.CheckState.Checked if chosen else Qt.CheckState.Unchecked
            case _:
                return None

    @override
    def mimeTypes(self) -> list[str]:
        return [MIME_TYPE, "text/uri-list"]

    @override
    def mimeData(self, indexes: Sequence[QModelIndex]) -> QMimeData:
        """Return runs for our charts and as files for other programs; a campaign means all its runs."""
        rows = [row for index in indexes if (row := self.row(index)) is not None]
        keys = [key for row in rows for key in (row.paths if isinstance(row, Heading) else (row.key,))]
        data = QMimeData()
        if readable := [key for key in keys if self.is_readable(key)]:
            data.setData(MIME_TYPE, "\0".join(readable).encode())
        data.setUrls([QUrl.fromLocalFile(key) for key in keys])
        return data


def _heading_data(row: Heading, role: int) -> object:
    if role == Qt.ItemDataRole.DisplayRole:
        return row.title
    if role == Qt.ItemDataRole.AccessibleTextRole:
        return ", ".join(part for part in (row.title, row.when) if part)
    return tooltip(row.title, row.when) if role == Qt.ItemDataRole.ToolTipRole else None
