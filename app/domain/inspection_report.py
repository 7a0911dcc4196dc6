"""Report of a disk's inspection: facts, and sentences for users.

A disk is only called blank for the inspected parts: the sentence says which those are, and what may go
undetected.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from typing import Any, Final

from app.domain.text import number_text, tr
from app.domain.units import GIB, MIB, format_duration, format_size

_LEAST_S: Final = 2.0
"""Before that the speed of a disk is unknown."""


@dataclass(frozen=True, slots=True)
class InspectionReport:
    """The parts of a disk that root inspected.

    Attributes:
        edge_bytes: size of each end, which is read completely.
        places: number of places between the ends that were read, or compared with pgFooting's own data.
        place_bytes: size of each place.
        certain_bytes: contiguous data of this size is always found, as long as no piece of it of
            `place_bytes` is all zeros; 0 if everything between the ends was read.
        read_s: when every byte was read as zero, seconds since the epoch, without a counted write since; 0 if
            it was not.
        released_s: when pgFooting released the disk, if it is unchanged since then; 0 if that is not why it
            is spare.
    """

    edge_bytes: int
    places: int
    place_bytes: int
    certain_bytes: int
    read_s: float = 0.0
    released_s: float = 0.0

    def as_mapping(self) -> Mapping[str, object]:
        """Return it as plain values for `pgfooting disks --json`; the names are stable."""
        return asdict(self)

    def sentence(self) -> str:
        """Describe the inspected parts and what may go undetected."""
        if self.read_s:
            text = tr(
                "Every byte was read on {time}, all are zeros, and the kernel has counted no write since."
            )
            return text.format(time=_local(self.read_s))
        if self.released_s and not self.places:
            text = tr(
                "It is as pgFooting left it on {time}: both ends ({edge} each) are the same, and the kernel "
                "has counted no write since. Old data of measurements lies on it."
            )
            return text.format(time=_local(self.released_s), edge=format_size(self.edge_bytes))
        return f"{self._what()} {self._escapes()}"

    def promise(self) -> str:
        """Describe what will be inspected before anything is written, and what may go undetected."""
        text = tr(
            "Before anything is written root looks at both ends ({edge} each) and about {places} places of "
            "{piece} between them, and refuses the disk if any of that is not zero or as pgFooting left it."
        )
        told = text.format(
            edge=format_size(self.edge_bytes),
            places=number_text(self.places, ","),
            piece=format_size(self.place_bytes),
        )
        return f"{told} {self._escapes()}"

    def _what(self) -> str:
        text = tr("Both ends ({edge} each) and {places} places of {piece} were looked at; all are zeros.")
        if self.released_s:
            text = tr(
                "Both ends ({edge} each) and {places} secret places of {piece} are as pgFooting left them on "
                "{time}, or zeros. Old data of measurements lies on it."
            )
        return text.format(
            edge=format_size(self.edge_bytes),
            places=number_text(self.places, ","),
            piece=format_size(self.place_bytes),
            time=_local(self.released_s),
        )

    def _escapes(self) -> str:
        text = tr(
            "Data of others of {certain} or more in one piece is found for certain, unless {piece} of it in "
            "a row are zeros; what is smaller or sparser can escape."
        )
        return text.format(certain=_at_least(self.certain_bytes), piece=format_size(self.place_bytes))


def _at_least(size_bytes: int) -> str:
    """Return a size rounded up, so that it is never below the true one."""
    unit = GIB / 100 if size_bytes >= GIB else MIB
    return format_size(math.ceil(round(size_bytes / unit, 6)) * unit)


def looked_to_wire(looked: InspectionReport | None) -> tuple[int | float, ...]:
    """Return the report as plain values for the bus."""
    return astuple(looked or InspectionReport(0, 0, 0, 0))


def looked_from_wire(wire: Sequence[Any]) -> InspectionReport | None:
    """Restore the report from the bus; None without an inspection."""
    looked = InspectionReport(*wire)
    return looked if looked.edge_bytes else None


@dataclass(frozen=True, slots=True)
class ReadProgress:
    """Progress of reading a disk.

    Attributes:
        done: of `whole`, in bytes or places.
        whole: total.
        seconds: so far.
    """

    done: int
    whole: int
    seconds: float

    @property
    def fraction(self) -> float:
        """Return the finished share, 0 to 1."""
        return self.done / self.whole if self.whole else 0.0

    @property
    def left_s(self) -> float | None:
        """Return the remaining seconds at the same rate; None if unknown."""
        return self.seconds / self.fraction - self.seconds if self.fraction else None

    def sentence(self) -> str:
        """Return the progress as text: percent, and remaining time."""
        percent = tr("{percent} % read").format(percent=number_text(100 * self.fraction, ".1f"))
        if self.left_s is None or self.seconds < _LEAST_S:
            return percent
        return tr("{percent}, about {left} left").format(percent=percent, left=format_duration(self.left_s))


def _local(time_s: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(time_s))
