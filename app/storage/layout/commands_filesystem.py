"""A filesystem on partitions or an array: made, mounted, read back, and their reverse.

Source: mke2fs(8), mkfs.xfs(8), mkfs.btrfs(8), mkfs.f2fs(8), mount(8), umount(8), btrfs-device(8). mke2fs
looks for an older filesystem only at a terminal (mke2fs.c, CHECK_FS_EXIST), so a step of ours does
before every mkfs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from app.domain.filesystems import filesystem
from app.domain.filesystems.btrfs import profiles
from app.domain.options.filesystem_spec import FilesystemSpec
from app.domain.options.option import Stage
from app.domain.options.raid import Assembler, layout
from app.domain.storage_plan.plan import Group
from app.storage.layout.commands_partition import wipe_member
from app.storage.layout.names import Names
from app.storage.layout.option_arguments import joined, written
from app.storage.layout.partitions import PlanMember
from app.storage.layout.steps import (
    LONG_S,
    ArrayRuns,
    Command,
    Condition,
    MakeFolder,
    MountIs,
    NoBtrfs,
    NodeThere,
    NoSignature,
    NotMounted,
    ReadBack,
    RemoveFolder,
    Settle,
    SignatureIs,
    Step,
    StripeGeometry,
    Wipe,
)
from app.storage.layout.stripe_geometry import alignment_of, ext_items, xfs_items

BLOCK_BYTES: Final = 4096
"""Said to mke2fs unless chosen otherwise: below 512 MiB it takes 1024 by itself (mke2fs.conf, small)."""

Pairs = list[tuple[str, str]]


def filesystem_steps(
    group: Group, spec: FilesystemSpec, members: Sequence[PlanMember], nodes: Sequence[str], names: Names
) -> Iterator[Step]:
    """Yield the steps that make the filesystem of a group.

    Args:
        group: of the plan.
        spec: its filesystem.
        members: its partitions.
        nodes: what the filesystem is made on: the partitions, or the array.
        names: of the session.

    Raises:
        ValueError: the filesystem has no mkfs program.
    """
    if spec.mkfs is None:
        raise ValueError(spec.id)
    role = members[0].role
    uuid = names.filesystem(role)
    own = tuple(member.own for member in members)
    array: tuple[Condition, ...] = ()
    undo: tuple[Step, ...] = ()
    signs = tuple(member.partition.place for member in members)
    partitions = tuple(member.node for member in members)
    if spec.assembler(group.level) is Assembler.MD:
        array = (ArrayRuns(nodes[0], names.array_uuid(role), partitions),)
        wipe = _wipe_array(nodes[0], members, group, names)
        undo, signs = (wipe,), (wipe.place,)
    elif spec.several is Assembler.BTRFS:
        undo = tuple(wipe_member(member, NoBtrfs(uuid)) for member in members)
        undo += tuple(_forget(member, uuid) for member in members)
    yield Command(
        (spec.mkfs, *joined(_MKFS[spec.id](group, spec, uuid)), *nodes),
        f"{spec.label} is made",
        timeout_s=LONG_S,
        writes=own,
        before=(*array, *(NoSignature(node) for node in nodes)),
        signs=signs,
        after=tuple(SignatureIs(node, spec.id, uuid) for node in nodes),
        undo=undo,
    )
    # A btrfs is mounted only where the kernel knows all its devices; without waiting, one was once missing.
    if len(nodes) > 1:
        yield Settle("udevd has seen the filesystem")


def mount_steps(
    group: Group, spec: FilesystemSpec, sources: Sequence[str], place: str, uuid: str = ""
) -> Iterator[Step]:
    """Yield the steps that mount the filesystem of a group and read it back.

    Args:
        group: of the plan.
        spec: its filesystem.
        sources: devices of it, or the name of the pool.
        place: mount point.
        uuid: of the filesystem; empty for pools.
    """
    items = [item for _, item in written(spec, group, Stage.MOUNT)]
    if spec.several is Assembler.BTRFS:
        items += [f"device={source}" for source in sources[1:]]
    gone: tuple[Condition, ...] = (NotMounted(place),)
    if spec.several is Assembler.BTRFS:
        gone += (NoBtrfs(uuid),)
    yield MakeFolder(place, "the mount point", undo=(RemoveFolder(place, "the mount point is removed"),))
    yield Command(
        (
            *("mount", "--internal-only", "--types", spec.id, "--options", ",".join(dict.fromkeys(items))),
            *("--source", sources[0], "--target", place),
        ),
        f"{spec.label} is mounted",
        timeout_s=LONG_S,
        before=(NotMounted(place),),
        after=(MountIs(place, tuple(sources)),),
        undo=(
            Command(
                ("umount", "--internal-only", place),
                f"{spec.label} is unmounted",
                timeout_s=LONG_S,
                when=(MountIs(place, tuple(sources)),),
                after=gone,
                busy=(
                    "target is busy",
                ),  # UDisks2 asks a mounted XFS for its size (xfs_info), as long as that takes
            ),
        ),
    )
    for flag, item in written(spec, group, Stage.ATTRIBUTE):
        yield Command(
            ("chattr", *((flag,) if flag else ()), item, place), "the attribute of the folder is set"
        )
    alignment = alignment_of(group, spec.assembler(group.level))
    yield ReadBack(
        spec.id,
        place,
        sources[0],
        group.options,
        "everything is as it was asked for",
        alignment,
        _block_bytes(group) if alignment else 0,
        _profiles(group, spec) if spec.several is Assembler.BTRFS else (),
    )


def _wipe_array(node: str, members: Sequence[PlanMember], group: Group, names: Names) -> Wipe:
    role = members[0].role
    spec = filesystem(group.filesystem)
    return Wipe(
        node,
        f"array {names.array_uuid(role)}",
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
        wiped=(member.partition.place,),
        before=(NoBtrfs(uuid),),
        forgives=("No such file or directory",),
    )


def _block_bytes(group: Group) -> int:
    value = group.chosen.get("block_size", BLOCK_BYTES)
    return int(value)


def _ext(group: Group, spec: FilesystemSpec, uuid: str) -> Pairs:
    pairs: Pairs = [("-q", ""), ("-U", uuid), *written(spec, group, Stage.MKFS)]
    if not any(flag == "-b" for flag, _ in pairs):
        pairs.append(("-b", str(BLOCK_BYTES)))
    aligned = alignment_of(group, spec.assembler(group.level))
    return pairs + _items("-E", aligned, lambda it: ext_items(it, _block_bytes(group)))


def _xfs(group: Group, spec: FilesystemSpec, uuid: str) -> Pairs:
    pairs: Pairs = [("-q", ""), ("-m", f"uuid={uuid}"), *written(spec, group, Stage.MKFS)]
    if not any(flag == "-b" for flag, _ in pairs):
        pairs.append(("-b", f"size={BLOCK_BYTES}"))
    if "su" in group.chosen:
        return pairs
    return pairs + _items("-d", alignment_of(group, spec.assembler(group.level)), xfs_items)


def _btrfs(group: Group, spec: FilesystemSpec, uuid: str) -> Pairs:
    data, metadata = _profiles(group, spec)
    others = [pair for pair in written(spec, group, Stage.MKFS) if pair[0] not in {"", "-d", "-m"}]
    return [("--quiet", ""), ("-U", uuid), ("-d", data), ("-m", metadata), *others]


def _f2fs(group: Group, spec: FilesystemSpec, uuid: str) -> Pairs:
    return [("-q", ""), ("-U", uuid), *written(spec, group, Stage.MKFS)]


_MKFS: Final[dict[str, Callable[[Group, FilesystemSpec, str], Pairs]]] = {
    "ext3": _ext,
    "ext4": _ext,
    "xfs": _xfs,
    "btrfs": _btrfs,
    "f2fs": _f2fs,
}


def _items(
    flag: str, alignment: StripeGeometry | None, words: Callable[[StripeGeometry], tuple[str, ...]]
) -> Pairs:
    return [(flag, item) for item in words(alignment)] if alignment else []


def _profiles(group: Group, spec: FilesystemSpec) -> tuple[str, str]:
    return profiles(layout(group.level, spec.assembler(group.level)), group.chosen)
