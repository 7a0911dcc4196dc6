"""What is measured: target, PostgreSQL and workload of a configuration, and the campaign of several.

Validated and immutable; `app.campaign_file.reader` makes them from TOML and back.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import ClassVar, Final

from app.domain.campaign.matrix import Matrix
from app.domain.campaign.order import DEFAULT_CAP, Design, RunOrder, alternating_blocks, random_blocks
from app.domain.storage_plan.plan import FURTHER_ROLES, RELATION_ROLES, GroupOf, Role

DEFAULT_REPEATS: Final = 3
DEFAULT_REPEATS_OF_SEVERAL: Final = 5
"""From three configurations on: with three repeats Holm's intervals of them are several times as wide."""
SMALLEST_ARC_BYTES: Final = 64 << 20
"""The least that ZFS takes as zfs_arc_max (zfs(4)); 0 leaves the choice to ZFS."""
MOST_ORDER_SEED: Final = 2**31 - 1
DEFAULT_SEEDS: Final = (20030401, 20110421, 20220912)
"""One seed per repeat, shared by all configurations (the dates of three of the seeds' benchmarks)."""


@dataclass(frozen=True, slots=True)
class FolderTarget:
    """A folder on a filesystem that exists.

    Attributes:
        path: absolute folder; None means the default folder of this user.
    """

    path: str | None = None
    kind: ClassVar[str] = "folder"


@dataclass(frozen=True, slots=True)
class MemoryTarget:
    """The data directory in memory (tmpfs): the upper limit of what storage could give.

    Attributes:
        size_bytes: what may be used at most; None means what the data set needs.
    """

    size_bytes: int | None = None
    kind: ClassVar[str] = "memory"


@dataclass(frozen=True, slots=True)
class GroupChoice(GroupOf[str]):
    """A group as somebody chose it, its disks named as people name them: not yet looked for on any machine.

    Attributes:
        disks: full serial or WWN of each, in the order in which they become members.
        options: over the preset.
        partition_bytes: None for what the data set needs.
        preset: id of one of the presets of the filesystem.
        whole_disk: each partition is as large as its disk; `partition_bytes` is None then.
    """

    preset: str = "defaults"
    whole_disk: bool = False


@dataclass(frozen=True, slots=True)
class DiskTarget:
    """Spare disks, formatted for each run and free again after it.

    Attributes:
        data: holds the data directory.
        wal: holds pg_wal; None where that lies in the data directory.
        zfs_log: log devices of the pool of `data`, by serial or WWN; more than one are mirrored.
        memory_limit_bytes: memory of PostgreSQL and pgbench together; None for no limit.
        tables: holds the tablespace of the tables; None where they lie in the data directory.
        indexes: holds the tablespace of the indexes; None likewise.
    """

    data: GroupChoice
    wal: GroupChoice | None = None
    zfs_log: tuple[str, ...] = ()
    memory_limit_bytes: int | None = None
    tables: GroupChoice | None = None
    indexes: GroupChoice | None = None
    kind: ClassVar[str] = "disks"

    @property
    def groups(self) -> tuple[tuple[str, GroupChoice], ...]:
        """The data's group and those beside it, each with what its keys in a file begin with."""
        return (("", self.data), *((f"{role.value}.", group) for role, group in self.further.items()))

    @property
    def further(self) -> Mapping[Role, GroupChoice]:
        """The groups that there are beside the data's."""
        found = {role: getattr(self, role.value) for role in FURTHER_ROLES}
        return {role: group for role, group in found.items() if group is not None}

    @property
    def of_relations(self) -> tuple[GroupChoice, ...]:
        """The groups on which tables or indexes may lie: the data's, and those with a tablespace."""
        return (self.data, *(group for role, group in self.further.items() if role in RELATION_ROLES))

    @property
    def names(self) -> tuple[str, ...]:
        """Every disk, by serial or WWN as given, in the order in which disks are claimed."""
        return (*(disk for _, group in self.groups for disk in group.disks), *self.zfs_log)


@dataclass(frozen=True, slots=True)
class ServerTarget:
    """A server that already runs, wherever: pgFooting makes one database of its own in it, and nothing else.

    Attributes:
        connection: libpq connection string or URI, without any secret.
        room_bytes: what that database may take at most, as the server's owner says; None: nobody knows.
        ssh: by which name the user's own ssh reaches its machine; empty: that is not asked.
    """

    connection: str
    room_bytes: int | None = None
    ssh: str = ""
    kind: ClassVar[str] = "server"


