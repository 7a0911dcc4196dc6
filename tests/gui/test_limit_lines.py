"""Level lines for what a storage can do by itself, in the window and on paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.domain.io_baseline import IoBaseline
from app.runfile.metadata.typed_json import values_of
from app.runfile.series import RunData, load_run_data
from tests.fix_report import Case, write_case
from tests.fix_runs import Shape
from tests.unit.analysis.test_io_baseline_words import KNOWN
from ui.charts.data.lines import MOST, Line, level
from ui.charts.data.registry import RunTrace
from ui.charts.painting.painting import ChartBackground
from ui.charts.stack.stack import ChartStack
from ui.theme import Scheme, Theme

WRITES = "writes: capacity 9,950"
FLUSHES = "flushes: capacity 9,900"


@pytest.fixture
def stack(qtbot: QtBot) -> ChartStack:
    widget = ChartStack(Theme(Scheme.LIGHT))
    qtbot.addWidget(widget)
    widget.resize(1280, 600)
    widget.show()
    qtbot.waitExposed(widget)
    widget.set_charts(["iops", "throughput"])
    return widget


def run_on(path: Path, baseline: IoBaseline | None, *, seed: int = 1) -> RunData:
    values = (("io_baseline", values_of(baseline)),) if baseline else ()
    return load_run_data(write_case(path, Case(shape=Shape(60, seed=seed), values=values)))


def traces(runs: list[RunData]) -> list[RunTrace]:
    return [RunTrace(f"r{place}", run, place, run.name) for place, run in enumerate(runs)]


def with_writes(per_s: float) -> IoBaseline:
    return replace(KNOWN, jobs=(), sync_device=replace(KNOWN.sync_device, writes=per_s, flushes=None))


def limit_texts(stack: ChartStack, chart: int = 0) -> list[str]:
    return [line.label for line in stack.charts[chart].limits]


def test_near_limit_drawn_far_limit_not(stack: ChartStack, tmp_path: Path) -> None:
    stack.set_runs(traces([run_on(tmp_path / "a.footing", KNOWN)]))
    assert limit_texts(stack) == [
        WRITES,
        FLUSHES,
    ]  # 200,001 reads where the run read 40 would flatten the rest
    assert limit_texts(stack, 1) == []  # 2,100 MB/s of 90
    for line in stack.charts[0].limits:
        assert (line.main.t_s[0], line.main.t_s[-1]) == (stack.times[0], pytest.approx(stack.times[1], abs=1))
    assert stack.charts[0].values[1] >= 9950


def test_run_without_measured_storage_has_none(stack: ChartStack, tmp_path: Path) -> None:
    stack.set_runs(traces([run_on(tmp_path / "a.footing", None)]))
    assert limit_texts(stack) == []
    stack.set_runs(traces([run_on(tmp_path / "b.footing", KNOWN)]))
    assert limit_texts(stack) == [WRITES, FLUSHES]
    stack.set_runs([])
    assert limit_texts(stack) == []


def test_shared_storage_line_and_too_many_limits(stack: ChartStack, tmp_path: Path) -> None:
    same = [run_on(tmp_path / f"same {seed}.footing", KNOWN, seed=seed) for seed in range(2)]
    stack.set_runs(traces(same))
    assert limit_texts(stack).count(WRITES) == 1
    others = [
        run_on(tmp_path / f"{number}.footing", with_writes(10_000 + 1000 * number))
        for number in range(MOST + 1)
    ]
    stack.set_runs(traces(others[:MOST]))
    assert len(limit_texts(stack)) == MOST
    stack.set_runs(traces(others))
    assert limit_texts(stack) == []


def test_growing_run_line_reaches_planned_end(
    stack: ChartStack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_on(tmp_path / "a.footing", KNOWN)
    chart = stack.charts[0]
    painted: list[int] = []
    paint = chart.layer.set_saved

    def count(lines: Sequence[Line], ground: ChartBackground) -> None:
        painted.append(len(lines))
        paint(lines, ground)

    stack.set_live(run.until(5.0), 0, "live")
    monkeypatch.setattr(chart.layer, "set_saved", count)
    for t_s in range(6, 60):
        stack.update_live(run.until(float(t_s)))
    assert limit_texts(stack) == [WRITES, FLUSHES]
    assert chart.limits[0].main.t_s[-1] == pytest.approx(60, abs=1)
    assert painted == []
    stack.set_live(None)
    assert limit_texts(stack) == []


def test_limit_drawn_once_near(stack: ChartStack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_on(tmp_path / "a.footing", with_writes(30_000))
    high_s = next(t_s for t_s, value in zip(*run.series("storage.writes"), strict=True) if value > 10_000)
    chart = stack.charts[0]
    explained: list[str] = []
    monkeypatch.setattr(
        chart.heading, "set_keys", lambda keys, _: explained.extend(key.label for key in keys)
    )
    stack.set_live(run.until(1.0), 0, "live")
    assert limit_texts(stack) == []
    for t_s in range(2, int(high_s) + 2):
        stack.update_live(run.until(float(t_s)))
    assert limit_texts(stack) == ["writes: capacity 30,000"]
    assert "writes: capacity 30,000" in explained


def test_another_scheme_gives_the_lines_its_colours(stack: ChartStack, tmp_path: Path) -> None:
    stack.set_runs(traces([run_on(tmp_path / "a.footing", KNOWN)]))
    for scheme in (Scheme.DARK, Scheme.LIGHT):
        stack.theme.set_scheme(scheme)
        assert stack.charts[0].limits[0].colour.name() == stack.charts[0].lines[0].colour.name()


def test_level_line_without_time() -> None:
    line = level(5.0, -10.0, 20.0)
    assert set(line.values) == {5.0}
    assert (line.t_s[0], line.t_s[-1]) == (-10.0, 20.0)
    assert len(level(5.0, 0.0, 0.0).t_s) >= 2
