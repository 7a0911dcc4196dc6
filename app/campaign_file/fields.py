"""Every key of a campaign file: one table that drives reading, writing, errors, forms and documentation.

The sentences are the same as in resources/recipes/example.toml (tested). Defaults of missing keys come from
the classes of `app.domain.campaign.configuration`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from app.campaign_file.disks import DISK_FIELDS, disk_faults, make_disk_target, values_of_disks
from app.campaign_file.kinds import (
    BoolKind,
    BytesOrNone,
    CampaignField,
    EnumKind,
    FloatKind,
    IntKind,
    ListOf,
    Milliseconds,
    Name,
    ReadBackBy,
    SizeKind,
    WholeSeconds,
)
from app.campaign_file.paths import ConnectionString, Folder, InstallationName, Scripts, SshHost
from app.campaign_file.phases import Phases, RateKind, WorkNames
from app.campaign_file.recipes.head import ANSWERS, LONGEST_SENTENCE, SENTENCES
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
from app.domain.campaign.phases import BACKGROUND
from app.domain.maintenance import MAINTENANCE, DoneBy
from app.domain.problem import Problem
from app.domain.text import tr
from app.domain.units import GIB, KIB, MIB, TIB
from app.postgres.pgbench.filler import LEAST_RATIO, MOST_RATIO, ratio_words
from app.postgres.presets import PRESETS

MOST_CONFIGURATIONS: Final = 1000
MOST_RUNS: Final = 10_000


def _nothing_wrong(values: Mapping[str, Any]) -> Sequence[Problem]:  # noqa: ARG001 - the keys alone decide
    return ()


def _connection_missing(values: Mapping[str, Any]) -> Sequence[Problem]:
    if "connection" in values:
        return ()
    return (Problem(".connection", tr("is missing: give the connection to the server.")),)


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


_NAME = tr("Your name for this campaign or configuration.")
_SEEDS = tr("Random seeds, one per repeat, the same for every configuration.")
_ORDER_SEED = tr("The seed of a random order.")
_BASELINE = tr("Benchmark each storage with fio and pg_test_fsync before the first run on it.")
_ARC_MAX = tr("The ZFS cache limit (zfs_arc_max) that this campaign requires: checked, never set.")
_REMARKS = tr("Notes on the result, stored in each run and shown when runs are compared.")
_PATH = tr("An existing folder; default: pgFooting's own folder.")
_MEMORY = tr("Memory limit; default: what the data set needs.")
_CONNECTION = tr("Connection to the server: a libpq connection string or URI, without a password.")
_ROOM = tr("Size limit for pgFooting's database there; default: no limit known.")
_SSH = tr("The ssh name of the server's machine, to observe it; default: not observed.")
_CHECKSUMS = tr("Data checksums on or off.")
_SETTINGS = tr("Server settings that override the preset, as in postgresql.conf.")
_SCALE = tr("Instead of a size: pgbench's scale factor, about 15 MiB each.")
_RATE = tr("Target rate in transactions per second; default: as fast as possible.")

CAMPAIGN_FIELDS: Final = (
    CampaignField(
        "name",
        Name(),
        _NAME,
        label=tr("Name of the &campaign:"),
        help=tr("Shown in the library. Default: what the campaign compares."),
    ),
    CampaignField(
        "repeats",
        IntKind(1, 1000),
        tr("Runs of each configuration, interleaved; a verdict needs three."),
        help=tr(
            "A verdict needs three runs of each configuration; more runs detect smaller differences. "
            "Default: 3, or 5 with three or more configurations, because several comparisons need more."
        ),
        source="Kalibera & Jones, 2013",
        label=tr("Re&peats of each configuration:"),
    ),
    CampaignField(
        "design",
        EnumKind(tuple(Design), Design),
        tr(
            "Whether every configuration gets the same number of runs, or only those that may still win "
            "continue."
        ),
        help=tr(
            "Fixed: same number of runs for each, for published results. Sequential: from round three on, "
            "unlikely winners are dropped; needs two configurations with the same workload and no rate."
        ),
        source="Kim & Nelson, 2001",
        label=tr("Design:"),
        choices={
            Design.FIXED: tr("Same number of runs for each configuration"),
            Design.SEQUENTIAL: tr("Drop configurations that are unlikely to win"),
        },
    ),
    CampaignField(
        "precision",
        FloatKind(0.1, 50),
        tr(
            "Sequential design only: the difference in percent below which configurations count as equally "
            "fast."
        ),
        help=tr(
            "Sequential design only: the campaign ends when all remaining configurations are within this "
            "percentage of each other. Default: it continues until one is left or the rounds are used up."
        ),
        label=tr("Equally fast within (%):"),
        placeholder=tr("no limit: until one is left"),
    ),
    CampaignField("seeds", ListOf(IntKind(0, 2**32 - 1), 1000), _SEEDS),
    CampaignField(
        "order",
        EnumKind(tuple(RunOrder), RunOrder),
        tr("The order of the runs, in complete rounds with each configuration once."),
        help=tr(
            "Random order keeps periodic jobs from always hitting the same configurations. AB BA cancels a "
            "slow drift, but each configuration always has the same neighbours."
        ),
        source="Williams, 1949",
        label=tr("Order o&f the runs:"),
        choices={
            RunOrder.RANDOM: tr("Random, in rounds"),
            RunOrder.ALTERNATING: tr("AB BA, alternating"),
        },
    ),
    CampaignField("order_seed", IntKind(0, MOST_ORDER_SEED), _ORDER_SEED),
    CampaignField("io_baseline", BoolKind(), _BASELINE),
    CampaignField(
        "repeat_disturbed",
        IntKind(0, 1000),
        tr("Maximum number of disturbed runs to repeat."),
        help=tr(
            "Disturbance is detected from other activity (CPU, steal, swap, heat, trims), never from speed. "
            "Disturbed runs stay in the library; up to this many are repeated after their round."
        ),
        label=tr("Disturbed runs a&gain, at most:"),
        placeholder=tr("none"),
    ),
    CampaignField(
        "time_budget",
        WholeSeconds(60, 30 * 86_400),
        tr("Time limit: no run starts that is not expected to end within this time."),
        attribute="time_budget_s",
        help=tr(
            "No run starts that is not expected to end within this time; after a complete round, only whole "
            "rounds start. You can resume later with the same budget again."
        ),
        label=tr("Time b&udget:"),
        placeholder=tr("no limit"),
    ),
    CampaignField(
        "zfs_arc_max", BytesOrNone(SMALLEST_ARC_BYTES, 16 * TIB), _ARC_MAX, attribute="zfs_arc_max_bytes"
    ),
    CampaignField("remarks", SENTENCES, _REMARKS),
    CampaignField(
        "question", Name(LONGEST_SENTENCE), tr("The question shown above the result of this campaign.")
    ),
    CampaignField("figures", ANSWERS, tr("The metrics that answer the question of this campaign.")),
)

TARGETS: Final = (
    TargetTable(
        "folder",
        FolderTarget,
        (
            CampaignField(
                "path",
                Folder(),
                _PATH,
                label=tr("F&older:"),
                help=tr(
                    "To measure another disk, choose a folder on it. Default: pgFooting's own folder, on "
                    "the disk of your home."
                ),
            ),
        ),
    ),
    TargetTable(
        "memory",
        MemoryTarget,
        (
            CampaignField(
                "size",
                SizeKind(64 * MIB, 16 * TIB),
                _MEMORY,
                attribute="size_bytes",
                label=tr("&At most:"),
                placeholder=tr("what the data needs"),
                help=tr(
                    "Limit for data and WAL together. A run that would exceed it is ended with a message."
                ),
                fact=tr("most memory"),
            ),
        ),
    ),
    TargetTable("disks", make_disk_target, DISK_FIELDS, disk_faults, values_of_disks),
    TargetTable(
        "server",
        ServerTarget,
        (
            CampaignField(
                "connection",
                ConnectionString(),
                _CONNECTION,
                label=tr("&Connection:"),
                placeholder="host=db.example user=bench",
                help=tr(
                    "As for psql: host=… port=… user=…, service=…, or postgresql://…, with sslmode and "
                    "sslrootcert for TLS. Never a password: libpq finds that in ~/.pgpass, in the service, "
                    "or in PGPASSWORD."
                ),
            ),
            CampaignField(
                "room",
                SizeKind(64 * MIB, 1024 * TIB),
                _ROOM,
                attribute="room_bytes",
                label=tr("&Room for it:"),
                placeholder=tr("unknown"),
                help=tr(
                    "SQL cannot report free disk space. Enter a limit: larger data sets are refused, and a "
                    "run is stopped if its database grows past it."
                ),
            ),
            CampaignField(
                "ssh",
                SshHost(),
                _SSH,
                label=tr("Its machine, b&y ssh:"),
                placeholder=tr("not observed"),
                help=tr(
                    "A name that your ssh reaches without a prompt: host, alias or user@host. A small "
                    "read-only program there reports CPU, memory and disks of the server's machine."
                ),
            ),
        ),
        _connection_missing,
    ),
)

POSTGRESQL_FIELDS: Final = (
    CampaignField(
        "installation",
        InstallationName(),
        tr("The newest installed, a major version, or the folder of the programs."),
        read_back=ReadBackBy.SERVER,
        label=tr("&PostgreSQL:"),
        help=tr(
            "pgFooting starts its own server from this installation, on a private socket without TCP. It "
            "does not touch servers that already run."
        ),
    ),
    CampaignField(
        "preset",
        EnumKind(tuple(PRESETS)),
        tr("The preset of server settings; your own settings override it."),
        read_back=ReadBackBy.SERVER,
        label=tr("S&ettings from:"),
        choices={each.id: each.label for each in PRESETS.values()},
        help=tr(
            "A list of settings with reasons. All configurations get the same values, sized for the "
            "smallest target, so that only your changes differ."
        ),
        source=tr("PostgreSQL manual, chapter 19"),
    ),
    CampaignField(
        "checksums",
        BoolKind(),
        _CHECKSUMS,
        read_back=ReadBackBy.SERVER,
        label=tr("Data chec&ksums"),
        shown_as=tr("Checksums"),
        help=tr(
            "Verifies each page when it is read, at the cost of some CPU and, through hint bits, some WAL. "
            "Choose what your production uses."
        ),
        source=tr("PostgreSQL manual, initdb"),
    ),
    CampaignField(
        "settings",
        SettingsTable(),
        _SETTINGS,
        read_back=ReadBackBy.SERVER,
        label=tr("Yo&ur own settings (override the preset):"),
        placeholder="work_mem = 64MB\nwal_compression = on",
        help=tr(
            "One setting per line, as in postgresql.conf. PostgreSQL itself checks names and values before "
            "the start."
        ),
        source=tr("PostgreSQL manual, 19.1"),
    ),
)

_PHASE_NAME = tr("Your name for this phase.")
_TIMES = tr("How many times in a row it is run.")
_BESIDE_PHASES: Final = tuple(each.name for each in BACKGROUND)
_BETWEEN_PHASES: Final = tuple(each.name for each in MAINTENANCE if each.done_by is not DoneBy.PROGRAM)
_RATES: Final = FloatKind(0.01, 10_000_000)

_ONE_PHASE_FIELDS: Final = (
    CampaignField(
        "script",
        Scripts(),
        tr("A built-in script of pgbench, your own file, or a list of both with weights."),
        attribute="scripts",
        label=tr("Script"),
        help=tr(
            "TPC-B-like updates three tables and inserts into a fourth, so it shows the cost of flushes. "
            "Select-only measures reads alone."
        ),
        source=tr("PostgreSQL manual, pgbench"),
    ),
    CampaignField(
        "size",
        SizeKind(16 * MIB, 100 * TIB, DataSize),
        tr(
            "Size of the data: small (about 200 MB), medium (half the RAM), large (twice the RAM), or a size."
        ),
        instead_of="scale",
        help=tr(
            "Small data fits into every cache and shows commits; data twice the size of memory must be read "
            "from disk. Medium is in between."
        ),
        source="T. Vondra, FOSDEM PgDay 2016",
        label=tr("&Data:"),
        shown_as=tr("Data size"),
        placeholder="2 GiB",
        fact=tr("size of the data"),
        condition="scale",
    ),
    CampaignField(
        "scale",
        IntKind(1, 1_000_000),
        _SCALE,
        instead_of="size",
        label=tr("Scale factor"),
        placeholder="100",
        fact=tr("scale"),
        condition="scale",
    ),
    CampaignField(
        "compressibility",
        FloatKind(LEAST_RATIO, MOST_RATIO),
        tr("Compressibility of the rows: 2 means 2:1; default: pgbench's rows, mostly blanks."),
        help=tr(
            "Matters for compressing filesystems, because pgbench's own rows compress about 30:1. Here rows "
            "mix random bytes and zeros in this ratio (zstd -3, 128 KiB)."
        ),
        source=tr("measured; btrfs, ZFS: zstd -3"),
        label=tr("Rows &can be compressed:"),
        words=ratio_words,
        choices={
            "": tr("pgbench's own, mostly blanks"),
            "4": tr("4:1"),
            "2": tr("2:1"),
            "1.4": tr("1.4:1, random values"),
        },
        is_later=True,
        fact=tr("rows can be compressed"),
        condition="data",
    ),
    CampaignField(
        "data_set",
        EnumKind(tuple(DataSet), DataSet),
        tr("Whether the data is loaded before each run, or loaded once and copied for each run."),
        help=tr(
            "Loaded: before every run, so load times are compared too. Copied: loaded once elsewhere and "
            "copied before every run, much faster. Do not mix them: filesystem states differ."
        ),
        label=tr("Data se&t:"),
        choices={
            DataSet.LOADED: tr("Loaded before each run"),
            DataSet.COPIED: tr("Loaded once, copied before each run"),
        },
        is_later=True,
        fact=tr("data set"),
        condition="data",
    ),
    CampaignField(
        "clients",
        IntKind(1, 10_000),
        tr("Concurrent connections."),
        help=tr(
            "Concurrent connections. More clients hide flush latency, because commits share flushes, until "
            "CPU or disks are saturated."
        ),
        label=tr("C&lients:"),
        condition="clients",
    ),
    CampaignField(
        "threads",
        IntKind(1, 10_000),
        tr("pgbench worker threads, at most one per client; default: half the CPUs."),
        help=tr(
            "pgbench's own threads. Default: half of the CPUs, enough load without taking the server's CPUs."
        ),
        label=tr("T&hreads of pgbench:"),
        placeholder=tr("half of the CPUs"),
        condition="clients",
    ),
    CampaignField(
        "duration",
        WholeSeconds(1, 7 * 86_400),
        tr("Length of the measured phase."),
        attribute="duration_s",
        instead_of="transactions",
        help=tr(
            "30 seconds give a first look. For a verdict about disks use 15 minutes or more, so that "
            "checkpoints are included."
        ),
        source=tr("measured: three checkpoint cycles"),
        label=tr("M&easure for:"),
        placeholder="30s",
        fact=tr("measured time"),
        condition="duration",
    ),
    CampaignField(
        "transactions",
        IntKind(1, 2**31 - 1),
        tr("Instead of a duration: transactions per client."),
        instead_of="duration_s",
        label=tr("Transactions of each client"),
        placeholder="10000",
        fact=tr("transactions per client"),
        condition="duration",
    ),
    CampaignField(
        "warmup",
        WholeSeconds(0, 86_400),
        tr("Length of the warm-up before the measured phase; not counted."),
        attribute="warmup_s",
        help=tr(
            "Not counted: fills caches and writes the full pages of the first checkpoint. Not available "
            "with cold caches, which it would fill."
        ),
        label=tr("&Warm-up:"),
        placeholder="10s",
        fact=tr("warm-up"),
        condition="duration",
    ),
    CampaignField(
        "caches",
        EnumKind(tuple(Caches), Caches),
        tr("Whether caches start warm, as left by loading and warm-up, or without any of the data."),
        help=tr(
            "Warm: as loading and warm-up leave them. Cold: pgFooting restarts the server and drops its "
            "data from the OS cache before each run; caches of disks, controllers or hosts remain."
        ),
        source="posix_fadvise(2), proc(5) drop_caches",
        label=tr("Cache&s at the start:"),
        shown_as=tr("Caches"),
        choices={
            Caches.WARM: tr("Warm, as left by loading"),
            Caches.COLD: tr("Cold, emptied before each run"),
        },
        is_later=True,
        fact=tr("caches at the start"),
        condition="caches",
    ),
    CampaignField(
        "protocol",
        EnumKind(tuple(Protocol), Protocol),
        tr("Query protocol."),
        help=tr(
            "Prepared statements are planned once, as with most drivers and poolers. Simple sends text each "
            "time, so parsing is measured too."
        ),
        source=tr("PostgreSQL manual, pgbench"),
        label=tr("Quer&y protocol:"),
        choices={each: each.value for each in Protocol},
        fact=tr("protocol"),
        condition="protocol",
    ),
    CampaignField(
        "rate",
        _RATES,
        _RATE,
        attribute="rate_tps",
        help=tr(
            "Transactions arrive at this rate even if the server falls behind; latency counts from arrival. "
            "Speed is not compared if it keeps up. Default: as fast as possible, without queueing time."
        ),
        source=tr("PostgreSQL manual, pgbench --rate"),
        label=tr("R&ate (TPS):"),
        shown_as=tr("Rate"),
        placeholder=tr("left out"),
        fact=tr("target rate"),
        condition="rate",
    ),
    CampaignField(
        "latency_limit",
        Milliseconds(0.001, 3_600_000),
        tr(
            "With a rate: transactions that would start later than this are skipped; without: late ones are "
            "counted."
        ),
        attribute="latency_limit_ms",
        help=tr(
            "With a rate, transactions that would start later than this are skipped and count as slower in "
            "percentiles. Without a rate, late ones are only counted."
        ),
        source=tr("PostgreSQL manual, pgbench --latency-limit"),
        label=tr("Latency li&mit:"),
        placeholder=tr("left out"),
        fact=tr("latency limit, ms"),
        condition="rate",
    ),
)

_AS_ABOVE: Final[dict[str, Any]] = {"help": "", "source": "", "placeholder": tr("as above"), "choices": {}}
_OF_PHASES: Final[dict[str, dict[str, Any]]] = {
    "script": {
        "label": tr("Script:"),
        "help": tr(
            "A built-in pgbench script. Script files and mixes per phase can only be set in the campaign "
            "file; pgFooting keeps them unchanged here."
        ),
        "source": tr("PostgreSQL manual, pgbench"),
    },
    "transactions": {"label": tr("Or transactions of each client:")},
}
"""Columns of the workload's fields that differ in a phase."""

