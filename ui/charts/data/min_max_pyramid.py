"""Minima and maxima of a series at several resolutions.

A pixel column shows all extremes of its seconds, however many there are.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Coarse = NDArray[np.float32]

FACTOR: Final = 8
_PER_COLUMN: Final = 2


class Pyramid:
    """A series that can be drawn at any time scale, at a cost that depends on the pixel width alone.

    Attributes:
        t_s: times, ascending.
        values: finite.
        drawn: cache of the painter: parameters and result of the last drawing.
    """

    __slots__ = ("_asked", "_extremes", "_levels", "drawn", "t_s", "values")

    def __init__(self, t_s: Array, values: Array) -> None:
        self.t_s = t_s
        self.values = values
        self.drawn: tuple[object, object] | None = None
        self._levels: list[tuple[Coarse, Coarse]] = []
        self._extremes: tuple[float, float] | None = None
        self._asked: tuple[float, float, tuple[float, float] | None] | None = None

    @property
    def extremes(self) -> tuple[float, float] | None:
        """Lowest and highest value, None for an empty series."""
        if self._extremes is None and len(self.values):
            self._extremes = float(self.values.min()), float(self.values.max())
        return self._extremes

    def extremes_in(self, start_s: float, end_s: float) -> tuple[float, float] | None:
        """Lowest and highest value between two times, None if there is none.

        The last answer is cached: each second of a live run repeats the question for all saved ones.
        """
        if self._asked is None or self._asked[:2] != (start_s, end_s):
            self._asked = start_s, end_s, self._find_extremes(start_s, end_s)
        return self._asked[2]

    def _find_extremes(self, start_s: float, end_s: float) -> tuple[float, float] | None:
        first = int(self.t_s.searchsorted(start_s))
        end = int(self.t_s.searchsorted(end_s, side="right"))
        if (first, end) == (0, len(self.t_s)):
            return self.extremes
        values = self.values[first:end]
        return (float(values.min()), float(values.max())) if len(values) else None

    def after(self, t_s: float) -> tuple[Array, Array]:
        """Return (t_s, values) later than a time, preceded by the last earlier one."""
        first = max(0, int(self.t_s.searchsorted(t_s, side="right")) - 1)
        return self.t_s[first:], self.values[first:]

    def reduced(self, start_s: float, end_s: float, columns: int) -> tuple[Array, Array]:
        """Return (t_s, values) to draw between two times on `columns` pixels, about two points per column.

        A column with several seconds has their minimum and maximum. One point beyond either edge is included,
        so that the line reaches it.
        """
        first = max(0, int(self.t_s.searchsorted(start_s)) - 1)
        end = min(len(self.t_s), int(self.t_s.searchsorted(end_s, side="right")) + 1)
        count = end - first
        if count <= _PER_COLUMN * columns or end_s <= start_s:
            return self.t_s[first:end], self.values[first:end]
        depth = 0
        while count // FACTOR ** (depth + 1) >= _PER_COLUMN * columns:
            depth += 1
        return self._columns(depth, (first, end), start_s, (end_s - start_s) / columns)

    def _columns(
        self, depth: int, span: tuple[int, int], start_s: float, column_s: float
    ) -> tuple[Array, Array]:
        size = FACTOR**depth
        begin, end = span[0] // size, -(-span[1] // size)
        if depth:
            low, high = self._level(depth)
            low, high = low[begin:end], high[begin:end]
        else:
            low = high = self.values[begin:end]  # type: ignore[assignment]
        times = self.t_s[begin * size : end * size : size]
        column = np.floor((times - start_s) / column_s)
        starts = np.concatenate(([0], np.flatnonzero(np.diff(column)) + 1))
        lows, highs = np.minimum.reduceat(low, starts), np.maximum.reduceat(high, starts)
        reduced = np.empty(2 * len(starts))
        # Alternate up and down between columns, to keep the connecting line short.
        reduced[0::4], reduced[1::4] = lows[0::2], highs[0::2]
        reduced[2::4], reduced[3::4] = highs[1::2], lows[1::2]
        return np.repeat(start_s + (column[starts] + 0.5) * column_s, 2), reduced

    def _level(self, depth: int) -> tuple[Coarse, Coarse]:
        """Return minima and maxima of groups of FACTOR**depth values; the last group may be smaller."""
        while len(self._levels) < depth:
            low, high = self._levels[-1] if self._levels else (self.values, self.values)
            starts = np.arange(0, len(low), FACTOR)
            self._levels.append(
                (
                    np.minimum.reduceat(low, starts).astype(np.float32),
                    np.maximum.reduceat(high, starts).astype(np.float32),
                )
            )
        return self._levels[depth - 1]
