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
from app.campaign_file.phases import Phases, RateKind, SettingsTable, WorkNames
from app.campaign_file.recipes.head import ANSWERS, LONGEST_SENTENCE, SENTENCES
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
from app.domain.campaign.matrix import Design, RunOrder
from app.domain.campaign.phases import BACKGROUND
from app.domain.errors import Problem
from app.domain.maintenance import MAINTENANCE, DoneBy
from app.domain.text import GIB, KIB, MIB, TIB, titled, tr
from app.postgres.pgbench.scale import LEAST_RATIO, MOST_RATIO, ratio_words
from app.postgres.presets import PRESETS

MOST_CONFIGURATIONS: Final = 1000
MOST_RUNS: Final = 10_000


def _nothing_wrong(values: Mapping[str, Any]) -> Sequence[Problem]:  # noqa: ARG001 - the keys alone decide
    return ()


def _connection_missing(values: Mapping[str, Any]) -> Sequence[Problem]:
    if "connection" in values:
        return ()
    sentence = tr("is missing; it must be {allowed}.")
    return (Problem(".connection", sentence.format(allowed=ConnectionString().allowed)),)


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


_MANUAL: Final = tr("PostgreSQL manual, {part}")
_NAME = tr("Your name for this campaign or configuration.")
_SEEDS = tr("Random seeds, one per repeat, the same for every configuration.")
_ORDER_SEED = tr("The seed of the random order.")
_BASELINE = tr("Benchmark each storage with fio and pg_test_fsync before the first run on it.")
_ARC_MAX = tr("The ARC limit (zfs_arc_max) that this campaign requires; pgFooting checks but never sets it.")
_REMARKS = tr("Notes on the result, stored in each run and shown when runs are compared.")
_PATH = tr(
    "An existing folder, for example on another disk to measure. Default: pgFooting's own folder in your "
    "home folder."
)
_MEMORY = tr(
    "Limit for data and WAL together. A run that would exceed it is stopped. Default: what the data needs."
)
_CONNECTION = tr(
    "As for psql: host=… port=… user=…, service=… or postgresql://…, with sslmode and sslrootcert for TLS. "
    "Put the password in ~/.pgpass, the service file or PGPASSWORD, never here."
)
_ROOM = tr(
    "Size limit for pgFooting's database there, because SQL cannot report free disk space. Larger data sets "
    "are refused, and a run that grows past the limit is stopped."
)
_SSH = tr(
    "The ssh name of the server's machine; ssh must connect without a prompt. A small read-only program "
    "there reports CPU, memory and disks."
)
_CHECKSUMS = tr(
    "Verifies each page when it is read, at the cost of some CPU and WAL. Use your production setting."
)
_SETTINGS = tr(
    "Server settings that override the preset, as in postgresql.conf. PostgreSQL itself checks them before "
    "the campaign starts."
)
_SCALE = tr("Instead of a size: pgbench's scale factor, about 15 MiB per unit.")
_RATE = tr(
    "Transactions arrive at this rate even if the server falls behind, and latency counts from arrival. "
    "Speed is not compared if the server keeps up. Default: as fast as possible."
)

CAMPAIGN_FIELDS: Final = (
    CampaignField(
        "name",
        Name(),
        _NAME,
        label=tr("&Campaign name:"),
    ),
    CampaignField(
        "repeats",
        IntKind(1, 1000),
        tr(
            "Interleaved runs of each configuration; a verdict needs three. Default: 3, or 5 with three or "
            "more configurations. In a sequential design this is the maximum (default 10)."
        ),
        source="Kalibera & Jones, 2013",
        label=tr("Re&peats per configuration:"),
    ),
    CampaignField(
        "design",
        EnumKind(tuple(Design), Design),
        tr(
            "Fixed gives each the same number of runs, for published results. Sequential drops unlikely "
            "winners from round three on; it needs two configurations with the same workload and no rate."
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
            "Sequential design only: the campaign ends when all remaining configurations are within this "
            "percentage of each other. Default: when one is left."
        ),
        label=tr("Equally fast within (%):"),
        placeholder=tr("no limit"),
    ),
    CampaignField("seeds", ListOf(IntKind(0, 2**32 - 1), 1000), _SEEDS),
    CampaignField(
        "order",
        EnumKind(tuple(RunOrder), RunOrder),
        tr(
            "Each round runs every configuration once. Random order keeps periodic jobs from always hitting "
            "the same one. AB BA cancels slow drift but keeps the same neighbours."
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
        tr(
            "Maximum number of disturbed runs to repeat, each after its round. Speed never makes a run "
            "“disturbed”. The disturbed runs stay in the library."
        ),
        label=tr("Disturbed runs a&gain, at most:"),
        placeholder=tr("none"),
    ),
    CampaignField(
        "time_budget",
        WholeSeconds(60, 30 * 86_400),
        tr(
            "Time limit: a run starts only if it is expected to end in time. After a complete round, only "
            "whole rounds start. You can resume later."
        ),
        attribute="time_budget_s",
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
                fact=tr("maximum memory"),
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
            ),
            CampaignField(
                "room",
                SizeKind(64 * MIB, 1024 * TIB),
                _ROOM,
                attribute="room_bytes",
                label=tr("Limit fo&r the database size:"),
                placeholder=tr("no limit"),
            ),
            CampaignField(
                "ssh",
                SshHost(),
                _SSH,
                label=tr("Observe the machine b&y ssh:"),
                placeholder=tr("not observed"),
            ),
        ),
        _connection_missing,
    ),
)

