from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.probes.base.probe import Counters, RawFile, rounded
from tests.unit.probes.fakes import HandClock


def test_the_first_read_yields_nothing() -> None:
    assert Counters(HandClock()).step((5,)) is None


def test_a_rate_is_over_the_true_interval() -> None:
    clock = HandClock()
    counters = Counters(clock)
    counters.step((100, 0))
    clock.advance(2.5)
    difference = counters.step((150, 10))
    assert difference is not None
    assert difference.interval_s == 2.5
    assert [difference.rate(0), difference.rate(1)] == [20, 4]


def test_decreasing_counter_restarts() -> None:
    clock = HandClock()
    counters = Counters(clock)
    counters.step((100, 100))
    clock.advance(1)
    assert counters.step((200, 50)) is None
    clock.advance(1)
    difference = counters.step((210, 51))
    assert difference is not None
    assert difference.deltas == (10, 1)


def test_changed_length_restarts() -> None:
    clock = HandClock()
    counters = Counters(clock)
    counters.step((1,))
    clock.advance(1)
    assert counters.step((1, 2)) is None


def test_hardly_any_time_keeps_the_old_start() -> None:
    clock = HandClock()
    counters = Counters(clock)
    counters.step((0,))
    clock.advance(0.0001)
    assert counters.step((7,)) is None
    clock.advance(0.9999)
    difference = counters.step((10,))
    assert difference is not None
    assert difference.deltas == (10,)


@given(st.lists(st.integers(min_value=0, max_value=10**15), min_size=2, max_size=30))
def test_any_counters_give_no_negative_rate(values: list[int]) -> None:
    clock = HandClock()
    counters = Counters(clock)
    for value in values:
        clock.advance(1)
        difference = counters.step((value,))
        assert difference is None or difference.rate(0) >= 0


@given(st.lists(st.integers(min_value=0, max_value=10**9), min_size=1, max_size=30))
def test_gains_of_growing_counter_add_up(gains: list[int]) -> None:
    clock = HandClock()
    counters = Counters(clock)
    counters.step((0,))
    total, seen = 0, 0.0
    for gain in gains:
        clock.advance(1)
        total += gain
        difference = counters.step((total,))
        assert difference is not None
        seen += difference.deltas[0]
    assert seen == total


@pytest.mark.parametrize(
    ("value", "stored"), [(0.0, 0), (1.23456, 1.235), (99.9994, 99.999), (123.4, 123), (-5.0, -5)]
)
def test_values_are_rounded_to_what_is_meaningful(value: float, stored: float) -> None:
    assert rounded(value) == stored


def test_whole_values_are_stored_as_integers() -> None:
    assert isinstance(rounded(12345.6), int)
    assert isinstance(rounded(3.0), int)


def test_raw_file_longer_than_buffer(tmp_path: Path) -> None:
    path = tmp_path / "long"
    path.write_bytes(b"x" * 10_000)
    file = RawFile(str(path))
    assert len(file.read()) == 10_000
    file.close()
    file.close()


def test_a_raw_file_sees_what_changed(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("1")
    file = RawFile(str(path))
    assert file.read() == b"1"
    path.write_text("22")
    assert file.read() == b"22"
    file.close()
