"""What users choose a RAID level by: capacity, redundancy, and a sentence or two. Root has no use for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from app.domain.options.option_spec import Safety
from app.domain.options.raid import PARITY_DISKS, ArrayLayout, Assembler, Level
from app.domain.text import tr

_HOLE: Final = tr(
    "Small writes must read first, and a crash during a write can leave inconsistent parity (write hole)."
)
_RAIDZ: Final = tr(
    "No write hole. Each record gets parity and padding, so usable size is approximate; random I/O is about "
    "as fast as one disk."
)
_UNSTABLE: Final = tr(
    "The btrfs developers call raid5 and raid6 unstable: “should not be used in production”."
)
_FIRST_SYNC: Final = tr(
    "Measured only after the initial synchronisation, unless you skip it, which is recorded."
)

_WORDS: Final = {
    (Level.SINGLE, Assembler.RAW): tr("One partition, directly on the disk."),
    (Level.SINGLE, Assembler.BTRFS): tr(
        "One copy of data; two copies of metadata on the same disk, as mkfs.btrfs does."
    ),
    (Level.SINGLE, Assembler.ZFS): tr("A pool of one disk, with two copies of metadata."),
    (Level.STRIPE, Assembler.MD): tr("Striped over all disks; if one fails, everything is lost."),
    (Level.STRIPE, Assembler.BTRFS): tr(
        "Data and metadata have no second copy; if one disk fails, everything is lost."
    ),
    (Level.STRIPE, Assembler.ZFS): tr("Records are spread over all disks; if one fails, the pool is lost."),
    (Level.MIRROR, Assembler.MD): tr("Every disk holds a full copy. ") + _FIRST_SYNC,
    (Level.MIRROR, Assembler.BTRFS): tr(
        "Two copies on any two disks. With more disks it holds more but survives less than an md or ZFS "
        "mirror; three or four copies are an option."
    ),
    (Level.MIRROR, Assembler.ZFS): tr("Every disk holds a full copy, with checksums."),
    (Level.RAID10, Assembler.MD): tr(
        "Two copies of each chunk on neighbouring disks; an odd number of disks works too. "
    )
    + _FIRST_SYNC,
    (Level.RAID10, Assembler.BTRFS): tr(
        "Two copies of each stripe; which disks form a pair differs from chunk to chunk."
    ),
    (Level.RAID10, Assembler.ZFS): tr("Mirrors of two disks each, records spread over them."),
    (Level.RAID5, Assembler.MD): f"{_HOLE} {_FIRST_SYNC}",
    (Level.RAID5, Assembler.BTRFS): f"{_UNSTABLE} {_HOLE}",
    (Level.RAID5, Assembler.ZFS): _RAIDZ,
    (Level.RAID6, Assembler.MD): f"{_HOLE} {_FIRST_SYNC}",
    (Level.RAID6, Assembler.BTRFS): f"{_UNSTABLE} {_HOLE}",
    (Level.RAID6, Assembler.ZFS): _RAIDZ,
    (Level.RAIDZ3, Assembler.ZFS): _RAIDZ,
}


def risks_of(made: ArrayLayout) -> tuple[Safety, ...]:
    """Return the risks of a level made by an assembler."""
    is_unstable = made.assembler is Assembler.BTRFS and made.level in PARITY_DISKS
    return (Safety.EXPERIMENTAL,) if is_unstable else ()


def words_of(made: ArrayLayout) -> str:
    """Return the special properties of a level made by an assembler."""
    return _WORDS[made.level, made.assembler]


def survives(made: ArrayLayout, disks: int, copies: int | None = None) -> int:
    """Return how many disks may fail in any combination.

    Args:
        made: layout of the level.
        disks: number of disks.
        copies: copies of a btrfs mirror; None for its two.
    """
    if made.level is Level.MIRROR:
        return (copies or 2) - 1 if made.assembler is Assembler.BTRFS else disks - 1
    return 1 if made.level is Level.RAID10 else PARITY_DISKS.get(made.level, 0)


def capacity(made: ArrayLayout, sizes: Sequence[int], copies: int | None = None) -> int:
    """Return the capacity of disks of these sizes, before overhead of assembler and filesystem.

    Args:
        made: layout of the level.
        sizes: bytes of each disk or partition.
        copies: copies of a btrfs mirror; None for its two.
    """
    if made.level in {Level.SINGLE, Level.STRIPE}:
        return sum(sizes)
    if made.assembler is Assembler.BTRFS and made.level in {Level.MIRROR, Level.RAID10}:
        return _spread(sizes, copies or 2)
    if made.level is Level.MIRROR:
        return min(sizes)
    if made.level is Level.RAID10:
        pairs = zip(sizes[::2], sizes[1::2], strict=False)
        return sum(map(min, pairs)) if made.assembler is Assembler.ZFS else min(sizes) * len(sizes) // 2
    return min(sizes) * (len(sizes) - PARITY_DISKS[made.level])


def _spread(sizes: Sequence[int], copies: int) -> int:
    """Return the capacity with `copies` of each chunk on different disks, those with most room first.

    No disk can hold more than one copy of each chunk: a disk larger than its share is cut to it.
    """
    rest = sorted(sizes, reverse=True)
    left = copies
    while left > 1 and rest and rest[0] * left > sum(rest):
        rest = rest[1:]
        left -= 1
    return sum(rest) // left if rest else 0