POSTGRESQL_FIELDS: Final = (
    CampaignField(
        "installation",
        InstallationName(),
        tr(
            "The newest installed version, a major version, or the folder of the programs. pgFooting starts "
            "its own server from it, without TCP, and changes no other server."
        ),
        read_back=ReadBackBy.SERVER,
        label=tr("&PostgreSQL:"),
    ),
    CampaignField(
        "preset",
        EnumKind(tuple(PRESETS)),
        tr(
            "Settings with documented reasons, the same for all configurations and sized for the smallest "
            "target. Your own settings override them."
        ),
        read_back=ReadBackBy.SERVER,
        label=tr("Pr&eset:"),
        choices={each.id: each.label for each in PRESETS.values()},
        source=_MANUAL.format(part="chapter 19"),
    ),
    CampaignField(
        "checksums",
        BoolKind(),
        _CHECKSUMS,
        read_back=ReadBackBy.SERVER,
        label=tr("Data chec&ksums"),
        shown_as=tr("Checksums"),
        source=_MANUAL.format(part="initdb"),
    ),
    CampaignField(
        "settings",
        SettingsTable(),
        _SETTINGS,
        read_back=ReadBackBy.SERVER,
        label=tr("Yo&ur own settings (override the preset):"),
        placeholder="work_mem = 64MB\nwal_compression = on",
        source=_MANUAL.format(part="19.1"),
    ),
)

_PHASE_NAME = tr("Your name for this phase.")
_TIMES = tr("Number of consecutive repetitions.")
_BESIDE_PHASES: Final = tuple(each.name for each in BACKGROUND)
_BETWEEN_PHASES: Final = tuple(each.name for each in MAINTENANCE if each.done_by is not DoneBy.PROGRAM)
_RATES: Final = FloatKind(0.01, 10_000_000)

