"""What a run file says about its run: one description, written and read here and nowhere else.

The keys of table `run` are the fields of `RunMetadata`, those of the objects in it the fields of the other
classes. A field that a file lacks is not known (`typed_json`): files of earlier versions,
imported ones and those of others are read as far as they go.

What a run file says of a server that already ran when its campaign began, and was not started here.

What a run file says of the workload of its run, and of its phases where it has several.

As all metadata: a field that a file lacks is not known (`typed_json`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Self

from app.domain.campaign.configuration import DataSet, FolderTarget, MemoryTarget, ServerTarget
from app.domain.errors import FootingError
from app.domain.io_baseline import IoBaseline
from app.domain.json_value import Json
from app.domain.maintenance import WorkEnd
from app.domain.messages.message import Message, message_from_json, message_to_json
from app.domain.storage_plan.plan import StoragePlan
from app.domain.text import tr
from app.runfile.metadata.typed_json import NOT_KNOWN, Known, NotKnown, read_values

EXISTING_SERVER: Final = "existing-server"
"""Of the mark that says what is not known of such a run's machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerMetadata:
    """The server, as it told itself before the first run; nothing of its machine.

    Attributes:
        host_name: host, or folder of the socket, and port: what a person typed to agree.
        user_name: the role.
        version: such as ``15.14``.
        cluster_name: the setting; empty for none.
        system_identifier: of the cluster; empty where the role may not ask.
        tls: protocol and cipher; empty for none.
        has_monitor: the role sees what other sessions do.
        may_checkpoint: the role may write a checkpoint.
        sessions: of others before the campaign.
        others_tps: transactions a second of others, likewise.
        round_trip_ms: median of the time that an empty statement takes, there and back.
        round_trip_least_ms: the shortest.
        round_trip_most_ms: the longest.
        managed_service: that runs it, see `app.postgres.existing.look`; empty for none that is known.
        room_bytes: what pgFooting's database could take; None where nobody said.
    """

    host_name: str = ""
    user_name: str = ""
    version: str = ""
    cluster_name: str = ""
    system_identifier: str = ""
    tls: str = ""
    has_monitor: bool | None = None
    may_checkpoint: bool | None = None
    sessions: int | None = None
    others_tps: float | None = None
    round_trip_ms: float | None = None
    round_trip_least_ms: float | None = None
    round_trip_most_ms: float | None = None
    managed_service: str = ""
    room_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptMetadata:
    """A script of pgbench: name, relative frequency, the user's own file and its text."""

    label: str = ""
    weight: int = 1
    path: str | None = None
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadMetadata:
    """What pgbench did; fields as in `app.domain.campaign.configuration.Workload`.

    Attributes:
        label: labels of the scripts, joined.
        scripts: each with its text.
        clients: concurrent connections.
        threads: of pgbench, as resolved on that machine.
        duration_s: of the measured phase; None where transactions decide.
        transactions: per client; None where the duration decides.
        warmup_s: 0 for none.
        caches: a `Caches`.
        protocol: a `Protocol`.
        rate_tps: None for a closed loop.
        latency_limit_ms: None for no limit.
        size: class or bytes as the campaign states it; None where it states the scale.
        compressibility: that the loaded rows were to have; None for pgbench's own rows.
        data_set: a `DataSet`, as it was stated; `DataSetMetadata` has what became of it.
        phases: in words, everything that they say, where it has several; not told of one phase.
    """

    label: Known[str] = NOT_KNOWN
    scripts: Known[tuple[ScriptMetadata, ...]] = NOT_KNOWN
    clients: Known[int] = NOT_KNOWN
    threads: Known[int] = NOT_KNOWN
    duration_s: Known[float | None] = NOT_KNOWN
    transactions: Known[int | None] = NOT_KNOWN
    warmup_s: Known[float] = NOT_KNOWN
    caches: Known[str] = NOT_KNOWN
    protocol: Known[str] = NOT_KNOWN
    rate_tps: Known[float | None] = NOT_KNOWN
    latency_limit_ms: Known[float | None] = NOT_KNOWN
    size: Known[str | None] = NOT_KNOWN
    compressibility: Known[float | None] = NOT_KNOWN
    data_set: Known[str] = NOT_KNOWN
    phases: Known[str] = NOT_KNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceMetadata:
    """What was done before a phase.

    Attributes:
        name: in campaign files.
        duration_s: how long it took.
        how: a `app.domain.maintenance.WorkEnd`; files of before have only what was done to its end.
        reason: why it failed; else empty.
    """

    name: str = ""
    duration_s: float = 0.0
    how: str = WorkEnd.DONE.value
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundTurn:
    """One time of what was done beside a phase.

    Attributes:
        started_ms: on the clock of the run.
        ended_ms: likewise.
        how: a `app.domain.maintenance.WorkEnd`; the last one is mostly ended with the phase.
        reason: why it failed; else empty.
    """

    started_ms: int = 0
    ended_ms: int = 0
    how: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundMetadata:
    """What was done beside a phase.

    Attributes:
        name: in campaign files; empty for nothing.
        every_s: from one begin to the next; None for again as soon as it had ended.
        max_rate_bytes: a second, that a base backup read at most; None for no limit.
        turns: every time of it, in order.
    """

    name: str = ""
    every_s: int | None = None
    max_rate_bytes: int | None = None
    turns: tuple[BackgroundTurn, ...] = ()

    @property
    def done(self) -> int:
        """How often it was done to its end."""
        return sum(turn.how == WorkEnd.DONE for turn in self.turns)


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseMetadata:
    """One time of one phase of a workload that has several.

    Attributes:
        number: its place among all of them, from 1.
        name: of the phase.
        time: which time of this phase it is, from 1.
        times: of the phase.
        counts: its figures are compared.
        is_own: the figures of the run as a whole are those of this one: it is the phase `measure`.
        workload: what pgbench did; a rate as the number that it became.
        rate_percent: of what another phase reached, where the rate was stated so; None where it was not.
        rate_of: name of that phase; None likewise.
        transaction_log_one_in: as in `RunMetadata`.
        maintenance: what was done before it.
        background: what was done beside it.
        pgbench: figures as pgbench printed them.
    """

    number: int = 0
    name: str = ""
    time: int = 1
    times: int = 1
    counts: bool = True
    is_own: bool = False
    workload: WorkloadMetadata = WorkloadMetadata()
    rate_percent: Known[float | None] = NOT_KNOWN
    rate_of: Known[str | None] = NOT_KNOWN
    transaction_log_one_in: Known[float] = NOT_KNOWN
    maintenance: tuple[MaintenanceMetadata, ...] = ()
    background: BackgroundMetadata = BackgroundMetadata()
    pgbench: Known[Mapping[str, Json]] = NOT_KNOWN

    @property
    def label(self) -> str:
        """What people call it: the name of the phase, and which time of several it is."""
        if self.times == 1:
            return self.name
        return tr("{name} ({time} of {times})").format(name=self.name, time=self.time, times=self.times)


