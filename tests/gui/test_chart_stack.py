from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QFontMetricsF, QGuiApplication, QImage, QPainter
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu, QMessageBox, QTreeWidgetItem
from pytestqt.qtbot import QtBot
from typing_extensions import override

from app.domain.run import RunState
from app.live.campaign_follower import GrowingRun
from app.runfile.finalize import finish_run_file
from app.runfile.metadata.run_metadata import WorkloadMetadata
from app.runfile.series import FileSource, RunData, load_run_data
from tests.fix_runs import Shape, add_seconds, begin_run, change_run, write_run
from tests.fix_window import Trial, begin_trial, write_trial
from ui.charts.data.registry import CHARTS, DEFAULT_CHARTS, RunTrace
from ui.charts.stack.chart_window import ChartChooser, SeriesList
from ui.charts.stack.saving import Picture, csv_text, picture_image, save_picture
from ui.charts.stack.stack import ChartMenu, ChartStack, prefetch
from ui.live.header import array_words
from ui.theme import Scheme, Theme

SHAPE = Shape(seconds=120, checkpoint_every_s=50, stall=(70, 6))


@pytest.fixture
def theme(qtbot: QtBot) -> Theme:
    return Theme(Scheme.LIGHT)


CHARTS_HERE = ("tps", "latency", "iops")
"""One of each kind: a line with a mean, percentiles, several curves."""


@pytest.fixture
def stack(qtbot: QtBot, theme: Theme) -> ChartStack:
    widget = ChartStack(theme)
    qtbot.addWidget(widget)
    widget.set_charts(CHARTS_HERE)
    widget.resize(900, 600)
    widget.show()
    qtbot.waitExposed(widget)
    return widget


@pytest.fixture
def runs(tmp_path: Path) -> list[RunData]:
    shapes = [replace(SHAPE, seed=seed, tps=2000.0 + 1000 * seed) for seed in range(4)]
    return [
        load_run_data(write_run(tmp_path / f"{shape.seed}.footing", shape, f"run {shape.seed}"))
        for shape in shapes
    ]


def traces(runs: list[RunData]) -> list[RunTrace]:
    return [RunTrace(f"r{number}", data, number, data.name) for number, data in enumerate(runs)]


def pixels(stack: ChartStack) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    return pixels_of(stack.grab().toImage().convertToFormat(QImage.Format.Format_RGB32))


def pixels_of(image: QImage) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    rows = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), image.bytesPerLine())
    return rows[:, : 4 * image.width()].reshape(image.height(), image.width(), 4)[:, :, 2::-1].copy()


def holds(stack: ChartStack, colour: str) -> bool:
    wanted = [int(colour[place : place + 2], 16) for place in (1, 3, 5)]
    return bool((pixels(stack) == wanted).all(axis=2).any())


def point_in(stack: ChartStack, chart: int, t_s: float, value: float) -> QPointF:
    """A point of the scene."""
    shown = stack.charts[chart]
    x = (t_s - stack.times[0]) / (stack.times[1] - stack.times[0]) * shown.view.width()
    low, high = shown.values
    y = (high - value) / (high - low) * shown.view.height()
    return QPointF(shown.view.mapToScene(QPointF(x, y)))


def test_default_charts(qtbot: QtBot, theme: Theme) -> None:
    widget = ChartStack(theme)
    qtbot.addWidget(widget)
    assert widget.chart_ids == DEFAULT_CHARTS == ("tps", "iops", "cpu")


def test_empty_stack_shows_axes(stack: ChartStack) -> None:
    assert stack.chart_ids == CHARTS_HERE
    assert stack.times == (0.0, 60.0)
    assert pixels(stack).std() > 0


def test_run_drawn_from_warm_up_to_end(stack: ChartStack, runs: list[RunData]) -> None:
    stack.set_runs(traces(runs)[:1])
    assert stack.times == (-10.0, 120.0)
    assert holds(stack, stack.theme.palette.series[0])
    assert [len(chart.lines) for chart in stack.charts] == [1, 3, 3]


def test_zero_is_on_the_axis_of_transactions(stack: ChartStack, runs: list[RunData]) -> None:
    stack.set_runs(traces(runs))
    low, high = stack.charts[0].values
    assert low == 0
    assert high >= max(float(data.series("pgbench.tps")[1].max()) for data in runs)


