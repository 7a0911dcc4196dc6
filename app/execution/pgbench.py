"""Run pgbench: load, warm up, measure; check it once a second, and store its output when it has ended."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from app.domain.campaign.configuration import PlannedRun, Script, Workload
from app.domain.campaign.phases import script_files
from app.domain.errors import FootingError, PgbenchError, ServerError
from app.domain.run import Phase, PhaseName
from app.domain.text import tr
from app.execution.children import (
    LOADED_AT_LEAST,
    PgbenchBounds,
    end_child,
    failure_of_pgbench,
    full_disk,
    outcome_of,
)
from app.execution.control import Cancellable
from app.execution.resolve import ResolvedConfiguration
from app.hosts.folders.private_folder import write_private
from app.hosts.server_under_test import PgbenchPlace, ServerUnderTest
from app.postgres.configuration_text import roles_of
from app.postgres.pgbench.argv import (
    BenchmarkRequest,
    PgbenchProgram,
    TransactionLog,
    benchmark_argv,
    loading_argvs,
    log_format,
)
from app.postgres.pgbench.scale import load_script
from app.postgres.pgbench.summary import LoadTimes, PgbenchSummary, load_times, parse_summary
from app.probes.base.probe import ProbeContext
from app.probes.sampling.sampler import WholePhase
from app.process.starter import spawn
from app.recording.pgbench_streams import failure_reason
from app.recording.recorder import Recorder
from app.runfile.metadata.run_metadata import RunMetadata, RunningCommand

LOG_PREFIX: Final = "transactions"
LOAD_SCRIPT: Final = "load.sql"
"""Name of the script that loads data of a given compressibility, in the folder and in the run file."""
_GRACE_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class PgbenchTurn:
    """One pgbench that warms up or measures.

    Attributes:
        name: of the phase in which it runs.
        workload: for its arguments.
        seed: of its random numbers.
        threads: as resolved on this machine.
        log_one_in: the sampling of its transaction log; None for no log.
        look: called often while it runs; raises if background work failed.
    """

    name: PhaseName
    workload: Workload
    seed: int
    threads: int
    log_one_in: int | None = None
    look: Callable[[], object] = bool


@dataclass(slots=True)
class PgbenchRuns:
    """Every pgbench of one run.

    Attributes:
        planned: the run.
        resolved: its configuration on this machine.
        server: the server under test.
        place: folder, environment and limits of pgbench.
        recorder: writes the run file.
        switch: polled often for the user's request to stop.
        breathe: called often while pgbench runs; raises if server or target are gone.
        context: of the probes, which learn pgbench's process id from it; None while there are none.
    """

    planned: PlannedRun
    resolved: ResolvedConfiguration
    server: ServerUnderTest
    place: PgbenchPlace
    recorder: Recorder
    switch: Cancellable
    breathe: Callable[[], None]
    context: ProbeContext | None = field(default=None, init=False)
    _written: dict[Script, str] | None = field(default=None, init=False)

    @property
    def _workload(self) -> Workload:
        return self.planned.configuration.workload

    def load(self) -> LoadTimes:
        """Load the data set, and return its times.

        Raises:
            PgbenchError: it failed; carries its message.
        """
        ratio, script = self._workload.compressibility, None
        if ratio is not None:
            script = write_private(self.place.folder, LOAD_SCRIPT, load_script(ratio), self.recorder.command)
            self.recorder.output(self.place.folder, LOAD_SCRIPT, LOAD_SCRIPT)
        spaces = roles_of(self.resolved.configuration.target)
        argvs = loading_argvs(self._program(), self.server.address, self.resolved.scale.scale, script, spaces)
        lines = [
            self._load(argv, Phase.LOAD.value if number == 1 else f"{Phase.LOAD.value}{number}")
            for number, argv in enumerate(argvs, start=1)
        ]
        return load_times(lines)

    def _load(self, argv: tuple[str, ...], name: str) -> tuple[str, float]:
        """Run one of the loading programs; its output is stored under this name.

        Returns:
            Its standard error, and its seconds.
        """
        child = self._spawn(argv, name, Phase.LOAD.value)
        started_s = time.monotonic()
        bounds = self._bounds(name, started_s, self.resolved.scale.data_bytes / LOADED_AT_LEAST)
        try:
            self._watch(child, bounds)
        except BaseException as error:
            end_child(child)
            stderr = ""
            with suppress(FootingError):  # the first error is the one to report
                stderr = self._record_load(argv, child, started_s, name)
            _raise_if_full_disk(stderr, error)
            raise
        ended_s = time.monotonic()
        stderr = self._record_load(argv, child, started_s, name)
        if child.returncode:
            bounds.check_failed(stderr)
            full = self._full_disk(stderr)
            if full is not None:
                raise full
            self.server.check_running(_GRACE_S)
            message = tr("pgbench could not load the data: {reason}")
            reason = self._words(stderr, self._workload) or tr("it ended with status {code}")
            raise PgbenchError(message.format(reason=reason.format(code=child.returncode)))
        return stderr, ended_s - started_s

    def _record_load(
        self, argv: tuple[str, ...], child: subprocess.Popen[bytes], started_s: float, name: str
    ) -> str:
        stderr = self.recorder.output(self.place.folder, f"{name}.stderr", f"{name}.stderr")
        self.recorder.command(outcome_of(self.place.folder.account, argv, child, started_s, stderr=stderr))
        return stderr

    def run(self, turn: PgbenchTurn) -> PgbenchSummary:
        """Run pgbench once and return its own figures.

        Raises:
            PgbenchError: it failed; carries its message.
            ServerError: it failed because the server ended.
        """
        name, log = turn.name, None
        if turn.log_one_in is not None:
            prefix = f"{self.place.folder.path}/{LOG_PREFIX}{name.number or ''}"
            log = TransactionLog(prefix, turn.log_one_in)
        request = BenchmarkRequest(
            seed=turn.seed,
            scale=self.resolved.scale.scale,
            threads=turn.threads,
            script_paths=self._script_paths(turn.workload),
            log=log,
        )
        argv = benchmark_argv(self._program(), self.server.address, turn.workload, request)
        whole = None
        if name.phase is Phase.MEASURE and self.context is not None:
            whole = WholePhase(self.context)
        child = self._spawn(argv, name.stem, name.text)
        started_s = time.monotonic()
        bounds = self._bounds(name.stem, started_s, turn.workload.duration_s)
        try:
            self._follow(turn, child, started_s, log)
            self._watch(child, bounds, turn.look)
            if whole is not None:
                self.recorder.whole_phase(*whole.read())
        except BaseException as error:
            if whole is not None:
                whole.close()
            end_child(child)
            stderr = ""
            with suppress(FootingError):  # the first error is the one to report
                _, stderr = self._take_in(name, argv, child, started_s)
            _raise_if_full_disk(stderr, error)
            raise
        stdout, stderr = self._take_in(name, argv, child, started_s)
        if child.returncode:
            bounds.check_failed(stderr)
            raise self._failure_of_pgbench(child.returncode, stderr, turn.workload)
        return parse_summary(stdout)

    def _follow(
        self,
        turn: PgbenchTurn,
        child: subprocess.Popen[bytes],
        started_s: float,
        log: TransactionLog | None,
    ) -> None:
        if self.context is not None:
            self.context.pgbench_pid = child.pid
        name = turn.name
        self.recorder.begin_pgbench(name.phase, self.place.folder, started_s, number=name.number)
        if log is not None:
            self.recorder.follow_transactions(log, child.pid, log_format(turn.workload))

    def _take_in(
        self,
        name: PhaseName,
        argv: tuple[str, ...],
        child: subprocess.Popen[bytes],
        started_s: float,
    ) -> tuple[str, str]:
        """Store the output of an ended pgbench; return its stdout and stderr."""
        ended = outcome_of(self.place.folder.account, argv, child, started_s)
        if self.context is not None:
            self.context.pgbench_pid = None
        stderr = self.recorder.end_pgbench(
            name.phase, started_s + ended.duration_s, complete=child.returncode == 0, number=name.number
        )
        stdout = self.recorder.output(self.place.folder, f"{name.stem}.stdout", f"{name.stem}.stdout")
        self.recorder.command(replace(ended, stdout=stdout))
        return stdout, stderr

    def _failure_of_pgbench(self, code: int, stderr: str, workload: Workload) -> FootingError:
        """Return the error for a pgbench that ended with a status other than 0."""
        full = self._full_disk(stderr)
        if full is not None:
            return full
        try:
            # When a postmaster is killed, the kernel closes its files before it notifies the parent: by then
            # pgbench has lost its backends.
            self.server.check_running(_GRACE_S)
        except FootingError as error:
            return error
        reason = self._words(stderr, workload)
        return failure_of_pgbench(code, reason, was_killed=not self.recorder.client_aborted)

    def _full_disk(self, stderr: str) -> FootingError | None:
        """Return the error for a server without room; asks the server if its messages are not understood."""
        return full_disk(stderr) or full_disk("", self.server.no_room())

    def _words(self, stderr: str, workload: Workload) -> str:
        folder = self.place.folder.path
        files = script_files(self._workload)
        paths = {f"{folder}/{name}": script.path or "" for script, name in files.items()}
        return failure_reason(stderr, workload.scripts, paths)

    def _script_paths(self, workload: Workload) -> tuple[str, ...]:
        """Return the paths of a phase's own scripts; every phase reads the same files."""
        if self._written is None:
            self._written = {
                script: write_private(self.place.folder, name, script.text, self.recorder.command)
                for script, name in script_files(self._workload).items()
            }
        return tuple(self._written[script] for script in workload.scripts if script.builtin is None)

    def _program(self) -> PgbenchProgram:
        installation = self.resolved.installation
        return PgbenchProgram(installation.program("pgbench"), installation.major)

    def _spawn(self, argv: tuple[str, ...], name: str, phase: str = "") -> subprocess.Popen[bytes]:
        # A program is recorded when it has ended; until then this records which one runs.
        self.recorder.set_run(
            RunMetadata(running_command=RunningCommand(phase=phase or name, argv=tuple(argv)))
        )
        folder = Path(self.place.folder.path)
        return spawn(
            argv,
            account=self.place.folder.account,
            death_signal=signal.SIGKILL,
            stdout=folder / f"{name}.stdout",
            stderr=folder / f"{name}.stderr",
            cwd=str(folder),
            env=self.place.environment,
            hold=self.place.hold,
            memory_bytes=self.place.memory_bytes,
        )

    def _bounds(self, name: str, started_s: float, duration_s: float | None) -> PgbenchBounds:
        due_s = None if duration_s is None else started_s + duration_s
        return PgbenchBounds(self.place, Path(self.place.folder.path) / f"{name}.stderr", due_s)

    def _watch(
        self, child: subprocess.Popen[bytes], bounds: PgbenchBounds, look: Callable[[], object] = bool
    ) -> None:
        """Write a row a second until the child has ended, or end it because one of its clients gave up.

        Raises:
            StopRequestedError: the user stops.
            ServerError: the server ended, or sends too much.
            TargetLostError: the target vanished or filled up.
            RunFileError: the run file cannot be written.
        """
        ended = os.pidfd_open(child.pid)
        try:
            while child.poll() is None:
                self.switch.wait(self.recorder.next_flush_s, ended)
                self.breathe()
                look()
                bounds.check(child.pid)
                if self.recorder.client_aborted:  # the other clients would continue for hours, in vain
                    end_child(child)
                    return
        finally:
            os.close(ended)


def _raise_if_full_disk(stderr: str, error: BaseException) -> None:
    """Raise if the server reported a full disk to pgbench.

    Args:
        stderr: pgbench's output.
        error: of the run; only an error of the server can result from a full disk.

    Raises:
        TargetLostError: it did.
    """
    full = full_disk(stderr) if isinstance(error, ServerError) else None
    if full is not None:
        raise full from error
