"""What the review says of spare disks: where the data lies, what root executes, what the disks bear. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from app.domain.disk import Disk
from app.domain.filesystems import filesystem
from app.domain.options.raid import ArrayLayout, Assembler, Level, layout
from app.domain.storage_plan.plan import Group, InitialSync, StoragePlan
from app.domain.text import tr
from app.domain.units import format_size
from app.draft.commands import CommandLine, LineAction
from app.draft.disks.commands import all_lines
from app.execution.resolve import ResolvedCampaign
from app.storage.layout.partition_size import whole_disk_bytes

MAKING_S: Final = 5.0
"""Partitions, array, filesystem and mount, and all of it undone (seen on virtual disks)."""
SYNC_BYTES_PER_S: Final = 200e6
"""Speed up to which md synchronises (dev.raid.speed_limit_max of md(4))."""

Described = Mapping[StoragePlan, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class WrittenVolume:
    """What all runs of a configuration write, before copies and parity.

    Attributes:
        known_bytes: loading, and transactions whose number is known.
        is_least: more is written, the faster the more: only the speed decides how much.
    """

    known_bytes: int
    is_least: bool = False


def place_words(plan: StoragePlan) -> str:
    """Return where the data of a plan lies, in two lines."""
    words = _group_words(plan.data)
    if plan.wal:
        words += tr("\nWAL: {group}").format(group=_group_words(plan.wal))
    if plan.zfs_log:
        words += tr("\nlog devices: {count}").format(count=len(plan.zfs_log))
    return words


def _group_words(group: Group) -> str:
    label, count = filesystem(group.filesystem).label, len(group.disks)
    if count == 1:
        return tr("{label} on one disk").format(label=label)
    return tr("{label}, {level} of {count} disks").format(label=label, level=group.level.value, count=count)


def storage_commands(
    plan: StoragePlan, described: Described, disks: Sequence[Disk]
) -> tuple[CommandLine, ...]:
    """Return what root does before a run, and after it: the helper's own words, else ours, labelled.

    Args:
        plan: of a configuration.
        described: the helper's words by plan; without this plan where it was not asked or did not answer.
        disks: of this machine, for our own words.
    """
    if plan in described:
        comment = tr("As root, in the helper's own words: make the storage")
        text = "\n".join(described[plan])
    else:
        comment = tr("As root, in pgFooting's words (the helper has not told its own): make the storage")
        text = "\n".join(all_lines(plan, disks)) if _all_there(plan, disks) else tr("(a disk is gone)")
    return (CommandLine(LineAction.ROOT, text, comment),)


def unmaking() -> CommandLine:
    """Return what root does after each run."""
    text = tr("filesystem unmounted, arrays and pools stopped, pgFooting's own signatures wiped")
    return CommandLine(
        LineAction.REMOVE,
        text,
        tr("As root: unmake the storage; the disks are free again, released but not zeroed"),
    )


def _all_there(plan: StoragePlan, disks: Sequence[Disk]) -> bool:
    there = {disk.identity.key() for disk in disks}
    return all(identity.key() in there for _, identity in plan.members())


def wear_sentences(resolved: ResolvedCampaign, written: Mapping[str, WrittenVolume]) -> tuple[str, ...]:
    """Return what the disks bear: what copies, parity and the first synchronisation make of what is written.

    Args:
        resolved: the campaign.
        written: by configuration, what its runs write together.
    """
    plans = {name: each.target.plan for name, each in resolved.configurations.items() if each.target.plan}
    if not plans:
        return ()
    runs = resolved.campaign.repeats
    synchronised = sum(max(map(_synchronised_bytes, _groups(plan))) for plan in plans.values()) * runs
    sentences = []
    if synchronised:
        sentence = tr("The first synchronisation of arrays writes about {size} to each of their disks.")
        sentences.append(sentence.format(size=format_size(synchronised)))
    total = 0.0
    for name, plan in plans.items():
        total += written[name].known_bytes * _factor(plan.data) / len(plan.data.disks)
        total += _synchronised_bytes(plan.data) * runs
    is_least = any(written[name].is_least for name in plans)
    at_least = tr(" at least") if is_least else ""
    without = tr(" without the transactions") if is_least else ""
    smallest = min(disk.size_bytes for plan in plans.values() for disk in plan.data.disks)
    sentence = tr(
        "With copies and parity, each data disk is written{at_least} about {size}{without}, {share} of its "
        "size; what that is of its rated life stands in its data sheet (TBW)."
    )
    share = _percent(total / smallest)
    size = format_size(total)
    sentences.append(sentence.format(at_least=at_least, size=size, without=without, share=share))
    return tuple(sentences)


def making_seconds(plan: StoragePlan | None) -> float:
    """Return about how long it takes to make and unmake storage: mostly the first synchronisation."""
    if plan is None:
        return 0.0
    return MAKING_S + sum(map(_synchronised_bytes, _groups(plan))) / SYNC_BYTES_PER_S


def _percent(share: float) -> str:
    digits = 1 if 0 < share < 0.1 else 0
    return f"{share * 100:,.{digits}f}\u00a0%" if share >= 0.001 else tr("less than 0.1\u00a0%")


def _layout(group: Group) -> ArrayLayout:
    return layout(group.level, filesystem(group.filesystem).assembler(group.level))


def _factor(group: Group) -> float:
    """Return how many bytes are written to all disks for each byte of the filesystem."""
    equal = [1 << 40] * len(group.disks)
    return sum(equal) / max(1, _layout(group).usable_bytes(equal))


def _groups(plan: StoragePlan) -> tuple[Group, ...]:
    return (plan.data, *((plan.wal,) if plan.wal else ()))


def _synchronised_bytes(group: Group) -> int:
    """Return what the kernel writes at most to one disk to synchronise a new array; 0 where there is none."""
    is_md = _layout(group).assembler is Assembler.MD and group.level is not Level.STRIPE
    if not is_md or group.initial_sync is InitialSync.ASSUME_CLEAN:
        return 0
    return group.partition_bytes or whole_disk_bytes(disk.size_bytes for disk in group.disks)