def test_all_charts_begin_at_the_same_place(stack: ChartStack, runs: list[RunData]) -> None:
    stack.set_runs(traces(runs))
    stack.grab()
    assert len({chart.view.sceneBoundingRect().left() for chart in stack.charts}) == 1


def test_the_crosshair_reads_every_line(stack: ChartStack, runs: list[RunData]) -> None:
    stack.set_runs(traces(runs)[:3])
    stack.show_crosshair(30.0)
    reading = stack.charts[0].crosshair.reading
    assert reading is not None
    assert [name for _, name, _ in reading.rows] == ["run 0", "run 1", "run 2"]
    for (_, _, values), data in zip(reading.rows, runs, strict=False):
        t_s, tps = data.series("pgbench.tps")
        mean = tps[(t_s >= 28.0) & (t_s <= 32.0)].mean()  # 5 s around it
        assert values == (f"{mean:,.0f}", f"{tps[t_s == 30.0][0]:,.0f}")
    latency = stack.charts[1].crosshair.reading
    assert latency is not None
    assert latency.columns == ("p50", "p95", "p99")


def test_crosshair_names_checkpoint_and_stall(stack: ChartStack, runs: list[RunData]) -> None:
    stack.set_runs(traces(runs)[:1])
    titles = []
    for t_s in (20.0, 43.0, 73.0):
        stack.show_crosshair(t_s)
        reading = stack.charts[0].crosshair.reading
        titles.append("" if reading is None else reading.title)
    assert titles == [
        "00:20",
        "00:43 \N{MIDDLE DOT} checkpoint, 8 s, 2,983 buffers",
        "01:13 \N{MIDDLE DOT} stalled",
    ]


def test_crosshair_names_run_of_checkpoint(stack: ChartStack, runs: list[RunData]) -> None:
    stack.set_runs(traces(runs)[:3])
    stack.show_crosshair(43.0)
    reading = stack.charts[0].crosshair.reading
    assert reading is not None
    assert reading.title == "00:43", "marks of several runs could not be told apart, so that none is drawn"
    stack.set_focus("r1")
    stack.show_crosshair(43.0)
    reading = stack.charts[0].crosshair.reading
    assert reading is not None
    assert reading.title == "00:43 \N{MIDDLE DOT} checkpoint, 8 s, 2,983 buffers of run 1"


def test_notes_at_moments_drawn_and_read(
    qtbot: QtBot, theme: Theme, stack: ChartStack, runs: list[RunData]
) -> None:
    stack.set_runs(traces(runs)[:1])
    menu = ChartMenu(stack, stack.charts[0])
    qtbot.addWidget(menu)
    assert "Note" not in " ".join(actions(menu)), "this page stores none"
    assert not holds(stack, theme.palette.accent)
    note = "Cold start.\n[0:01:50] <b>backup</b> ended\n[0:00:20] backup started\n[2:00:00] later\n[0:00:30]"
    noted = replace(runs[0], metadata=replace(runs[0].metadata, note=note))
    assert noted.notes == ((20.0, "backup started"), (110.0, "<b>backup</b> ended"), (7200.0, "later"))
    stack.set_runs(traces([noted]))
    stack.show_crosshair(20.4)
    reading = stack.charts[0].crosshair.reading
    assert reading is not None
    assert reading.title == "00:20 \N{MIDDLE DOT} backup started"
    stack.show_crosshair(None)
    assert holds(stack, theme.palette.accent)
    assert "Note at 00:20: backup started Note at 01:50: <b>backup</b> ended" in stack.accessible_text()


def test_a_missed_second_is_read_as_unknown(stack: ChartStack, tmp_path: Path) -> None:
    path = write_run(tmp_path / "run.footing", SHAPE)
    change_run(path, "DELETE FROM sample WHERE t_ms BETWEEN 40000 AND 50000")
    stack.set_runs([RunTrace("r", load_run_data(path), 0, "run")])
    stack.show_crosshair(35.0)
    reading = stack.charts[0].crosshair.reading
    assert reading is not None
    assert reading.rows[0][2] == ("\N{EN DASH}",)
    assert pixels(stack).std() > 0


