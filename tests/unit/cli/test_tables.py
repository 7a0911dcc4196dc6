"""Tables of commands: columns keep their meaning, narrow terminals lose the right ones."""

from __future__ import annotations

import argparse
import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from rich.console import Console

from app.cli.commands.runs.show import LIST_COLUMNS, list_command
from app.cli.terminal.tables import print_grid, print_pairs, print_table
from app.domain.columns import CellKind, Column
from app.library.entries import LibraryEntry
from tests.fix_columns import Shown, printed_table, put_in
from tests.fix_window import Trial, write_trial


@dataclass(frozen=True)
class Run:
    name: str
    tps: int
    note: str = ""


COLUMNS: tuple[Column[Run], ...] = (
    Column("name", "Name", lambda run: run.name, CellKind.WORDS),
    Column("tps", "TPS", lambda run: f"{run.tps:,}", optional=2),
    Column("start", "Start", lambda run: "2026-11-22", CellKind.LABEL, optional=1),
    Column("note", "Note", lambda run: run.note, CellKind.WORDS),
)
RUNS = (Run("ext4", 12345), Run("xfs \x1b[2J", 9))


def printed(width: int | None, columns: tuple[Column[Run], ...] = COLUMNS) -> str:
    output = io.StringIO()
    console = (
        Console(file=output)
        if width is None
        else Console(file=output, force_terminal=True, width=width, color_system=None)
    )
    print_table(console, columns, RUNS)
    return output.getvalue()


def test_cells_aligned_empty_columns_dropped() -> None:
    assert printed(None).splitlines() == [
        "Name            TPS  Start",
        "ext4         12,345  2026-11-22",
        r"xfs \x1b[2J       9  2026-11-22",
    ]


def test_narrow_terminal_drops_and_names_columns() -> None:
    assert "Hidden columns" not in printed(40)
    assert "Hidden columns: Start. A wider terminal shows them." in " ".join(printed(24).split())
    assert "Hidden columns: Start, TPS. A wider terminal" in " ".join(printed(14).split())
    turned = " ".join(printed(24, tuple(reversed(COLUMNS))).split())
    assert "Hidden columns: Start. A wider terminal shows them." in turned, "whatever their order"


def test_wide_tables_continue_below() -> None:
    numbers = (Column[Run](word, f"{word} of it", lambda run: f"{run.tps:,}") for word in ("one", "two"))
    assert [line.rstrip() for line in printed(18, (COLUMNS[0], *numbers)).splitlines()] == [
        "Name     one of it",
        "ext4        12,345",
        "xfs              9",
        r"\x1b[2J",
        "Name     two of it",
        "ext4        12,345",
        "xfs              9",
        r"\x1b[2J",
    ]


def test_rows_without_headings_aligned() -> None:
    output = io.StringIO()
    print_grid(Console(file=output), COLUMNS[:2], RUNS)
    print_pairs(Console(file=output), [("a", "1"), ("longer", "")])
    print_grid(Console(file=output), COLUMNS, [])
    assert output.getvalue().splitlines() == [
        "ext4         12,345",
        r"xfs \x1b[2J       9",
        "a       1",
        "longer",
    ]


# --- a column more --------------------------------------------------------------------------------


@pytest.fixture
def listed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Callable[[str], Shown]:
    """Return what prints the list of two runs, which begins with the heading that is handed over."""
    write_trial(tmp_path / "a.footing", Trial())
    write_trial(tmp_path / "b.footing", Trial("xfs #1", "xfs", tps=2345.0, marks=(("unsafe", "x"),)))

    def read(first: str) -> Shown:
        list_command(argparse.Namespace(library=tmp_path, words=[], json=False))
        return printed_table(capsys.readouterr().out, first, rows=2)

    return read


@pytest.mark.parametrize("place", range(len(LIST_COLUMNS) + 1))
def test_new_column_keeps_others_in_place(
    monkeypatch: pytest.MonkeyPatch, listed: Callable[[str], Shown], place: int
) -> None:
    before = listed("Id")
    assert sorted(before["Marks"]) == ["", "unsafe"]
    assert sorted(before["TPS, whole run"]) == ["1,000", "2,345"]
    new = Column[LibraryEntry]("new", "Inserted", lambda entry: f"new {entry.name}", CellKind.LABEL)
    put_in(monkeypatch, LIST_COLUMNS, new, place)
    after = listed("Id" if place else "Inserted")
    assert after.pop("Inserted") == [f"new {name}" for name in before["Run"]]
    assert after == before
