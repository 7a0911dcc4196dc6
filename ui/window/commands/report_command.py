"""“Report…” of the window."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices

from app.domain.text import tr
from ui.report.dialog import ReportDialog, ReportRequest, title_of
from ui.window.commands.tools import ToolContext


def open_report(context: ToolContext) -> ReportDialog:
    """Ask for a report of the ticked runs; tell where it is when it is written."""
    paths = tuple(Path(run.entry.path) for run in context.runs)
    asked = ReportRequest(paths, title_of([run.entry.campaign for run in context.runs]))
    dialog = ReportDialog(asked, context.settings, context.window)

    def tell(path: Path) -> None:
        sentence = tr("Written: {path}").format(path=path)
        context.tell(sentence, tr("&Open"), lambda: QDesktopServices.openUrl(QUrl.fromLocalFile(str(path))))

    dialog.written.connect(tell)
    dialog.open()
    return dialog