_ONE_PHASE_FIELDS: Final = (
    CampaignField(
        "script",
        Scripts(),
        tr(
            "A built-in pgbench script, your own file, or a weighted list of both. TPC-B-like shows the cost "
            "of flushes; select-only measures only reads."
        ),
        attribute="scripts",
        label=tr("Script"),
        source=_MANUAL.format(part="pgbench"),
    ),
    CampaignField(
        "size",
        SizeKind(16 * MIB, 100 * TIB, DataSize),
        tr(
            "Small, about 200 MB, stays in memory and shows commit cost. Medium is half the RAM. Large is "
            "twice the RAM and is read from disk. Or give a size."
        ),
        instead_of="scale",
        source="T. Vondra, FOSDEM PgDay 2016",
        label=tr("&Data:"),
        shown_as=titled(tr("data size")),
        placeholder="2 GiB",
        fact=tr("data size"),
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
        tr(
            "2 means rows that compress 2:1 (zstd -3, 128 KiB), for compressing filesystems. Default: "
            "pgbench's own rows, mostly blanks, which compress about 30:1."
        ),
        source="btrfs, ZFS: zstd -3",
        label=tr("Row &compressibility:"),
        words=ratio_words,
        choices={
            "": tr("pgbench's own, mostly blanks"),
            "4": "4:1",
            "2": "2:1",
            "1.4": tr("1.4:1, random values: only headers and keys shrink"),
        },
        is_later=True,
        fact=tr("row compressibility"),
        condition="data",
    ),
    CampaignField(
        "data_set",
        EnumKind(tuple(DataSet), DataSet),
        tr(
            "Loaded before every run, so load times are compared too, or loaded once and copied, which is "
            "much faster. Do not mix them: filesystem states differ."
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
        tr(
            "Concurrent connections. More clients hide flush latency, because commits share flushes, until "
            "CPU or disks are saturated."
        ),
        label=tr("C&lients:"),
        condition="clients",
    ),
    CampaignField(
        "threads",
        IntKind(1, 10_000),
        tr("pgbench's own threads, at most one per client. Default: half of the CPUs."),
        label=tr("pgbench t&hreads:"),
        placeholder=tr("half of the CPUs"),
        condition="clients",
    ),
    CampaignField(
        "duration",
        WholeSeconds(1, 7 * 86_400),
        tr(
            "Length of the measured phase. 30 seconds give a first look. A verdict about disks needs 15 "
            "minutes or more, to include checkpoints."
        ),
        attribute="duration_s",
        instead_of="transactions",
        source=tr("pgFooting's own measurements (15 minutes are three checkpoint cycles)"),
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
        label=titled(tr("transactions per client")),
        placeholder="10000",
        fact=tr("transactions per client"),
        condition="duration",
    ),
    CampaignField(
        "warmup",
        WholeSeconds(0, 86_400),
        tr(
            "Runs before the measured phase and is not counted: fills caches and writes the first full-page "
            "images. Not available with cold caches."
        ),
        attribute="warmup_s",
        label=tr("&Warm-up:"),
        placeholder="10s",
        fact=tr("warm-up"),
        condition="duration",
    ),
    CampaignField(
        "caches",
        EnumKind(tuple(Caches), Caches),
        tr(
            "Warm: as loading and warm-up leave them. Cold: pgFooting restarts the server before each run "
            "and evicts its data from the OS cache. Disk, controller and host caches remain."
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
        tr(
            "Prepared parses each statement once and can reuse its plan, like applications that use "
            "prepared statements. Simple sends text each time, so parsing and planning are measured too."
        ),
        source=_MANUAL.format(part="pgbench"),
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
        source=_MANUAL.format(part="pgbench --rate"),
        label=tr("R&ate (TPS):"),
        shown_as=titled(tr("rate")),
        placeholder=tr("as fast as possible"),
        fact=tr("target rate"),
        condition="rate",
    ),
    CampaignField(
        "latency_limit",
        Milliseconds(0.001, 3_600_000),
        tr(
            "With a rate, transactions that would start later than this are skipped and count as slower in "
            "percentiles. Without a rate, late ones are only counted."
        ),
        attribute="latency_limit_ms",
        source=_MANUAL.format(part="pgbench --latency-limit"),
        label=tr("Latency li&mit:"),
        placeholder=tr("no limit"),
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
        "source": _MANUAL.format(part="pgbench"),
    },
    "transactions": {"label": tr("Or transactions per client:")},
}
"""Columns of the workload's fields that differ in a phase."""

PHASE_FIELDS: Final = (
    CampaignField("name", Name(), _PHASE_NAME, label=tr("Phase name:")),
    CampaignField("times", IntKind(1, 100), _TIMES, label=tr("Repetitions:"), placeholder="1"),
    CampaignField(
        "counts",
        BoolKind(),
        tr(
            "If this is set, the figures of the phase are compared. A warm-up phase is measured, stored and "
            "shown, but not compared."
        ),
        label=tr("Compare its figures"),
    ),
    *(
        replace(field, **(_AS_ABOVE | _OF_PHASES.get(field.name, {})))
        for field in _ONE_PHASE_FIELDS
        if field.attribute in WorkloadPhase.__dataclass_fields__
    ),
    CampaignField(
        "rate",
        RateKind(_RATES),
        tr(
            "Target rate: a number, or a share of an earlier phase's TPS, such as “70 % of reads” for the "
            "phase “reads”."
        ),
        label=tr("Rate (TPS), or a share of an earlier phase:"),
        placeholder=tr("as above, or 70 % of PHASE"),
    ),
    CampaignField(
        "maintenance",
        WorkNames(_BETWEEN_PHASES),
        tr("Runs once before the phase and all its repetitions, in this order."),
        label=tr("Before the phase:"),
    ),
    CampaignField(
        "background",
        EnumKind(_BESIDE_PHASES),
        tr(
            "Runs in parallel with the phase: base backups (read and discarded), a scrub, or periodic "
            "snapshots (removed afterwards). Scrub and snapshots need spare disks with btrfs or ZFS."
        ),
        label=tr("In parallel with the phase:"),
        placeholder=tr("nothing"),
        source=_MANUAL.format(part="pg_basebackup"),
    ),
    CampaignField(
        "every",
        WholeSeconds(1, 86_400),
        tr("The interval between snapshots. The first is taken when the phase starts."),
        attribute="every_s",
        label=tr("Snapshot interval:"),
        placeholder="5 min",
    ),
    CampaignField(
        "max_rate",
        SizeKind(32 * KIB, GIB),
        tr("Limits base backups (--max-rate), from 32 KiB to 1 GiB per second. Default: no limit."),
        attribute="max_rate_bytes",
        label=tr("Base backup read limit per second:"),
        placeholder=tr("no limit"),
        source=_MANUAL.format(part="pg_basebackup"),
    ),
)
"""Keys of one phase; missing ones are as in the workload."""

PHASES: Final = Phases(PHASE_FIELDS)

WORKLOAD_FIELDS: Final = (
    *_ONE_PHASE_FIELDS,
    CampaignField(
        "phase",
        PHASES,
        tr(
            "Phases that each run measures one after the other on the same data, such as select, "
            "TPC-B-like, select again. Each is compared separately. Default: one phase."
        ),
        attribute="phases",
        condition="phases",
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
