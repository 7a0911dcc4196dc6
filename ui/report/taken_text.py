"""What won as a text: read, and copied with a click."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtGui import QFontDatabase, QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QPlainTextEdit, QPushButton, QVBoxLayout, QWidget
from shiboken6 import isValid

from app.domain.errors import FootingError
from app.domain.text import tr
from app.export.unreadable_files import with_readable
from app.report.report import read_findings
from app.report.take_with_you import taken_text
from ui.background import BackgroundOp


class TakenText(QWidget):
    """The configuration that won, as it is typed; made where it is first asked for."""

    def __init__(self, runs: tuple[Path, ...], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._runs = runs
        self._op: BackgroundOp[str] | None = None
        self._shown: bool | None = None
        self.text = QPlainTextEdit()
        self.text.setReadOnly(True)
        self.text.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self.text.setAccessibleName(tr("What won, to take with you"))
        self.copy = QPushButton(tr("C&opy"))
        self.copy.setAutoDefault(False)
        self.copy.setEnabled(False)
        self.copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(self.text.toPlainText()))
        row = QHBoxLayout()
        row.addWidget(self.copy)
        row.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.text, 1)
        layout.addLayout(row)

    def show_text(self, *, anonymous: bool) -> None:
        """Show it with or without names, as soon as the runs are read."""
        if self._shown is anonymous:
            return
        self.stop()
        self._shown = anonymous
        self.copy.setEnabled(False)
        self.text.setPlainText(tr("The runs are being read …"))
        self._op = BackgroundOp(partial(_read, self._runs, anonymous), self._on_read, self._on_failed).start()

    def stop(self) -> None:
        """Want nothing any more."""
        if self._op is not None:
            self._op.cancel()
            self._op = None

    def _on_read(self, text: str) -> None:
        if not isValid(self):  # deleted with the window above it, which asks nobody
            return
        self._op = None
        self.text.setPlainText(text)
        self.copy.setEnabled(True)

    def _on_failed(self, error: FootingError) -> None:
        if not isValid(self):
            return
        self._op = None
        self.text.setPlainText(f"{error.message} {error.hint}".strip())


def _read(runs: tuple[Path, ...], anonymous: bool) -> str:  # noqa: FBT001 - for `partial`
    return with_readable(
        runs, lambda paths: taken_text(read_findings(paths, anonymous=anonymous)), lambda _: None
    )
