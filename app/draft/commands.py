"""List the commands that a campaign will execute, from the builders that also execute them. Pure.

Names of folders are random and not known yet; they are written as ``pgfooting-XXXXXXXX`` and the like.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from app.domain.campaign.configuration import (
    Caches,
    Campaign,
    DataSet,
    DiskTarget,
    MemoryTarget,
    RateShare,
    ServerTarget,
    Workload,
    WorkloadPhase,
)
from app.domain.campaign.phases import (
    PG_BASEBACKUP,
    PhaseTurn,
    all_scripts,
    background,
    filesystems_of,
    script_files,
    turns_of,
    warmed_workload,
    workload_of,
)
from app.domain.disk_answers import Disk
from app.domain.errors import FootingError
from app.domain.filesystems import FILESYSTEMS
from app.domain.maintenance import DoneBy, Maintenance, maintenance
from app.domain.quoting import shell_line
from app.domain.storage_plan.plan import PARTITION_NAME_PREFIX, Role, StoragePlan
from app.domain.text import format_duration, number_text, titled, tr
from app.execution.pgbench import LOAD_SCRIPT, LOG_PREFIX
from app.execution.resolve import ResolvedConfiguration
from app.hosts.folders.targets import SOCKET_PLACES, private_places
from app.postgres.base_backup import PROGRAM, base_backup_argv
from app.postgres.configuration_text import (
    Tablespaces,
    bench_statements,
    format_configuration,
    initdb_arguments,
    roles_of,
)
from app.postgres.data_files import OWN_FILE
from app.postgres.existing.address import own_connection
from app.postgres.existing.own_database import MARK, OWN_DATABASE
from app.postgres.pgbench.argv import (
    BenchmarkRequest,
    Connection,
    PgbenchProgram,
    TransactionLog,
    benchmark_argv,
    loading_argvs,
    warmup_workload,
)
from app.postgres.pgbench.scale import load_script, ratio_words
from app.postgres.pgbench.script_demands import wants_superuser
from app.postgres.pgbench.transaction_log import FULL_LOG_TPS, sampling_rate
from app.postgres.settings import quote_value
from app.storage.layout.commands import MOUNT_NAMES, build_steps
from app.storage.layout.commands_maintenance import maintenance_command
from app.storage.layout.conditions import MountIs
from app.storage.layout.disk_target import storage_plan
from app.storage.layout.partitions import Names, PlannedDevice
from app.storage.layout.steps import Command, Step, describe

# Preview the commands that create filesystems, from the builders that also execute them. Pure.
#
# Identifiers are random and not known yet. The helper's own list is authoritative
# (`app.draft.machine_answers`); this one is used if the helper cannot be asked, and updates on the page with
# each choice.


FOLDER: Final = "/run/pgfooting/SESSION"
_SESSION: Final = uuid.UUID(int=0)
_UUID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_MAKING: Final = frozenset(
    ("mdadm", "mount", "chattr", *(program.name for spec in FILESYSTEMS for program in spec.programs))
)
"""Programs with commands that show the layout; partitioning and waiting appear only in the review."""


def plan_of(target: DiskTarget, disks: Sequence[Disk], data_bytes: int) -> StoragePlan | None:
    """Return the plan of a target with these disks; None if impossible (reported as a problem)."""
    try:
        return storage_plan(target, disks, data_bytes)
    except FootingError:
        return None


def devices_of(plan: StoragePlan, disks: Sequence[Disk]) -> Mapping[str, PlannedDevice]:
    """Return the plan's disks as this machine has them now."""
    found = {disk.identity.key(): PlannedDevice(disk.path, disk.logical_block_bytes) for disk in disks}
    return {identity.key(): found[identity.key()] for _, identity in plan.members()}


def all_lines(plan: StoragePlan, disks: Sequence[Disk]) -> tuple[str, ...]:
    """Return every step of creating a plan as a line."""
    return tuple(_line(step) for step in _steps(plan, disks))


