"""Turn a storage plan into steps: a pure function, and the exact reverse of what they made.

Every tool's own safety check stays in place: nothing is forced, no question is answered except with no.
Source: storage reference, sections 2 and 3.3; design.md, sections 4 and 6.

Scheduler and read-ahead of a group's disks are set after everything is made, and restored before everything
else. They are last because every change of a disk (its table, its first filesystem) lets udevd apply the
machine's rules to it again, and these may set both. The read-ahead of files is that of the filesystem's
device: the disk, or the md array of several; btrfs has its own. The disks are set too, so that all devices of
the session have the same value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from app.domain.formats import format_of
from app.domain.options.format_spec import FormatSpec
from app.domain.options.kinds import ExpectedToken, ReadbackToken, ShownBy, Stage
from app.domain.options.raid import STRIPED, Assembler, Level, layout
from app.domain.storage_plan.plan import Bitmap, Group, InitialSync, Role, StoragePlan
from app.domain.text import KIB
from app.storage.layout.commands_filesystem import filesystem_steps, mount_steps, partition_steps, wipe_member
from app.storage.layout.conditions import (
    ArrayRuns,
    DeviceFree,
    MemberOf,
    NoArray,
    NoPool,
    NoSignature,
    OwnPool,
    PoolImported,
    PoolNotMounted,
)
from app.storage.layout.partitions import HOST, Names, PlanMember, PlannedDevice, chunk_bytes, members_of
from app.storage.layout.steps import (
    LONG_S,
    AwaitNode,
    AwaitSync,
    CheckScheduler,
    ClaimDisks,
    Command,
    MakeFolder,
    QueueSetting,
    ReadBackArray,
    ReadBackPool,
    ReadBackQueue,
    RecordPool,
    RemoveFolder,
    RestoreQueue,
    SetQueue,
    SetReadAhead,
    Settle,
    Step,
)


def scheduler_checks(group: Group, members: Sequence[PlanMember]) -> Iterator[Step]:
    """Yield the step that checks, before anything is written, whether the kernel has the chosen scheduler."""
    if group.scheduler is not None:
        disks = tuple(member.disk for member in members)
        why = f"the kernel has the I/O scheduler {group.scheduler.value} for these disks"
        yield CheckScheduler(disks, group.scheduler.value, why)


def queue_steps(parts: Sequence[tuple[Group, Sequence[PlanMember]]], names: Names) -> Iterator[Step]:
    """Yield the steps that apply the settings of groups, and read them back.

    Args:
        parts: each group with all members on its disks, including log devices.
        names: of the session.
    """
    if not any(_chosen(group) for group, _ in parts):
        return
    disks = tuple(member.disk for _, members in parts for member in members)
    yield Settle(disks, "udevd has done what it does with disks that changed")
    for group, members in parts:
        yield from _queue_steps(group, members, names)


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


def _queue_steps(group: Group, members: Sequence[PlanMember], names: Names) -> Iterator[Step]:
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
        assembler = format_of(group.filesystem).assembler(group.level)
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


_LAYOUT_NUMBERS: Final = {"n2": 0x102}
"""The kernel's numbers for layouts of raid10: near copies, and far copies times 256 (md.rst, raid10.c)."""

MOUNT_NAMES = {Role.DATA: "storage", Role.WAL: "wal", Role.TABLES: "tables", Role.INDEXES: "indexes"}
"""Names of the mount points below the session's folder."""


def build_steps(
    plan: StoragePlan, devices: Mapping[str, PlannedDevice], names: Names, folder: str
) -> tuple[Step, ...]:
    """Return all steps that make a plan, each with its undo steps.

    Args:
        plan: without problems (`app.domain.storage_plan.reader`).
        devices: the plan's disks on this machine, by `DiskIdentity.key`.
        names: of the session.
        folder: of the session, root's own; contains the mount points.

    Raises:
        KeyError: a disk of the plan is not among the devices.
    """
    return tuple(_steps(plan, devices, names, folder))


def _steps(
    plan: StoragePlan, devices: Mapping[str, PlannedDevice], names: Names, folder: str
) -> Iterator[Step]:
    members = members_of(plan, devices, names)
    disks = tuple(member.disk for member in members)
    yield Settle(disks, "udevd looks at none of the disks any more")
    yield ClaimDisks(disks, "every disk is the one that was chosen, and spare")
    logs = _of(members, Role.ZFS_LOG)
    parts = [
        (group, (*_of(members, role), *(logs if role is Role.DATA else ())))
        for role, group in plan.by_role.items()
    ]
    for group, lying in parts:
        yield from scheduler_checks(group, lying)
    for (role, _), (_, lying) in zip(plan.by_role.items(), parts, strict=True):
        yield _folder_step(f"{folder}/{MOUNT_NAMES[role]}", lying)
    yield from partition_steps(members)
    for role, group in plan.by_role.items():
        of_pool = logs if role is Role.DATA else ()
        yield from _group_steps(group, _of(members, role), of_pool, names, folder)
    yield from queue_steps(parts, names)


