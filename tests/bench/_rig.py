"""A real server with a loaded database, measured by the product's own parts or left alone.

The data directory lies in memory unless told otherwise. With `cpu` everything - postmaster, backends,
pgbench, and all threads of this process, which is the runner - is pinned to that one CPU, so that every
nanosecond shows in the TPS.
"""

from __future__ import annotations

import io
import os
import resource
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from rich.console import Console
from typing_extensions import override

from app.cli.commands.run import keep_freed_memory
from app.cli.terminal.progress import Progress
from app.domain.campaign.configuration import (
    BuiltinScript,
    Campaign,
    Configuration,
    MemoryTarget,
    PlannedRun,
    PostgresChoice,
    Script,
    Target,
    Workload,
    interleaved_order,
    with_drawn_order,
)
from app.domain.run import Phase, PhaseName
from app.execution.control import Cancellable
from app.execution.pgbench import PgbenchRuns, PgbenchTurn
from app.execution.phases import Runner
from app.execution.resolve import ResolvedConfiguration, resolve_campaign
from app.hosts.folders.own_folders import server_account
from app.hosts.local import LocalHost
from app.hosts.own_server import OwnServer
from app.hosts.recovery.resource_journal import ResourceJournal
from app.hosts.server_under_test import PgbenchPlace
from app.postgres.pgbench.argv import BenchmarkRequest, TransactionLog, benchmark_argv
from app.postgres.pgbench.summary import PgbenchSummary, parse_summary
from app.probes.sources.postgres_statistics import ServerProbe
from app.probes.sources.processes import Children, ServerTree
from app.process.starter import Account
from app.recording.events import CampaignListener, ProgressReport
from app.recording.recorder import Recorder
from app.runfile.writer import SUFFIX, RunFileWriter
from tests.bench._figures import TICKS_PER_S

SETTINGS = (
    ("shared_buffers", "512MB"),
    ("max_wal_size", "2GB"),  # no checkpoint inside a round
    ("checkpoint_timeout", "30min"),
)
MEMORY = MemoryTarget()
_WARM_S = 1.2
"""Until every probe has its first difference."""
_CONNECTED_S = 10.0
"""Within which every probe that asks the server has a connection, on a machine with other work too."""
_ENDED_S: Final = 5.0
"""Within which the sessions of a pgbench have ended; an autovacuum that began meanwhile may take longer."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one pgbench run needed, in seconds of CPU time.

    Attributes:
        summary: pgbench's own figures.
        pgbench_s: pgbench, with the small Python that starts it.
        server_s: postmaster, backends and all the rest of the server, without `statistics_s`; until the
            sessions of pgbench have ended, which takes tens of milliseconds each: they unmap shared memory.
        own_s: all threads of this process, from before pgbench was started to after its output was stored.
        steady_s: the same between the first and the last second alone.
        steady_transactions: transactions in these seconds.
        steady_length_s: how long they were.
        statistics_s: the backends that answer the probes which ask the server.
    """

    summary: PgbenchSummary
    pgbench_s: float
    server_s: float
    own_s: float = 0.0
    steady_s: float = 0.0
    steady_transactions: float = 0.0
    steady_length_s: float = 0.0
    statistics_s: float = 0.0

    @property
    def transactions(self) -> int:
        """Transactions that pgbench counted."""
        return self.summary.transactions


class Stopwatch(CampaignListener):
    """Passes on what a listener is told and notes CPU time and transactions at every second."""

    def __init__(self, inner: CampaignListener) -> None:
        self._inner = inner
        self.moments: list[tuple[float, float, float]] = []
        self.transactions = 0.0

    @override
    def phase_started(self, phase: Phase, planned_s: float | None) -> None:
        self._inner.phase_started(phase, planned_s)

    @override
    def second(self, second: ProgressReport) -> None:
        self._inner.second(second)
        self.transactions += second.tps
        self.moments.append((time.monotonic(), own_cpu_s(), self.transactions))


def own_cpu_s() -> float:
    """Return the CPU time of all threads of this process."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def children_cpu_s() -> float:
    """Return the CPU time of all children that ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def process_cpu_s(pid: int) -> float:
    """Return the CPU time of a process of one thread, to the nanosecond where the kernel keeps that."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def builtin_workload(script: BuiltinScript, duration_s: int) -> Workload:
    """Return a built-in script, prepared, with 4 clients in 2 threads."""
    return Workload(
        scripts=(Script(script),),
        scale=10,
        size=None,
        clients=4,
        threads=2,
        duration_s=duration_s,
        warmup_s=3,
    )


class Sessions:
    """The sessions of a server that began after this was made.

    Args:
        pid: of the postmaster.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self.others = self._now()

    def _now(self) -> set[int]:
        children = Children(self._pid)
        try:
            return children.pids()
        finally:
            children.close()

    def await_end(self, most_s: float) -> bool:
        """Wait until they have ended, so long at most, and return whether they have."""
        deadline_s = time.monotonic() + most_s
        while self._now() - self.others:
            if time.monotonic() > deadline_s:
                return False
            time.sleep(0.02)
        return True


