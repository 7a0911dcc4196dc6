"""RAID levels: minimum disks, and their names in each assembler.

Sources: mdadm(8), md(4); btrfs-progs mkfs.btrfs(8) "PROFILES" and Status; zpoolconcepts(7). The minimums are
those from which a level is true to its name, the same for every assembler so that results are comparable:
btrfs accepts a raid5 of two disks and md a raid10 of two, which are mirrors by another name.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from app.domain.text import tr


class Assembler(StrEnum):
    """What combines several disks."""

    RAW = "raw"
    MD = "md"
    BTRFS = "btrfs"
    ZFS = "zfs"


class Level(StrEnum):
    """RAID levels as in the wizard and campaign files; raidz1 is raid5 and raidz2 is raid6 on ZFS."""

    SINGLE = "single"
    STRIPE = "stripe"
    MIRROR = "mirror"
    RAID10 = "raid10"
    RAID5 = "raid5"
    RAID6 = "raid6"
    RAIDZ3 = "raidz3"

    @property
    def label(self) -> str:
        """Return the name for users."""
        return _LABELS[self]


_LABELS: Final = {
    Level.SINGLE: tr("Single disk"),
    Level.STRIPE: tr("Stripe (RAID 0)"),
    Level.MIRROR: tr("Mirror (RAID 1)"),
    Level.RAID10: tr("Striped mirrors (RAID 10)"),
    Level.RAID5: tr("Single parity (RAID 5, raidz1)"),
    Level.RAID6: tr("Double parity (RAID 6, raidz2)"),
    Level.RAIDZ3: tr("Triple parity (raidz3)"),
}

STRIPED: Final = frozenset({Level.STRIPE, Level.RAID10, Level.RAID5, Level.RAID6})
"""Levels of md with a chunk."""

PARITY_DISKS: Final = {Level.RAID5: 1, Level.RAID6: 2, Level.RAIDZ3: 3}
"""Disks' worth of parity in a stripe."""


@dataclass(frozen=True, slots=True)
class ArrayLayout:
    """A level made by an assembler.

    Attributes:
        level: the user's choice.
        assembler: creates it.
        minimum_disks: fewest disks.
        name: the assembler's name for it: level of mdadm, data profile of btrfs, vdev word of zpool (empty
            for disks without a vdev).
        maximum_disks: most disks; None for no limit.
        multiple_of: the number of disks has to be a multiple of this.
        approximate: the usable size depends on the data (padding, chunks), so that it is only an estimate.
        metadata: metadata profile of btrfs; empty for the others.
        md_layout: layout of mdadm; empty for its default and for the others.
    """

    level: Level
    assembler: Assembler
    minimum_disks: int
    name: str
    maximum_disks: int | None = None
    multiple_of: int = 1
    approximate: bool = False
    metadata: str = ""
    md_layout: str = ""

    def data_disks(self, disks: int) -> int | None:
        """Return the number of data disks of a full stripe; None if alignment is impossible."""
        if self.level in {Level.SINGLE, Level.MIRROR}:
            return None
        if self.level is Level.RAID10:
            return disks // 2 if disks % 2 == 0 else None
        return disks - PARITY_DISKS.get(self.level, 0)

    def problem(self, disks: int) -> str:
        """Return why this number of disks is invalid, with the valid numbers; empty if it is valid."""
        if self.minimum_disks <= disks <= (self.maximum_disks or disks) and disks % self.multiple_of == 0:
            return ""
        if self.maximum_disks == 1:
            return tr("{level} takes one disk, not {disks}.").format(level=self.level.label, disks=disks)
        message = tr("{level} needs at least {minimum} disks").format(
            level=self.level.label, minimum=self.minimum_disks
        )
        if self.multiple_of == 2:
            message += tr(", an even number")
        return message + tr("; {disks} are selected.").format(disks=disks)


LAYOUTS: Final = (
    ArrayLayout(Level.SINGLE, Assembler.RAW, 1, "", maximum_disks=1),
    ArrayLayout(Level.SINGLE, Assembler.BTRFS, 1, "single", maximum_disks=1, metadata="dup"),
    ArrayLayout(Level.SINGLE, Assembler.ZFS, 1, "", maximum_disks=1),
    ArrayLayout(Level.STRIPE, Assembler.MD, 2, "raid0"),
    ArrayLayout(Level.STRIPE, Assembler.BTRFS, 2, "raid0", approximate=True, metadata="raid0"),
    ArrayLayout(Level.STRIPE, Assembler.ZFS, 2, "", approximate=True),
    ArrayLayout(Level.MIRROR, Assembler.MD, 2, "raid1"),
    ArrayLayout(Level.MIRROR, Assembler.BTRFS, 2, "raid1", approximate=True, metadata="raid1"),
    ArrayLayout(Level.MIRROR, Assembler.ZFS, 2, "mirror"),
    ArrayLayout(Level.RAID10, Assembler.MD, 4, "raid10", md_layout="n2"),
    ArrayLayout(Level.RAID10, Assembler.BTRFS, 4, "raid10", approximate=True, metadata="raid10"),
    ArrayLayout(Level.RAID10, Assembler.ZFS, 4, "mirror", multiple_of=2, approximate=True),
    ArrayLayout(Level.RAID5, Assembler.MD, 3, "raid5"),
    ArrayLayout(Level.RAID5, Assembler.BTRFS, 3, "raid5", approximate=True, metadata="raid1"),
    ArrayLayout(Level.RAID5, Assembler.ZFS, 3, "raidz1", approximate=True),
    ArrayLayout(Level.RAID6, Assembler.MD, 4, "raid6"),
    ArrayLayout(Level.RAID6, Assembler.BTRFS, 4, "raid6", approximate=True, metadata="raid1c3"),
    ArrayLayout(Level.RAID6, Assembler.ZFS, 4, "raidz2", approximate=True),
    ArrayLayout(Level.RAIDZ3, Assembler.ZFS, 5, "raidz3", approximate=True),
)


def layout(level: Level, assembler: Assembler) -> ArrayLayout:
    """Return how an assembler makes a level.

    Raises:
        KeyError: it does not support it.
    """
    for item in LAYOUTS:
        if item.level is level and item.assembler is assembler:
            return item
    raise KeyError(f"{level} by {assembler}")
