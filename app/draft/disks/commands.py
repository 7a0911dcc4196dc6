"""Preview the commands that create filesystems, from the builders that also execute them. Pure.

Identifiers are random and not known yet. The helper's own list is authoritative (`app.draft.root_answers`);
this one is used if the helper cannot be asked, and updates on the page with each choice.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping, Sequence
from typing import Final

from app.domain.campaign.configuration import DiskTarget
from app.domain.disk_answers import Disk
from app.domain.errors import FootingError
from app.domain.filesystems import FILESYSTEMS
from app.domain.maintenance import Maintenance
from app.domain.quoting.shell import shell_line
from app.domain.storage_plan.plan import PARTITION_NAME_PREFIX, Role, StoragePlan
from app.storage.layout.commands import MOUNT_NAMES, build_steps
from app.storage.layout.commands_maintenance import maintenance_command
from app.storage.layout.conditions import MountIs
from app.storage.layout.disk_target import storage_plan
from app.storage.layout.names import Names, PlannedDevice
from app.storage.layout.steps import Command, Step, describe

FOLDER: Final = "/run/pgfooting/SESSION"
_SESSION: Final = uuid.UUID(int=0)
_UUID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_MAKING: Final = frozenset(
    ("mdadm", "mount", "chattr", *(program.name for spec in FILESYSTEMS for program in spec.programs))
)
"""Programs with commands that show the layout; partitioning and waiting appear only in the review."""


def plan_of(target: DiskTarget, disks: Sequence[Disk], data_bytes: int) -> StoragePlan | None:
    """Return the plan of a target with these disks; None if impossible (reported as a problem)."""
    try:
        return storage_plan(target, disks, data_bytes)
    except FootingError:
        return None


def devices_of(plan: StoragePlan, disks: Sequence[Disk]) -> Mapping[str, PlannedDevice]:
    """Return the plan's disks as this machine has them now."""
    found = {disk.identity.key(): PlannedDevice(disk.path, disk.logical_block_bytes) for disk in disks}
    return {identity.key(): found[identity.key()] for _, identity in plan.members()}


def all_lines(plan: StoragePlan, disks: Sequence[Disk]) -> tuple[str, ...]:
    """Return every step of creating a plan as a line."""
    return tuple(_line(step) for step in _steps(plan, disks))


def making_lines(plan: StoragePlan, disks: Sequence[Disk]) -> tuple[str, ...]:
    """Return the commands that create arrays, pools and filesystems and mount them."""
    return tuple(
        _line(step)
        for step in _steps(plan, disks)
        if isinstance(step, Command) and step.argv[0].rpartition("/")[2] in _MAKING
    )


def maintenance_lines(target: DiskTarget, kind: Maintenance) -> tuple[str, ...]:
    """Return the commands of a maintenance by root."""
    found = []
    for role, group in {Role.DATA: target.data, **target.further}.items():
        mounted = MountIs(f"{FOLDER}/{MOUNT_NAMES[role]}", (f"{PARTITION_NAME_PREFIX}{role.value}-SESSION",))
        command = maintenance_command(kind, group.filesystem, mounted, "UUID", "pgfooting-snapshot-XXXX")
        if command is not None:
            found.append(shell_line(command.argv))
    return tuple(found)


def _steps(plan: StoragePlan, disks: Sequence[Disk]) -> tuple[Step, ...]:
    return build_steps(plan, devices_of(plan, disks), Names(_SESSION), FOLDER)


def _line(step: Step) -> str:
    line = _UUID.sub("UUID", describe(step))
    return line.replace(_SESSION.hex[:16], "SESSION").replace(_SESSION.hex[:10], "SESSION")
