"""The line below charts that says which part of the time they show, and leads back to the whole."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QPushButton, QSizePolicy, QWidget

from app.domain.text import tr
from ui.charts.data.scale import Range
from ui.charts.data.x_axis import XAxisKind, XQuantity
from ui.theme import SMALL
from ui.widgets.plain_label import plain_label


class ZoomBar(QWidget):
    """Hidden where everything is shown.

    Attributes:
        words: which part is shown.
        whole: shows everything.
    """

    def __init__(self, kind: XAxisKind, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._kind = kind
        self.words = plain_label(parent=self)
        self.words.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        over_time = kind.along is XQuantity.TIME
        self.whole = QPushButton(tr("Whole &run") if over_time else tr("Show &everything"), self)
        self.whole.setToolTip(tr("Also: a double click into a chart, or the key Home"))
        row = QHBoxLayout(self)
        row.setContentsMargins(SMALL, 0, SMALL, 0)
        row.addWidget(self.words, 1)
        row.addWidget(self.whole)
        self.hide()

    def show_part(self, part: Range | None, whole: Range) -> None:
        """Say which part of the whole is shown; None: all of it."""
        if part is not None:
            moments = [self._kind.moment(place, whole[1]) for place in part]
            told = tr("Shown: {begin} to {end}. Shift and drag moves it, Ctrl and the wheel zoom.")
            self.words.setText(told.format(begin=moments[0], end=moments[1]))
        self.setVisible(part is not None)
