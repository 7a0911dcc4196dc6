"""Axes that are no time, envelopes, and curves of points; see test_chart_stack.py for charts over time."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QPointF, QRectF, QSizeF
from PySide6.QtGui import QColor, QImage, QPainter
from pytestqt.qtbot import QtBot

from app.analysis.latency_distribution import Distribution
from app.postgres.pgbench.histogram import Histogram
from app.report.blocks import Bar
from ui.charts.data.curves import Pyramid, envelope
from ui.charts.data.registry import CHARTS, RunTrace, charts_along
from ui.charts.data.scale import LATENCY, NINES, Frame, XQuantity, percent_of, swept_axis
from ui.charts.figures.bars import BarFigure, BarGroup, Panel, PanelFigure
from ui.charts.painting.painting import _band_ends
from ui.charts.painting.sheet_painting import PLAIN, Look, put_text, text_width, wrap_text
from ui.charts.stack.saving import csv_text
from ui.charts.stack.stack import ChartStack
from ui.compare.distribution import DistributionCurves
from ui.theme import Scheme, Theme


@pytest.fixture
def theme(qtbot: QtBot) -> Theme:
    return Theme(Scheme.LIGHT)


@pytest.mark.parametrize(
    ("nines", "text"),
    [(0, "0 %"), (math.log10(2), "50 %"), (1, "90 %"), (math.log10(20), "95 %"), (2, "99 %"), (3, "99.9 %"),
     (3.30103, "99.95 %"), (5, "99.999 %"), (0.05, "10.9 %")],
)  # fmt: skip
def test_nines_are_written_as_percentiles(nines: float, text: str) -> None:
    assert percent_of(nines) == text


def test_percentile_ticks_thin_out() -> None:
    assert [percent_of(tick) for tick in NINES.ticks(0, 4, 10)] == [
        *("0 %", "50 %", "90 %", "95 %", "99 %", "99.9 %", "99.99 %")
    ]
    assert [percent_of(tick) for tick in NINES.ticks(0, 4, 3)] == ["0 %", "99 %", "99.99 %"]
    assert [percent_of(tick) for tick in NINES.ticks(0, 6, 8)] == [
        *("0 %", "90 %", "99 %", "99.9 %", "99.99 %", "99.999 %", "99.9999 %")
    ], "95 % would touch 90 %"


def test_swept_axis_ticks_at_measured_values() -> None:
    clients = swept_axis("clients", [1, 4, 256], is_log=True)
    assert [clients.label(tick, 3) for tick in clients.ticks(0, 3, 10)] == ["1", "4", "256"]
    assert clients.number(math.log10(4)) == pytest.approx(4)
    rate = swept_axis("rate", [0, 500, 1000], is_log=False)
    assert rate.ticks(0, 1000, 10) == [0, 500, 1000]
    assert rate.moment(500.0, 1000) == "500 rate"
    assert swept_axis("rate", [5.0], is_log=False).empty == (0.0, 1.0)


def test_other_axes_not_offered_over_time() -> None:
    assert all(chart.along is XQuantity.TIME for chart in CHARTS.values())
    assert set(charts_along(XQuantity.NINES)) == {"nines"}
    assert not set(charts_along(XQuantity.SWEPT)) & set(CHARTS)


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.floats(0, 1e6), min_size=1, max_size=60),
    st.sets(st.integers(0, 59), max_size=20),
    st.sampled_from([1.0, 5.0, 15.0]),
)
def test_envelope_is_local_minimum_and_maximum(values: list[float], missed: set[int], width: float) -> None:
    kept = [place for place in range(len(values)) if place not in missed] or [0]
    t_s, known = np.array(kept, dtype=np.float64), np.array([values[place] for place in kept])
    low, high = envelope(t_s, known, width)
    for place, t in enumerate(t_s):
        around = known[np.abs(t_s - t) <= width / 2]
        assert (low[place], high[place]) == (around.min(), around.max())


def test_percentiles_interpolated_and_saved(qtbot: QtBot, theme: Theme) -> None:
    stack = ChartStack(theme, kind=NINES)
    qtbot.addWidget(stack)
    stack.resize(600, 400)
    stack.show()
    stack.set_charts(["nines", "tps"])
    assert stack.chart_ids == ("nines",)
    latencies = Histogram.of(np.arange(1, 100_001))
    data = DistributionCurves(Distribution(latencies, 1, 0), over_latency=False)
    stack.set_runs([RunTrace("a", data, 0, "ext4")])
    line = stack.charts[0].lines[0]
    assert line.read(1.0) == pytest.approx(90, rel=0.01)  # 90 000 us
    assert line.read(2.0) == pytest.approx(99, rel=0.01)
    assert line.read(50.0) is None
    table = csv_text([line], stack.times, "ms", stack.kind).splitlines()
    assert table[0] == "percent,ext4: latency (ms)"
    assert 99.8 < float(table[-1].split(",")[0]) < 100  # the last bucket is that wide
    stack.show_crosshair(1.0)
    reading = stack.charts[0].crosshair.reading
    assert reading is not None
    assert reading.title == "90 % of the transactions"


def test_zero_latencies_absent_from_log_axis(theme: Theme) -> None:
    data = DistributionCurves(Distribution(Histogram.of(np.array([0, 0, 10, 1000])), 1, 0), over_latency=True)
    places, shares = data.series("")
    assert places == pytest.approx([math.log10(0.01), 0], abs=0.01)
    assert shares == pytest.approx([0.75, 1.0])
    assert LATENCY.label(0.0, 2) == "1"
    nothing = DistributionCurves(Distribution(Histogram.empty(), 1, 0), over_latency=True)
    assert (nothing.begin_s, nothing.end_s) == (0.0, 1.0)


# --- figures --------------------------------------------------------------------------------------


def painted(figure: BarFigure | PanelFigure, theme: Theme, width: int = 800) -> QImage:
    height = max(200, math.ceil(figure.least_height(theme, width)))
    image = QImage(width, height, QImage.Format.Format_RGB32)
    image.fill(theme.background)
    painter = QPainter(image)
    figure.paint(painter, QSizeF(width, height), theme)
    figure.paint_pointer(painter, QSizeF(width, height), theme, QPointF(width / 2, height / 2))
    painter.end()
    return image


def count(image: QImage, colour: QColor) -> int:
    pixels = np.frombuffer(image.constBits(), np.uint32).reshape(image.height(), -1)[:, : image.width()]
    return int(((pixels & 0xFFFFFF) == (colour.rgb() & 0xFFFFFF)).sum())


def test_bar_length_and_endless_interval(theme: Theme) -> None:
    def bar(value: float, high: float) -> BarFigure:
        other = Bar("other", 100.0, colour_index=1)
        return BarFigure("TPS", (BarGroup("", (Bar("a", value, (1.0, high), colour_index=0), other)),))

    ground = theme.pale(theme.series_colour(0), 0.45)
    long, short = (count(painted(bar(value, value), theme), ground) for value in (90.0, 45.0))
    assert 1.6 < long / short < 2.4
    endless = count(painted(bar(90.0, 1e304), theme), ground)
    assert endless > long / 2


def test_band_with_two_points_at_one_place() -> None:
    ends = (Pyramid(np.array([0.0, 0.0, 1.0]), np.array([1.0, 3.0, 2.0])),) * 2
    (places, low), (_, high) = _band_ends(ends, Frame(0.0, 1.0, 0.0, 5.0, 100, 100, is_log=False))
    assert len(places) == len(low) == len(high) == 3, "two campaigns measured the first level"


def test_bar_labels_whole_where_room(theme: Theme, monkeypatch: pytest.MonkeyPatch) -> None:
    cut: list[str] = []

    def put(
        painter: QPainter, theme: Theme, area: QRectF, text: str, look: Look = PLAIN, lines: int = 1
    ) -> None:
        if text_width(theme, text, look.scale, bold=look.bold) > area.width():
            cut.append(text)
        put_text(painter, theme, area, text, look, lines)

    monkeypatch.setattr("ui.charts.figures.bars.put_text", put)
    notes = ("", "UNSAFE, disturbed, indicative only")
    bars = tuple(Bar(f"ext4 {number}", 7000.0, note=note) for number, note in enumerate(notes))
    painted(BarFigure("TPS", (BarGroup("", bars),)), theme)
    assert not cut
    painted(BarFigure("TPS", (BarGroup("", bars),)), theme, 200)
    assert cut, "a bar needs its room as well"


def test_bars_show_warnings(theme: Theme) -> None:
    def bars(warning: str) -> BarFigure:
        return BarFigure("TPS", (BarGroup("", (Bar("a", 5.0, tag="A", warning=warning),)),))

    assert count(painted(bars("NOT DURABLE"), theme), theme.warning) > 40
    assert count(painted(bars(""), theme), theme.warning) == 0
    pale = theme.pale(theme.series_colour(0), 0.45)
    assert count(painted(bars(""), theme), pale) > 1000
    assert count(painted(bars("NOT DURABLE"), theme), pale) == 0, "never like its safe twin"
    ninth = BarFigure("TPS", (BarGroup("", (Bar("a", 5.0, colour_index=8),)),))
    assert painted(ninth, theme) != painted(bars(""), theme)
    assert bars("NOT DURABLE").accessible_text() == "TPS. A a: 5.00 NOT DURABLE."


def test_warned_cells_differ_without_colour(theme: Theme) -> None:
    cells = [{("r", "c"): Bar("a", 5.0, warning=warning)} for warning in ("", "UNSAFE", "NOT DURABLE")]
    figures = [PanelFigure("TPS", "RAID", (Panel("", ("r",), ("c",), cell),)) for cell in cells]
    grey = [painted(each, theme).convertToFormat(QImage.Format.Format_Grayscale8) for each in figures]
    assert all(one != other for one, other in combinations(grey, 2))


@pytest.mark.parametrize(("lines", "shown"), [(1, ["a … e"]), (None, ["a b c", "d e"])])
def test_texts_wrap(lines: int | None, shown: list[str]) -> None:
    def elide(text: str) -> str:
        return f"{text[0]} … {text[-1]}"

    assert wrap_text("a b c d e", len, elide, 5, lines) == shown


@pytest.mark.parametrize(
    "figure",
    [
        BarFigure("empty", ()),
        BarFigure("none", (BarGroup("ext4", (Bar("failed", None, note="no result"),)),)),
        BarFigure("zeros", (BarGroup("", (Bar("a", 0.0), Bar("b", 0.0, (0.0, 0.0)))),)),
        PanelFigure("no panel", "x", ()),
        PanelFigure("no cell", "x", (Panel("", (), (), {}),)),
        PanelFigure("holes", "x", (Panel("c", ("a", "b"), ("1", "2"), {("a", "2"): Bar("", 0.0)}),)),
        PanelFigure("failed", "x", (Panel("c", ("a",), ("1",), {("a", "1"): Bar("", None, note="none")}),)),
    ],
    ids=lambda figure: type(figure).__name__ + figure.title,
)
@pytest.mark.parametrize("width", [60, 800])
def test_small_or_empty_figures_painted_and_described(
    theme: Theme, figure: BarFigure | PanelFigure, width: int
) -> None:
    painted(figure, theme, width)
    size = QSizeF(width, 200)
    for x in range(0, width, 40):
        for y in range(0, 200, 20):
            assert "nan" not in figure.text_at(size, theme, QPointF(x, y))
    assert figure.csv().endswith("\r\n")
