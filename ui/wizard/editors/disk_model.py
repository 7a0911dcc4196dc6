"""The table of disks as a model: two lines a row, greyed where a disk may not be used."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Final

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt, Signal
from PySide6.QtGui import QColor
from typing_extensions import override

from app.domain.disk import SpareAnswer
from app.domain.text import tr
from app.domain.units import format_size
from app.draft.disks.table import DiskRow, model_of, rotation, serial_of
from ui.theme import Theme
from ui.widgets.formatting import tooltip

Index = QModelIndex | QPersistentModelIndex


class DiskColumn(IntEnum):
    """What stands where."""

    USE = 0
    DISK = 1
    SIZE = 2
    KIND = 3
    ANSWER = 4


_HEADINGS: Final = {
    DiskColumn.USE: tr("Use"),
    DiskColumn.DISK: tr("Disk, serial number"),
    DiskColumn.SIZE: tr("Size"),
    DiskColumn.KIND: tr("Bus, rotation"),
    DiskColumn.ANSWER: tr("May it be used?"),
}
_SIGNS: Final = {SpareAnswer.SPARE: "✔", SpareAnswer.LOOKS_SPARE: "?", SpareAnswer.NOT_SPARE: "✘"}


class DiskModel(QAbstractTableModel):
    """Disks of the draft's machine.

    Signals:
        ticked: key of a disk whose tick was set or taken away by a person.
    """

    ticked = Signal(str, bool)

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.rows: tuple[DiskRow, ...] = ()

    def show_rows(self, rows: tuple[DiskRow, ...]) -> None:
        """Show these; rows of the same disks keep their selection, and a mouse that is held down there."""
        if rows == self.rows:
            return
        known = len(self.rows)
        if rows and [row.place for row in rows[:known]] == [row.place for row in self.rows]:
            if known:
                self.rows = rows[:known]
                self.dataChanged.emit(self.index(0, 0), self.index(known - 1, len(DiskColumn) - 1))
            if len(rows) > known:
                self.beginInsertRows(QModelIndex(), known, len(rows) - 1)
                self.rows = rows
                self.endInsertRows()
            return
        self.beginResetModel()
        self.rows = rows
        self.endResetModel()

    @override
    def rowCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self.rows)

    @override
    def columnCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(DiskColumn)

    @override
    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if role == Qt.ItemDataRole.DisplayRole and orientation is Qt.Orientation.Horizontal:
            return _HEADINGS[DiskColumn(section)]
        return None

    @override
    def flags(self, index: Index) -> Qt.ItemFlag:
        flags = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
        row = self.rows[index.row()]
        if index.column() == DiskColumn.USE and is_tickable(row):
            flags |= Qt.ItemFlag.ItemIsUserCheckable
        return flags

    @override
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        row, column = self.rows[index.row()], DiskColumn(index.column())
        found: object = None
        match role:
            case Qt.ItemDataRole.DisplayRole:
                found = text_of(row, column)
            case Qt.ItemDataRole.ToolTipRole:  # a name is never markup
                found = tooltip(*text_of(row, column).splitlines())
            case Qt.ItemDataRole.CheckStateRole if column is DiskColumn.USE and is_tickable(row):
                found = Qt.CheckState.Checked if row.role else Qt.CheckState.Unchecked
            case Qt.ItemDataRole.ForegroundRole:
                found = self._colour(row, column)
            case Qt.ItemDataRole.FontRole if row.role is not None and column is DiskColumn.USE:
                found = self._theme.font(bold=True)
            case Qt.ItemDataRole.TextAlignmentRole if column is DiskColumn.SIZE:
                found = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            case Qt.ItemDataRole.AccessibleTextRole:
                found = f"{_HEADINGS[column]}: {_spoken(row, column)}"
            case _:
                pass
        return found

    @override
    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        if role != Qt.ItemDataRole.CheckStateRole or not self.flags(index) & Qt.ItemFlag.ItemIsUserCheckable:
            return False
        checked = Qt.CheckState(value) is Qt.CheckState.Checked
        self.ticked.emit(self.rows[index.row()].key, checked)
        return True

    def _colour(self, row: DiskRow, column: DiskColumn) -> QColor:
        if (row.role is not None and row.obstacle) or (row.is_left_over and column is DiskColumn.ANSWER):
            return self._theme.colour("warning")
        if row.obstacle:
            return self._theme.colour("muted")
        return self._theme.colour("accent") if column is DiskColumn.USE else self._theme.colour("text")


def is_tickable(row: DiskRow) -> bool:
    """Return whether a disk may be chosen, or is and may be taken away."""
    return row.role is not None or not row.obstacle


def text_of(row: DiskRow, column: DiskColumn) -> str:
    """Return what a cell shows."""
    disk = row.disk
    if column is DiskColumn.USE:
        return row.use
    if column is DiskColumn.ANSWER:
        sign = _SIGNS[disk.answer] if disk and not row.is_left_over else "✘"
        return f"{sign} {row.answer}\n{row.reason}"
    if disk is None:
        return row.key if column is DiskColumn.DISK else ""
    match column:
        case DiskColumn.DISK:
            serial = serial_of(disk) or tr("no serial number")
            test = tr("TEST DEVICE, ") if disk.is_test_device else ""
            return f"{model_of(disk)}\n{test}{serial} ({disk.name})"
        case DiskColumn.SIZE:
            return format_size(disk.identity.size_bytes)
        case DiskColumn.KIND:
            return f"{disk.bus.upper() or tr('unknown')}\n{rotation(disk)}"


def _spoken(row: DiskRow, column: DiskColumn) -> str:
    if column is DiskColumn.USE and not row.use:
        return tr("cannot be chosen") if row.obstacle else tr("not chosen")
    return text_of(row, column).replace("\n", ", ")
