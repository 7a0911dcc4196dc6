"""The small CSV for anything else: read as documented, every slip an error with its line."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

from app.domain.errors import ForeignDataError
from app.importers.formats.time_tables import COLUMNS, KEYS, TimeTable, is_time_table, read_time_table
from app.importers.importing import import_paths
from app.library.entries import read_entry
from app.runfile.reader import RunFile

EXAMPLE = Path(__file__).resolve().parents[3] / "resources" / "import" / "example.csv"
HEAD = "# name: x\nt_s,tps\n"


def read(text: str) -> TimeTable:
    return read_time_table(io.BytesIO(text.encode()), "x.csv")


def test_shipped_example_imports_as_documented(tmp_path: Path) -> None:
    report = import_paths([EXAMPLE], tmp_path, lambda _done, _total, _what: None)
    (imported,) = report.imported
    assert imported.name == "ext4 on four disks #1"
    assert imported.tps == 7707.1
    entry = read_entry(imported.path)
    assert (entry.filesystem, entry.raid, entry.scale, entry.clients) == ("ext4", "stripe", 1000, 16)
    with RunFile(imported.path) as run:
        t_ms, tps = run.samples("pgbench.tps")
        assert t_ms.tolist() == [1000.0, 2000.0, 3000.0, 4000.0, 5000.0]
        assert tps.tolist() == [7712.0, 7689.0, 7744.0, 7683.4, 7707.0]
        assert run.samples("latency.p99")[1].tolist() == [9.1, 9.4, 8.8, 9.0]  # one cell is empty
        assert run.values["installation"]["version"] == "16.4"  # type: ignore[index,call-overload]
    assert ("machine", "no file contains it") in imported.missing


def test_example_names_all_keys_and_columns() -> None:
    text = EXAMPLE.read_text()
    assert all(key in text for key in KEYS)
    assert all(column in text for column in COLUMNS)


def test_missing_mean_computed_from_seconds(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("t_s;tps\n2;100\n3;400\n")
    report = import_paths([tmp_path / "x.csv"], tmp_path / "library", lambda _done, _total, _what: None)
    assert report.imported[0].tps == 200


def test_tabs_semicolons_quotes_and_crlf() -> None:
    table = read('\ufeff# a comment\r\n"t_s"\t"tps"\r\n1\t"5"\r\n2\t\r\n')
    assert table.t_s.tolist() == [1.0, 2.0]
    assert table.series["pgbench.tps"][0] == 5
    assert np.isnan(table.series["pgbench.tps"][1])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# scal: 5\nt_s,tps\n1,1\n", "line 1: “scal” is unknown"),
        ("# scale: many\nt_s,tps\n1,1\n", "line 1: scale cannot be many"),
        ("t_s,tpm\n1,1\n", "line 1: “tpm” is unknown"),
        ("t_s,tps,tps\n1,1,1\n", "line 1: a column occurs twice"),
        (HEAD + "1,5\n2\n", "line 4: 1 cells instead of 2"),
        (HEAD + "1,nan\n", "line 3: tps cannot be nan"),
        (HEAD + "1,-5\n", "line 3: tps cannot be -5"),
        (HEAD + "1,inf\n", "line 3: tps cannot be inf"),
        (HEAD + "1,fast\n", "line 3: tps cannot be fast"),
        (HEAD + "1,5\n1,6\n", "line 4: t_s does not increase"),
        (HEAD + "0,5\n", "line 3: t_s does not increase"),
        (HEAD + "1000,5\n2000,5\n", "line 3: t_s jumps from 0.0 to 1000"),
        (HEAD + "1662551842,5\n", "line 3: t_s jumps"),
        (HEAD, "no rows"),
    ],
)
def test_error_reported_with_line(text: str, expected: str) -> None:
    with pytest.raises(ForeignDataError, match=r"x\.csv") as caught:
        read(text)
    assert expected in caught.value.message


def test_errors_say_what_is_meant() -> None:
    with pytest.raises(ForeignDataError) as caught:
        read(HEAD + "1000,5\n")
    assert "not milliseconds" in caught.value.hint
    with pytest.raises(ForeignDataError) as caught:
        read("t_s,latency_p99_us\n1,1\n")
    assert "latency_p99_ms" in caught.value.hint


def test_table_without_tps(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("t_s,latency_mean_ms\n1,5\n")
    report = import_paths([tmp_path / "x.csv"], tmp_path / "library", lambda _done, _total, _what: None)
    assert not report.imported
    assert "neither a column tps nor" in report.problems[0].reason


def test_such_tables_are_known_by_their_header() -> None:
    assert is_time_table(b"# anything: here\n\nt_s,tps\n")
    assert not is_time_table(b"time,tps\n")