Target = FolderTarget | MemoryTarget | DiskTarget | ServerTarget


@dataclass(frozen=True, slots=True)
class PostgresChoice:
    """Which PostgreSQL and how it is set up.

    Attributes:
        installation: ``newest``, a major version such as ``15``, or the absolute folder of the programs.
        preset: id of a preset in `app.postgres.settings`.
        settings: (name, value) pairs over the preset, spelled as in postgresql.conf.
        checksums: data checksums on or off; stated, because the default changed in 18.
    """

    installation: str = "newest"
    preset: str = "machine"
    settings: tuple[tuple[str, str], ...] = ()
    checksums: bool = True


class Protocol(StrEnum):
    """Query protocols of pgbench (``--protocol``)."""

    SIMPLE = "simple"
    EXTENDED = "extended"
    PREPARED = "prepared"


class Caches(StrEnum):
    """What the caches above the storage hold when measuring begins.

    WARM: what loading and warm-up left in them. COLD: nothing of the data, neither shared_buffers nor the
    cache of the operating system; every run anew.
    """

    WARM = "warm"
    COLD = "cold"


class DataSet(StrEnum):
    """How the data set comes onto the storage under test.

    LOADED: made there, run by run. COPIED: made once, and copied there for each run.
    """

    LOADED = "loaded"
    COPIED = "copied"


class DataSize(StrEnum):
    """Data set classes that are resolved to a scale on the machine at hand."""

    SMALL = "small"
    MEDIUM = "medium"
    LARGE = "large"


class BuiltinScript(StrEnum):
    """Scripts that pgbench carries (``--builtin``)."""

    TPCB_LIKE = "tpcb-like"
    SIMPLE_UPDATE = "simple-update"
    SELECT_ONLY = "select-only"


@dataclass(frozen=True, slots=True)
class Script:
    """One script of a workload: built in, or the user's own file.

    Attributes:
        builtin: the built-in script; None for a file.
        path: absolute path of the user's file; None for a built-in one.
        text: the file's text as read when the campaign was loaded; empty for a built-in one.
        weight: relative frequency among the scripts of the workload.
        is_outside: the file lies elsewhere than below the campaign file's folder, also by a link.
    """

    builtin: BuiltinScript | None = BuiltinScript.TPCB_LIKE
    path: str | None = None
    text: str = ""
    weight: int = 1
    is_outside: bool = field(default=False, compare=False)

    @property
    def label(self) -> str:
        """The built-in name, or the file's last path component."""
        return self.builtin.value if self.builtin else (self.path or "").rsplit("/", 1)[-1]


@dataclass(frozen=True, slots=True)
class RateShare:
    """A rate as a share of what an earlier phase of the same run reached.

    Attributes:
        percent: of its TPS.
        of: name of that phase, which has no rate of its own.
    """

    percent: float
    of: str


@dataclass(frozen=True, slots=True)
class WorkloadPhase:
    """One of several phases that a run measures; what is None is as in the workload.

    Attributes:
        name: what people call it; unique within the workload.
        times: how often it is run, one after the other, each with figures of its own.
        counts: its figures are compared; those of a phase that does not count are kept and shown.
        scripts: as in `Workload`, like the fields after it.
        rate: transactions per second, or a share of what an earlier phase reached.
        maintenance: names of what is done before it (`app.domain.maintenance`), once for all times.
        background: name of what is done beside it for as long as each of its times lasts; None for nothing.
        every_s: from one begin of that to the next; None for again as soon as it has ended.
        max_rate_bytes: a second, that a base backup reads at most; None for no limit.
    """

    name: str
    times: int = 1
    counts: bool = True
    scripts: tuple[Script, ...] | None = None
    clients: int | None = None
    threads: int | None = None
    duration_s: int | None = None
    transactions: int | None = None
    protocol: Protocol | None = None
    rate: float | RateShare | None = None
    latency_limit_ms: float | None = None
    maintenance: tuple[str, ...] = ()
    background: str | None = None
    every_s: int | None = None
    max_rate_bytes: int | None = None