def test_pointer_moves_and_removes_crosshair(stack: ChartStack, runs: list[RunData]) -> None:
    stack.set_runs(traces(runs)[:1])
    stack.grab()
    seen: list[float] = []
    stack.hovered.connect(seen.append)
    stack._on_pointed(point_in(stack, 0, 60.0, 1000.0))
    assert seen[-1] == pytest.approx(60.0, abs=0.5)
    stack._on_pointed(QPointF(-5, -5))
    assert math.isnan(seen[-1])


def test_click_on_line_chooses_run(stack: ChartStack, runs: list[RunData]) -> None:
    stack.set_runs(traces(runs))
    stack.grab()
    clicked: list[str] = []
    stack.run_clicked.connect(clicked.append)
    t_s, tps = runs[2].series("pgbench.tps")
    stack._on_clicked(
        point_in(stack, 0, 30.0, float(tps[t_s == 30.0][0])), Qt.MouseButton.LeftButton, twice=False
    )
    stack._on_clicked(point_in(stack, 0, 30.0, 500.0), Qt.MouseButton.LeftButton, twice=False)
    assert clicked == ["r2"]


def test_keys_zoom_move_and_read(stack: ChartStack, runs: list[RunData]) -> None:
    stack.set_runs(traces(runs)[:1])
    QTest.keyClick(stack, Qt.Key.Key_Plus)
    assert stack.times == (22.5, 87.5)
    QTest.keyClick(stack, Qt.Key.Key_Right, Qt.KeyboardModifier.ShiftModifier)
    assert stack.times == (29.0, 94.0)
    QTest.keyClick(stack, Qt.Key.Key_Right)
    QTest.keyClick(stack, Qt.Key.Key_Right)
    reading = stack.charts[0].crosshair.reading
    assert reading is not None
    assert reading.title.startswith("01:02")
    QTest.keyClick(stack, Qt.Key.Key_Escape)
    assert stack.charts[0].crosshair.reading is None
    QTest.keyClick(stack, Qt.Key.Key_Home)
    assert stack.times == (-10.0, 120.0)
    for _ in range(20):
        QTest.keyClick(stack, Qt.Key.Key_Plus)
    assert stack.times[1] - stack.times[0] == 5.0
    for _ in range(20):
        QTest.keyClick(stack, Qt.Key.Key_Minus)
    assert stack.times[1] - stack.times[0] == 130.0


def test_picture_after_gesture_as_fresh(qtbot: QtBot, stack: ChartStack, runs: list[RunData]) -> None:
    stack.set_runs(traces(runs))
    stack.show_times(10, 50)  # the line that says so makes the charts lower
    stack.grab()
    for chart in stack.charts:
        chart.layer.rendering_s = 1.0
    stack.show_times(20, 60)
    assert all(chart.layer.sketching for chart in stack.charts)
    moved = pixels(stack)
    qtbot.waitUntil(lambda: not any(chart.layer.sketching for chart in stack.charts))
    sharp = pixels(stack)
    for chart in stack.charts:
        chart.layer.invalidate()
    assert (pixels(stack) == sharp).all()
    assert (moved != sharp).any()


def test_growing_run_drawn_as_at_once(
    qtbot: QtBot, stack: ChartStack, theme: Theme, runs: list[RunData]
) -> None:
    stack.set_runs(traces(runs)[:2])
    stack.set_live(runs[3].until(5.0), 3, "live")
    for t_s in range(6, 101):
        stack.update_live(runs[3].until(float(t_s)))
        stack.grab()
    at_once = ChartStack(theme)
    at_once.set_charts(CHARTS_HERE)
    qtbot.addWidget(at_once)
    at_once.resize(stack.size())
    at_once.show()
    at_once.set_runs(traces(runs)[:2])
    at_once.set_live(runs[3].until(100.0), 3, "live")
    for ours, theirs in zip(stack.charts, at_once.charts, strict=True):
        assert ours.values == theirs.values
    # Where pieces meet, edges that are softened are painted twice.
    grown, drawn = pixels(stack).astype(int), pixels(at_once).astype(int)
    assert (np.abs(grown - drawn).max(axis=2) > 60).mean() < 0.001


def test_live_future_empty_and_extended(stack: ChartStack, tmp_path: Path) -> None:
    writer = begin_run(tmp_path / "run.footing", SHAPE, "run")
    growing = GrowingRun(writer.path)
    add_seconds(writer, SHAPE, 0, 30)
    stack.set_live(growing.refresh(), 0, "live")
    assert stack.times == (-10.0, 120.0)
    for begin, end in ((30, 132), (132, 133)):
        add_seconds(writer, replace(SHAPE, seconds=140), begin, end)
        stack.update_live(growing.refresh())
        assert stack.times == (-10.0, 152.5)
    writer.close()


