"""An md array over our partitions, its initial synchronisation, and its end.

Source: mdadm(8), md(4); mdadm's Create.c and util.c (`ask` takes the end of its input for no, so that
anything it would ask about ends it). Everything is said: defaults have changed between versions, that of
the bitmap twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.domain.options.raid import Assembler, Level, layout
from app.domain.storage_plan.plan import Bitmap, Group, InitialSync
from app.domain.units import KIB
from app.storage.layout.commands_partition import wipe_member
from app.storage.layout.names import HOST, Names
from app.storage.layout.partitions import PlanMember
from app.storage.layout.steps import (
    LONG_S,
    ArrayRuns,
    AwaitNode,
    AwaitSync,
    Command,
    DeviceFree,
    MemberOf,
    NoArray,
    NoSignature,
    Settle,
    Step,
)
from app.storage.layout.stripe_geometry import STRIPED, chunk_bytes


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
        signs=tuple(member.partition.place for member in members),
        after=(runs, *(MemberOf(each, uuid) for each in nodes)),
        undo=(
            Command(
                ("mdadm", "--stop", node),
                "the array is taken apart",
                when=(runs,),
                writes=tuple(member.own_member for member in members),
                after=(NoArray(nodes),),
            ),
            *(wipe_member(member, NoArray(nodes)) for member in members),
        ),
    )
    yield Settle("udevd has named the array")
    yield AwaitNode(node, 1, f"{node} is there")
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
