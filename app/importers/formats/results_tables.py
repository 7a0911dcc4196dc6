"""Tables of results beside the folders of runs, as T. Vondra's scripts write them.

There is no header; a row is ``begin;end;LABELS;scale;mode;tps;seconds;wal_bytes``: begin and end in seconds
since 1970, labels such as RAID level, configuration and filesystem, mode ro or rw, TPS as pgbench printed it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from app.domain.errors import ForeignDataError
from app.domain.text import tr
from app.importers.files.parse_errors import BadLines

_ROW: Final = re.compile(
    r"(\d{9,10});(\d{9,10});((?:[\w .+-]+;)+)(\d{1,9});(ro|rw);"
    r"(\d{1,12}(?:\.\d{1,12})?);(\d{1,9}(?:\.\d{1,12})?);(\d{1,18})",
    re.ASCII,
)
MOST_ROWS: Final = 10_000
_FIRST: Final = re.compile(rb"\d{9,10};\d{9,10};[^\n]*;(?:ro|rw);\d")


@dataclass(frozen=True, slots=True)
class ResultRow:
    """One run.

    Attributes:
        line: number of the line, from 1.
        begin_s: since the epoch, whole seconds.
        end_s: since the epoch, whole seconds.
        labels: what is between the times and the scale.
        scale: of pgbench.
        mode: ro or rw.
        tps: as pgbench printed it.
        seconds: from before the start of pgbench to after its end.
        wal_bytes: written meanwhile.
    """

    line: int
    begin_s: int
    end_s: int
    labels: tuple[str, ...]
    scale: int
    mode: str
    tps: float
    seconds: float
    wal_bytes: int


def is_results(head: bytes) -> bool:
    """Return whether a file begins as such a table."""
    return _FIRST.match(head) is not None


def parse_results(text: str, told: str, bad: BadLines) -> tuple[ResultRow, ...]:
    """Return the rows of a table.

    Raises:
        ForeignDataError: too many rows, or too many lines that are none.
    """
    rows: list[ResultRow] = []
    for number, line in enumerate(text.splitlines(), 1):
        match = _ROW.fullmatch(line.strip())
        if match is None:
            if line.strip():
                bad.add(told, number, line)
            continue
        if len(rows) >= MOST_ROWS:
            message = tr("{file} has more than {count} rows: no benchmark has as many runs.")
            raise ForeignDataError(message.format(file=told, count=MOST_ROWS))
        rows.append(
            ResultRow(
                line=number,
                begin_s=int(match[1]),
                end_s=int(match[2]),
                labels=tuple(match[3].rstrip(";").split(";")),
                scale=int(match[4]),
                mode=match[5],
                tps=float(match[6]),
                seconds=float(match[7]),
                wal_bytes=int(match[8]),
            )
        )
    return tuple(rows)