def test_late_log_lines_change_drawing(stack: ChartStack, tmp_path: Path) -> None:
    writer = begin_run(tmp_path / "run.footing", SHAPE, "run")
    growing = GrowingRun(writer.path)
    add_seconds(writer, replace(SHAPE, histograms=10), 0, 100)
    stack.set_live(growing.refresh(), 0, "live")
    stack.grab()
    assert len(stack.charts[1].live[0].data.seconds.t_s) == 10
    add_seconds(writer, SHAPE, 100, 110)
    stack.update_live(growing.refresh())
    assert len(stack.charts[1].live[0].data.seconds.t_s) == 20
    writer.close()


def test_live_run_before_first_second(stack: ChartStack, tmp_path: Path) -> None:
    writer = begin_run(tmp_path / "run.footing", SHAPE, "run")
    growing = GrowingRun(writer.path)
    stack.set_live(growing.refresh(), 0, "live")
    stack.show_crosshair(0.0)
    stack.grab()
    numbers = [chart.axis.labels(*chart.values, 200.0) for chart in stack.charts]
    assert not any(numbers), "numbers on an axis would look like measured ones"
    add_seconds(writer, SHAPE, 0, 3)
    stack.update_live(growing.refresh())
    assert stack.charts[0].axis.labels(*stack.charts[0].values, 200.0)
    assert [line.curve.id for line in stack.charts[0].live] == ["tps"]
    writer.close()


def test_earlier_runs_pale_behind_live(stack: ChartStack, runs: list[RunData]) -> None:
    stack.set_runs(traces(runs)[:2])
    stack.set_live(runs[3].until(60.0), 3, "live")
    assert not holds(stack, stack.theme.palette.series[0])
    assert holds(stack, stack.theme.palette.series[3])
    stack.set_live(None)
    assert holds(stack, stack.theme.palette.series[0])


def test_many_runs_show_means_except_focused(stack: ChartStack, runs: list[RunData]) -> None:
    many = [RunTrace(f"r{number}", runs[number % 4], number, f"run {number}") for number in range(8)]
    stack.set_runs(many)
    assert not any(line.seconds_colour for line in stack.charts[0].lines)
    stack.set_focus("r5")
    assert [line.run_id for line in stack.charts[0].lines if line.seconds_colour] == ["r5"]
    assert {line.run_id for line in stack.charts[1].lines if line.curve.id == "p50"} == {"r5"}


def test_hidden_runs_and_curves_are_not_drawn(stack: ChartStack, runs: list[RunData]) -> None:
    stack.set_runs(traces(runs)[:2])
    stack.set_run_visible("r0", visible=False)
    stack.set_curve_visible("latency", "p95", visible=False)
    assert {line.run_id for chart in stack.charts for line in chart.lines} == {"r1"}
    assert [line.curve.id for line in stack.charts[1].lines] == ["p50", "p99"]
    assert not stack.is_curve_visible("latency", "p95")


def test_chart_without_samples_collapsed_and_named(
    stack: ChartStack, runs: list[RunData], tmp_path: Path
) -> None:
    path = write_run(tmp_path / "memory.footing", SHAPE)
    change_run(path, "DELETE FROM series WHERE metric LIKE 'storage.%'")
    stack.set_runs(traces(runs)[:1])
    QApplication.processEvents()
    with_three = stack.charts[0].view.height()
    stack.set_runs([RunTrace("r", load_run_data(path), 0, "memory")])
    QApplication.processEvents()
    assert stack.left_out.text() == "No samples: Device operations."
    assert stack.left_out.isVisible()
    assert not stack.charts[2].view.isVisible()
    assert stack.charts[0].view.height() > 1.2 * with_three
    assert stack.charts[1].view.isVisible()
    stack.set_runs(traces(runs)[:1])
    QApplication.processEvents()
    assert stack.charts[2].view.isVisible()
    assert not stack.left_out.isVisible()
    assert stack.charts[0].view.height() == pytest.approx(with_three, abs=2)


