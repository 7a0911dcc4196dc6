"""Target, PostgreSQL and workload of a configuration, and the campaign of several.

Validated and immutable; `app.campaign_file.reader` converts from and to TOML.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import ClassVar, Final

from app.domain.campaign.matrix import (
    DEFAULT_CAP,
    Design,
    Matrix,
    RunOrder,
    alternating_blocks,
    random_blocks,
)
from app.domain.storage_plan.plan import FURTHER_ROLES, RELATION_ROLES, GroupOf, Role

DEFAULT_REPEATS: Final = 3
DEFAULT_REPEATS_OF_SEVERAL: Final = 5
"""From three configurations on: with three repeats Holm's intervals are several times as wide."""
SMALLEST_ARC_BYTES: Final = 64 << 20
"""Minimum of zfs_arc_max (zfs(4)); 0 leaves the choice to ZFS."""
MOST_ORDER_SEED: Final = 2**31 - 1
DEFAULT_SEEDS: Final = (20030401, 20110421, 20220912)
"""One seed per repeat, shared by all configurations (the dates of three of the seeds' benchmarks)."""


@dataclass(frozen=True, slots=True)
class FolderTarget:
    """A folder on an existing filesystem.

    Attributes:
        path: absolute folder; None for the default folder of this user.
    """

    path: str | None = None
    kind: ClassVar[str] = "folder"


@dataclass(frozen=True, slots=True)
class MemoryTarget:
    """The data directory in memory (tmpfs): the upper limit for any storage.

    Attributes:
        size_bytes: maximum size; None for the need of the data set.
    """

    size_bytes: int | None = None
    kind: ClassVar[str] = "memory"


@dataclass(frozen=True, slots=True)
class GroupChoice(GroupOf[str]):
    """A group as the user chose it, with disks by name: not yet looked up on any machine.

    Attributes:
        disks: full serial or WWN of each, in the order in which they become members.
        options: in addition to the preset.
        partition_bytes: None for the need of the data set.
        preset: id of one of the presets of the filesystem.
        whole_disk: each partition is as large as its disk; `partition_bytes` is None then.
    """

    preset: str = "defaults"
    whole_disk: bool = False


@dataclass(frozen=True, slots=True)
class DiskTarget:
    """Spare disks, formatted for each run and released after it.

    Attributes:
        data: holds the data directory.
        wal: holds pg_wal; None if that is in the data directory.
        zfs_log: log devices of the pool of `data`, by serial or WWN; several are mirrored.
        memory_limit_bytes: memory of PostgreSQL and pgbench together; None for no limit.
        tables: holds the tablespace of the tables; None if they are in the data directory.
        indexes: holds the tablespace of the indexes; None if they are in the data directory.
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
        """The data's group and the further ones, each with the prefix of its keys in a file."""
        return (("", self.data), *((f"{role.value}.", group) for role, group in self.further.items()))

    @property
    def further(self) -> Mapping[Role, GroupChoice]:
        """The groups in addition to the data's."""
        found = {role: getattr(self, role.value) for role in FURTHER_ROLES}
        return {role: group for role, group in found.items() if group is not None}

    @property
    def of_relations(self) -> tuple[GroupChoice, ...]:
        """The groups that may hold tables or indexes: the data's, and those with a tablespace."""
        return (self.data, *(group for role, group in self.further.items() if role in RELATION_ROLES))

    @property
    def names(self) -> tuple[str, ...]:
        """Every disk, by serial or WWN as given, in the order in which disks are claimed."""
        return (*(disk for _, group in self.groups for disk in group.disks), *self.zfs_log)


@dataclass(frozen=True, slots=True)
class ServerTarget:
    """A running server anywhere: pgFooting creates one database in it and changes nothing else.

    Attributes:
        connection: libpq connection string or URI, without any secret.
        room_bytes: maximum size of that database, set by the server's owner; None without a limit.
        ssh: name of its machine for the user's ssh; empty to read no facts from it.
    """

    connection: str
    room_bytes: int | None = None
    ssh: str = ""
    kind: ClassVar[str] = "server"


