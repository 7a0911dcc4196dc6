"""Transaction logs of others: every good line counts, every bad one is told by file and line."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.errors import ForeignDataError
from app.importers.files import members as lines_module
from app.importers.files.members import (
    MOST_BAD_LINES,
    BadLines,
    ForeignFile,
    file_member,
    read_lines,
    read_text,
)
from app.importers.formats.transaction_logs import (
    is_transaction_line,
    log_format,
    read_transactions,
    survey_log,
)
from app.postgres.pgbench.transaction_log import LogFormat
from tests.transactions import concatenate

RECORDED = Path(__file__).resolve().parents[2] / "data" / "pgbench"
GOOD = b"0 1 900 0 1700000000 250000\n"


def read(text: bytes, bad: BadLines, format_: LogFormat | None = None) -> int:
    batches = read_transactions(io.BytesIO(text), "log.1", format_ or LogFormat(), bad)
    return concatenate(batches).lines


@pytest.mark.parametrize("version", ["13", "14", "15", "16", "17", "18"])
@pytest.mark.parametrize("scenario", ["transactions", "scripts", "rate"])
def test_recorded_logs_line_counts(version: str, scenario: str) -> None:
    paths = [RECORDED / version / f"{scenario}.log", RECORDED / version / f"{scenario}.log.1"]
    members = [file_member(path) for path in paths]
    survey = survey_log(members)
    assert survey is not None
    assert survey.fields == (1 if scenario == "rate" else 0)
    count, bad = 0, BadLines()
    for path in paths:
        count += read(path.read_bytes(), bad, log_format(survey, has_lag=True))
    assert count == sum(path.read_bytes().count(b"\n") for path in paths)
    assert survey.counted == count  # every client counts its transactions from 1
    assert not bad.messages


def test_sampled_log_total_transactions() -> None:
    # 400 transactions of each of two clients, one in ten logged; the recording was cut after 60 lines.
    members = [file_member(RECORDED / "15" / name) for name in ("sampled.log", "sampled.log.1")]
    survey = survey_log(members)
    assert survey is not None
    assert survey.counted > 5 * sum(member.head.count(b"\n") for member in members)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"garbage\n", "cannot parse"),
        (b"0 1 nan 0 1700000000 250000\n", "cannot parse"),
        (b"0 1 900 0 1700000000\n", "cannot parse"),
        (b"0 1 -5 0 1700000000 250000\n", "cannot parse"),
        (b"0 1 900 0 1700000000 250000 3 4 5\n", "cannot parse"),
        (b"\xff\xfe\x00binary\n", "cannot parse"),
        (b"0 1 900 0 170000000 250000\n", "not in seconds since 1970"),
        (b"0 1 900 0 17000000002 50000\n", "cannot parse"),
        (b"\n", "cannot parse"),
    ],
)
def test_bad_line_skipped_with_location(line: bytes, expected: str) -> None:
    bad = BadLines()
    assert read(GOOD * 3 + line + GOOD * 2, bad) == 5
    (only,) = bad.messages
    assert only.startswith("log.1, line 4: ")
    assert expected in only


def test_line_number_after_first_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines_module, "CHUNK_BYTES", 100)
    bad = BadLines()
    assert read(GOOD * 50 + b"bad\n" + GOOD * 50, bad) == 100
    assert bad.messages[0].startswith("log.1, line 51:")


def test_unterminated_last_line_truncated() -> None:
    bad = BadLines()
    assert read(GOOD * 2 + b"0 3 900 0 17000", bad) == 2
    assert bad.messages == ["log.1, line 3: truncated at the end of the file: “0 3 900 0 17000”"]


def test_mixed_crlf_and_lf() -> None:
    bad = BadLines()
    assert read(GOOD + GOOD.replace(b"\n", b"\r\n") + GOOD, bad) == 3
    assert not bad.messages


def test_too_many_bad_lines_refuse_log() -> None:
    with pytest.raises(ForeignDataError, match=r"more than 100 lines"):
        read(GOOD + b"bad\n" * (MOST_BAD_LINES + 1), BadLines())


def test_file_without_line_ends() -> None:
    with pytest.raises(ForeignDataError, match="line 2 is longer than"):
        list(read_lines(io.BytesIO(GOOD + b"x" * 200_000), "log.1"))


def test_a_text_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines_module, "MOST_TEXT_BYTES", 1000)
    with pytest.raises(ForeignDataError, match=r"log\.1 is larger than"):
        read_text(io.BytesIO(b"x\n" * 600), "log.1")


def test_words_instead_of_latencies_are_kept_apart() -> None:
    text = GOOD + b"0 2 skipped 0 1700000001 0\n" + b"0 3 failed 0 1700000001 5\n"
    batch = concatenate(read_transactions(io.BytesIO(text), "log.1", LogFormat(), BadLines()))
    assert (batch.transactions, batch.lines) == (1, 3)
    assert all(is_transaction_line(line) for line in text.splitlines(keepends=True))


def test_optional_field_lag_or_retries_by_summary() -> None:
    member = ForeignFile(Path("x"), "", 1, GOOD.replace(b"\n", b" 12\n"), GOOD.replace(b"\n", b" 12\n"))
    survey = survey_log([member])
    assert survey is not None
    assert log_format(survey, has_lag=True) == LogFormat(has_lag=True)
    assert log_format(survey, has_lag=False) == LogFormat(has_retries=True)
    assert log_format(survey, has_lag=None) == LogFormat(has_lag=True)


def test_files_without_a_whole_line_tell_nothing() -> None:
    assert survey_log([ForeignFile(Path("x"), "", 4, b"1 2 ", b"1 2 ")]) is None


def _pieces(data: bytes, cuts: list[int]) -> Iterator[bytes]:
    begin = 0
    for cut in sorted({min(cut, len(data)) for cut in cuts} | {len(data)}):
        if cut > begin:
            yield data[begin:cut]
        begin = max(begin, cut)


class _Slow:
    """A stream that gives as much as it likes."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces

    def read(self, _size: int, /) -> bytes:
        return next(self._pieces, b"")


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from([GOOD, b"bad\n", GOOD.replace(b"\n", b"\r\n"), b"0 1 failed 0 1700000001 0\n"]),
        max_size=30,
    ),
    st.lists(st.integers(0, 900), max_size=10),
)
def test_every_line_counted_or_reported(parts: list[bytes], cuts: list[int]) -> None:
    bad = BadLines()
    stream = _Slow(_pieces(b"".join(parts), cuts))
    batches = list(read_transactions(stream, "log.1", LogFormat(), bad))
    assert sum(batch.lines for batch in batches) == sum(part != b"bad\n" for part in parts)
    assert [int(text.split("line ")[1].split(":")[0]) for text in bad.messages] == [
        number for number, part in enumerate(parts, 1) if part == b"bad\n"
    ]