def test_charts_stay_while_data_is_loaded(stack: ChartStack, tmp_path: Path) -> None:
    loading, measuring = (write_run(tmp_path / f"{name}.footing", SHAPE) for name in ("loading", "measuring"))
    change_run(loading, "DELETE FROM series WHERE metric LIKE 'pgbench.%'")
    change_run(measuring, "DELETE FROM series WHERE metric LIKE 'storage.%'")
    stack.set_live(load_run_data(loading))
    assert not stack.charts[0].lines
    assert len(stack._canvas.shown) == 3
    assert not stack.left_out.isVisible()
    stack.set_live(load_run_data(measuring))
    assert len(stack._canvas.shown) == 2
    assert stack.left_out.text() == "No samples: Device operations."


def test_lone_earlier_line_has_its_name(stack: ChartStack, runs: list[RunData], tmp_path: Path) -> None:
    path = write_run(tmp_path / "loading.footing", SHAPE)
    change_run(path, "DELETE FROM series WHERE metric LIKE 'pgbench.%'")
    (earlier, *_) = traces(runs)
    stack.set_runs([replace(earlier, label="ext4", pale=True)])
    stack.set_live(load_run_data(path), 1, "memory")
    assert [label.name for label in stack.charts[0].labels._labels] == ["ext4"]


def test_all_charts_without_samples_keep_room(stack: ChartStack) -> None:
    assert all(chart.view.isVisible() for chart in stack.charts)
    assert all("No run is shown" in chart.layer._message for chart in stack.charts)
    assert not stack.left_out.isVisible()


def test_title_clear_of_axis_above(stack: ChartStack) -> None:
    """The number is as high below its line as half of its digits."""
    heading = stack.charts[1].heading
    reaches = math.ceil(QFontMetricsF(stack.theme.font(0.9)).tightBoundingRect("0").height() / 2)
    image = QImage(heading.size().toSize(), QImage.Format.Format_RGB32)
    image.fill(Qt.GlobalColor.white)
    painter = QPainter(image)
    heading.draw(painter, heading.size())
    painter.end()
    is_ink = np.asarray((pixels_of(image) < 250).any(axis=(1, 2)))
    assert is_ink.any()
    assert not is_ink[: reaches + 1].any()


def test_charts_chosen_ordered_unknown_omitted(stack: ChartStack, runs: list[RunData]) -> None:
    lines: list[list[str]] = []
    stack.charts_changed.connect(lines.append)
    stack.set_runs(traces(runs)[:2])
    stack.set_charts(["cpu", "no such chart", "tps", "cpu"])
    assert stack.chart_ids == ("cpu", "tps")
    assert lines == [["cpu", "tps"]]
    assert all(chart.lines for chart in stack.charts)
    stack.set_charts([])
    stack.grab()
    stack.set_charts(CHARTS)
    empty = {chart.spec.id for chart in stack.charts if not chart.lines}
    assert empty <= {"flush-time", "write-time", "array-missing", "array-sync"}  # not in these runs


def test_program_curves_sum_their_parts(stack: ChartStack, runs: list[RunData]) -> None:
    stack.set_charts(["cpu"])
    stack.set_runs(traces(runs)[:1])
    line = next(line for line in stack.charts[0].lines if line.curve.id == "postgres")
    user = runs[0].series("process.cpu_user", "postgres")[1]
    system = runs[0].series("process.cpu_system", "postgres")[1]
    assert line.data.seconds.values == pytest.approx(user + system)


def test_a_change_of_scheme_repaints_everything(stack: ChartStack, runs: list[RunData]) -> None:
    stack.set_runs(traces(runs)[:1])
    stack.theme.set_scheme(Scheme.DARK)
    assert holds(stack, stack.theme.palette.series[0])
    assert holds(stack, stack.theme.palette.background)
    assert not holds(stack, "#ffffff")


def test_deleted_run_stays_on_screen(stack: ChartStack, runs: list[RunData]) -> None:
    for data in runs:
        prefetch(data, stack.chart_ids)
    stack.set_runs(traces(runs))
    for data in runs:
        data.path.unlink()
    stack.resize(700, 500)
    stack.set_focus("r1")
    assert holds(stack, stack.theme.palette.series[0])


def test_thick_lines_and_large_type_still_fit(stack: ChartStack, runs: list[RunData]) -> None:
    stack.set_thick(True, 2.0)  # noqa: FBT003 - a setter
    stack.set_runs(traces(runs)[:2])
    assert {line.weight for line in stack.charts[0].lines} == {4}
    assert pixels(stack).std() > 0


