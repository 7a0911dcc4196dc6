"""RAID levels: what each needs, holds and survives, by whom it is assembled."""

from __future__ import annotations

from enum import StrEnum


class Assembler(StrEnum):
    """Who makes one thing of several disks."""

    RAW = "raw"
    MD = "md"
    BTRFS = "btrfs"
    ZFS = "zfs"


class Level(StrEnum):
    """RAID levels as the wizard and campaign files name them; raidz1 is raid5 and raidz2 is raid6 on ZFS."""

    SINGLE = "single"
    STRIPE = "stripe"
    MIRROR = "mirror"
    RAID10 = "raid10"
    RAID5 = "raid5"
    RAID6 = "raid6"
    RAIDZ3 = "raidz3"
