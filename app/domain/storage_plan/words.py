"""Describe a storage plan in words. Pure."""

from __future__ import annotations

from typing import Final

from app.domain.filesystems import filesystem
from app.domain.storage_plan.plan import Group, Role, StoragePlan
from app.domain.text import tr

_APART: Final = {Role.WAL: tr("WAL"), Role.TABLES: tr("tables"), Role.INDEXES: tr("indexes")}


def place_words(plan: StoragePlan) -> str:
    """Return where the data of a plan is, in two lines."""
    words = _group_words(plan.data)
    for role, group in plan.by_role.items():
        if role is not Role.DATA:
            words += f"\n{_APART[role]}: {_group_words(group)}"
    if plan.zfs_log:
        words += tr("\nlog devices: {count}").format(count=len(plan.zfs_log))
    return words


def _group_words(group: Group) -> str:
    label, count = filesystem(group.filesystem).label, len(group.disks)
    if count == 1:
        return tr("{label} on one disk").format(label=label)
    return tr("{label}, {level} of {count} disks").format(label=label, level=group.level.value, count=count)