def actions(menu: QMenu) -> list[str]:
    return [action.text().replace("&", "") for action in menu.actions() if not action.isSeparator()]


def test_chart_menu_copies_saves_chooses(qtbot: QtBot, stack: ChartStack, runs: list[RunData]) -> None:
    stack.set_runs(traces(runs)[:1])
    menu = ChartMenu(stack, stack.charts[1])
    qtbot.addWidget(menu)
    assert actions(menu) == [
        "Copy as image",
        "Save as PNG\N{HORIZONTAL ELLIPSIS}",
        "Save as SVG\N{HORIZONTAL ELLIPSIS}",
        "Save numbers as CSV\N{HORIZONTAL ELLIPSIS}",
        "Lines",
        "Charts",
        "Show everything",
    ]
    by_name: dict[str, Callable[[], None]] = {
        action.text().replace("&", ""): action.trigger for action in menu.actions()
    }
    by_name["Copy as image"]()
    assert QGuiApplication.clipboard().image().width() > 1000


@pytest.mark.parametrize("kind", ["png", "svg", "csv"])
def test_chart_saved_in_format_of_name(
    kind: str, stack: ChartStack, runs: list[RunData], tmp_path: Path
) -> None:
    stack.set_runs(traces(runs)[:2])
    stack.grab()
    path = tmp_path / f"chart.{kind}"
    save_picture(stack, Picture(stack.charts[0], stack.theme), stack.theme, path)
    content = path.read_bytes()
    assert content.startswith({"png": b"\x89PNG", "svg": b"<?xml", "csv": b"t_s,"}[kind])
    if kind == "svg":
        assert content.count(b"<polyline") >= 4
        assert b"<image" not in content
        assert b"run 1" in content


def test_table_holds_measured_seconds_shown(stack: ChartStack, runs: list[RunData]) -> None:
    stack.set_runs(traces(runs)[:2])
    stack.show_times(10, 20)
    rows = list(csv.reader(io.StringIO(csv_text(stack.charts[0].lines, stack.times, "per second"))))
    assert rows[0] == ["t_s", "run 0: TPS (per second)", "run 1: TPS (per second)"]
    assert [float(row[0]) for row in rows[1:]] == [float(second) for second in range(10, 21)]
    t_s, tps = runs[1].series("pgbench.tps")
    assert float(rows[1][2]) == pytest.approx(tps[t_s == 10.0][0], rel=1e-5)


def test_chart_save_failure_reported(stack: ChartStack, tmp_path: Path) -> None:
    save_picture(
        stack, Picture(stack.charts[0], stack.theme), stack.theme, tmp_path / "no folder" / "chart.png"
    )
    box = stack.findChild(QMessageBox)
    assert box is not None
    assert "cannot be written" in box.text()
    assert "Nothing there was changed" in box.text()
    box.close()


def test_names_of_eighty_characters_fit(stack: ChartStack, runs: list[RunData]) -> None:
    name = "xfs on raid10 with agcount 32 and a stripe unit of 64 kB, noatime, write cache on #1"[:80]
    stack.set_runs([replace(trace, label=name) for trace in traces(runs)])
    stack.show_crosshair(60.0)
    stack.grab()
    assert stack.charts[0].crosshair._area().width() < stack.width() / 2
    assert picture_image(Picture(stack.charts[0], stack.theme), stack.theme).width() > 1000


def tick(listed: SeriesList, group: int, row: int) -> QTreeWidgetItem:
    top = listed.topLevelItem(group)
    assert top is not None
    item = top.child(row)
    assert item is not None
    return item


def test_the_check_list_hides_and_shows(qtbot: QtBot, stack: ChartStack, runs: list[RunData]) -> None:
    stack.set_runs(traces(runs)[:2])
    listed = SeriesList(stack)
    qtbot.addWidget(listed)
    assert [tick(listed, 0, row).text(0) for row in (0, 1)] == ["run 0", "run 1"]
    tick(listed, 0, 0).setCheckState(0, Qt.CheckState.Unchecked)
    assert {line.run_id for line in stack.charts[0].lines} == {"r1"}
    tick(listed, 2, 2).setCheckState(0, Qt.CheckState.Unchecked)
    assert not stack.is_curve_visible("latency", "p99")
    assert tick(listed, 0, 0).checkState(0) is Qt.CheckState.Unchecked