def making_lines(plan: StoragePlan, disks: Sequence[Disk]) -> tuple[str, ...]:
    """Return the commands that create arrays, pools and filesystems and mount them."""
    return tuple(
        _line(step)
        for step in _steps(plan, disks)
        if isinstance(step, Command) and step.argv[0].rpartition("/")[2] in _MAKING
    )


def maintenance_lines(target: DiskTarget, kind: Maintenance) -> tuple[str, ...]:
    """Return the commands of a maintenance by root."""
    found = []
    for role, group in {Role.DATA: target.data, **target.further}.items():
        mounted = MountIs(f"{FOLDER}/{MOUNT_NAMES[role]}", (f"{PARTITION_NAME_PREFIX}{role.value}-SESSION",))
        command = maintenance_command(kind, group.filesystem, mounted, "UUID", "pgfooting-snapshot-XXXX")
        if command is not None:
            found.append(shell_line(command.argv))
    return tuple(found)


def _steps(plan: StoragePlan, disks: Sequence[Disk]) -> tuple[Step, ...]:
    return build_steps(plan, devices_of(plan, disks), Names(_SESSION), FOLDER)


def _line(step: Step) -> str:
    line = _UUID.sub("UUID", describe(step))
    return line.replace(_SESSION.hex[:16], "SESSION").replace(_SESSION.hex[:10], "SESSION")


RANDOM_NAMES: Final = ("pgfooting-XXXXXXXX", "pgfooting-YYYYYYYY", "pgfooting-ZZZZZZZZ")
"""Placeholders for names that `app.hosts.folders.descriptors.own_name` will create."""


class LineAction(StrEnum):
    """Kind of a line of the list."""

    PROGRAM = "program"
    ROOT = "root"
    FILE = "file"
    SQL = "sql"
    REMOVE = "remove"


@dataclass(frozen=True, slots=True)
class CommandLine:
    """One planned action.

    Attributes:
        action: its kind.
        text: a shell command, the content of a file, a statement, or paths.
        comment: its purpose.
        file: path, if the text is the content of a file; else empty.
    """

    action: LineAction
    text: str
    comment: str
    file: str = ""


@dataclass(frozen=True, slots=True)
class PlannedFolders:
    """Folders of a run.

    Attributes:
        root: in the target; contains the data directory.
        socket: of the server's socket.
        private: for logs and scripts.
        wal: of pg_wal on separate disks; empty if it is in the data directory.
        tablespaces: on separate disks.
    """

    root: str
    socket: str
    private: str
    wal: str = ""
    tablespaces: Tablespaces = field(default_factory=Tablespaces)

    @property
    def contents(self) -> tuple[str, ...]:
        """Every folder that the server writes to, the data directory first."""
        return (self.data, *filter(None, [self.wal]), *self.tablespaces.folders)

    @property
    def data(self) -> str:
        """The data directory."""
        return f"{self.root}/data"


def run_folders(resolved: ResolvedConfiguration) -> PlannedFolders:
    """Return the folders of a run; checks which exist, creates nothing."""
    if resolved.target.plan is not None:  # mounts of the helper's session
        wal = f"{FOLDER}/wal/pg_wal" if resolved.target.plan.wal else ""
        spaces = Tablespaces(
            tuple(
                (role, f"{FOLDER}/{role.value}/tablespace")
                for role in roles_of(resolved.configuration.target)
            )
        )
        return PlannedFolders(f"{FOLDER}/storage", f"{FOLDER}/private", f"{FOLDER}/private", wal, spaces)
    places = (resolved.target.path, SOCKET_PLACES[0], next(iter(private_places()), ""))
    root, socket, private = (f"{place}/{name}" for place, name in zip(places, RANDOM_NAMES, strict=True))
    return PlannedFolders(root, socket, private)


