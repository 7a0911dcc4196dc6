"""Scheduler and read-ahead of the disks of a group: set when everything is made, put back before all else.

They are set last, because every change of a disk (its table, its first filesystem) lets udevd apply the
rules of the machine to it once more, and these may set both. Files are read ahead as the device says on
which a filesystem lies: the disk, or the md array of several; btrfs has a read-ahead of its own. The disks
have it as well, so that everything of the session says the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.domain.filesystems import filesystem
from app.domain.options.raid import Assembler
from app.domain.storage_plan.plan import Group
from app.domain.units import KIB
from app.storage.layout.names import Names
from app.storage.layout.partitions import PlanMember
from app.storage.layout.queue_record import QueueSetting
from app.storage.layout.steps import (
    CheckScheduler,
    ReadBackQueue,
    RestoreQueue,
    SetQueue,
    SetReadAhead,
    Settle,
    Step,
)


def scheduler_checks(group: Group, members: Sequence[PlanMember]) -> Iterator[Step]:
    """Yield the step that looks, before anything is written, whether the kernel has what is chosen."""
    if group.scheduler is not None:
        disks = tuple(member.disk for member in members)
        why = f"the kernel has the I/O scheduler {group.scheduler.value} for these disks"
        yield CheckScheduler(disks, group.scheduler.value, why)


def queue_steps(parts: Sequence[tuple[Group, Sequence[PlanMember]]], names: Names) -> Iterator[Step]:
    """Yield the steps that set what groups say, and read it back.

    Args:
        parts: each group with everything that lies on its disks, log devices too.
        names: of the session.
    """
    if not any(_chosen(group) for group, _ in parts):
        return
    disks = tuple(member.disk for _, members in parts for member in members)
    yield Settle(disks, "udevd has done what it does with disks that changed")
    for group, members in parts:
        yield from _group_steps(group, members, names)


def _chosen(group: Group) -> dict[QueueSetting, str]:
    found = {}
    if group.scheduler is not None:
        found[QueueSetting.SCHEDULER] = group.scheduler.value
    if group.read_ahead_bytes is not None:
        found[QueueSetting.READ_AHEAD] = str(group.read_ahead_bytes // KIB)
    return found


_WORDS = {
    QueueSetting.SCHEDULER: ("the I/O scheduler becomes {value}", "the I/O scheduler is put back"),
    QueueSetting.READ_AHEAD: ("the read-ahead becomes {value} KiB", "the read-ahead is put back"),
}


def _group_steps(group: Group, members: Sequence[PlanMember], names: Names) -> Iterator[Step]:
    chosen = _chosen(group)
    for member in members:
        for setting, value in chosen.items():
            becomes, back = _WORDS[setting]
            yield SetQueue(
                member.disk,
                member.table_uuid,
                setting,
                value,
                becomes.format(value=value),
                undo=(RestoreQueue(member.disk, member.table_uuid, setting, back),),
            )
    array, btrfs = "", ""
    if (kib := chosen.get(QueueSetting.READ_AHEAD)) is not None:
        assembler = filesystem(group.filesystem).assembler(group.level)
        if assembler is Assembler.MD:
            array = names.array_node(members[0].role)
        elif assembler is Assembler.BTRFS:
            btrfs = names.filesystem(members[0].role)
        if array or btrfs:
            yield SetReadAhead(array, btrfs, kib, f"the read-ahead of what lies on them becomes {kib} KiB")
    if chosen:
        disks = tuple(member.disk for member in members)
        yield ReadBackQueue(
            disks, array, btrfs, tuple(chosen.items()), "the disks are set as it was asked for"
        )