PGBENCH_OPTION: Final = "pgbench option"
"""Metadata of a field of `Workload`: the option of pgbench that says it, with a place for the value."""


def _said_by(option: str) -> dict[str, str]:
    return {PGBENCH_OPTION: option}


@dataclass(frozen=True, slots=True)
class Workload:
    """What pgbench does. A field that is not None is said by its option (`app.postgres.pgbench.argv`).

    Attributes:
        scripts: at least one.
        scale: pgbench scale factor (100 000 accounts each); None where `size` decides.
        size: a class or bytes; None where `scale` decides.
        clients: concurrent connections.
        threads: pgbench worker threads; None means the smaller of clients and half the CPUs.
        duration_s: length of the measured phase; None where `transactions` decides.
        transactions: transactions per client; None where `duration_s` decides.
        warmup_s: a pgbench run of its own before the measured one; 0 for none, as with cold caches.
        caches: what they hold when measuring begins.
        protocol: query protocol.
        rate_tps: open loop at this rate; None for a closed loop.
        latency_limit_ms: with a rate, later transactions are skipped and counted; without one, only
            counted; None for none.
        compressibility: how far the loaded rows can be compressed, 2.0 for 2:1 (zstd -3 over pieces of
            128 KiB of the heap); None for pgbench's own rows, mostly blanks. The same in all configurations
            of a campaign.
        data_set: how it comes onto the storage under test. The same in all configurations of a campaign.
        phases: what is measured one after the other, the same in all configurations of a campaign
            (`app.domain.campaign.phases`); empty for one phase that is as the fields above say.
    """

    scripts: tuple[Script, ...] = (Script(),)
    scale: int | None = None
    size: DataSize | int | None = DataSize.SMALL
    clients: int = field(default=4, metadata=_said_by("--client={}"))
    threads: int | None = None
    duration_s: int | None = field(default=60, metadata=_said_by("--time={}"))
    transactions: int | None = field(default=None, metadata=_said_by("--transactions={}"))
    warmup_s: int = 10
    caches: Caches = Caches.WARM
    protocol: Protocol = field(default=Protocol.PREPARED, metadata=_said_by("--protocol={}"))
    rate_tps: float | None = field(default=None, metadata=_said_by("--rate={:.12g}"))
    latency_limit_ms: float | None = field(default=None, metadata=_said_by("--latency-limit={:.12g}"))
    compressibility: float | None = None
    data_set: DataSet = DataSet.LOADED
    phases: tuple[WorkloadPhase, ...] = ()

    @property
    def label(self) -> str:
        """The scripts' labels, joined by a plus sign."""
        return " + ".join(script.label for script in self.scripts)

    @property
    def writes(self) -> bool:
        """Whether transactions write: everything but the built-in select-only is assumed to."""
        return any(script.builtin is not BuiltinScript.SELECT_ONLY for script in self.scripts)


@dataclass(frozen=True, slots=True)
class Configuration:
    """Target, PostgreSQL and workload under one name."""

    name: str
    target: Target
    postgresql: PostgresChoice = field(default_factory=PostgresChoice)
    workload: Workload = field(default_factory=Workload)

    @property
    def condition(self) -> tuple[Workload, int | None]:
        """What is chosen and is the same for those that may be compared: workload and memory limit.

        The roles of what runs tell stand in `app.comparison.overall.conditions`.
        """
        limit = self.target.memory_limit_bytes if isinstance(self.target, DiskTarget) else None
        return self.workload, limit

    @property
    def footing(self) -> tuple[Target, PostgresChoice]:
        """What is chosen between: everything that is no condition."""
        target = self.target
        if isinstance(target, DiskTarget):
            target = replace(target, memory_limit_bytes=None)
        return target, self.postgresql

    @property
    def has_rate(self) -> bool:
        """Whether transactions arrive at a rate."""
        return self.workload.rate_tps is not None


def default_repeats(configurations: int, design: Design = Design.FIXED) -> int:
    """Return how often each of so many configurations is run, at most, where nobody says."""
    if design is Design.SEQUENTIAL:
        return DEFAULT_CAP
    return DEFAULT_REPEATS if configurations < 3 else DEFAULT_REPEATS_OF_SEVERAL


