"""The parts of a draft: the content of the wizard's fields, as typed, valid or not."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Final

from app.campaign_file.disks import WholeDisk
from app.campaign_file.fields import CAMPAIGN_FIELDS, SECTIONS, TARGETS
from app.campaign_file.partial import alternative_of
from app.campaign_file.phases import Phases
from app.domain.campaign.configuration import DEFAULT_SEEDS, DataSize, DiskTarget, PostgresChoice, Workload
from app.domain.campaign.matrix import MatrixDimension
from app.domain.campaign.order import Design, RunOrder
from app.domain.options.raid import Level
from app.domain.storage_plan.plan import Role
from app.draft.fields.text import write_text

# The fields of the wizard's pages about spare disks: disks, level, filesystem and options, as typed.


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


OWN_SCRIPTS: Final = "own"
"""Value of ``workload.script`` that selects the list of scripts."""


class Step(Enum):
    """The pages, in order; those about disks exist only if spare disks are chosen."""

    WHERE = 0
    DISKS = 1
    FILESYSTEM = 2
    POSTGRESQL = 3
    WORKLOAD = 4
    MORE = 5
    REVIEW = 6


ABOUT_DISKS: Final = frozenset({Step.DISKS, Step.FILESYSTEM})
"""Pages that exist only with spare disks."""


class Place(StrEnum):
    """Location of the data of a configuration."""

    FOLDER = "folder"
    MEMORY = "memory"
    DISKS = "disks"
    SERVER = "server"
    OTHER_FOLDER = "other-folder"
    OTHER_MEMORY = "other-memory"
    OTHER_SERVER = "other-server"

    @property
    def kind(self) -> str:
        """Kind of its target, as campaign files name it."""
        return self.removeprefix("other-")

    @property
    def is_separate(self) -> bool:
        """Whether the configuration has its own texts for it."""
        return self.kind != self.value


ON_SERVERS: Final = frozenset({Place.SERVER, Place.OTHER_SERVER})
"""Places on servers that already run."""


@dataclass(slots=True)
class ConfigurationDraft:
    """One configuration of the list.

    Attributes:
        name: as typed.
        place: the folder, memory or disks of the first pages, or a separate one.
        texts: as typed, by key of campaign files: of a separate place, and what replaces texts of the pages;
            empty for unset. Settings override those of all configurations.
        disks: its own, from a campaign file; None for those of the pages.
        made: level, filesystem and options, if they differ from the pages.
        wal_apart: whether pg_wal is on the disks chosen for it, if there are any.
        from_where: created by a check box of the first page, and without differences.
        chosen: False if unticked.
    """

    name: str
    place: Place
    texts: dict[str, str] = field(default_factory=dict)
    disks: DisksDraft | None = None
    made: MadeDraft | None = None
    wal_apart: bool = True
    from_where: bool = False
    chosen: bool = True


@dataclass(slots=True)
class ScriptDraft:
    """One script of a list.

    Attributes:
        builtin: name of a built-in one; empty for a file.
        path: of the file.
        weight: relative frequency.
    """

    builtin: str = ""
    path: str = ""
    weight: str = "1"


@dataclass(slots=True)
class PhaseDraft:
    """One of several phases that a run measures.

    Attributes:
        texts: of its keys in a campaign file except scripts, as typed; missing or empty ones are as in the
            workload.
        scripts: empty for those of the workload.
    """

    texts: dict[str, str] = field(default_factory=dict)
    scripts: list[ScriptDraft] = field(default_factory=list)


TYPED_OF_CAMPAIGN: Final = tuple(
    each.name
    for each in CAMPAIGN_FIELDS
    if each.name not in {"seeds", "order_seed", "remarks", "question", "figures"}
)
"""Keys of a campaign as a whole that have a text on a page."""

_FIRST_LOOK: Final = {
    **dict.fromkeys(TYPED_OF_CAMPAIGN, ""),
    "design": Design.FIXED.value,
    "order": RunOrder.RANDOM.value,
    **{
        f"target.{target.kind}.{each.name}": ""
        for target in TARGETS
        if target.kind != DiskTarget.kind
        for each in target.fields
    },
    "workload.size": DataSize.SMALL.value,
    "workload.duration": "30s",
    "workload.warmup": "5s",
}
"""A first look: six short runs, done in five minutes; missing keys default as in a campaign file."""


def first_values() -> dict[str, str]:
    """Return the fields of a first look, by key of campaign files."""
    parts = {"postgresql": PostgresChoice(), "workload": Workload()}
    left_out = {
        f"{section}.{each.name}": write_text(each, getattr(parts[section], each.attribute))
        for section, fields in SECTIONS.items()
        for each in fields
        if not isinstance(each.kind, Phases) and not each.instead_of
    }
    return left_out | _FIRST_LOOK


def alternative(key: str) -> str:
    """Return the key that a key excludes; empty if it excludes none."""
    return ".".join(alternative_of(tuple(key.split("."))) or ())


def put(texts: dict[str, str], key: str, text: str) -> None:
    """Set the text of a key; the key that it excludes is no longer given."""
    texts.pop(alternative(key), None)
    texts[key] = text


@dataclass(slots=True)
class DraftParts:
    """The content of all pages.

    Attributes:
        values: of campaign files, by key such as ``workload.clients``, as typed; empty for the default.
            Of keys that exclude each other only one is given.
        seeds: of the recipe, else the default ones.
        order_seed: of a random order, from a file; None to draw it at the start.
        remarks: of the original campaign file or recipe.
        question: of the same.
        figures: of the same.
        scripts: own scripts, used if ``workload.script`` is `OWN_SCRIPTS`.
        phases: measured by each run; empty for a single one from the third page.
        disks: the pages about spare disks.
        configurations: the list.
        dimensions: varied keys; all combinations of their values are measured.
        left_out: excluded combinations: names of values by name of their dimension.
        agreed: digest of the campaign that the user agreed to.
        contacted: servers approved for contact: connection, and its machine for ssh.
        loaded: text typed to agree to load a server, by its connection.
    """

    values: dict[str, str] = field(default_factory=first_values)
    seeds: tuple[int, ...] = DEFAULT_SEEDS
    order_seed: int | None = None
    remarks: tuple[str, ...] = ()
    question: str | None = None
    figures: tuple[str, ...] | None = None
    scripts: list[ScriptDraft] = field(default_factory=list)
    phases: list[PhaseDraft] = field(default_factory=list)
    disks: DisksDraft = field(default_factory=DisksDraft)
    configurations: list[ConfigurationDraft] = field(default_factory=list)
    dimensions: list[MatrixDimension] = field(default_factory=list)
    left_out: list[dict[str, list[str]]] = field(default_factory=list)
    agreed: str = ""
    contacted: tuple[tuple[str, str], ...] = ()
    loaded: dict[str, str] = field(default_factory=dict)

    def chosen(self) -> list[ConfigurationDraft]:
        """Return the chosen configurations."""
        return [each for each in self.configurations if each.chosen]

    def on_disks(self) -> list[ConfigurationDraft]:
        """Return the chosen configurations on spare disks."""
        return [each for each in self.chosen() if each.place is Place.DISKS]

    def on_servers(self) -> list[ConfigurationDraft]:
        """Return the chosen configurations on servers that already run."""
        return [each for each in self.chosen() if each.place in ON_SERVERS]

    @property
    def is_only_on_servers(self) -> bool:
        """Whether all data is on servers that already run, with a set-up that is not ours."""
        return bool(self.on_servers()) and len(self.on_servers()) == len(self.chosen())

    def disks_of(self, configuration: ConfigurationDraft) -> DisksDraft:
        """Return the disks of a configuration: its own, else those of the pages."""
        return configuration.disks or self.disks

    def made_of(self, configuration: ConfigurationDraft) -> MadeDraft:
        """Return level, filesystem and options of a configuration's data disks."""
        return configuration.made or self.disks_of(configuration).data.made

    def target_text(self, configuration: ConfigurationDraft, name: str) -> str:
        """Return the text of a key of a configuration's target: of the first page, or of a separate place."""
        texts = configuration.texts if configuration.place.is_separate else self.values
        return texts.get(f"target.{configuration.place.kind}.{name}", "")

    def used_disks(self) -> tuple[DisksDraft, ...]:
        """Return every set of disks that a configuration uses, that of the pages first."""
        used = {id(disks): disks for disks in map(self.disks_of, self.on_disks())}
        return tuple(sorted(used.values(), key=lambda disks: disks is not self.disks))

    def steps(self) -> tuple[Step, ...]:
        """Return the pages that exist now."""
        needed = bool(self.on_disks())
        return tuple(step for step in Step if needed or step not in ABOUT_DISKS)
