"""The names of lines at their right ends: which line is which, without a mouse."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QPainter
from PySide6.QtWidgets import QGraphicsWidget, QStyleOptionGraphicsItem, QWidget
from typing_extensions import override

from app.analysis.labels import with_warning
from app.comparison.label_shortening import cut_words
from ui.charts.data.lines import Line
from ui.charts.data.registry import ChartSpec
from ui.charts.data.scale import Frame, Range
from ui.charts.painting.painting import paint_sample
from ui.theme import TINY, Theme

_SCALE = 0.85
_STAYS = 4.0
"""Pixels by which the end of a line may move before its name does: a name that trembles cannot be read."""
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignAbsolute


@dataclass(frozen=True, slots=True)
class LineLabel:
    """A name at the end of a line.

    Attributes:
        line: whose.
        name: of the run, configuration or curve.
        ending: what follows the name and is never cut: its warning.
    """

    line: Line
    name: str
    ending: str = ""


def labels_of(lines: Sequence[Line], spec: ChartSpec) -> list[LineLabel]:
    """Return a name for every line that needs one.

    Several runs or configurations are named at their first main curve; the curves of a single one by what
    they are; a single line needs no name: the heading has it.
    """
    runs = list(dict.fromkeys(line.run_id for line in lines))
    if len(runs) < 2:
        return [LineLabel(line, line.curve.label) for line in lines] if len(lines) > 1 else []
    order = [curve.id for curve in sorted(spec.curves, key=lambda curve: not curve.main)]
    first: dict[str, Line] = {}
    for line in sorted(lines, key=lambda line: order.index(line.curve.id)):
        first.setdefault(line.run_id, line)
    return [LineLabel(first[run], *name_and_warning(first[run])) for run in runs]


def name_and_warning(line: Line) -> tuple[str, str]:
    """Return the name of a line's run without its warning, and how the warning follows it."""
    ending = with_warning("", line.warning)
    return line.label.removesuffix(ending), ending


