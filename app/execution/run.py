"""One planned run with its file: where it grows, its metadata, how it ends."""

from __future__ import annotations

import os
import secrets
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final, cast

from app import VERSION
from app.analysis.labels import DISK_MARKS
from app.analysis.stability import is_weak, read_shape
from app.campaign_file.writer import format_campaign
from app.domain.campaign.configuration import Campaign, PlannedRun
from app.domain.errors import FootingError, RunFileError
from app.domain.json_value import Json
from app.domain.run import Phase, RunState
from app.domain.step_progress import Operation, StepProgress
from app.domain.text import MIB, tr
from app.execution.baseline.measurement import CampaignBaselines, StorageBaseline
from app.execution.children import footing_error
from app.execution.control import Cancellable
from app.execution.data_set import CampaignDataSets
from app.execution.design import rivals_of
from app.execution.measured_phases import LogSampling
from app.execution.phases import Runner, RunOutcome
from app.execution.recovery import LiveFile, begin_live_file, discard_live_file, move_to_library
from app.execution.resolve import ResolvedConfiguration
from app.execution.run_description import describe_run, marks_before
from app.execution.servers import Servers, marks_of_server, server_of, with_server
from app.hosts.disk_session import DiskSession
from app.hosts.existing_server import ExistingServer
from app.hosts.folders.descriptors import own_name
from app.hosts.folders.targets import MEMORY_FOLDER, UNKNOWN_FREE_BYTES
from app.hosts.helper import HelperHost
from app.hosts.local import LocalHost
from app.hosts.own_server import OwnServer
from app.hosts.recovery.cleanup import clear
from app.hosts.recovery.resource_journal import Owner, ResourceJournal, ResourceKind
from app.hosts.server_under_test import Host, ServerSetup, ServerUnderTest
from app.postgres.installations.installation import fingerprint
from app.probes.base.backing_devices import Resolver
from app.probes.base.probe import ProbeUnavailable
from app.probes.preflight.checks import PreflightFinding
from app.process.starter import Account, CommandOutcome
from app.recording.events import CampaignListener, RunResult
from app.recording.recorder import Recorder
from app.runfile.disturbance import marks_of, read_disturbances
from app.runfile.finalize import finish_run_file
from app.runfile.metadata.run_metadata import ErrorMetadata, RunMetadata, RunningCommand
from app.runfile.output_file import slug
from app.runfile.reader import RunFile
from app.runfile.summary import marks_after, summarise, summarise_phases
from app.runfile.writer import SUFFIX, RunFileWriter

_FREE_MEMORY_BYTES: Final = 64 * MIB
_STEP_EVERY_S: Final = 0.5


@dataclass(slots=True)
class RunContext:
    """State shared by the runs of a campaign.

    Attributes:
        campaign: as stated.
        folder: of the campaign in the library.
        account: server and pgbench run as it.
        resources: record of everything that could be left behind.
        listener: receives progress and notes.
        switch: carries the user's requests to stop.
        findings: of the preflight.
        early_commands: programs that were executed before the first run.
        disks: the helper's session; None if no configuration is on spare disks.
        baselines: of its storages.
        data_sets: whether they are copied; None if every run loads its data.
        servers: existing ones that the user agreed to load.
        log_one_in: sampling of the transaction log by workload and phase: the same for all runs, because
            writing the log has a cost that must not differ between compared runs.
    """

    campaign: Campaign
    folder: Path
    account: Account
    resources: ResourceJournal
    listener: CampaignListener
    switch: Cancellable
    baselines: CampaignBaselines
    findings: tuple[PreflightFinding, ...] = ()
    early_commands: tuple[CommandOutcome, ...] = ()
    disks: DiskSession | None = None
    log_one_in: dict[str, LogSampling] = field(default_factory=dict)
    data_sets: CampaignDataSets | None = None
    servers: Servers = field(default_factory=dict)


