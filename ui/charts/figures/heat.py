"""A figure over two dimensions: numbers in cells, on a stronger ground for larger ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSizeF
from PySide6.QtGui import QColor, QPainter, QPen

from app.domain.text import tr, trn
from ui.charts.data.scale import format_value
from ui.charts.painting.sheet_painting import (
    CENTRE,
    QUIET,
    RIGHT,
    Look,
    line_height,
    put_text,
    put_title,
    text_width,
)
from ui.charts.stack.saving import table_text
from ui.theme import SMALL, Theme, mix

_NAMES_SHARE = 0.3
_STRONGEST = 0.55
"""Largest share of the ground's colour: text must stay legible on it."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One pair of values.

    Attributes:
        value: mean of its runs; None without runs.
        note: below the number: count of runs.
        tip: lines of explanation.
    """

    value: float | None
    note: str = ""
    tip: str = ""


@dataclass(frozen=True)
class HeatFigure:
    """A table with coloured grounds.

    Attributes:
        title: the figure, with its unit.
        across: name of the dimension of columns.
        down: name of the dimension of rows.
        columns: headings.
        rows: names.
        cells: [row][column].
        note: next to the title: whether lower or higher is better.
    """

    title: str
    across: str
    down: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    cells: tuple[tuple[Cell, ...], ...]
    note: str = ""

    def least_height(self, theme: Theme, width: float) -> float:  # noqa: ARG002 - see Figure
        """Return the least legible height in pixels."""
        return self._top(theme) + len(self.rows) * 2.4 * line_height(theme) + SMALL

    def paint(self, painter: QPainter, size: QSizeF, theme: Theme) -> None:
        """Paint the figure."""
        put_title(painter, theme, size.width(), self.title, self.note)
        height = line_height(theme)
        corner = self._area(size, theme, 0, 0)
        put_text(
            painter, theme, QRectF(SMALL, corner.top() - height, corner.left(), height), self.down, QUIET
        )
        wide = QRectF(corner.left(), corner.top() - 2 * height, size.width() - corner.left(), height)
        put_text(painter, theme, wide, self.across, QUIET)
        for column, name in enumerate(self.columns):
            area = self._area(size, theme, 0, column)
            place = QRectF(area.left(), area.top() - height, area.width(), height)
            put_text(painter, theme, place, name, Look(CENTRE, bold=True))
        for row, name in enumerate(self.rows):
            area = self._area(size, theme, row, 0)
            put_text(
                painter,
                theme,
                QRectF(SMALL, area.top(), area.left() - 2 * SMALL, area.height()),
                name,
                Look(RIGHT),
            )
            for column, cell in enumerate(self.cells[row]):
                self._paint_cell(painter, theme, self._area(size, theme, row, column), cell)

    def paint_pointer(self, painter: QPainter, size: QSizeF, theme: Theme, at: QPointF) -> None:
        """Frame the cell under the pointer."""
        place = self._cell_at(size, theme, at)
        if place is not None:
            painter.setPen(QPen(theme.text, 2))
            painter.drawRect(self._area(size, theme, *place))

    def text_at(self, size: QSizeF, theme: Theme, at: QPointF) -> str:
        """Return the text of the cell under the pointer."""
        place = self._cell_at(size, theme, at)
        if place is None:
            return ""
        cell = self.cells[place[0]][place[1]]
        head = f"{self.down}: {self.rows[place[0]]}\n{self.across}: {self.columns[place[1]]}"
        return "\n".join(part for part in (head, _number(cell), cell.note, cell.tip) if part)

    def accessible_text(self) -> str:
        """Return one sentence per row."""
        nothing = tr("nothing")
        sentences = []
        for name, cells in zip(self.rows, self.cells, strict=True):
            known = [
                ", ".join(filter(None, (f"{column} {_number(cell)}", cell.note)))
                for column, cell in zip(self.columns, cells, strict=True)
                if cell.value is not None
            ]
            sentences.append(f"{name}: {'; '.join(known) or nothing}.")
        title = tr("{title}; rows: {down}, columns: {across}.")
        return " ".join([title.format(title=self.title, down=self.down, across=self.across), *sentences])

    def csv(self) -> str:
        """Return one CSV row per cell."""
        rows: list[Sequence[object]] = [(self.down, self.across, "value", "runs")]
        for row, name in enumerate(self.rows):
            rows += [
                (name, self.columns[column], cell.value, cell.note)
                for column, cell in enumerate(self.cells[row])
            ]
        return table_text(rows)

    def _top(self, theme: Theme) -> float:
        return 3 * line_height(theme) + 2 * SMALL

    def _area(self, size: QSizeF, theme: Theme, row: int, column: int) -> QRectF:
        names = max((text_width(theme, name) for name in (*self.rows, self.down)), default=0.0) + 3 * SMALL
        left, top = min(names, _NAMES_SHARE * size.width()), self._top(theme)
        width = min(180.0, (size.width() - left - SMALL) / max(1, len(self.columns)))
        height = min(90.0, (size.height() - top - SMALL) / max(1, len(self.rows)))
        return QRectF(left + column * width, top + row * height, width - 2, height - 2)

    def _cell_at(self, size: QSizeF, theme: Theme, at: QPointF) -> tuple[int, int] | None:
        for row in range(len(self.rows)):
            for column in range(len(self.columns)):
                if self._area(size, theme, row, column).contains(at):
                    return row, column
        return None

    def _paint_cell(self, painter: QPainter, theme: Theme, area: QRectF, cell: Cell) -> None:
        painter.fillRect(area, self._ground(theme, cell))
        half = QRectF(area.left(), area.center().y() - line_height(theme), area.width(), line_height(theme))
        if not cell.note:
            half = area
        put_text(
            painter, theme, half, _number(cell) or "\N{EN DASH}", Look(CENTRE, bold=cell.value is not None)
        )
        if cell.note:
            put_text(painter, theme, half.translated(0, half.height()), cell.note, Look(CENTRE, 0.85))

    def _ground(self, theme: Theme, cell: Cell) -> QColor:
        known = [each.value for row in self.cells for each in row if each.value is not None]
        if cell.value is None or not known:
            return theme.colour("warm_up")
        low, high = min(known), max(known)
        share = (cell.value - low) / (high - low) if high > low and math.isfinite(high) else 0.5
        return mix(theme.colour("accent"), theme.background, 0.06 + (_STRONGEST - 0.06) * share)


def _number(cell: Cell) -> str:
    return "" if cell.value is None else format_value(cell.value)


def runs_note(runs: int) -> str:
    """Return the number of runs of a cell, as text."""
    return trn("{runs} run", "{runs} runs", runs).format(runs=runs)
