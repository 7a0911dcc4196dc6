"""Aggregated logs recorded from 13 to 18."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.errors import PgbenchError
from app.postgres.pgbench.summary import parse_summary
from app.postgres.pgbench.transaction_log import AggregateInterval, parse_aggregate_line
from tests.unit.postgres.recordings import Recording, recordings

AGGREGATES = recordings("aggregate", "aggregate_rate", "aggregate_rate_limit", "aggregate_everything")


def parse_aggregates(logs: Iterable[str]) -> tuple[AggregateInterval, ...]:
    """Of all threads' logs, those that begin at the same second added up."""
    found: dict[int, AggregateInterval] = {}
    for line in itertools.chain.from_iterable(map(str.splitlines, logs)):
        interval = parse_aggregate_line(line)
        present = found.get(interval.start_s)
        found[interval.start_s] = interval if present is None else present + interval
    return tuple(found[start_s] for start_s in sorted(found))


def _intervals(run: Recording) -> tuple[AggregateInterval, ...]:
    return parse_aggregates(log.decode() for log in run.logs)


@pytest.mark.parametrize("run", AGGREGATES, ids=str)
def test_threads_summed_per_second(run: Recording) -> None:
    intervals = _intervals(run)
    assert len(run.logs) == 2
    starts = [interval.start_s for interval in intervals]
    assert starts == sorted(set(starts))
    assert 3 <= len(starts) <= 4
    lines = [parse_aggregate_line(line) for log in run.logs for line in log.decode().splitlines()]
    for name in ("transactions", "latency_sum_us", "latency_squares_us2", "lag_sum_us"):
        assert sum(getattr(each, name) for each in intervals) == sum(getattr(each, name) for each in lines)


@pytest.mark.parametrize("run", AGGREGATES, ids=str)
def test_intervals_are_most_of_the_summary(run: Recording) -> None:
    # The last interval is not over when pgbench ends, and is not written.
    transactions = sum(interval.transactions for interval in _intervals(run))
    assert 0.5 * (whole := parse_summary(run.output).transactions) < transactions <= whole


def test_skipped_transactions_in_13() -> None:
    line = "1795171162 69 1312291 44717195675 20140 44278 487360 8500273926 72 24149 28\n"
    assert parse_aggregate_line(line) == AggregateInterval(1795171162, 41, 1312291, 44717195675, 487360)


def test_a_line_of_15_has_fifteen_fields() -> None:
    line = "1795171112 112 652612 4565981022 3189 13001 73101 288688245 13 7771 2 77 127 29 1\n"
    assert parse_aggregate_line(line) == AggregateInterval(
        start_s=1795171112,
        transactions=112,
        latency_sum_us=652612,
        latency_squares_us2=4565981022,
        lag_sum_us=73101,
    )


@pytest.mark.parametrize(
    "line",
    [
        "",
        "10 2 30 500 10",
        "10 2 30 500 10 20 1",
        "10 2.5 30 500 10 20",
        "10 2 30 500 10 fast",
        "10 2 1e200 500 10 20",
        "10 2 nan 500 10 20",
        "10 2 30 inf 10 20",
        "10 -2 30 500 10 20",
    ],
)
def test_what_is_no_line_is_refused(line: str) -> None:
    with pytest.raises(PgbenchError, match="This is not a line of an aggregated pgbench log"):
        parse_aggregate_line(line)


@given(st.text())
def test_any_text_parses_or_raises(text: str) -> None:
    words = text.split()
    if len(words) in {6, 10, 11, 15} and all(word.isnumeric() for word in words):
        return
    with pytest.raises(PgbenchError):
        parse_aggregate_line(text)
