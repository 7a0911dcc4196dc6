"""Describe the drawing of a layout as data: disks, partitions, arrays and their content. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from app.domain.options.raid import ArrayLayout, Assembler, Level
from app.domain.storage_plan.plan import Role
from app.domain.text import tr, trn
from app.domain.units import format_size
from app.draft.disks.levels import copies_of, layout_of, survives_words, usable_words
from app.draft.disks.table import ROLE_WORDS, StorageFacts, model_of, plain_line
from app.draft.disks.target import spec_of
from app.draft.fields.storage_state import DisksDraft, GroupDraft, MadeDraft, level_of
from app.storage.layout.partitions import whole_disk_bytes


@dataclass(frozen=True, slots=True)
class DrawnDisk:
    """A disk of the drawing.

    Attributes:
        title: purpose, such as ``data 1``.
        name: model.
        detail: end of the serial, and size.
        partition: size of its partition, as text.
        share: of the disk that the partition takes, 0 to 1.
        there: whether the disk is present.
    """

    title: str
    name: str
    detail: str
    partition: str
    share: float
    there: bool = True


@dataclass(frozen=True, slots=True)
class DrawnGroup:
    """Disks that form one filesystem, from bottom to top.

    Attributes:
        title: its content.
        disks: members, in order.
        pairs: whether each pair of neighbours mirrors the same data.
        array: made of the partitions; empty if the filesystem uses them directly.
        filesystem: on top.
        facts: capacity, and failures it survives.
        partitions: their size, if they do not take whole disks: it explains the capacity.
    """

    title: str
    disks: tuple[DrawnDisk, ...]
    pairs: bool
    array: str
    filesystem: str
    facts: str
    partitions: str = ""

    @property
    def words(self) -> str:
        """The whole group as text, for screen readers."""
        members = ", ".join(f"{disk.title} {disk.name} {disk.detail}" for disk in self.disks)
        layers = "; ".join(
            part for part in (self.array, self.filesystem, self.facts, self.partitions) if part
        )
        return tr("{title} on {members}: {layers}.").format(title=self.title, members=members, layers=layers)


_TITLES: Final = {
    Role.DATA: tr("Data directory"),
    Role.WAL: tr("WAL (pg_wal)"),
    Role.TABLES: tr("Tables (a tablespace)"),
    Role.INDEXES: tr("Indexes (a tablespace)"),
}


def draw(
    disks: DisksDraft, facts: StorageFacts, partition_bytes: Mapping[Role, int | None] | None = None
) -> tuple[DrawnGroup, ...]:
    """Return the groups of the drawing: data, WAL, tables, indexes, then the log devices.

    Args:
        disks: the choices.
        facts: of this machine.
        partition_bytes: of each group, if known; else the whole disk.
    """
    groups: list[DrawnGroup] = []
    titles = _TITLES if disks.wal.disks else {**_TITLES, Role.DATA: tr("Data directory and WAL")}
    for role, group in disks.groups.items():
        if group.disks:
            groups.append(_group(titles[role], role, group, facts, (partition_bytes or {}).get(role)))
    if disks.zfs_log:
        members = tuple(
            _disk(key, Role.ZFS_LOG, number, facts, None) for number, key in enumerate(disks.zfs_log, 1)
        )
        mirrored = (
            tr("mirrored log devices of the pool") if len(members) > 1 else tr("log device of the pool")
        )
        groups.append(
            DrawnGroup(tr("Log of ZFS"), members, pairs=False, array="", filesystem=mirrored, facts="")
        )
    return tuple(groups)


def _group(title: str, role: Role, group: GroupDraft, facts: StorageFacts, size: int | None) -> DrawnGroup:
    made, count = group.made, len(group.disks)
    level = level_of(made, count)
    found = layout_of(made, level)
    members = tuple(
        _disk(key, role, number, facts, None if group.whole_disk else size)
        for number, key in enumerate(group.disks, 1)
    )
    array, facts_text, partitions = "", "", ""
    if found is None:
        facts_text = tr("{filesystem} has no level “{level}”").format(
            filesystem=spec_of(made).label, level=level.label
        )
    elif problem := found.problem(count):
        facts_text = problem.rstrip(".")
    else:
        array = _array(found)
        facts_text = _facts(found, group, made, facts, size)
        partitions = _partitions(group, facts, size)
    is_pairs = level is Level.RAID10 and count % 2 == 0 and not (found and found.assembler is Assembler.BTRFS)
    return DrawnGroup(
        title, members, is_pairs and bool(array), array, spec_of(made).label, facts_text, partitions
    )


def _facts(
    found: ArrayLayout, group: GroupDraft, made: MadeDraft, facts: StorageFacts, size: int | None
) -> str:
    there = [disk.identity.size_bytes for key in group.disks if (disk := facts.disk(key))]
    if len(there) < len(group.disks):
        return ""
    whole = whole_disk_bytes(there)
    sizes = [min(size, whole) if size and not group.whole_disk else whole] * len(there)
    copies = copies_of(made)
    return tr("{usable}, {survives}").format(
        usable=usable_words(found, sizes, copies), survives=survives_words(found, len(there), copies)
    )


def _partitions(group: GroupDraft, facts: StorageFacts, size: int | None) -> str:
    there = [disk.identity.size_bytes for key in group.disks if (disk := facts.disk(key))]
    if not size or group.whole_disk or not there or size >= whole_disk_bytes(there):
        return ""
    return trn(
        "partition of {size}, not the whole disk",
        "partitions of {size} each, not whole disks",
        len(group.disks),
    ).format(size=format_size(size))


def _array(found: ArrayLayout) -> str:
    match found.assembler:
        case Assembler.RAW:
            return ""
        case Assembler.MD:
            return tr("md array, {name}").format(name=found.name)
        case Assembler.BTRFS:
            return tr("btrfs, data {name}, metadata {metadata}").format(
                name=found.name, metadata=found.metadata
            )
        case Assembler.ZFS:
            word = found.name or tr("plain disks")
            return tr("ZFS pool, {word}").format(word=word)


def _disk(key: str, role: Role, number: int, facts: StorageFacts, size: int | None) -> DrawnDisk:
    title = f"{ROLE_WORDS[role]} {number}"
    disk = facts.disk(key)
    if disk is None:
        return DrawnDisk(title, tr("gone"), f"…{key[-4:]}", "", 0.0, there=False)
    whole = whole_disk_bytes([disk.identity.size_bytes])
    taken = min(size, whole) if size else whole
    partition = tr("whole disk") if taken == whole else format_size(taken)
    detail = f"…{plain_line(disk.identity.tail())} · {format_size(disk.identity.size_bytes)}"
    name = model_of(disk)
    return DrawnDisk(title, name, detail, partition, taken / max(1, disk.identity.size_bytes))
