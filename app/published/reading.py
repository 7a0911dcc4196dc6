"""Parse a file of resources/reference into its figures; strict, so that mistakes are found.

A file contains a publication (id, short, title, author, publisher, published, year, conditions), tables
``[machine.ID]``, ``[[table]]`` with rows of cells as printed (a heading, then numbers; empty if the text has
none), and ``[[statement]]`` with a quotation and its figures. ``[column.NAME]`` gives the meaning of a
column's heading, ``[level.ROW]`` the RAID level of a row's heading by filesystem, ``[table.row_options]`` the
options of a row. Numbers are written as in the text.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from app import TOP
from app.domain.errors import ReferenceDataError, did_you_mean
from app.domain.text import tr
from app.published.figures import Publication, PublishedFigure, PublishedMachine

# --- Numbers as written in texts: ``~7.5k``, ``14,8 tps``, ``between 5k and 9k``, ``1/2 hour``.


_NUMBER: Final = re.compile(r"(\d+)/(\d+)|(\d+(?:[.,]\d+)?)(k\b)?", re.ASCII)
_WORDS: Final = {"two": 2.0, "three": 3.0, "four": 4.0, "five": 5.0, "six": 6.0}
_ROUGH: Final = re.compile(r"~|\b(?:about|approximately|around|almost|roughly|close to|less than|up to)\b")
_GROUPED: Final = re.compile(r"\d,\d{3}\b", re.ASCII)
_MEANT_UNITS: Final = (
    (re.compile(r"\d\s*(?:MB|MByte)\b", re.ASCII), {"MB/s"}),
    (re.compile(r"\d\s*(?:KB|KByte|kB)\b", re.ASCII), {"kB/s"}),
    (re.compile(r"\d\s*GB\b", re.ASCII), {"GB"}),
    (re.compile(r"\d\s*%", re.ASCII), {"%"}),
    (re.compile(r"\d\s*x\b|\btimes\b|\bfactor\b", re.ASCII), {"x"}),
    (re.compile(r"\d\s*(?:sec|seconds)\b", re.ASCII), {"s"}),
    (re.compile(r"\d\s*hours?\b", re.ASCII), {"h"}),
    (re.compile(r"\d\s*tps\b", re.ASCII), {"1/s"}),
)


@dataclass(frozen=True, slots=True)
class WrittenNumber:
    """A number of a text.

    Attributes:
        value: or the lower end of a range.
        high: upper end of a range, else None.
        is_rough: the text says about, almost, less than ...
    """

    value: float
    high: float | None
    is_rough: bool


def read_number(text: str, unit: str) -> WrittenNumber:
    """Parse a number.

    Args:
        text: one number or a range of two, with or without its unit.
        unit: must agree with a unit in the text.

    Raises:
        ValueError: no number, more than two, a comma that may group thousands, or another unit.
    """
    if _GROUPED.search(text):
        raise ValueError(f"a comma before three digits may mean anything: {text}")
    wrong = [units for pattern, units in _MEANT_UNITS if pattern.search(text) and unit not in units]
    if wrong:
        raise ValueError(f"{text} is not in {unit}")
    values = [_value(match) for match in _NUMBER.finditer(text)]
    values = values or [value for word, value in _WORDS.items() if word in text.split()]
    if len(values) == 1:
        return WrittenNumber(values[0], None, bool(_ROUGH.search(text)))
    if len(values) == 2 and values[0] < values[1]:
        return WrittenNumber(values[0], values[1], bool(_ROUGH.search(text)))
    raise ValueError(f"neither one number nor a range: {text}")


def _value(match: re.Match[str]) -> float:
    if match[1]:
        return int(match[1]) / int(match[2])
    return float(match[3].replace(",", ".")) * (1000 if match[4] else 1)


# --- The files


Toml = Mapping[str, Any]

_CONTEXT: Final[Mapping[str, type]] = {
    "filesystem": str,
    "variant": str,
    "options": str,
    "settings": str,
    "raid": str,
    "workload": str,
    "scale": int,
    "clients": int,
    "duration_s": int,
    "conditions": list,
}
_PUBLICATION: Final[Mapping[str, type]] = {
    "id": str,
    "short": str,
    "title": str,
    "author": str,
    "publisher": str,
    "published": str,
    "year": int,
}
_MACHINE: Final[Mapping[str, type]] = dict.fromkeys(
    ("processor", "memory", "storage", "system", "postgresql"), str
) | {"conditions": list}
_ROWS_ARE: Final = frozenset({"raid", "options", "scale", "number"})
_UNITS: Final = frozenset({"1/s", "%", "x", "s", "h", "MB/s", "kB/s", "GB"})
_YEARS: Final = range(1990, 2101)
_OTHERS: Final = re.compile(r"[^a-z0-9]+")


def read_reference(text: str, name: str) -> tuple[PublishedFigure, ...]:
    """Return all figures of one file, tables first, in the order of the text.

    Args:
        text: TOML.
        name: of the file without its suffix; must be the id in it.

    Raises:
        ReferenceDataError: names the file, the table and the mistake.
    """
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _wrong(name, "", str(error)) from error
    reader = _Reader(name, content)
    figures = (*reader.tables(), *reader.statements())
    seen: set[str] = set()
    for figure in figures:
        if figure.id in seen:
            raise _wrong(name, figure.id, tr("stands twice"))
        seen.add(figure.id)
    return figures


@dataclass(frozen=True, slots=True)
class _Cell:
    """A number with its position."""

    written: str
    id: str
    place: str
    row: str
    column: str
    quotation: str


class _Reader:
    def __init__(self, name: str, content: Toml) -> None:
        self._name = name
        self._content = content
        more = {"conditions": list, "machine": dict, "column": dict, "level": dict}
        lists = {"table": list, "statement": list}
        self._check("", content, {**_PUBLICATION, **more, **lists}, needed=_PUBLICATION)
        self._publication = Publication(
            **{key: content[key] for key in _PUBLICATION},
            conditions=tuple(content.get("conditions", ())),
        )
        if content["id"] != name or content["year"] not in _YEARS:
            raise _wrong(name, "", tr("id is not the name of the file, or the year is none"))
        self._machines = {
            each: self._machine(each, values) for each, values in content.get("machine", {}).items()
        }
        for heading, values in content.get("column", {}).items():
            self._check(f"column.{heading}", values, _CONTEXT)

    def tables(self) -> Iterator[PublishedFigure]:
        kinds = dict.fromkeys(("title", "name", "machine", "measure", "unit", "rows_are"), str)
        needed = dict.fromkeys(("title", "machine", "measure", "unit", "rows_are", "columns", "rows"))
        for table in self._content.get("table", ()):
            where = f"table “{table.get('title', '?')}” {table.get('name', '')}".strip()
            lists = {"columns": list, "rows": list, "row_options": dict}
            self._check(where, table, {**kinds, **lists, **_CONTEXT}, needed=needed)
            if table["rows_are"] not in _ROWS_ARE:
                raise _wrong(self._name, where, f"rows_are: {table['rows_are']}")
            for row in table["rows"]:
                yield from self._row(where, table, row)

    def statements(self) -> Iterator[PublishedFigure]:
        kinds = {**dict.fromkeys(("written", "measure", "unit"), str), **_CONTEXT}
        for number, statement in enumerate(self._content.get("statement", ()), 1):
            where = f"statement {number}"
            self._check(
                where,
                statement,
                {"quotation": str, "machine": str, "figures": list},
                needed={"quotation": str, "figures": list},
            )
            for place, figure in enumerate(statement["figures"], 1):
                self._check(where, figure, kinds, needed=dict.fromkeys(("written", "measure", "unit")))
                if figure["written"] not in statement["quotation"]:
                    message = tr("“{written}” does not stand in the quotation")
                    raise _wrong(self._name, where, message.format(written=figure["written"]))
                told = _Cell(
                    figure["written"],
                    f"{self._name}/statement-{number}/{place}",
                    "",
                    "",
                    "",
                    statement["quotation"],
                )
                yield self._figure(where, told, {**figure, "machine": statement.get("machine", "")})

    def _row(self, where: str, table: Toml, row: object) -> Iterator[PublishedFigure]:
        columns = table["columns"]
        if not isinstance(row, list) or len(row) != 1 + len(columns) or not all(map(_is_text, row)):
            raise _wrong(self._name, where, tr("a row is a heading and as many cells as columns"))
        heading, *cells = row
        quotation = " | ".join((table["title"], *columns)) + " || " + " | ".join(row)
        short = table.get("name") or table["title"]
        for column, cell in zip(columns, cells, strict=True):
            parts = [part for part in cell.split(" / ") if part]
            values = self._cell_context(table, column, heading)
            for number, written in enumerate(parts, 1):
                end = f"/{number}" if len(parts) > 1 else ""
                id_ = "/".join((self._name, _slug(short), _slug(heading), _slug(column))) + end
                told = _Cell(written, id_, table["title"], heading, column, quotation)
                if end:
                    several = tr("run {number} of {count}").format(number=number, count=len(parts))
                    values = {**values, "conditions": [*values["conditions"][:], several]}
                yield self._figure(where, told, values)
                values = self._cell_context(table, column, heading)

    def _cell_context(self, table: Toml, column: str, heading: str) -> dict[str, Any]:
        of_column = self._content.get("column", {}).get(column, {})
        values = {**table, **of_column}
        values["conditions"] = [*table.get("conditions", ()), *of_column.get("conditions", ())]
        if table["rows_are"] == "options":
            values["options"] = heading
        elif table["rows_are"] == "scale":
            values["scale"] = int(heading)
        elif table["rows_are"] == "number":
            values["options"] = table.get("row_options", {}).get(heading, "")
        else:
            levels = self._content.get("level", {}).get(heading, {})
            values["raid"] = levels.get(values.get("filesystem")) or levels.get("other", "")
        return values

    def _figure(self, where: str, cell: _Cell, values: Toml) -> PublishedFigure:
        machine = values.get("machine", "")
        if machine and machine not in self._machines:
            raise _wrong(self._name, where, tr("there is no machine “{id}”").format(id=machine))
        if values["unit"] not in _UNITS:
            raise _wrong(self._name, where, tr("unit “{unit}”").format(unit=values["unit"]))
        try:
            number = read_number(cell.written, values["unit"])
        except ValueError as error:
            raise _wrong(self._name, where, str(error)) from error
        context = {key: values[key] for key in _CONTEXT if key in values and key != "conditions"}
        return PublishedFigure(
            id=cell.id,
            publication=self._publication,
            machine=self._machines.get(machine),
            measure=values["measure"],
            value=number.value,
            high=number.high,
            is_rough=number.is_rough,
            unit=values["unit"],
            written=cell.written,
            place=cell.place,
            row=cell.row,
            column=cell.column,
            quotation=cell.quotation,
            conditions=tuple(values.get("conditions", ())),
            **context,
        )

    def _machine(self, id_: str, values: Toml) -> PublishedMachine:
        self._check(f"machine.{id_}", values, _MACHINE)
        told = {key: value for key, value in values.items() if key != "conditions"}
        return PublishedMachine(id=id_, **told, conditions=tuple(values.get("conditions", ())))

    def _check(
        self,
        where: str,
        values: object,
        kinds: Mapping[str, type],
        needed: Mapping[str, Any] | None = None,
    ) -> None:
        if not isinstance(values, dict):
            raise _wrong(self._name, where, tr("is no table"))
        for key, value in values.items():
            if key not in kinds:
                hint = did_you_mean(key, kinds)
                sentence = tr("unknown key “{key}”. {hint}").format(key=key, hint=hint)
                raise _wrong(self._name, where, sentence.strip())
            if not isinstance(value, kinds[key]) or isinstance(value, bool):
                raise _wrong(self._name, where, tr("“{key}” is of the wrong kind").format(key=key))
            if isinstance(value, list) and key == "conditions" and not all(map(_is_text, value)):
                raise _wrong(self._name, where, tr("conditions are texts"))
        missing = [key for key in needed or () if key not in values or values[key] == ""]
        if missing:
            raise _wrong(self._name, where, tr("lacks {keys}").format(keys=", ".join(missing)))


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _slug(text: str) -> str:
    return _OTHERS.sub("-", text.lower()).strip("-")


def _wrong(name: str, where: str, what: str) -> ReferenceDataError:
    place = f"{name}.toml, {where}" if where else f"{name}.toml"
    return ReferenceDataError(
        tr("Published figures: {place}: {what}.").format(place=place, what=what.rstrip("."))
    )


# --- The published figures that ship with the program: one file per text in resources/reference.


REFERENCE: Final = TOP / "resources" / "reference"


@cache
def published_figures(folder: Path = REFERENCE) -> tuple[PublishedFigure, ...]:
    """Return every figure of every text, by file, in the order of the texts.

    Raises:
        ReferenceDataError: a file cannot be read, or has a mistake, see `read_reference`.
    """
    found: list[PublishedFigure] = []
    for path in sorted(folder.glob("*.toml")):
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeError) as error:
            message = tr("Published figures: {path} cannot be read: {reason}.")
            raise ReferenceDataError(message.format(path=path, reason=error)) from error
        found += read_reference(text, path.stem)
    return tuple(found)
