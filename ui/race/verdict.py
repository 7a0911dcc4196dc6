"""The last slide: the answer as a sentence, bars with intervals, and what weakens it."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont, QPalette
from PySide6.QtWidgets import QVBoxLayout, QWidget
from typing_extensions import override

from app.analysis.labels import one_line
from app.comparison.overall.answer import find_answer
from app.domain.text import tr
from ui.charts.figures.figure import FigureView
from ui.compare.content import Content
from ui.compare.result import result_figure
from ui.theme import LARGE, Theme
from ui.widgets.plain_label import plain_label

_SENTENCE: Final = 1.5
_MOST_WEAKENING: Final = 3
"""More sentences than these nobody reads from a wall; the others stand on the compare page."""


class LargeTheme(Theme):
    """The colours of another theme with larger type, for figures on a wall."""

    def __init__(self, base: Theme) -> None:
        super().__init__(base.scheme, base, high_contrast=False)
        self._base = base
        self._larger = 1.0
        base.changed.connect(lambda: self.set_scheme(base.scheme))

    def set_larger(self, larger: float) -> None:
        """Use type so many times as large as the program's."""
        if larger != self._larger:
            self._larger = larger
            self.changed.emit()

    @override
    def font(self, scale: float = 1.0, *, bold: bool = False) -> QFont:
        return super().font(scale * self._larger, bold=bold)


class VerdictSlide(QWidget):
    """What the runs come to, for a room.

    Attributes:
        sentence: the answer.
        figure: bars of TPS, the fastest first.
        weakened_by: what weakens it.
    """

    def __init__(self, theme: Theme, content: Content, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._large = LargeTheme(theme)
        self.sentence, self.weakened_by = plain_label(parent=self), plain_label(parent=self)
        self.figure = FigureView(self._large, self)
        self.figure.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        for label in (self.sentence, self.weakened_by):
            label.setTextFormat(Qt.TextFormat.PlainText)
            label.setWordWrap(True)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, LARGE, 0, 0)
        layout.setSpacing(LARGE)
        layout.addWidget(self.sentence)
        layout.addWidget(self.figure, 1)
        layout.addWidget(self.weakened_by)
        self._show(content)
        theme.changed.connect(self._dress)

    def _show(self, content: Content) -> None:
        if content.comparison is None:
            self.sentence.setText(tr("The run files are gone: there is no verdict over them."))
            self.figure.hide()
            return
        answer = find_answer(content.comparison)
        self.sentence.setText(one_line(answer.sentence))
        self.figure.show_figure(result_figure(content))
        self.weakened_by.setText("\n".join(map(one_line, answer.weakened_by[:_MOST_WEAKENING])))

    def set_type(self, pixels: float) -> None:
        """Use type so high."""
        self._large.set_larger(pixels / max(1, self._theme_pixels()))
        for label, share in ((self.sentence, _SENTENCE), (self.weakened_by, 0.85)):
            font = self._theme.number_font(bold=label is self.sentence)
            font.setPixelSize(max(10, round(pixels * share)))
            label.setFont(font)
        self._dress()

    def _theme_pixels(self) -> float:
        return self._theme.font().pointSizeF() * self.logicalDpiY() / 72

    def _dress(self) -> None:
        palette = QPalette(self.weakened_by.palette())
        palette.setColor(QPalette.ColorRole.WindowText, self._theme.warning)
        self.weakened_by.setPalette(palette)