@dataclass(slots=True)
class Rig:
    """The server and what runs on it.

    Attributes:
        account: whom it runs as.
        resolved: configuration as a campaign resolves it on this machine; the workload is exchanged.
        server: runs while the rig is in use.
        place: where pgbench works.
        library: folder of the run files, on a disk.
        terminal: what the progress display draws on.
    """

    account: Account
    planned: PlannedRun
    resolved: ResolvedConfiguration
    server: OwnServer
    place: PgbenchPlace
    library: Path
    terminal: Console
    _files: int = 0

    def runner(self, workload: Workload, listener: CampaignListener, one_in: int | None = None) -> Runner:
        """Return a runner with a new run file; its server is this rig's."""
        self._files += 1
        configuration = replace(self.planned.configuration, workload=workload)
        recorder = Recorder(RunFileWriter(self.library / f"{self._files}{SUFFIX}"))
        return Runner(
            planned=replace(self.planned, configuration=configuration),
            resolved=self.resolved,
            server=self.server,
            recorder=recorder,
            listener=listener,
            switch=Cancellable(),
            log_one_in={} if one_in is None else {0: one_in},
        )

    def pgbench(self, runner: Runner) -> PgbenchRuns:
        """Return what starts pgbench for a runner."""
        return runner._make_pgbench(self.place)

    def prepare(self) -> None:
        """Make the cluster, start the server and load the data, as the phases of a run do."""
        runner = self.runner(self.planned.configuration.workload, CampaignListener())
        pgbench = self.pgbench(runner)
        self.server.make()
        runner._start(pgbench)
        pgbench.load()
        self._close(runner)

    def _close(self, runner: Runner) -> Path:
        if runner._sampler is not None:
            runner._sampler.stop()
        runner.recorder.close()
        runner.switch.close()
        return runner.recorder.writer.path

    def measured(
        self,
        workload: Workload,
        one_in: int | None,
        *,
        phase: Phase = Phase.MEASURE,
        prepare: Callable[[Runner], None] | None = None,
    ) -> Cost:
        """Run pgbench as a run does: sampler, streams, run file and progress display.

        Args:
            workload: what pgbench does.
            one_in: sampling of the transaction log.
            phase: warm-up has no transaction log.
            prepare: called with the runner before pgbench starts.
        """
        self.server.checkpoint()
        display = Progress(io.StringIO(), console=self.terminal)
        watch = Stopwatch(display)
        runner = self.runner(workload, watch, one_in)
        display.campaign_started("", 1)
        display._run = runner.planned
        pgbench = self.pgbench(runner)
        runner._observe(pgbench)
        time.sleep(_WARM_S)
        if prepare is not None:
            prepare(runner)
        asked = _asked_pids(runner)
        tree, sessions = self._server()
        server_s, own_s, children_s = _server_cpu_s(tree), own_cpu_s(), children_cpu_s()
        statistics_s = sum(map(process_cpu_s, asked))
        with runner._phase(phase, workload.duration_s):
            log = one_in if phase is Phase.MEASURE else None
            turn = PgbenchTurn(PhaseName(phase), workload, self.planned.seed, self.resolved.threads, log)
            summary = pgbench.run(turn)
            runner.recorder.pgbench_summary(summary)
        own_s, children_s = own_cpu_s() - own_s, children_cpu_s() - children_s
        sessions.await_end(_ENDED_S)
        statistics_s = sum(map(process_cpu_s, asked)) - statistics_s
        server_s = _server_cpu_s(tree) - server_s
        tree.close()
        display.close()
        self._close(runner).unlink()
        nothing = (0.0, 0.0, 0.0)  # of a run of less than a second
        begin, end = (watch.moments[0], watch.moments[-1]) if watch.moments else (nothing, nothing)
        self._clear()
        return Cost(
            summary=summary,
            pgbench_s=children_s,
            server_s=server_s - statistics_s,
            own_s=own_s,
            steady_s=end[1] - begin[1],
            steady_transactions=end[2] - begin[2],
            steady_length_s=end[0] - begin[0],
            statistics_s=statistics_s,
        )

    def bare(
        self,
        workload: Workload,
        log_prefix: str = "",
        take: Callable[[Path], None] | None = None,
        *,
        one_in: int = 1,
        progress: bool = False,
        under: Sequence[str] = (),
        begin: Callable[[], None] | None = None,
    ) -> Cost:
        """Run pgbench with the same arguments but those of our progress and log, and wait for its end.

        Args:
            workload: what pgbench does.
            log_prefix: log transactions under this name, which nobody reads meanwhile; empty for no log.
            take: called with the private folder before it is cleared.
            one_in: sampling of that log.
            progress: print our progress lines all the same.
            under: the program that executes pgbench, with its arguments.
            begin: called right before pgbench starts.
        """
        self.server.checkpoint()
        time.sleep(_WARM_S)
        log = TransactionLog(f"{self.place.folder.path}/{log_prefix}", one_in) if log_prefix else None
        request = BenchmarkRequest(
            seed=self.planned.seed,
            scale=self.resolved.scale.scale,
            threads=workload.threads or self.resolved.threads,
            log=log,
        )
        runner = self.runner(workload, CampaignListener())
        pgbench = self.pgbench(runner)
        argv = benchmark_argv(pgbench._program(), self.server.address, workload, request)
        argv = tuple(word for word in argv if progress or not word.startswith("--progress"))
        if begin is not None:
            begin()
        tree, sessions = self._server()
        server_s, children_s = _server_cpu_s(tree), children_cpu_s()
        child = pgbench._spawn((*under, *argv), "bare")
        if child.wait() != 0:
            raise RuntimeError(Path(self.place.folder.path, "bare.stderr").read_text())
        children_s = children_cpu_s() - children_s
        sessions.await_end(_ENDED_S)
        server_s = _server_cpu_s(tree) - server_s
        tree.close()
        summary = parse_summary(Path(self.place.folder.path, "bare.stdout").read_text())
        if take is not None:
            take(Path(self.place.folder.path))
        self._close(runner).unlink()
        self._clear()
        return Cost(summary, children_s, server_s)

    def _server(self) -> tuple[ServerTree, Sessions]:
        pid = self.server.sources.postmaster_pid
        assert pid is not None
        return ServerTree(pid), Sessions(pid)

    def _clear(self) -> None:
        """Remove what the run left in the private folder, which every run of a campaign has new."""
        for path in Path(self.place.folder.path).iterdir():
            if path.name != "server.log":
                path.unlink()