Target = FolderTarget | MemoryTarget | DiskTarget | ServerTarget


@dataclass(frozen=True, slots=True)
class PostgresChoice:
    """A PostgreSQL installation and its settings.

    Attributes:
        installation: ``newest``, a major version such as ``15``, or the absolute folder of the programs.
        preset: id of a preset in `app.postgres.settings`.
        settings: (name, value) pairs in addition to the preset, spelled as in postgresql.conf.
        checksums: data checksums on or off; explicit, because the default changed in 18.
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
    """Contents of the caches above the storage at the start of the measurement.

    WARM: the result of loading and warm-up. COLD: no data, neither in shared_buffers nor in the cache of the
    operating system, at the start of every run.
    """

    WARM = "warm"
    COLD = "cold"


class DataSet(StrEnum):
    """How the data set gets onto the storage under test.

    LOADED: created there in every run. COPIED: created once, and copied there in every run.
    """

    LOADED = "loaded"
    COPIED = "copied"


class DataSize(StrEnum):
    """Data set classes that are resolved to a scale on the machine at hand."""

    SMALL = "small"
    MEDIUM = "medium"
    LARGE = "large"


class BuiltinScript(StrEnum):
    """Built-in scripts of pgbench (``--builtin``)."""

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
        is_outside: the file is not below the campaign file's folder, after resolving links.
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
    """A rate as a share of the TPS of an earlier phase of the same run.

    Attributes:
        percent: of its TPS.
        of: name of that phase, which has no rate of its own.
    """

    percent: float
    of: str


@dataclass(frozen=True, slots=True)
class WorkloadPhase:
    """One of several phases that a run measures; None means as in the workload.

    Attributes:
        name: for users; unique within the workload.
        times: number of repeats in a row, each with its own figures.
        counts: its figures are compared; figures of other phases are only kept and shown.
        scripts: as in `Workload`, like the fields after it.
        rate: transactions per second, or a share of an earlier phase's.
        maintenance: names of maintenances before it (`app.domain.maintenance`), once for all times.
        background: name of the background work during each of its times; None for none.
        every_s: interval between starts of the background work; None to repeat it at once.
        max_rate_bytes: limit of a base backup's reads per second; None for no limit.
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
"""Metadata key of a field of `Workload`: its pgbench option, with a placeholder for the value."""


def _said_by(option: str) -> dict[str, str]:
    return {PGBENCH_OPTION: option}