def execute_run(execution: RunContext, planned: PlannedRun, resolved: ResolvedConfiguration) -> RunResult:
    """Execute one run and leave its finished file in the library; errors of the run do not raise."""
    try:
        file, writer, note = _begin_file(execution, planned, resolved)
    except Exception as error:  # noqa: BLE001 - a border: one run never ends the campaign with a traceback
        return RunResult(planned, RunState.FAILED, None, {}, error=footing_error(error))
    begun_s = time.monotonic()
    execution.listener.run_started(planned, str(file.final))
    recorder = Recorder(writer)
    server = _server(execution, planned, resolved, recorder)
    runner = Runner(
        planned=planned,
        resolved=resolved,
        server=server,
        recorder=recorder,
        listener=execution.listener,
        switch=execution.switch,
        log_one_in=execution.log_one_in.setdefault(repr(planned.configuration.workload), {}),
        baseline=_baseline(execution, resolved, recorder),
        data_sets=execution.data_sets,
    )
    try:
        _introduce(execution, planned, resolved, server.setup, recorder)
        if note:
            recorder.event("note", note)
    except Exception as error:  # noqa: BLE001 - as above
        runner.outcome.error = footing_error(error)
    else:
        runner.execute()
    ended = _end_file(execution, planned, file, recorder, runner.outcome)
    return replace(ended, length_s=time.monotonic() - begun_s)


def _server(
    execution: RunContext, planned: PlannedRun, resolved: ResolvedConfiguration, recorder: Recorder
) -> ServerUnderTest:
    """Return the server under test: our own on the target, or an existing one."""
    existing = server_of(execution.servers, resolved)
    if existing is not None:
        return ExistingServer(
            host=LocalHost(execution.account, execution.resources, recorder.command),
            reached=existing.address,
            look=existing.look,
            report=partial(_note, execution.listener, recorder),
            lock=existing.lock,
            machine=existing.machine,
            is_asked=existing.is_asked,
            settings=planned.configuration.postgresql.settings,
            room_bytes=resolved.target.room_bytes
            if resolved.target.room_bytes < UNKNOWN_FREE_BYTES
            else None,
        )
    return OwnServer(
        host=_host(execution, resolved, recorder),
        target=planned.configuration.target,
        need_bytes=resolved.need_bytes,
        setup=resolved.setup,
        record=recorder.command,
    )


def _host(execution: RunContext, resolved: ResolvedConfiguration, recorder: Recorder) -> Host:
    """Return the provider of a run's storage: this user's own folders, or the helper."""
    plan = resolved.target.plan
    if plan is None:
        return LocalHost(execution.account, execution.resources, recorder.command)
    assert execution.disks is not None  # noqa: S101 - the campaign opens it where there is a plan
    return HelperHost(
        account=execution.account,
        session=execution.disks,
        plan=plan,
        record=recorder.command,
        progress=_StepReporter(execution.listener, recorder),
        event=partial(_report, execution.listener, recorder),
    )


def _baseline(
    execution: RunContext, resolved: ResolvedConfiguration, recorder: Recorder
) -> StorageBaseline | None:
    """Return the baseline measurement of a run's storage; None if it is done, or not wanted."""
    if not execution.baselines.is_open(resolved):
        return None
    return StorageBaseline(
        baselines=execution.baselines,
        resolved=resolved,
        host=_host(execution, resolved, recorder),
        listener=execution.listener,
        switch=execution.switch,
    )


def _report(listener: CampaignListener, recorder: Recorder, kind: str, message: str) -> None:
    """Record and report an event of the host; problems with disks also mark the run."""
    recorder.event(kind, message)
    if kind in DISK_MARKS:
        recorder.mark(kind, message)
        listener.reported(kind, message)


def _note(listener: CampaignListener, recorder: Recorder, message: str) -> None:
    """Record and report a sentence."""
    recorder.event("note", message)
    listener.reported("note", message)


