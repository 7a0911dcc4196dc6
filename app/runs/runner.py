"""One run from its first check to its removal: the state machine of the phases.

Everything that starts a program happens in the main thread, because the kernel ends a child when the
*thread* that started it ends. Whatever happens - an error, a stop, a vanished disk - the teardown runs,
and what was measured until then is kept. Of several errors the cause is told: a target that vanished
before the server that died of it, the server before the pgbench that lost its connections.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent import futures
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from app.domain.configuration import PlannedRun, Script, Workload
from app.domain.errors import (
    FootingError,
    PgbenchError,
    RunFileError,
    TargetLostError,
)
from app.domain.text import tr
from app.domain.units import MIB
from app.hosts.host import Host, Part
from app.hosts.site import Site
from app.hosts.sweeping import Deed
from app.postgres.pgbench_argv import (
    BenchmarkRequest,
    Connection,
    PgbenchProgram,
    TransactionLog,
    benchmark_argv,
    initialise_argv,
    warmup_workload,
)
from app.postgres.pgbench_log import LogFormat
from app.postgres.pgbench_summary import PgbenchSummary, parse_summary
from app.postgres.sampling import sampling_rate
from app.postgres.server import Server, StopMode
from app.probes.base import ProbeContext
from app.probes.environment import read_changing_facts, read_facts
from app.probes.registry import make_probes
from app.probes.sampler import Sampler
from app.process import spawn
from app.runs.children import end_child, kill_children, outcome_of
from app.runs.control import Request
from app.runs.failures import crash_of_server, failure_of_pgbench, footing_error
from app.runs.pgbench_words import crash_reason, failure_reason
from app.runs.plan import ResolvedConfiguration
from app.runs.progress import Listener
from app.runs.recorder import Recorder
from app.runs.runfile import Json, Phase, RunState
from app.runs.stop import StopRequestedError, StopSwitch

DATABASE: Final = "pgbench"
LOG_PREFIX: Final = "transactions"
RESERVE_BYTES: Final = 64 * MIB
"""A run ends with an error of its own before the target is so full that PostgreSQL panics."""

_CANCEL_AGAIN_S: Final = 0.05


@dataclass(slots=True)
class RunOutcome:
    """How the phases ended; the campaign makes the result of it.

    Attributes:
        state: done, stopped or failed.
        discard: the person wants the run file removed.
        error: why it failed.
        measured: whether the phase `measure` was reached.
        measured_tps: what pgbench reported, to choose the sampling of later runs.
    """

    state: RunState = RunState.FAILED
    discard: bool = False
    error: FootingError | None = None
    measured: bool = False
    measured_tps: float | None = None


@dataclass(slots=True)
class Runner:
    """Executes one planned run.

    Attributes:
        planned: which one.
        resolved: its configuration on this machine.
        host: gives storage and folders, and takes them back.
        recorder: writes the run file.
        listener: watches.
        switch: asked often whether a person wants to stop.
        expected_tps: from an earlier run of this campaign; None at the first.
        log_one_in: the sampling of the transaction log that the campaign uses; None before it is chosen.
    """

    planned: PlannedRun
    resolved: ResolvedConfiguration
    host: Host
    recorder: Recorder
    listener: Listener
    switch: StopSwitch
    log_one_in: int | None = None
    outcome: RunOutcome = field(default_factory=RunOutcome)
    _site: Site | None = field(default=None, init=False)
    _server: Server | None = field(default=None, init=False)
    _sampler: Sampler | None = field(default=None, init=False)
    _context: ProbeContext | None = field(default=None, init=False)

    @property
    def _workload(self) -> Workload:
        return self.planned.configuration.workload

    def execute(self) -> RunOutcome:
        """Run all phases and the teardown; never raises for what goes wrong in a run."""
        outcome = self.outcome
        try:
            self._phases()
            outcome.state = RunState.DONE
        except StopRequestedError as stop:
            outcome.state = RunState.STOPPED
            outcome.discard = stop.request is Request.DISCARD
        except Exception as error:  # noqa: BLE001 - a border: one run never ends the campaign with a traceback
            outcome.error = self._cause_of(footing_error(error))
        problem = self._teardown()
        if problem is not None:
            outcome.error = outcome.error or problem
            outcome.state = RunState.FAILED
        return outcome

    def _cause_of(self, error: FootingError) -> FootingError:
        """Return what is behind an error of server or pgbench: a lost target, a crash of the server."""
        if self._site is None or isinstance(error, RunFileError | TargetLostError):
            return error
        try:
            self.host.check_alive(self._site, RESERVE_BYTES)
        except TargetLostError as lost:
            lost.__cause__ = error
            return lost
        crash = crash_reason(self._server.log_text()) if self._server is not None else ""
        if not crash:
            return error
        crashed = crash_of_server(crash)
        crashed.__cause__ = error
        return crashed

    def _phases(self) -> None:
        with self._phase(Phase.PREPARE):
            target = self.planned.configuration.target
            site = self._site = self.host.prepare(target, self.resolved.need_bytes, self._keep_writing)
            for note in site.notes:
                self.recorder.event("note", note)
            self.recorder.facts("before", read_facts(site.data_directory))
            self._record_health("before")
        with self._phase(Phase.INITDB):
            server = self._make_server(site)
        with self._phase(Phase.LOAD):
            self._start(site, server)
            server.create_database(DATABASE)
            self._load(site, server)
        with self._phase(Phase.SETTLE):
            # Loading has vacuumed and analysed. The checkpoint gives every run the same start: nothing dirty.
            self._in_background(
                server.checkpoint,
                look=lambda: self._breathe(site, server),
                cancel=lambda: server.stop(mode=StopMode.IMMEDIATE),
            )
            self.host.loaded(site, self._keep_writing)
            self.recorder.server_facts(server)
        warm_tps: float | None = None
        if self._workload.warmup_s:
            with self._phase(Phase.WARM_UP, self._workload.warmup_s):
                warm_tps = self._benchmark(site, server, Phase.WARM_UP).tps
        with self._phase(Phase.MEASURE, self._workload.duration_s):
            self.outcome.measured = True
            if self.log_one_in is None:
                self.log_one_in = sampling_rate(self._workload, warm_tps)
            summary = self._benchmark(site, server, Phase.MEASURE)
            self.outcome.measured_tps = summary.tps
        with self._phase(Phase.COLLECT):
            self.recorder.facts("after", read_changing_facts())
            self._record_health("after")

    @contextmanager
    def _phase(self, phase: Phase, planned_s: float | None = None) -> Iterator[None]:
        self.switch.check()
        self.recorder.begin_phase(phase)
        self.listener.phase_started(phase, planned_s)
        yield

    def _make_server(self, site: Site) -> Server:
        server = self._server = Server(
            installation=self.resolved.installation,
            account=site.account,
            data_directory=site.data_directory,
            socket_directory=site.socket_directory,
            log_path=f"{site.private_directory}/server.log",
            settings=self.resolved.settings,
            record=self.recorder.command,
            wal_directory=site.wal_directory,
            hold=self.host.hold(Part.SERVER),
        )

        def make() -> None:
            server.initdb(checksums=self.planned.configuration.postgresql.checksums)
            server.write_configuration()

        self._in_background(make, look=lambda: self._look_at(site), cancel=kill_children)
        return server

    def _start(self, site: Site, server: Server) -> None:
        server.start()
        self._observe(site, server)

    def _observe(self, site: Site, server: Server) -> None:
        """Follow a server that runs: its log and, once a second, all probes."""
        self._context = context = ProbeContext(
            data_directory=site.data_directory,
            postmaster_pid=server.pid,
            conninfo=server.conninfo,
            server_major=self.resolved.installation.major,
            pgbench_threads=self.resolved.threads,
            wal_directory=site.wal_directory,
        )
        self.recorder.follow_server_log(server.log_path)
        self._sampler = Sampler(make_probes(), context, self.recorder.tick)
        self._sampler.start()

    def _program(self) -> PgbenchProgram:
        installation = self.resolved.installation
        return PgbenchProgram(installation.program("pgbench"), installation.major)

    def _load(self, site: Site, server: Server) -> None:
        connection = Connection(site.socket_directory, database=DATABASE)
        argv = initialise_argv(self._program(), connection, self.resolved.scale.scale)
        child = self._spawn(site, argv, Phase.LOAD.value)
        started_s = time.monotonic()
        try:
            self._watch(site, server, child)
        except BaseException:
            end_child(child)
            with suppress(FootingError):  # the first error is the one to tell
                self._record_load(site, argv, child, started_s)
            raise
        stderr = self._record_load(site, argv, child, started_s)
        if child.returncode:
            server.check_running()
            message = tr("pgbench could not load the data: {reason}")
            reason = self._words(site, stderr) or tr("it ended with status {code}")
            raise PgbenchError(message.format(reason=reason.format(code=child.returncode)))

    def _record_load(
        self, site: Site, argv: tuple[str, ...], child: subprocess.Popen[bytes], started_s: float
    ) -> str:
        stderr = self.recorder.output(site, "load.stderr", "load.stderr")
        self.recorder.command(outcome_of(site, argv, child, started_s, stderr=stderr))
        return stderr

    def _benchmark(self, site: Site, server: Server, phase: Phase) -> PgbenchSummary:
        """Run pgbench once and return its own figures.

        Raises:
            PgbenchError: it failed; carries its words.
            ServerError: it failed because the server ended.
        """
        measures = phase is Phase.MEASURE
        workload = self._workload if measures else warmup_workload(self._workload)
        log = None
        if measures and self.log_one_in is not None:
            log = TransactionLog(f"{site.private_directory}/{LOG_PREFIX}", self.log_one_in)
        request = BenchmarkRequest(
            # Another seed than the measured run's: it shall not repeat the same rows in the same order.
            seed=self.planned.seed if measures else self.planned.seed + 1,
            scale=self.resolved.scale.scale,
            threads=self.resolved.threads,
            script_paths=self._script_paths(site),
            log=log,
        )
        connection = Connection(site.socket_directory, database=DATABASE)
        argv = benchmark_argv(self._program(), connection, workload, request)
        child = self._spawn(site, argv, phase.value)
        started_s = time.monotonic()
        try:
            self._follow(site, phase, child, started_s, log)
            self._watch(site, server, child)
        except BaseException:
            end_child(child)
            with suppress(FootingError):  # the first error is the one to tell
                self._take_in(site, phase, argv, child, started_s)
            raise
        stdout, stderr = self._take_in(site, phase, argv, child, started_s)
        if child.returncode:
            raise self._failure_of_pgbench(site, server, child.returncode, stderr)
        summary = parse_summary(stdout)
        if measures:
            self.recorder.pgbench_summary(summary)
        return summary

    def _follow(
        self,
        site: Site,
        phase: Phase,
        child: subprocess.Popen[bytes],
        started_s: float,
        log: TransactionLog | None,
    ) -> None:
        if self._context is not None:
            self._context.pgbench_pid = child.pid
        self.recorder.begin_pgbench(phase, site, started_s)
        if log is not None:
            log_format = LogFormat(has_lag=self._workload.rate_tps is not None)
            self.recorder.follow_transactions(log, child.pid, log_format)

    def _take_in(
        self,
        site: Site,
        phase: Phase,
        argv: tuple[str, ...],
        child: subprocess.Popen[bytes],
        started_s: float,
    ) -> tuple[str, str]:
        """Store what an ended pgbench has left; return what it printed to stdout and stderr."""
        ended = outcome_of(site, argv, child, started_s)
        if self._context is not None:
            self._context.pgbench_pid = None
        stderr = self.recorder.end_pgbench(
            phase, started_s + ended.duration_s, complete=child.returncode == 0
        )
        stdout = self.recorder.output(site, f"{phase.value}.stdout", f"{phase.value}.stdout")
        self.recorder.command(replace(ended, stdout=stdout))
        return stdout, stderr

    def _failure_of_pgbench(self, site: Site, server: Server, code: int, stderr: str) -> FootingError:
        """Return the error for a pgbench that ended with another status than 0."""
        try:
            server.check_running()
        except FootingError as error:
            return error
        reason = self._words(site, stderr)
        return failure_of_pgbench(code, reason, was_killed=not self.recorder.client_aborted)

    def _words(self, site: Site, stderr: str) -> str:
        paths = {
            f"{site.private_directory}/{name}": script.path or "" for name, script in self._files().items()
        }
        return failure_reason(stderr, self._workload.scripts, paths)

    def _files(self) -> dict[str, Script]:
        """Return the user's own scripts by the names that they get in the private folder."""
        files = [script for script in self._workload.scripts if script.builtin is None]
        return {f"script{number}.sql": script for number, script in enumerate(files, start=1)}

    def _script_paths(self, site: Site) -> tuple[str, ...]:
        return tuple(
            self.host.write_private(site, name, script.text) for name, script in self._files().items()
        )

    def _spawn(self, site: Site, argv: tuple[str, ...], name: str) -> subprocess.Popen[bytes]:
        # A program is recorded when it has ended; until then this says which one runs.
        self.recorder.set_run({"running_command": {"phase": name, "argv": list(argv)}})
        folder = Path(site.private_directory)
        return spawn(
            argv,
            account=site.account,
            death_signal=signal.SIGKILL,
            stdout=folder / f"{name}.stdout",
            stderr=folder / f"{name}.stderr",
            cwd=str(folder),
            hold=self.host.hold(Part.PGBENCH),
        )

    def _in_background(
        self, work: Callable[[], None], *, look: Callable[[], object], cancel: Callable[[], object]
    ) -> None:
        """Do work that waits for other programs, while this thread goes on writing and hears a stop.

        Args:
            work: done in another thread; what it starts must have ended when it returns.
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
        """Hear a stop, and once a second write what is new: while the host is waited for."""
        self.switch.check()
        if time.monotonic() >= self.recorder.next_flush_s:
            self.recorder.flush()

    def _record_health(self, moment: str) -> None:
        health = self.host.health()
        if health is not None:
            told: Json = {number: dict(values) for number, values in health.items()}
            self.recorder.facts(moment, {"disk_health": told})

    def _breathe(self, site: Site, server: Server) -> None:
        """Once a second: write what is new, and see whether server and target are still there."""
        if self._look_at(site):
            server.check_running()

    def _look_at(self, site: Site) -> bool:
        """Once a second: write what is new, see whether the target is there; return whether it was time."""
        if time.monotonic() < self.recorder.next_flush_s:
            return False
        second = self.recorder.flush()
        if second is not None:
            self.listener.second(second)
        self.host.check_alive(site, RESERVE_BYTES)
        return True

    def _watch(self, site: Site, server: Server, child: subprocess.Popen[bytes]) -> None:
        """Write a row a second until the child has ended, or is ended because a client of it gave up.

        Raises:
            StopRequestedError: a person stops.
            ServerError: the server ended.
            TargetLostError: the target vanished or filled up.
            RunFileError: the run file cannot be written.
        """
        ended = os.pidfd_open(child.pid)
        try:
            while child.poll() is None:
                self.switch.wait(self.recorder.next_flush_s, ended)
                self._breathe(site, server)
                if self.recorder.client_aborted:  # the others would go on for hours, for nothing
                    end_child(child)
                    return
        finally:
            os.close(ended)

    def _teardown(self) -> FootingError | None:
        """Stop the server and give everything back; goes on after an error and returns the first."""
        problems: list[FootingError] = []
        self.listener.phase_started(Phase.TEARDOWN, None)
        for step in (self._end_recording, self._stop_server, self._keep_server_log, self._release):
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

    def _stop_server(self) -> None:
        # Immediate: the data directory is thrown away, a checkpoint of it would only cost time and wear.
        server, self._server = self._server, None
        if server is not None:
            server.stop(mode=StopMode.IMMEDIATE)

    def _keep_server_log(self) -> None:
        if self._site is not None:
            self.recorder.keep_server_log(self._site)

    def _release(self) -> None:
        site, self._site = self._site, None
        if site is None:
            return
        for event in self.host.release(site):
            if event.deed is Deed.KEPT:
                self.listener.told("left-over", event.text)
                self.recorder.event("left-over", event.text)
