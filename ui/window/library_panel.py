"""The list of runs at the left: what is ticked is in the charts, what is current is in focus there.

Mouse: a click shows a run alone, a click on its tick or with Ctrl adds it. Keyboard: Space ticks,
Return shows it alone, arrows move the focus.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QModelIndex, QPoint, Qt, Signal
from PySide6.QtGui import QAction, QContextMenuEvent, QDrag, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QAbstractItemView, QLabel, QListView, QMenu, QVBoxLayout, QWidget
from typing_extensions import override

from app.domain.text import tr
from app.runs.library_scan import ListedRun
from ui.theme import Theme
from ui.window.library_delegate import LibraryDelegate, check_width
from ui.window.library_model import Index, LibraryModel
from ui.window.library_rows import RunRow


class RunList(QListView):
    """The list view with the panel's keys and clicks.

    Signals:
        ticked: this row shall be added to the charts or taken out.
        shown: this row alone shall be in the charts.
        moved: another row is current.
    """

    ticked = Signal(QModelIndex)
    shown = Signal(QModelIndex)
    moved = Signal(QModelIndex)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setDragDropMode(QAbstractItemView.DragDropMode.DragOnly)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self._pressed = QModelIndex()

    @override
    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._pressed = self.indexAt(event.position().toPoint())
        super().mousePressEvent(event)

    @override
    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        place = event.position().toPoint()
        index = self.indexAt(place)
        if event.button() != Qt.MouseButton.LeftButton or not index.isValid() or index != self._pressed:
            return
        adds = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
        if adds or place.x() < check_width(self.fontMetrics()):
            self.ticked.emit(index)
        else:
            self.shown.emit(index)

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        index = self.currentIndex()
        if index.isValid() and event.key() == Qt.Key.Key_Space:
            self.ticked.emit(index)
        elif index.isValid() and event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            self.shown.emit(index)
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
        if data.hasFormat(self.model().mimeTypes()[0]):
            drag = QDrag(self)
            drag.setMimeData(data)
            drag.exec(Qt.DropAction.CopyAction)


class LibraryPanel(QWidget):
    """Title, list, and a line about how many runs there are.

    Signals:
        focus_changed: the path of the run in focus, empty for none.
        replay_asked: the path of a run that shall be played.
        folder_asked: the path of a run whose folder shall be opened.
    """

    focus_changed = Signal(str)
    replay_asked = Signal(str)
    folder_asked = Signal(str)

    def __init__(self, model: LibraryModel, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._model = model
        self.list = RunList(self)
        self.list.setAccessibleName(tr("Runs of the library"))
        self.list.setModel(model)
        self.list.setItemDelegate(LibraryDelegate(theme, self.list))
        self.list.setFrameShape(QListView.Shape.NoFrame)
        self.list.ticked.connect(self._tick)
        self.list.shown.connect(self._show_alone)
        self.list.moved.connect(self._move)
        title = QLabel(tr("&Library"), self)
        title.setBuddy(self.list)
        self.count = QLabel(self)
        self.count.setTextFormat(Qt.TextFormat.PlainText)
        self.count.setWordWrap(True)
        layout = QVBoxLayout(self)
        layout.addWidget(title)
        layout.addWidget(self.list, 1)
        layout.addWidget(self.count)
        theme.changed.connect(self.list.viewport().update)

    def show_runs(self, runs: Sequence[ListedRun], *, complete: bool) -> None:
        """Show these runs; `complete` is False while more are being read."""
        self._model.set_runs(runs)
        count = tr("1 run") if len(runs) == 1 else tr("{count} runs").format(count=len(runs))
        bad = sum(run.entry.problem is not None for run in runs)
        if bad:
            count += ", " + tr("{count} cannot be read").format(count=bad)
        if not complete:
            count += ", " + tr("reading …")
        self.count.setText(count)

    def focus_run(self, key: str) -> None:
        """Make a run current."""
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
        row = self._model.row(index)
        if isinstance(row, RunRow):
            if row.readable:
                self._model.choose([row.key])
        elif row is not None:
            self._model.choose(row.paths)

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
        word = tr("&Take out of the charts") if chosen else tr("&Add to the charts")
        add(word, lambda: self._tick(index), enabled=bool(key or not _is_run(row)))
        add(tr("&Replay"), lambda: self.replay_asked.emit(key), enabled=bool(key))
        path = row.key if isinstance(row, RunRow) else ""
        add(tr("Open its &folder"), lambda: self.folder_asked.emit(path), enabled=bool(path))
        menu.popup(place)
        return menu


def _is_run(row: object) -> bool:
    return isinstance(row, RunRow)
