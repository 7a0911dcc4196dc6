"""The row of large numbers, legible from three metres away."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPaintEvent, QPalette, QPen, QPolygonF, QResizeEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QHBoxLayout, QSizePolicy, QWidget
from typing_extensions import override

from app.domain.campaign.configuration import MemoryTarget
from app.domain.text import format_duration, titled, tr
from app.live.snapshot import LiveNumbers, RunSnapshot
from app.runfile.series import RunData
from ui.live.words import NOTHING, format_cores, format_megabytes, format_number, format_rate
from ui.theme import MEDIUM, SMALL, Theme, painting
from ui.widgets.layouts import fill
from ui.widgets.texts import ShortenedLabel, plain_label

SPAN_S: Final = 60.0
_HEADROOM: Final = 1.15
_CALM: Final = 0.55
_GAP_S: Final = 2.5


class SparkLine(QWidget):
    """A line over the last 60 s; the axis starts at zero and changes only if necessary.

    Attributes:
        top: value at the upper edge.
    """

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._colour = 0
        self._t_s: NDArray[np.float64] = np.empty(0)
        self._values: NDArray[np.float64] = np.empty(0)
        self._now_s = 0.0
        self.top = 0.0
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        theme.changed.connect(self.update)

    def set_colour(self, index: int) -> None:
        """Use the colour of a chart line."""
        self._colour = index
        self.update()

    def show_series(self, t_s: NDArray[np.float64], values: NDArray[np.float64], now_s: float) -> None:
        """Show the part of a series in the last minute before `now_s`."""
        first = int(np.searchsorted(t_s, now_s - SPAN_S))
        finite = np.isfinite(values[first:])
        self._t_s, self._values, self._now_s = t_s[first:][finite], values[first:][finite], now_s
        highest = float(self._values.max()) if len(self._values) else 0.0
        if highest > self.top or highest < _CALM * self.top:
            self.top = highest * _HEADROOM
        self.update()

    @override
    def sizeHint(self) -> QSize:
        return QSize(120, self.fontMetrics().height() * 2)

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(30, self.fontMetrics().height())

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        with painting(self) as painter:
            width, height = float(self.width()), float(self.height())
            painter.setPen(QPen(self._theme.grid, 1))
            painter.drawLine(QPointF(0, height - 0.5), QPointF(width, height - 0.5))
            if not len(self._t_s) or self.top <= 0:
                return
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            x = (self._t_s - self._now_s + SPAN_S) / SPAN_S * (width - 4)
            y = (height - 1) - self._values / self.top * (height - 3)
            painter.setPen(QPen(self._theme.series_colour(self._colour), 1.5))
            for part in np.split(np.arange(len(x)), np.flatnonzero(np.diff(self._t_s) > _GAP_S) + 1):
                painter.drawPolyline(QPolygonF([QPointF(float(x[i]), float(y[i])) for i in part]))
            painter.setBrush(self._theme.series_colour(self._colour))
            painter.drawEllipse(QPointF(float(x[-1]), float(y[-1])), 2.0, 2.0)


Series = tuple[NDArray[np.float64], NDArray[np.float64]]

_NUMBER_SCALE: Final = 2.3
_LEAST_SCALE: Final = 1.0
_BETWEEN: Final = " · "
_USUAL: Final = "88,888"
"""Widest usual number: it determines the type size, which then stays constant."""


@dataclass(frozen=True, slots=True)
class NumberSpec:
    """One large number.

    Attributes:
        id: of the tile.
        title: as shown.
        short: the title in a word, with the unit, for large type.
        unit: of the number.
        value: the number as text.
        beneath: a second line.
        series: of the spark line.
        mean: the mean of that series as text; None if a mean is meaningless, as for percentiles.
    """

    id: str
    title: str
    short: str
    unit: str
    value: Callable[[LiveNumbers], str]
    beneath: Callable[[LiveNumbers, RunData], str]
    series: Callable[[RunData], Series]
    mean: Callable[[float | None], str] | None = None


def _sum_of(*keys: tuple[str, str]) -> Callable[[RunData], Series]:
    def add(data: RunData) -> Series:
        found = [data.series(*key) for key in keys]
        t_s = max((t for t, _ in found), key=len)
        total = np.zeros(len(t_s))
        for t, values in found:
            if len(t):
                total += np.interp(t_s, t, values)
        return t_s, total

    return add


def _checkpoint_words(data: RunData) -> str:
    now_s = (data.last_ms - data.origin_ms) / 1000
    begun = [start_s for start_s, _, _ in data.checkpoints() if start_s <= now_s]
    if not begun:
        return tr("no checkpoint yet")
    return tr("checkpoint {time} ago").format(time=format_duration(now_s - begun[-1]))


def _flush_words(numbers: LiveNumbers, data: RunData) -> str:
    if numbers.iops is None and data.metadata.target.kind == MemoryTarget.kind:
        return tr("memory: no disk underneath")
    if numbers.flushes is None:
        return ""
    return tr("flushes {rate} /s").format(rate=format_rate(numbers.flushes))


def _latency_words(numbers: LiveNumbers, _data: RunData) -> str:
    if numbers.latency_ms is None:
        return ""
    return tr("latency {mean} ms").format(mean=format_number(numbers.latency_ms))


def _cpu_words(numbers: LiveNumbers, _data: RunData) -> str:
    if numbers.cpu_pgbench is None and numbers.cpu_iowait is None:
        return ""
    return tr("pgbench {pgbench} · I/O wait {iowait}").format(
        pgbench=format_cores(numbers.cpu_pgbench), iowait=format_cores(numbers.cpu_iowait)
    )


NUMBERS: Final = (
    NumberSpec(
        "tps",
        titled(tr("transactions")),
        "TPS",
        "TPS",
        lambda numbers: format_rate(numbers.tps),
        _latency_words,
        lambda data: data.series("pgbench.tps"),
        format_rate,
    ),
    NumberSpec(
        "p99",
        titled(tr("latency, {percent}th percentile").format(percent=99)),
        "p99 ms",
        "ms",
        lambda numbers: format_number(numbers.p99_ms),
        lambda numbers, _: "" if numbers.p99_ms is None else tr("newest second"),
        lambda data: data.percentile(99.0),
    ),
    NumberSpec(
        "iops",
        tr("Device operations"),
        "IOPS",
        "IOPS",
        lambda numbers: format_rate(numbers.iops),
        _flush_words,
        _sum_of(("storage.reads", ""), ("storage.writes", "")),
        format_rate,
    ),
    NumberSpec(
        "cpu",
        tr("PostgreSQL CPU"),
        "CPU",
        tr("cores"),
        lambda numbers: format_cores(numbers.cpu_server),
        _cpu_words,
        _sum_of(("process.cpu_user", "postgres"), ("process.cpu_system", "postgres")),
        format_cores,
    ),
    NumberSpec(
        "wal",
        "WAL",
        "WAL MB/s",
        "MB/s",
        lambda numbers: format_megabytes(numbers.wal_bytes),
        lambda _, data: _checkpoint_words(data),
        lambda data: data.series("wal.bytes"),
        format_megabytes,
    ),
)


def numbers_of_summary(data: RunData) -> LiveNumbers:
    """Return the figures of an ended run, as means of its measured phase."""
    summary = data.summary
    tps = summary.get("tps")

    def rate(*names: str) -> float | None:
        parts = [summary.get(name) for name in names]
        known = [part for part in parts if part is not None]
        return None if tps is None or not known else tps * sum(known)

    server, pgbench = rate("server_cpu_us"), rate("pgbench_cpu_us")
    return LiveNumbers(
        tps=tps,
        p99_ms=summary.get("latency_p99_ms"),
        latency_ms=summary.get("latency_mean_ms"),
        iops=rate("device_reads", "device_writes"),
        flushes=rate("device_flushes"),
        cpu_server=None if server is None else server / 1e6,
        cpu_pgbench=None if pgbench is None else pgbench / 1e6,
        wal_bytes=rate("wal_bytes"),
    )


def shown_numbers(run: RunSnapshot) -> LiveNumbers:
    """Return the latest numbers; for an ended run its means, never its last second."""
    if not run.finished:
        return run.numbers
    return numbers_of_summary(run.data)


def mean_so_far(spec: NumberSpec, data: RunData) -> str:
    """Return the mean of a number over the measured seconds so far; empty before the second second."""
    if spec.mean is None:
        return ""
    t_s, values = spec.series(data)
    measured = values[(t_s > 0) & np.isfinite(values)]
    if len(measured) < 2:
        return ""
    return tr("mean {value}").format(value=spec.mean(float(measured.mean())))


def _mean_words(number: str, numbers: LiveNumbers, data: RunData) -> str:
    """Return the meaning of the number of an ended run."""
    if number == "iops" and (numbers.iops is None or numbers.flushes is None):
        return _flush_words(numbers, data)
    if number == "iops":
        return tr("run mean") + ", " + tr("flushes {rate} /s").format(rate=format_rate(numbers.flushes))
    if number == "p99":
        return tr("of all transactions of the run")
    return tr("run mean")


class NumberTile(QFrame):
    """One large number with its unit, a line beneath, and its last minute.

    Attributes:
        spec: of the number.
        value: the number.
        beneath: the line beneath.
        spark: the last minute.
    """

    def __init__(self, spec: NumberSpec, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setLayoutDirection(Qt.LayoutDirection.LeftToRight)  # the unit follows its number
        self.spec = spec
        self._theme = theme
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self.setAutoFillBackground(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.title, self.beneath = ShortenedLabel(self), ShortenedLabel(self)
        self.value, self.unit = plain_label(NOTHING, self), plain_label(spec.unit, self)
        self._scale = _NUMBER_SCALE
        for label in (self.value, self.unit):
            label.setMinimumWidth(1)  # shrink the type, not the window
        self.title.show_words(spec.title, spec.short)
        self.spark = SparkLine(theme, self)
        number = QHBoxLayout()
        number.setSpacing(SMALL)
        number.addWidget(self.value, 0, Qt.AlignmentFlag.AlignBaseline)
        number.addWidget(self.unit, 0, Qt.AlignmentFlag.AlignBaseline)
        number.addStretch(1)
        layout = QGridLayout(self)
        layout.setContentsMargins(MEDIUM, SMALL, MEDIUM, SMALL)
        layout.setVerticalSpacing(0)
        layout.addWidget(self.title, 0, 0)
        layout.addLayout(number, 1, 0)
        layout.addWidget(self.beneath, 2, 0)
        layout.addWidget(self.spark, 3, 0)
        theme.changed.connect(self._apply_theme)
        self._apply_theme()

    def _apply_theme(self) -> None:
        theme = self._theme
        self.value.setFont(theme.number_font(self._scale, bold=True))
        self.unit.setFont(theme.font(1.1))
        palette = QPalette(self.palette())
        palette.setColor(QPalette.ColorRole.Window, theme.background)
        palette.setColor(QPalette.ColorRole.WindowText, theme.text)
        self.setPalette(palette)
        palette.setColor(QPalette.ColorRole.WindowText, theme.muted)
        for label in (self.title, self.beneath, self.unit):
            label.setPalette(palette)

    def fitting_scale(self) -> float:
        """Return the type scale that fits the number and its unit."""
        metrics = QFontMetricsF(self._theme.number_font(_NUMBER_SCALE, bold=True))
        longest = max(_USUAL, self.value.text(), key=len)
        unit = QFontMetricsF(self.unit.font()).horizontalAdvance(self.spec.unit)
        room = self.width() - 2 * MEDIUM - SMALL - unit - 4
        return max(
            _LEAST_SCALE, min(_NUMBER_SCALE, _NUMBER_SCALE * room / metrics.horizontalAdvance(longest))
        )

    def set_scale(self, scale: float) -> None:
        """Set the type scale of the number."""
        if scale != self._scale:
            self._scale = scale
            self.value.setFont(self._theme.number_font(scale, bold=True))

    def show_value(self, value: str, beneath: str) -> None:
        """Show a number and a line beneath it."""
        if self.value.text() != value:
            self.value.setText(value)
        parts = beneath.split(_BETWEEN)
        self.beneath.show_words(*(_BETWEEN.join(parts[:count]) for count in range(len(parts), -1, -1)))
        words = tr("no value") if value == NOTHING else f"{value} {self.spec.unit}"
        self.setAccessibleName(f"{self.spec.title}: {words}")
        self.setAccessibleDescription(beneath)


class BigNumbers(QWidget):
    """All large numbers in a row.

    Attributes:
        tiles: by id.
    """

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.tiles = {spec.id: NumberTile(spec, theme, self) for spec in NUMBERS}
        layout = fill(QHBoxLayout(self), spacing=SMALL, margins=0)
        for tile in self.tiles.values():
            layout.addWidget(tile, 1)

    def set_colour(self, index: int) -> None:
        """Use the colour of the run in the charts."""
        for tile in self.tiles.values():
            tile.spark.set_colour(index)

    def clear(self) -> None:
        """Show that there is no data yet."""
        for tile in self.tiles.values():
            tile.show_value(NOTHING, "")
            tile.spark.show_series(np.empty(0), np.empty(0), 0.0)

    def show_run(self, run: RunSnapshot) -> None:
        """Show the latest numbers; for an ended run, its means."""
        data = run.data
        summarised = run.finished and data.summary.get("tps") is not None
        numbers = shown_numbers(run)
        end_s = (data.last_ms - data.origin_ms) / 1000
        now_s = min(end_s, data.end_s) if run.finished else end_s
        for tile in self.tiles.values():
            value, beneath = tile.spec.value(numbers), tile.spec.beneath(numbers, data)
            if run.finished:
                beneath = _mean_words(tile.spec.id, numbers, data) if summarised else ""
            else:
                beneath = _BETWEEN.join(filter(None, (mean_so_far(tile.spec, data), beneath)))
            tile.show_value(value, beneath)
            tile.spark.show_series(*tile.spec.series(data), now_s)
        self._fit()

    def _fit(self) -> None:
        """Use one type size for all, the largest that fits everywhere."""
        scale = min(tile.fitting_scale() for tile in self.tiles.values())
        for tile in self.tiles.values():
            tile.set_scale(scale)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()
