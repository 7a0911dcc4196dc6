"""Figures of bars beside and below each other, each with an axis of its own, in one sheet."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSizeF
from PySide6.QtGui import QPainter

from ui.charts.figures.bars import BarFigure
from ui.charts.painting.sheet_painting import line_height, put_title
from ui.charts.stack.saving import table_text
from ui.theme import LARGE, SMALL, Theme

_NARROWEST = 480.0
_MOST_COLUMNS = 3


@dataclass(frozen=True)
class FiguresSideBySide:
    """Several figures of bars.

    Attributes:
        title: of all of them.
        parts: in reading order, row by row.
        note: beside the title.
    """

    title: str
    parts: tuple[BarFigure, ...]
    note: str = ""

    def least_height(self, theme: Theme, width: float) -> float:
        """Return the pixels below which it cannot be read."""
        return self._above(theme) + sum(self._row_heights(theme, width))

    def paint(self, painter: QPainter, size: QSizeF, theme: Theme) -> None:
        """Paint all of them."""
        put_title(painter, theme, size.width(), self.title, self.note)
        for part, place in self._places(size, theme):
            painter.save()
            painter.translate(place.topLeft())
            part.paint(painter, place.size(), theme)
            painter.restore()

    def paint_pointer(self, painter: QPainter, size: QSizeF, theme: Theme, at: QPointF) -> None:
        """Mark the row under the pointer."""
        for part, place in self._places(size, theme):
            if place.contains(at):
                painter.save()
                painter.translate(place.topLeft())
                part.paint_pointer(painter, place.size(), theme, at - place.topLeft())
                painter.restore()

    def tell(self, size: QSizeF, theme: Theme, at: QPointF) -> str:
        """Return what the row under the pointer says, below the title of its figure."""
        for part, place in self._places(size, theme):
            told = part.tell(place.size(), theme, at - place.topLeft()) if place.contains(at) else ""
            if told:
                return f"{part.title}\n{told}"
        return ""

    def told_data(self) -> str:
        """Return every figure in sentences."""
        return " ".join([f"{self.title}.", *(part.told_data() for part in self.parts)])

    def csv(self) -> str:
        """Return a row a bar, with the title of its figure."""
        heading = ("figure", "name", "value", "low", "high", "interval")
        rows: list[tuple[object, ...]] = [heading]
        for part in self.parts:
            for bar in (bar for group in part.groups for bar in group.bars):
                low, high = bar.interval or ("", "")
                kind = "" if bar.interval is None else "within-run" if bar.within else "between-runs"
                rows.append((part.title, bar.label, bar.value, low, high, kind))
        return table_text(rows)

    # Where things lie

    @staticmethod
    def _above(theme: Theme) -> float:
        return line_height(theme) + 2 * SMALL

    def _columns(self, width: float) -> int:
        fitting = int((width + LARGE) // (_NARROWEST + LARGE))
        return max(1, min(_MOST_COLUMNS, fitting, len(self.parts)))

    def _row_heights(self, theme: Theme, width: float) -> list[float]:
        columns = self._columns(width)
        each = (width - (columns - 1) * LARGE) / columns
        needed = [part.least_height(theme, each) + SMALL for part in self.parts]
        return [max(needed[first : first + columns]) for first in range(0, len(needed), columns)]

    def _places(self, size: QSizeF, theme: Theme) -> Iterator[tuple[BarFigure, QRectF]]:
        """Yield each figure with its place; rows grow with the height of the whole, to twice their need."""
        columns, heights = self._columns(size.width()), self._row_heights(theme, size.width())
        each = (size.width() - (columns - 1) * LARGE) / columns
        top, room = self._above(theme), size.height() - self._above(theme)
        needed = sum(heights)
        grown = min(2.0, max(1.0, room / needed)) if needed and math.isfinite(room) else 1.0
        for number, part in enumerate(self.parts):
            row, column = divmod(number, columns)
            if number and not column:
                top += heights[row - 1] * grown
            yield part, QRectF(column * (each + LARGE), top, each, heights[row] * grown - SMALL)
