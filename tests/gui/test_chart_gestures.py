from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from app.runfile.series import load_run_data
from tests.fix_runs import Shape, write_run
from ui.charts.data.registry import RunTrace
from ui.charts.stack.stack import ChartStack, prefetch
from ui.theme import Scheme, Theme

IDS = ("tps", "latency", "iops")
NO_KEY = Qt.KeyboardModifier.NoModifier


@pytest.fixture
def stack(qtbot: QtBot, tmp_path: Path) -> ChartStack:
    widget = ChartStack(Theme(Scheme.LIGHT))
    qtbot.addWidget(widget)
    widget.set_charts(IDS)
    path = tmp_path / "run.footing"
    write_run(path, Shape(seconds=120, checkpoint_every_s=50), "run")
    widget.set_runs([RunTrace("r", prefetch(load_run_data(path), IDS), 0, "run")])
    widget.resize(900, 600)
    widget.show()
    qtbot.waitExposed(widget)
    return widget


def viewport(stack: ChartStack) -> QWidget:
    found: QWidget = stack._canvas._view.viewport()
    return found


def place(stack: ChartStack, t_s: float, chart: int = 1) -> QPoint:
    """A point in the middle of a chart, of the area that the mouse sees."""
    view = stack.charts[chart].view
    x = (t_s - stack.times[0]) / (stack.times[1] - stack.times[0]) * view.width()
    at: QPoint = stack._canvas._view.mapFromScene(view.mapToScene(QPointF(x, view.height() / 2)))
    return at


def drag(
    stack: ChartStack,
    begin_s: float,
    end_s: float,
    button: Qt.MouseButton = Qt.MouseButton.LeftButton,
    key: Qt.KeyboardModifier = NO_KEY,
    *,
    release: bool = True,
) -> None:
    begin, end = place(stack, begin_s), place(stack, end_s)
    QTest.mouseMove(viewport(stack), begin)
    QTest.mousePress(viewport(stack), button, key, begin)
    for part in (0.3, 0.6, 1.0):
        QTest.qWait(15)  # pyqtgraph takes no more than 100 moves a second
        QTest.mouseEvent(
            QTest.MouseAction.MouseMove, viewport(stack), button, key, begin + (end - begin) * part
        )
    if release:
        QTest.mouseRelease(viewport(stack), button, key, end)


def turn(stack: ChartStack, notches: int, key: Qt.KeyboardModifier, t_s: float) -> bool:
    """Turn the wheel over a chart; returns whether the chart took it, or left it to the page."""
    at = place(stack, t_s)
    event = QWheelEvent(
        QPointF(at),
        QPointF(viewport(stack).mapToGlobal(at)),
        QPoint(),
        QPoint(0, 120 * notches),
        Qt.MouseButton.NoButton,
        key,
        Qt.ScrollPhase.NoScrollPhase,
        False,  # noqa: FBT003 - Qt's signature
    )
    QApplication.sendEvent(viewport(stack), event)
    return bool(event.isAccepted())


def test_dragged_range_applies_to_all_charts(stack: ChartStack) -> None:
    drag(stack, 30, 60)
    assert stack.times == pytest.approx((30, 60), abs=1)
    assert {chart.times for chart in stack.charts} == {stack.times}


def test_dragging_shades_range_in_every_chart(stack: ChartStack) -> None:
    drag(stack, 30, 60, release=False)
    assert all(chart.crosshair.choosing is not None for chart in stack.charts)
    assert stack.times == (-10.0, 120.0)
    QTest.mouseRelease(viewport(stack), Qt.MouseButton.LeftButton, NO_KEY, place(stack, 60))
    assert all(chart.crosshair.choosing is None for chart in stack.charts)


@pytest.mark.parametrize(
    ("button", "key"),
    [
        (Qt.MouseButton.MiddleButton, NO_KEY),
        (Qt.MouseButton.LeftButton, Qt.KeyboardModifier.ShiftModifier),
    ],
)
def test_pan_stops_at_ends_of_time(
    stack: ChartStack, button: Qt.MouseButton, key: Qt.KeyboardModifier
) -> None:
    stack.show_times(40, 80)
    drag(stack, 60, 50, button, key)
    assert stack.times == pytest.approx((50, 90), abs=1)
    for _ in range(6):
        drag(stack, stack.times[1] - 1, stack.times[0] + 1, button, key)
    assert stack.times == (80.0, 120.0)


def test_ctrl_wheel_zooms_around_pointer(stack: ChartStack) -> None:
    before = place(stack, 60)
    assert turn(stack, 4, Qt.KeyboardModifier.ControlModifier, 60)
    assert stack.times[1] - stack.times[0] == pytest.approx(130 * 0.8**4)
    assert place(stack, 60).x() == pytest.approx(before.x(), abs=2)
    turn(stack, -20, Qt.KeyboardModifier.ControlModifier, 60)
    assert stack.times == (-10.0, 120.0)


def test_plain_wheel_scrolls_page(stack: ChartStack) -> None:
    assert not turn(stack, -1, NO_KEY, 60)
    assert stack.times == (-10.0, 120.0)
    assert stack.zoom_bar.isHidden()


def test_shift_and_the_wheel_move_the_time(stack: ChartStack) -> None:
    stack.show_times(40, 80)
    turn(stack, -1, Qt.KeyboardModifier.ShiftModifier, 60)
    assert stack.times == pytest.approx((44, 84))


def test_shown_range_named_with_reset_button(stack: ChartStack) -> None:
    assert stack.zoom_bar.isHidden()
    stack.show_times(30, 60)
    assert stack.zoom_bar.isVisible()
    assert stack.zoom_bar.words.text().startswith("Shown: 00:30 to 01:00.")
    QTest.mouseClick(stack.zoom_bar.whole, Qt.MouseButton.LeftButton)
    assert stack.times == (-10.0, 120.0)
    assert stack.zoom_bar.isHidden()
    assert stack.hasFocus()


def test_a_click_that_trembles_chooses_no_range(stack: ChartStack) -> None:
    stack.charts[0].view.chosen.emit(20.0, 20.0)
    assert stack.times == (-10.0, 120.0)


def test_projector_hides_range_text(stack: ChartStack) -> None:
    stack.set_thick(thick=True)
    stack.show_times(30, 60)
    assert stack.zoom_bar.isHidden()
