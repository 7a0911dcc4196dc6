"""Estimate the endurance of a drive from its own counters. Pure.

The rated endurance (TBW) is in the data sheet and in no log. An NVMe drive reports the data written (Data
Units Written) and the used share of its life (Percentage Used, whole per cent), which together give an
estimate. Source: NVM Express Base Specification 2.0, 5.16.1.3.
"""

from __future__ import annotations

from dataclasses import dataclass

_LARGEST_USED = 100
"""In percent; beyond its rated life a drive's value says nothing more."""


@dataclass(frozen=True, slots=True)
class DriveWear:
    """The wear that a drive reports.

    Attributes:
        written_bytes: by all hosts so far; counted by the drive.
        used_percent: of its life; the drive's own estimate, which may exceed 100.
    """

    written_bytes: int
    used_percent: int

    @property
    def endurance_bytes(self) -> int | None:
        """The estimated total of bytes that may be written in its life; None if the values give no estimate.

        Below one per cent it is a lower bound.
        """
        if self.written_bytes <= 0 or not 0 <= self.used_percent <= _LARGEST_USED:
            return None
        return self.written_bytes * 100 // max(self.used_percent, 1)

    @property
    def is_least(self) -> bool:
        """Whether the estimate is only a lower bound."""
        return self.used_percent == 0
