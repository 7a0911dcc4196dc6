"""A ZFS pool over our partitions, and its end.

Source: zpool-create(8), zpoolprops(7), zfsprops(7). The pool is in no cache file,
mounts nothing by itself, and answers a failed disk with an error instead of waiting for ever.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.domain.options.filesystem_spec import FilesystemSpec
from app.domain.options.option import Stage
from app.domain.options.raid import Assembler, Level, layout
from app.domain.storage_plan.plan import Group
from app.storage.layout.commands_partition import wipe_member
from app.storage.layout.option_arguments import written
from app.storage.layout.partitions import PlanMember
from app.storage.layout.steps import (
    LONG_S,
    Command,
    DeviceFree,
    NoPool,
    NoSignature,
    OwnPool,
    PoolImported,
    RecordPool,
    Step,
)


def pool_steps(
    group: Group, spec: FilesystemSpec, members: Sequence[PlanMember], logs: Sequence[PlanMember], pool: str
) -> Iterator[Step]:
    """Yield the steps that make the pool of a group, with its log devices."""
    everyone = (*members, *logs)
    nodes = tuple(member.node for member in everyone)
    yield Command(
        (
            *("zpool", "create"),
            *_properties("-o", written(spec, group, Stage.POOL)),
            *_properties("-O", written(spec, group, Stage.DATASET)),
            pool,
            *_vdevs(group.level, [member.node for member in members]),
            *(("log", *_mirrored([member.node for member in logs])) if logs else ()),
        ),
        "the disks become one pool",
        timeout_s=LONG_S,
        writes=tuple(member.own for member in everyone),
        before=(NoPool(pool), *(each for node in nodes for each in (NoSignature(node), DeviceFree(node)))),
        signs=tuple(member.partition.place for member in everyone),
        after=(PoolImported(pool),),
        undo=(
            RecordPool(pool, nodes, "the pool's GUID, to know its labels again", required=False),
            Command(
                ("zpool", "destroy", pool),
                "the pool is taken apart",
                timeout_s=LONG_S,
                when=(OwnPool(pool),),
                writes=tuple(member.own_member for member in everyone),
                after=(NoPool(pool),),
            ),
            *(wipe_member(member, NoPool(pool)) for member in everyone),
        ),
    )
    yield RecordPool(pool, nodes, "the pool's GUID, for the journal")


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
