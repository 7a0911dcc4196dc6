"""A GPT with one partition of our own type and name on each disk, and its removal.

Source: sfdisk(8), wipefs(8); UEFI specification, 5.3. sfdisk keeps its own check that nothing uses the disk.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.domain.plan import PARTITION_TYPE
from app.domain.units import MIB
from app.storage.members import Member
from app.storage.steps import AwaitNode, Command, NodeThere, NoNode, OwnTable, Settle, Step, Unheld, Unsigned


def partition_steps(members: Sequence[Member]) -> Iterator[Step]:
    """Yield the steps that partition all disks."""
    for member in members:
        yield _partition(member)
    yield Settle("udevd has seen the partitions")
    for member in members:
        yield Command(
            ("partx", "--update", "--nr", "1", member.disk),
            "the kernel is told of the partition, unless udevd had it read the table",
            when=(member.own, NoNode(member.node)),
            after=(NodeThere(member.node),),
        )
        yield AwaitNode(member.node, member.partition_bytes, f"{member.node} is there")


def _partition(member: Member) -> Command:
    script = (
        "label: gpt\n"
        f"label-id: {member.table_uuid}\n"
        f"start=1MiB, size={member.partition_bytes // MIB}MiB, type={PARTITION_TYPE}, "
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
        after=(OwnTable(member.disk, member.table_uuid), member.own),
        undo=(_wipe_partition(member), _wipe_table(member)),
    )


def _wipe_partition(member: Member) -> Command:
    return Command(
        ("wipefs", "--all", "--quiet", member.node),
        "what lies in our partition is no filesystem any more",
        when=(member.own, NodeThere(member.node)),
        writes=(member.own,),
        before=(Unheld(member.node),),
        after=(Unsigned(member.node),),
    )


def _wipe_table(member: Member) -> Command:
    own = OwnTable(member.disk, member.table_uuid)
    return Command(
        ("wipefs", "--all", "--quiet", member.disk),
        "our partition table is removed, last of all",
        when=(own,),
        writes=(own,),
        before=(Unheld(member.disk),),
        after=(Unsigned(member.disk), NoNode(member.node), Unheld(member.disk)),
        releases=(member.disk,),
    )
