"""Paint the rows of the library: tick, line sample, name, TPS, spark line, marks.

All sizes follow the font, so that nothing is clipped at 200 % type.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPalette, QPen, QPolygonF
from PySide6.QtWidgets import (
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)
from typing_extensions import override

from app.analysis.labels import DISK_MARKS, format_tps
from app.domain.run import RunState
from app.runfile.metadata.safety import NOT_DURABLE, UNSAFE
from ui.charts.painting.painting import paint_mark
from ui.theme import Theme, mix
from ui.widgets.texts import SEPARATOR, mark_words, run_name, second_line, state_words
from ui.window.library.model import COLOUR_ROLE, ROW_ROLE, Heading, RunRow

Index = QModelIndex | QPersistentModelIndex

_SMALL: Final = 0.88
"""Size of the second line, relative to the first."""
SMALL_SHARE: Final = 0.78
"""Share of the text colour in small words, which must be readable on chosen rows as well."""
CHOSEN_SHARE: Final = 0.18
"""Share of the accent in the background of a chosen row."""
_SPARK_EMS: Final = 7
_WARNING_MARKS: Final = frozenset({UNSAFE, NOT_DURABLE, *DISK_MARKS})
_BAD_STATES: Final = frozenset({RunState.FAILED, RunState.INCOMPLETE, RunState.STOPPED})
_ELIDE: Final = Qt.TextElideMode.ElideRight
_NAME: Final = Qt.TextElideMode.ElideMiddle
"""Names of a campaign differ at their start or at their end."""
_LEFT: Final = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_RIGHT: Final = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


@dataclass(frozen=True, slots=True)
class _Look:
    """Fonts and colours of one row."""

    font: QFont
    small: QFont
    text: QColor
    quiet: QColor

    @classmethod
    def of(cls, option: QStyleOptionViewItem) -> _Look:
        small = QFont(option.font)
        small.setPointSizeF(option.font.pointSizeF() * _SMALL)
        text = option.palette.color(QPalette.ColorRole.Text)
        base = option.palette.color(QPalette.ColorRole.Base)
        return cls(option.font, small, text, mix(text, base, SMALL_SHARE))


def check_width(metrics: QFontMetrics) -> int:
    """Return the width of the area in which a click ticks a row."""
    return round(metrics.height() * 1.6)


def _fit(text: str, metrics: QFontMetrics, width: int) -> str:
    """Shorten a line by whole parts to fit: half a number is worse than none."""
    while metrics.horizontalAdvance(text) > width and SEPARATOR in text:
        text = text.rpartition(SEPARATOR)[0]
    return metrics.elidedText(text, _ELIDE, width)


class LibraryDelegate(QStyledItemDelegate):
    """Paints headings and runs."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._view = parent

    @override
    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        line = QFontMetrics(option.font).height()
        row = index.data(ROW_ROLE)
        height = line * 1.7 if isinstance(row, Heading) else line * 2.45
        return QSize(line * 8, round(height))

    @override
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        row = index.data(ROW_ROLE)
        painter.save()
        painter.setLayoutDirection(Qt.LayoutDirection.LeftToRight)  # as the list
        self._paint_background(painter, option)
        if isinstance(row, Heading):
            self._paint_heading(painter, option, row)
        elif isinstance(row, RunRow):
            self._paint_run(painter, option, row, int(index.data(COLOUR_ROLE)))
        painter.restore()

    def _paint_background(self, painter: QPainter, option: QStyleOptionViewItem) -> None:
        """Mark the current row, keeping line colours readable on it."""
        if not option.state & QStyle.StateFlag.State_Selected:
            return
        accent = self._theme.colour("accent")
        strong = bool(option.state & QStyle.StateFlag.State_Active) and self._view.hasFocus()
        share = CHOSEN_SHARE if strong else 0.1
        painter.fillRect(option.rect, mix(accent, self._theme.colour("background"), share))
        painter.fillRect(option.rect.adjusted(0, 0, 3 - option.rect.width(), 0), accent)

    def _paint_heading(self, painter: QPainter, option: QStyleOptionViewItem, row: Heading) -> None:
        look = _Look.of(option)
        line = QFontMetrics(look.font).height()
        area = option.rect.adjusted(line // 3, line // 4, -line // 3, 0)
        bold = QFont(look.font)
        bold.setBold(True)
        painter.setFont(look.small)
        painter.setPen(look.quiet)
        width = QFontMetrics(look.small).horizontalAdvance(row.when)
        painter.drawText(area, _RIGHT, row.when)
        painter.setFont(bold)
        painter.setPen(look.text)
        title = area.adjusted(0, 0, -width - line // 2, 0)
        painter.drawText(title, _LEFT, QFontMetrics(bold).elidedText(row.title, _NAME, title.width()))

    def _paint_run(
        self, painter: QPainter, option: QStyleOptionViewItem, row: RunRow, colour_number: int
    ) -> None:
        look = _Look.of(option)
        line = QFontMetrics(look.font).height()
        left = option.rect.left() + check_width(QFontMetrics(look.font))
        right = option.rect.right() - line // 3
        top = QRect(left, option.rect.top() + line // 6, right - left, round(line * 1.1))
        bottom = QRect(left, top.bottom(), right - left, option.rect.bottom() - line // 6 - top.bottom())
        if row.readable:
            self._paint_tick(painter, option, chosen=colour_number >= 0)
        self._paint_name(painter, top, look, row, colour_number)
        self._paint_details(painter, bottom, look, row, colour_number)

    def _paint_tick(self, painter: QPainter, option: QStyleOptionViewItem, *, chosen: bool) -> None:
        """Paint a check box that is visible in light and dark, and scales with the type."""
        metrics = QFontMetrics(option.font)
        side = round(metrics.height() * 0.8)
        left = option.rect.left() + (check_width(metrics) - side) / 2 + 1.5
        box = QRectF(left, option.rect.center().y() - side / 2, side, side)
        accent = self._theme.colour("accent")
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(accent if chosen else self._theme.colour("muted"), 1))
        painter.setBrush(accent if chosen else self._theme.colour("background"))
        painter.drawRoundedRect(box, 2, 2)
        if chosen:
            painter.setPen(QPen(self._theme.colour("background"), max(1.5, side / 8)))
            marks = ((0.22, 0.52), (0.43, 0.73), (0.79, 0.28))
            points = [QPointF(box.left() + x * side, box.top() + y * side) for x, y in marks]
            painter.drawPolyline(QPolygonF(points))
        painter.restore()

    def _paint_name(
        self, painter: QPainter, area: QRect, look: _Look, row: RunRow, colour_number: int
    ) -> None:
        metrics = QFontMetrics(look.font)
        sample = round(metrics.height() * 1.5)
        if colour_number >= 0:
            y = area.center().y() + 0.5
            colour = self._theme.series_colour(colour_number)
            painter.setPen(QPen(colour, 3.0))
            painter.drawLine(QPointF(area.left(), y), QPointF(area.left() + sample * 0.8, y))
            middle, mark = QPointF(area.left() + sample * 0.4, y), self._theme.series_mark(colour_number)
            paint_mark(painter, middle, mark, colour, 1.0)
            area = area.adjusted(sample, 0, 0, 0)
        tps = format_tps(row.run.entry.tps)
        painter.setFont(look.font)
        painter.setPen(look.text if row.readable else look.quiet)
        painter.drawText(area, _RIGHT, tps)
        name = area.adjusted(0, 0, -metrics.horizontalAdvance(tps) - metrics.height() // 2, 0)
        painter.drawText(name, _LEFT, metrics.elidedText(run_name(row.run), _NAME, name.width()))

    def _paint_details(
        self, painter: QPainter, area: QRect, look: _Look, row: RunRow, colour_number: int
    ) -> None:
        metrics = QFontMetrics(look.small)
        width = min(metrics.height() * _SPARK_EMS, area.width() // 3)
        left = area.width() - width - metrics.height() // 2
        if len(row.run.spark) > 1 and self._warning_width(metrics, row) <= left:
            self._paint_spark(
                painter, area.adjusted(area.width() - width, 2, 0, -2), look, row, colour_number
            )
            area = area.adjusted(0, 0, -width - metrics.height() // 2, 0)
        painter.setFont(look.small)
        state = row.run.entry.state
        if state in _BAD_STATES:
            area = self._paint_word(painter, area, look, state_words(state), warns=True)
        for kind in sorted(row.run.entry.marks, key=lambda kind: kind not in _WARNING_MARKS):
            area = self._paint_mark(painter, area, look, kind)
        painter.setPen(look.quiet)
        painter.drawText(area, _LEFT, _fit(second_line(row.run), metrics, area.width()))

    def _warning_width(self, metrics: QFontMetrics, row: RunRow) -> int:
        """Return the width of the warnings, which take precedence over the spark line."""
        entry = row.run.entry
        words = [state_words(entry.state)] if entry.state in _BAD_STATES else []
        words += [mark_words(kind) for kind in entry.marks if kind in _WARNING_MARKS]
        return sum(metrics.horizontalAdvance(word) + metrics.height() for word in words)

    def _paint_mark(self, painter: QPainter, area: QRect, look: _Look, kind: str) -> QRect:
        """Paint a mark as a word, with a triangle if it warns; return the rest of the line."""
        warns = kind in _WARNING_MARKS
        if warns:
            side = QFontMetrics(look.small).ascent()
            base = area.center().y() + side / 2
            corners = [
                QPointF(area.left(), base),
                QPointF(area.left() + side, base),
                QPointF(area.left() + side / 2, base - side),
            ]
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(self._theme.colour("warning"))
            painter.drawPolygon(QPolygonF(corners))
            area = area.adjusted(side + side // 3, 0, 0, 0)
        return self._paint_word(painter, area, look, mark_words(kind), warns=warns)

    def _paint_word(self, painter: QPainter, area: QRect, look: _Look, word: str, *, warns: bool) -> QRect:
        """Paint a word if all of it fits, a warning also partly; return the rest of the line."""
        metrics = QFontMetrics(look.small)
        if warns:
            word = metrics.elidedText(word, _ELIDE, area.width())
        width = metrics.horizontalAdvance(word)
        if width > area.width():
            return area
        painter.setPen(self._theme.colour("warning") if warns else look.text)
        painter.drawText(area, _LEFT, word)
        return area.adjusted(width + metrics.height() // 2, 0, 0, 0)

    def _paint_spark(
        self, painter: QPainter, area: QRect, look: _Look, row: RunRow, colour_number: int
    ) -> None:
        """Draw TPS over time from zero up, so that noise does not look like a collapse."""
        spark = row.run.spark
        top = max(spark)
        if top <= 0 or area.height() < 4:
            return
        step = area.width() / (len(spark) - 1)
        points = [
            QPointF(area.left() + number * step, area.bottom() - value / top * area.height())
            for number, value in enumerate(spark)
        ]
        colour = look.quiet if colour_number < 0 else self._theme.series_colour(colour_number)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(colour, 1.2))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawPolyline(QPolygonF(points))