@dataclass(slots=True)
class _StepReporter:
    """Shows the helper's progress, and writes it into the run file for others, at most twice a second."""

    listener: CampaignListener
    recorder: Recorder
    number: int = 0
    reported_s: float = 0.0

    def __call__(self, where: StepProgress) -> None:
        if where.operation == Operation.MAINTAIN and self.recorder.phase is not Phase.MAINTENANCE:
            return  # during pgbench, which stays the running command
        if where.number == self.number and time.monotonic() < self.reported_s + _STEP_EVERY_S:
            return
        self.number, self.reported_s = where.number, time.monotonic()
        text = f"{where.number}/{where.count} {where.text}"
        self.listener.step(text, where.fraction)
        running = RunningCommand(phase=self.recorder.phase_name.text, argv=(where.text,), step=where.number)
        with suppress(RunFileError):  # reported by the run's own next write
            self.recorder.set_run(RunMetadata(running_command=running, storage_step=where))


def _begin_file(
    execution: RunContext, planned: PlannedRun, resolved: ResolvedConfiguration
) -> tuple[LiveFile, RunFileWriter, str]:
    """Create the run file; the returned sentence names a problem, if there is one.

    Raises:
        RunFileError: it cannot be created; nothing of it is left.
        FootingError: resources that could be left behind cannot be recorded.
    """
    stem = f"{planned.number:02}-{slug(planned.configuration.name)}-r{planned.repeat + 1}"
    final = execution.folder / f"{stem}{SUFFIX}"
    attempt = 2
    while os.path.lexists(final):  # an earlier attempt of a resumed campaign is kept
        final = execution.folder / f"{stem}-{attempt}{SUFFIX}"
        attempt += 1
    memory: Path | None = None
    note = ""
    # Spare disks share no device with the library: they are not in use. Nothing is known of an existing
    # server.
    if resolved.target.path and disturbs(execution.folder, resolved.target.path):
        memory = _memory_folder(execution)
        if memory is None:
            note = tr(
                "{folder} has no space for the run file. It is written beside the data, which costs some "
                "extra writes there."
            )
            note = note.format(folder=MEMORY_FOLDER)
    try:
        file = begin_live_file(final, memory)
        try:
            has_phases = bool(planned.configuration.workload.phases)
            return file, RunFileWriter(file.live, has_phases=has_phases), note
        except RunFileError:
            discard_live_file(file)
            raise
    except FootingError:
        if memory is not None:
            _forget_memory_folder(execution, memory)
        raise


def disturbs(library: Path, target: str) -> bool:
    """Return whether a run file that grows in `library` would cost the target's device writes and syncs."""
    resolver = Resolver()
    try:
        own = resolver.resolve(str(library))
    except ProbeUnavailable:
        # No block device: memory is quick, a network filesystem may hang, others are unknown.
        return resolver.find_mount(str(library)).on_network
    try:
        under_test = resolver.resolve(target)
    except ProbeUnavailable:
        return False
    return not {device.name for device in own.leaves}.isdisjoint(device.name for device in under_test.leaves)


def _memory_folder(execution: RunContext) -> Path | None:
    """Return a recorded folder in memory for the live file; None if there is no room."""
    try:
        volume = os.statvfs(MEMORY_FOLDER)
    except OSError:
        return None
    if volume.f_bavail * volume.f_frsize < _FREE_MEMORY_BYTES:
        return None
    path = f"{os.path.realpath(MEMORY_FOLDER)}/{own_name()}"
    try:
        execution.resources.make_folder(path, ResourceKind.FOLDER, lambda _outcome: None, owner=Owner.RUNNER)
    except OSError:
        return None
    return Path(path)


def _forget_memory_folder(execution: RunContext, folder: Path) -> None:
    """Remove the folder of a live file that has left it; if it contains a run file, the sweep handles it."""
    if not any(folder.glob(f"*{SUFFIX}")):
        clear(execution.resources, (str(folder),), lambda _outcome: None)


