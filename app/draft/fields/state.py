"""The parts of a draft: what stands in the fields of the wizard's pages, as typed, right or wrong."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Final

from app.campaign_file.fields import CAMPAIGN_FIELDS, SECTIONS, TARGETS
from app.campaign_file.phases import Phases
from app.domain.campaign.configuration import (
    DEFAULT_SEEDS,
    DataSize,
    DiskTarget,
    PostgresChoice,
    Workload,
)
from app.domain.campaign.matrix import MatrixDimension
from app.domain.campaign.order import Design, RunOrder
from app.draft.fields.storage_state import DisksDraft, MadeDraft
from app.draft.fields.text import write_text

OWN_SCRIPTS: Final = "own"
"""Value of ``workload.script`` where the list of scripts counts."""


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
    SERVER = "server"
    OTHER_FOLDER = "other-folder"
    OTHER_MEMORY = "other-memory"
    OTHER_SERVER = "other-server"


ON_SERVERS: Final = frozenset({Place.SERVER, Place.OTHER_SERVER})
"""Places on servers that already run."""


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
        text: path, size or connection of its own place; empty for the default.
        room: what the database on a server of its own may take; empty where nobody says.
        ssh: by which name ssh reaches that server's machine; empty where it is not asked.
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
    room: str = ""
    ssh: str = ""
    disks: DisksDraft | None = None
    made: MadeDraft | None = None
    wal_apart: bool = True
    settings: str = ""
    changes: list[ChangeDraft] = field(default_factory=list)
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
        texts: of its keys in a campaign file but for its scripts, as typed; what is missing or empty is as in
            the workload.
        scripts: empty for those of the workload.
    """

    texts: dict[str, str] = field(default_factory=dict)
    scripts: list[ScriptDraft] = field(default_factory=list)


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


TYPED_OF_CAMPAIGN: Final = tuple(
    each.name for each in CAMPAIGN_FIELDS if each.name not in {"seeds", "order_seed", "remarks"}
)
"""The keys of a campaign as a whole that have a text on a page."""

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
    "workload.size": "2 GiB",
    "workload.scale": "100",
    "workload.duration": "30s",
    "workload.transactions": "10000",
    "workload.warmup": "5s",
}
"""Six short runs, over in five minutes; what is not here is as in a campaign file that leaves it out."""


def first_values() -> dict[str, str]:
    """Return what the fields of a first look say, by key of campaign files."""
    parts = {"postgresql": PostgresChoice(), "workload": Workload()}
    left_out = {
        f"{section}.{each.name}": write_text(each, getattr(parts[section], each.attribute))
        for section, fields in SECTIONS.items()
        for each in fields
        if not isinstance(each.kind, Phases)
    }
    return left_out | _FIRST_LOOK


@dataclass(slots=True)
class DraftParts:
    """Everything that the pages hold.

    Attributes:
        values: of campaign files, by key such as ``workload.clients``, as typed; empty where left out. Both
            are kept of what can be said in two ways.
        seeds: of the recipe, else the default ones.
        order_seed: of a random order, where a file states one; None where the start draws it.
        remarks: of the campaign file or recipe that it began with.
        size_choice: which of ``workload.size`` and ``workload.scale`` counts.
        length: which of ``workload.duration`` and ``workload.transactions`` counts.
        scripts: own scripts, which count where ``workload.script`` is `OWN_SCRIPTS`.
        phases: those that each run measures; empty for one that does what the third page says.
        disks: the pages about spare disks.
        configurations: the list.
        dimensions: what is tried with several values, in every combination.
        left_out: combinations that are not measured: names of values by name of their dimension.
        agreed: digest of the campaign of which a person ticked that it may do what is listed.
        contacted: servers that a person said may be connected to: connection, and its machine for ssh.
        loaded: what a person typed to agree that a server is loaded, by its connection.
    """

    values: dict[str, str] = field(default_factory=first_values)
    seeds: tuple[int, ...] = DEFAULT_SEEDS
    order_seed: int | None = None
    remarks: tuple[str, ...] = ()
    size_choice: SizeChoice = SizeChoice.SMALL
    length: Length = Length.DURATION
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
        """Return the configurations that count."""
        return [each for each in self.configurations if each.chosen]

    def on_disks(self) -> list[ConfigurationDraft]:
        """Return those of them whose data lies on spare disks."""
        return [each for each in self.chosen() if each.place is Place.DISKS]

    def on_servers(self) -> list[ConfigurationDraft]:
        """Return those of them whose data lies on servers that already run."""
        return [each for each in self.chosen() if each.place in ON_SERVERS]

    @property
    def is_only_on_servers(self) -> bool:
        """Whether all data lies on servers that run already, whose set-up is not ours to choose."""
        return bool(self.on_servers()) and len(self.on_servers()) == len(self.chosen())

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
