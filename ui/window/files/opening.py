"""Open run files from elsewhere: file dialog, folders, examples."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Final

from PySide6.QtCore import QObject, Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QFileDialog, QMenu, QWidget

from app.domain.errors import FootingError
from app.domain.text import tr
from app.library.entries import find_examples
from app.runfile.writer import SUFFIX
from ui.widgets.formatting import one_line
from ui.window.pages.window_settings import WindowSettings

_MOST_RECENT: Final = 8


class RunOpener(QObject):
    """Opens run files for one window.

    Attributes:
        recent: menu of files and folders that were opened last.

    Signals:
        opened: absolute paths of run files to show.
        elsewhere: the same paths, except for the examples.
        notified: why nothing is opened.
    """

    opened = Signal(list)
    elsewhere = Signal(list)
    notified = Signal(str)

    def __init__(self, window: QWidget, settings: WindowSettings, library: Path) -> None:
        super().__init__(window)
        self._window = window
        self._settings = settings
        self._library = library
        self.recent = QMenu(tr("Opened recently"), window)
        self.recent.aboutToShow.connect(self._fill_recent)

    def open_files(self, paths: Iterable[Path]) -> None:
        """Open these run files; a folder means the run files in it."""
        if files := self._open(paths):
            self.elsewhere.emit(files)
            opened = str(files[0] if len(files) == 1 else files[0].parent)
            self._settings.recent = tuple(dict.fromkeys((opened, *self._settings.recent)))[:_MOST_RECENT]

    def _fill_recent(self) -> None:
        self.recent.clear()
        for path in self._settings.recent:
            action = self.recent.addAction(one_line(path).replace("&", "&&"))
            action.triggered.connect(partial(self.open_files, [Path(path)]))
        if self.recent.isEmpty():
            self.recent.addAction(tr("Nothing yet")).setEnabled(False)

    def _open(self, paths: Iterable[Path]) -> list[Path]:
        files = [file.absolute() for path in paths for file in _run_files(path)]
        if files:
            self.opened.emit(files)
        else:
            self.notified.emit(tr("There is no run file (*{suffix}) in there.").format(suffix=SUFFIX))
        return files

    def open_example(self) -> None:
        """Open the runs that ship with the program."""
        try:
            self._open(find_examples())
        except FootingError as error:
            self.notified.emit(error.message)

    def why_no_example(self) -> str:
        """Return why there is no example; empty if there is one."""
        try:
            find_examples()
        except FootingError as error:
            return error.message
        return ""

    def choose_files(self) -> None:
        """Let the user choose run files; never blocks."""
        folder = self._settings.open_folder or str(self._library)
        dialog = QFileDialog(self._window, tr("Open runs"), folder)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
        dialog.setNameFilters([tr("Run files (*{suffix})").format(suffix=SUFFIX), tr("All files (*)")])
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.filesSelected.connect(self._take_files)
        dialog.open()

    def _take_files(self, names: list[str]) -> None:
        if names:
            self._settings.open_folder = str(Path(names[0]).parent)
            self.open_files(map(Path, names))


def _run_files(path: Path) -> list[Path]:
    return sorted(path.rglob(f"*{SUFFIX}")) if path.is_dir() else [path]


def holds_runs(path: Path) -> bool:
    """Return whether a dropped path is a run file, or a folder with some."""
    return path.suffix == SUFFIX or (path.is_dir() and next(path.rglob(f"*{SUFFIX}"), None) is not None)


def open_file(path: Path) -> None:
    """Open a file or folder with the desktop's program for it."""
    QDesktopServices.openUrl(QUrl.fromLocalFile(str(path)))


def open_folder_of(path: str) -> None:
    """Show the folder of a file in the desktop's file manager."""
    open_file(Path(path).parent)
