"""The parts of a draft: what stands in the fields of the wizard's pages, as typed, right or wrong."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Final

from app.domain.campaign.configuration import DEFAULT_REPEATS, DEFAULT_SEEDS, BuiltinScript, DataSize
from app.draft.fields.storage_state import DisksDraft, MadeDraft

OWN_SCRIPTS: Final = "own"
"""`WorkloadDraft.script` where the list of scripts counts."""


class Step(Enum):
    """The pages, in order; those about disks are only there where spare disks are chosen."""

    WHERE = 0
    DISKS = 1
    FILESYSTEM = 2
    POSTGRESQL = 3
    WORKLOAD = 4
    MORE = 5
    REVIEW = 6


ABOUT_DISKS: Final = frozenset({Step.DISKS, Step.FILESYSTEM})
"""Pages that are only there with spare disks."""


class Place(StrEnum):
    """Where the data of a configuration lies."""

    FOLDER = "folder"
    MEMORY = "memory"
    DISKS = "disks"
    OTHER_FOLDER = "other-folder"
    OTHER_MEMORY = "other-memory"


@dataclass(slots=True)
class ChangeDraft:
    """One value in which a configuration differs from the pages before.

    Attributes:
        key: dotted, such as ``workload.clients``.
        text: as typed; empty for "left out".
    """

    key: str
    text: str


@dataclass(slots=True)
class ConfigurationDraft:
    """One configuration of the list.

    Attributes:
        name: as typed.
        place: the folder, memory or disks of the first pages, or a place of its own.
        text: path or size of its own place; empty for the default.
        disks: disks of its own, of a campaign file; None for those of the pages.
        made: what is made of the disks where that is not what their pages say.
        wal_apart: whether pg_wal lies on the disks that were chosen for it, where there are any.
        settings: server settings over those of all configurations, as lines.
        changes: other differences.
        from_where: made by a tick on the first page, and without differences.
        chosen: False where the tick was taken away.
    """

    name: str
    place: Place
    text: str = ""
    disks: DisksDraft | None = None
    made: MadeDraft | None = None
    wal_apart: bool = True
    settings: str = ""
    changes: list[ChangeDraft] = field(default_factory=list)
    from_where: bool = False
    chosen: bool = True


@dataclass(slots=True)
class WhereDraft:
    """The first page.

    Attributes:
        path: of the folder; empty for the default folder.
        memory_size: most memory that may be used; empty for what the data needs.
    """

    path: str = ""
    memory_size: str = ""


@dataclass(slots=True)
class PostgresDraft:
    """The second page.

    Attributes:
        installation: newest, a major version or a folder.
        preset: id.
        checksums: on or off.
        settings: lines as in postgresql.conf.
    """

    installation: str = "newest"
    preset: str = "machine"
    checksums: bool = True
    settings: str = ""


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


class SizeChoice(StrEnum):
    """How the size of the data is said."""

    SMALL = DataSize.SMALL.value
    MEDIUM = DataSize.MEDIUM.value
    LARGE = DataSize.LARGE.value
    BYTES = "bytes"
    SCALE = "scale"


class Length(StrEnum):
    """What ends the measured phase."""

    DURATION = "duration"
    TRANSACTIONS = "transactions"


@dataclass(slots=True)
class WorkloadDraft:
    """The third page; optional values are empty where left out.

    The defaults are those of a first look: six short runs that are over in five minutes.
    """

    script: str = BuiltinScript.TPCB_LIKE.value
    scripts: list[ScriptDraft] = field(default_factory=list)
    size_choice: SizeChoice = SizeChoice.SMALL
    size: str = "2 GiB"
    scale: str = "100"
    clients: str = "4"
    threads: str = ""
    length: Length = Length.DURATION
    duration: str = "30s"
    transactions: str = "10000"
    warmup: str = "5s"
    protocol: str = "prepared"
    rate: str = ""
    latency_limit: str = ""


@dataclass(slots=True)
class CampaignPart:
    """What belongs to the campaign as a whole.

    Attributes:
        name: as typed; empty for a name made of what is compared.
        repeats: as typed.
        seeds: of the recipe, else the default ones.
    """

    name: str = ""
    repeats: str = str(DEFAULT_REPEATS)
    seeds: tuple[int, ...] = DEFAULT_SEEDS


@dataclass(slots=True)
class DraftParts:
    """Everything that the pages hold."""

    campaign: CampaignPart = field(default_factory=CampaignPart)
    where: WhereDraft = field(default_factory=WhereDraft)
    disks: DisksDraft = field(default_factory=DisksDraft)
    postgresql: PostgresDraft = field(default_factory=PostgresDraft)
    workload: WorkloadDraft = field(default_factory=WorkloadDraft)
    configurations: list[ConfigurationDraft] = field(default_factory=list)
    agreed: str = ""
    """Digest of the campaign of which a person ticked that it may do what is listed."""

    def chosen(self) -> list[ConfigurationDraft]:
        """Return the configurations that count."""
        return [each for each in self.configurations if each.chosen]

    def on_disks(self) -> list[ConfigurationDraft]:
        """Return those of them whose data lies on spare disks."""
        return [each for each in self.chosen() if each.place is Place.DISKS]

    def disks_of(self, configuration: ConfigurationDraft) -> DisksDraft:
        """Return the disks of a configuration: its own, else those of the pages."""
        return configuration.disks or self.disks

    def used_disks(self) -> tuple[DisksDraft, ...]:
        """Return every choice of disks that some configuration uses, that of the pages first."""
        used = {id(disks): disks for disks in map(self.disks_of, self.on_disks())}
        return tuple(sorted(used.values(), key=lambda disks: disks is not self.disks))

    def steps(self) -> tuple[Step, ...]:
        """Return the pages that there are."""
        needed = bool(self.on_disks())
        return tuple(step for step in Step if needed or step not in ABOUT_DISKS)
