"""The table of disks: ticks by mouse or space bar, rows of two lines, as high whatever comes or goes."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QItemSelectionModel, QModelIndex, QPersistentModelIndex, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
)
from typing_extensions import override

from app.domain.text import tr
from app.draft.disks.table import DiskRow, gone_row
from ui.theme import SMALL, Theme
from ui.widgets.fields import HELP
from ui.wizard.editors.disk_model import DiskColumn, DiskModel, is_tickable

_ROWS: Final = 6
_DISK_EMS: Final = 60
_LEAST_EMS: Final = {DiskColumn.USE: 16, DiskColumn.SIZE: 9, DiskColumn.KIND: 14}


class _Sentences(QStyledItemDelegate):
    """Shows the begin of a sentence that is too long."""

    @override
    def initStyleOption(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        super().initStyleOption(option, index)
        option.textElideMode = Qt.TextElideMode.ElideRight


class DiskTable(QTableView):
    """Every disk of the machine.

    Signals:
        chosen: key of the disk that the cursor is on; empty for none.
        ticked: key of a disk, and whether it is to be used.
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
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)  # the end of a serial number is what tells
        self.setItemDelegateForColumn(DiskColumn.ANSWER, _Sentences(self))
        self.setShowGrid(False)
        self.setWordWrap(False)  # a line too long is cut, each for itself
        self.setAlternatingRowColors(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setAccessibleName(tr("Disks of this machine"))
        self.setProperty(HELP, "disks")
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        header.setSectionResizeMode(DiskColumn.ANSWER, QHeaderView.ResizeMode.Stretch)
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        self.disks.ticked.connect(self._on_box)
        self.selectionModel().currentRowChanged.connect(lambda *_: self.chosen.emit(self.key))

    @property
    def key(self) -> str:
        """Key of the disk that the cursor is on."""
        row = self.currentIndex().row()
        return self.disks.rows[row].key if 0 <= row < len(self.disks.rows) else ""

    @property
    def row(self) -> DiskRow | None:
        """The disk that the cursor is on."""
        row = self.currentIndex().row()
        return self.disks.rows[row] if 0 <= row < len(self.disks.rows) else None

    def show_rows(self, rows: tuple[DiskRow, ...]) -> None:
        """Show these disks; the cursor stays on its disk."""
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
        """Move the cursor to the disk whose box was clicked: what is said below the table is of that one."""
        self._go_to(next(number for number, row in enumerate(self.disks.rows) if row.key == key))
        self.ticked.emit(key, ticked)

    def forget_order(self) -> None:
        """Show those that may be used first again, and no more those that are gone.

        As long as the page is open no row changes places.
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
        for column in DiskColumn:
            if column is not DiskColumn.ANSWER:
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
