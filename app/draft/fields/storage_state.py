"""The fields of the wizard's pages about spare disks: disks, level, filesystem and options, as typed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from app.campaign_file.disks import WholeDisk
from app.domain.options.raid import Level
from app.domain.storage_plan.plan import Role

FIRST_FILESYSTEM: Final = "ext4"
DEFAULT_PRESET: Final = "defaults"
"""Id of the first preset of every filesystem."""


@dataclass(slots=True)
class MadeDraft:
    """Level, filesystem and options of a group of disks; texts of other filesystems are kept.

    Attributes:
        level: None for the default of the number of disks.
        filesystem: id.
        presets: id of the preset by filesystem; missing ones use the defaults.
        options: by filesystem, options that override the preset by id, as typed.
    """

    level: Level | None = None
    filesystem: str = FIRST_FILESYSTEM
    presets: dict[str, str] = field(default_factory=dict)
    options: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def preset(self) -> str:
        """The preset of the chosen filesystem."""
        return self.presets.get(self.filesystem, DEFAULT_PRESET)

    @property
    def typed(self) -> dict[str, str]:
        """The options of the chosen filesystem; to be changed in place."""
        return self.options.setdefault(self.filesystem, {})

    def copy(self) -> MadeDraft:
        """Return an independent copy."""
        options = {name: dict(typed) for name, typed in self.options.items()}
        return MadeDraft(self.level, self.filesystem, dict(self.presets), options)


@dataclass(slots=True)
class GroupDraft:
    """Disks that form one filesystem.

    Attributes:
        disks: WWN or serial of each (`app.domain.disk.DiskIdentity.key`), in the order of members.
        made: level, filesystem and options.
        texts: of the other keys of a group in campaign files (`app.campaign_file.disks.GROUP_FIELDS`), by
            key; empty or missing for the default.
    """

    disks: list[str] = field(default_factory=list)
    made: MadeDraft = field(default_factory=MadeDraft)
    texts: dict[str, str] = field(default_factory=dict)

    @property
    def whole_disk(self) -> bool:
        """Whether each partition takes its whole disk."""
        return self.texts.get("partition_size") == WholeDisk.WHOLE


@dataclass(slots=True)
class DisksDraft:
    """The pages about spare disks.

    Attributes:
        data: contains the data directory.
        wal: contains pg_wal if it has disks.
        zfs_log: log devices of the pool.
        memory_limit: of PostgreSQL and pgbench together, as typed; empty for none.
        confirmed: text typed on the last page to confirm each disk, by its key; never saved.
        tables: contains a tablespace with the tables if it has disks.
        indexes: contains one with the indexes if it has disks.
    """

    data: GroupDraft = field(default_factory=GroupDraft)
    wal: GroupDraft = field(default_factory=GroupDraft)
    zfs_log: list[str] = field(default_factory=list)
    memory_limit: str = ""
    confirmed: dict[str, str] = field(default_factory=dict)
    tables: GroupDraft = field(default_factory=GroupDraft)
    indexes: GroupDraft = field(default_factory=GroupDraft)

    @property
    def chosen(self) -> tuple[str, ...]:
        """Every chosen disk, in the order of claims."""
        return (*(disk for group in self.groups.values() for disk in group.disks), *self.zfs_log)

    @property
    def groups(self) -> dict[Role, GroupDraft]:
        """The groups by role; those without disks are not created."""
        return {
            Role.DATA: self.data,
            Role.WAL: self.wal,
            Role.TABLES: self.tables,
            Role.INDEXES: self.indexes,
        }


def level_of(made: MadeDraft, disks: int) -> Level:
    """Return the chosen level, else the default for `disks` disks: redundancy first."""
    if made.level is not None:
        return made.level
    if disks < 2:
        return Level.SINGLE
    return Level.MIRROR if disks < 4 else Level.RAID10
