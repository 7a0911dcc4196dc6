"""Which tests share a guest, what the short tier runs, and how reports come out of a guest."""

from __future__ import annotations

import json
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.machine.batches import MARK, Inside, ReportReader, guests_at_once, parts, smallest_cover
from tests.machine.coverage_table import Row, table

TESTS = st.lists(st.text("abcdef", min_size=1, max_size=4), unique=True, max_size=40)
SECONDS = st.dictionaries(st.text("abcdef", min_size=1, max_size=4), st.floats(0.1, 100.0), max_size=40)
ONE, TWO = Inside(("virtio:1G",)), Inside(("virtio:1G",), group="two")


@given(TESTS, TESTS, SECONDS, st.integers(1, 4))
def test_each_test_in_one_part(
    first: list[str], second: list[str], seconds: dict[str, float], guests: int
) -> None:
    wanted = {inside: tests for inside, tests in ((ONE, first), (TWO, second)) if tests}
    found = parts(wanted, seconds, guests)
    for inside, tests in wanted.items():
        assert sorted(chain.from_iterable(part.tests for part in found if part.inside == inside)) == sorted(
            tests
        )
    assert all(part.tests for part in found)


def test_short_tests_need_no_second_guest() -> None:
    tests = [f"test_{number}" for number in range(40)]
    assert len(parts({ONE: tests}, dict.fromkeys(tests, 5.0), 2)) == 1
    assert len(parts({ONE: tests}, dict.fromkeys(tests, 15.0), 2)) == 2


def test_balanced_parts_longest_first() -> None:
    seconds = {f"test_{number}": float(number) for number in range(1, 41)}
    loads = [sum(seconds[test] for test in part.tests) for part in parts({ONE: list(seconds)}, seconds, 2)]
    assert loads == sorted(loads, reverse=True)
    assert loads[0] - loads[-1] <= 2


@given(
    st.dictionaries(
        st.text("abcdef", min_size=1, max_size=3), st.sets(st.integers(0, 20).map(str)), max_size=30
    )
)
def test_short_tier_covers_everything(covers: dict[str, set[str]]) -> None:
    chosen = smallest_cover(covers, {})
    assert chosen <= covers.keys()
    assert set().union(*(covers[test] for test in chosen)) == set().union(*covers.values())
    for test in chosen:
        assert covers[test], "a test that covers nothing is not chosen"


def test_short_tier_prefers_coverage_per_second() -> None:
    covers = {"slow": {"ext4", "mirror"}, "ext4": {"ext4"}, "mirror": {"mirror"}}
    assert smallest_cover(covers, {"slow": 10.0, "ext4": 1.0, "mirror": 1.0}) == {"ext4", "mirror"}
    assert smallest_cover(covers, {"slow": 1.0, "ext4": 1.0, "mirror": 1.0}) == {"slow"}
    needless = {"first": {"ext4", "mirror"}, "left": {"ext4", "xfs"}, "right": {"mirror", "f2fs"}}
    assert smallest_cover(needless, {"first": 0.9}) == {"left", "right"}


@pytest.mark.long
@given(
    st.lists(st.dictionaries(st.text(max_size=5), st.text(max_size=20), max_size=3), max_size=5), st.data()
)
def test_reports_split_from_any_output_chunks(reports: list[dict[str, str]], data: st.DataObject) -> None:
    stream = b"dots ...\n" + b"".join(
        MARK.encode() + json.dumps(each).encode() + b"\n..." for each in reports
    )
    received: list[dict[str, str]] = []
    reader = ReportReader(received.append)
    while stream:
        cut = data.draw(st.integers(1, len(stream)))
        reader.feed(stream[:cut])
        stream = stream[cut:]
    assert received == reports
    assert bytes(reader.other) == b"dots ...\n" + b"..." * len(reports)


def test_there_is_always_room_for_one_guest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGFOOTING_GUESTS", "")
    assert guests_at_once() >= 1
    monkeypatch.setenv("PGFOOTING_GUESTS", "1")
    assert guests_at_once() == 1


def test_table_column_per_kind() -> None:
    rows = [
        Row(("filesystem xfs", "level mirror"), 12.34, "passed"),
        Row(("filesystem ext4", "preset the seeds'"), 3.0, "FAILED"),
    ]
    assert table(rows).splitlines() == [
        "filesystem  level   preset      seconds  result",
        "ext4        -       the seeds'  3.0      FAILED",
        "xfs         mirror  -           12.3     passed",
    ]
