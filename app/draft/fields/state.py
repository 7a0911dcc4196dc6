"""The parts of a draft: the fields as typed, valid or not, and what the machine is before any choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Final

from app.campaign_file.disks import GROUP_FIELDS, WholeDisk
from app.campaign_file.fields import ALIKE, CAMPAIGN_FIELDS, SECTIONS, TARGETS
from app.campaign_file.kinds import CampaignField
from app.campaign_file.partial import alternative_of
from app.campaign_file.phases import Phases
from app.campaign_file.recipes.head import Recipe, list_recipes
from app.dbus.bus_thread import service_presence
from app.domain.campaign.configuration import (
    DEFAULT_SEEDS,
    DataSize,
    DiskTarget,
    FolderTarget,
    MemoryTarget,
    PostgresChoice,
    Target,
    Workload,
)
from app.domain.campaign.matrix import Design, MatrixDimension, RunOrder
from app.domain.errors import FootingError, InstallationError, Problem
from app.domain.options.raid import Level
from app.domain.storage_plan.plan import FURTHER_ROLES, Role
from app.domain.text import tr
from app.draft.fields.text import write_text
from app.hosts.folders.own_folders import account_reason, server_account
from app.hosts.folders.targets import CheckedTarget, check_target, default_folder
from app.postgres.installations.installation import (
    Installation,
    find_installations,
    install_hint,
    this_family,
)
from app.postgres.settings import Machine, read_machine
from app.process.starter import Account, CommandOutcome

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


# List the fields of campaign files for a draft: by dotted name, with the page of each.


NAME_LIMIT: Final = 80
SETTINGS: Final = "postgresql.settings"
SCRIPT: Final = "workload.script"
CONNECTION: Final = "target.server.connection"
PHASES: Final = "workload.phase"

FIELDS: Final[dict[str, CampaignField]] = (
    {field.name: field for field in CAMPAIGN_FIELDS}
    | {f"{section}.{field.name}": field for section, fields in SECTIONS.items() for field in fields}
    | {f"target.{target.kind}.{field.name}": field for target in TARGETS for field in target.fields}
)
"""Every field of a campaign file by its dotted name."""

_MADE: Final = frozenset({"data", "level", "filesystem", "preset", "options"})
TYPED_FIELDS: Final = tuple(field for field in GROUP_FIELDS if field.name not in _MADE)
"""Keys of a group besides its disks, level, filesystem and options; `GroupDraft.texts` has their texts."""

_GROUPS: Final = frozenset(role.value for role in FURTHER_ROLES)
_OF_FILESYSTEM: Final = frozenset(
    {"filesystem", "preset", "options", "chunk_size", "bitmap", "initial_sync", "scheduler", "read_ahead"}
)

OF_PAGES: Final = tuple(
    key for key in FIELDS if key.split(".")[0] in SECTIONS and key not in {SETTINGS, PHASES}
)
"""Keys of the pages about PostgreSQL and the workload; settings have their own text, phases a list."""

ON_FIRST_PAGE: Final = tuple(key for key in FIELDS if key.startswith("target.") and "target.disks" not in key)
"""Keys of targets other than spare disks, which have pages of their own."""

CHANGEABLE: Final = tuple(key for key in OF_PAGES if key not in ALIKE)
"""Keys of these that a configuration may change."""

OPTIONAL: Final = tuple(
    field
    for field in SECTIONS["workload"]
    if not field.instead_of and getattr(Workload(), field.attribute) is None
)
"""Fields that may be empty: pgbench or pgFooting then decides."""


_PAGES: Final = {
    **{each.name: Step.WORKLOAD for each in CAMPAIGN_FIELDS},
    "name": Step.MORE,
    "io_baseline": Step.REVIEW,
    "zfs_arc_max": Step.REVIEW,
    "target": Step.WHERE,
    "postgresql": Step.POSTGRESQL,
    "workload": Step.WORKLOAD,
}
"""Pages of keys that are not about disks."""


def step_of(path: str) -> Step:
    """Return the page of a field."""
    if path.startswith("target.disks"):
        keys = path.replace("[", ".").split(".")[2:]
        key = next((key for key in keys if key not in _GROUPS), "")
        return Step.FILESYSTEM if key in _OF_FILESYSTEM else Step.DISKS
    head = path.partition(".")[0].partition("[")[0]
    return _PAGES.get(head, Step.MORE)


def automatic_name(names: Sequence[str]) -> str:
    """Return a name for a campaign from the names it compares."""
    if not names:
        return tr("Benchmark")
    for name in (
        tr(" vs ").join(names),
        tr("{first} and {count} others").format(first=names[0], count=len(names) - 1),
    ):
        if len(name) <= NAME_LIMIT:
            return name[:1].upper() + name[1:]
    return tr("Comparison of {count} configurations").format(count=len(names))


# Describe this machine for the wizard before any choice; read once, in the background.


HELPER: Final = "org.pgfooting.Helper1"
"""Name of the root helper on the system bus."""

_DISKS: Final = "target.disks"


@dataclass(frozen=True, slots=True)
class DraftEnvironment:
    """The facts about this machine that a wizard needs.

    Attributes:
        machine: memory and CPUs.
        account: runs server and pgbench; None if there is none.
        account_sentence: why this account, or why none.
        installations: the newest first; unusable ones carry their reasons.
        install_hint: how to install PostgreSQL here.
        folder: the default folder, or why it cannot be used; None if not checked.
        folder_path: its path, even if unusable.
        memory: the memory target, or why it cannot be used; None if not checked.
        recipes: shipped with pgFooting.
        disks: why spare disks cannot be used; None if they can.
    """

    machine: Machine
    account: Account | None = None
    account_sentence: str = ""
    installations: tuple[Installation, ...] = ()
    install_hint: str = ""
    folder: CheckedTarget | Problem | None = None
    folder_path: str = ""
    memory: CheckedTarget | Problem | None = None
    recipes: tuple[Recipe, ...] = ()
    disks: Problem | None = None

    @property
    def newest(self) -> Installation | None:
        """The installation that “newest” selects; None if none can be used."""
        return next((found for found in self.installations if found.usable), None)


def read_environment(extra_folders: Sequence[str] = ()) -> DraftEnvironment:
    """Inspect this machine; takes at most a second if programs answer.

    Args:
        extra_folders: absolute folders of further PostgreSQL installations.
    """
    commands: list[CommandOutcome] = []
    machine, hint, recipes = read_machine(), install_hint(this_family()), list_recipes()
    try:
        account = server_account(commands.append)
    except FootingError as error:
        sentence = f"{error.message} {error.hint}".strip()
        return DraftEnvironment(machine, account_sentence=sentence, install_hint=hint, recipes=recipes)
    return DraftEnvironment(
        machine,
        account,
        account_reason(account),
        find_installations(account, extra_folders),
        hint,
        _look_at(FolderTarget(), account),
        default_folder(account),
        _look_at(MemoryTarget(), account),
        recipes,
        look_for_helper(),
    )


def look_for_helper() -> Problem | None:
    """Return why disks cannot be formatted: the root helper is missing; does not start it."""
    found = service_presence(HELPER)
    if found.there:
        return None
    if found.reason:
        message = tr("A root helper, reached over the system bus, formats the disks. {reason}")
        return Problem(_DISKS, message.format(reason=found.reason))
    return Problem(
        _DISKS,
        tr("The root helper, which formats the disks, is not installed."),
        tr("In pgFooting's folder, run: sudo packaging/helper install"),
    )


def serving_account(environment: DraftEnvironment) -> Account:
    """Return the account of the server.

    Raises:
        InstallationError: there is no such account.
    """
    if environment.account is None:
        raise InstallationError(environment.account_sentence)
    return environment.account


def _look_at(target: Target, account: Account) -> CheckedTarget | Problem:
    try:
        return check_target(target, account, 0)
    except FootingError as error:
        return Problem(f"target.{target.kind}", error.message, error.hint)
