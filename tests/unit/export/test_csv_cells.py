from __future__ import annotations

import csv
import io
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from app.export.runs import escape_formula, export_runs, write_rows
from tests.cases import each_case
from tests.made_runs import finished_run

FORMULAS = (
    "=1+1",
    "=cmd|' /C calc'!A1",
    "+1+1",
    "-1+1",
    "-cmd",
    "@SUM(1)",
    "\t=1",
    "\r=1",
    "\n=1",
    "  =1",
    "\N{NO-BREAK SPACE}=1",
    "\ufeff=1",
    "\u200b=1",
    "\N{FULLWIDTH EQUALS SIGN}1",
    "\N{FULLWIDTH PLUS SIGN}1",
    "\N{FULLWIDTH HYPHEN-MINUS}x",
    "\N{FULLWIDTH COMMERCIAL AT}x",
    "\N{SMALL EQUALS SIGN}1",
    "\N{MINUS SIGN}x",
    "a;=1",
    "a,=1",
    "a\t=1",
    "a|=1",
    'a"=1',
    'a","=1',
    "a\n=1",
    "a\r\n@x",
    "'=1",
    "x; \N{FULLWIDTH EQUALS SIGN}1",
)
PLAIN = (
    *("", "ext4", "ext4 #1", "a-b", "a=b", "jo@example.org", "1e-3", "-1.5", "+2", "-0", ".5", "-.5e-3"),
    *("-1.5 %", "+1,234.5 %", "-3%"),
    *("7.", "a; -1.5", "1,-5", "2026-11-22", "x +y", "don't", "RAID 10 (near)"),
)


def cells(text: str, delimiter: str) -> list[str]:
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    return [cell for row in rows for cell in row]


def is_computed(cell: str) -> bool:
    """Whether a spreadsheet would compute a cell: it begins like a formula and is no number."""
    begun = cell.strip().strip("\ufeff\u200b").strip()
    try:
        float(begun)
    except ValueError:
        return begun[:1] in set("=+-@") | set(
            "\N{FULLWIDTH EQUALS SIGN}\N{FULLWIDTH PLUS SIGN}\N{FULLWIDTH HYPHEN-MINUS}"
            "\N{FULLWIDTH COMMERCIAL AT}\N{SMALL EQUALS SIGN}\N{MINUS SIGN}"
        )
    return False


@pytest.mark.parametrize("text", FORMULAS)
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_no_cell_is_a_formula(text: str, delimiter: str) -> None:
    stream = io.StringIO(newline="")
    write_rows(stream, [["a", text, 5]])
    found = cells(stream.getvalue(), delimiter)
    assert found
    assert not [cell for cell in found if is_computed(cell)]
    assert escape_formula(text) != text


@each_case("text", PLAIN)
def test_numbers_and_plain_text_unchanged(text: str) -> None:
    assert escape_formula(text) == text


@pytest.mark.parametrize("value", [-1.5, -3, 0.25, None, True])
def test_non_text_unchanged(value: object) -> None:
    assert escape_formula(value) is value


def test_exported_run_numbers_without_formulas(tmp_path: Path) -> None:
    path = finished_run(tmp_path / "a.footing")
    name = "=cmd|' /C calc'!A1"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE run SET value = ? WHERE key IN ('name', 'id')", (json.dumps(name),))
        connection.execute("UPDATE series SET instance = '@SUM(1)', unit = '+1+1'")
        connection.execute("UPDATE sample SET value = -1.5 WHERE t_ms = 3000")
    export_runs([path], tmp_path / "out.csv", anonymous=False)
    text = (tmp_path / "out.csv").read_text()
    assert not [cell for cell in cells(text, ",") if is_computed(cell)]
    rows = list(csv.DictReader(io.StringIO(text)))
    assert {row["run"] for row in rows} == {"'" + name}
    assert "-1.5" in {row["value"] for row in rows}
    assert all(float(row["t_s"]) and float(row["value"]) for row in rows)
