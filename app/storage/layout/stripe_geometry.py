"""Stripes of an md array, as a filesystem on it has to know them.

Source: storage reference, section 2.1.
"""

from __future__ import annotations

from typing import Final

from app.domain.options.creation import STRIPE_OPTIONS, StripeGeometry
from app.domain.options.raid import Assembler, Level, layout
from app.domain.storage_plan.plan import DEFAULT_CHUNK_BYTES, Group

STRIPED: Final = frozenset({Level.STRIPE, Level.RAID10, Level.RAID5, Level.RAID6})
"""Levels of md whose arrays have a chunk."""


def chunk_bytes(group: Group) -> int:
    """Return the chunk of an md array with stripes."""
    return group.chunk_bytes or DEFAULT_CHUNK_BYTES


def alignment_of(group: Group, assembler: Assembler) -> StripeGeometry | None:
    """Return what a filesystem of this group has to know about stripes; None where there is nothing to know.

    Stripes of a RAID controller, which nobody can see, may be chosen as options and come first; the read
    back compares them like all options.
    """
    chosen = group.chosen
    if "su" in chosen and "sw" in chosen:
        return StripeGeometry(int(chosen["su"]), int(chosen["sw"]))
    if assembler is not Assembler.MD or chosen.keys() & set(STRIPE_OPTIONS):
        return None
    disks = layout(group.level, assembler).data_disks(len(group.disks))
    return StripeGeometry(chunk_bytes(group), disks) if disks else None
