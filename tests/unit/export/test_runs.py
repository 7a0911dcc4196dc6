from __future__ import annotations

import csv
import io
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from app.domain.columns import Column
from app.domain.errors import CorruptRunFileError, UsageError
from app.domain.json_value import Json
from app.export.anonymize import Anonymizer
from app.export.runs import CSV_COLUMNS, JSON_KEYS, export_runs, write_csv
from app.library.query import DIMENSIONS
from tests.fix_columns import put_in
from tests.fix_runs import change_run
from tests.fix_window import write_matrix
from tests.made_runs import finished_run, write_run


def table(path: Path) -> list[dict[str, str]]:
    stream = io.StringIO(newline="")
    write_csv([path], stream, Anonymizer.none())
    return list(csv.DictReader(io.StringIO(stream.getvalue(), newline="")))


def test_csv_long_format_from_measured_phase(tmp_path: Path) -> None:
    rows = table(finished_run(tmp_path / "a.footing"))
    assert list(rows[0]) == [*(column.heading for column in CSV_COLUMNS), *DIMENSIONS]
    tps = [row for row in rows if row["metric"] == "pgbench.tps"]
    assert [(row["t_s"], row["value"], row["phase"]) for row in tps] == [
        ("1.000", "100", "measure"),
        ("2.000", "200", "measure"),
        ("3.000", "300", "measure"),
    ]
    p99 = [float(row["value"]) for row in rows if row["metric"] == "latency.p99"]
    assert p99 == pytest.approx([2.0] * 3, rel=0.01)
    counted = [float(row["value"]) for row in rows if row["metric"] == "log.transactions"]
    assert counted == [100, 200, 300]


def test_csv_pivots_in_sql_without_join(tmp_path: Path) -> None:
    stream = io.StringIO(newline="")
    write_csv(write_matrix(tmp_path), stream, Anonymizer.none())
    head, *rows = csv.reader(io.StringIO(stream.getvalue(), newline=""))
    assert head[-1] == "max_wal_size"
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute(f"CREATE TABLE sample ({', '.join(head)})")
        database.executemany(f"INSERT INTO sample VALUES ({', '.join('?' * len(head))})", rows)
        pivot = database.execute(
            "SELECT max_wal_size, round(avg(value) FILTER (WHERE filesystem = 'ext4')),"
            " round(avg(value) FILTER (WHERE filesystem = 'btrfs')) FROM sample"
            " WHERE metric = 'pgbench.tps' AND phase = 'measure' GROUP BY 1"
        ).fetchall()
    assert pivot == [("10GB", 3992, 3226), ("20GB", 3563, 2794), ("40GB", 3024, 2443), ("80GB", 2495, 2016)]


def test_csv_values_carry_run_marks(tmp_path: Path) -> None:
    path = finished_run(tmp_path / "a.footing")
    assert {row["marks"] for row in table(path)} == {"unsafe"}
    change_run(path, "INSERT INTO mark VALUES ('client-bound', 'pgbench needed 98 % of its threads')")
    assert {frozenset(row["marks"].split(" ")) for row in table(path)} == {
        frozenset({"unsafe", "client-bound"})
    }


@pytest.mark.parametrize("place", range(len(CSV_COLUMNS) + 1))
def test_new_csv_column_keeps_others(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, place: int) -> None:
    path = finished_run(tmp_path / "a.footing")
    before = table(path)
    put_in(monkeypatch, CSV_COLUMNS, Column("new", "new", lambda row: f"new {row.metric}"), place)
    after = table(path)
    assert [row.pop("new") for row in after] == [f"new {row['metric']}" for row in before]
    assert after == before


def test_json_holds_series_phases_and_commands(tmp_path: Path) -> None:
    output = tmp_path / "out.json"
    export_runs([finished_run(tmp_path / "a.footing")], output, anonymous=False)
    document = json.loads(output.read_text())
    assert (document["format"], document["version"]) == ("pgfooting-runs", 1)
    (run,) = document["runs"]
    assert run["series"][0]["values"] == [100, 200, 300]
    assert [phase["phase"] for phase in run["phases"]] == ["prepare", "measure"]
    assert run["commands"][0]["argv"][0] == "initdb"
    assert run["path"] == str(tmp_path / "a.footing")


def test_unknown_extension_suggests_nearest(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"\.jsn") as caught:
        export_runs([finished_run(tmp_path / "a.footing")], tmp_path / "out.jsn", anonymous=False)
    assert ".json" in caught.value.hint


def test_unwritable_output_reported(tmp_path: Path) -> None:
    path = finished_run(tmp_path / "a.footing")
    with pytest.raises(UsageError, match="does not exist"):
        export_runs([path], tmp_path / "no" / "out.csv", anonymous=False)


def test_json_keys_match_documentation(tmp_path: Path) -> None:
    output = tmp_path / "out.json"
    values: dict[str, Json] = dict.fromkeys(
        ("configuration", "installation", "postgresql", "settings", "repeat", "io_baseline")
    )
    writer = write_run(tmp_path / "a.footing", values=values)
    writer.close()
    export_runs([tmp_path / "a.footing"], output, anonymous=False)
    document = json.loads(output.read_text())
    top = {name for name in JSON_KEYS if "[]" not in name} | {"runs"}
    assert set(document) == top
    inside = {name.removeprefix("runs[].") for name in JSON_KEYS if name.startswith("runs[].")}
    assert set(document["runs"][0]) == inside


def test_damaged_run_keeps_old_export(tmp_path: Path) -> None:
    path = change_run(finished_run(tmp_path / "a.footing"), "UPDATE histogram SET buckets = x'ffff'")
    output = tmp_path / "out.csv"
    output.write_text("before")
    with pytest.raises(CorruptRunFileError):
        export_runs([path], output, anonymous=False, replace=True)
    assert output.read_text() == "before"
    assert sorted(item.name for item in tmp_path.iterdir()) == ["a.footing", "out.csv"]


def test_infinite_values_left_out(tmp_path: Path) -> None:
    path = change_run(
        finished_run(tmp_path / "a.footing"), "UPDATE sample SET value = 9e999 WHERE t_ms = 3000"
    )
    assert [row["value"] for row in table(path) if row["metric"] == "pgbench.tps"] == ["100", "300"]
    output = tmp_path / "out.json"
    export_runs([path], output, anonymous=False)
    (run,) = json.loads(output.read_text(), parse_constant=pytest.fail)["runs"]
    assert run["series"][0]["values"] == [100, None, 300]


def test_texts_that_cannot_be_encoded_are_escaped(tmp_path: Path) -> None:
    path = change_run(
        finished_run(tmp_path / "a.footing"), "UPDATE run SET value = '\"\\ud800\"' WHERE key = 'name'"
    )
    for ending in ("csv", "json"):
        export_runs([path], tmp_path / f"out.{ending}", anonymous=False)
        assert "\\ud800" in (tmp_path / f"out.{ending}").read_text()