PHASE_FIELDS: Final = (
    CampaignField("name", Name(), _PHASE_NAME, label=tr("Name of the phase:")),
    CampaignField("times", IntKind(1, 100), _TIMES, label=tr("Repetitions:"), placeholder="1"),
    CampaignField(
        "counts",
        BoolKind(),
        tr("Whether its figures are compared."),
        label=tr("Its figures are compared"),
        help=tr(
            "Untick it for a phase that only warms up: it is measured, kept and shown, but not compared."
        ),
    ),
    *(
        replace(field, **(_AS_ABOVE | _OF_PHASES.get(field.name, {})))
        for field in _ONE_PHASE_FIELDS
        if field.attribute in WorkloadPhase.__dataclass_fields__
    ),
    CampaignField(
        "rate",
        RateKind(_RATES),
        _RATE,
        label=tr("Rate (TPS), or a share of an earlier phase:"),
        placeholder=tr("as above, or 70 % of reads"),
        help=tr(
            "Target rate: a number, or a share of what an earlier phase of the same run reached, such as 70 "
            "% of reads, with the name of that phase."
        ),
    ),
    CampaignField(
        "maintenance",
        WorkNames(_BETWEEN_PHASES),
        tr("Work done before it, once for all its repetitions."),
        label=tr("Before the phase:"),
        help=tr("Done once before the phase, in the order ticked."),
    ),
    CampaignField(
        "background",
        EnumKind(_BESIDE_PHASES),
        tr("Work done in parallel for as long as it lasts."),
        label=tr("Beside the phase:"),
        placeholder=tr("nothing"),
        help=tr(
            "Runs in parallel with the phase: base backups (read and discarded), a scrub, or periodic "
            "snapshots (removed afterwards). Scrub and snapshots need spare disks with btrfs or ZFS."
        ),
        source=tr("PostgreSQL manual, pg_basebackup"),
    ),
    CampaignField(
        "every",
        WholeSeconds(1, 86_400),
        tr("With snapshots: the interval; the first is taken when the phase starts."),
        attribute="every_s",
        label=tr("Snapshot interval:"),
        placeholder=tr("5 min"),
    ),
    CampaignField(
        "max_rate",
        SizeKind(32 * KIB, GIB),
        tr("With pg_basebackup: its maximum read rate in bytes per second; default: unlimited."),
        attribute="max_rate_bytes",
        label=tr("Base backup read limit per second:"),
        placeholder=tr("unlimited, or 50 MiB"),
        help=tr(
            "Limits base backups to 32 KiB to 1 GiB per second (--max-rate). Default: as fast as disk and "
            "server allow."
        ),
        source=tr("PostgreSQL manual, pg_basebackup"),
    ),
)
"""Keys of one phase; missing ones are as in the workload."""

PHASES: Final = Phases(PHASE_FIELDS)

WORKLOAD_FIELDS: Final = (
    *_ONE_PHASE_FIELDS,
    CampaignField(
        "phase",
        PHASES,
        tr("Phases measured one after the other in each run; default: one phase."),
        attribute="phases",
        condition="phases",
        help=tr(
            "A run can measure several phases on the same data, such as select, TPC-B-like, select again. "
            "All configurations have the same phases, and each phase is compared separately."
        ),
        source="Lentfer, 2009",
    ),
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
        return tr("Move it to the top of the file, before the first [table].")
    tables = SECTIONS | {f"target.{target.kind}": target.fields for target in TARGETS}
    having = [table for table, fields in tables.items() if any(field.name == key for field in fields)]
    return (
        tr("It belongs in {tables}.").format(tables=" or ".join(f"[{table}]" for table in having))
        if having
        else ""
    )
