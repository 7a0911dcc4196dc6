"""Filesystems on partitions or an array: created, mounted, read back, and their reverse.

Source: mount(8), umount(8), btrfs-device(8). The arguments of a mkfs program are in the filesystem's own file
(`FormatSpec.mkfs_arguments`). mke2fs looks for an older filesystem only at a terminal (mke2fs.c,
CHECK_FS_EXIST), so one of our conditions checks for it before every mkfs.

Also a GPT with one partition of our own type and name on each disk, and its removal. Source: sfdisk(8); UEFI
specification, 5.3. sfdisk keeps its own check that nothing uses the disk.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.domain.formats import format_of
from app.domain.options.format_spec import Creation, FormatSpec, joined
from app.domain.options.kinds import Stage
from app.domain.options.raid import Assembler, layout
from app.domain.storage_plan.plan import PARTITION_TYPE, Group, InitialSync
from app.domain.text import MIB
from app.storage.layout.commands_maintenance import ending_steps, left_files_steps
from app.storage.layout.conditions import (
    ArrayRuns,
    Condition,
    DeviceGone,
    MountIs,
    NoBtrfs,
    NodeThere,
    NoSignature,
    NotMounted,
    OwnTable,
    SignatureIs,
    SignedPlace,
    array_place,
)
from app.storage.layout.partitions import START_BYTES, Names, PlanMember, alignment_of
from app.storage.layout.steps import LONG_S, AwaitNode, Command, ReadBack, Settle, Step, Wipe, WipeTable


def partition_steps(members: Sequence[PlanMember]) -> Iterator[Step]:
    """Yield the steps that partition all disks."""
    for member in members:
        yield _partition(member)
    yield Settle(tuple(member.disk for member in members), "udevd has seen the partitions")
    for member in members:
        yield Command(
            ("partx", "--update", "--nr", "1", member.disk),
            "the kernel is told of the partition, unless udevd had it read the table",
            when=(member.own, DeviceGone(member.node)),
            after=(NodeThere(member.node),),
        )
        yield AwaitNode(member.node, member.partition_bytes, f"{member.node} is there")


def _partition(member: PlanMember) -> Command:
    script = (
        "label: gpt\n"
        f"label-id: {member.table_uuid}\n"
        f"start={START_BYTES // MIB}MiB, size={member.partition_bytes // MIB}MiB, type={PARTITION_TYPE}, "
        f'uuid={member.partition_uuid}, name="{member.name}"\n'
    )
    # sfdisk itself would notify the kernel after a pause of 250 ms and a sync(2) of everything (sfdisk.c,
    # write_changes). A separate step does it, after waiting for udevd.
    return Command(
        (
            *("sfdisk", "--no-tell-kernel", "--wipe", "never", "--wipe-partitions", "never", "--quiet"),
            member.disk,
        ),
        "one partition of our own type",
        input=script,
        claims=(member.disk,),
        signs=member.partition.places[1:],
        after=(OwnTable(member.disk, member.table_uuid),),
        undo=(
            wipe_member(member),
            WipeTable(member.partition, member.signature, "our partition table is removed, last of all"),
        ),
    )


def wipe_member(member: PlanMember, *before: Condition) -> Wipe:
    """Return the step that wipes our signature from our partition."""
    return Wipe(
        member.node,
        member.partition.place,
        member.signature,
        (member.partition,),
        f"our signature ({member.signature.type}) is wiped from our partition",
        before=before,
    )


def filesystem_steps(
    group: Group, spec: FormatSpec, members: Sequence[PlanMember], nodes: Sequence[str], names: Names
) -> Iterator[Step]:
    """Yield the steps that create the filesystem of a group.

    Args:
        group: of the plan.
        spec: its filesystem.
        members: its partitions.
        nodes: devices of the filesystem: the partitions, or the array.
        names: of the session.

    Raises:
        ValueError: the filesystem has no mkfs program.
    """
    if spec.mkfs is None or spec.mkfs_arguments is None:
        raise ValueError(spec.id)
    role = members[0].role
    uuid = names.filesystem(role)
    own = tuple(member.own for member in members)
    array: tuple[Condition, ...] = ()
    undo: tuple[Step, ...] = ()
    signs = tuple(member.content for member in members)
    partitions = tuple(member.node for member in members)
    if spec.assembler(group.level) is Assembler.MD:
        array = (ArrayRuns(nodes[0], names.array_uuid(role), partitions),)
        wipe = _wipe_array(nodes[0], members, group, names)
        undo, signs = (wipe,), (SignedPlace(wipe.place, nodes[0]),)
    elif spec.several is Assembler.BTRFS:
        undo = tuple(_forget(member, uuid) for member in members)
        undo += tuple(wipe_member(member, NoBtrfs(uuid)) for member in members)
    yield Command(
        (spec.mkfs, *joined(spec.mkfs_arguments(_creation(group, spec, uuid))), *nodes),
        f"{spec.label} is made",
        timeout_s=LONG_S,
        only_its_disks=True,
        writes=own,
        before=(*array, *(NoSignature(node) for node in nodes)),
        signs=signs,
        equalises=signs if group.initial_sync is InitialSync.ASSUME_CLEAN else (),
        after=tuple(SignatureIs(node, spec.id, uuid) for node in nodes),
        undo=undo,
    )
    # A btrfs mounts only if the kernel knows all its devices; without waiting, one was once missing.
    if len(nodes) > 1:
        yield Settle(tuple(nodes), "udevd has seen the filesystem")


def mount_steps(
    group: Group,
    spec: FormatSpec,
    members: Sequence[PlanMember],
    sources: Sequence[str],
    place: str,
    uuid: str = "",
) -> Iterator[Step]:
    """Yield the steps that mount the filesystem of a group and read it back.

    Args:
        group: of the plan.
        spec: its filesystem.
        members: its partitions.
        sources: devices of it, or the name of the pool.
        place: mount point.
        uuid: of the filesystem; empty for pools.
    """
    items = [item for _, item in spec.arguments(Stage.MOUNT, group.chosen)]
    items += [f"device={source}" for source in sources[1:]]  # only a btrfs has several
    gone: tuple[Condition, ...] = (NotMounted(place),)
    if spec.several is Assembler.BTRFS:
        gone += (NoBtrfs(uuid),)
    partitions = tuple(each for member in members for each in member.partition.places)
    contents = tuple(member.content for member in members)
    if spec.assembler(group.level) is Assembler.MD:
        contents = (SignedPlace(array_place(members[0].signature.uuid), sources[0]),)
    elif spec.assembler(group.level) is Assembler.ZFS:
        contents = ()  # the pool holds them
    yield Command(
        (
            *("mount", "--internal-only", "--types", spec.id, "--options", ",".join(dict.fromkeys(items))),
            *("--source", sources[0], "--target", place),
        ),
        f"{spec.label} is mounted",
        timeout_s=LONG_S,
        before=(NotMounted(place),),
        after=(MountIs(place, tuple(sources)),),
        mounts=place,
        undo=(
            *ending_steps(spec.id, MountIs(place, tuple(sources))),
            Command(
                ("umount", "--internal-only", place),
                f"{spec.label} is unmounted",
                timeout_s=LONG_S,
                when=(MountIs(place, tuple(sources)),),
                after=gone,
                frees=(*partitions, *contents),
                looks=contents,
                busy=("target is busy",),  # UDisks2 asks a mounted XFS for its size (xfs_info) for a moment
            ),
            *left_files_steps(spec.id, place, uuid),
        ),
    )
    for _, item in spec.arguments(Stage.ATTRIBUTE, group.chosen):
        yield Command(("chattr", item, place), "the attribute of the folder is set")
    yield ReadBack(
        spec.id,
        place,
        sources[0],
        group.options,
        "everything is as it was asked for",
        spec.expected(_creation(group, spec, uuid)) if spec.expected else (),
    )


def _creation(group: Group, spec: FormatSpec, uuid: str) -> Creation:
    assembler = spec.assembler(group.level)
    return Creation(
        group.chosen,
        spec.arguments(Stage.MKFS, group.chosen),
        uuid,
        layout(group.level, assembler),
        alignment_of(group, assembler),
    )


def _wipe_array(node: str, members: Sequence[PlanMember], group: Group, names: Names) -> Wipe:
    role = members[0].role
    spec = format_of(group.filesystem)
    return Wipe(
        node,
        array_place(names.array_uuid(role)),
        SignatureIs(node, spec.id, names.filesystem(role)),
        tuple(member.partition for member in members),
        f"our signature ({spec.id}) is wiped from our array",
        array=ArrayRuns(node, names.array_uuid(role), tuple(member.node for member in members)),
    )


def _forget(member: PlanMember, uuid: str) -> Command:
    return Command(
        ("btrfs", "device", "scan", "--forget", member.node),
        "the kernel forgets the device",
        when=(NodeThere(member.node),),
        owned=member.partition.places[1:],
        before=(NoBtrfs(uuid),),
        forgives=("No such file or directory",),
    )
