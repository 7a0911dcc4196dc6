"""The lines that `machine.sh` prints, and the reader that finds them in whatever a far side sends. Pure.

``pgfooting TOKEN KIND`` and fields behind tabs. The token is chosen by who asks, for one connection: what a
login shell, a message of the day or a program in between prints is none of ours. Everything is bounded, and
nothing that could steer a terminal is let through: the far side may be anybody.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from app.probes.base.ssh import harmless

FORMAT: Final = "1"
"""What the first line of a far side names; another one is not understood."""

LONGEST_LINE: Final = 16384
"""Bytes; of a longer line nothing is kept."""

_MOST_FIELDS: Final = 200


class LineKind(StrEnum):
    """What a line tells, with its fields."""

    HELLO = "H"
    """Format, system: the first line."""
    FACT = "F"
    """Name, value."""
    DEVICE = "D"
    """Device, name, value."""
    PROPERTY = "P"
    """Of which ZFS thing, name, value."""
    OUTPUT = "O"
    """Of which program, a line of what it printed for the facts."""
    LIVE = "L"
    """Of which program, a line of what it prints every second."""
    SAMPLE = "S"
    """Number of the request, ``name=value`` each."""
    CLOCK = "C"
    """Number of the request, seconds since 1970."""
    END = "E"
    """Which answer is complete."""


_FEWEST_FIELDS: Final = {
    LineKind.HELLO: 2,
    LineKind.FACT: 2,
    LineKind.DEVICE: 3,
    LineKind.PROPERTY: 3,
    LineKind.OUTPUT: 2,
    LineKind.LIVE: 2,
    LineKind.SAMPLE: 1,
    LineKind.CLOCK: 2,
    LineKind.END: 1,
}


@dataclass(frozen=True, slots=True)
class RemoteLine:
    """One line that was understood.

    Attributes:
        kind: what it tells.
        fields: at least as many as `LineKind` says, of printable text.
    """

    kind: LineKind
    fields: tuple[str, ...]


def parse_line(line: bytes, token: str) -> RemoteLine | None:
    """Return what a line tells; None where it is not of the program with this token."""
    head, *fields = line.split(b"\t", _MOST_FIELDS)
    words = head.split(b" ")
    if len(words) != 3 or words[0] != b"pgfooting" or words[1] != token.encode():
        return None
    try:
        kind = LineKind(words[2].decode("ascii", "replace"))
    except ValueError:
        return None
    if not _FEWEST_FIELDS[kind] <= len(fields) <= _MOST_FIELDS:
        return None
    return RemoteLine(kind, tuple(harmless(field.decode("utf-8", "replace")) for field in fields))


class LineReader:
    """Cuts what arrives into lines; holds at most one of them.

    Attributes:
        foreign: how many lines were not ours, or too long.
    """

    def __init__(self, token: str) -> None:
        self.foreign = 0
        self._token = token
        self._mark = f"pgfooting {token} ".encode()
        self._begun = bytearray()
        self._too_long = False

    def feed(self, part: bytes) -> list[RemoteLine]:
        """Take what arrived and return the lines that are complete now.

        Only what begins as ours does is looked at: a shell that prints without an end (``yes``) sends two
        million lines before that is more than an answer can be, which must not take as long as a timeout.
        """
        first, *more = part.split(b"\n")
        self._add(first)
        if not more:
            return []
        found = self._finish()
        *whole, last = more
        ours = [line for line in whole if line.startswith(self._mark)]
        self.foreign += len(whole) - len(ours)
        for line in ours:
            self._add(line)
            found += self._finish()
        self._add(last)
        return found

    def _add(self, part: bytes) -> None:
        if self._too_long or len(self._begun) + len(part) > LONGEST_LINE:
            self._too_long = True
            self._begun.clear()
        else:
            self._begun += part

    def _finish(self) -> list[RemoteLine]:
        line = None if self._too_long else parse_line(bytes(self._begun.removesuffix(b"\r")), self._token)
        self._begun.clear()
        self._too_long = False
        if line is None:
            self.foreign += 1
            return []
        return [line]
