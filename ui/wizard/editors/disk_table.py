"""The table of disks: ticks by mouse or space bar, rows of two lines with a constant height."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Final

from PySide6.QtCore import (
    QAbstractTableModel,
    QItemSelectionModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QColor, QIcon, QKeyEvent, QPixmap, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
)
from typing_extensions import override

from app.domain.disk import SpareAnswer
from app.domain.disk_answers import Disk
from app.domain.text import format_size, tr
from app.draft.disks.table import DiskRow, gone_row, model_of, rotation, serial_of, turns
from ui.icons import SMALL_ICON, make_icon
from ui.theme import SMALL, Theme
from ui.widgets.fields import HELP
from ui.widgets.texts import tooltip

Index = QModelIndex | QPersistentModelIndex


class DiskColumn(IntEnum):
    """The columns of the table."""

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
    DiskColumn.ANSWER: tr("Usable?"),
}
_SIGNS: Final = {SpareAnswer.SPARE: "✔", SpareAnswer.LOOKS_SPARE: "?", SpareAnswer.NOT_SPARE: "✘"}


class DiskModel(QAbstractTableModel):
    """The disks of the draft's machine.

    Signals:
        ticked: key of a disk that the user ticked or unticked.
    """

    ticked = Signal(str, bool)

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._icons: dict[tuple[str, str], QIcon] = {}
        theme.changed.connect(self._icons.clear)
        self.rows: tuple[DiskRow, ...] = ()

    def show_rows(self, rows: tuple[DiskRow, ...]) -> None:
        """Show rows; rows of the same disks keep their selection, and a mouse press there."""
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
            case Qt.ItemDataRole.ToolTipRole:  # names may look like markup
                found = tooltip(*text_of(row, column).splitlines())
            case Qt.ItemDataRole.CheckStateRole if column is DiskColumn.USE and is_tickable(row):
                found = Qt.CheckState.Checked if row.role else Qt.CheckState.Unchecked
            case Qt.ItemDataRole.ForegroundRole:
                found = self._colour(row, column)
            case Qt.ItemDataRole.DecorationRole if column is DiskColumn.KIND:
                found = self._icon(row)
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

    def _icon(self, row: DiskRow) -> QIcon:
        """Return the icon of a kind of disk; a blank of the same size if there is none."""
        name = "" if row.disk is None else kind_icon(row.disk)
        key = name, "muted" if row.obstacle else "text"
        if key not in self._icons:
            blank = QPixmap(SMALL_ICON, SMALL_ICON)
            blank.fill(Qt.GlobalColor.transparent)
            icon = make_icon(name, self._theme, colour=key[1], selected="background") if name else None
            self._icons[key] = icon or QIcon(blank)
        return self._icons[key]

    def _colour(self, row: DiskRow, column: DiskColumn) -> QColor:
        if (row.role is not None and row.obstacle) or (row.is_left_over and column is DiskColumn.ANSWER):
            return self._theme.colour("warning")
        if row.obstacle:
            return self._theme.colour("muted")
        return self._theme.colour("accent") if column is DiskColumn.USE else self._theme.colour("text")


def is_tickable(row: DiskRow) -> bool:
    """Return whether a disk may be chosen, or is chosen and may be removed."""
    return row.role is not None or not row.obstacle


def kind_icon(disk: Disk) -> str:
    """Return the icon of a kind of disk, in addition to its text; empty if the kind is unknown."""
    if disk.bus in {"loop", "usb"}:
        return {"loop": "file", "usb": "usb"}[disk.bus]
    rotates = turns(disk)
    return "" if rotates is None else "hard-drive" if rotates else "microchip"


def text_of(row: DiskRow, column: DiskColumn) -> str:
    """Return the text of a cell."""
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
            test = tr("TEST DEVICE") + ", " if disk.is_test_device else ""
            return f"{model_of(disk)} ({disk.name})\n{test}{serial}"
        case DiskColumn.SIZE:
            return format_size(disk.identity.size_bytes)
        case DiskColumn.KIND:
            bus = disk.bus.upper() or tr("not known")
            return f"{bus}\n{rotation(disk)}"


def _spoken(row: DiskRow, column: DiskColumn) -> str:
    if column is DiskColumn.USE and not row.use:
        return tr("cannot be selected") if row.obstacle else tr("not chosen")
    return text_of(row, column).replace("\n", ", ")


_ROWS: Final = 6
_DISK_EMS: Final = 60
_LEAST_EMS: Final = {DiskColumn.USE: 17, DiskColumn.SIZE: 9, DiskColumn.KIND: 18}
_NARROW_EMS: Final = 105
"""Below this width the answer has the room of size and kind, which the text below the table says."""


class _Sentences(QStyledItemDelegate):
    """Show the start of a sentence that is too long."""

    @override
    def initStyleOption(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        super().initStyleOption(option, index)
        option.textElideMode = Qt.TextElideMode.ElideRight


class DiskTable(QTableView):
    """All disks of the machine.

    Signals:
        chosen: key of the disk under the cursor; empty for none.
        ticked: key of a disk, and whether to use it.
    """

    chosen = Signal(str)
    ticked = Signal(str, bool)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.disks = DiskModel(theme, self)
        self._places: dict[str, int] = {}
        self.setModel(self.disks)
        self.verticalHeader().hide()
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setTabKeyNavigation(False)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)  # the end of a serial number identifies a disk
        self.setItemDelegateForColumn(DiskColumn.ANSWER, _Sentences(self))
        self.setShowGrid(False)
        self.setWordWrap(False)  # each line that is too long is cut separately
        self.setAlternatingRowColors(True)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setAccessibleName(tr("Disks of this machine"))
        self.setProperty(HELP, "disks")
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        header.setSectionResizeMode(DiskColumn.ANSWER, QHeaderView.ResizeMode.Stretch)
        header.moveSection(DiskColumn.ANSWER, DiskColumn.SIZE)  # always visible
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        self.disks.ticked.connect(self._on_box)
        self.selectionModel().currentRowChanged.connect(lambda *_: self.chosen.emit(self.key))

    @property
    def key(self) -> str:
        """Key of the disk under the cursor."""
        row = self.currentIndex().row()
        return self.disks.rows[row].key if 0 <= row < len(self.disks.rows) else ""

    @property
    def row(self) -> DiskRow | None:
        """The disk under the cursor."""
        row = self.currentIndex().row()
        return self.disks.rows[row] if 0 <= row < len(self.disks.rows) else None

    def show_rows(self, rows: tuple[DiskRow, ...]) -> None:
        """Show disks; the cursor stays on its disk."""
        here = self.row
        rows = self._in_order(rows)
        self.disks.show_rows(rows)
        places = [number for number, row in enumerate(rows) if here is not None and row.place == here.place]
        if rows:
            self._go_to((places or [0])[0])
        self._fit()

    def _go_to(self, number: int) -> None:
        if self.currentIndex().row() != number:
            flag = QItemSelectionModel.SelectionFlag
            index = self.disks.index(number, DiskColumn.USE)
            self.selectionModel().setCurrentIndex(index, flag.ClearAndSelect | flag.Rows)

    def _on_box(self, key: str, ticked: bool) -> None:  # noqa: FBT001 - the signal's signature
        """Move the cursor to the disk with the clicked box: the text below the table is about it."""
        self._go_to(next(number for number, row in enumerate(self.disks.rows) if row.key == key))
        self.ticked.emit(key, ticked)

    def forget_order(self) -> None:
        """Show usable disks first again, and drop those that have disappeared.

        While the page is open no row changes its position.
        """
        self._places.clear()

    def _in_order(self, rows: tuple[DiskRow, ...]) -> tuple[DiskRow, ...]:
        for row in rows:
            self._places.setdefault(row.place, len(self._places))
        here = {row.place for row in rows}
        gone = (gone_row(place) for place in self._places if place not in here)
        return tuple(sorted((*rows, *gone), key=lambda row: self._places[row.place]))

    def _fit(self) -> None:
        em = self.fontMetrics().averageCharWidth()
        is_narrow = self.viewport().width() < _NARROW_EMS * em
        for column in (DiskColumn.SIZE, DiskColumn.KIND):
            self.setColumnHidden(column, is_narrow)
        for column in DiskColumn:
            if column is not DiskColumn.ANSWER and not self.isColumnHidden(column):
                wanted = self.sizeHintForColumn(column) + SMALL
                least = _LEAST_EMS.get(column, 0) * em
                self.setColumnWidth(column, max(least, min(wanted, self._widest(column))))
        height = 2 * self.fontMetrics().lineSpacing() + SMALL
        self.verticalHeader().setDefaultSectionSize(height)
        header = self.horizontalHeader().sizeHint().height()
        self.setFixedHeight(header + _ROWS * height + 2 * self.frameWidth())

    def _widest(self, column: DiskColumn) -> int:
        em = self.fontMetrics().averageCharWidth()
        if column is DiskColumn.DISK:
            return max(18 * em, min(_DISK_EMS * em, self.viewport().width() * 2 // 5))
        return 18 * em

    @override
    def sizeHint(self) -> QSize:
        return QSize(60 * self.fontMetrics().averageCharWidth(), super().sizeHint().height())

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Space and self.row is not None:
            row = self.row
            if is_tickable(row):
                self.ticked.emit(row.key, row.role is None)
            return
        super().keyPressEvent(event)
