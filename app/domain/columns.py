"""Declared table columns, selected by id, never by position.

A table is a tuple of columns over rows of one type. A terminal, the window, a PDF and a file each show the
cells of the columns that they select, so that inserting a column does not affect the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Generic, TypeAlias, TypeVar

RowT = TypeVar("RowT")
WholeT = TypeVar("WholeT")


class CellKind(StrEnum):
    """Contents of a column's cells, which determines alignment and line breaks."""

    NUMBER = "number"
    NUMBERS = "numbers"
    """Several numbers in a cell, such as a mean with its interval."""
    LABEL = "label"
    """An identity, a date, or one of the program's own words."""
    WORDS = "words"


class Alignment(StrEnum):
    """Side to which the cells of a column are aligned."""

    LEFT = "left"
    RIGHT = "right"


@dataclass(frozen=True)  # without slots: with them `Column[Row](...)` fails in Python 3.11
class Column(Generic[RowT]):
    """One column of a table.

    Attributes:
        id: unique in its table.
        heading: for users.
        cell: returns the text of a row; empty for no value.
        kind: of its cells.
        optional: None for a column that is always shown; else the order in which columns are dropped if space
            is short, the lowest first; unique within a table.
        figure: name of its figure in `app.runfile.figures.FIGURES`: a table with separate columns for figures
            and intervals omits it.
        is_best: whether the cell of a row is among the best, and bold.
    """

    id: str
    heading: str
    cell: Callable[[RowT], str]
    kind: CellKind = CellKind.NUMBER
    optional: int | None = None
    figure: str = ""
    is_best: Callable[[RowT], bool] | None = None

    @property
    def alignment(self) -> Alignment:
        """Numbers are aligned to the right, all others to the left."""
        is_number = self.kind in {CellKind.NUMBER, CellKind.NUMBERS}
        return Alignment.RIGHT if is_number else Alignment.LEFT

    @property
    def breaks(self) -> bool:
        """Whether a cell may take several lines."""
        return self.kind in {CellKind.NUMBERS, CellKind.WORDS}

    def of(self, part: Callable[[WholeT], RowT]) -> Column[WholeT]:
        """Return the same column for a table of larger rows that contain rows of this one.

        Args:
            part: returns the contained row.
        """
        cell = self.cell
        return Column(
            self.id, self.heading, lambda whole: cell(part(whole)), self.kind, self.optional, self.figure
        )


AnyColumn: TypeAlias = Column[Any]
"""A column with any type of rows, for code that only uses its cells' texts."""


def column_of(columns: Iterable[Column[RowT]], name: str) -> Column[RowT]:
    """Return a column by its id.

    Raises:
        KeyError: there is none.
    """
    return {column.id: column for column in columns}[name]


def choose(columns: Sequence[Column[RowT]], ids: Iterable[str]) -> tuple[Column[RowT], ...]:
    """Return columns by their ids, in the order of the ids.

    Raises:
        KeyError: there is none with this id.
    """
    known = {column.id: column for column in columns}
    return tuple(known[name] for name in ids)


def without(columns: Sequence[Column[RowT]], ids: Iterable[str]) -> tuple[Column[RowT], ...]:
    """Return all columns but these.

    Raises:
        KeyError: there is none with this id.
    """
    left_out = {column.id for column in choose(columns, ids)}
    return tuple(column for column in columns if column.id not in left_out)


def with_cells(
    columns: Sequence[Column[RowT]], cells: Mapping[str, Callable[[RowT], str]]
) -> tuple[Column[RowT], ...]:
    """Return the same columns, with some cells replaced.

    Args:
        columns: of the table.
        cells: by the id of their column.

    Raises:
        KeyError: there is no column with this id.
    """
    choose(columns, cells)
    return tuple(replace(column, cell=cells.get(column.id, column.cell)) for column in columns)


def texts(columns: Iterable[Column[RowT]], row: RowT) -> dict[str, str]:
    """Return the cells of a row by the ids of their columns."""
    return {column.id: column.cell(row) for column in columns}