def _server_cpu_s(tree: ServerTree) -> float:
    user, system, _count = tree.read()
    return (user + system) / TICKS_PER_S


def _asked_pids(runner: Runner) -> list[int]:
    """Return the backends of the probes that ask the server."""
    sampler = runner._sampler
    assert sampler is not None
    found = []
    for probe in (worker.source.probe for worker in sampler._workers):
        if isinstance(probe, ServerProbe):
            deadline_s = time.monotonic() + _CONNECTED_S
            while probe._connection is None and time.monotonic() < deadline_s:
                time.sleep(0.05)
            assert probe._connection is not None
            found.append(int(probe._connection.info.backend_pid))
    return found


@contextmanager
def terminal(elsewhere: set[int]) -> Iterator[Console]:
    """Yield a console on a terminal whose other side is read by a process on other CPUs."""
    leader, follower = os.openpty()
    reader = subprocess.Popen(["cat"], stdin=leader, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.sched_setaffinity(reader.pid, elsewhere)
    os.close(leader)
    try:
        with os.fdopen(follower, "w", encoding="utf-8") as stream:
            yield Console(file=stream, width=100, height=30)
    finally:
        reader.send_signal(signal.SIGKILL)
        reader.wait()


@contextmanager
def rig(
    workload: Workload,
    cpu: int | None,
    target: Target = MEMORY,
    settings: tuple[tuple[str, str], ...] = SETTINGS,
) -> Iterator[Rig]:
    """Yield a rig whose database is loaded; afterwards nothing of it is left.

    Args:
        workload: what is loaded for; later runs may use others of the same scale.
        cpu: where everything is pinned; None to pin nothing.
        target: where the data directory lies.
        settings: of the server.
    """
    keep_freed_memory()  # as `pgfooting run` does
    before = os.sched_getaffinity(0)
    if cpu is not None:
        os.sched_setaffinity(0, {cpu})  # children and the threads of this process to come inherit it
    choice = PostgresChoice(preset="defaults", settings=settings)
    configuration = Configuration("bench", target, choice, workload)
    campaign = Campaign("bench", (configuration,), repeats=1)
    with ExitStack() as stack:
        stack.callback(os.sched_setaffinity, 0, before)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pgf-bench-", dir="/var/tmp")))
        account = server_account(lambda _outcome: None)
        resolved = resolve_campaign(campaign, account, lambda _outcome: None).configurations["bench"]
        resources = stack.enter_context(ResourceJournal.create(str(folder), "bench", account))
        console = stack.enter_context(terminal((before - {cpu}) or before))
        host = LocalHost(account, resources, lambda _outcome: None)
        server = OwnServer(
            host, configuration.target, resolved.need_bytes, resolved.setup, lambda _outcome: None
        )
        stack.callback(server.release)
        place = server.prepare(lambda: None)
        stack.callback(server.stop)
        made = Rig(
            account,
            interleaved_order(with_drawn_order(campaign))[0],
            resolved,
            server,
            place,
            folder,
            console,
        )
        made.prepare()
        yield made
