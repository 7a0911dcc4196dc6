"""Statistics that a loop of psql wrote: counters become rates, resets and gaps are left out."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from app.domain.errors import ForeignDataError
from app.importers.files.members import BadLines
from app.importers.formats.server_statistics import ServerStatistics, is_statistics, read_statistics

RUN = Path(__file__).resolve().parents[2] / "data/import/vondra-2022/i5/20220907-mdraid/0/xfs/1000/run-rw-1"


def read(text: str, bad: BadLines | None = None) -> ServerStatistics | None:
    return read_statistics(io.BytesIO(text.encode()), "stat.csv", bad or BadLines())


def values(statistics: ServerStatistics | None, metric: str) -> list[float]:
    assert statistics is not None
    return next(each.values.tolist() for each in statistics.series if each.metric == metric)


def test_pg_stat_database_commits_and_blocks() -> None:
    with (RUN / "stat-database.csv").open("rb") as file:
        statistics = read_statistics(file, "stat-database.csv", BadLines())
    commits = values(statistics, "server.commits")
    assert len(commits) == 59
    assert sum(commits[5:]) / len(commits[5:]) == pytest.approx(7000, rel=0.2)
    assert statistics is not None
    assert statistics.utc_offset_s == 7200  # 13:57:22.391218+02
    assert statistics.begin_s == 1662551842.391218


def test_pg_stat_bgwriter_wal_bytes() -> None:
    with (RUN / "stat-bgwriter.csv").open("rb") as file:
        statistics = read_statistics(file, "stat-bgwriter.csv", BadLines())
    wal = values(statistics, "wal.bytes")
    # From LSN 10/26E550B8 on; the first second wrote 0x5C59FCF - ... bytes: just that the unit is bytes.
    assert 1e7 < wal[0] < 1e9
    assert statistics is not None
    assert (
        next(each.source for each in statistics.series if each.metric == "wal.bytes")
        == "pg_current_wal_lsn()"
    )


def test_rates_use_elapsed_time() -> None:
    found = read("epoch|xact_commit\n100.0|0\n102.0|300\n102.5|400\n")
    assert values(found, "server.commits") == [150.0, 200.0]


def test_counter_reset_and_stopped_clock() -> None:
    found = read("epoch|xact_commit\n100|500\n101|600\n102|10\n102|50\n103|110\n")
    assert values(found, "server.commits") == [100.0, 60.0]


def test_rare_counters_only_on_change() -> None:
    found = read("epoch;lsn;checkpoints_timed\n100;0/0;1\n101;0/10;1\n102;1/0;2\n")
    assert values(found, "server.checkpoints_timed") == [1.0]
    assert values(found, "wal.bytes") == [16.0, 2**32 - 16]


def test_busiest_of_several_databases() -> None:
    found = read("epoch,datname,xact_commit\n100,postgres,5\n100,test,0\n101,postgres,6\n101,test,90\n")
    assert values(found, "server.commits") == [90.0]
    assert found is not None
    assert "2 databases" in found.note
    assert "test" in found.note


@pytest.mark.parametrize("row", ["101|x", "101", "nan|5", "101|inf", "101|5|6"])
def test_bad_row_by_file_and_line(row: str) -> None:
    bad = BadLines()
    found = read(f"epoch|xact_commit\n100|0\n{row}\n102|20\n", bad)
    assert values(found, "server.commits") == [10.0]
    assert bad.messages[0].startswith("stat.csv, line 3: cannot parse")


def test_repeated_header_is_no_row() -> None:
    bad = BadLines()
    assert values(read("epoch|xact_commit\n100|0\nepoch|xact_commit\n101|7\n", bad), "server.commits") == [
        7.0
    ]
    assert not bad.messages


def test_fewer_than_two_rows_or_empty() -> None:
    assert read("epoch|xact_commit\n100|0\n") is None
    assert read("epoch|xact_commit\n") is None
    with pytest.raises(ForeignDataError, match=r"stat\.csv: fewer"):
        read("")


def test_such_tables_are_known_by_their_header() -> None:
    assert is_statistics(b"run|epoch|ts|lsn|checkpoints_timed\n")
    assert is_statistics(b"epoch;xact_commit\r\n1;2\r\n")
    assert not is_statistics(b"epoch;temperature\n")