def run_commands(
    campaign: Campaign, resolved: ResolvedConfiguration, folders: PlannedFolders
) -> tuple[CommandLine, ...]:
    """Return the actions of the first run of a configuration, in order."""
    target = resolved.configuration.target
    if isinstance(target, ServerTarget):
        return _on_server(campaign, resolved, folders, target)
    installation, configuration = resolved.installation, resolved.configuration
    pgbench = PgbenchProgram(installation.program("pgbench"), installation.major)
    connection = Connection(folders.socket)
    initdb = initdb_arguments(
        folders.data,
        installation.major,
        checksums=configuration.postgresql.checksums,
        wal_directory=folders.wal,
    )
    workload, seed = configuration.workload, campaign.seeds[0]
    superuser = wants_superuser(all_scripts(workload))
    made = _program(tr("Create the data directory"), installation.program("initdb"), *initdb)
    started = (
        _program(tr("Flush it to disk"), "sync", "--file-system", *folders.contents),
        CommandLine(
            LineAction.FILE,
            format_configuration(resolved.settings, folders.socket),
            titled(tr("server settings")),
            f"{folders.data}/{OWN_FILE}",
        ),
        _program(tr("Start the server"), installation.program("postgres"), "-D", folders.data),
    )
    loaded = (
        CommandLine(
            LineAction.SQL,
            ";\n   ".join(
                each.text for each in bench_statements(superuser=superuser, tablespaces=folders.tablespaces)
            ),
            _bench_comment(superuser=superuser),
        ),
        *_loading(resolved, folders, pgbench, connection),
    )
    if workload.data_set is DataSet.COPIED:
        lines = [*map(_for_the_template, (made, *loaded)), _copying(folders), *started]
    else:
        lines = [made, *started, *loaded]
    lines.append(
        CommandLine(LineAction.SQL, "CHECKPOINT", tr("Checkpoint: write dirty pages before measuring"))
    )
    if workload.caches is Caches.COLD:
        lines += _cold_lines(resolved, folders)
    lines += _measuring(resolved, folders, pgbench, connection, seed)
    removed = "\n".join(dict.fromkeys((folders.root, folders.socket, folders.private)))
    lines.append(
        CommandLine(
            LineAction.REMOVE, removed, tr("Stop the server immediately and remove everything created")
        )
    )
    return tuple(lines)


def _on_server(
    campaign: Campaign, resolved: ResolvedConfiguration, folders: PlannedFolders, target: ServerTarget
) -> tuple[CommandLine, ...]:
    """Return the actions on a server that already runs: SQL in one database, and pgbench from here."""
    installation = resolved.installation
    pgbench = PgbenchProgram(installation.program("pgbench"), installation.major)
    bare = own_connection(target.connection, OWN_DATABASE)
    connection = Connection("", conninfo=bare)
    settings = [
        f"ALTER DATABASE {OWN_DATABASE} SET {name} TO {quote_value(value)}"
        for name, value in resolved.configuration.postgresql.settings
    ]
    made = [f"CREATE DATABASE {OWN_DATABASE}", f"COMMENT ON DATABASE {OWN_DATABASE} IS '{MARK}'", *settings]
    return (
        CommandLine(LineAction.SQL, ";\n   ".join(made), tr("Create pgFooting's own database there")),
        *_loading(resolved, folders, pgbench, connection),
        CommandLine(LineAction.SQL, "CHECKPOINT", tr("Checkpoint, if the role is allowed to")),
        *_measuring(resolved, folders, pgbench, connection, campaign.seeds[0]),
        CommandLine(
            LineAction.SQL, f"DROP DATABASE {OWN_DATABASE}", tr("Drop it if name, owner and comment match")
        ),
        CommandLine(LineAction.REMOVE, folders.private, tr("Remove everything created here")),
    )


def _for_the_template(line: CommandLine) -> CommandLine:
    sentence = tr("{what} (once, in the template's folder, if none exists)").format(what=line.comment)
    return replace(line, comment=sentence)


