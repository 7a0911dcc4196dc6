"""One run from its first check to its removal: the state machine of the phases.

Server and pgbench are started in the main thread, because the kernel ends a child when the *thread* that
started it ends. After an error, a stop or a lost disk the teardown still runs, and the data measured so far
is kept. Of several errors the cause is reported: a vanished target before the server that died of it, the
server before the pgbench that lost its connections.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent import futures
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from app.analysis.cannot_show import BURST_CREDIT, burst_sentence, bursting
from app.analysis.data_set import (
    COMPRESSED_NOTHING,
    OTHER_COMPRESSIBILITY,
    STILL_CACHED,
    compression_in_effect,
    did_nothing,
    differs_from_stated,
    still_cached,
)
from app.domain.campaign.configuration import Caches, PlannedRun, Workload
from app.domain.campaign.disk_target import NOT_READ_BACK
from app.domain.campaign.phases import all_scripts
from app.domain.errors import (
    FootingError,
    RunFileError,
    ServerError,
    TargetLostError,
)
from app.domain.io_baseline import PLANNED_SECONDS
from app.domain.json_value import Json
from app.domain.run import Phase, PhaseName, RunState
from app.domain.text import tr
from app.execution.baseline.measurement import StorageBaseline
from app.execution.children import crash_of_server, footing_error, kill_children
from app.execution.control import Cancellable, Request, StopRequestedError
from app.execution.data_set import CampaignDataSets, RunDataSet, with_tables
from app.execution.measured_phases import LogSampling, MeasuredPhases
from app.execution.pgbench import PgbenchRuns
from app.execution.resolve import ResolvedConfiguration
from app.execution.run_description import UNVERIFIED
from app.hosts.server_under_test import PgbenchPlace, ServerUnderTest
from app.postgres.pgbench.script_demands import wants_superuser
from app.postgres.pgbench.summary import LoadTimes
from app.probes.base.probe import ProbeContext, ProbeUnavailable
from app.probes.facts.files import SampledCompression, StoredBytes
from app.probes.remote.machine import FactReading
from app.probes.sampling.registry import make_probes
from app.probes.sampling.sampler import Sampler
from app.recording.events import CampaignListener
from app.recording.pgbench_streams import crash_reason
from app.recording.recorder import Recorder
from app.runfile.metadata.environment import read_environment_facts
from app.runfile.metadata.run_metadata import DataSetMetadata, RunMetadata

_CANCEL_AGAIN_S: Final = 0.05
_LATE_SIZES_S: Final = 7.0


@dataclass(slots=True)
class RunOutcome:
    """How the phases ended; the campaign turns it into a result.

    Attributes:
        state: done, stopped or failed.
        discard: the user wants the run file removed.
        error: why it failed.
        measured: whether a measured phase was reached.
    """

    state: RunState = RunState.FAILED
    discard: bool = False
    error: FootingError | None = None
    measured: bool = False


@dataclass(slots=True)
class Runner:
    """Executes one planned run.

    Attributes:
        planned: the run.
        resolved: its configuration on this machine.
        server: the server under test; provides storage and folders, and releases them.
        recorder: writes the run file.
        listener: receives progress and notes.
        switch: polled often for the user's request to stop.
        log_one_in: the campaign's sampling of the transaction log, as far as it is chosen.
        baseline: measures the storage before anything else; None if that is done or not wanted.
        data_sets: of the campaign, which are copied; None if every run loads its data.
    """

    planned: PlannedRun
    resolved: ResolvedConfiguration
    server: ServerUnderTest
    recorder: Recorder
    listener: CampaignListener
    switch: Cancellable
    log_one_in: LogSampling = field(default_factory=dict)
    baseline: StorageBaseline | None = None
    data_sets: CampaignDataSets | None = None
    outcome: RunOutcome = field(default_factory=RunOutcome)
    _sampler: Sampler | None = field(default=None, init=False)
    _measured: MeasuredPhases | None = field(default=None, init=False)
    _compression: str = field(default="", init=False)

    @property
    def _workload(self) -> Workload:
        return self.planned.configuration.workload

    def execute(self) -> RunOutcome:
        """Run all phases and the teardown; errors of the run do not raise."""
        outcome = self.outcome
        try:
            self._phases()
            outcome.state = RunState.DONE
        except StopRequestedError as stop:
            outcome.state = RunState.STOPPED
            outcome.discard = stop.request is Request.DISCARD
        except Exception as error:  # noqa: BLE001 - a border: one run never ends the campaign with a traceback
            outcome.error = self._with_phase(self._cause_of(footing_error(error)))
        problem = self._teardown()
        if problem is not None:
            outcome.error = outcome.error or problem
            outcome.state = RunState.FAILED
        return outcome

    def _with_phase(self, error: FootingError) -> FootingError:
        """Name the failed phase, if the run has several."""
        if self._measured is not None and self._measured.under_way:
            words = tr("In the phase “{phase}”: {message}")
            error.message = words.format(phase=self._measured.under_way, message=error.message)
        return error

    def _cause_of(self, error: FootingError) -> FootingError:
        """Return the cause of an error of server or pgbench: a lost target, a crash of the server."""
        if isinstance(error, RunFileError | TargetLostError):
            return error
        try:
            self.server.check_target()
        except TargetLostError as lost:
            lost.__cause__ = error
            return lost
        crash = crash_reason(self.server.log_text())
        if not crash:
            return error
        crashed = crash_of_server(crash)
        crashed.__cause__ = error
        return crashed

    def _phases(self) -> None:
        server = self.server
        if self.baseline is not None:
            with self._phase(Phase.BASELINE, PLANNED_SECONDS):
                self.baseline.measure(self.recorder, self._keep_writing, self._report_left_over)
        with self._phase(Phase.PREPARE):
            pgbench = self._make_pgbench(server.prepare(self._keep_writing))
            reading = FactReading(server.sources)
            self._in_background(reading.read, look=self._keep_writing, cancel=reading.interrupt)
            facts = reading.facts
            self.recorder.facts("before", facts)
            environment = read_environment_facts(facts)
            self._compression = compression_in_effect(environment)
            self._mark_burst_credit(bursting(environment))
            self._record_health("before")
        with self._phase(Phase.INITDB):
            data = RunDataSet(server, self.resolved, self.recorder.command, self.data_sets)
            self._bring(data, data.make)
        with self._phase(Phase.LOAD):
            if data.is_copied:
                self._bring(data, data.copy)
            self._start(pgbench, has_bench=data.is_copied)
            took = LoadTimes() if data.is_copied else pgbench.load()
            metadata = data.describe(took)
            self.recorder.set_run(RunMetadata(data_set=metadata))
        with self._phase(Phase.SETTLE):
            # Loading has vacuumed and analysed. The checkpoint gives every run the same start, without dirty
            # pages.
            self._in_background(server.checkpoint, look=self._breathe, cancel=server.stop)
            sampled = self._record_compressibility()  # reads, so before the caches are emptied
            is_cold = self._workload.caches is Caches.COLD
            if not is_cold:
                server.loaded(self._keep_writing)
            self.recorder.server_facts(server.facts())
            for sentence in server.check_loaded():
                self.recorder.mark(NOT_READ_BACK, sentence)
            self._record_stored(metadata, sampled)
            if is_cold:
                self._make_cold(pgbench)
        self._measured = MeasuredPhases(
            planned=self.planned,
            resolved=self.resolved,
            server=server,
            pgbench=pgbench,
            recorder=self.recorder,
            log_one_in=self.log_one_in,
            begin=self._measured_phase,
            wait=self._in_background,
            look=self._look_at,
        )
        self._measured.measure()
        self._measured = None
        with self._phase(Phase.COLLECT):
            reading = FactReading(server.sources)
            self._in_background(reading.read_changing, look=self._keep_writing, cancel=reading.interrupt)
            self.recorder.facts("after", reading.facts)
            self._record_health("after")

    def _mark_burst_credit(self, what: str) -> None:
        if what:
            self.recorder.mark(BURST_CREDIT, burst_sentence(what))

    def _make_pgbench(self, place: PgbenchPlace) -> PgbenchRuns:
        for note in place.notes:
            self.recorder.event("note", note)
        return PgbenchRuns(
            self.planned, self.resolved, self.server, place, self.recorder, self.switch, self._breathe
        )

    @contextmanager
    def _phase(self, phase: Phase, planned_s: float | None = None, number: int = 0) -> Iterator[None]:
        self.switch.check()
        self.recorder.begin_phase(phase, number)
        self.listener.phase_started(phase, planned_s)
        yield

    def _bring(self, data: RunDataSet, work: Callable[[], None]) -> None:
        """Do a part of the data's transfer to the storage, and report its notes."""
        try:
            self._in_background(work, look=self._look_at, cancel=kill_children)
        finally:
            for note in data.notes:
                self.recorder.event("note", note)
                self.listener.reported("note", note)
            data.notes.clear()

    @contextmanager
    def _measured_phase(self, name: PhaseName, planned_s: float | None) -> Iterator[None]:
        with self._phase(name.phase, planned_s, name.number):
            self.outcome.measured |= name.phase in {Phase.PART, Phase.MEASURE}
            yield

    def _start(self, pgbench: PgbenchRuns, *, has_bench: bool = False) -> None:
        self.server.start()
        self.recorder.follow_server_log(self.server.open_log)
        self._observe(pgbench)
        self.server.check_settings()
        superuser = wants_superuser(all_scripts(self._workload))  # the user agreed: `app.campaign_file.trust`
        if superuser:
            self.recorder.event("note", tr("pgbench connects as a superuser, because its scripts need one."))
        if not has_bench:
            self.server.make_bench(superuser=superuser)

    def _make_cold(self, pgbench: PgbenchRuns) -> None:
        """Restart the server on emptied caches, and read back how much is still cached.

        The probes restart too: those of the server would wait longer after every failed read.
        """
        sampler, self._sampler = self._sampler, None
        first = 0
        if sampler is not None:
            sampler.stop()
            first = sampler.next_number
        self._in_background(self.server.shut_down, look=self._look_at, cancel=self.server.stop)
        self.server.empty_caches(self._keep_writing)
        self.server.start()
        self._observe(pgbench, first)
        self.server.check_settings()
        self._record_cached()

    def _record_cached(self) -> None:
        """Read back how much of the data is cached although the caches were emptied."""
        try:
            found = self.server.cached()
        except (OSError, ProbeUnavailable, ServerError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            self.recorder.mark(NOT_READ_BACK, UNVERIFIED.format(what=tr("cold caches"), reason=reason))
            return
        self.recorder.set_run(RunMetadata(cached=found))
        warm = still_cached(found)
        if warm:
            self.recorder.mark(STILL_CACHED, warm)

    def _observe(self, pgbench: PgbenchRuns, first: int = 0) -> None:
        """Follow a running server once a second with all probes; `first` is the number of their tick."""
        pgbench.context = context = ProbeContext(self.server.sources, pgbench_threads=self.resolved.threads)
        self._sampler = Sampler(make_probes(context.server), context, self.recorder.tick)
        self._sampler.start(first)

    def _in_background(
        self, work: Callable[[], None], *, look: Callable[[], object], cancel: Callable[[], object]
    ) -> None:
        """Do work that waits for other programs, while this thread writes and checks for a stop.

        Args:
            work: runs in another thread; everything it starts must have ended when it returns.
            look: called often in this thread; may raise.
            cancel: makes `work` return soon; may be called again.
        """
        with ThreadPoolExecutor(1, "runner-work") as pool:
            future = pool.submit(work)
            try:
                while not future.done():
                    self.switch.wait(min(self.recorder.next_flush_s, time.monotonic() + 0.05))
                    look()
            except BaseException:
                while not future.done():
                    cancel()
                    futures.wait([future], _CANCEL_AGAIN_S)
                raise
            future.result()

    def _keep_writing(self) -> None:
        """Check for a stop, and once a second write new data: while the host is waited for."""
        self.switch.check()
        if time.monotonic() >= self.recorder.next_flush_s:
            self.recorder.flush()

    def _record_health(self, moment: str) -> None:
        health = self.server.health()
        if health is not None:
            entries: Json = {number: dict(values) for number, values in health.items()}
            self.recorder.facts(moment, {"disk_health": entries})

    def _record_compressibility(self) -> SampledCompression:
        """Read back the compressibility of the loaded tables, if it was stated or the storage compresses."""
        stated = self._workload.compressibility
        if stated is None and not self._compression:
            return SampledCompression()
        try:
            sampled = self.server.sample_tables()
        except (OSError, ProbeUnavailable, ServerError) as error:
            note = UNVERIFIED.format(what=tr("the loaded tables' compressibility"), reason=_reason(error))
            self.recorder.event("note", note)
            return SampledCompression()
        self.recorder.set_run(RunMetadata(sampled=sampled))
        other = differs_from_stated(stated, sampled)
        if other:
            self.recorder.mark(OTHER_COMPRESSIBILITY, other)
        return sampled

    def _record_stored(self, data_set: DataSetMetadata, sampled: SampledCompression) -> None:
        """Read back how the tables are stored, and the effect of a compressing filesystem."""
        try:
            found = self._settled_sizes() if self._compression else self.server.stored()
        except (OSError, ProbeUnavailable, ServerError) as error:
            if not self._compression:
                return  # stays unknown
            note = UNVERIFIED.format(what=self._compression, reason=_reason(error))
            self.recorder.event("note", note)
            return
        self.recorder.set_run(RunMetadata(data_set=with_tables(data_set, found)))
        if not self._compression:
            return
        self.recorder.set_run(RunMetadata(stored=found))
        nothing = did_nothing(self._compression, found, sampled.ratio, self.resolved.installation.major)
        if nothing:
            self.recorder.mark(COMPRESSED_NOTHING, nothing)

    def _settled_sizes(self) -> StoredBytes:
        """Return the sizes of the tables, after waiting for a filesystem that reports them late.

        ZFS counts the blocks of a file when its transaction group is written, after `zfs_txg_timeout`, 5 s.
        """
        found = self.server.stored()
        end_s = time.monotonic() + _LATE_SIZES_S
        while found.encoded_bytes is None and time.monotonic() < end_s:
            self.switch.wait(min(self.recorder.next_flush_s, end_s))
            self._breathe()
        return found if found.encoded_bytes is not None else self.server.stored()

    def _breathe(self) -> None:
        """Once a second: write new data, and check that server and target are still there."""
        if self._look_at():
            self.server.check_running()

    def _look_at(self) -> bool:
        """Once a second: write new data and check the target; return whether the second had passed."""
        if time.monotonic() < self.recorder.next_flush_s:
            return False
        second = self.recorder.flush()
        if second is not None:
            self.listener.second(second)
        self.server.check_target()
        return True

    def _teardown(self) -> FootingError | None:
        """Stop the server and release everything; continues after an error and returns the first."""
        problems: list[FootingError] = []
        self.listener.phase_started(Phase.TEARDOWN, None)
        for step in (self._end_recording, self.server.stop, self._keep_server_log, self._release):
            try:
                step()
            except Exception as error:  # noqa: BLE001 - a border: whatever fails, the next step must run
                problems.append(footing_error(error))
        return problems[0] if problems else None

    def _end_recording(self) -> None:
        sampler, self._sampler = self._sampler, None
        if sampler is not None:
            sampler.stop()
        self.recorder.begin_phase(Phase.TEARDOWN)

    def _keep_server_log(self) -> None:
        self.recorder.keep_server_log(self.server.open_log)

    def _release(self) -> None:
        for sentence in self.server.release():
            self._report_left_over(sentence)

    def _report_left_over(self, sentence: str) -> None:
        self.listener.reported("left-over", sentence)
        self.recorder.event("left-over", sentence)
        self.recorder.mark("left-over" if self.server.setup is not None else "database-left", sentence)


def _reason(error: Exception) -> str:
    return str(error.strerror) if isinstance(error, OSError) else str(error)