def test_the_chooser_ticks_and_moves_charts(qtbot: QtBot, stack: ChartStack) -> None:
    chooser = ChartChooser(stack)
    qtbot.addWidget(chooser)
    assert chooser.list.count() == len(CHARTS)
    chooser.list.setCurrentRow(0)
    assert not chooser.up.isEnabled()
    chooser.down.click()
    assert list(stack.chart_ids) == ["latency", "tps", "iops"]
    QTest.keyClick(chooser.list, Qt.Key.Key_Up, Qt.KeyboardModifier.AltModifier)
    assert list(stack.chart_ids) == list(CHARTS_HERE)
    chooser.list.item(3).setCheckState(Qt.CheckState.Checked)
    assert list(stack.chart_ids) == [*CHARTS_HERE, "throughput"]
    stack.set_charts(["wal"])
    assert chooser.list.item(0).text() == CHARTS["wal"].title
    assert chooser.list.item(0).checkState() is Qt.CheckState.Checked


def test_many_charts_scroll_instead_of_shrinking(stack: ChartStack) -> None:
    stack.set_charts(CHARTS)
    stack.grab()
    assert min(chart.view.height() for chart in stack.charts) > 60
    assert stack.childAt(QPoint(5, 5)) is not None


def test_hidden_time_does_not_flatten_lines(stack: ChartStack, tmp_path: Path) -> None:
    """Loading writes twenty times as much as the transactions do."""
    path = tmp_path / "loaded.footing"
    writer = begin_trial(path, Trial(seconds=30), loading_s=20)
    samples = [(1000 * second, 800.0 if second < 20 else 40.0) for second in range(50)]
    with writer.transaction():
        writer.add_samples("storage.writes", samples, source="a test")
        writer.end_phase(50_000)
    writer.close()
    finish_run_file(path, RunState.DONE, {})
    stack.set_charts(["iops"])
    stack.set_runs(traces([load_run_data(path)]))
    (chart,) = stack.charts
    assert stack.times[0] == 0.0
    assert {line.curve.label: line.read(-5.0) for line in chart.lines} == {"writes": 800.0}
    assert chart.values == (0.0, 50.0)


# --- a line for each disk


def write_disks(path: Path, *, seconds: int = 30, missing: int = 0) -> RunData:
    """Write a run on two disks below an array, of which one flushes slowly."""
    writer = begin_trial(path, Trial(seconds=seconds))
    values = {
        ("storage.flush_await", ""): 2.0,
        ("device.flush_await", "nvme1n1"): 1.0,
        ("device.flush_await", "nvme2n1"): 3.0,
        ("device.reads", "nvme1n1"): 100.0,
        ("device.writes", "nvme1n1"): 200.0,
        ("device.writes", "md127"): 50.0,
        **({("array.missing_members", "md127"): float(missing)} if missing else {}),
    }
    with writer.transaction():
        for (metric, instance), value in values.items():
            samples = [(1000 * (second + 1), value) for second in range(seconds)]
            writer.add_samples(metric, samples, source="a test", instance=instance)
    with writer.transaction():
        writer.end_phase(1000 * seconds)
    writer.close()
    finish_run_file(path, RunState.DONE, {})
    return load_run_data(path)


def test_disk_chart_has_named_line_each(stack: ChartStack, tmp_path: Path) -> None:
    data = write_disks(tmp_path / "disks.footing")
    stack.set_charts(["flush-time", "disk-iops"])
    stack.set_runs(traces([data]))
    flushes, operations = stack.charts
    names = ["all disks", "md127", "nvme1n1", "nvme2n1"]
    assert [curve.label for curve in flushes.spec.curves] == names
    assert [curve.label for curve in operations.spec.curves] == names
    styles = [{line.curve.label: line.style for line in chart.lines} for chart in stack.charts]
    assert styles[0]["nvme1n1"] == styles[1]["nvme1n1"]  # a disk looks the same everywhere
    assert flushes.labels.shown, "each has its name at its end"
    assert [line.read(10.0) for line in flushes.lines] == [2.0, 1.0, 3.0]
    by_disk = {line.curve.label: line.read(10.0) for line in operations.lines}
    assert by_disk == {"nvme1n1": 300.0}  # of the array only writes are known
    assert len({line.style for line in flushes.lines}) == 3
    stack.set_curve_visible("flush-time", "disk:nvme1n1", visible=False)
    assert [line.curve.label for line in flushes.lines] == ["all disks", "nvme2n1"]
    stack.set_runs([])
    assert [curve.label for curve in flushes.spec.curves] == ["all disks"]