def _copying(folders: PlannedFolders) -> CommandLine:
    what = tr("read and write every file of the template, then compare names, sizes and an overall digest")
    return CommandLine(LineAction.FILE, what, tr("Copy the data set"), folders.data)


def _measuring(
    resolved: ResolvedConfiguration,
    folders: PlannedFolders,
    pgbench: PgbenchProgram,
    connection: Connection,
    seed: int,
) -> Iterator[CommandLine]:
    """Yield the warm-up and every phase, with the actions before it."""
    workload = resolved.configuration.workload

    def line(comment: str, does: Workload, request: BenchmarkRequest) -> CommandLine:
        return _program(comment, *benchmark_argv(pgbench, connection, does, request))

    if workload.warmup_s:
        warmed = warmed_workload(workload)
        threads = _threads(resolved, next(iter(workload.phases), None))
        request = _request(resolved, folders, warmed, seed + 1, threads)
        yield line(tr("Warm up; not counted"), warmup_workload(warmed), request)
    if not workload.phases:
        log = TransactionLog(f"{folders.private}/{LOG_PREFIX}", sampling_rate(workload))
        request = _request(resolved, folders, workload, seed, resolved.threads, log)
        yield line(_measure_comment(resolved), workload, request)
    for turn in turns_of(workload):
        phase = turn.phase
        does = workload_of(workload, phase)
        if turn.time == 1:
            yield from _maintenance(resolved, phase)
        number, own_seed = ("", seed) if turn.is_own else (turn.number, seed + 1 + turn.number)
        log = TransactionLog(f"{folders.private}/{LOG_PREFIX}{number}", sampling_rate(does))
        request = _request(resolved, folders, does, own_seed, _threads(resolved, phase), log)
        yield from _beside(resolved, folders, phase)
        yield line(_phase_comment(turn), does, request)


def _maintenance(resolved: ResolvedConfiguration, phase: WorkloadPhase) -> Iterator[CommandLine]:
    comment, target = tr("Before {phase}").format(phase=phase.name), resolved.configuration.target
    for kind in map(maintenance, phase.maintenance):
        if kind.done_by is not DoneBy.ROOT:
            yield CommandLine(LineAction.SQL, kind.statement, comment)
        elif isinstance(target, DiskTarget):
            for text in maintenance_lines(target, kind):
                yield CommandLine(LineAction.ROOT, text, comment)


def _beside(
    resolved: ResolvedConfiguration, folders: PlannedFolders, phase: WorkloadPhase
) -> Iterator[CommandLine]:
    """Yield the actions parallel to a phase, for its duration."""
    if phase.background is None:
        return
    work, target = background(phase.background), resolved.configuration.target
    comment = tr("During {phase}, repeated without a pause")
    if phase.every_s is not None:
        comment = tr("During {phase}, every {every}")
    sentence = comment.format(phase=phase.name, every=format_duration(phase.every_s or 0))
    if work is PG_BASEBACKUP:
        program = resolved.installation.program(PROGRAM)
        argv = base_backup_argv(program, Connection(folders.socket), phase.max_rate_bytes)
        yield _program(tr("{what}, output discarded").format(what=sentence), *argv)
    elif isinstance(target, DiskTarget):
        kind = work.kind_on(filesystems_of(target))
        for text in maintenance_lines(target, kind) if kind is not None else ():
            yield CommandLine(LineAction.ROOT, text, sentence)


def _phase_comment(turn: PhaseTurn) -> str:
    sentence = tr("Measure: {phase}") if turn.phase.counts else tr("Measure, not compared: {phase}")
    words = sentence.format(phase=turn.label)
    share = turn.phase.rate
    if not isinstance(share, RateShare):
        return words
    rate = tr("at {percent:g} % of the TPS of {of}, set with --rate=")
    return f"{words}, {rate.format(percent=share.percent, of=share.of)}"


def _threads(resolved: ResolvedConfiguration, phase: WorkloadPhase | None) -> int:
    return resolved.threads if phase is None else resolved.phase_threads[phase.name]


