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
_SEEDS = tr("Random seeds, one per repeat in turn, the same for every configuration.")
_ORDER_SEED = tr("With a random order: the number that it is drawn with.")
_BASELINE = tr("Ask each storage with fio and pg_test_fsync what it can do, before the first run on it.")
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
_CHECKSUMS = tr("Data checksums on or off.")
_SETTINGS = tr("Server settings over the preset, as in postgresql.conf.")
_SCALE = tr("Instead of a size: pgbench's scale factor, about 15 MiB each.")
_RATE = tr("Transactions per second that arrive, kept up with or not; left out: as many as go.")

CAMPAIGN_FIELDS: Final = (
    CampaignField(
        "name",
        Name(),
        _NAME,
        label=tr("Name of the &campaign:"),
        help=tr("What the campaign is called in the library. Left empty, what it compares."),
    ),
    CampaignField(
        "repeats",
        IntKind(1, 1000),
        tr("Runs of each configuration, interleaved; from three on there is a verdict."),
        help=tr(
            "Runs of each configuration, interleaved in rounds. The unit of a verdict is the run; from three "
            "on there is one, and more show smaller differences. Left out: 3, or 5 from three "
            "configurations on, because several comparisons ask for more."
        ),
        source="Kalibera & Jones, 2013",
        label=tr("Re&peats of each configuration:"),
    ),
    CampaignField(
        "design",
        EnumKind(tuple(Design), Design),
        tr("Whether all configurations are run as often, or only those that may still be the fastest."),
        help=tr(
            "Fixed: every configuration is run as often, and each difference gets its interval; take this "
            "for what you publish. Sequential: after each round, from the third on, what can hardly be the "
            "fastest any more is left out and the others go on; how often that errs is simulated. It needs "
            "two configurations with the same workload and no rate."
        ),
        source="Kim & Nelson, 2001",
        label=tr("How often each is run:"),
        choices={
            Design.FIXED: tr("Every configuration as often"),
            Design.SEQUENTIAL: tr("Less often what cannot win any more"),
        },
    ),
    CampaignField(
        "precision",
        FloatKind(0.1, 50),
        tr("With a sequential design: the difference, in percent, below which nobody needs a winner."),
        help=tr(
            "With a sequential design: as soon as all that are left are closer together than this, in "
            "percent, nobody needs to know which of them is the fastest, and the campaign ends. Left empty, "
            "it goes on until one is left or the rounds are over."
        ),
        label=tr("Closer than (%) is as fast:"),
        placeholder=tr("only one is left"),
    ),
    CampaignField("seeds", ListOf(IntKind(0, 2**32 - 1), 1000), _SEEDS),
    CampaignField(
        "order",
        EnumKind(tuple(RunOrder), RunOrder),
        tr(
            "In which order the runs follow each other: complete rounds, each configuration once in every "
            "one."
        ),
        help=tr(
            "Every round holds each configuration once. In random order nothing that comes round "
            "regularly meets always the same ones, and who follows whom is spread evenly. AB BA is the "
            "same each time: it cancels a slow drift, but every configuration keeps its neighbours."
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
        tr("At most so many runs that others disturbed are measured again."),
        help=tr(
            "Whether a run was disturbed is told from what others did meanwhile (CPU, steal, swap, heat, "
            "trims), never from its speed. So many runs may be measured again, at the end of their round. "
            "All stay in the library; a verdict leaves disturbed ones out where enough others remain."
        ),
        label=tr("Disturbed runs a&gain, at most:"),
        placeholder=tr("none"),
    ),
    CampaignField(
        "time_budget",
        WholeSeconds(60, 30 * 86_400),
        tr("No run is begun that would not end within this time from the start, as far as was seen."),
        attribute="time_budget_s",
        help=tr(
            "No run is begun that would not end within this time, judged by the runs so far; once a round "
            "is complete only whole rounds are begun. What is missing then can go on another time, with the "
            "same budget again."
        ),
        label=tr("Time b&udget:"),
        placeholder=tr("no limit"),
    ),
    CampaignField(
        "zfs_arc_max", BytesOrNone(SMALLEST_ARC_BYTES, 16 * TIB), _ARC_MAX, attribute="zfs_arc_max_bytes"
    ),
    CampaignField("remarks", SENTENCES, _REMARKS),
    CampaignField(
        "question", Name(LONGEST_SENTENCE), tr("The question that the result of this campaign begins with.")
    ),
    CampaignField("figures", ANSWERS, tr("The figures of a run that answer the question of this campaign.")),
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
                    "To measure another disk, name a folder on a filesystem of that disk. Left empty, a "
                    "folder of pgFooting's own is taken, on the disk of your home."
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
                placeholder=tr("as much as the data needs"),
                help=tr(
                    "Data and WAL together may take at most this much memory. A run that would exceed it is "
                    "ended and says so."
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
                placeholder=tr("nobody knows"),
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
                placeholder=tr("not asked"),
                help=tr(
                    "The name that your own ssh knows: a host, an alias of ~/.ssh/config, user@host. It "
                    "needs a key that ssh has without asking. A small program is sent over the connection, "
                    "writes nothing there and ends with it; CPU, memory and disks are then those of the "
                    "server's machine."
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
        tr("The newest one found, a major version, or the folder of the programs."),
        read_back=ReadBackBy.SERVER,
        label=tr("&PostgreSQL:"),
        help=tr(
            "pgFooting starts a server of its own with these programs, on a private socket and without TCP. "
            "A server that runs here already is not touched."
        ),
    ),
    CampaignField(
        "preset",
        EnumKind(tuple(PRESETS)),
        tr("Where the server settings come from before your own ones."),
        read_back=ReadBackBy.SERVER,
        label=tr("S&ettings from:"),
        choices={each.id: each.label for each in PRESETS.values()},
        help=tr(
            "A preset is a list of settings with reasons. Configurations of a campaign get the same values, "
            "made to fit the smallest place, so that only what you change differs."
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
            "Each page carries a checksum that is verified when it is read. Costs some CPU and, with hint "
            "bits, some WAL; choose what your production has."
        ),
        source=tr("PostgreSQL manual, initdb"),
    ),
    CampaignField(
        "settings",
        SettingsTable(),
        _SETTINGS,
        read_back=ReadBackBy.SERVER,
        label=tr("Yo&ur own settings, over those:"),
        placeholder="work_mem = 64MB\nwal_compression = on",
        help=tr(
            "One setting a line, as in postgresql.conf. The server's own program checks names and values "
            "before the start."
        ),
        source=tr("PostgreSQL manual, 19.1"),
    ),
)

_PHASE_NAME = tr("What you call this phase.")
_TIMES = tr("How often it is run, one time after the other.")
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
            "TPC-B-like updates three tables and inserts into a fourth in each transaction: it commits all "
            "the time and so shows what flushes cost. Select-only shows reads alone."
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
            "Small data fits into every cache and shows commits; data twice as large as the memory has to be "
            "read from the disks. Medium lies between."
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
        tr(
            "How far the rows of the data can be compressed: 2 is 2:1; left out: pgbench's, which are mostly "
            "blanks."
        ),
        help=tr(
            "Matters where a filesystem compresses: pgbench's own rows are mostly blanks and shrink to about "
            "a thirtieth, your data will not. Here rows are random bytes and zeros in the stated proportion "
            "(zstd -3 over 128 KiB, read back after loading), as large as pgbench's, the same for all. At "
            "1.4:1 only headers and keys shrink. Own scripts find filler as bytea."
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
        tr("Whether the data is loaded where it is measured, or made once and copied there for each run."),
        help=tr(
            "Loaded: pgbench makes the data on the storage before every run; how long rows, keys and vacuum "
            "take is compared too. Copied: it is made once, kept on a disk that is not measured, and copied "
            "before every run, several times as fast. The two are different states of a filesystem: compare "
            "runs of one kind."
        ),
        label=tr("Data se&t:"),
        choices={
            DataSet.LOADED: tr("Loaded before each run"),
            DataSet.COPIED: tr("Made once, copied before each run"),
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
            "Connections that work at the same time. More clients hide the latency of flushes, because "
            "commits share them, until the CPU or the disks are full."
        ),
        label=tr("C&lients:"),
        condition="clients",
    ),
    CampaignField(
        "threads",
        IntKind(1, 10_000),
        tr("Worker threads of pgbench, at most as many as clients; left out: half the CPUs."),
        help=tr(
            "Threads of pgbench itself. Left empty, half of the CPUs: enough to drive the server and not so "
            "many that they take its CPUs."
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
            "Length of the measured phase. Half a minute is a first look; for a verdict about disks take 15 "
            "minutes and more, so that checkpoints fall into it."
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
        tr("Length of the warm-up before the measured phase; it does not count."),
        attribute="warmup_s",
        help=tr(
            "Runs before the measured phase and does not count: caches fill, and the first checkpoint's full "
            "pages are written. With cold caches there is none: it would fill them."
        ),
        label=tr("&Warm-up:"),
        placeholder="10s",
        fact=tr("warm-up"),
        condition="duration",
    ),
    CampaignField(
        "caches",
        EnumKind(tuple(Caches), Caches),
        tr("Whether the caches hold what loading and warm-up left in them, or nothing of the data."),
        help=tr(
            "Warm: what loading and warm-up left in shared_buffers and in the cache of the operating system. "
            "Cold: before each run the server is stopped, the data leaves those caches, and the server "
            "starts again, so that the first reads come from storage; the run says how much was cached all "
            "the same. Caches below, of a disk, a controller or a host of virtual machines, stay as they are."
        ),
        source="posix_fadvise(2), proc(5) drop_caches",
        label=tr("Cache&s at the start:"),
        shown_as=tr("Caches"),
        choices={
            Caches.WARM: tr("Warm, as loading leaves them"),
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
            "Prepared statements are planned once, as most drivers and poolers do. Simple sends text each "
            "time and measures the parser as well."
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
            "Transactions arrive at this rate, kept up with or not, and latency counts from their arrival. "
            "Who keeps it is not told apart by speed; of who does not the capacity is told. Left empty, each "
            "client sends the next one as soon as it can: percentiles then leave out the waiting of those "
            "who could not start."
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
        tr("With a rate: what would start later than this is skipped; without: late ones are counted."),
        attribute="latency_limit_ms",
        help=tr(
            "With a rate, transactions that would start later than this are skipped, and count as beyond it "
            "in percentiles. Without one, late ones are only counted."
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
            "A built-in script of pgbench. Files and several scripts for one phase are written in the "
            "campaign file, and kept here as they are."
        ),
        "source": tr("PostgreSQL manual, pgbench"),
    },
    "transactions": {"label": tr("Or transactions of each client:")},
}
"""Columns of the workload's fields that differ in a phase."""

PHASE_FIELDS: Final = (
    CampaignField("name", Name(), _PHASE_NAME, label=tr("Name of the phase:")),
    CampaignField("times", IntKind(1, 100), _TIMES, label=tr("How often, in a row:"), placeholder="1"),
    CampaignField(
        "counts",
        BoolKind(),
        tr("Whether its figures are compared."),
        label=tr("Its figures are compared"),
        help=tr(
            "What is not compared is measured, kept and shown all the same, such as one that only warms up."
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
            "Transactions per second that arrive, as a number, or as a share of what an earlier phase of the "
            "same run reached: 70 % of reads, with the name of that phase."
        ),
    ),
    CampaignField(
        "maintenance",
        WorkNames(_BETWEEN_PHASES),
        tr("What is done before it, once for all of its times."),
        label=tr("Before the phase:"),
        help=tr(
            "What is done before the phase, once for all of its times, in the order in which it was ticked."
        ),
    ),
    CampaignField(
        "background",
        EnumKind(_BESIDE_PHASES),
        tr("What is done beside it, for as long as it lasts."),
        label=tr("Beside the phase:"),
        placeholder=tr("nothing"),
        help=tr(
            "What is done beside the phase for as long as it lasts: base backups one after the other, which "
            "are read and thrown away; a scrub; or snapshots at an interval, removed when the phase has "
            "ended. The last two need spare disks with btrfs or ZFS."
        ),
        source=tr("PostgreSQL manual, pg_basebackup"),
    ),
    CampaignField(
        "every",
        WholeSeconds(1, 86_400),
        tr("With snapshots: from one to the next; the first one is made when the phase begins."),
        attribute="every_s",
        label=tr("From one snapshot to the next:"),
        placeholder=tr("5 min"),
    ),
    CampaignField(
        "max_rate",
        SizeKind(32 * KIB, GIB),
        tr("With pg_basebackup: bytes that it reads in a second at most; left out: as many as go."),
        attribute="max_rate_bytes",
        label=tr("Most that a base backup reads in a second:"),
        placeholder=tr("as much as goes, or 50 MiB"),
        help=tr(
            "With base backups: how much they read in a second at most, from 32 KiB to 1 GiB (--max-rate). "
            "Left empty, they read as fast as disk and server allow."
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
        tr("Several phases, measured one after the other in each run; left out: one phase."),
        attribute="phases",
        condition="phases",
        help=tr(
            "A run may measure several phases, one after the other on the same data: selects, then "
            "TPC-B-like, then selects again. Each has figures of its own and is compared with the same phase "
            "of other configurations. All configurations have the same phases."
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
        return tr("It belongs at the top of the file, before the first [table].")
    tables = SECTIONS | {f"target.{target.kind}": target.fields for target in TARGETS}
    having = [table for table, fields in tables.items() if any(field.name == key for field in fields)]
    return (
        tr("It belongs in {tables}.").format(tables=" or ".join(f"[{table}]" for table in having))
        if having
        else ""
    )
