"""A storage plan as it crosses the bus: native types in a fixed order, checked again on arrival.

Both sides use this module; `app/helper/interface.xml` states the same signatures for everyone else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from app.domain.disk import DiskIdentity
from app.domain.storage_plan.plan import PLAN_SCHEMA, Group, StoragePlan
from app.domain.storage_plan.reader import parse_plan

IDENTITY: Final = "(ssstst)"
"""Serial, WWN or empty, model, size in bytes, device number ``major:minor``, disk sequence number or 0."""
GROUP: Final = f"(a{IDENTITY}ssa{{sv}}ttss)"
"""Disks, level, filesystem, options, bytes of each partition or 0 for the whole disk, bytes of a chunk or 0,
bitmap or empty, initial synchronisation or empty."""
PLAN: Final = f"({GROUP}a{GROUP}a{IDENTITY})"
"""Data, WAL (none or one), log devices of the pool."""
PLANS: Final = f"a{PLAN}"
"""The argument of ``Describe``: 1 to `MOST_PLANS` plans."""
MOST_PLANS: Final = 16

WireIdentity = tuple[str, str, str, int, str, int]
WireGroup = tuple[list[WireIdentity], str, str, dict[str, Any], int, int, str, str]
WirePlan = tuple[WireGroup, list[WireGroup], list[WireIdentity]]


def identity_to_wire(disk: DiskIdentity) -> WireIdentity:
    """Return an identity as it crosses the bus."""
    return disk.serial, disk.wwn or "", disk.model, disk.size_bytes, disk.device_number, disk.diskseq or 0


def identity_from_wire(wire: Sequence[Any]) -> DiskIdentity:
    """Return the identity that crossed the bus."""
    serial, wwn, model, size_bytes, number, diskseq = wire
    return DiskIdentity(serial, wwn or None, model, size_bytes, number, diskseq or None)


def plan_to_wire(plan: StoragePlan) -> WirePlan:
    """Return a plan as it crosses the bus."""
    return (
        _group_to_wire(plan.data),
        [_group_to_wire(plan.wal)] if plan.wal else [],
        [identity_to_wire(disk) for disk in plan.zfs_log],
    )


def _group_to_wire(group: Group) -> WireGroup:
    return (
        [identity_to_wire(disk) for disk in group.disks],
        group.level.value,
        group.filesystem,
        dict(group.options),
        group.partition_bytes or 0,
        group.chunk_bytes or 0,
        group.bitmap.value if group.bitmap else "",
        group.initial_sync.value if group.initial_sync else "",
    )


def plan_from_wire(
    data: Sequence[Any], wal: Sequence[Sequence[Any]], log: Sequence[Sequence[Any]]
) -> StoragePlan:
    """Return the plan that crossed the bus.

    Raises:
        PlanError: it is none that can be made; names every field and what is allowed.
    """
    values: dict[str, object] = {"schema": PLAN_SCHEMA, "data": _group_values(data)}
    if wal:
        # A second one is a problem like any other: parse_plan names the field.
        values["wal"] = _group_values(wal[0]) if len(wal) == 1 else [_group_values(group) for group in wal]
    if log:
        values["zfs_log"] = [_identity_values(disk) for disk in log]
    return parse_plan(values)


def _group_values(wire: Sequence[Any]) -> dict[str, object]:
    disks, level, filesystem, options, partition_bytes, chunk_bytes, bitmap, initial_sync = wire
    values: dict[str, object] = {
        "disks": [_identity_values(disk) for disk in disks],
        "level": level,
        "filesystem": filesystem,
        "options": options,
    }
    optional = {
        "partition_bytes": partition_bytes,
        "chunk_bytes": chunk_bytes,
        "bitmap": bitmap,
        "initial_sync": initial_sync,
    }
    return values | {name: value for name, value in optional.items() if value}


def _identity_values(wire: Sequence[Any]) -> dict[str, object]:
    names = ("serial", "wwn", "model", "size_bytes", "device_number", "diskseq")
    values = dict(zip(names, wire, strict=True))
    return {name: value for name, value in values.items() if value or name in {"serial", "model"}}
