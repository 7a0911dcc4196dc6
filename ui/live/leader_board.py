"""A board with moving rows: rank, name, a bar, a large number. Painted, legible from a distance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget
from typing_extensions import override

from app.comparison.label_shortening import cut_words
from app.domain.text import tr
from ui.charts.painting.sheet_painting import CENTRE, LEFT, RIGHT
from ui.painting import painting
from ui.theme import MEDIUM, SMALL, TINY, Theme

_NAME: Final = 0.38
_NOTE: Final = 0.26
_NUMBER: Final = 0.62
_ALARM: Final = 0.56
"""Heights of type, as shares of a row."""
_NAMES_SHARE: Final = 0.30
_HEAD_SHARE: Final = 0.42
_WIDEST_NUMBER: Final = "888,888"


@dataclass(frozen=True, slots=True)
class BoardRow:
    """The content of a row.

    Attributes:
        key: identity.
        rank: before the name; may be empty.
        name: of the run or configuration, without its warning.
        ending: the warning, never shortened.
        colour_index: number of its configuration's colour.
        value: length of the bar; None for none.
        marked: position of a mark in the bar; None for none.
        number: large.
        beneath: small, below the number.
        note: small, below the name.
        alarm: large text at the end of the bar; may be empty.
        is_over: whether it is muted, because nothing more comes.
    """

    key: str
    rank: str
    name: str
    ending: str
    colour_index: int
    value: float | None
    number: str
    marked: float | None = None
    beneath: str = ""
    note: str = ""
    alarm: str = ""
    is_over: bool = False

    @property
    def words(self) -> str:
        """The row as a sentence, for screen readers."""
        parts = (f"{self.rank} {self.name}{self.ending}".strip(), self.number, self.beneath)
        return ", ".join(filter(None, (*parts, self.alarm, self.note)))


class LeaderBoard(QWidget):
    """Rows under a heading with two texts.

    Attributes:
        rows: top first, in their final order.
    """

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.rows: tuple[BoardRow, ...] = ()
        self._heading = ("", "")
        self._top = 1.0
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setAccessibleName(tr("Leader board"))
        theme.changed.connect(self.update)

    def accessible_text(self) -> str:
        """Return the sort order and all rows, top first."""
        heading = ". ".join(filter(None, self._heading))
        return f"{heading}. {'; '.join(row.words for row in self.rows)}."

    def set_heading(self, left: str, right: str) -> None:
        """Set the texts for the sort order and for the meaning of the numbers."""
        if (left, right) != self._heading:
            self._heading = (left, right)
            self.update()

    def set_top(self, value: float) -> None:
        """Set the value of a bar of full length."""
        self._top = value if value > 0 else 1.0
        self.update()

    def show_rows(self, rows: Sequence[BoardRow]) -> None:
        """Show rows."""
        if tuple(rows) != self.rows:
            self.rows = tuple(rows)
            self.update()

    @property
    def row_height(self) -> float:
        """Height of a row in pixels."""
        return self.height() / (max(2, len(self.rows)) + _HEAD_SHARE)

    @override
    def sizeHint(self) -> QSize:
        return QSize(600, 60 * max(2, len(self.rows)))

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        with painting(self) as painter:
            painter.fillRect(event.rect(), self._theme.background)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            height = self.row_height
            self._paint_heading(painter, height * _HEAD_SHARE)
            for place, row in enumerate(self.rows):
                self._paint_row(painter, row, QRectF(0, height * (_HEAD_SHARE + place), self.width(), height))

    def _font(self, pixels: float, *, bold: bool = False) -> QFont:
        font = self._theme.number_font(bold=bold)
        font.setPixelSize(max(8, round(pixels)))
        return font

    def _paint_heading(self, painter: QPainter, height: float) -> None:
        painter.setFont(self._font(min(height * 0.62, self.row_height * _NOTE)))
        painter.setPen(self._theme.muted)
        area = QRectF(0, 0, self.width(), height)
        left, right = self._heading
        metrics = QFontMetricsF(painter.font())
        room = self.width() - metrics.horizontalAdvance(right) - MEDIUM
        painter.drawText(area, LEFT, metrics.elidedText(left, Qt.TextElideMode.ElideRight, room))
        painter.drawText(area, RIGHT, right)

    def _number_width(self, height: float) -> float:
        font = self._font(height * _NUMBER, bold=True)
        return max(
            QFontMetricsF(font).horizontalAdvance(
                max((_WIDEST_NUMBER, *(r.number for r in self.rows)), key=len)
            ),
            0.0,
        )

    def _paint_row(self, painter: QPainter, row: BoardRow, area: QRectF) -> None:
        theme, height = self._theme, area.height()
        colour = theme.series_colour(row.colour_index)
        if row.is_over:
            colour = theme.pale(colour, 0.6)
        painter.fillRect(area, theme.background)
        names_left = height * 0.62 if any(each.rank for each in self.rows) else 0.0
        names = QRectF(names_left, area.top(), area.width() * _NAMES_SHARE, height)
        self._paint_name(painter, row, names)
        painter.setFont(self._font(height * _NUMBER * 0.8, bold=True))
        painter.setPen(theme.muted if row.is_over else theme.text)
        painter.drawText(QRectF(0, area.top(), names_left, height), LEFT, row.rank)
        number = self._number_width(height)
        bar = QRectF(names.right() + SMALL, area.top(), 0, height)
        bar.setRight(area.width() - number - 2 * MEDIUM)
        if row.value is not None and bar.width() > 0:
            bar.adjust(0, height * 0.17, 0, -height * 0.17)
            self._paint_bar(painter, row, bar, colour)
            self._paint_alarm(painter, row, bar)
        right = QRectF(area.width() - number - MEDIUM, area.top(), number + MEDIUM, height)
        self._paint_number(painter, row, right)

    def _paint_name(self, painter: QPainter, row: BoardRow, area: QRectF) -> None:
        theme, height = self._theme, area.height()
        font = self._font(height * _NAME, bold=True)
        painter.setFont(font)
        painter.setPen(theme.text)
        second = row.note
        upper = QRectF(
            area.left(), area.top() + height * 0.08, area.width(), height * (0.48 if second else 0.84)
        )
        painter.drawText(upper, LEFT, self._fitting(row, font, area.width()))
        if not second:
            return
        lower = QRectF(area.left(), area.top() + height * 0.56, area.width(), height * 0.36)
        small = self._font(height * _NOTE)
        painter.setFont(small)
        painter.setPen(theme.muted)
        shown = QFontMetricsF(small).elidedText(second, Qt.TextElideMode.ElideRight, area.width())
        painter.drawText(lower, LEFT, shown)

    def _paint_alarm(self, painter: QPainter, row: BoardRow, bar: QRectF) -> None:
        """Write the alarm at the end of the bar, in the colour of a warning."""
        if not row.alarm:
            return
        font = self._font(row_type := bar.height() * _ALARM, bold=True)
        metrics = QFontMetricsF(font)
        width = min(bar.width(), metrics.horizontalAdvance(row.alarm) + 2 * row_type)
        pill = QRectF(bar.right() - width, bar.top(), width, bar.height())
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._theme.warning)
        painter.drawRoundedRect(pill, TINY, TINY)
        painter.setFont(font)
        painter.setPen(self._theme.background)
        shown = metrics.elidedText(row.alarm, Qt.TextElideMode.ElideRight, width - row_type)
        painter.drawText(pill, CENTRE, shown)

    @staticmethod
    def _fitting(row: BoardRow, font: QFont, room: float) -> str:
        width_of, ending = QFontMetricsF(font).horizontalAdvance, row.ending
        return cut_words(row.name, lambda text: width_of(text + ending) <= room) + ending

    def _paint_bar(self, painter: QPainter, row: BoardRow, area: QRectF, colour: QColor) -> None:
        theme = self._theme
        painter.fillRect(area, theme.pale(theme.grid, 0.5))
        share = min(1.0, max(0.0, (row.value or 0.0) / self._top))
        painter.fillRect(QRectF(area.left(), area.top(), area.width() * share, area.height()), colour)
        weight = max(2.0, area.height() / 14)
        if row.marked is not None:
            x = area.left() + area.width() * min(1.0, row.marked / self._top)
            painter.setPen(QPen(theme.background, 3 * weight))
            painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()))
            painter.setPen(QPen(theme.text, weight))
            painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()))

    def _paint_number(self, painter: QPainter, row: BoardRow, area: QRectF) -> None:
        theme, height = self._theme, area.height()
        painter.setFont(self._font(height * _NUMBER, bold=True))
        painter.setPen(theme.warning if row.alarm else theme.muted if row.is_over else theme.text)
        share = 0.66 if row.beneath else 1.0
        painter.drawText(QRectF(area.left(), area.top(), area.width(), height * share), RIGHT, row.number)
        if row.beneath:
            painter.setFont(self._font(height * _NOTE))
            painter.setPen(theme.muted)
            below = QRectF(area.left(), area.top() + height * 0.62, area.width(), height * 0.34)
            painter.drawText(below, RIGHT, row.beneath)
