"""The fields of the wizard's pages about spare disks: which disks, and what is made of them, as typed."""

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
    """What is made of a group of disks; what was said about one filesystem is kept while another is chosen.

    Attributes:
        level: None for what suits the number of disks.
        filesystem: id.
        presets: id of the preset by filesystem; the defaults where it is not here.
        options: by filesystem, options over the preset by id, as typed.
    """

    level: Level | None = None
    filesystem: str = FIRST_FILESYSTEM
    presets: dict[str, str] = field(default_factory=dict)
    options: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def preset(self) -> str:
        """The preset of the filesystem that is chosen."""
        return self.presets.get(self.filesystem, DEFAULT_PRESET)

    @property
    def typed(self) -> dict[str, str]:
        """The options of the filesystem that is chosen; to be changed in place."""
        return self.options.setdefault(self.filesystem, {})

    def copy(self) -> MadeDraft:
        """Return another one that says the same."""
        options = {name: dict(typed) for name, typed in self.options.items()}
        return MadeDraft(self.level, self.filesystem, dict(self.presets), options)


@dataclass(slots=True)
class GroupDraft:
    """Disks that make one filesystem.

    Attributes:
        disks: WWN or serial of each (`app.domain.disk.DiskIdentity.key`), in the order of members.
        made: level, filesystem and options.
        texts: what was typed or chosen for the other keys that a group has in campaign files
            (`app.campaign_file.disks.GROUP_FIELDS`), by key; empty or left out for the default.
    """

    disks: list[str] = field(default_factory=list)
    made: MadeDraft = field(default_factory=MadeDraft)
    texts: dict[str, str] = field(default_factory=dict)

    @property
    def whole_disk(self) -> bool:
        """Whether each partition is as large as its disk."""
        return self.texts.get("partition_size") == WholeDisk.WHOLE


@dataclass(slots=True)
class DisksDraft:
    """The pages about spare disks.

    Attributes:
        data: holds the data directory.
        wal: holds pg_wal where it has disks.
        zfs_log: log devices of the pool.
        memory_limit: of PostgreSQL and pgbench together, as typed; empty for none.
        confirmed: what was typed on the last page to confirm each disk, by its key; never saved.
        tables: holds a tablespace with the tables where it has disks.
        indexes: holds one with the indexes likewise.
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
        """Every disk that is chosen, in the order in which disks are claimed."""
        return (*(disk for group in self.groups.values() for disk in group.disks), *self.zfs_log)

    @property
    def groups(self) -> dict[Role, GroupDraft]:
        """What disks can be made into a filesystem for; those without disks are not made."""
        return {
            Role.DATA: self.data,
            Role.WAL: self.wal,
            Role.TABLES: self.tables,
            Role.INDEXES: self.indexes,
        }


def level_of(made: MadeDraft, disks: int) -> Level:
    """Return the level that was chosen, else the one that suits so many disks: redundancy first."""
    if made.level is not None:
        return made.level
    if disks < 2:
        return Level.SINGLE
    return Level.MIRROR if disks < 4 else Level.RAID10
