"""Disks and plans for tests of the storage commands; nothing here exists."""

from __future__ import annotations

import uuid

from app.domain.disk import DiskIdentity
from app.domain.options.filesystem_spec import FilesystemSpec
from app.domain.options.kinds import OptionValue
from app.domain.options.raid import Level, layout
from app.domain.storage_plan.plan import Group, StoragePlan
from app.storage.layout.partitions import Names, PlannedDevice
from app.storage.layout.steps import Step

FOLDER = "/run/pgfooting/session"
NAMES = Names(uuid.UUID("6f1d5a52-0a0c-4c1c-9d57-9d6a2f0e8c11"))
SIZE_BYTES = 1_000_204_886_016


def disk(number: int, size_bytes: int = SIZE_BYTES) -> DiskIdentity:
    """Return the disk with this number, from 1; each a little larger than the last, as real ones are."""
    return DiskIdentity(
        serial=f"SERIAL{number}",
        wwn=f"0x5000c5000000000{number:x}",
        model="MODEL",
        size_bytes=size_bytes + number * 512,
        device_number=f"8:{16 * number}",
        diskseq=number,
    )


def disks(count: int) -> tuple[DiskIdentity, ...]:
    return tuple(disk(number) for number in range(1, count + 1))


def devices(plan: StoragePlan) -> dict[str, PlannedDevice]:
    """Return sda for disk 1 and so on."""
    letters = {disk(number).key(): "abcdefghijklm"[number - 1] for number in range(1, 14)}
    return {each.key(): PlannedDevice(f"/dev/sd{letters[each.key()]}") for _, each in plan.members()}


def plan_of(
    spec: FilesystemSpec, level: Level, options: dict[str, OptionValue], count: int | None = None
) -> StoragePlan:
    """Return a plan with the fewest disks that the level takes, or with `count`."""
    fewest = layout(level, spec.assembler(level)).minimum_disks
    return StoragePlan(Group(disks(count or fewest), level, spec.id, tuple(options.items())))


def walk(steps: tuple[Step, ...]) -> list[Step]:
    """Return steps, and what undoes them."""
    return [*steps, *(undoing for step in steps for undoing in step.undo)]
