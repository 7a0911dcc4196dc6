"""Stripes of an md array, and what a filesystem on it is told about them.

Source: storage reference, section 2.1; mke2fs(8) on stride and stripe_width, mkfs.xfs(8) on su and sw.
"""

from __future__ import annotations

from typing import Final

from app.domain.options.raid import Assembler, Level, layout
from app.domain.storage_plan.plan import DEFAULT_CHUNK_BYTES, Group
from app.storage.layout.steps import StripeGeometry

STRIPED: Final = frozenset({Level.STRIPE, Level.RAID10, Level.RAID5, Level.RAID6})
"""Levels of md whose arrays have a chunk."""

_OWN_WORDS: Final = {"stride", "stripe_width", "su", "sw"}
"""Options by which people say it themselves; the read back compares them like all options."""


def chunk_bytes(group: Group) -> int:
    """Return the chunk of an md array with stripes."""
    return group.chunk_bytes or DEFAULT_CHUNK_BYTES


def alignment_of(group: Group, assembler: Assembler) -> StripeGeometry | None:
    """Return what a filesystem of this group has to know about stripes; None where there is nothing to know.

    Stripes of a RAID controller, which nobody can see, may be chosen as options and come first.
    """
    chosen = group.chosen
    if "su" in chosen and "sw" in chosen:
        return StripeGeometry(int(chosen["su"]), int(chosen["sw"]))
    if assembler is not Assembler.MD or chosen.keys() & _OWN_WORDS:
        return None
    disks = layout(group.level, assembler).data_disks(len(group.disks))
    return StripeGeometry(chunk_bytes(group), disks) if disks else None


def ext_items(alignment: StripeGeometry, block_bytes: int) -> tuple[str, ...]:
    """Return the items of ``mke2fs -E``, in blocks of the filesystem."""
    stride = alignment.chunk_bytes // block_bytes
    return (f"stride={stride}", f"stripe_width={stride * alignment.data_disks}")


def ext_tokens(alignment: StripeGeometry, block_bytes: int) -> tuple[str, ...]:
    """Return the lines of ``dumpe2fs -h`` that show it."""
    stride = alignment.chunk_bytes // block_bytes
    return (f"RAID stride: {stride}", f"RAID stripe width: {stride * alignment.data_disks}")


def xfs_items(alignment: StripeGeometry) -> tuple[str, ...]:
    """Return the items of ``mkfs.xfs -d``: bytes, and disks."""
    return (f"su={alignment.chunk_bytes}", f"sw={alignment.data_disks}")


def xfs_tokens(alignment: StripeGeometry, block_bytes: int) -> tuple[str, ...]:
    """Return the tokens of ``xfs_info`` that show it, in blocks of the filesystem."""
    stride = alignment.chunk_bytes // block_bytes
    return (f"data.sunit={stride}", f"data.swidth={stride * alignment.data_disks}")