def _of(members: tuple[PlanMember, ...], role: Role) -> tuple[PlanMember, ...]:
    return tuple(member for member in members if member.role is role)


def _folder_step(place: str, members: Sequence[PlanMember]) -> MakeFolder:
    """Return the step that makes a mount point: first of all, so that it is removed last of all."""
    tables = tuple(member.partition.places[1] for member in members)
    return MakeFolder(
        place, "the mount point", undo=(RemoveFolder(place, "the mount point is removed", tables),)
    )


def _group_steps(
    group: Group, members: tuple[PlanMember, ...], logs: tuple[PlanMember, ...], names: Names, folder: str
) -> Iterator[Step]:
    role = members[0].role
    spec = format_of(group.filesystem)
    assembler = spec.assembler(group.level)
    place = f"{folder}/{MOUNT_NAMES[role]}"
    if assembler is Assembler.ZFS:
        yield from pool_steps(group, spec, members, logs, names.pool(role))
        yield from mount_steps(group, spec, (*members, *logs), (names.pool(role),), place)
        return
    nodes = tuple(member.node for member in members)
    if assembler is Assembler.MD:
        yield from array_steps(group, members, names)
        nodes = (names.array_node(role),)
    yield from filesystem_steps(group, spec, members, nodes, names)
    yield from mount_steps(group, spec, members, nodes, place, names.filesystem(role))


# --- An md array over our partitions, its initial synchronisation, and its end. Source: mdadm(8), md(4);
# mdadm's Create.c and util.c (`ask` takes the end of its input for no, so that anything it would ask about
# ends it). All options are explicit: defaults have changed between versions, that of the bitmap twice.


def array_steps(group: Group, members: Sequence[PlanMember], names: Names) -> Iterator[Step]:
    """Yield the steps that make the array of a group and wait until it is complete."""
    role = members[0].role
    node, uuid = names.array_node(role), names.array_uuid(role)
    nodes = tuple(member.node for member in members)
    runs = ArrayRuns(node, uuid, nodes)
    yield Command(
        (
            *("mdadm", "--create", node, "--metadata=1.2"),
            *(f"--homehost={HOST}", f"--name={names.array(role)}", f"--uuid={uuid}"),
            *_shape(group),
            *nodes,
        ),
        "the disks become one array",
        timeout_s=LONG_S,
        writes=tuple(member.own for member in members),
        before=tuple(condition for each in nodes for condition in (NoSignature(each), DeviceFree(each))),
        signs=tuple(member.content for member in members),
        after=(runs, *(MemberOf(each, uuid) for each in nodes)),
        undo=(
            Command(
                ("mdadm", "--stop", node),
                "the array is taken apart",
                when=(runs,),
                writes=tuple(member.own_member for member in members),
                after=(NoArray(nodes),),
                looks=tuple(member.content for member in members),
            ),
            *(wipe_member(member, NoArray(nodes)) for member in members),
        ),
    )
    yield Settle((*nodes, node), "udevd has named the array")
    yield AwaitNode(node, 1, f"{node} is there")
    yield ReadBackArray(node, tuple(_shown(group)), "the array is as it was asked for")
    if group.level is not Level.STRIPE:
        yield AwaitSync(node, "the array is complete and has nothing to synchronise")


def _shape(group: Group) -> Iterator[str]:
    made = layout(group.level, Assembler.MD)
    yield f"--level={made.name}"
    yield f"--raid-devices={len(group.disks)}"
    if group.level in STRIPED:
        yield f"--chunk={chunk_bytes(group) // KIB}K"
    if made.md_layout:
        yield f"--layout={made.md_layout}"
    if group.level is not Level.STRIPE:
        yield f"--bitmap={(group.bitmap or Bitmap.INTERNAL).value}"
    if group.initial_sync is InitialSync.ASSUME_CLEAN:
        yield "--assume-clean"


