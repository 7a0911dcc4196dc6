"""Columns of tables as declarations: whoever shows a table chooses columns by their ids, never by place.

A table is a tuple of columns over rows of one type. A terminal, the window, a PDF and a file each show the
cells of the columns that they choose, so that a column put in anywhere changes the meaning of no other one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Generic, TypeAlias, TypeVar

RowT = TypeVar("RowT")
WholeT = TypeVar("WholeT")


class CellKind(StrEnum):
    """What the cells of a column hold, which decides how they are aligned and whether they may be broken."""

    NUMBER = "number"
    NUMBERS = "numbers"
    """Several numbers in a cell, such as a mean with its interval."""
    LABEL = "label"
    """An identity, a date, a word of the program's own."""
    WORDS = "words"


class Alignment(StrEnum):
    """The side on which the cells of a column are in line."""

    LEFT = "left"
    RIGHT = "right"


@dataclass(frozen=True)  # without slots: with them `Column[Row](...)` fails in Python 3.11
class Column(Generic[RowT]):
    """One column of a table.

    Attributes:
        id: unique in its table.
        heading: what people read above it.
        cell: returns the text of a row; empty where there is nothing.
        kind: what its cells hold.
        optional: None for a column that is always shown; else its turn to be left out where there is no room
            for all, the lowest first; no two columns of a table have the same.
        figure: name of the figure of `app.runfile.figures.FIGURES` that it shows: a table with columns for
            figures, intervals included, leaves it out.
    """

    id: str
    heading: str
    cell: Callable[[RowT], str]
    kind: CellKind = CellKind.NUMBER
    optional: int | None = None
    figure: str = ""

    @property
    def alignment(self) -> Alignment:
        """Numbers are in line at the right, whatever else at the left."""
        is_number = self.kind in {CellKind.NUMBER, CellKind.NUMBERS}
        return Alignment.RIGHT if is_number else Alignment.LEFT

    @property
    def breaks(self) -> bool:
        """Whether a cell may take several lines."""
        return self.kind in {CellKind.NUMBERS, CellKind.WORDS}

    def of(self, part: Callable[[WholeT], RowT]) -> Column[WholeT]:
        """Return the same column of a table whose rows hold rows of this one.

        Args:
            part: returns the row in which this column's cell is found.
        """
        cell = self.cell
        return Column(
            self.id, self.heading, lambda whole: cell(part(whole)), self.kind, self.optional, self.figure
        )


AnyColumn: TypeAlias = Column[Any]
"""A column whose rows are of no interest any more, because its cells are made."""


def column_of(columns: Iterable[Column[RowT]], name: str) -> Column[RowT]:
    """Return a column by its id.

    Raises:
        KeyError: there is none.
    """
    return {column.id: column for column in columns}[name]


def choose(columns: Sequence[Column[RowT]], ids: Iterable[str]) -> tuple[Column[RowT], ...]:
    """Return columns by their ids, in the order of these.

    Raises:
        KeyError: there is none of this id.
    """
    known = {column.id: column for column in columns}
    return tuple(known[name] for name in ids)


def without(columns: Sequence[Column[RowT]], ids: Iterable[str]) -> tuple[Column[RowT], ...]:
    """Return all columns but these.

    Raises:
        KeyError: there is none of this id.
    """
    left_out = {column.id for column in choose(columns, ids)}
    return tuple(column for column in columns if column.id not in left_out)


def with_cells(
    columns: Sequence[Column[RowT]], cells: Mapping[str, Callable[[RowT], str]]
) -> tuple[Column[RowT], ...]:
    """Return the same columns, some with cells of the caller's own.

    Args:
        columns: of the table.
        cells: by the id of their column.

    Raises:
        KeyError: there is no column of this id.
    """
    choose(columns, cells)
    return tuple(replace(column, cell=cells.get(column.id, column.cell)) for column in columns)


def texts(columns: Iterable[Column[RowT]], row: RowT) -> dict[str, str]:
    """Return the cells of a row by the ids of their columns."""
    return {column.id: column.cell(row) for column in columns}
