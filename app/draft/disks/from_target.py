"""From a target on spare disks back to the fields of its pages."""

from __future__ import annotations

from dataclasses import dataclass

from app.domain.campaign.configuration import DiskGroup, DiskTarget, Target
from app.domain.filesystems import filesystem
from app.draft.disks.target import PREFIX, read_target, write_option
from app.draft.fields.fields import FIELDS, WAL_FIELDS
from app.draft.fields.storage_state import DisksDraft, GroupDraft, MadeDraft
from app.draft.fields.text import write_text


def disks_of(target: Target) -> DisksDraft:
    """Return fields that build this target again; empty ones for a target that is none on disks."""
    if not isinstance(target, DiskTarget):
        return DisksDraft()
    limit = write_text(FIELDS[f"{PREFIX}memory_limit"], target.memory_limit_bytes)
    wal = _group(target.wal) if target.wal else GroupDraft()
    return DisksDraft(_group(target.data), wal, list(target.zfs_log), limit)


@dataclass(frozen=True, slots=True)
class OwnStorage:
    """In what a configuration differs from the pages about disks; see `ConfigurationDraft`.

    Attributes:
        disks: of its own; None for those of the pages.
        made: of the disks; None for what the pages say.
        wal_apart: whether its WAL lies on the disks for it.
    """

    disks: DisksDraft | None = None
    made: MadeDraft | None = None
    wal_apart: bool = True


def own_storage(disks: DisksDraft, target: Target) -> OwnStorage:
    """Return in what a target differs from the pages: in what is made of the same disks, or in everything."""
    if not isinstance(target, DiskTarget):
        return OwnStorage()
    same = OwnStorage(None, made_of(target.data), target.wal is not None)
    if read_target(disks, same.made, wal_apart=same.wal_apart).target == target:
        return same
    return OwnStorage(disks_of(target))


def made_of(group: DiskGroup) -> MadeDraft:
    """Return what is made of a group."""
    spec = filesystem(group.filesystem)
    typed = {name: write_option(spec.option(name), value) for name, value in group.options}
    return MadeDraft(group.level, spec.id, {spec.id: group.preset}, {spec.id: typed})


def _group(group: DiskGroup) -> GroupDraft:
    return GroupDraft(
        list(group.disks),
        made_of(group),
        write_text(WAL_FIELDS["partition_size"], group.partition_bytes),
        group.whole_disk,
        write_text(WAL_FIELDS["chunk_size"], group.chunk_bytes),
        group.bitmap.value if group.bitmap else "",
        group.initial_sync.value if group.initial_sync else "",
    )
