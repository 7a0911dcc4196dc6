"""A disk kept in the helper's journal: the facts for deciding about its release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from enum import StrEnum
from typing import Any, Final

from app.domain.disk import DiskRefusal, refusal_from_wire, refusal_to_wire
from app.domain.messages.message import MESSAGE, message_from_wire, message_to_wire

KEPT: Final = f"(bbbda(sssssdtt){MESSAGE}{MESSAGE}a(s{MESSAGE}{MESSAGE}{MESSAGE}))"
"""A kept disk as it crosses the bus."""


class ReleaseOutcome(StrEnum):
    """What a release did to a disk.

    WIPED: the signatures in the session's partition and the partition table are wiped, and a copy of them is
    saved. DROPPED: the journal keeps the disk no longer; nothing on it was wiped, but what ran on it
    (an array of the session) may have been stopped, which writes to it. KEPT: the disk is not released.
    """

    WIPED = "wiped"
    DROPPED = "dropped"
    KEPT = "kept"


@dataclass(frozen=True, slots=True)
class KeptContent:
    """One signature on a kept disk, and the contents of its superblock.

    Attributes:
        node: partition or disk that has it.
        type: as libblkid names it.
        uuid: of it; may be empty.
        label: of it; may be empty.
        mounted_at: folder where it was mounted last; empty if the format does not record it.
        mounted_s: when it was mounted or written last, seconds since the epoch; 0 if unknown.
        used_bytes: of the filesystem; 0 if unknown.
        size_bytes: of the filesystem; 0 if unknown.
    """

    node: str
    type: str
    uuid: str = ""
    label: str = ""
    mounted_at: str = ""
    mounted_s: float = 0.0
    used_bytes: int = 0
    size_bytes: int = 0


@dataclass(frozen=True, slots=True)
class KeptDisk:
    """Contents of a disk that the journal keeps; ``--json`` shows the fields by these names.

    Attributes:
        will_wipe: whether a release wipes it; otherwise the journal only forgets it.
        is_table_ours: whether the partition table is byte for byte the one that the session wrote.
        is_as_left: whether the session's partition is unchanged.
        began_s: when the session began to use the disk, seconds since the epoch; 0 if unknown.
        contents: every signature on the disk and in the session's partition.
        reason: why the disk was kept; may be empty.
        unseen: that the disk belongs to an array or pool whose content it does not show, and how to look at
            that; empty if all that is lost is in `contents`.
        obstacles: why it cannot be released now; empty if it can.
    """

    will_wipe: bool
    is_table_ours: bool
    is_as_left: bool
    began_s: float
    contents: tuple[KeptContent, ...]
    reason: str = ""
    unseen: str = ""
    obstacles: tuple[DiskRefusal, ...] = ()


def kept_to_wire(kept: KeptDisk) -> tuple[Any, ...]:
    """Return it as it crosses the bus (`KEPT`)."""
    return (
        *(kept.will_wipe, kept.is_table_ours, kept.is_as_left, kept.began_s),
        [astuple(each) for each in kept.contents],
        *(message_to_wire(kept.reason), message_to_wire(kept.unseen)),
        [refusal_to_wire(each) for each in kept.obstacles],
    )


def kept_from_wire(wire: Sequence[Any]) -> KeptDisk:
    """Restore it from the bus."""
    will_wipe, is_table_ours, is_as_left, began_s, contents, reason, unseen, obstacles = wire
    return KeptDisk(
        will_wipe,
        is_table_ours,
        is_as_left,
        began_s,
        tuple(KeptContent(*each) for each in contents),
        message_from_wire(reason),
        message_from_wire(unseen),
        tuple(map(refusal_from_wire, obstacles)),
    )
