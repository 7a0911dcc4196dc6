"""Searching the library: what is typed, what it finds, and that nothing typed can break it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.library import query as query_module
from app.library.entries import LibraryEntry
from app.library.query import (
    FIELDS,
    Term,
    count_values,
    haystack,
    matches,
    parse_query,
    write_term,
)

NOON = datetime(2026, 3, 1, 12).astimezone()  # the day that every test here calls today


@pytest.fixture(autouse=True, scope="module")
def _the_day_stands_still() -> Iterator[None]:
    """Tests that began before midnight end on the same day."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(query_module, "_today", NOON.date)
        yield


def entry(**more: object) -> LibraryEntry:
    values: dict[str, object] = {
        "id": "ab",
        "path": "/library/one/01-ext4.footing",
        "name": "ext4 #1",
        "state": "done",
        "campaign": "Four filesystems",
        "filesystem": "ext4",
        "raid": "raid10",
        "postgresql": "15.18",
        "machine": "AMD EPYC, 2 CPUs, 23.5 GiB",
        "kernel": "6.1.0-18-amd64",
        "configuration": "ext4 defaults",
        "workload": "select-only",
        "scale": 250,
        "clients": 16,
        "options": ("noatime", "wal_compression=on", "recordsize=8KiB"),
        "keys": ("clients=16", "rate=500"),
        "tags": ("baseline", "new disks"),
        "started": NOON.timestamp(),
    }
    return LibraryEntry(**{**values, **more})  # type: ignore[arg-type]


def found(query: str, run: LibraryEntry) -> bool:
    return matches(parse_query(query), run, haystack(run))


@pytest.mark.parametrize(
    "query",
    [
        "",
        "   ",
        "ext4",
        "EXT4 four",
        '"four filesystems"',
        "fs:ext4",
        "FS:EXT4",
        "fs:xfs fs:ext4",
        "raid:raid10",
        "pg:15",
        "pg:15.18",
        "machine:epyc",
        "option:noatime",
        "option:wal_compression",
        "option:wal_compression=on",
        "option:noatime option:wal_compression",
        "wal_compression:ON",
        "filesystem:ext4 scale:250 clients:16 transactions:select-only",
        '"ZFS record size":"8 KiB" recordsize:8kib "target rate":500',
        "rate:500 rate:900 kernel:6.1 configuration:ext4",
        "tag:baseline",
        'tag:"new disks"',
        "date:today",
        "date:1d",
        "date:30d",
        f"date:{NOON:%Y}",
        f"date:{NOON:%Y-%m}",
        f"date:{NOON:%Y-%m-%d}",
        "-fs:xfs",
        "-zfs",
        "fs:ext4 -state:failed",
        "fs:",
        "01-ext4.footing",
    ],
)
def test_a_run_is_found(query: str) -> None:
    assert found(query, entry())


@pytest.mark.parametrize(
    "query",
    [
        "xfs",
        "ext4 xfs",
        "fs:ext",
        "raid:raid1",
        "pg:1",
        "pg:15.1",
        "option:atime",
        "option:noatime option:nobarrier",
        "scale:25",
        "rate:50",
        "fillfactor:90",
        "tag:base",
        "tag:baseline tag:other",
        "date:yesterday",
        f"date:{int(f'{NOON:%Y}') - 1}",
        "date:soon",
        "-ext4",
        "-fs:ext4",
        "fs:ext4 state:failed",
    ],
)
def test_a_run_is_not_found(query: str) -> None:
    assert not found(query, entry())


def test_unknown_values_not_found() -> None:
    bare = LibraryEntry(None, "/x/broken.footing", "broken", "unreadable", problem="It is damaged.")
    for field in FIELDS.values():
        assert not found(f"{field.id}:ext4", bare)
        assert found(f"-{field.id}:ext4", bare)
    assert found("damaged", bare)


def test_impossible_date_not_found() -> None:
    assert not found("date:30d", entry(started=1e300))


def test_days_back_begin_with_today() -> None:
    before = NOON - timedelta(days=7)
    assert not found("date:7d", entry(started=before.timestamp()))
    assert found("date:8d", entry(started=before.timestamp()))


def test_colon_without_field_and_open_quote() -> None:
    assert found("nvme:0 a/b:c", entry(name="a/b:c on NVMe:0"))
    assert not found("nvme:1", entry(name="nvme:0"))
    assert parse_query('tag:"new disks') == (Term("tag", "new disks"),)
    assert parse_query("- -x") == (Term("", "-"), Term("", "x", excluded=True))


@given(st.text(max_size=60))
def test_nothing_typed_breaks_the_search(typed: str) -> None:
    found(typed, entry())


@given(st.sampled_from(sorted(FIELDS)), st.text(min_size=1, max_size=30).filter(lambda text: text.strip()))
def test_written_term_round_trip(field: str, value: str) -> None:
    plain = " ".join(value.replace('"', " ").split())
    if plain:
        assert parse_query(write_term(field, plain)) == (Term(field, plain.casefold()),)


def test_values_are_counted_the_most_frequent_first() -> None:
    runs = [entry(), entry(filesystem="xfs"), entry(), entry(filesystem=None)]
    assert count_values(FIELDS["fs"], runs) == [("ext4", 2), ("xfs", 1)]
    assert dict(count_values(FIELDS["tag"], runs)) == {"baseline": 4, "new disks": 4}
