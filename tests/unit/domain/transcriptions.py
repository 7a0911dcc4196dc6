"""Two transcriptions of the same texts laid side by side."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from app.published.figures import PublishedFigure

Cell = tuple[str, str, str]

_NUMBER = re.compile(r"\d+(?:/\d+|(?:[.,]\d+)?k?\b)?|\b(?:two|three|four|five)\b")
_NOT_WORDS = re.compile(r"[^a-z0-9.%~]+")


def numbers_in(text: str) -> tuple[str, ...]:
    """The numbers of a text, decimal points whatever it writes."""
    return tuple(match[0].replace(",", ".") for match in _NUMBER.finditer(text))


def plain(text: str) -> str:
    """A text without what two people copy differently: blanks, quotes, dashes, case."""
    return _NOT_WORDS.sub(" ", text.lower()).strip()


def differences(figures: Iterable[PublishedFigure], second: dict[str, Any]) -> list[str]:
    """What the second transcription of one text has otherwise, or one of the two alone."""
    ours = list(figures)
    return [*_cells(ours, second), *_statements(ours, second)]


def _cells(ours: list[PublishedFigure], second: dict[str, Any]) -> list[str]:
    first: dict[Cell, tuple[str, ...]] = {}
    for figure in ours:
        if figure.place:
            key = (plain(figure.place), plain(figure.row), plain(figure.column))
            first[key] = (*first.get(key, ()), *numbers_in(figure.written))
    other: dict[Cell, tuple[str, ...]] = {}
    for table in second.get("table", ()):
        for heading, *cells in table["rows"]:
            for column, cell in zip(table["columns"], cells, strict=True):
                if numbers_in(cell):
                    key = (plain(table["title"]), plain(heading), plain(column))
                    other[key] = numbers_in(cell)
    return [
        f"{' / '.join(key)}: {first.get(key)} and {other.get(key)}"
        for key in sorted(first.keys() | other.keys())
        if first.get(key) != other.get(key)
    ]


def _statements(ours: list[PublishedFigure], second: dict[str, Any]) -> list[str]:
    left = [figure for figure in ours if not figure.place]
    wrong = []
    for statement in second.get("statement", ()):
        theirs = plain(statement["quotation"])
        for written in statement["numbers"]:
            match = next((each for each in left if _same(each, theirs, written)), None)
            if match is None:
                wrong.append(f"only in the second: {written} in “{statement['quotation'][:60]}”")
            else:
                left.remove(match)
    return [*wrong, *(f"only in the first: {each.written} in “{each.quotation[:60]}”" for each in left)]


def _same(figure: PublishedFigure, theirs: str, written: str) -> bool:
    quotation = plain(figure.quotation)
    return numbers_in(figure.written) == numbers_in(written) and (theirs in quotation or quotation in theirs)
