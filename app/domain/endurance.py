"""How much may be written to a drive in its life, as far as the drive itself lets that be estimated. Pure.

The rated endurance (TBW) stands in the data sheet and in no log. An NVMe drive counts what was written
(Data Units Written) and says itself which share of its life that took (Percentage Used, whole per cent):
both together estimate it. Source: NVM Express Base Specification 2.0, 5.16.1.3.
"""

from __future__ import annotations

from dataclasses import dataclass

_LARGEST_USED = 100
"""In percent; a drive beyond its rated life says nothing of it any more."""


@dataclass(frozen=True, slots=True)
class DriveWear:
    """What a drive says of its own wear.

    Attributes:
        written_bytes: by all hosts so far; counted by the drive.
        used_percent: of its life; its own estimate, which may exceed 100.
    """

    written_bytes: int
    used_percent: int

    @property
    def endurance_bytes(self) -> int | None:
        """The estimate of what may be written in its life; None where nothing follows from what it says.

        Below one per cent it is the least that it can be: what was written took less than one per cent.
        """
        if self.written_bytes <= 0 or not 0 <= self.used_percent <= _LARGEST_USED:
            return None
        return self.written_bytes * 100 // max(self.used_percent, 1)

    @property
    def is_least(self) -> bool:
        """Whether it may be written much more than the estimate says."""
        return self.used_percent == 0
