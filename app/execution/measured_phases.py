"""The measured part of a run: warm-up, then one phase, or the phases of a workload that has several.

During a phase one thread may repeat background work: base backups, snapshots at an interval, a scrub. Its
failure fails the run: otherwise a phase without that work would be compared with others. Before a phase,
maintenance by the server or by root may run; it is waited for, with a time limit.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, MutableMapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from statistics import fmean
from typing import Final, Protocol

from app.domain.campaign.configuration import PlannedRun, RateShare, Workload, WorkloadPhase
from app.domain.campaign.phases import (
    PG_BASEBACKUP,
    Background,
    PhaseTurn,
    background,
    filesystems_of,
    turns_of,
    warmed_workload,
    workload_of,
)
from app.domain.errors import FootingError, PgbenchError, ServerError, StorageError
from app.domain.maintenance import DoneBy, Maintenance, MaintenanceEnd, WorkEnd, maintenance
from app.domain.run import Phase, PhaseName
from app.domain.text import format_duration, tr
from app.execution.children import footing_error
from app.execution.pgbench import PgbenchRuns, PgbenchTurn
from app.execution.resolve import ResolvedConfiguration
from app.execution.run_description import describe_whole_workload, describe_workload
from app.hosts.server_under_test import ServerUnderTest
from app.postgres.pgbench.argv import warmup_workload
from app.postgres.pgbench.summary import PgbenchSummary
from app.postgres.pgbench.transaction_log import sampling_rate
from app.recording.recorder import Recorder, printed_values
from app.runfile.metadata.run_metadata import (
    BackgroundMetadata,
    BackgroundTurn,
    MaintenanceMetadata,
    PhaseMetadata,
    RunMetadata,
    RunningCommand,
)
from app.runfile.metadata.typed_json import values_of

PAUSE_S: Final = 1.0
"""Pause before work without an interval is repeated: with a small data set it ends at once."""
_CANCEL_AGAIN_S: Final = 0.2
END_S: Final = 600.0
"""Time limit for background work to end with its phase."""


@dataclass(frozen=True, slots=True)
class BackgroundRun:
    """One repetition of background work.

    Attributes:
        started_s: `time.monotonic`.
        ended_s: `time.monotonic`.
        how: a `WorkEnd`.
        reason: why it failed; else empty.
    """

    started_s: float
    ended_s: float
    how: WorkEnd
    reason: str = ""


class BackgroundJob:
    """Background work during one phase, from `start` to `end`."""

    def __init__(
        self, work: Background, phase: WorkloadPhase, server: ServerUnderTest, filesystems: list[str]
    ) -> None:
        """Prepare; nothing starts yet.

        Args:
            work: the kind of work.
            phase: runs at the same time; has interval and rate.
            server: the work is done on it, or on its storage.
            filesystems: of that storage.
        """
        self.work = work
        self._kind = work.kind_on(filesystems) or work.kinds[0]
        self._phase = phase
        self._server = server
        self._over = threading.Event()
        self._turns: list[BackgroundRun] = []
        self._error: FootingError | None = None
        self._thread = threading.Thread(target=self._run, name="beside", daemon=True)

    def start(self) -> None:
        """Start."""
        self._thread.start()

    def look(self) -> None:
        """Check that the work has not failed.

        Raises:
            FootingError: it failed.
        """
        if self._error is not None:
            raise self._error

    @property
    def turns(self) -> tuple[BackgroundRun, ...]:
        """Every repetition that has ended, in order."""
        return tuple(self._turns)

    def end(self, look: Callable[[], object] = bool) -> None:
        """End the current repetition and wait for that; may be called again.

        Args:
            look: called often during the wait.

        Raises:
            StorageError: it does not end.
            FootingError: raised by `look`; the work was asked to end, but is no longer waited for.
        """
        self._over.set()
        deadline_s = time.monotonic() + END_S
        while self._thread.is_alive():
            if self._work_is_of_root:
                self._server.end_maintenance()
            self._thread.join(_CANCEL_AGAIN_S)
            look()
            if time.monotonic() > deadline_s:
                raise StorageError(
                    tr("{label} failed: {reason}").format(
                        label=self.work.label, reason=tr("it did not finish in time")
                    )
                )

    @property
    def _work_is_of_root(self) -> bool:
        return self.work is not PG_BASEBACKUP

    def _run(self) -> None:
        while not self._over.is_set():
            started_s = time.monotonic()
            try:
                ended = self._do(self._kind)
            except Exception as error:  # noqa: BLE001 - the border of this thread
                self._error = footing_error(error)
                ended = MaintenanceEnd(WorkEnd.FAILED.value, self._error.message, 0.0)
            how = WorkEnd(ended.how)
            self._turns.append(BackgroundRun(started_s, time.monotonic(), how, ended.message))
            if how is not WorkEnd.DONE and not (how is WorkEnd.ENDED and self._over.is_set()):
                words = tr("{label} failed: {reason}")
                reason = ended.message or tr("another process ended it")
                self._error = self._error or StorageError(words.format(label=self.work.label, reason=reason))
                return
            every_s = self._phase.every_s
            pause_s = PAUSE_S if every_s is None else started_s + every_s - time.monotonic()
            self._over.wait(max(pause_s, 0.0))

    def _do(self, kind: Maintenance) -> MaintenanceEnd:
        if self._work_is_of_root:
            return self._server.maintain_storage(kind.name)
        return self._server.back_up(self._phase.max_rate_bytes, self._over.is_set)


class Waiting(Protocol):
    """Waiting for the work of other programs, as `app.execution.phases.Runner` does it."""

    def __call__(
        self, work: Callable[[], None], *, look: Callable[[], object], cancel: Callable[[], object]
    ) -> None:
        """Do `work` in another thread; `look` is called often and may raise, `cancel` then ends it."""


LogSampling = MutableMapping[int, int]
"""Sampling of the transaction log, one in n, by number of the phase; 0 for the only one."""

MAINTAINED: Final = "maintenance"
"""Kind of the event for maintenance before a phase."""
BESIDE: Final = "background"
"""Kind of the events for background work: its start, and the end of each repetition."""
_HOW: Final = {
    WorkEnd.DONE: tr("completed"),
    WorkEnd.ENDED: tr("ended with its phase"),
    WorkEnd.FAILED: tr("failed"),
}


@dataclass(slots=True)
class MeasuredPhases:
    """Warms up and measures.

    Attributes:
        planned: the run.
        resolved: its configuration on this machine.
        server: the server under test.
        pgbench: runs it.
        recorder: writes the run file.
        log_one_in: the campaign's sampling; missing entries are chosen and added.
        begin: starts a phase of a known length.
        wait: for maintenance.
        look: called often during the wait.
        under_way: of several phases, the label of the one started last.
    """

    planned: PlannedRun
    resolved: ResolvedConfiguration
    server: ServerUnderTest
    pgbench: PgbenchRuns
    recorder: Recorder
    log_one_in: LogSampling
    begin: Callable[[PhaseName, float | None], AbstractContextManager[None]]
    wait: Waiting
    look: Callable[[], object]
    under_way: str = field(default="", init=False)
    _phases: list[PhaseMetadata] = field(default_factory=list, init=False)
    _has_backup_role: bool = field(default=False, init=False)
    _reached: dict[str, list[float]] = field(default_factory=dict, init=False)
    _seen: dict[Workload, float] = field(default_factory=dict, init=False)

    @property
    def _workload(self) -> Workload:
        return self.planned.configuration.workload

    def measure(self) -> None:
        """Warm up if requested, and measure everything.

        Raises:
            PgbenchError: pgbench failed; carries its message.
            FootingError: the server ended, or maintenance did not.
        """
        if self._workload.warmup_s:
            self._warm_up()
        if self._workload.phases:
            self.recorder.set_run(RunMetadata(phases=()))
            for turn in turns_of(self._workload):
                self._measure_phase(turn)
        else:
            self._measure_whole()

    def _warm_up(self) -> None:
        workload, name = warmed_workload(self._workload), PhaseName(Phase.WARM_UP)
        threads = self._threads(next(iter(self._workload.phases), None))
        with self.begin(name, self._workload.warmup_s):
            # Another seed than the measured run's, to avoid the same rows in the same order.
            seed, warming = self.planned.seed + 1, warmup_workload(workload)
            summary = self.pgbench.run(PgbenchTurn(name, warming, seed, threads))
        self._see(workload, summary.tps)

    def _measure_whole(self) -> None:
        name, workload = PhaseName(Phase.MEASURE), self._workload
        with self.begin(name, workload.duration_s):
            turn = PgbenchTurn(
                name, workload, self.planned.seed, self.resolved.threads, self._log(0, workload)
            )
            summary = self.pgbench.run(turn)
            self.recorder.pgbench_summary(summary)

    def _measure_phase(self, turn: PhaseTurn) -> None:
        phase, self.under_way = turn.phase, turn.label
        workload = workload_of(self._workload, phase, self._means())
        metadata = self._describe(turn, workload)
        self._phases.append(metadata)
        if phase.maintenance and turn.time == 1:
            self._maintain(turn)
        name = PhaseName(Phase.MEASURE) if turn.is_own else PhaseName(Phase.PART, turn.number)
        with self.begin(name, workload.duration_s):
            self._store_phases()
            if turn.is_own:
                whole = describe_whole_workload(self._workload)
                rate_tps, threads = workload.rate_tps, self._threads(phase)
                self.recorder.set_run(
                    RunMetadata(workload=replace(whole, rate_tps=rate_tps, threads=threads))
                )
            summary = self._run(
                turn,
                PgbenchTurn(
                    name,
                    workload,
                    self.planned.seed if turn.is_own else self.planned.seed + 1 + turn.number,
                    self._threads(phase),
                    self._log(turn.number, workload),
                ),
            )
            self._keep(turn, workload, summary)

    def _run(self, turn: PhaseTurn, pgbench: PgbenchTurn) -> PgbenchSummary:
        """Measure a phase, with its background work."""
        phase = turn.phase
        if phase.background is None:
            return self.pgbench.run(pgbench)
        work = background(phase.background)
        if work is PG_BASEBACKUP and not self._has_backup_role:
            self.server.make_backup_role()
            self._has_backup_role = True
        beside = BackgroundJob(work, phase, self.server, filesystems_of(self.planned.configuration.target))
        turns: list[BackgroundRun] = []

        def look() -> None:
            self._report_background(phase, beside, turns)
            beside.look()

        begun = tr("{label} started and runs until the phase ends")
        self.recorder.event(BESIDE, begun.format(label=work.label))
        beside.start()
        try:
            summary = self.pgbench.run(replace(pgbench, look=look))
        except BaseException:
            with suppress(FootingError):  # the first error is the one to report
                beside.end()
            self._report_background(phase, beside, turns)
            raise
        beside.end(self.look)
        look()
        if work.after is not None:
            self._do(work.after)
        return summary

    def _report_background(
        self, phase: WorkloadPhase, beside: BackgroundJob, stored: list[BackgroundRun]
    ) -> None:
        """Store every repetition so far, and record an event for each new one."""
        turns = beside.turns
        if len(turns) == len(stored) and self._phases[-1].background.name:
            return
        for turn in turns[len(stored) :]:
            seconds = format_duration(turn.ended_s - turn.started_s)
            stored.append(turn)
            self.recorder.event(BESIDE, f"{beside.work.label}: {seconds}, {_HOW[turn.how]}")
        metadata = BackgroundMetadata(
            name=beside.work.name,
            every_s=phase.every_s,
            max_rate_bytes=phase.max_rate_bytes,
            turns=tuple(
                BackgroundTurn(
                    started_ms=self.recorder.writer.t_ms(turn.started_s),
                    ended_ms=self.recorder.writer.t_ms(turn.ended_s),
                    how=turn.how.value,
                    reason=turn.reason,
                )
                for turn in turns
            ),
        )
        self._phases[-1] = replace(self._phases[-1], background=metadata)
        self._store_phases()

    def _describe(self, turn: PhaseTurn, workload: Workload) -> PhaseMetadata:
        phase, rate = turn.phase, turn.phase.rate
        share = rate if isinstance(rate, RateShare) else None
        if share is not None and not workload.rate_tps:
            message = tr("“{name}” has no rate, because “{of}” completed no transactions.")
            raise PgbenchError(message.format(name=phase.name, of=share.of))
        return PhaseMetadata(
            number=turn.number,
            name=phase.name,
            time=turn.time,
            times=phase.times,
            counts=phase.counts,
            is_own=turn.is_own,
            workload=replace(describe_workload(workload), threads=self._threads(phase)),
            rate_percent=None if share is None else share.percent,
            rate_of=None if share is None else share.of,
            transaction_log_one_in=self._log(turn.number, workload),
        )

    def _keep(self, turn: PhaseTurn, workload: Workload, summary: PgbenchSummary) -> None:
        """Store pgbench's output of a phase, and remember it for the phases after it."""
        self._phases[-1] = replace(self._phases[-1], pgbench=printed_values(summary))
        self._store_phases()
        if turn.is_own:
            self.recorder.pgbench_summary(summary)
        else:
            self.recorder.unknown_lines(summary)
        self._reached.setdefault(turn.phase.name, []).append(summary.tps)
        self._see(workload, summary.tps)

    def _store_phases(self) -> None:
        self.recorder.set_run(RunMetadata(phases=tuple(self._phases)))

    def _means(self) -> dict[str, float]:
        return {name: fmean(found) for name, found in self._reached.items()}

    def _threads(self, phase: WorkloadPhase | None) -> int:
        return self.resolved.threads if phase is None else self.resolved.phase_threads[phase.name]

    # --- sampling of the transaction log

    def _see(self, workload: Workload, tps: float) -> None:
        self._seen[_alike(workload)] = tps

    def _log(self, number: int, workload: Workload) -> int:
        """Return the sampling of a phase: the campaign's, else from the throughput of a similar workload."""
        if number not in self.log_one_in:
            self.log_one_in[number] = sampling_rate(workload, self._seen.get(_alike(workload)))
        return self.log_one_in[number]

    # --- maintenance before a phase

    def _maintain(self, turn: PhaseTurn) -> None:
        name = PhaseName(Phase.MAINTENANCE, turn.number)
        done: list[MaintenanceMetadata] = []
        with self.begin(name, None):
            for work in map(maintenance, turn.phase.maintenance):
                running = RunningCommand(phase=name.text, argv=(work.label,))
                self.recorder.set_run(RunMetadata(running_command=running))
                started_s, how, why = time.monotonic(), WorkEnd.DONE, ""
                try:
                    self._do(work)
                except FootingError as error:
                    how, why = WorkEnd.FAILED, error.message
                    raise
                except BaseException:
                    how = WorkEnd.ENDED
                    raise
                finally:
                    seconds = time.monotonic() - started_s
                    done.append(
                        MaintenanceMetadata(name=work.name, duration_s=seconds, how=how.value, reason=why)
                    )
                    self._phases[-1] = replace(self._phases[-1], maintenance=tuple(done))
                    self._store_phases()
                    self.recorder.event(MAINTAINED, _event_sentence(work, done[-1]), values_of(done[-1]))

    def _do(self, work: Maintenance) -> None:
        """Do one piece of maintenance to its end.

        Raises:
            ServerError: the server refuses, or had not ended in time.
            StorageError: root's helper failed; carries its message, also for a timeout.
            TargetError: the target has nothing that root could maintain in this way.
        """
        if work.done_by is not DoneBy.ROOT:
            self._do_by_server(work)
            return
        found: list[MaintenanceEnd] = []
        self.wait(
            lambda: found.append(self.server.maintain_storage(work.name)),
            look=self.look,
            cancel=self.server.end_maintenance,
        )
        self.server.check_target()  # records the commands that root ran
        (ended,) = found
        if not ended.is_done:
            reason = ended.message or tr("the root helper ended it")
            raise StorageError(tr("{label} failed: {reason}").format(label=work.label, reason=reason))

    def _do_by_server(self, work: Maintenance) -> None:
        end_s = time.monotonic() + work.limit_s

        def look() -> None:
            self.look()
            if time.monotonic() > end_s:
                message = tr("{label} did not finish within {limit}; pgFooting stopped it and the run.")
                raise ServerError(message.format(label=work.label, limit=format_duration(work.limit_s)))

        self.wait(partial(self.server.maintain, (work.statement,)), look=look, cancel=self.server.stop)


def _event_sentence(work: Maintenance, done: MaintenanceMetadata) -> str:
    """Return the sentence of an event: the work, how it ended, and how long it took."""
    words = {
        WorkEnd.DONE: "{label}: {seconds}",
        WorkEnd.ENDED: tr("{label} was stopped after {seconds}"),
        WorkEnd.FAILED: tr("{label} failed after {seconds}"),
    }[WorkEnd(done.how)]
    return words.format(label=work.label, seconds=format_duration(done.duration_s))


def _alike(workload: Workload) -> Workload:
    """Return a workload without its length, as a key for expected transactions a second."""
    return replace(workload, phases=(), duration_s=None, transactions=1, warmup_s=0)