def _shown(group: Group) -> Iterator[ExpectedToken]:
    """Yield the expected kernel attributes of an array, by the keys of a group."""
    made = layout(group.level, Assembler.MD)
    yield _is("level", f"level={made.name}")
    yield _is("disks", f"raid_disks={len(group.disks)}")
    if group.level in STRIPED:
        yield _is("chunk_size", f"chunk_size={chunk_bytes(group)}")
    if made.md_layout:
        yield _is("layout", f"layout={_LAYOUT_NUMBERS[made.md_layout]}")
    if group.level is not Level.STRIPE:
        yield _is("bitmap", f"bitmap={(group.bitmap or Bitmap.INTERNAL).value}")


def _is(name: str, token: str) -> ExpectedToken:
    return ExpectedToken(name, ShownBy.ARRAY, ReadbackToken((token,)))


# --- A ZFS pool over our partitions, and its end. Source: zpool-create(8), zpoolprops(7), zfsprops(7). The
# pool is in no cache file, mounts nothing by itself, and answers a failed disk with an error instead of
# waiting for ever.


def pool_steps(
    group: Group, spec: FormatSpec, members: Sequence[PlanMember], logs: Sequence[PlanMember], pool: str
) -> Iterator[Step]:
    """Yield the steps that make the pool of a group, with its log devices."""
    everyone = (*members, *logs)
    nodes = tuple(member.node for member in everyone)
    contents = tuple(member.content for member in everyone)
    yield Command(
        (
            *("zpool", "create"),
            *_properties("-o", spec.arguments(Stage.POOL, group.chosen)),
            *_properties("-O", spec.arguments(Stage.DATASET, group.chosen)),
            pool,
            *_vdevs(group.level, [member.node for member in members]),
            *(("log", *_mirrored([member.node for member in logs])) if logs else ()),
        ),
        "the disks become one pool",
        timeout_s=LONG_S,
        writes=tuple(member.own for member in everyone),
        before=(NoPool(pool), *(each for node in nodes for each in (NoSignature(node), DeviceFree(node)))),
        signs=contents,
        after=(PoolImported(pool),),
        undo=(
            RecordPool(pool, nodes, "the pool's GUID, to know its labels again", required=False),
            Command(
                ("zpool", "destroy", pool),
                "the pool is taken apart",
                timeout_s=LONG_S,
                when=(OwnPool(pool),),
                before=(PoolNotMounted(pool),),
                writes=tuple(member.own_member for member in everyone),
                owned=contents,
                after=(NoPool(pool),),
                looks=contents,
            ),
            Command(
                ("zpool", "export", pool),
                "a pool that this helper has not unmounted is kept as it is",
                timeout_s=LONG_S,
                when=(OwnPool(pool),),
                before=(PoolNotMounted(pool),),
                writes=tuple(member.own_member for member in everyone),
                after=(NoPool(pool),),
            ),
            *(wipe_member(member, NoPool(pool)) for member in everyone),
        ),
    )
    yield RecordPool(pool, nodes, "the pool's GUID, for the journal")
    yield ReadBackPool(pool, tuple(_consists(group, len(logs))), "the pool is as it was asked for")


def _consists(group: Group, logs: int) -> Iterator[ExpectedToken]:
    """Yield the expected vdevs of a pool, by the keys of a target."""
    word, count = layout(group.level, Assembler.ZFS).name, len(group.disks)
    if group.level is Level.RAID10:
        vdevs = [f"{word}*2"] * (count // 2)
    else:
        vdevs = [f"{word}*{count}"] if word else ["disk"] * count
    yield ExpectedToken("level", ShownBy.VDEVS, ReadbackToken((f"data={','.join(vdevs)}",)))
    log = {0: ReadbackToken(absent=("logs=",)), 1: ReadbackToken(("logs=disk",))}
    yield ExpectedToken("zfs_log", ShownBy.VDEVS, log.get(logs, ReadbackToken((f"logs=mirror*{logs}",))))


def _properties(flag: str, items: Sequence[tuple[str, str]]) -> Iterator[str]:
    for _, item in items:
        yield flag
        yield item


def _vdevs(level: Level, nodes: Sequence[str]) -> tuple[str, ...]:
    word = layout(level, Assembler.ZFS).name
    if level is Level.RAID10:
        pairs = [nodes[at : at + 2] for at in range(0, len(nodes), 2)]
        return tuple(part for pair in pairs for part in (word, *pair))
    return (word, *nodes) if word else tuple(nodes)


def _mirrored(nodes: Sequence[str]) -> tuple[str, ...]:
    return ("mirror", *nodes) if len(nodes) > 1 else tuple(nodes)