def _introduce(
    execution: RunContext,
    planned: PlannedRun,
    resolved: ResolvedConfiguration,
    setup: ServerSetup | None,
    recorder: Recorder,
) -> None:
    """Write the run's metadata, before anything happens."""
    name = planned.configuration.name
    if execution.campaign.repeats > 1:
        name = f"{name} #{planned.repeat + 1}"
    if planned.attempt > 1:
        name = tr("{name}, attempt {attempt}").format(name=name, attempt=planned.attempt)
    metadata = describe_run(planned, resolved, setup)
    plan = resolved.target.plan
    if execution.disks is not None and plan is not None:
        metadata = replace(
            metadata, target=replace(metadata.target, described=tuple(execution.disks.texts[plan]))
        )
    metadata = replace(
        metadata,
        id=secrets.token_hex(8),
        name=name,
        campaign=execution.campaign.name,
        campaign_folder=execution.folder.name,
        place=1 + execution.campaign.configurations.index(planned.configuration),
        repeats=execution.campaign.repeats,
        order=execution.campaign.order.value,
        order_seed=execution.campaign.order_seed,
        remarks=execution.campaign.remarks,
        question=execution.campaign.question or "",
        figures=execution.campaign.figures or (),
        design=execution.campaign.design.value,
        rivals=rivals_of(execution.campaign, planned.configuration),
        state=RunState.RUNNING.value,
        started_epoch_s=time.time(),
        program_version=VERSION,
        account=execution.account.name,
        campaign_file=format_campaign(execution.campaign),
        io_baseline=execution.baselines.of(resolved),
    )
    existing = server_of(execution.servers, resolved)
    if existing is not None:
        metadata = with_server(metadata, existing, resolved)
    if setup is not None:
        sha256 = fingerprint(setup.installation)
        metadata = replace(metadata, installation=replace(metadata.installation, sha256=sha256))
    recorder.set_run(metadata)
    of_server = marks_of_server(existing) if existing is not None else []
    for kind, reason in (*marks_before(resolved), *of_server):
        recorder.mark(kind, reason)
    findings: Json = [
        {**cast("dict[str, Json]", asdict(finding)), "severity": finding.severity.value}
        for finding in execution.findings
    ]
    recorder.facts("before", {"preflight": findings})
    for outcome in execution.early_commands:
        recorder.command(outcome)


def _end_file(
    execution: RunContext, planned: PlannedRun, file: LiveFile, recorder: Recorder, outcome: RunOutcome
) -> RunResult:
    """Finish the run file and move it to its place, or remove it if the user wants that.

    On failure the first error is reported, the result has the file's location, and the file keeps every
    second that was written.
    """
    settled = False
    result = RunResult(planned, outcome.state, str(file.final), {}, (), outcome.error, outcome.measured)
    try:
        problem = _close(recorder, outcome.error)
        if outcome.discard:
            discard_live_file(file)
            result = replace(result, path=None)
        else:
            summary, phases, marks, weak = _figures(file.live)
            result = replace(result, summary=summary, marks=marks, is_weak=weak)
            state = outcome.state if problem is None else RunState.FAILED
            finish_run_file(file.live, state, summary, marks, phases=phases)
            move_to_library(file)
            settled = True
    except Exception as error:  # noqa: BLE001 - a border: one run never ends the campaign with a traceback
        problem = recorder.failure or footing_error(error)
    if file.in_memory:
        _forget_memory_folder(execution, file.live.parent)
    if result.path is not None and not settled:
        result = replace(result, path=str(file.live))
    if problem is not None:
        result = replace(result, state=RunState.FAILED, error=result.error or problem)
    return result


def _close(recorder: Recorder, error: FootingError | None) -> FootingError | None:
    """Write the end and close the file; return the first error of writing, now or before."""
    try:
        if error is not None:
            recorder.set_run(RunMetadata(error=ErrorMetadata.of(error)))
        recorder.set_run(RunMetadata(ended_epoch_s=time.time()))
    except RunFileError:
        pass  # kept as the recorder's failure
    with suppress(RunFileError):
        recorder.close()
    return recorder.failure


def _figures(
    path: Path,
) -> tuple[dict[str, float | None], dict[int, dict[str, float | None]], tuple[tuple[str, str], ...], bool]:
    """Return the figures of a run, those of its other phases by number, its marks, and whether it is weak."""
    with RunFile(path) as run:
        summary, judged = summarise(run), read_disturbances(run)
        marks = (*marks_of(run, judged), *marks_after(summary))
        return summary, summarise_phases(run), marks, is_weak(marks, judged, read_shape(run))
