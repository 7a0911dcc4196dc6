"""The figure that a comparison ends on, large enough to be read from the other side of a room."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget

from app.analysis.labels import format_tps, with_warning
from app.comparison.comparison import RunComparison
from app.comparison.overall.answer import by_speed
from app.domain.text import tr
from ui.theme import SMALL, Theme
from ui.widgets.plain_label import plain_label

_SCALE: Final = 3.0
"""Of the type of the number, against that of texts."""


def headline_words(comparison: RunComparison) -> tuple[str, str] | None:
    """Return the highest mean TPS of what is ranked, and whose it is with its interval.

    None without any, and where there are several conditions: none of their figures stands for all.
    """
    if len(comparison.parts) > 1:
        return None
    place = next(iter(by_speed(comparison)), None)
    if place is None or comparison.rows[place].mean.mean is None:
        return None
    group, mean = comparison.groups[place], comparison.rows[place].mean
    told = with_warning(group.name, group.warning)
    is_highest = all((row.mean.mean or 0.0) <= (mean.mean or 0.0) for row in comparison.rows)
    if mean.low is None or mean.high is None:
        sentence = tr("{name}: highest mean, indicative only")
        if not is_highest:
            sentence = tr("{name}: highest mean of what is durable, indicative only")
        return format_tps(mean.mean), comparison.measured(sentence.format(name=told))
    sentence = tr("{name}: highest mean, 95 % interval {low} to {high}")
    if not is_highest:
        sentence = tr("{name}: highest mean of what is durable, 95 % interval {low} to {high}")
    told = sentence.format(name=told, low=format_tps(mean.low), high=format_tps(mean.high))
    return format_tps(mean.mean), comparison.measured(told)


class Headline(QWidget):
    """A large number with its unit, and beside it whose it is.

    Attributes:
        value: the number.
        words: whose it is.
    """

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.value, self._unit = plain_label(parent=self), plain_label(tr("TPS"), self)
        self.words = plain_label(parent=self)
        self.words.setWordWrap(True)
        self.words.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        for label in (self.value, self._unit, self.words):
            label.setTextFormat(Qt.TextFormat.PlainText)
        row = QHBoxLayout()
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SMALL)
        for label in (self.value, self._unit):
            row.addWidget(label, 0, Qt.AlignmentFlag.AlignBaseline)
        row.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(row)
        layout.addWidget(self.words)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.hide()
        theme.changed.connect(self._dress)
        self._dress()

    def show_comparison(self, comparison: RunComparison) -> None:
        """Show what a comparison ends on; take no room where it has no figure."""
        told = headline_words(comparison)
        for label, text in zip((self.value, self.words), told or ("", ""), strict=True):
            label.setText(text)
        self.setVisible(told is not None)  # last: showing lays out at once, a text only with the next event

    def _dress(self) -> None:
        self.value.setFont(self._theme.number_font(_SCALE, bold=True))
        self._unit.setFont(self._theme.font(1.35))
        for label in (self._unit, self.words):
            _quieten(label, self._theme)


def _quieten(label: QLabel, theme: Theme) -> None:
    palette = QPalette(label.palette())
    palette.setColor(QPalette.ColorRole.WindowText, theme.muted)
    label.setPalette(palette)
