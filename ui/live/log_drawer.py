"""The drawer with everything that happened in a run: events, and programs that were executed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QPlainTextEdit, QWidget
from typing_extensions import override

from app.domain.text import tr
from app.live.snapshot import LogLine
from ui.live.words import signed_clock
from ui.theme import Theme

_ROWS: Final = 7
_LONGEST_LINES: Final = 20_000


def line_text(line: LogLine) -> str:
    """Return a line as it is shown: when in the run, what kind, what."""
    text = " ".join("".join(c if c.isprintable() else " " for c in line.text).split())
    return f"{signed_clock(line.t_ms / 1000):>8}  {line.kind:<20}  {text}"


class LogDrawer(QPlainTextEdit):
    """Follows the newest line as long as it is in view."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._lines: tuple[LogLine, ...] = ()
        self.setReadOnly(True)
        self.setUndoRedoEnabled(False)
        self.setMaximumBlockCount(_LONGEST_LINES)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setAccessibleName(tr("Log of the run"))
        self.setPlaceholderText(tr("Nothing has happened yet."))
        self.setTabChangesFocus(True)
        self._dress()
        theme.changed.connect(self._dress)

    def _dress(self) -> None:
        self.setFont(self._theme.fixed_font(0.95))

    def show_lines(self, lines: Sequence[LogLine]) -> None:
        """Show these lines; where they only continue what is shown, what was scrolled to stays in view."""
        fresh = tuple(lines)
        known = len(self._lines)
        if fresh == self._lines:
            return
        bar = self.verticalScrollBar()
        follows = bar.value() >= bar.maximum() - 1
        if known and fresh[:known] == self._lines:
            self.appendPlainText("\n".join(map(line_text, fresh[known:])))
        else:
            self.setPlainText("\n".join(map(line_text, fresh)))
        self._lines = fresh
        if follows:
            bar.setValue(bar.maximum())

    @override
    def sizeHint(self) -> QSize:
        return QSize(400, self.fontMetrics().lineSpacing() * _ROWS + 12)

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(100, self.fontMetrics().lineSpacing() * 3)