@dataclass(frozen=True, slots=True)
class Workload:
    """A pgbench workload. Fields that are not None become pgbench options (`app.postgres.pgbench.argv`).

    Attributes:
        scripts: at least one.
        scale: pgbench scale factor (100 000 accounts each); None if `size` is set.
        size: a class or bytes; None if `scale` is set.
        clients: concurrent connections.
        threads: pgbench worker threads; None for the smaller of clients and half the CPUs.
        duration_s: length of the measured phase; None if `transactions` is set.
        transactions: transactions per client; None if `duration_s` is set.
        warmup_s: duration of a separate pgbench run before the measured one; 0 for none, as with cold caches.
        caches: their contents at the start of the measurement.
        protocol: query protocol.
        rate_tps: open loop at this rate; None for a closed loop.
        latency_limit_ms: with a rate, later transactions are skipped and counted; without one, only counted;
            None for none.
        compressibility: compression ratio of the loaded rows, 2.0 for 2:1 (zstd -3 over pieces of 128 KiB of
            the heap); None for pgbench's own rows, mostly blanks. The same in all configurations of a
            campaign.
        data_set: how it gets onto the storage under test. The same in all configurations of a campaign.
        phases: measured one after the other, the same in all configurations of a campaign
            (`app.domain.campaign.phases`); empty for one phase with the fields above.
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
        """Whether transactions write: assumed for everything but the built-in select-only."""
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
        """The condition of comparison: workload and memory limit must be equal.

        The roles of the other properties are in `app.comparison.overall.conditions`.
        """
        limit = self.target.memory_limit_bytes if isinstance(self.target, DiskTarget) else None
        return self.workload, limit

    @property
    def footing(self) -> tuple[Target, PostgresChoice]:
        """The compared choice: everything that is no condition."""
        target = self.target
        if isinstance(target, DiskTarget):
            target = replace(target, memory_limit_bytes=None)
        return target, self.postgresql

    @property
    def has_rate(self) -> bool:
        """Whether transactions arrive at a rate."""
        return self.workload.rate_tps is not None


def default_repeats(configurations: int, design: Design = Design.FIXED) -> int:
    """Return the default number of runs of each configuration, at most."""
    if design is Design.SEQUENTIAL:
        return DEFAULT_CAP
    return DEFAULT_REPEATS if configurations < 3 else DEFAULT_REPEATS_OF_SEVERAL


@dataclass(frozen=True, slots=True)
class Campaign:
    """Configurations times repeats, run interleaved.

    Attributes:
        name: given by the user.
        configurations: at least one; names are unique.
        repeats: runs of each configuration; for a sequential design the maximum.
        seeds: pgbench random seeds; repeat r of every configuration uses ``seeds[r % len(seeds)]``.
        order: of the runs.
        order_seed: of a random order; None until the start of the campaign draws it.
        io_baseline: benchmark each storage by itself before its first run; None for spare disks only.
        repeat_disturbed: maximum number of disturbed runs that are measured again.
        matrix: the dimensions that generate the configurations; None if those are listed explicitly.
        time_budget_s: since each start; runs that would exceed it are not started; None for no limit.
        design: how the number of runs is determined.
        precision: of a sequential design: it ends when the remaining ones differ by less, in percent; None to
            end only when one remains.
        zfs_arc_max_bytes: required zfs_arc_max of the machine, 0 for ZFS's own choice; None for any. It is
            checked if ZFS is used, and never set.
        remarks: sentences for the result, such as omissions of a recipe on this machine.
        question: that it answers; None for none.
        figures: names of the figures of a run that answer it (`app.runfile.figures`); None for TPS.
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
    question: str | None = None
    figures: tuple[str, ...] | None = None

    @property
    def is_order_known(self) -> bool:
        """Whether the order of the runs is determined."""
        return self.order is not RunOrder.RANDOM or self.order_seed is not None

    @property
    def total_runs(self) -> int:
        """Number of runs; the maximum if some may be dropped."""
        return self.repeats * len(self.configurations)

    def wants_baseline(self, target: Target) -> bool:
        """Return whether the storage of a target is benchmarked by itself."""
        if isinstance(target, ServerTarget):
            return False  # its storage is not here
        return isinstance(target, DiskTarget) if self.io_baseline is None else self.io_baseline


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """One run of a campaign with its position in the order.

    Attributes:
        number: 1-based position in the order.
        configuration: the measured one.
        repeat: 0-based repeat of this configuration.
        seed: pgbench random seed.
        attempt: 1, or more if it is repeated because it was disturbed.
    """

    number: int
    configuration: Configuration
    repeat: int
    seed: int
    attempt: int = 1


def with_drawn_order(campaign: Campaign) -> Campaign:
    """Return a campaign with a determined order: draw the seed if it is open."""
    if campaign.order is not RunOrder.RANDOM or campaign.order_seed is not None:
        return campaign
    return replace(campaign, order_seed=secrets.randbelow(MOST_ORDER_SEED + 1))


def as_begun(campaign: Campaign) -> Campaign:
    """Return a started campaign, read from its folder or a run, with its actual order.

    A campaign stores the seed of its order at the start; earlier versions only used the order AB BA.
    """
    if campaign.order is RunOrder.RANDOM and campaign.order_seed is None:
        return replace(campaign, order=RunOrder.ALTERNATING)
    return campaign


def interleaved_order(campaign: Campaign) -> tuple[PlannedRun, ...]:
    """Return the runs in the order of execution, never AAABBB.

    Every repeat is one block that contains each configuration once (`app.domain.campaign.matrix`).

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
