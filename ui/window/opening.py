"""Run files from elsewhere: choosing them, and finding them in folders."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QFileDialog, QWidget

from app.domain.text import tr
from app.runs.runfile import SUFFIX


def choose_files(parent: QWidget, folder: str, chosen: Callable[[list[str]], None]) -> QFileDialog:
    """Let the user choose run files; never blocks."""
    dialog = QFileDialog(parent, tr("Open runs"), folder)
    dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
    dialog.setNameFilters([tr("Run files (*{suffix})").format(suffix=SUFFIX), tr("All files (*)")])
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.filesSelected.connect(chosen)
    dialog.open()
    return dialog


def run_files(path: Path) -> list[Path]:
    """Return a file itself, or the run files below a folder."""
    return sorted(path.rglob(f"*{SUFFIX}")) if path.is_dir() else [path]


def open_folder_of(path: str) -> None:
    """Show the folder of a file in the desktop's file manager."""
    QDesktopServices.openUrl(QUrl.fromLocalFile(str(Path(path).parent)))
