"""A storage plan as it crosses the bus: native types in a fixed order, checked again on arrival.

Both sides use this module; `app/helper/interface.xml` repeats the signatures for others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from app.domain.disk import DiskIdentity
from app.domain.problem import Problem
from app.domain.storage_plan.plan import (
    FURTHER_ROLES,
    PLAN_SCHEMA,
    Group,
    StoragePlan,
    names_of,
    part_as_mapping,
)
from app.domain.storage_plan.reader import PlanError, parse_plan
from app.domain.text import tr

IDENTITY: Final = "(ssstst)"
"""Serial, WWN or empty, model, size in bytes, device number ``major:minor``, disk sequence number or 0."""
GROUP: Final = f"(a{IDENTITY}ssa{{sv}}ttsssx)"
"""Disks, level, filesystem, options, bytes of each partition or 0 for the whole disk, bytes of a chunk or 0,
bitmap or empty, initial synchronisation or empty, I/O scheduler or empty, bytes of read-ahead or -1.
"""
FURTHER: Final = f"a(s{GROUP})"
"""Further groups, each with the word of its `app.domain.storage_plan.plan.FURTHER_ROLES`, once."""
PLAN: Final = f"({GROUP}{FURTHER}a{IDENTITY})"
"""Data, further groups, log devices of the pool."""
PLANS: Final = f"a{PLAN}"
"""The argument of ``Describe``: 1 to `MOST_PLANS` plans."""
MOST_PLANS: Final = 16

Wire = tuple[Any, ...]

_ABSENT: Final[dict[str, object]] = {
    "wwn": "",
    "diskseq": 0,
    "partition_bytes": 0,
    "chunk_bytes": 0,
    "bitmap": "",
    "initial_sync": "",
    "scheduler": "",
    "read_ahead_bytes": -1,
}
"""Values on the bus for fields that are None."""


def identity_to_wire(disk: DiskIdentity) -> Wire:
    """Return an identity as it crosses the bus."""
    return tuple((_ABSENT | part_as_mapping(disk))[name] for name in names_of(DiskIdentity))


def identity_from_wire(wire: Sequence[Any]) -> DiskIdentity:
    """Restore an identity from the bus."""
    values: dict[str, Any] = {"wwn": None, **_values(DiskIdentity, wire)}
    return DiskIdentity(**values)


def plan_to_wire(plan: StoragePlan) -> tuple[Wire, list[Wire], list[Wire]]:
    """Return a plan as it crosses the bus."""
    further = [(role.value, group) for role, group in plan.by_role.items() if role in FURTHER_ROLES]
    return (
        _group_to_wire(plan.data),
        [(name, _group_to_wire(group)) for name, group in further],
        [identity_to_wire(disk) for disk in plan.zfs_log],
    )


def _group_to_wire(group: Group) -> Wire:
    disks = {"disks": [identity_to_wire(disk) for disk in group.disks]}
    values = _ABSENT | part_as_mapping(group) | disks
    return tuple(values[name] for name in names_of(Group))


def plan_from_wire(
    data: Sequence[Any], further: Sequence[tuple[str, Sequence[Any]]], log: Sequence[Sequence[Any]]
) -> StoragePlan:
    """Restore a plan from the bus.

    Raises:
        PlanError: it is invalid or impossible; names every field and what is allowed.
    """
    values: dict[str, object] = {"schema": PLAN_SCHEMA, "data": _group_values(data)}
    for name, group in further:
        if name not in FURTHER_ROLES:
            known = ", ".join(role.value for role in FURTHER_ROLES)
            raise PlanError([Problem("further", tr("There is no such group of disks."), known)])
        # A second one is a problem like any other: parse_plan names the field.
        values[name] = [values[name], _group_values(group)] if name in values else _group_values(group)
    if log:
        values["zfs_log"] = [_values(DiskIdentity, disk) for disk in log]
    return parse_plan(values)


def _group_values(wire: Sequence[Any]) -> dict[str, object]:
    values = _values(Group, wire)
    return values | {"disks": [_values(DiskIdentity, disk) for disk in values["disks"]]}


def _values(part: type[Group | DiskIdentity], wire: Sequence[Any]) -> dict[str, Any]:
    values = zip(names_of(part), wire, strict=True)
    return {name: value for name, value in values if name not in _ABSENT or value != _ABSENT[name]}
