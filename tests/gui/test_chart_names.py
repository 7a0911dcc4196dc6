"""Names and colours of lines, one rule for all charts: repeats as one line with a band, names at ends."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QImage, QPainter
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from app.runfile.series import RunData, load_run_data, mean_width
from tests.fix_runs import Shape, write_run
from ui.charts.data.curves import CurveData, Pyramid, mean_of_repeats, with_width
from ui.charts.data.lines import BandKind, Line
from ui.charts.data.registry import CHARTS, RunTrace, named_traces
from ui.charts.data.scale import Frame
from ui.charts.painting.painting import paint_lines
from ui.charts.stack.legend_table import LegendTable
from ui.charts.stack.stack import ChartStack
from ui.theme import Scheme, Theme


@pytest.fixture
def stack(qtbot: QtBot) -> ChartStack:
    stack = ChartStack(Theme(Scheme.LIGHT))
    qtbot.addWidget(stack)
    stack.resize(900, 600)
    stack.set_charts(("tps", "latency", "iops"))
    stack.show()
    return stack


def repeats(tmp_path: Path, configurations: int = 2, count: int = 3, seconds: int = 60) -> list[RunTrace]:
    """Runs of several configurations, interleaved."""
    traces = []
    for repeat in range(count):
        for number in range(configurations):
            path = tmp_path / f"{repeat}-{number}.footing"
            shape = Shape(seconds=seconds, tps=1000.0 * (number + 1), seed=10 * number + repeat)
            name = f"configuration {number} #{repeat + 1}"
            data = load_run_data(write_run(path, shape, name))
            traces.append(
                RunTrace(
                    str(path), data, number, name, group=str(number), group_label=f"configuration {number}"
                )
            )
    return traces


def pyramid(values: list[float], begin: float = 1.0) -> Pyramid:
    t_s = np.arange(len(values)) + begin
    return Pyramid(t_s.astype(np.float64), np.asarray(values, dtype=np.float64))


def test_repeats_are_one_line_with_band() -> None:
    members = [
        CurveData(pyramid([1, 2, 3]), pyramid([1, 2, 3])),
        CurveData(pyramid([3, 4, 9]), pyramid([3, 4, 9])),
    ]
    found = mean_of_repeats(members)
    inside = (found.main.t_s >= 1) & (found.main.t_s <= 3)
    assert found.main.values[inside].tolist() == [2, 3, 6]
    assert found.band is not None
    low, high = found.band
    assert low.values[inside].tolist() == [1, 2, 3]
    assert high.values[inside].tolist() == [3, 4, 9]
    assert found.repeats == 2


def test_short_repeat_does_not_bend_mean() -> None:
    long, short, none = pyramid([5.0] * 100), pyramid([1.0] * 10), pyramid([])
    of_three = mean_of_repeats([CurveData(each, each) for each in (long, long, short)])
    assert of_three.main.values[-1] == 5
    assert of_three.main.t_s[-1] >= 99
    assert mean_of_repeats([CurveData(each, each) for each in (long, none)]).repeats == 1
    assert not len(mean_of_repeats([CurveData(none, none)] * 2).main.t_s)


def test_day_long_line_gaps_and_memory() -> None:
    minutes = Pyramid((np.arange(1, 1441) * 60).astype(np.float64), np.ones(1440))
    found = mean_of_repeats([CurveData(minutes, minutes)] * 2)
    assert float(np.diff(found.main.t_s).max()) == 60
    ages = Pyramid(np.array([0.0, 1e9]), np.ones(2))
    assert len(mean_of_repeats([CurveData(ages, ages)] * 2).main.t_s) < 1000


@pytest.mark.parametrize(("span_s", "width_s"), [(12, 2), (300, 5), (900, 15), (3600, 60), (86400, 300)])
def test_mean_width_follows_shown_time(span_s: float, width_s: float) -> None:
    assert mean_width(span_s) == width_s


def test_another_width_changes_means_and_keeps_seconds() -> None:
    seconds = pyramid([0, 10] * 50)
    data = CurveData(seconds, pyramid([5.0] * 100), width_s=15)
    wider = with_width(data, 60)
    assert wider.seconds is seconds
    assert wider.width_s == 60
    assert with_width(wider, 60) is wider
    assert with_width(replace(data, mean=None), 60).width_s == 15


def test_zoom_changes_mean_width_and_label(qtbot: QtBot, stack: ChartStack, tmp_path: Path) -> None:
    stack.set_runs(repeats(tmp_path, seconds=900)[:2])
    assert "30 s mean" in stack.charts[0].heading.notes[0]  # warm-up and all
    stack.show_times(100, 200)
    qtbot.waitUntil(lambda: stack.charts[0].heading.notes[-1] == "2 s mean")
    assert {line.data.width_s for line in stack.charts[0].lines} == {2.0}
    stack.show_everything()
    qtbot.waitUntil(lambda: stack.charts[0].heading.notes[-1] == "30 s mean")


def test_single_runs_shown_on_demand(stack: ChartStack, tmp_path: Path) -> None:
    traces = repeats(tmp_path)
    stack.set_runs(traces)
    lines = stack.charts[0].lines
    assert [line.label for line in lines] == ["configuration 0", "configuration 1"]
    assert all(line.data.band is not None and line.seconds_colour is None for line in lines)
    assert any("repeats" in note for note in stack.charts[0].heading.notes)
    stack.set_focus(traces[2].run_id)
    assert [line.label for line in stack.charts[0].lines if line.rank == 2] == ["configuration 0 #2"]
    stack.set_focus(None)
    stack.set_around(BandKind.NOTHING)
    assert len(stack.charts[0].lines) == 6
    assert {line.colour.name() for line in stack.charts[0].lines} == {line.colour.name() for line in lines}


def test_hidden_repeat_not_in_mean(stack: ChartStack, tmp_path: Path) -> None:
    traces = repeats(tmp_path, configurations=1)
    stack.set_runs(traces)
    assert stack.charts[0].lines[0].data.repeats == 3
    stack.set_run_visible(traces[0].run_id, visible=False)
    assert stack.charts[0].lines[0].data.repeats == 2


def test_line_end_names_do_not_overlap(stack: ChartStack, tmp_path: Path) -> None:
    stack.set_runs(repeats(tmp_path, configurations=12, count=1))
    chart = stack.charts[0]
    assert set(chart.labels.shown) == {f"configuration {number} #1" for number in range(12)}
    heights = [y for y, _ in chart.labels._drawn]
    assert all(below - above >= 8 for above, below in pairwise(heights))
    assert chart.labels.maximumWidth() > 50


def test_single_run_curves_named(stack: ChartStack, tmp_path: Path) -> None:
    stack.set_runs(repeats(tmp_path, configurations=1, count=1))
    tps, latency = stack.charts[0], stack.charts[1]
    assert tps.labels.shown == ()
    assert set(latency.labels.shown) == {"p50", "p95", "p99"}


def test_warning_never_cut_from_name(stack: ChartStack, tmp_path: Path) -> None:
    one, other = repeats(tmp_path, configurations=2, count=1)
    long = "ext4 " + "with many words " * 20 + "at the end (NOT DURABLE)"
    stack.set_runs([replace(one, label=long, group_label=long, warning="NOT DURABLE"), other])
    shown = next(name for name in stack.charts[0].labels.shown if name.startswith("ext4"))
    assert shown.endswith(" (NOT DURABLE)")
    assert "\N{HORIZONTAL ELLIPSIS}" in shown
    stack.show_crosshair(30.0)
    reading = stack.charts[0].crosshair.reading
    assert reading is not None
    assert stack.charts[0].labels.maximumWidth() <= 0.27 * stack.width()


def test_crosshair_reads_mean_and_second(stack: ChartStack, tmp_path: Path) -> None:
    stack.set_runs(repeats(tmp_path, configurations=2, count=1))
    stack.show_crosshair(30.0)
    reading = stack.charts[0].crosshair.reading
    assert reading is not None
    assert reading.columns == ("mean", "second")
    line = stack.charts[0].lines[0]
    mean, second = reading.rows[0][2]
    assert mean != second
    assert line.read(30.0) == pytest.approx(float(np.interp(30.0, line.main.t_s, line.main.values)), rel=0.02)


def test_crosshair_reads_ends_of_band(stack: ChartStack, tmp_path: Path) -> None:
    stack.set_runs(repeats(tmp_path))
    stack.show_crosshair(30.0)
    reading = stack.charts[0].crosshair.reading
    assert reading is not None
    assert reading.columns == ("mean", "repeats")
    assert all(" to " in values[1] for _, _, values in reading.rows)


def named(tmp_path: Path, *runs: tuple[str, str]) -> list[RunData]:
    found = []
    for number, (name, configuration) in enumerate(runs):
        data = load_run_data(write_run(tmp_path / f"n{number}.footing", Shape(seconds=5), name))
        found.append(replace(data, metadata=replace(data.metadata, configuration=configuration)))
    return found


def test_runs_named_by_differences_and_grouped(tmp_path: Path) -> None:
    data = named(
        tmp_path,
        ("ext4 stripe scale 1000 #1", "ext4 stripe scale 1000"),
        ("xfs stripe scale 1000 #1", "xfs stripe scale 1000"),
        ("ext4 stripe scale 1000 #2", "ext4 stripe scale 1000"),
    )
    data[1] = replace(data[1], marks=("not-durable",))
    traces = named_traces([(str(number), each, number % 2) for number, each in enumerate(data)])
    assert [trace.label for trace in traces] == ["ext4 #1", "xfs (NOT DURABLE)", "ext4 #2"]
    assert [trace.group_label for trace in traces] == ["ext4", "xfs (NOT DURABLE)", "ext4"]
    assert traces[0].group == traces[2].group != traces[1].group


# --- The table below the charts.


@pytest.fixture
def legend(qtbot: QtBot, stack: ChartStack) -> LegendTable:
    legend = LegendTable(stack)
    qtbot.addWidget(legend)
    legend.resize(700, 300)
    legend.show()
    return legend


def texts(legend: LegendTable, column: int) -> list[str]:
    return [legend.cell(place, column).text() for place in range(legend.table.rowCount())]


def test_legend_figures_follow_shown_time(
    qtbot: QtBot, stack: ChartStack, legend: LegendTable, tmp_path: Path
) -> None:
    stack.set_runs(repeats(tmp_path))
    assert [label.text() for label in legend.findChildren(QLabel) if label.buddy() is legend.chart] == [
        "Figures"
    ]
    assert texts(legend, 1) == ["configuration 0", "configuration 1"]
    assert texts(legend, 2) == ["3", "3"]
    first, second = legend.rows
    assert first.mean == pytest.approx(1000, rel=0.05)
    assert second.mean == pytest.approx(2000, rel=0.05)
    assert first.high is not None
    assert first.mean is not None
    assert first.most is not None
    assert first.most > first.high > first.mean
    before = first.last
    stack.show_times(10, 30)
    qtbot.waitUntil(lambda: legend.rows[0].last != before)
    legend.chart.setCurrentIndex(1)
    legend.chart.activated.emit(1)
    assert legend.rows[0].mean == pytest.approx(4, abs=2)  # the latency, in ms


def test_whole_run_has_its_one_mean(
    qtbot: QtBot, stack: ChartStack, legend: LegendTable, tmp_path: Path
) -> None:
    data = replace(named(tmp_path, ("ext4 #1", "ext4"))[0], summary={"tps": 1234.0})
    stack.set_runs([RunTrace("a", data, 0, "ext4")])
    assert legend.rows[0].mean == 1234
    stack.show_times(-1, 3)
    qtbot.waitUntil(lambda: legend.rows[0].mean != 1234)
    legend.chart.setCurrentIndex(1)
    stack.show_everything()
    qtbot.waitUntil(lambda: legend.rows[0].mean != 1234)


def test_click_isolates_configuration_second_restores(
    stack: ChartStack, legend: LegendTable, tmp_path: Path
) -> None:
    traces = repeats(tmp_path)
    stack.set_runs(traces)
    legend.table.cellClicked.emit(1, 1)
    assert [trace.visible for trace in stack.runs] == [trace.colour_index == 1 for trace in traces]
    assert {line.label for line in stack.charts[0].lines} == {"configuration 1"}
    assert legend.everything.isEnabled()
    legend.table.cellClicked.emit(1, 1)
    assert all(trace.visible for trace in stack.runs)
    assert not legend.everything.isEnabled()


def test_tick_hides_repeats_show_all_restores(stack: ChartStack, legend: LegendTable, tmp_path: Path) -> None:
    stack.set_runs(repeats(tmp_path))
    legend.cell(0, 0).setCheckState(Qt.CheckState.Unchecked)
    assert {line.label for line in stack.charts[0].lines} == {"configuration 1"}
    assert legend.rows[0].visible == 0
    legend.everything.click()
    assert len(stack.charts[0].lines) == 2


def test_sorted_rows_keep_their_ticks(stack: ChartStack, legend: LegendTable, tmp_path: Path) -> None:
    stack.set_runs(repeats(tmp_path, configurations=11, count=1))
    legend.table.sortByColumn(3, Qt.SortOrder.DescendingOrder)
    assert texts(legend, 1) == [f"configuration {number} #1" for number in range(10, -1, -1)]
    legend.cell(0, 0).setCheckState(Qt.CheckState.Unchecked)
    assert [trace.visible for trace in stack.runs] == [True] * 10 + [False]
    legend.table.setCurrentCell(1, 1)
    QTest.keyClick(legend.table, Qt.Key.Key_Return)
    assert [trace.colour_index for trace in stack.runs if trace.visible] == [9]
    QTest.keyClick(legend.table, Qt.Key.Key_Space)
    assert not any(trace.visible for trace in stack.runs)


def test_table_without_runs_or_samples(stack: ChartStack, legend: LegendTable, tmp_path: Path) -> None:
    assert legend.table.rowCount() == 0
    trace = repeats(tmp_path, configurations=1, count=1)[0]
    stack.set_charts(["array-missing"])
    stack.set_runs([trace])
    assert texts(legend, 3) == ["\N{EN DASH}"]
    stack.set_runs([])
    assert legend.table.rowCount() == 0


def test_table_name_keeps_warning(stack: ChartStack, legend: LegendTable, tmp_path: Path) -> None:
    one, other = repeats(tmp_path, configurations=2, count=1)
    long = "ext4 " + "with many words " * 20 + "(UNSAFE)"
    stack.set_runs([replace(one, label=long, warning="UNSAFE"), other])
    assert texts(legend, 1)[0].endswith(" (UNSAFE)")
    assert len(texts(legend, 1)[0]) < len(long)


def painted_row(style: Qt.PenStyle, unit: int, weight: int = 1) -> str:
    """Return the middle row of a level line, a letter a pixel: x where it was painted."""
    levels = pyramid([5.0] * 100, begin=0.0)
    ink = QColor("#000000")
    line = Line("a", "a", CHARTS["tps"].curves[0], CurveData(levels, levels), ink, None, style, weight, 0)
    image = QImage(200 * unit, 40 * unit, QImage.Format.Format_RGB32)
    image.fill(QColor("#ffffff"))
    painter = QPainter(image)
    paint_lines(painter, Frame(0, 99, 0, 10, image.width(), image.height(), is_log=False), [line], unit)
    painter.end()
    return "".join(
        "x" if image.pixelColor(x, image.height() // 2).lightness() < 160 else " "
        for x in range(20 * unit, 180 * unit)
    )


@pytest.mark.parametrize("style", [Qt.PenStyle.DashLine, Qt.PenStyle.DotLine, Qt.PenStyle.DashDotLine])
def test_dashes_on_fine_screen_and_thick_lines(style: Qt.PenStyle) -> None:
    coarse, fine, thick = painted_row(style, 1), painted_row(style, 2), painted_row(style, 1, 2)
    for row, scale in ((fine, 2), (thick, 2)):
        assert max(map(len, row.split())) == pytest.approx(scale * max(map(len, coarse.split())), abs=2)
        assert len(row.split()) == pytest.approx(len(coarse.split()) / (1 if row is fine else 2), abs=1)
        assert max(map(len, row.split("x"))) >= 2
