"""Reports that are longer than a second: what they show, and what they do not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.analysis.cannot_show import read_limitations
from app.analysis.stability import RunStability, describe_shape, read_shape
from app.runfile.reader import RunFile
from app.runfile.summary import seconds_of, summarise
from tests.unit.importers.imports import DATA, bring_in, only

FOREIGN = DATA / "import" / "foreign"


def shape_of(path: Path) -> RunStability:
    with RunFile(path) as run:
        shape = read_shape(run)
    assert shape is not None
    return shape


@pytest.mark.parametrize(
    ("name", "interval_s", "stall_s"),
    [("F02-long-intervals", 30, None), ("F02b-long-stall", 5, 25.0), ("F02c-aggregate10", 10, None)],
)
def test_f02(tmp_path: Path, name: str, interval_s: int, stall_s: float | None) -> None:
    imported = only(bring_in(tmp_path, FOREIGN / name))
    with RunFile(imported.path) as run:
        figures = run.summary()
    shape = shape_of(imported.path)
    assert shape.interval_s == interval_s
    assert (figures["stall_s"], figures["longest_stall_s"], figures["jitter_cv"]) == (stall_s, stall_s, None)
    text = " ".join(describe_shape(shape))
    assert f"every {interval_s} s" in text
    assert not any(word in text for word in ("blocked", "No stalled second"))
    assert "single seconds" in dict(imported.missing)


@pytest.mark.parametrize("interval_s", [1, 2, 5, 10, 30, 60])
def test_every_interval(tmp_path: Path, interval_s: int) -> None:
    values = [1000, 1010, 990, 1005, 0, 0, 995, 1000, 1003, 1001]
    lines = [
        f"progress: {interval_s * at}.0 s, {value}.0 tps, lat 1.000 ms stddev 0.100"
        for at, value in enumerate(values, 1)
    ]
    (tmp_path / "out.txt").write_text("\n".join(lines))
    imported = only(bring_in(tmp_path / "library", tmp_path))
    shape = shape_of(imported.path)
    assert (shape.interval_s, shape.jitter.missed_seconds) == (interval_s, 0)
    assert shape.jitter.stall_seconds == shape.jitter.longest_stall_s == 2 * interval_s
    assert (shape.jitter.cv is None) == (interval_s > 1)


def test_late_report(tmp_path: Path) -> None:
    times = [30, 60, 90, 150, 180, 210]
    lines = [f"progress: {at}.0 s, 10.0 tps, lat 1.000 ms stddev 0.100" for at in times]
    (tmp_path / "out.txt").write_text("\n".join(lines))
    shape = shape_of(only(bring_in(tmp_path / "library", tmp_path)).path)
    assert (shape.interval_s, shape.jitter.missed_seconds) == (30, 30)
    assert "no data for 30 s" in " ".join(describe_shape(shape))


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=50), st.integers(1, 60))
def test_seconds_keep_the_mean(values: list[float], interval_s: int) -> None:
    ends_ms = 1000.0 * interval_s * np.arange(1.0, len(values) + 1, dtype=np.float64)
    seconds = seconds_of(ends_ms, np.array(values), 0.0, interval_s)
    assert len(seconds) == interval_s * len(values)
    assert seconds.mean() == pytest.approx(np.mean(values))


def test_table_of_longer_rows(tmp_path: Path) -> None:
    rows = "".join(f"{10 * at},{value}\n" for at, value in enumerate([100, 110, 0, 105] * 5, 1))
    (tmp_path / "table.csv").write_text(f"t_s,tps\n{rows}")
    imported = only(bring_in(tmp_path / "library", tmp_path))
    assert shape_of(imported.path).interval_s == 10
    assert "single seconds" in dict(imported.missing)


def test_f10(tmp_path: Path) -> None:
    imported = only(bring_in(tmp_path, FOREIGN / "F10-checkpoints"))
    with RunFile(imported.path) as run:
        text = " ".join(each.words for each in read_limitations(run))
        assert summarise(run)["checkpoint_cycles"] is None
    assert "none began" not in text
    assert "their start times are not known" in text
    assert "no-checkpoint-cycle" not in imported.marks
