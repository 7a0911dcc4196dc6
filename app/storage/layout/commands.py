"""A storage plan becomes steps: a pure function, and the exact reverse of what it made.

Every tool's own safety check stays in place: nothing is forced, no question is answered but with no.
Source: storage reference, sections 2 and 3.3; design.md, sections 4 and 6.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from app.domain.filesystems import filesystem
from app.domain.options.raid import Assembler
from app.domain.storage_plan.plan import Group, Role, StoragePlan
from app.storage.layout.commands_arrays import array_steps
from app.storage.layout.commands_filesystem import filesystem_steps, mount_steps
from app.storage.layout.commands_partition import partition_steps
from app.storage.layout.commands_pools import pool_steps
from app.storage.layout.names import Names, PlannedDevice
from app.storage.layout.partitions import PlanMember, members_of
from app.storage.layout.steps import ClaimDisks, Settle, Step

MOUNT_NAMES = {Role.DATA: "storage", Role.WAL: "wal"}
"""Names of the mount points below the session's folder."""


def build_steps(
    plan: StoragePlan, devices: Mapping[str, PlannedDevice], names: Names, folder: str
) -> tuple[Step, ...]:
    """Return everything that makes a plan, each step with what undoes it.

    Args:
        plan: without problems (`app.domain.storage_plan.problems`).
        devices: the plan's disks as this machine has them, by `DiskIdentity.key`.
        names: of the session.
        folder: of the session, root's own; the mount points are made in it.

    Raises:
        KeyError: a disk of the plan is not among the devices.
    """
    return tuple(_steps(plan, devices, names, folder))


def _steps(
    plan: StoragePlan, devices: Mapping[str, PlannedDevice], names: Names, folder: str
) -> Iterator[Step]:
    members = members_of(plan, devices, names)
    yield Settle("udevd looks at none of the disks any more")
    yield ClaimDisks(
        tuple(member.disk for member in members), "every disk is the one that was chosen, and spare"
    )
    yield from partition_steps(members)
    logs = tuple(member for member in members if member.role is Role.ZFS_LOG)
    yield from _group_steps(plan.data, _of(members, Role.DATA), logs, names, folder)
    if plan.wal:
        yield from _group_steps(plan.wal, _of(members, Role.WAL), (), names, folder)


def _of(members: tuple[PlanMember, ...], role: Role) -> tuple[PlanMember, ...]:
    return tuple(member for member in members if member.role is role)


def _group_steps(
    group: Group, members: tuple[PlanMember, ...], logs: tuple[PlanMember, ...], names: Names, folder: str
) -> Iterator[Step]:
    role = members[0].role
    spec = filesystem(group.filesystem)
    assembler = spec.assembler(group.level)
    place = f"{folder}/{MOUNT_NAMES[role]}"
    if assembler is Assembler.ZFS:
        yield from pool_steps(group, spec, members, logs, names.pool(role))
        yield from mount_steps(group, spec, (names.pool(role),), place)
        return
    nodes = tuple(member.node for member in members)
    if assembler is Assembler.MD:
        yield from array_steps(group, members, names)
        nodes = (names.array_node(role),)
    yield from filesystem_steps(group, spec, members, nodes, names)
    yield from mount_steps(group, spec, nodes, place, names.filesystem(role))
