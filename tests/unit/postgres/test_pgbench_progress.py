"""Progress lines, recorded from 13 to 18."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.postgres.pgbench.summary import ProgressLine, parse_progress
from tests.cases import each_case
from tests.unit.postgres.recordings import MAJORS, Recording, recording, recordings


@each_case("run", recordings())
def test_recorded_lines_read_and_nothing_else(run: Recording) -> None:
    for line in run.errors.splitlines():
        assert (parse_progress(line) is not None) == line.startswith("progress: ")


@each_case("run", recordings("plain", "rate", "rate_limit", "retries", "everything"))
def test_optional_parts_follow_arguments(run: Recording) -> None:
    parsed = [parse_progress(line) for line in run.errors.splitlines()]
    lines = [line for line in parsed if line is not None]
    assert lines
    for line in lines:
        assert (line.failed is not None) == (run.major >= 15)
        assert (line.lag_ms is not None) == ("-R" in run.arguments)
        assert (line.skipped is not None) == ("-R" in run.arguments and "-L" in run.arguments)
        retries = any(argument.startswith("--max-tries") for argument in run.arguments)
        assert (line.retries is not None) == (line.retried is not None) == retries
        assert line.is_epoch == ("--progress-timestamp" in run.arguments)


def test_all_parts_of_a_line_are_read() -> None:
    line = recording(15, "everything").errors.splitlines()[1]
    assert line == (
        "progress: 1.0 s, 233.0 tps, lat 6.105 ms stddev 2.787, 75 failed, lag 1.276 ms, 0 skipped,"
        " 165 retried, 268 retries"
    )
    assert parse_progress(line) == ProgressLine(
        time_s=1.0,
        is_epoch=False,
        tps=233.0,
        latency_ms=6.105,
        stddev_ms=2.787,
        failed=75,
        lag_ms=1.276,
        skipped=0,
        retried=165,
        retries=268,
    )


def test_a_timestamp_keeps_its_milliseconds() -> None:
    line = parse_progress(recording(18, "timestamp").errors.splitlines()[1])
    assert line == ProgressLine(
        time_s=1795171139.931, is_epoch=True, tps=1740.1, latency_ms=1.141, stddev_ms=0.576, failed=0
    )


@pytest.mark.parametrize("major", MAJORS)
def test_a_stalled_server_still_has_lines(major: int) -> None:
    parsed = [parse_progress(line) for line in recording(major, "stall").errors.splitlines()]
    assert [line.tps for line in parsed if line][:2] == [0.0, 0.0]


@pytest.mark.parametrize("word", ["nan", "-nan", "inf", "-inf"])
def test_words_of_c_for_numbers_are_read(word: str) -> None:
    line = parse_progress(f"progress: 7.0 s, inf tps, lat {word} ms stddev {word}, 0 failed, lag {word} ms")
    assert line is not None
    assert math.isinf(line.tps)
    assert line.latency_ms == pytest.approx(float(word), nan_ok=True)
    assert line.lag_ms == pytest.approx(float(word), nan_ok=True)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "progress:",
        "progress: 1.0 s, 233.0 tps",
        "progress: 1.0 s, 233.0 tps, lat 6.105 ms stddev 2.787, 75 failed, ",
        "progress: 1.0 s, 233,0 tps, lat 6,105 ms stddev 2,787",
        "progress: \u0661.0 s, 233.0 tps, lat 6.105 ms stddev 2.787",
        "pgbench: progress: 1.0 s, 1.0 tps, lat 1.0 ms stddev 1.0",
    ],
)
def test_lookalike_lines_ignored(line: str) -> None:
    assert parse_progress(line) is None


def _printed(line: ProgressLine) -> str:
    """The line as printProgressReport() prints it."""
    time = f"{line.time_s:.3f}" if line.is_epoch else f"{line.time_s:.1f}"
    text = f"progress: {time} s, {line.tps:.1f} tps, lat {line.latency_ms:.3f} ms stddev {line.stddev_ms:.3f}"
    if line.failed is not None:
        text += f", {line.failed} failed"
    if line.lag_ms is not None:
        text += f", lag {line.lag_ms:.3f} ms"
        if line.skipped is not None:
            text += f", {line.skipped} skipped"
    if line.retried is not None:
        text += f", {line.retried} retried, {line.retries} retries"
    return text + "\n"


COUNTS = st.integers(0, 2**63 - 1)
MILLISECONDS = st.floats(0, 1e9).map(lambda value: round(value, 3))


@st.composite
def progress_lines(draw: st.DrawFn) -> ProgressLine:
    is_epoch = draw(st.booleans())
    lag = draw(st.none() | MILLISECONDS)
    retried = draw(st.none() | COUNTS)
    return ProgressLine(
        time_s=round(draw(st.floats(0, 4e9)), 3 if is_epoch else 1),
        is_epoch=is_epoch,
        tps=round(draw(st.floats(0, 1e7)), 1),
        latency_ms=draw(MILLISECONDS),
        stddev_ms=draw(MILLISECONDS),
        failed=draw(st.none() | COUNTS),
        lag_ms=lag,
        skipped=None if lag is None else draw(st.none() | COUNTS),
        retried=retried,
        retries=None if retried is None else draw(COUNTS),
    )


@given(progress_lines())
def test_any_printed_line_round_trips(line: ProgressLine) -> None:
    assert parse_progress(_printed(line)) == line


@given(st.text())
def test_any_other_text_is_none(text: str) -> None:
    assert parse_progress(text) is None
