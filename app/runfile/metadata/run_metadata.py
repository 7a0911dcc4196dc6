"""Metadata of a run file: one description, written and read here and nowhere else.

The keys of table `run` are the fields of `RunMetadata`, those of the objects in it the fields of the other
classes. A field missing from a file is not known (`typed_json`): files of earlier versions, imported ones and
foreign ones are read as far as possible.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Self

from app.campaign_file.fields import WORKLOAD_FIELDS
from app.domain.campaign.configuration import (
    Configuration,
    DiskTarget,
    FolderTarget,
    MemoryTarget,
    ServerTarget,
    Workload,
)
from app.domain.errors import CampaignError, FootingError
from app.domain.io_baseline import IoBaseline
from app.domain.json_value import Json
from app.domain.maintenance import WorkEnd
from app.domain.messages.message import Message, message_from_json, message_to_json
from app.domain.step_progress import StepProgress
from app.domain.storage_plan.plan import StoragePlan
from app.domain.text import tr
from app.postgres.settings import Setting
from app.probes.facts.files import CachedBytes, SampledCompression, StoredBytes
from app.runfile.metadata.typed_json import NOT_KNOWN, Known, NotKnown, read_values

EXISTING_SERVER: Final = "existing-server"
"""Kind of the mark for a run on an existing server, with its unknown facts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerMetadata:
    """An existing server's own description before the first run; nothing about its machine.

    Attributes:
        host_name: host, or folder of the socket, and port: typed by the user to agree.
        user_name: the role.
        version: such as ``15.14``.
        cluster_name: the setting; empty for none.
        system_identifier: of the cluster; empty if the role may not read it.
        tls: protocol and cipher; empty for none.
        has_monitor: the role may see the activity of other sessions.
        may_checkpoint: the role may request a checkpoint.
        sessions: other ones before the campaign.
        others_tps: their transactions a second.
        round_trip_ms: median duration of an empty statement, there and back.
        round_trip_least_ms: the shortest.
        round_trip_most_ms: the longest.
        managed_service: name of it, see `app.postgres.existing.look`; empty if none is known.
        room_bytes: limit of pgFooting's database; None if not stated.
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
    """pgbench's workload; fields as in `app.domain.campaign.configuration.Workload`.

    Attributes:
        label: labels of the scripts, joined.
        scripts: each with its text.
        clients: concurrent connections.
        threads: of pgbench, as resolved on that machine.
        duration_s: of the measured phase; None if a number of transactions is set.
        transactions: per client; None if a duration is set.
        warmup_s: 0 for none.
        caches: a `Caches`.
        protocol: a `Protocol`.
        rate_tps: None for a closed loop.
        latency_limit_ms: None for no limit.
        size: class or bytes as stated in the campaign; None if it states the scale.
        compressibility: stated ratio of the loaded rows; None for pgbench's own rows.
        data_set: a `DataSet`, as stated; `DataSetMetadata` has the real one.
        phases: their full description in words, if it has several; not known for one phase.
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
    """Maintenance before a phase.

    Attributes:
        name: in campaign files.
        duration_s: of the work.
        how: a `app.domain.maintenance.WorkEnd`; earlier files only have completed work.
        reason: why it failed; else empty.
    """

    name: str = ""
    duration_s: float = 0.0
    how: str = WorkEnd.DONE.value
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundTurn:
    """One repetition of background work.

    Attributes:
        started_ms: on the clock of the run.
        ended_ms: on the clock of the run.
        how: a `app.domain.maintenance.WorkEnd`; the last one usually ends with the phase.
        reason: why it failed; else empty.
    """

    started_ms: int = 0
    ended_ms: int = 0
    how: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundMetadata:
    """Background work during a phase.

    Attributes:
        name: in campaign files; empty for none.
        every_s: from one start to the next; None to restart as soon as it has ended.
        max_rate_bytes: limit of a base backup, bytes a second; None for no limit.
        turns: every repetition, in order.
    """

    name: str = ""
    every_s: int | None = None
    max_rate_bytes: int | None = None
    turns: tuple[BackgroundTurn, ...] = ()

    @property
    def done(self) -> int:
        """Number of completed repetitions."""
        return sum(turn.how == WorkEnd.DONE for turn in self.turns)


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseMetadata:
    """One repetition of one phase of a workload that has several.

    Attributes:
        number: its place among all of them, from 1.
        name: of the phase.
        time: number of the repetition, from 1.
        times: repetitions of the phase.
        counts: its figures are compared.
        is_own: its figures are those of the run as a whole: it is the phase `measure`.
        workload: of pgbench; with the resulting number of a relative rate.
        rate_percent: of another phase's throughput, if the rate was stated so; else None.
        rate_of: name of that phase; else None.
        transaction_log_one_in: as in `RunMetadata`.
        maintenance: before it.
        background: work during it.
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
        """Its name for users: the name of the phase, and the number of the repetition."""
        if self.times == 1:
            return self.name
        return tr("{name} ({time} of {times})").format(name=self.name, time=self.time, times=self.times)


IMPORTED: Final = "imported"
"""Marks an imported run: kind of its mark and target, origin of installation and settings, preset."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptionMetadata:
    """An option of the target's filesystems that is a server setting.

    Attributes:
        key: of the campaign file, below the target.
        setting: of the server.
        value: as in postgresql.conf.
        fate: a `app.domain.campaign.disk_target.SettingStatus`.
        note: why it was not applied; empty if it was.
    """

    key: str = ""
    setting: str = ""
    value: str = ""
    fate: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetMetadata:
    """Location of the data.

    Attributes:
        kind: folder, memory, disks, server, or `IMPORTED`.
        path: of the data; for disks the name given by the user.
        given: folder as stated in the campaign; None for the default one.
        raid: level, of an array created by pgFooting or reported by an import; None for single disks.
        filesystem: id of the one created by pgFooting.
        plan: of the storage created by pgFooting; None if it created none.
        preset: id of the preset of the filesystem of the data.
        wal_preset: of the filesystem of the WAL; None without own disks for it.
        size_bytes: limit of a target in memory; None for as much as the data needs.
        memory_limit_bytes: of PostgreSQL and pgbench together; None for no limit.
        described: root's own description of its actions, line by line.
        server_options: options of the filesystems that are server settings, and whether each was applied.
        server: an existing one; known only for such a target.
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
    """The PostgreSQL installation; fields as in `app.postgres.installations.installation.Installation`.

    Attributes:
        version: of the server.
        folder: of the programs.
        origin: how they were found.
        configure: options of the build.
        block_size: of a page, in bytes; None if the build does not report it.
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
    """Setup of the server.

    Attributes:
        preset: id of the preset of server settings.
        checksums: whether data pages have checksums; None if an import does not have it.
    """

    preset: Known[str] = NOT_KNOWN
    checksums: Known[bool | None] = NOT_KNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSetMetadata:
    """How the data set was loaded.

    Attributes:
        state: a `app.domain.campaign.configuration.DataSet`, as it really was.
        reason: why it was loaded although a copy was wanted; empty otherwise.
        caches: state of the caches when the server started on a copy: a `CopiedCaches`; empty if it was
            loaded.
        template: id of the copied one; empty if it was loaded.
        sha256: of the copied stream, equal to the template's; empty if it was loaded.
        files: number of the copied ones.
        size_bytes: of them together.
        copy_s: seconds of reading and writing them.
        extents: number in the tables' files; None if the filesystem does not report it.
        tables_bytes: size when read; None if not examined.
        tables_disk_bytes: of them on the disk, see `app.probes.facts.files.StoredBytes`.
        tables_encoded_bytes: of them in compressed extents, see `app.probes.facts.files.StoredBytes`.
        rows_s: seconds of loading the rows; None if they were not loaded, or if unknown.
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
class ErrorMetadata:
    """Why a run failed.

    Attributes:
        code: of the error.
        message: its sentence, in the language of the recording process.
        hint: its remedy, in the same language.
        said: codes and values of root's sentences among the two, by name.
    """

    code: str = ""
    message: str = ""
    hint: str = ""
    said: Mapping[str, Json] = field(default_factory=dict)

    @classmethod
    def of(cls, error: FootingError) -> Self:
        """Return the metadata of an error."""
        values = {"message": error.message, "hint": error.hint}
        said = {name: message_to_json(each) for name, each in values.items() if isinstance(each, Message)}
        return cls(code=error.code, **values, said=said)

    @property
    def sentences(self) -> tuple[str, str]:
        """Message and hint; root's sentences in the reader's language."""
        return self._sentence("message", self.message), self._sentence("hint", self.hint)

    def _sentence(self, name: str, text: str) -> str:
        try:
            found = message_from_json(self.said[name])
        except (KeyError, ValueError, TypeError, RecursionError):  # an untrusted file
            return text
        return found if isinstance(found, Message) else text  # of another version

    @property
    def text(self) -> str:
        """Message and hint in one line."""
        return " ".join(filter(None, self.sentences))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningCommand:
    """The running command: phase, words of the program, and the number of root's step, else 0."""

    phase: str = ""
    argv: tuple[str, ...] = ()
    step: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportMetadata:
    """Source of an imported run: folder, files in it, line of a table, a user's remark."""

    path: str = ""
    files: tuple[str, ...] = ()
    row: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunMetadata:
    """All contents of the table `run` of a run file.

    Attributes:
        id: hexadecimal identity.
        name: configuration and repeat, or the user's later name.
        measured_name: `name` before it was renamed.
        campaign: name of the campaign.
        measured_campaign: `campaign` before it was renamed.
        campaign_folder: original folder of its run files; the same only for runs of one campaign.
        campaign_file: the campaign's whole text.
        configuration: name of the configuration.
        place: 1-based place of the configuration in the campaign's file.
        number: 1-based place in the order of the campaign.
        repeat: 0-based repeat of the configuration.
        repeats: of each configuration.
        order: of the campaign's runs, a `app.domain.campaign.matrix.RunOrder`.
        order_seed: seed of a random order; None for another.
        remarks: of the campaign: sentences that belong to the result.
        question: that the campaign answers; empty for none.
        figures: names of those that answer it.
        design: decides how often each configuration runs, a `app.domain.campaign.matrix.Design`.
        rivals: names of the competing configurations in a sequential campaign, including its own; empty if it
            has no competitors.
        attempt: 1, or more if it was repeated because of a disturbance.
        seed: of pgbench.
        state: a `app.domain.run.RunState`.
        error: why it failed; not known if it did not.
        started_epoch_s: wall clock at t_ms = 0, seconds since 1970; None if an import does not have it.
        ended_epoch_s: wall clock at its end; None if an import does not have it.
        program_version: of pgFooting.
        account: programs were executed as it.
        target: location of the data.
        workload: of pgbench; with several phases, that of `measure`.
        phases: all of them, in order; not known for a run with one phase.
        installation: of PostgreSQL.
        postgresql: setup of the server.
        settings: every written server setting, with its origin.
        scale: pgbench scale factor; None if an import does not have it.
        data_bytes: of the data set, estimated; None if an import does not have it.
        io_baseline: of the storage, before the first run on it; None if not measured.
        data_set: how the data was loaded; not known in earlier files.
        stored: sizes of the loaded tables; only if the filesystem is set to compress.
        cached: still cached data when the measurement started; only if the caches were emptied.
        sampled: compressibility of the loaded tables; if it was stated, or the storage compresses.
        transaction_log_one_in: 1 = every transaction is in the log, n = one in n.
        tps_one_in: the same if the TPS by the second are counted in that log.
        imported: source of an imported run.
        running_command: pgbench or root's program while it runs.
        storage_step: root's last progress.
        pgbench: figures as pgbench printed them, with its version.
        figure_definitions: of its stored figures, see `app.runfile.summary.DEFINITIONS`.
        tags: given by the user.
        note: written by the user.
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
    question: Known[str] = NOT_KNOWN
    figures: Known[tuple[str, ...]] = NOT_KNOWN
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
    settings: Known[tuple[Setting, ...]] = NOT_KNOWN
    scale: Known[int | None] = NOT_KNOWN
    data_bytes: Known[int | None] = NOT_KNOWN
    io_baseline: Known[IoBaseline | None] = NOT_KNOWN
    data_set: Known[DataSetMetadata] = NOT_KNOWN
    stored: Known[StoredBytes] = NOT_KNOWN
    cached: Known[CachedBytes] = NOT_KNOWN
    sampled: Known[SampledCompression] = NOT_KNOWN
    transaction_log_one_in: Known[float] = NOT_KNOWN
    tps_one_in: Known[float] = NOT_KNOWN
    figure_definitions: Known[int] = NOT_KNOWN
    imported: Known[ImportMetadata] = NOT_KNOWN
    running_command: Known[RunningCommand] = NOT_KNOWN
    storage_step: Known[StepProgress] = NOT_KNOWN
    pgbench: Known[Mapping[str, Json]] = NOT_KNOWN
    tags: Known[tuple[str, ...]] = NOT_KNOWN
    note: Known[str] = NOT_KNOWN

    def of_phase(self, number: int) -> RunMetadata:
        """Return the same with pgbench's workload and figures of a phase other than `measure`.

        Args:
            number: of that phase; 0 for the unchanged run.
        """
        if not number:
            return self
        phases = () if isinstance(self.phases, NotKnown) else self.phases
        phase = next((each for each in phases if each.number == number), PhaseMetadata())
        return replace(
            self,
            workload=phase.workload,
            pgbench=phase.pgbench,
            transaction_log_one_in=phase.transaction_log_one_in,
            tps_one_in=NOT_KNOWN,
        )

    def printed(self, name: str) -> float | None:
        """Return a figure that pgbench printed, by a field of `PgbenchSummary`; None if there is none."""
        value = None if isinstance(self.pgbench, NotKnown) else self.pgbench.get(name)
        return float(value) if isinstance(value, int | float) else None

    @property
    def pgbench_version(self) -> str:
        """Version printed by pgbench; empty if unknown."""
        value = "" if isinstance(self.pgbench, NotKnown) else self.pgbench.get("version")
        return value if isinstance(value, str) else ""


_BEFORE: Final[dict[str, Any]] = {
    each.attribute: getattr(Workload(), each.attribute) for each in WORKLOAD_FIELDS if each.is_later
}
"""What the workloads of earlier versions had, by attribute."""

_MAKES_NOTHING: Final = frozenset({FolderTarget.kind, MemoryTarget.kind, ServerTarget.kind})


def read_metadata(values: Mapping[str, Json]) -> RunMetadata:
    """Return the metadata from the keys of table `run`; values of the wrong type are not known.

    Args:
        values: by key, from `app.runfile.reader.RunFile.values`.
    """
    found = read_values(RunMetadata, values)
    target = found.target
    if not isinstance(target.kind, NotKnown) and target.kind != IMPORTED:
        workload = found.workload
        missing = {name: each for name, each in _BEFORE.items() if getattr(workload, name) is NOT_KNOWN}
        found = replace(found, workload=replace(workload, **missing))
    if isinstance(target.plan, NotKnown) and target.kind in _MAKES_NOTHING:
        # Earlier formats did not record that no storage was created.
        return replace(found, target=replace(target, plan=None, memory_limit_bytes=None))
    return found


# Recover metadata that a run file of an earlier version only has in the campaign's text.


def completed(run: RunMetadata) -> RunMetadata:
    """Return a run's metadata, with the target's presets and memory limit from the campaign's text.

    Earlier files of format 1 did not record them.
    """
    if run.target.kind != DiskTarget.kind or not isinstance(run.target.preset, NotKnown):
        return run
    configuration = stored_configuration(run)
    asked = None if configuration is None else configuration.target
    if not isinstance(asked, DiskTarget):
        return run
    target = replace(
        run.target,
        preset=asked.data.preset,
        wal_preset=asked.wal.preset if asked.wal else None,
        memory_limit_bytes=asked.memory_limit_bytes,
    )
    return replace(run, target=target)


def stored_configuration(run: RunMetadata) -> Configuration | None:
    """Return the configuration of a run as stated in its campaign's text; None if that cannot be read.

    Own scripts are not looked up: their texts are in the run file.
    """
    from app.campaign_file.reader import parse_stored_campaign  # noqa: PLC0415 - with all of campaign files

    if isinstance(run.campaign_file, NotKnown):
        return None
    try:
        campaign = parse_stored_campaign(run.campaign_file)
    except CampaignError:
        return None
    return next((each for each in campaign.configurations if each.name == run.configuration), None)


# Moments in a run's note: a line such as "[0:12:30] backup started" is about that second of the run.


_MOMENT: Final = re.compile(r"\[(-?)(\d{1,6}):(\d\d):(\d\d)\]\s*(\S.*)")
_MOST: Final = 50
"""A file from elsewhere may have any number of lines."""


def moment_words(t_s: float) -> str:
    """Return the beginning of a line about a moment; its words follow."""
    minutes, seconds = divmod(abs(round(t_s)), 60)
    return f"[{'-' if round(t_s) < 0 else ''}{minutes // 60}:{minutes % 60:02}:{seconds:02}] "


def read_moments(note: str) -> tuple[tuple[float, str], ...]:
    """Return time, in s since the start of the measured phase, and words of each line about a moment."""
    found = []
    for line in filter(None, map(_MOMENT.fullmatch, note.splitlines())):
        sign, hours, minutes, seconds, words = line.groups()
        t_s = 3600.0 * int(hours) + 60 * int(minutes) + int(seconds)
        found.append((-t_s if sign else t_s, words))
    return tuple(sorted(found)[:_MOST])