@dataclass(frozen=True, slots=True)
class Campaign:
    """Configurations times repeats, run interleaved.

    Attributes:
        name: what the user calls it.
        configurations: at least one; names are unique.
        repeats: runs of each configuration; of a sequential design at most.
        seeds: pgbench random seeds; repeat r of every configuration uses ``seeds[r % len(seeds)]``.
        order: how the runs follow each other.
        order_seed: of a random order; None as long as it is not drawn, which the start of a campaign does.
        io_baseline: before the first run on each storage it is asked what it can do by itself; None for spare
            disks only.
        repeat_disturbed: at most so many runs that others disturbed are measured again.
        matrix: the dimensions whose cells the configurations are; None where each was stated.
        time_budget_s: from each start on, no run is begun that would not end within it; None for no limit.
        design: how it is settled how often each configuration is run.
        precision: of a sequential design: it ends as soon as those that are left differ by less, in percent;
            None for only when one is left.
        zfs_arc_max_bytes: what the machine's zfs_arc_max has to be, 0 for ZFS's own choice; None for any.
            It is compared where something is on ZFS, and never set.
        remarks: sentences that belong to the result, such as what a recipe left out on this machine and why.
    """

    name: str
    configurations: tuple[Configuration, ...]
    repeats: int = DEFAULT_REPEATS
    seeds: tuple[int, ...] = DEFAULT_SEEDS
    order: RunOrder = RunOrder.RANDOM
    order_seed: int | None = None
    io_baseline: bool | None = None
    repeat_disturbed: int = 0
    matrix: Matrix | None = None
    time_budget_s: int | None = None
    design: Design = Design.FIXED
    precision: float | None = None
    zfs_arc_max_bytes: int | None = None
    remarks: tuple[str, ...] = ()

    @property
    def is_order_known(self) -> bool:
        """Whether it is settled which run follows which."""
        return self.order is not RunOrder.RANDOM or self.order_seed is not None

    @property
    def total_runs(self) -> int:
        """How many runs it has, at most where some may be left out."""
        return self.repeats * len(self.configurations)

    def wants_baseline(self, target: Target) -> bool:
        """Whether the storage of a target is asked what it can do by itself."""
        if isinstance(target, ServerTarget):
            return False  # its storage is not here
        return isinstance(target, DiskTarget) if self.io_baseline is None else self.io_baseline


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """One run of a campaign in its place in the order.

    Attributes:
        number: 1-based place in the order.
        configuration: what is measured.
        repeat: 0-based repeat of this configuration.
        seed: pgbench random seed.
        attempt: 1, or more where it is measured again because others disturbed it.
    """

    number: int
    configuration: Configuration
    repeat: int
    seed: int
    attempt: int = 1


def with_drawn_order(campaign: Campaign) -> Campaign:
    """Return a campaign whose order is known: where its seed is open, one is drawn."""
    if campaign.order is not RunOrder.RANDOM or campaign.order_seed is not None:
        return campaign
    return replace(campaign, order_seed=secrets.randbelow(MOST_ORDER_SEED + 1))


def as_begun(campaign: Campaign) -> Campaign:
    """Return a campaign that was begun, as its folder or a run of it states it, with the order that it has.

    Whoever begins a campaign writes the seed of its order; earlier versions knew no other order than AB BA.
    """
    if campaign.order is RunOrder.RANDOM and campaign.order_seed is None:
        return replace(campaign, order=RunOrder.ALTERNATING)
    return campaign


def interleaved_order(campaign: Campaign) -> tuple[PlannedRun, ...]:
    """Return the runs in the order of execution, never AAABBB.

    Every repeat is one block that holds each configuration once (`app.domain.campaign.order`).

    Raises:
        ValueError: the order is random and not drawn yet.
    """
    count = len(campaign.configurations)
    if not campaign.is_order_known:
        raise ValueError(campaign.name)
    if campaign.order is RunOrder.RANDOM and campaign.order_seed is not None:
        blocks = random_blocks(count, campaign.repeats, campaign.order_seed)
    else:
        blocks = alternating_blocks(count, campaign.repeats)
    runs: list[PlannedRun] = []
    for repeat, block in enumerate(blocks):
        seed = campaign.seeds[repeat % len(campaign.seeds)]
        for place in block:
            runs.append(PlannedRun(len(runs) + 1, campaign.configurations[place], repeat, seed))
    return tuple(runs)
