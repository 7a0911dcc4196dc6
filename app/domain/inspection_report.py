"""What was looked at before a disk was called spare: facts, and the sentences that people read.

Nothing is called blank that was not looked at: the sentence says what was, and what can escape it.
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
"""Before that nobody knows how fast a disk is."""


@dataclass(frozen=True, slots=True)
class InspectionReport:
    """What root looked at on a disk.

    Attributes:
        edge_bytes: of each end, read whole.
        places: how many places between the ends were read, or compared with what pgFooting left there.
        place_bytes: of each of them.
        certain_bytes: contiguous data of this size is found for certain, as long as no piece of it of
            `place_bytes` is all zeros; 0 where everything between the ends is certain.
        read_s: when every byte was read and was zero, seconds since the epoch, the kernel having counted no
            write since; 0 where it was not.
        released_s: when pgFooting released the disk, which is as it was left; 0 where that is not why it is
            spare.
    """

    edge_bytes: int
    places: int
    place_bytes: int
    certain_bytes: int
    read_s: float = 0.0
    released_s: float = 0.0

    def as_mapping(self) -> Mapping[str, object]:
        """Return it as plain values for JSON; `pgfooting disks --json` promises these names."""
        return asdict(self)

    def sentence(self) -> str:
        """Return what was looked at and what can escape that, for people."""
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
        """Return what will be looked at before anything is written, and what can escape that, for people."""
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
    """Return a size that is not below the true one, whatever is rounded."""
    unit = GIB / 100 if size_bytes >= GIB else MIB
    return format_size(math.ceil(round(size_bytes / unit, 6)) * unit)


def looked_to_wire(looked: InspectionReport | None) -> tuple[int | float, ...]:
    """Return what was looked at as plain values."""
    return astuple(looked or InspectionReport(0, 0, 0, 0))


def looked_from_wire(wire: Sequence[Any]) -> InspectionReport | None:
    """Return what was looked at; None for nothing."""
    looked = InspectionReport(*wire)
    return looked if looked.edge_bytes else None


@dataclass(frozen=True, slots=True)
class ReadProgress:
    """How far the reading of a disk is.

    Attributes:
        done: of `whole`, in bytes or places.
        whole: all of it.
        seconds: that it has taken.
    """

    done: int
    whole: int
    seconds: float

    @property
    def fraction(self) -> float:
        """Return how much is done, 0 to 1."""
        return self.done / self.whole if self.whole else 0.0

    @property
    def left_s(self) -> float | None:
        """Return how long it will take yet at the same rate; None where nobody knows."""
        return self.seconds / self.fraction - self.seconds if self.fraction else None

    def sentence(self) -> str:
        """Return it in words: percent, and how long yet."""
        percent = tr("{percent} % read").format(percent=number_text(100 * self.fraction, ".1f"))
        if self.left_s is None or self.seconds < _LEAST_S:
            return percent
        return tr("{percent}, about {left} left").format(percent=percent, left=format_duration(self.left_s))


def _local(time_s: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(time_s))
