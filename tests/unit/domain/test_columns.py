"""Columns by their ids: chosen, left out, taken over into another table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from app.cli.commands.import_results import IMPORTED_COLUMNS
from app.cli.commands.runs.show import LIST_COLUMNS
from app.cli.doctor.doctor import OPTION_COLUMNS
from app.comparison.table import COMPARISON_COLUMNS, ComparisonColumn
from app.domain.columns import Alignment, CellKind, Column, choose, column_of, texts, with_cells, without
from app.export.runs import CSV_COLUMNS


@dataclass(frozen=True)
class Disk:
    name: str
    size: int


NAME: Column[Disk] = Column("name", "Name", lambda disk: disk.name, CellKind.WORDS)
SIZE: Column[Disk] = Column("size", "Size", lambda disk: str(disk.size), optional=1)
COLUMNS = (NAME, SIZE)
DISK = Disk("sda", 8)


def test_choose_in_requested_order() -> None:
    assert choose(COLUMNS, ["size", "name"]) == (SIZE, NAME)
    assert column_of(COLUMNS, "size") is SIZE
    assert without(COLUMNS, ["name"]) == (SIZE,)
    assert texts(COLUMNS, DISK) == {"name": "sda", "size": "8"}


def test_missing_column_raises() -> None:
    with pytest.raises(KeyError, match="model"):
        column_of(COLUMNS, "model")
    with pytest.raises(KeyError, match="model"):
        choose(COLUMNS, ["name", "model"])
    with pytest.raises(KeyError, match="model"):
        without(COLUMNS, ["model"])
    with pytest.raises(KeyError, match="model"):
        with_cells(COLUMNS, {"model": lambda disk: disk.name})


def test_column_of_part() -> None:
    def last(disks: list[Disk]) -> Disk:
        return disks[-1]

    whole = tuple(column.of(last) for column in COLUMNS)
    assert texts(whole, [Disk("sdb", 9), DISK]) == texts(COLUMNS, DISK)
    size = column_of(whole, "size")
    assert (size.heading, size.kind, size.optional) == (SIZE.heading, SIZE.kind, SIZE.optional)


def test_with_cells_keeps_others() -> None:
    own = with_cells(COLUMNS, {"name": lambda disk: disk.name.upper()})
    assert texts(own, DISK) == {"name": "SDA", "size": "8"}
    assert texts(COLUMNS, DISK) == {"name": "sda", "size": "8"}


def test_numeric_alignment_and_breaks() -> None:
    found = {kind: Column[Disk]("x", "X", lambda disk: disk.name, kind) for kind in CellKind}
    assert {kind for kind, column in found.items() if column.alignment is Alignment.RIGHT} == {
        CellKind.NUMBER,
        CellKind.NUMBERS,
    }
    assert {kind for kind, column in found.items() if column.breaks} == {CellKind.NUMBERS, CellKind.WORDS}


@pytest.mark.parametrize(
    "columns", [COMPARISON_COLUMNS, CSV_COLUMNS, LIST_COLUMNS, IMPORTED_COLUMNS, OPTION_COLUMNS]
)
def test_unique_ids_headings_and_priorities(columns: tuple[Column[Any], ...]) -> None:
    turns = [column.optional for column in columns if column.optional is not None]
    for found in ([column.id for column in columns], [column.heading for column in columns], turns):
        assert len(set(found)) == len(found)


def test_comparison_ids_have_columns() -> None:
    assert [column.id for column in COMPARISON_COLUMNS] == list(ComparisonColumn)