IMPORTED: Final = "imported"
"""Of a run of others: kind of its mark and target, origin of installation and settings, preset."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptionMetadata:
    """An option of the target's filesystems that is a server setting.

    Attributes:
        key: of the campaign file, below the target.
        setting: of the server.
        value: as in postgresql.conf.
        fate: a `app.domain.campaign.server_options.Fate`.
        note: why it was not applied; empty where it was.
    """

    key: str = ""
    setting: str = ""
    value: str = ""
    fate: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetMetadata:
    """Where the data lay.

    Attributes:
        kind: folder, memory, disks, server, or `IMPORTED`.
        path: of the data; of disks the name that the person gave them.
        given: folder as the campaign states it; None for the default one.
        raid: level, of an array that pgFooting made or an import tells; None for single disks.
        filesystem: id of what pgFooting made.
        plan: what pgFooting made of which disks; None where it made nothing.
        preset: id of the preset of the filesystem of the data.
        wal_preset: of the filesystem of the WAL; None where that has no disks of its own.
        size_bytes: of a target in memory: what may be used at most; None for what the data needs.
        memory_limit_bytes: of PostgreSQL and pgbench together; None for no limit.
        described: what root said that it makes, line by line.
        server_options: options of the filesystems that are server settings, with what became of each.
        server: that already ran; told of such a target only.
    """

    kind: Known[str] = NOT_KNOWN
    path: Known[str] = NOT_KNOWN
    given: Known[str | None] = NOT_KNOWN
    raid: Known[str | None] = NOT_KNOWN
    filesystem: Known[str] = NOT_KNOWN
    plan: Known[StoragePlan | None] = NOT_KNOWN
    preset: Known[str] = NOT_KNOWN
    wal_preset: Known[str | None] = NOT_KNOWN
    size_bytes: Known[int | None] = NOT_KNOWN
    memory_limit_bytes: Known[int | None] = NOT_KNOWN
    described: Known[tuple[str, ...]] = NOT_KNOWN
    server_options: Known[tuple[ServerOptionMetadata, ...]] = NOT_KNOWN
    server: Known[ServerMetadata] = NOT_KNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallationMetadata:
    """Whose programs ran; fields as in `app.postgres.installations.installation.Installation`.

    Attributes:
        version: of the server.
        folder: of the programs.
        origin: how they were found.
        configure: options of the build.
        block_size: of a page, in bytes; None where the build does not tell.
        sha256: of the server's program.
    """

    version: Known[str] = NOT_KNOWN
    folder: Known[str] = NOT_KNOWN
    origin: Known[str] = NOT_KNOWN
    configure: Known[str] = NOT_KNOWN
    block_size: Known[int | None] = NOT_KNOWN
    sha256: Known[str] = NOT_KNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresqlMetadata:
    """How the server was set up.

    Attributes:
        preset: id of the preset of server settings.
        checksums: whether data pages have checksums; None where an import does not tell.
    """

    preset: Known[str] = NOT_KNOWN
    checksums: Known[bool | None] = NOT_KNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMetadata:
    """What pgbench's tables take after loading, as `app.probes.facts.files.StoredBytes` has it.

    Attributes:
        logical_bytes: as they are read.
        disk_bytes: as stat(2) counts them; on btrfs those of the uncompressed data.
        encoded_bytes: of `logical_bytes`, in compressed extents; None where the filesystem does not tell.
    """

    logical_bytes: int = 0
    disk_bytes: int = 0
    encoded_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSetMetadata:
    """How the data set came where it was measured.

    Attributes:
        state: a `app.domain.campaign.configuration.DataSet`, as it really was.
        reason: why it was loaded although it was to be copied; empty otherwise.
        caches: what they held when the server started on a copy: a `CopiedCaches`; empty where it was loaded.
        template: id of what was copied; empty where it was loaded.
        sha256: of the stream that was copied, which is that of the template; likewise.
        files: that were copied.
        size_bytes: of them together.
        copy_s: seconds that reading and writing them took.
        extents: in which the tables lie; None where the filesystem does not tell.
        tables_bytes: as they are read; None where nobody looked.
        tables_disk_bytes: of them on the disk, see `StoredMetadata`.
        tables_encoded_bytes: of them in compressed extents, likewise.
        rows_s: seconds that loading the rows took; None where they were not loaded, or nobody told.
        vacuum_s: of vacuuming and analysing them.
        index_s: of their primary keys.
    """

    state: str = ""
    reason: str = ""
    caches: str = ""
    template: str = ""
    sha256: str = ""
    files: int | None = None
    size_bytes: int | None = None
    copy_s: float | None = None
    extents: int | None = None
    tables_bytes: int | None = None
    tables_disk_bytes: int | None = None
    tables_encoded_bytes: int | None = None
    rows_s: float | None = None
    vacuum_s: float | None = None
    index_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedMetadata:
    """What was still cached of pgbench's tables and indexes after the caches were emptied.

    Attributes:
        data_bytes: of them all.
        cached_bytes: of those, in the cache of the operating system.
        is_bound: what was cached is that or less: of a cache that does not tell whose data it holds (ZFS).
    """

    data_bytes: int = 0
    cached_bytes: int = 0
    is_bound: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CompressionSample:
    """What became of pieces of the loaded tables; `app.probes.facts.files.SampledCompression`.

    Attributes:
        sampled_bytes: of all pieces.
        compressed_bytes: of the same, by zstd -3, each piece of 128 KiB for itself.
        zstd_version: of the library.
    """

    sampled_bytes: int = 0
    compressed_bytes: int = 0
    zstd_version: str = ""

    @property
    def ratio(self) -> float | None:
        """How far they can be compressed, 2.0 for 2:1; None where the file tells no sizes."""
        if self.sampled_bytes <= 0 or self.compressed_bytes <= 0:
            return None
        return self.sampled_bytes / self.compressed_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingMetadata:
    """A server setting; fields as in `app.postgres.settings.Setting`."""

    name: str = ""
    value: str = ""
    why: str = ""
    source: str = ""
    origin: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorMetadata:
    """Why a run failed.

    Attributes:
        code: of the error.
        message: its sentence, in the language of the recording process.
        hint: likewise what helps.
        said: codes and values of those of the two that are root's sentences, by name.
    """

    code: str = ""
    message: str = ""
    hint: str = ""
    said: Mapping[str, Json] = field(default_factory=dict)

    @classmethod
    def of(cls, error: FootingError) -> Self:
        """Return what a run file says of an error."""
        told = {"message": error.message, "hint": error.hint}
        said = {name: message_to_json(each) for name, each in told.items() if isinstance(each, Message)}
        return cls(code=error.code, **told, said=said)

    @property
    def sentences(self) -> tuple[str, str]:
        """Message and hint; root's sentences in the reader's language."""
        return self._sentence("message", self.message), self._sentence("hint", self.hint)

    def _sentence(self, name: str, text: str) -> str:
        try:
            found = message_from_json(self.said[name])
        except (KeyError, ValueError, TypeError, RecursionError):  # the file may come from anybody
            return text
        return found if isinstance(found, Message) else text  # of another version

    @property
    def text(self) -> str:
        """Message and hint in one line."""
        return " ".join(filter(None, self.sentences))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningCommand:
    """What runs at the moment: the phase, the words of the program, and of root's step its number, else 0."""

    phase: str = ""
    argv: tuple[str, ...] = ()
    step: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageStep:
    """How far root is with making or unmaking storage, as `app.domain.step_progress.StepProgress` has it."""

    operation: str = ""
    number: int = 0
    count: int = 0
    text: str = ""
    fraction: float | None = None
    left_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportMetadata:
    """What a run of others was read from: folder, files in it, line of a table, a person's remark."""

    path: str = ""
    files: tuple[str, ...] = ()
    row: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunMetadata:
    """Everything that the table `run` of a run file holds.

    Attributes:
        id: hexadecimal identity.
        name: configuration and repeat, or what a person called it since.
        measured_name: what `name` was before it was renamed.
        campaign: name of the campaign.
        measured_campaign: what `campaign` was before.
        campaign_folder: where its run files were written; the same for runs of one campaign only.
        campaign_file: the campaign's whole text.
        configuration: name of the configuration.
        place: 1-based place of the configuration in the campaign's file.
        number: 1-based place in the order of the campaign.
        repeat: 0-based repeat of the configuration.
        repeats: of each configuration.
        order: how the runs of the campaign follow each other, a `app.domain.campaign.order.RunOrder`.
        order_seed: that a random order was drawn with; None for another.
        remarks: of the campaign: sentences that belong to the result.
        design: how it was settled how often each configuration ran, a `app.domain.campaign.order.Design`.
        rivals: names of the configurations that compete in a sequential campaign, its own among them; empty
            where it competes with none.
        attempt: 1, or more where it was measured again because others disturbed it.
        seed: of pgbench.
        state: a `app.domain.run.RunState`.
        error: why it failed; None where it did not.
        started_epoch_s: wall clock at t_ms = 0, seconds since 1970; None where an import does not tell.
        ended_epoch_s: likewise, of its end.
        program_version: of pgFooting.
        account: whose programs were executed.
        target: where the data lay.
        workload: what pgbench did; where it has several phases, in the one that is `measure`.
        phases: all of them, in order; not told of a run with one phase.
        installation: whose programs ran.
        postgresql: how the server was set up.
        settings: every server setting that was written, with its origin.
        scale: pgbench scale factor; None where an import does not tell.
        data_bytes: of the data set, estimated; None likewise.
        io_baseline: what the storage did by itself before the first run on it; None where nobody asked it.
        data_set: how the data came there; files of before do not tell.
        stored: what the loaded tables take; only where the filesystem is set to compress.
        cached: what was still cached when measuring began; only where the caches were emptied.
        sampled: how far the loaded tables can be compressed; where that was stated, or somebody compresses.
        transaction_log_one_in: 1 = every transaction is in the log, n = one in n.
        tps_one_in: the same where TPS by the second are counted in that log.
        imported: what a run of others was read from.
        running_command: pgbench or root's program while it runs.
        storage_step: how far root was last.
        pgbench: figures as pgbench printed them, with its version.
        figure_definitions: what its stored figures mean, see `app.runfile.summary.DEFINITIONS`.
        tags: that people gave it.
        note: that people wrote.
    """

    id: Known[str] = NOT_KNOWN
    name: Known[str] = NOT_KNOWN
    measured_name: Known[str] = NOT_KNOWN
    campaign: Known[str] = NOT_KNOWN
    measured_campaign: Known[str] = NOT_KNOWN
    campaign_folder: Known[str] = NOT_KNOWN
    campaign_file: Known[str] = NOT_KNOWN
    configuration: Known[str] = NOT_KNOWN
    place: Known[int] = NOT_KNOWN
    number: Known[int] = NOT_KNOWN
    repeat: Known[int] = NOT_KNOWN
    attempt: Known[int] = NOT_KNOWN
    repeats: Known[int] = NOT_KNOWN
    order: Known[str] = NOT_KNOWN
    order_seed: Known[int | None] = NOT_KNOWN
    remarks: Known[tuple[str, ...]] = NOT_KNOWN
    design: Known[str] = NOT_KNOWN
    rivals: Known[tuple[str, ...]] = NOT_KNOWN
    seed: Known[int] = NOT_KNOWN
    state: Known[str] = NOT_KNOWN
    error: Known[ErrorMetadata] = NOT_KNOWN
    started_epoch_s: Known[float | None] = NOT_KNOWN
    ended_epoch_s: Known[float | None] = NOT_KNOWN
    program_version: Known[str] = NOT_KNOWN
    account: Known[str] = NOT_KNOWN
    target: TargetMetadata = TargetMetadata()
    workload: WorkloadMetadata = field(default_factory=WorkloadMetadata)
    phases: Known[tuple[PhaseMetadata, ...]] = NOT_KNOWN
    installation: InstallationMetadata = InstallationMetadata()
    postgresql: PostgresqlMetadata = PostgresqlMetadata()
    settings: Known[tuple[SettingMetadata, ...]] = NOT_KNOWN
    scale: Known[int | None] = NOT_KNOWN
    data_bytes: Known[int | None] = NOT_KNOWN
    io_baseline: Known[IoBaseline | None] = NOT_KNOWN
    data_set: Known[DataSetMetadata] = NOT_KNOWN
    stored: Known[StoredMetadata] = NOT_KNOWN
    cached: Known[CachedMetadata] = NOT_KNOWN
    sampled: Known[CompressionSample] = NOT_KNOWN
    transaction_log_one_in: Known[float] = NOT_KNOWN
    tps_one_in: Known[float] = NOT_KNOWN
    figure_definitions: Known[int] = NOT_KNOWN
    imported: Known[ImportMetadata] = NOT_KNOWN
    running_command: Known[RunningCommand] = NOT_KNOWN
    storage_step: Known[StorageStep] = NOT_KNOWN
    pgbench: Known[Mapping[str, Json]] = NOT_KNOWN
    tags: Known[tuple[str, ...]] = NOT_KNOWN
    note: Known[str] = NOT_KNOWN

    def of_phase(self, number: int) -> RunMetadata:
        """Return the same with workload and figures of pgbench of another phase than `measure`.

        Args:
            number: of that phase; 0 for the run as it is.
        """
        if not number:
            return self
        phases = () if isinstance(self.phases, NotKnown) else self.phases
        told = next((each for each in phases if each.number == number), PhaseMetadata())
        return replace(
            self,
            workload=told.workload,
            pgbench=told.pgbench,
            transaction_log_one_in=told.transaction_log_one_in,
            tps_one_in=NOT_KNOWN,
        )

    def printed(self, name: str) -> float | None:
        """Return a figure that pgbench printed, by a field of `PgbenchSummary`; None where there is none."""
        value = None if isinstance(self.pgbench, NotKnown) else self.pgbench.get(name)
        return float(value) if isinstance(value, int | float) else None

    @property
    def pgbench_version(self) -> str:
        """Version of pgbench as it printed it; empty where unknown."""
        value = "" if isinstance(self.pgbench, NotKnown) else self.pgbench.get("version")
        return value if isinstance(value, str) else ""


_MAKES_NOTHING: Final = frozenset({FolderTarget.kind, MemoryTarget.kind, ServerTarget.kind})


def read_metadata(values: Mapping[str, Json]) -> RunMetadata:
    """Return what the keys of table `run` tell; what cannot be understood is not known.

    Args:
        values: by key, as `app.runfile.reader.RunFile.values` has them.
    """
    found = read_values(RunMetadata, values)
    target = found.target
    is_own = not isinstance(target.kind, NotKnown) and target.kind != IMPORTED
    if is_own and isinstance(found.workload.compressibility, NotKnown):
        # Earlier versions loaded nothing but pgbench's own rows.
        found = replace(found, workload=replace(found.workload, compressibility=None))
    if is_own and isinstance(found.workload.data_set, NotKnown):
        # Earlier versions loaded the data set for every run, and did not tell how long it took.
        found = replace(found, workload=replace(found.workload, data_set=DataSet.LOADED.value))
    if isinstance(target.plan, NotKnown) and target.kind in _MAKES_NOTHING:
        # Formats of before did not say that nothing was made.
        return replace(found, target=replace(target, plan=None, memory_limit_bytes=None))
    return found
