"""Every key of a campaign file: one table that drives reading, writing, errors and documentation.

The sentences are the same as in resources/recipes/example.toml (tested). Defaults of missing keys come from
the classes of `app.domain.campaign.configuration`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from app.campaign_file.disks import DISK_FIELDS, disk_faults, make_disk_target, values_of_disks
from app.campaign_file.kinds import (
    BoolKind,
    BytesOrNone,
    CampaignField,
    EnumKind,
    FloatKind,
    IntKind,
    Milliseconds,
    Name,
    ReadBackBy,
    Seeds,
    SizeKind,
    WholeSeconds,
)
from app.campaign_file.paths import ConnectionString, Folder, InstallationName, Scripts, SshHost
from app.campaign_file.phases import Phases, RateKind, WorkNames
from app.campaign_file.recipes.head import SENTENCES
from app.campaign_file.settings import SettingsTable
from app.domain.campaign.configuration import (
    MOST_ORDER_SEED,
    SMALLEST_ARC_BYTES,
    Caches,
    DataSet,
    DataSize,
    FolderTarget,
    MemoryTarget,
    Protocol,
    ServerTarget,
    Target,
    WorkloadPhase,
)
from app.domain.campaign.order import Design, RunOrder
from app.domain.maintenance import BACKGROUND, MAINTENANCE, DoneBy
from app.domain.problem import Problem
from app.domain.text import tr
from app.domain.units import GIB, KIB, MIB, TIB
from app.postgres.pgbench.filler import LEAST_RATIO, MOST_RATIO
from app.postgres.presets import PRESETS

MOST_CONFIGURATIONS: Final = 1000
MOST_RUNS: Final = 10_000


def _nothing_wrong(values: Mapping[str, Any]) -> Sequence[Problem]:  # noqa: ARG001 - the keys alone decide
    return ()


def _connection_missing(values: Mapping[str, Any]) -> Sequence[Problem]:
    if "connection" in values:
        return ()
    return (Problem(".connection", tr("is missing: how is the server reached?")),)


def attributes(part: Any) -> Mapping[str, Any]:  # noqa: ANN401 - a campaign or a part of one
    """Return the attributes of a dataclass."""
    return {name: getattr(part, name) for name in part.__dataclass_fields__}


@dataclass(frozen=True, slots=True)
class TargetTable:
    """One kind of target: a table below [target].

    Attributes:
        kind: the table's key.
        make: returns the domain's object from values by attribute.
        fields: its keys.
        faults: returns the problems of individually valid values.
        values: returns values by attribute from the domain's object.
    """

    kind: str
    make: Callable[..., Target]
    fields: tuple[CampaignField, ...]
    faults: Callable[[Mapping[str, Any]], Sequence[Problem]] = _nothing_wrong
    values: Callable[[Any], Mapping[str, Any]] = attributes


_NAME = tr("What you call this campaign, or this configuration.")
_DESIGN = tr("Whether all configurations are run as often, or only those that may still be the fastest.")
_PRECISION = tr("With a sequential design: the difference, in percent, below which nobody needs a winner.")
_REPEATS = tr("Runs of each configuration, interleaved; from three on there is a verdict.")
_SEEDS = tr("Random seeds, one per repeat in turn, the same for every configuration.")
_ORDER = tr(
    "In which order the runs follow each other: complete rounds, each configuration once in every one."
)
_ORDER_SEED = tr("With a random order: the number that it is drawn with.")
_BASELINE = tr("Ask each storage with fio and pg_test_fsync what it can do, before the first run on it.")
_REPEAT_DISTURBED = tr("At most so many runs that others disturbed are measured again.")
_TIME_BUDGET = tr("No run is begun that would not end within this time from the start, as far as was seen.")
_ARC_MAX = tr("The largest size of ZFS's cache (zfs_arc_max) that this campaign needs: compared, never set.")
_REMARKS = tr(
    "Sentences that belong to the result: they are stored in each run and told where runs are compared."
)
_PATH = tr("A folder that exists; left out: a folder of pgFooting's own.")
_MEMORY = tr("Most memory that may be used; left out: what the data set needs.")
_CONNECTION = tr("How the server is reached: a libpq connection string or URI, without a password.")
_ROOM = tr("What pgFooting's database may take there at most; left out: nobody knows.")
_SSH = tr(
    "The name by which your own ssh reaches its machine, to see what it does; left out: it is not asked."
)
_INSTALLATION = tr("The newest one found, a major version, or the folder of the programs.")
_PRESET = tr("Where the server settings come from before your own ones.")
_CHECKSUMS = tr("Data checksums on or off.")
_SETTINGS = tr("Server settings over the preset, as in postgresql.conf.")
_SCRIPT = tr("A built-in script of pgbench, your own file, or a list of both with weights.")
_SIZE = tr("Size of the data: small (about 200 MB), medium (half the RAM), large (twice the RAM), or a size.")
_SCALE = tr("Instead of a size: pgbench's scale factor, about 15 MiB each.")
_CLIENTS = tr("Concurrent connections.")
_THREADS = tr("Worker threads of pgbench, at most as many as clients; left out: half the CPUs.")
_DURATION = tr("Length of the measured phase.")
_TRANSACTIONS = tr("Instead of a duration: transactions per client.")
_WARMUP = tr("Length of the warm-up before the measured phase; it does not count.")
_CACHES = tr("Whether the caches hold what loading and warm-up left in them, or nothing of the data.")
_PROTOCOL = tr("Query protocol.")
_RATE = tr("Transactions per second that arrive, kept up with or not; left out: as many as go.")
_COMPRESSIBILITY = tr(
    "How far the rows of the data can be compressed: 2 is 2:1; left out: pgbench's, which are mostly blanks."
)
_DATA_SET = tr("Whether the data is loaded where it is measured, or made once and copied there for each run.")
_LIMIT = tr("With a rate: what would start later than this is skipped; without: late ones are counted.")

CAMPAIGN_FIELDS: Final = (
    CampaignField("name", Name(), "name", _NAME),
    CampaignField("repeats", IntKind(1, 1000), "repeats", _REPEATS),
    CampaignField("design", EnumKind(tuple(Design), Design), "design", _DESIGN),
    CampaignField("precision", FloatKind(0.1, 50), "precision", _PRECISION),
    CampaignField("seeds", Seeds(), "seeds", _SEEDS),
    CampaignField("order", EnumKind(tuple(RunOrder), RunOrder), "order", _ORDER),
    CampaignField("order_seed", IntKind(0, MOST_ORDER_SEED), "order_seed", _ORDER_SEED),
    CampaignField("io_baseline", BoolKind(), "io_baseline", _BASELINE),
    CampaignField("repeat_disturbed", IntKind(0, 1000), "repeat_disturbed", _REPEAT_DISTURBED),
    CampaignField("time_budget", WholeSeconds(60, 30 * 86_400), "time_budget_s", _TIME_BUDGET),
    CampaignField("zfs_arc_max", BytesOrNone(SMALLEST_ARC_BYTES, 16 * TIB), "zfs_arc_max_bytes", _ARC_MAX),
    CampaignField("remarks", SENTENCES, "remarks", _REMARKS),
)

TARGETS: Final = (
    TargetTable("folder", FolderTarget, (CampaignField("path", Folder(), "path", _PATH),)),
    TargetTable(
        "memory", MemoryTarget, (CampaignField("size", SizeKind(64 * MIB, 16 * TIB), "size_bytes", _MEMORY),)
    ),
    TargetTable("disks", make_disk_target, DISK_FIELDS, disk_faults, values_of_disks),
    TargetTable(
        "server",
        ServerTarget,
        (
            CampaignField("connection", ConnectionString(), "connection", _CONNECTION),
            CampaignField("room", SizeKind(64 * MIB, 1024 * TIB), "room_bytes", _ROOM),
            CampaignField("ssh", SshHost(), "ssh", _SSH),
        ),
        _connection_missing,
    ),
)

POSTGRESQL_FIELDS: Final = (
    CampaignField(
        "installation",
        InstallationName(),
        "installation",
        _INSTALLATION,
        read_back=ReadBackBy.SERVER,
        label=tr("PostgreSQL"),
    ),
    CampaignField(
        "preset",
        EnumKind(tuple(PRESETS)),
        "preset",
        _PRESET,
        read_back=ReadBackBy.SERVER,
        label=tr("Settings from"),
    ),
    CampaignField(
        "checksums", BoolKind(), "checksums", _CHECKSUMS, read_back=ReadBackBy.SERVER, label=tr("Checksums")
    ),
    CampaignField("settings", SettingsTable(), "settings", _SETTINGS, read_back=ReadBackBy.SERVER),
)

_PHASES = tr("Several phases, measured one after the other in each run; left out: one phase.")
_PHASE_NAME = tr("What you call this phase.")
_TIMES = tr("How often it is run, one time after the other.")
_COUNTS = tr("Whether its figures are compared.")
_MAINTENANCE = tr("What is done before it, once for all of its times.")
_BACKGROUND = tr("What is done beside it, for as long as it lasts.")
_EVERY = tr("With snapshots: from one to the next; the first one is made when the phase begins.")
_MAX_RATE = tr("With pg_basebackup: bytes that it reads in a second at most; left out: as many as go.")
_BESIDE_PHASES: Final = tuple(each.name for each in BACKGROUND)
_BETWEEN_PHASES: Final = tuple(each.name for each in MAINTENANCE if each.done_by is not DoneBy.PROGRAM)
_RATES: Final = FloatKind(0.01, 10_000_000)

_ONE_PHASE_FIELDS: Final = (
    CampaignField("script", Scripts(), "scripts", _SCRIPT, label=tr("Script")),
    CampaignField(
        "size", SizeKind(16 * MIB, 100 * TIB, DataSize), "size", _SIZE, "scale", label=tr("Data size")
    ),
    CampaignField("scale", IntKind(1, 1_000_000), "scale", _SCALE, "size", label=tr("Scale factor")),
    CampaignField("compressibility", FloatKind(LEAST_RATIO, MOST_RATIO), "compressibility", _COMPRESSIBILITY),
    CampaignField("data_set", EnumKind(tuple(DataSet), DataSet), "data_set", _DATA_SET),
    CampaignField("clients", IntKind(1, 10_000), "clients", _CLIENTS, label=tr("Clients")),
    CampaignField("threads", IntKind(1, 10_000), "threads", _THREADS, label=tr("Threads of pgbench")),
    CampaignField(
        "duration",
        WholeSeconds(1, 7 * 86_400),
        "duration_s",
        _DURATION,
        "transactions",
        label=tr("Measure for"),
    ),
    CampaignField(
        "transactions",
        IntKind(1, 2**31 - 1),
        "transactions",
        _TRANSACTIONS,
        "duration_s",
        label=tr("Transactions of each client"),
    ),
    CampaignField("warmup", WholeSeconds(0, 86_400), "warmup_s", _WARMUP, label=tr("Warm-up")),
    CampaignField("caches", EnumKind(tuple(Caches), Caches), "caches", _CACHES, label=tr("Caches")),
    CampaignField(
        "protocol", EnumKind(tuple(Protocol), Protocol), "protocol", _PROTOCOL, label=tr("Query protocol")
    ),
    CampaignField("rate", _RATES, "rate_tps", _RATE, label=tr("Rate")),
    CampaignField(
        "latency_limit", Milliseconds(0.001, 3_600_000), "latency_limit_ms", _LIMIT, label=tr("Latency limit")
    ),
)

PHASE_FIELDS: Final = (
    CampaignField("name", Name(), "name", _PHASE_NAME),
    CampaignField("times", IntKind(1, 100), "times", _TIMES),
    CampaignField("counts", BoolKind(), "counts", _COUNTS),
    *(field for field in _ONE_PHASE_FIELDS if field.attribute in WorkloadPhase.__dataclass_fields__),
    CampaignField("rate", RateKind(_RATES), "rate", _RATE),
    CampaignField("maintenance", WorkNames(_BETWEEN_PHASES), "maintenance", _MAINTENANCE),
    CampaignField("background", EnumKind(_BESIDE_PHASES), "background", _BACKGROUND),
    CampaignField("every", WholeSeconds(1, 86_400), "every_s", _EVERY),
    CampaignField("max_rate", SizeKind(32 * KIB, GIB), "max_rate_bytes", _MAX_RATE),
)
"""Keys of one phase; missing ones are as in the workload."""

PHASES: Final = Phases(PHASE_FIELDS)

WORKLOAD_FIELDS: Final = (
    *_ONE_PHASE_FIELDS,
    CampaignField("phase", PHASES, "phases", _PHASES),
)

ALIKE: Final = frozenset({"workload.compressibility", "workload.data_set", "workload.phase"})
"""Keys that are the same in all configurations of a campaign: another data set is not a difference of a
configuration, and phases are compared one by one.
"""

SECTIONS: Final = {"postgresql": POSTGRESQL_FIELDS, "workload": WORKLOAD_FIELDS}
"""The tables that merge key by key."""


def where_it_belongs(key: str) -> str:
    """Return a sentence with the right place for a misplaced key; empty for an unknown word."""
    if any(field.name == key for field in CAMPAIGN_FIELDS):  # after a [table] every key belongs to that table
        return tr("It belongs at the top of the file, before the first [table].")
    tables = SECTIONS | {f"target.{target.kind}": target.fields for target in TARGETS}
    having = [table for table, fields in tables.items() if any(field.name == key for field in fields)]
    return (
        tr("It belongs in {tables}.").format(tables=" or ".join(f"[{table}]" for table in having))
        if having
        else ""
    )
