"""Published figures: shown only as labelled marks next to the user's own bars.

They never enter a statistic: other hardware, other versions, mostly one run. Every figure names its source
and quotes its sentence or table row. The texts are transcribed in resources/reference, one file each: a
publication, tables ``[machine.ID]``, ``[[table]]`` with rows of cells as printed (a heading, then numbers;
empty if the text has none), and ``[[statement]]`` with a quotation and its figures. ``[column.NAME]`` gives
the meaning of a column's heading, ``[level.ROW]`` the RAID level of a row's heading by filesystem,
``[table.row_options]`` the options of a row. Only their TPS are read.
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
from app.domain.errors import ReferenceDataError
from app.domain.text import tr

REFERENCE: Final = TOP / "resources" / "reference"
TPS: Final = "tps"
"""The measure of figures that are comparable with a run's TPS."""
_NUMBER: Final = re.compile(r"(\d+(?:[.,]\d+)?)(k\b)?", re.ASCII)
_CONTEXT: Final = ("filesystem", "variant", "options", "settings", "raid", "workload", "scale")
_OF_MACHINE: Final = {
    "processor": tr("processor"),
    "memory": tr("memory"),
    "storage": tr("storage"),
    "system": tr("system"),
    "postgresql": "PostgreSQL",
}

Toml = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PublishedFigure:
    """The mean TPS of a text.

    Attributes:
        source: author or subject of the text with the year.
        value: transactions per second.
        quotation: the sentence, or the row of the table below its title and headings.
        conditions: for comparing with it, hardware first, as sentences for users.
        filesystem: lower case; several ones as ``ext4/xfs``.
        variant: one of several configurations of that filesystem, in a word; mostly empty.
        options: of the filesystem, as the text names them.
        settings: of the server, if they differ from the machine's.
        raid: level as `app.domain` spells it (single, stripe, mirror, raid10, raid5, raidz1 ...); else empty.
        workload: select-only, simple-update or tpcb-like of pgbench; empty for anything else.
        scale: pgbench's scale factor.
    """

    source: str
    value: float
    quotation: str
    conditions: tuple[str, ...]
    filesystem: str = ""
    variant: str = ""
    options: str = ""
    settings: str = ""
    raid: str = ""
    workload: str = ""
    scale: int | None = None

    @property
    def label(self) -> str:
        """Source and configuration in a few words, for a mark next to a bar."""
        filesystem = f"{self.filesystem} {self.variant}".strip()
        options = "" if self.variant else self.settings or self.options
        configuration = ", ".join(part for part in (filesystem, self.raid, options) if part)
        return f"{self.source}: {configuration}" if configuration else self.source


@cache
def published_figures(folder: Path = REFERENCE) -> tuple[PublishedFigure, ...]:
    """Return the TPS of every text that ships with the program, by file, in the order of the texts.

    Raises:
        ReferenceDataError: a file cannot be read.
    """
    found: list[PublishedFigure] = []
    for path in sorted(folder.glob("*.toml")):
        try:
            content = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            message = tr("{path} cannot be read: {reason}.")
            raise ReferenceDataError(message.format(path=path, reason=error)) from error
        found += read_reference(content)
    return tuple(found)


def read_reference(content: Toml) -> Iterator[PublishedFigure]:
    """Yield the TPS of one text, tables first."""
    for quotation, written, values in (*_cells(content), *_statements(content)):
        if values["measure"] == TPS:
            yield PublishedFigure(
                source=content["short"],
                value=_value(written),
                quotation=quotation,
                conditions=(*_of_machine(content, values), *content["conditions"], *values["conditions"]),
                **{key: values[key] for key in _CONTEXT if key in values},
            )


def _cells(content: Toml) -> Iterator[tuple[str, str, Toml]]:
    """Yield quotation, number as written and context of every cell; a cell of several runs has several."""
    for table in content.get("table", ()):
        columns = table["columns"]
        for row in table["rows"]:
            quotation = " | ".join((table["title"], *columns)) + " || " + " | ".join(row)
            for column, cell in zip(columns, row[1:], strict=True):
                runs = [part for part in cell.split(" / ") if part]
                for number, written in enumerate(runs, 1):
                    values = _context(content, table, column, row[0])
                    if len(runs) > 1:
                        several = tr("run {number} of {total}").format(number=number, total=len(runs))
                        values["conditions"].append(several)
                    yield quotation, written, values


def _context(content: Toml, table: Toml, column: str, heading: str) -> dict[str, Any]:
    of_column = content.get("column", {}).get(column, {})
    values = {**table, **of_column}
    values["conditions"] = [*table.get("conditions", ()), *of_column.get("conditions", ())]
    match table["rows_are"]:
        case "options":
            values["options"] = heading
        case "scale":
            values["scale"] = int(heading)
        case "number":
            values["options"] = table.get("row_options", {}).get(heading, "")
        case _:
            levels = content.get("level", {}).get(heading, {})
            values["raid"] = levels.get(values.get("filesystem")) or levels.get("other", "")
    return values


def _statements(content: Toml) -> Iterator[tuple[str, str, Toml]]:
    for statement in content.get("statement", ()):
        for figure in statement["figures"]:
            values = {"conditions": (), "machine": statement.get("machine", ""), **figure}
            yield statement["quotation"], figure["written"], values


def _of_machine(content: Toml, values: Toml) -> Iterator[str]:
    machine = content["machine"][values["machine"]] if values["machine"] else {}
    yield from (f"{name}: {machine[key]}" for key, name in _OF_MACHINE.items() if key in machine)
    yield from machine.get("conditions", ())


def _value(written: str) -> float:
    """Return a number as texts write it: ``~7.5k``, ``14,8 tps``.

    Raises:
        ValueError: it is no number, or a range.
    """
    [(digits, thousands)] = _NUMBER.findall(written)
    return float(digits.replace(",", ".")) * (1000 if thousands else 1)