class LineLabels(QGraphicsWidget):
    """Paints names beside a chart, each at the height of its line's end, apart from each other."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._type_scale = 1.0
        self._labels: Sequence[LineLabel] = ()
        self._frame: Frame | None = None
        self._drawn: list[tuple[float, LineLabel]] = []
        self._wanted = 0.0

    @property
    def shown(self) -> tuple[str, ...]:
        """The names that stand beside the chart, top first, as they are read."""
        return tuple(self._text(label) for _, label in self._drawn)

    @property
    def _metrics(self) -> QFontMetricsF:
        return QFontMetricsF(self._theme.font(_SCALE * self._type_scale))

    @property
    def _sample(self) -> float:
        return self._metrics.height() * 0.9

    def set_type_scale(self, scale: float) -> None:
        """Use larger or smaller type."""
        self._type_scale = scale
        self._measure()

    def set_labels(self, labels: Sequence[LineLabel]) -> None:
        """Name these lines."""
        others = [_whole(label) for label in labels] != [_whole(label) for label in self._labels]
        self._labels = labels
        if others:
            self._measure()
            self.update()
        self.place()

    def grow(self, lines: Sequence[Line]) -> None:
        """Follow these lines, of which nothing but their ends is new."""
        grown = {(line.run_id, line.curve.id): line for line in lines}
        found = ((label, grown.get((label.line.run_id, label.line.curve.id))) for label in self._labels)
        self._labels = [
            label if line is None else LineLabel(line, label.name, label.ending) for label, line in found
        ]
        self.place()

    def _measure(self) -> None:
        metrics = self._metrics
        widths = (metrics.horizontalAdvance(_whole(label)) for label in self._labels)
        self._wanted = max(widths, default=-1.0) + self._sample + 3 * TINY if self._labels else 0.0

    def wanted_width(self) -> float:
        """Return the pixels that the names need; 0 where there are none."""
        return self._wanted

    def set_width(self, pixels: float) -> None:
        """Be so wide: as all charts of a stack."""
        if pixels != self.maximumWidth():
            self.setMinimumWidth(pixels)
            self.setPreferredWidth(pixels)
            self.setMaximumWidth(pixels)

    def set_ranges(self, times: Range, values: Range, height: float, *, is_log: bool) -> None:
        """Stand beside a chart that shows this."""
        self._frame = Frame(*times, *values, 1000, max(2, round(height)), is_log)
        self.place()

    def place(self) -> None:
        """Find the places anew; painted only where one is another."""
        found = self._places()
        same = [(label.line.run_id, label.name) for _, label in found] == [
            (label.line.run_id, label.name) for _, label in self._drawn
        ]
        moved = zip(found, self._drawn, strict=False)
        if same and all(abs(new[0] - old[0]) < _STAYS for new, old in moved):
            found = [(old[0], new[1]) for new, old in zip(found, self._drawn, strict=True)]
        else:
            self.update()
        self._drawn = found

    def _places(self) -> list[tuple[float, LineLabel]]:
        frame = self._frame
        if frame is None or not self._labels or frame.end_s <= frame.start_s:
            return []
        ends = [(end_height(label.line, frame), label) for label in self._labels]
        known = sorted(((y, label) for y, label in ends if y is not None), key=lambda each: each[0])
        row = math.ceil(self._metrics.height())
        fitting = max(1, int(frame.height / row))
        if len(known) > fitting:  # the list below the charts names all of them
            known = _most_apart(known, fitting)
        return _apart(known, row, frame.height)

    def _text(self, label: LineLabel) -> str:
        metrics, room = self._metrics, self.maximumWidth() - self._sample - 2 * TINY
        ending = label.ending
        return cut_words(label.name, lambda text: metrics.horizontalAdvance(text + ending) <= room) + ending

    @override
    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        self.draw(painter)

    def draw(self, painter: QPainter) -> None:
        """Paint the names at the painter's origin."""
        metrics, sample = self._metrics, self._sample
        painter.setFont(self._theme.font(_SCALE * self._type_scale))
        for y, label in self._drawn:
            line = label.line
            area = QRectF(TINY, y - metrics.height() / 2, self.maximumWidth() - TINY, metrics.height())
            place = QRectF(area.left(), area.top(), sample - TINY, area.height())
            paint_sample(painter, place, line.colour, line.style, 2 * self._type_scale, line.mark)
            painter.setPen(self._theme.muted if line.is_pale else self._theme.text)
            painter.drawText(area.adjusted(sample, 0, 0, 0), _LEFT, self._text(label))


def end_height(line: Line, frame: Frame) -> float | None:
    """Return how far from the top a line ends, in pixels; None where nothing of it is shown."""
    t_s, values = line.main.t_s, line.main.values
    last = len(t_s) - 1
    if last >= 0 and t_s[last] > frame.end_s:
        last = int(t_s.searchsorted(frame.end_s, side="right")) - 1
    if last < 0 or t_s[last] < frame.start_s:
        return None
    return min(max(0.0, frame.y(float(values[last]))), float(frame.height))


def _whole(label: LineLabel) -> str:
    return label.name + label.ending


def _most_apart(known: list[tuple[float, LineLabel]], count: int) -> list[tuple[float, LineLabel]]:
    """Return so many of them, without those that are nearest to the one above; what is not pale stays."""
    kept = list(known)
    while len(kept) > count:
        gaps = [
            (not kept[place][1].line.is_pale, kept[place][0] - kept[place - 1][0], place)
            for place in range(1, len(kept))
        ]
        if not gaps:
            break
        del kept[min(gaps)[2]]
    return kept


def _apart(known: list[tuple[float, LineLabel]], row: float, height: float) -> list[tuple[float, LineLabel]]:
    """Return middles that are at least a row apart and inside the height, in the same order."""
    found: list[tuple[float, LineLabel]] = []
    least = row / 2
    for place, (y, label) in enumerate(known):
        highest = height - row / 2 - row * (len(known) - 1 - place)
        middle = max(min(y, highest), least)
        found.append((middle, label))
        least = middle + row
    return found