def _cold_lines(resolved: ResolvedConfiguration, folders: PlannedFolders) -> list[CommandLine]:
    """Return how caches are emptied before the measured phase."""
    comment = tr("Cold caches: stop the server, write dirty data and drop its files from the cache")
    lines = [_program(comment, "sync", "--file-system", *folders.contents)]
    if resolved.target.plan is not None:
        comment = tr("Root drops all clean caches of the machine")
        lines.append(CommandLine(LineAction.ROOT, "echo 3 > /proc/sys/vm/drop_caches", comment))
    comment = tr("Start the server")
    return [*lines, _program(comment, resolved.installation.program("postgres"), "-D", folders.data)]


def removed_folders(resolved: ResolvedConfiguration, folders: PlannedFolders) -> tuple[str, ...]:
    """Return everything that each run of a configuration creates and removes."""
    if isinstance(resolved.configuration.target, ServerTarget):
        return (
            tr("the database {name}, on the server").format(name=OWN_DATABASE),
            tr("{path} (logs and scripts)").format(path=folders.private),
        )
    if resolved.target.plan is not None:
        return (
            tr("{root} (data directory, on the spare disks)").format(root=folders.root),
            tr("{path} (socket, logs and scripts, in memory)").format(path=folders.private),
        )
    where = (
        tr("{root} (data directory, in memory)")
        if isinstance(resolved.configuration.target, MemoryTarget)
        else tr("{root} (data directory)")
    )
    return (
        where.format(root=folders.root),
        tr("{path} (the server's socket)").format(path=folders.socket),
        tr("{path} (logs and scripts)").format(path=folders.private),
    )


def _loading(
    resolved: ResolvedConfiguration, folders: PlannedFolders, pgbench: PgbenchProgram, connection: Connection
) -> Iterator[CommandLine]:
    """Yield the commands that load the data, and the script for rows that are not pgbench's own."""
    ratio, scale = resolved.configuration.workload.compressibility, resolved.scale.scale
    comments: tuple[str, ...] = (tr("Load the data"),)
    path = None
    if ratio is not None:
        path = f"{folders.private}/{LOAD_SCRIPT}"
        sentence = tr("Rows that compress {ratio}").format(ratio=ratio_words(ratio))
        yield CommandLine(LineAction.FILE, load_script(ratio), sentence, path)
        comments = (tr("Create the tables"), tr("Load the data"), tr("Vacuum and create primary keys"))
    spaces = roles_of(resolved.configuration.target)
    argvs = loading_argvs(pgbench, connection, scale, path, spaces)
    yield from (_program(comment, *argv) for comment, argv in zip(comments, argvs, strict=True))


def _request(
    resolved: ResolvedConfiguration,
    folders: PlannedFolders,
    workload: Workload,
    seed: int,
    threads: int,
    log: TransactionLog | None = None,
) -> BenchmarkRequest:
    files = script_files(resolved.configuration.workload)
    own = (script for script in workload.scripts if script.builtin is None)
    paths = tuple(f"{folders.private}/{files[script]}" for script in own)
    return BenchmarkRequest(seed, resolved.scale.scale, threads, paths, log)


def _measure_comment(resolved: ResolvedConfiguration) -> str:
    if not resolved.configuration.workload.warmup_s:
        return tr("Measure")
    sentence = tr("Measure; if the warm-up exceeds {tps} TPS, only a sample of transactions is logged")
    return sentence.format(tps=number_text(FULL_LOG_TPS, ","))


def _bench_comment(*, superuser: bool) -> str:
    if superuser:
        return tr("Create the database, and pgbench's role as a superuser, because its scripts need one")
    return tr("Create the database, and pgbench's role without superuser rights")


def _program(comment: str, *argv: str) -> CommandLine:
    return CommandLine(LineAction.PROGRAM, shell_line(argv), comment)
