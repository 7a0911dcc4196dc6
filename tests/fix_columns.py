"""Columns put into a table wherever the program holds it, and tables read back by their headings."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import pytest

from app.domain.columns import Column, RowT

Shown = dict[str, list[str]]
"""Cells by heading, from the first row to the last."""


def put_in(
    monkeypatch: pytest.MonkeyPatch,
    registry: tuple[Column[RowT], ...],
    column: Column[RowT],
    place: int,
) -> None:
    """Put a column into a table before the one at `place`, in every module that has imported the table."""
    longer = (*registry[:place], column, *registry[place:])
    for module in [module for name, module in sys.modules.items() if name.partition(".")[0] in {"app", "ui"}]:
        for name, value in list(vars(module).items()):
            if value is registry:
                monkeypatch.setattr(module, name, longer)


def printed_table(text: str, first: str, rows: int) -> Shown:
    """Return the table of so many rows that begins with the heading `first`, as it is printed into a pipe.

    Columns are what is parted by two blanks in every line, so that an empty cell is one as well.
    """
    lines = text.splitlines()
    begin = next(number for number, line in enumerate(lines) if line.lstrip().startswith(first))
    kept = lines[begin : begin + 1 + rows]
    width = max(map(len, kept))
    kept = [line.ljust(width) for line in kept]
    found: Shown = {}
    for left, right in _spans([all(line[place] == " " for line in kept) for place in range(width)]):
        heading, *cells = (line[left:right].strip() for line in kept)
        found[heading] = cells
    return found


def _spans(blank: Sequence[bool]) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    for place, is_blank in enumerate(blank):
        if is_blank:
            continue
        if spans and place - spans[-1][1] < 2:
            spans[-1] = (spans[-1][0], place + 1)
        else:
            spans.append((place, place + 1))
    return spans