def test_many_runs_draw_all_disks_together(stack: ChartStack, tmp_path: Path) -> None:
    many = [write_disks(tmp_path / f"{number}.footing") for number in range(8)]
    stack.set_charts(["flush-time"])
    stack.set_runs(traces(many))
    assert {line.curve.id for line in stack.charts[0].lines} == {"all"}


def test_new_disk_in_live_run_gets_line(stack: ChartStack, tmp_path: Path) -> None:
    stack.set_charts(["array-missing", "flush-time"])
    stack.set_live(load_run_data(write_trial(tmp_path / "before.footing", Trial(seconds=5))))
    assert not stack.charts[1].lines
    stack.update_live(write_disks(tmp_path / "after.footing", missing=1))
    assert [line.curve.label for line in stack.charts[1].lines] == ["all disks", "nvme1n1", "nvme2n1"]
    assert [line.read(10.0) for line in stack.charts[0].lines] == [1.0]


def test_degraded_array_noted_above_charts(tmp_path: Path) -> None:
    degraded = write_disks(tmp_path / "degraded.footing", missing=1)
    assert array_words(degraded) == ["The array md127 is degraded: it runs without 1 of its disks."]
    assert array_words(write_disks(tmp_path / "whole.footing")) == []


def test_device_charts_name_devices(stack: ChartStack, runs: list[RunData]) -> None:
    found = [replace(runs[0], devices="loop0 (loop device)"), replace(runs[1], devices="sda"), runs[2]]
    stack.set_charts(("tps", "iops", "throughput"))

    def headings(*shown: RunData) -> list[str]:
        stack.set_runs(traces(list(shown)))
        return [chart.heading.devices for chart in stack.charts]

    assert headings(found[0]) == ["", "of loop0 (loop device)", "of loop0 (loop device)"]
    assert headings(found[0], found[1]) == ["", *["of loop0 (loop device); sda"] * 2]
    assert headings(found[2]) == ["", *["of devices not known"] * 2]
    many = [replace(run, devices=f"sd{letter}") for run, letter in zip(runs, "abcd", strict=True)]
    assert headings(*many) == ["", *["of the devices of each run"] * 2]


def test_run_without_devices_names_none(stack: ChartStack, runs: list[RunData]) -> None:
    class InMemory(FileSource):
        @override
        def keys(self) -> tuple[tuple[str, str], ...]:
            found = super().keys()
            return tuple(key for key in found if not key[0].startswith("storage."))

    stack.set_charts(("iops",))
    in_memory = replace(runs[1], source=InMemory(runs[1].path))
    stack.set_runs(traces([replace(runs[0], devices="sda"), in_memory]))
    assert [chart.heading.devices for chart in stack.charts] == ["of sda"]


def of_rate(run: RunData, rate_tps: float | None) -> RunData:
    return replace(run, metadata=replace(run.metadata, workload=WorkloadMetadata(rate_tps=rate_tps)))


def test_latency_charts_note_closed_loop(stack: ChartStack, runs: list[RunData]) -> None:
    stack.set_charts(("tps", "latency"))

    def headings(*shown: RunData) -> list[str]:
        stack.set_runs(traces(list(shown)))
        return [chart.heading.load for chart in stack.charts]

    closed, at_a_rate, closed_loops = of_rate(runs[0], None), of_rate(runs[1], 500.0), runs[2]
    assert headings(closed) == ["", "closed loop: queueing time not counted"]
    assert headings(closed, at_a_rate) == headings(closed)
    assert headings(at_a_rate) == headings(closed_loops) == ["", ""]


def test_closed_loop_note_painted(stack: ChartStack, runs: list[RunData]) -> None:
    stack.set_charts(("latency",))
    images = []
    for rate_tps in (500.0, None):
        stack.set_runs(traces([of_rate(runs[0], rate_tps)]))
        images.append(pixels(stack))
    assert (images[0] != images[1]).any()
