from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ui.charts.data.curves import Pyramid
from ui.charts.data.scale import (
    Frame,
    format_moment,
    format_time,
    format_value,
    keep_range,
    log_ticks,
    nice_top,
    time_ticks,
    value_range,
    value_ticks,
)

POSITIVE = st.floats(1e-6, 1e15)


@pytest.mark.parametrize(
    ("t_s", "end_s", "text"),
    [
        (0, 300, "00:00"),
        (75, 300, "01:15"),
        (-10, 300, "\N{MINUS SIGN}00:10"),
        (1800, 3600, "0:30"),
        (90, 3600, "0:01:30"),
        (86400, 86400, "24:00"),
        (-0.2, 300, "00:00"),
    ],
)
def test_times_are_written_as_minutes_or_hours(t_s: float, end_s: float, text: str) -> None:
    assert format_time(t_s, end_s) == text


def test_moment_always_shows_seconds() -> None:
    assert (format_moment(1800, 3600), format_moment(59, 60)) == ("0:30:00", "00:59")


@pytest.mark.parametrize(
    ("value", "step", "text"),
    [
        (12345.0, None, "12,345"),
        (0.0, None, "0"),
        (3.14159, None, "3.14"),
        (0.0421, None, "0.042"),
        (-5000.0, None, "\N{MINUS SIGN}5,000"),
        (15000.0, 5000.0, "15,000"),
        (0.30000000000000004, 0.1, "0.3"),
        (-1e-17, 0.1, "0.0"),
    ],
)
def test_number_separators_and_digits(value: float, step: float | None, text: str) -> None:
    assert format_value(value, step) == text


@given(POSITIVE)
def test_round_top_near_its_value(value: float) -> None:
    assert value * (1 - 1e-9) <= nice_top(value) <= value * 1.34


@given(POSITIVE, POSITIVE, st.booleans())
def test_axis_holds_values_linear_holds_zero(
    one: float,
    other: float,
    is_log: bool,  # noqa: FBT001 - drawn by hypothesis
) -> None:
    low, high = min(one, other), max(one, other)
    bottom, top = value_range((low, high), zero_based=True, is_log=is_log)
    assert bottom < top
    assert top >= high * (1 - 1e-9)
    if is_log:
        assert 0 < bottom <= max(low, 0.001) * (1 + 1e-9)
    else:
        assert bottom == 0


def test_axis_of_nothing_or_zeros() -> None:
    assert value_range(None, zero_based=True, is_log=False) == (0.0, 1.0)
    assert value_range((0.0, 0.0), zero_based=True, is_log=False) == (0.0, 1.0)
    low, high = value_range((0.0, 0.0), zero_based=False, is_log=True)
    assert 0 < low < high


def test_axis_changes_only_when_needed() -> None:
    assert keep_range((0, 100), (0, 80), is_log=False) == (0, 100)
    assert keep_range((0, 100), (0, 120), is_log=False) == (0, 120)
    assert keep_range((0, 100), (0, 40), is_log=False) == (0, 40)
    assert keep_range((1, 100), (2, 50), is_log=True) == (1, 100)
    assert keep_range((1, 100), (1, 5), is_log=True) == (1, 5)
    assert keep_range(None, (0, 5), is_log=False) == (0, 5)


@given(st.floats(0, 1e12), st.floats(1e-3, 1e12), st.integers(2, 20))
@example(703687441777.5541, 0.00390625, 2)
def test_ticks_are_few_and_inside(low: float, span: float, most: int) -> None:
    ticks = value_ticks(low, low + span, most)
    assert len(ticks) <= most + 1
    room = max(span / 1e6, 2 * math.ulp(low + span))  # far from zero numbers themselves lie apart
    assert all(low - room <= tick <= low + span + room for tick in ticks)


@given(st.floats(1e-3, 1e3), st.floats(3, 1e6), st.integers(3, 12))
def test_log_axis_ticks_few_and_inside(low: float, factor: float, most: int) -> None:
    ticks = log_ticks(low, low * factor, most)
    assert len(ticks) <= most
    assert all(low * 0.999 <= tick <= low * factor * 1.001 for tick in ticks)


def test_time_ticks_fall_on_round_times() -> None:
    assert time_ticks(-10, 60, 7) == [-10, 0, 10, 20, 30, 40, 50, 60]
    assert time_ticks(0, 3600, 6) == [0, 600, 1200, 1800, 2400, 3000, 3600]
    assert time_ticks(0, 30 * 86400, 4) == [0, 14 * 86400, 28 * 86400]


def test_frame_maps_corners_to_pixels() -> None:
    frame = Frame(-10, 90, 0, 50, 1000, 200, is_log=False)
    assert (float(frame.x(-10)), float(frame.x(90))) == (0, 1000)
    assert (float(frame.y(0)), float(frame.y(50)), float(frame.y(25))) == (200, 0, 100)
    log = Frame(0, 1, 1, 100, 10, 200, is_log=True)
    assert (float(log.y(1)), float(log.y(10)), float(log.y(100))) == pytest.approx((200, 100, 0))
    assert float(log.y(0)) > 200


@given(st.integers(1, 3000), st.integers(2, 200), st.integers(0, 2**32 - 1))
def test_no_extreme_is_lost_whatever_the_width(count: int, columns: int, seed: int) -> None:
    values = np.random.default_rng(seed).standard_normal(count)
    t_s, reduced = Pyramid(np.arange(1.0, count + 1), values).reduced(0.0, float(count), columns)
    assert reduced.max() == pytest.approx(values.max(), rel=1e-6)
    assert reduced.min() == pytest.approx(values.min(), rel=1e-6)
    assert len(reduced) <= max(2 * columns + 4, 4)
    assert (np.diff(t_s) >= 0).all()


def test_detail_drawn_second_by_second() -> None:
    pyramid = Pyramid(np.arange(1.0, 10001.0), np.arange(1.0, 10001.0))
    t_s, values = pyramid.reduced(500.5, 600.5, 400)
    assert t_s.tolist() == values.tolist() == [float(second) for second in range(500, 602)]


def test_stalled_second_of_day_visible() -> None:
    values = np.full(86400, 5000.0)
    values[43210] = 0.0
    assert Pyramid(np.arange(1.0, 86401.0), values).reduced(0, 86400, 1500)[1].min() == 0.0


def test_an_empty_series_has_nothing_to_draw() -> None:
    empty = Pyramid(np.empty(0), np.empty(0))
    assert empty.extremes is None
    assert [len(part) for part in empty.reduced(0, 60, 100)] == [0, 0]


@given(asked=st.lists(st.tuples(st.integers(-5, 60), st.integers(-5, 60)), min_size=1))
def test_extremes_independent_of_earlier_query(asked: list[tuple[int, int]]) -> None:
    t_s, values = np.arange(1.0, 51.0), np.random.default_rng(1).standard_normal(50)
    pyramid = Pyramid(t_s, values)
    for start_s, end_s in asked:
        inside = values[(t_s >= start_s) & (t_s <= end_s)]
        expected = (inside.min(), inside.max()) if len(inside) else None
        assert pyramid.extremes_in(start_s, end_s) == expected
