"""Transaction logs: recorded ones of 13 to 18, and all that a log can be made to hold."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from app.domain.errors import PgbenchError
from app.postgres.pgbench.summary import parse_summary
from app.postgres.pgbench.transaction_log import (
    LogFormat,
    Outcome,
    TransactionBatch,
    parse_transactions,
)
from tests.cases import each_case
from tests.transactions import concatenate
from tests.unit.postgres.recordings import Recording, recordings

LOGGED = tuple(run for run in recordings() if "-l" in run.arguments and not run.name.startswith("aggregate"))
WHOLE = tuple(run for run in LOGGED if run.name in {"transactions", "scripts", "rate", "failures"})
FORMATS = tuple(
    LogFormat(has_lag=lag, has_retries=retries) for lag in (False, True) for retries in (False, True)
)


def _format(run: Recording) -> LogFormat:
    return LogFormat(
        has_lag="-R" in run.arguments,
        has_retries=any(argument.startswith("--max-tries") for argument in run.arguments),
    )


def _read_slowly(log: bytes, log_format: LogFormat) -> list[tuple[object, ...]]:
    """The plain way: one line at a time."""
    lines: list[tuple[object, ...]] = []
    for line in log.decode().splitlines():
        words = line.split(" ")
        epoch_us = int(words[4]) * 1_000_000 + int(words[5])
        lag = int(words[6]) if log_format.has_lag else None
        outcome = words[2] if words[2].isalpha() else ""
        lines.append((outcome, epoch_us) if outcome else ("", epoch_us, int(words[2]), lag))
    return lines


def _rows(batch: TransactionBatch) -> list[tuple[object, ...]]:
    none = [None] * batch.transactions
    rows: list[tuple[object, ...]] = [
        ("", *row)
        for row in zip(
            batch.epoch_us.tolist(),
            batch.latency_us.tolist(),
            none if batch.lag_us is None else batch.lag_us.tolist(),
            strict=True,
        )
    ]
    for outcome, epoch_us in batch.others.items():
        rows.extend((outcome.value, each) for each in epoch_us.tolist())
    return rows


@each_case("run", LOGGED)
def test_recorded_logs_match_plain_reader(run: Recording) -> None:
    log_format = _format(run)
    for log in run.logs:
        assert Counter(_rows(parse_transactions(log, log_format))) == Counter(_read_slowly(log, log_format))


@each_case("run", WHOLE)
def test_threads_add_up_to_summary(run: Recording) -> None:
    batch = concatenate(parse_transactions(log, _format(run)) for log in run.logs)
    summary = parse_summary(run.output, run.errors)
    assert batch.transactions == summary.transactions
    assert len(batch.others.get(Outcome.FAILED, ())) == (summary.failed or 0)
    assert batch.epoch_us.max() - batch.epoch_us.min() < 4_000_000
    if summary.lag_ms is not None:
        assert batch.lag_us is not None
        assert batch.lag_us.mean() / 1000 == pytest.approx(summary.lag_ms, abs=0.001)
        assert batch.latency_us.mean() / 1000 == pytest.approx(summary.latency_ms, abs=0.001)


@each_case("run", recordings("failures_detailed"))
def test_failures_are_told_apart_in_detail(run: Recording) -> None:
    batch = concatenate(parse_transactions(log, _format(run)) for log in run.logs)
    summary = parse_summary(run.output, run.errors)
    assert len(batch.others[Outcome.DEADLOCK]) == summary.deadlock_failures
    assert len(batch.others[Outcome.SERIALIZATION]) == summary.serialization_failures
    assert batch.transactions == summary.transactions


def test_nothing_is_nothing() -> None:
    for log_format in FORMATS:
        batch = parse_transactions(b"", log_format)
        assert (batch.transactions, batch.lines) == (0, 0)
    assert concatenate([]).lines == 0


def test_a_line_is_its_columns() -> None:
    batch = parse_transactions(
        b"3 17 123456 2 1795171066 7 88 9\n", LogFormat(has_lag=True, has_retries=True)
    )
    assert _rows(batch) == [("", 1795171066000007, 123456, 88)]


NUMBERS = st.integers(0, 10**16 - 1)


@st.composite
def lines(draw: st.DrawFn, log_format: LogFormat) -> str:
    latency = draw(st.one_of(NUMBERS.map(str), st.sampled_from([outcome.value for outcome in Outcome])))
    words = [
        str(draw(st.integers(0, 10_000))),
        str(draw(NUMBERS)),
        latency,
        str(draw(st.integers(0, 127))),
        str(draw(st.integers(0, 4 * 10**9))),
        str(draw(st.integers(0, 999_999))),
    ]
    words += [str(draw(NUMBERS)) for _ in range(log_format.fields - 6)]
    return " ".join(words) + "\n"


@st.composite
def logs(draw: st.DrawFn) -> tuple[bytes, LogFormat]:
    log_format = draw(st.sampled_from(FORMATS))
    return "".join(draw(st.lists(lines(log_format), max_size=20))).encode(), log_format


@given(logs())
def test_random_logs_match_plain_reader(log: tuple[bytes, LogFormat]) -> None:
    text, log_format = log
    batch = parse_transactions(text, log_format)
    assert Counter(_rows(batch)) == Counter(_read_slowly(text, log_format))
    assert batch.lines == text.count(b"\n")


def _is_log(text: bytes, log_format: LogFormat) -> bool:
    """The grammar of a log, as plainly as a regular expression can say it."""
    outcome = "|".join(outcome.value for outcome in Outcome)
    line = rf"[0-9]+ [0-9]+ ([0-9]{{1,16}}|{outcome})( [0-9]{{1,16}}){{{log_format.fields - 3}}}\n"
    return re.fullmatch(f"({line})*".encode(), text) is not None


def _check(text: bytes, log_format: LogFormat) -> None:
    if _is_log(text, log_format):
        batch = parse_transactions(text, log_format)
        assert Counter(_rows(batch)) == Counter(_read_slowly(text, log_format))
    else:
        with pytest.raises(PgbenchError, match="is damaged at byte"):
            parse_transactions(text, log_format)


@given(logs(), st.data())
def test_changed_byte_parses_or_raises(log: tuple[bytes, LogFormat], data: st.DataObject) -> None:
    text, log_format = log
    assume(text)
    place = data.draw(st.integers(0, len(text) - 1))
    changed = bytearray(text)
    changed[place] = data.draw(st.integers(0, 255) | st.sampled_from(b" \n0123456789sfd"))
    _check(bytes(changed), log_format)


@given(st.binary(max_size=200) | st.text(alphabet="01 \nfaild").map(str.encode), st.sampled_from(FORMATS))
@example(b" \n", LogFormat())
@example(b"\n\n\n\n\n\n", LogFormat())
@example(b"1 2 3 4 5 6", LogFormat())
def test_any_bytes_parse_or_raise(text: bytes, log_format: LogFormat) -> None:
    _check(text, log_format)


GOOD = b"0 1 100 0 1795171066 7\n"


@pytest.mark.parametrize(
    "line",
    [
        b"0 1 100 0 1795171066\n",
        b"0 1 100 0 1795171066 7 8\n",
        b"0  100 0 1795171066 7\n",
        b"0 1 100 0 1795171066 7 \n",
        b" 0 1 100 0 1795171066 7\n",
        b"0\t1 100 0 1795171066 7\n",
        b"0 1 -100 0 1795171066 7\n",
        b"0 1 1.5 0 1795171066 7\n",
        b"0 1 oops 0 1795171066 7\n",
        b"0 1 Failed 0 1795171066 7\n",
        b"0 1 failed2 0 1795171066 7\n",
        b"0 1 fail2d 0 1795171066 7\n",
        b"failed 1 100 0 1795171066 7\n",
        b"0 1 100 0 1795171066 7x\n",
        b"0 1 100 0 1795171066 \xc3\xa4\n",
        b"0 1 100 0 17951710660 1 12\n",
        b"0 1 10000000000000000000 0 1795171066 7\n",
        b"0 1 100 0 1795171066 7\r\n",
        b"0 1 100 0 1795171066 7\0\n",
        b"0 1 100 0 1795171066 7",
        b"\n",
    ],
)
def test_damaged_line_names_file_and_offset(line: bytes) -> None:
    after = GOOD if line.endswith(b"\n") else b""
    with pytest.raises(PgbenchError, match=r"log log\.42\.1 is damaged at byte 1046: b'") as caught:
        parse_transactions(GOOD * 2 + line + after, LogFormat(), file="log.42.1", offset=1000)
    assert "6 fields" in caught.value.hint


def test_two_compensating_damaged_lines() -> None:
    text = b"0 1 100 0 1795171066\n0 1 100 0 1795171066 7 8\n"
    with pytest.raises(PgbenchError, match="at byte 0"):
        parse_transactions(text, LogFormat())
