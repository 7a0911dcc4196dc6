"""A GPT with one partition of our own type and name on each disk, and its removal.

Source: sfdisk(8); UEFI specification, 5.3. sfdisk keeps its own check that nothing uses the disk.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.domain.storage_plan.plan import PARTITION_TYPE
from app.domain.units import MIB
from app.storage.layout.conditions import Condition, DeviceGone, NodeThere, OwnTable
from app.storage.layout.partitions import START_BYTES, PlanMember
from app.storage.layout.steps import AwaitNode, Command, Settle, Step, Wipe, WipeTable


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
    # Left to sfdisk, the kernel is told after a pause of 250 ms and a sync(2) of everything (sfdisk.c,
    # write_changes). A step of our own tells it, and waits for udevd before.
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
    """Return the step that wipes what we made in our partition."""
    return Wipe(
        member.node,
        member.partition.place,
        member.signature,
        (member.partition,),
        f"our signature ({member.signature.type}) is wiped from our partition",
        before=before,
    )
