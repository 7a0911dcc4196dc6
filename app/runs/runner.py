"""One run from its first check to its removal: the state machine of the phases.

Everything that starts a program happens in the main thread, because the kernel ends a child when the
*thread* that started it ends. Whatever happens - an error, a stop, a vanished disk - the teardown runs,
and what was measured until then is kept.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from app.domain.configuration import PlannedRun, Workload
from app.domain.errors import FootingError, InternalError, PgbenchError
from app.domain.text import tr
from app.domain.units import MIB
from app.hosts.local import LocalHost, Site
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
from app.process import CommandOutcome, spawn
from app.runs.control import Request
from app.runs.plan import ResolvedConfiguration
from app.runs.progress import Listener
from app.runs.recorder import Recorder
from app.runs.runfile import Phase, RunState
from app.runs.stop import StopRequestedError, StopSwitch

DATABASE: Final = "pgbench"
LOG_PREFIX: Final = "transactions"
STOP_PGBENCH_S: Final = 3.0
"""SIGINT ends pgbench at once; what still runs after this is killed."""

RESERVE_BYTES: Final = 64 * MIB
"""A run ends with an error of its own before the target is so full that PostgreSQL panics."""

_log = logging.getLogger(__name__)


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
        host: gives and takes back the folders.
        recorder: writes the run file.
        listener: watches.
        switch: asked often whether a person wants to stop.
        expected_tps: from an earlier run of this campaign; None at the first.
        log_one_in: the sampling of the transaction log that the campaign uses; None before it is chosen.
    """

    planned: PlannedRun
    resolved: ResolvedConfiguration
    host: LocalHost
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
        except FootingError as error:
            outcome.error = error
        except Exception as error:  # noqa: BLE001 - a border: one run never ends the campaign with a traceback
            _log.debug("run failed", exc_info=error)
            outcome.error = InternalError.of(error)
        try:
            self._teardown()
        except FootingError as error:
            outcome.error = outcome.error or error
            outcome.state = RunState.FAILED
        return outcome

    def _phases(self) -> None:
        with self._phase(Phase.PREPARE):
            target = self.planned.configuration.target
            site = self._site = self.host.prepare(target, self.resolved.need_bytes)
            for note in site.notes:
                self.recorder.event("note", note)
            self.recorder.facts("before", read_facts(site.data_directory))
        with self._phase(Phase.INITDB):
            server = self._make_server(site)
        with self._phase(Phase.LOAD):
            self._start(site, server)
            server.create_database(DATABASE)
            self._load(site, server)
        with self._phase(Phase.SETTLE):
            # Loading has vacuumed and analysed. The checkpoint gives every run the same start: nothing dirty.
            self._in_background(site, server, server.checkpoint)
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
        )
        server.initdb(checksums=self.planned.configuration.postgresql.checksums)
        server.write_configuration()
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
        child = self._spawn(site, argv, "load")
        started_s = time.monotonic()
        try:
            self._watch(site, server, child)
        finally:
            self._end(child)
        stderr = self.recorder.output(site, "load.stderr", "load.stderr")
        name, code = site.account.name, child.returncode
        duration_s = time.monotonic() - started_s
        self.recorder.command(CommandOutcome(argv, name, started_s, duration_s, code, "", stderr))
        if code:
            server.check_running()
            message = tr("pgbench could not load the data: {reason}")
            raise PgbenchError(message.format(reason=_last_line(stderr) or code))

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
        if self._context is not None:
            self._context.pgbench_pid = child.pid
        self.recorder.begin_pgbench(phase, site, started_s)
        if log is not None:
            log_format = LogFormat(has_lag=workload.rate_tps is not None)
            self.recorder.follow_transactions(log, child.pid, log_format)
        try:
            self._watch(site, server, child)
        finally:
            self._end(child)
            ended_s = time.monotonic()
            if self._context is not None:
                self._context.pgbench_pid = None
            stderr = self.recorder.end_pgbench(phase, ended_s, complete=child.returncode == 0)
            stdout = self.recorder.output(site, f"{phase.value}.stdout", f"{phase.value}.stdout")
            code = child.returncode
            name, duration_s = site.account.name, ended_s - started_s
            self.recorder.command(CommandOutcome(argv, name, started_s, duration_s, code, stdout, ""))
        if code:
            server.check_running()
            raise PgbenchError(
                tr("pgbench ended with status {code}: {reason}").format(
                    code=code, reason=_last_line(stderr) or tr("it said nothing")
                ),
                hint=tr("What was measured until then is kept."),
            )
        summary = parse_summary(stdout)
        if measures:
            self.recorder.pgbench_summary(summary)
        return summary

    def _script_paths(self, site: Site) -> tuple[str, ...]:
        files = [script for script in self._workload.scripts if script.builtin is None]
        return tuple(
            self.host.write_private(site, f"script{number}.sql", script.text)
            for number, script in enumerate(files, start=1)
        )

    def _spawn(self, site: Site, argv: tuple[str, ...], name: str) -> subprocess.Popen[bytes]:
        folder = Path(site.private_directory)
        return spawn(
            argv,
            account=site.account,
            death_signal=signal.SIGKILL,
            stdout=folder / f"{name}.stdout",
            stderr=folder / f"{name}.stderr",
            cwd=str(folder),
        )

    def _in_background(self, site: Site, server: Server, work: Callable[[], None]) -> None:
        """Do work that waits for the server, while this thread goes on writing and hears a stop."""
        with ThreadPoolExecutor(1, "server-work") as pool:
            future = pool.submit(work)
            try:
                while not future.done():
                    self.switch.wait(min(self.recorder.next_flush_s, time.monotonic() + 0.05))
                    self._breathe(site, server)
            except BaseException:
                server.stop(mode=StopMode.IMMEDIATE)  # which ends the wait of the other thread
                raise
            future.result()

    def _breathe(self, site: Site, server: Server) -> None:
        """Once a second: write what is new, and see whether server and target are still there."""
        if time.monotonic() < self.recorder.next_flush_s:
            return
        second = self.recorder.flush()
        if second is not None:
            self.listener.second(second)
        server.check_running()
        self.host.check_alive(site, RESERVE_BYTES)

    def _watch(self, site: Site, server: Server, child: subprocess.Popen[bytes]) -> None:
        """Write a row a second until the child has ended.

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
        finally:
            os.close(ended)

    def _end(self, child: subprocess.Popen[bytes]) -> None:
        """End pgbench gently, then hard; without effect where it ended by itself."""
        for number, patience_s in ((signal.SIGINT, STOP_PGBENCH_S), (signal.SIGKILL, None)):
            if child.poll() is not None:
                return
            child.send_signal(number)
            try:
                child.wait(patience_s)
            except subprocess.TimeoutExpired:
                continue

    def _teardown(self) -> None:
        """Stop the server and give everything back; goes on after an error and tells the first.

        Raises:
            FootingError: something could not be stopped or removed, or the end could not be written.
        """
        problems: list[FootingError] = []
        self.listener.phase_started(Phase.TEARDOWN, None)
        for step in (self._end_recording, self._stop_server, self._release):
            try:
                step()
            except FootingError as error:
                problems.append(error)
        if problems:
            raise problems[0]

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

    def _release(self) -> None:
        site, self._site = self._site, None
        if site is not None:
            self.recorder.keep_server_log(site)
            self.host.release(site)


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else ""
