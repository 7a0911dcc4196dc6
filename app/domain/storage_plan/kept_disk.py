"""A disk kept in the helper's journal: the facts for deciding about its release."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from enum import StrEnum
from typing import Any, Final

from app.domain.disk import DiskRefusal, grouped_reasons, refusal_from_wire, refusal_to_wire
from app.domain.messages.message import MESSAGE, message_from_wire, message_to_wire
from app.domain.text import tr
from app.domain.units import format_size

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

    def sentence(self) -> str:
        """Return it in one line."""
        words = [self.type, tr("label {label}").format(label=self.label) if self.label else tr("no label")]
        if self.uuid:
            words.append(f"UUID {self.uuid}")
        if self.size_bytes:
            used, size = format_size(self.used_bytes), format_size(self.size_bytes)
            words.append(tr("{used} of {size} used").format(used=used, size=size))
        if self.mounted_at:
            words.append(tr("last mounted at {folder}").format(folder=self.mounted_at))
        if self.mounted_s:
            words.append(tr("last mounted or written on {time}").format(time=_local(self.mounted_s)))
        return f"{self.node}: {', '.join(words)}"


@dataclass(frozen=True, slots=True)
class KeptDisk:
    """Contents of a disk that the journal keeps.

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

    def sentences(self) -> Iterator[str]:
        """Yield the sentences that a user reads before the decision, a line each."""
        if self.began_s:
            yield tr("pgFooting began to use it on {time}.").format(time=_local(self.began_s))
        if self.is_table_ours:
            yield tr("Its partition table is byte for byte the one that pgFooting wrote.")
            if self.is_as_left:
                yield tr("Its partition is as pgFooting left it, wherever pgFooting compares it.")
            else:
                yield tr("Its partition was written to after pgFooting looked at it last, as in a crash.")
        else:
            yield tr("Its partition table is not the one that pgFooting wrote.")
        yield from (each.sentence() for each in self.contents)
        if not self.contents:
            yield tr("No filesystem and no other signature was found on it.")
        if self.unseen:
            yield self.unseen
        if self.reason:
            yield tr("Why it was kept: {reason}").format(reason=self.reason)
        yield self.promise()

    def promise(self) -> str:
        """Describe the effect of a release."""
        if self.will_wipe:
            return tr(
                "Releasing the disk wipes its signatures and its partition table. A copy of them is kept; "
                "the files on it are lost, and the disk is spare."
            )
        return tr(
            "Releasing the disk wipes nothing on it: pgFooting forgets it. After that it is judged like any "
            "other disk, and is spare only if it is blank."
        )

    def obstacle_sentences(self) -> tuple[str, ...]:
        """Return the obstacles and remedies: a sentence each."""
        grouped = list(grouped_reasons(self.obstacles))
        why = [f"{message} {evidence}".strip() for _, message, evidence, _ in grouped]
        return (*why, *(remedy for *_, remedies in grouped for remedy in remedies))

    def as_mapping(self) -> Mapping[str, object]:
        """Return it as plain values for `pgfooting disks --release --json`; the names are stable."""
        return asdict(self)


def _local(time_s: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(time_s))


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
