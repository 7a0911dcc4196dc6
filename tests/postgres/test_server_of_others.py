"""A server that this program did not start, as what a run measures: what is not known of it is told so."""

from __future__ import annotations

import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import psycopg
import pytest
from typing_extensions import override

from app.analysis.data_set import OTHER_COMPRESSIBILITY, STILL_CACHED
from app.domain.campaign.configuration import (
    Caches,
    Campaign,
    Configuration,
    MemoryTarget,
    PostgresChoice,
    Workload,
    WorkloadPhase,
    interleaved_order,
    with_drawn_order,
)
from app.domain.campaign.disk_target import NOT_READ_BACK
from app.domain.errors import ServerError
from app.domain.maintenance import VACUUM, MaintenanceEnd
from app.domain.run import Phase, RunState
from app.execution import measured_phases
from app.execution.control import Cancellable, Request
from app.execution.phases import Runner, RunOutcome
from app.execution.resolve import resolve_campaign
from app.execution.run_description import describe_run
from app.hosts.existing_server import NO_BACKUPS, OF_ITS_MACHINE, NotOurs
from app.hosts.folders.descriptors import identity_of, strictly
from app.hosts.folders.private_folder import PrivateFolder
from app.hosts.server_under_test import PgbenchPlace, ServerUnderTest
from app.postgres.configuration_text import BENCH_DATABASE, BENCH_ROLE, ROLE, bench_statements, connect
from app.postgres.facts import ServerFacts, read_server_facts
from app.postgres.installations.installation import Installation
from app.postgres.pgbench.argv import Connection
from app.probes.base.probe import ProbeUnavailable, ServerSources
from app.probes.facts.files import CachedBytes, SampledCompression
from app.process.starter import Account
from app.recording.events import CampaignListener, ProgressReport
from app.recording.recorder import Recorder
from app.runfile.metadata.typed_json import NOT_KNOWN, known, or_none
from app.runfile.reader import RunFile
from app.runfile.summary import summarise
from app.runfile.writer import RunFileWriter
from tests.fix_existing import PATIENCE_S, start_server
from tests.fix_postgres import give

pytestmark = pytest.mark.postgres

WORKLOAD = Workload(scale=1, size=None, clients=2, threads=1, duration_s=3, warmup_s=1)


@dataclass(slots=True)
class ServerOfOthers(NotOurs):
    """What a later target can be: a port, a password perhaps, and nothing else."""

    port: int
    folder: PrivateFolder
    setup: None = field(default=None, init=False)
    sampled: SampledCompression | None = field(default=None, kw_only=True)
    by_root: Callable[[str], MaintenanceEnd] | None = field(default=None, init=False)
    called_off: threading.Event = field(default_factory=threading.Event, init=False)
    maintaining: psycopg.Connection[tuple[object, ...]] | None = field(default=None, init=False)

    def conninfo(self, database: str = "postgres") -> str:
        return f"host=127.0.0.1 port={self.port} user={ROLE} dbname={database}"

    @property
    def address(self) -> Connection:
        return Connection("127.0.0.1", self.port)

    @property
    def sources(self) -> ServerSources:
        return ServerSources(conninfo=self.conninfo(), reason=OF_ITS_MACHINE)

    def prepare(self, watch: Callable[[], None]) -> PgbenchPlace:
        watch()
        return PgbenchPlace(self.folder, notes=("an existing server",))

    def start(self) -> None:
        connect(self.conninfo()).close()

    def make_bench(self, *, superuser: bool) -> None:
        for statement in bench_statements(superuser=superuser):
            self._execute(statement.text, BENCH_DATABASE if statement.in_bench else "postgres")

    def checkpoint(self) -> None:
        self._execute("CHECKPOINT")

    def maintain(self, statements: Sequence[str]) -> None:
        try:
            with connect(self.conninfo(BENCH_DATABASE), statement_timeout_s=0) as connection:
                self.maintaining = connection
                for statement in statements:
                    connection.execute(statement.encode())
        except psycopg.Error as error:
            raise ServerError(str(error)) from error
        finally:
            self.maintaining = None

    @override
    def make_backup_role(self) -> None:
        """It is not ours to back up."""

    @override
    def maintain_storage(self, name: str) -> MaintenanceEnd:
        assert self.by_root is not None
        return self.by_root(name)

    @override
    def end_maintenance(self) -> None:
        self.called_off.set()

    @override
    def sample_tables(self) -> SampledCompression:
        if self.sampled is None:
            raise ProbeUnavailable(OF_ITS_MACHINE)
        return self.sampled

    def facts(self) -> ServerFacts:
        return read_server_facts(self.conninfo())

    def no_room(self) -> str:
        return ""

    def check_target(self) -> None:
        """Nobody knows."""

    def check_running(self, grace_s: float = 0.0) -> None:
        connect(self.conninfo()).close()

    def stop(self) -> None:
        """It is not ours; what this run lets it do is."""
        if (connection := self.maintaining) is not None:
            connection.cancel()

    def release(self) -> tuple[str, ...]:
        try:
            self._execute(f"DROP DATABASE IF EXISTS {BENCH_DATABASE}")
            self._execute(f"DROP ROLE IF EXISTS {BENCH_ROLE}")
        except ServerError as error:
            return (error.message,)
        return ()

    def _execute(self, statement: str, database: str = "postgres") -> None:
        with connect(self.conninfo(database)) as connection:
            connection.execute(statement.encode())


@dataclass(slots=True)
class HalfCold(ServerOfOthers):
    """One whose caches somebody empties: what is found in them afterwards; None where nobody can look."""

    found: CachedBytes | None = None

    @override
    def shut_down(self) -> None:
        """It goes on."""

    @override
    def empty_caches(self, watch: Callable[[], None]) -> None:
        watch()

    @override
    def cached(self) -> CachedBytes:
        if self.found is None:
            raise ProbeUnavailable(OF_ITS_MACHINE)
        return self.found


@dataclass(frozen=True, slots=True)
class Bench:
    """A server that runs, and everything for a run on it."""

    process: subprocess.Popen[bytes]
    server: ServerOfOthers
    account: Account
    file: Path

    def run(
        self, listener: CampaignListener, workload: Workload = WORKLOAD, switch: Cancellable | None = None
    ) -> RunOutcome:
        """Measure it as a campaign does; the run file is closed afterwards."""
        choice = PostgresChoice(preset="defaults")
        resolvable = workload if workload.phases else WORKLOAD
        campaign = Campaign("others", (Configuration("a", MemoryTarget(), choice, resolvable),), repeats=1)
        resolved = resolve_campaign(campaign, self.account, lambda _outcome: None).configurations["a"]
        planned = interleaved_order(with_drawn_order(campaign))[0]
        planned = replace(planned, configuration=replace(planned.configuration, workload=workload))
        server: ServerUnderTest = self.server
        recorder = Recorder(RunFileWriter(self.file, has_phases=bool(workload.phases)))
        recorder.set_run(describe_run(planned, resolved, server.setup))
        switch = switch or Cancellable()
        try:
            return Runner(planned, resolved, server, recorder, listener, switch).execute()
        finally:
            recorder.close()
            switch.close()


@pytest.fixture
def bench(
    open_folder: Path,
    data_template: Path,
    installation: Installation,
    database_account: Account,
    tmp_path: Path,
) -> Iterator[Bench]:
    data = open_folder / "data"
    subprocess.run(["cp", "-a", str(data_template), str(data)], check=True)
    private = give(open_folder / "private", database_account)
    with strictly(str(private)) as opened:
        folder = PrivateFolder(str(private), identity_of(opened), database_account)
    process, port = start_server(installation, database_account, data)
    try:
        yield Bench(process, ServerOfOthers(port, folder), database_account, tmp_path / "a.footing")
    finally:
        process.send_signal(signal.SIGQUIT)
        process.wait(PATIENCE_S)


@pytest.mark.long
def test_hanging_maintenance_ended_with_run(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    hangs = replace(VACUUM, statement="SELECT pg_sleep(3600)", limit_s=1.0)
    monkeypatch.setattr(measured_phases, "maintenance", {"vacuum": hangs}.__getitem__)
    phases = (WorkloadPhase("before", duration_s=1), WorkloadPhase("after", maintenance=("vacuum",)))
    outcome = bench.run(CampaignListener(), replace(WORKLOAD, warmup_s=0, phases=phases))
    assert outcome.state is RunState.FAILED
    assert outcome.error is not None
    assert outcome.error.message.startswith(
        "In the phase “after”: vacuum of all tables did not finish within 00:01"
    )
    with RunFile(bench.file) as run:
        assert run.phase(Phase.MEASURE) is None
        before = summarise(run, part=1)
        assert (before["tps"] or 0) > 0


AFTER = (WorkloadPhase("before", duration_s=1), WorkloadPhase("after", maintenance=("btrfs-scrub",)))


@pytest.mark.long
@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (
            MaintenanceEnd("failed", "its time was up after 4 h", 3.0),
            "In the phase “after”: btrfs scrub failed: its time was up after 4 h",
        ),
        (
            MaintenanceEnd("ended", "", 3.0),
            "In the phase “after”: btrfs scrub failed: the root helper ended it",
        ),
    ],
)
def test_failing_root_maintenance_stored_with_phase(bench: Bench, answer: MaintenanceEnd, words: str) -> None:
    workload = replace(WORKLOAD, warmup_s=0, phases=AFTER)
    bench.server.by_root = lambda _: answer
    outcome = bench.run(CampaignListener(), workload)
    assert outcome.state is RunState.FAILED
    assert outcome.error is not None
    assert outcome.error.message == words
    with RunFile(bench.file) as run:
        assert run.phase(Phase.MEASURE) is None
        _, after = known(run.metadata.phases, ())
        (done,) = after.maintenance
        assert (done.name, done.how) == ("btrfs-scrub", "failed")
        assert done.reason in words
        (event,) = (each for each in run.events() if each.kind == "maintenance")
        assert event.message.startswith("btrfs scrub failed after")
        assert summarise(run, part=1)["tps"]


@pytest.mark.long
def test_background_failure_names_phase(bench: Bench) -> None:
    phases = (WorkloadPhase("alone", duration_s=1), WorkloadPhase("beside", background="pg_basebackup"))
    outcome = bench.run(CampaignListener(), replace(WORKLOAD, warmup_s=0, duration_s=60, phases=phases))
    assert outcome.state is RunState.FAILED
    assert outcome.error is not None
    assert outcome.error.message == f"In the phase “beside”: {NO_BACKUPS}"
    with RunFile(bench.file) as run:
        _, beside = known(run.metadata.phases, ())
        assert (beside.background.name, beside.background.done) == ("pg_basebackup", 0)
        assert [(turn.how, turn.reason) for turn in beside.background.turns] == [("failed", NO_BACKUPS)]


@pytest.mark.long
def test_root_maintenance_cancelled_by_stop(bench: Bench) -> None:
    workload = replace(WORKLOAD, warmup_s=0, phases=AFTER)
    switch = Cancellable()

    def hangs(_name: str) -> MaintenanceEnd:
        switch.request(Request.STOP)
        assert bench.server.called_off.wait(PATIENCE_S)
        return MaintenanceEnd("ended", "", 1.0)

    bench.server.by_root = hangs
    outcome = bench.run(CampaignListener(), workload, switch)
    assert outcome.state is RunState.STOPPED
    with RunFile(bench.file) as run:
        _, after = known(run.metadata.phases, ())
        assert [(done.name, done.how) for done in after.maintenance] == [("btrfs-scrub", "ended")]


def test_unknown_figures_are_never_zero(bench: Bench) -> None:
    outcome = bench.run(CampaignListener())
    assert outcome.error is None
    assert outcome.state is RunState.DONE
    assert bench.process.poll() is None, "it is not ours to end"
    with RunFile(bench.file) as run:
        assert {times.phase for times in run.phases()} == set(Phase) - {
            Phase.BASELINE,
            Phase.MAINTENANCE,
            Phase.PART,
        }
        figures = summarise(run)
        known = {name for name, value in figures.items() if value is not None}
        assert {"tps", "latency_p99_ms", "pgbench_cpu_us", "wal_bytes"} <= known
        of_the_machine = {name for name in figures if name.startswith("device_")}
        assert known.isdisjoint({"server_cpu_us", "write_amplification", *of_the_machine})
        series = {(each.metric, each.instance) for each in run.series()}
        rooms = {metric.partition(".")[0] for metric, _ in series}
        assert {"pgbench", "cpu", "wal", "server"} <= rooms
        assert rooms.isdisjoint({"device", "storage", "array", "zfs", "btrfs"})
        assert "postgres" not in {instance for metric, instance in series if metric.startswith("process.")}
        assert "process.server_processes" not in {metric for metric, _ in series}
        found = {source for _, source, reason in run.unavailable() if reason == OF_ITS_MACHINE}
        assert found >= {"server.log", "block-devices", "arrays", "zfs", "btrfs", "process.cpu_user postgres"}
        before = run.facts("before")
        assert before["storage"] == {"unreadable": OF_ITS_MACHINE}
        said = before["server"]
        assert isinstance(said, Mapping)
        assert str(said["version"]).startswith("PostgreSQL ")
        assert run.output("server.log") is None
        assert run.metadata.installation.version is NOT_KNOWN
        assert run.metadata.postgresql.preset is NOT_KNOWN
        assert run.metadata.settings is NOT_KNOWN
        assert ("note", "an existing server") in {(event.kind, event.message) for event in run.events()}
        programs = [command.argv for command in run.commands()]
        assert len(programs) == 3, "to load, to warm up, to measure"
        assert all("--host=127.0.0.1" in argv for argv in programs)
    with psycopg.connect(bench.server.conninfo()) as connection:
        names = connection.execute("SELECT datname FROM pg_database").fetchall()
    assert (BENCH_DATABASE,) not in names


@pytest.mark.long
def test_ended_foreign_server_keeps_measurements(bench: Bench) -> None:
    class EndingIt(CampaignListener):
        @override
        def second(self, second: ProgressReport) -> None:
            if second.phase is Phase.MEASURE:
                bench.process.send_signal(signal.SIGQUIT)

    outcome = bench.run(EndingIt())
    assert outcome.state is RunState.FAILED
    assert isinstance(outcome.error, ServerError)
    assert "The server refuses the connection" in outcome.error.message
    with RunFile(bench.file) as run:
        assert run.samples("pgbench.tps")[1].size
        kinds = {event.kind for event in run.events()}
    assert "left-over" in kinds, "its database could not be removed"


COLD = replace(WORKLOAD, caches=Caches.COLD, warmup_s=0)


@pytest.mark.long
@pytest.mark.parametrize(
    ("found", "kind", "words"),
    [
        (CachedBytes(1000, 500), STILL_CACHED, "50 % of the data was still cached"),
        (CachedBytes(1000, 500, is_bound=True), STILL_CACHED, "Up to 50 % of the data was still cached"),
        (None, NOT_READ_BACK, f"cold caches cannot be verified ({OF_ITS_MACHINE})"),
    ],
)
def test_warm_or_unknown_run_marked(bench: Bench, found: CachedBytes | None, kind: str, words: str) -> None:
    server = HalfCold(bench.server.port, bench.server.folder, found)
    outcome = replace(bench, server=server).run(CampaignListener(), COLD)
    assert outcome.state is RunState.DONE, outcome.error
    with RunFile(bench.file) as run:
        (reason,) = (reason for mark, reason in run.marks() if mark == kind)
        assert reason.startswith(words)
        cached = or_none(run.metadata.cached)
        assert (cached is None) == (found is None)
        if cached is not None and found is not None:
            assert (cached.data_bytes, cached.cached_bytes) == (found.data_bytes, found.cached_bytes)
            assert cached.is_bound == found.is_bound


def test_unstoppable_server_never_cold(bench: Bench) -> None:
    outcome = bench.run(CampaignListener(), COLD)
    assert outcome.state is RunState.FAILED
    assert isinstance(outcome.error, ServerError)
    assert outcome.error.message == "pgFooting does not do this on an existing server."
    with RunFile(bench.file) as run:
        assert run.phase(Phase.MEASURE) is None


STATED = replace(WORKLOAD, compressibility=2.0, warmup_s=0, duration_s=1)


@pytest.mark.long
def test_rows_unlike_stated_are_marked(bench: Bench) -> None:
    bench.server.sampled = SampledCompression(sampled_bytes=3000, compressed_bytes=1000, zstd_version="1.5.4")
    outcome = bench.run(CampaignListener(), STATED)
    assert outcome.error is None
    with RunFile(bench.file) as run:
        marks = dict(run.marks())
        assert summarise(run)["rows_ratio"] == 3.0
    assert marks[OTHER_COMPRESSIBILITY].startswith("the loaded tables compress 3.00:1")


@pytest.mark.long
def test_unreadable_compressibility_reported(bench: Bench) -> None:
    outcome = bench.run(CampaignListener(), STATED)
    assert outcome.error is None
    with RunFile(bench.file) as run:
        assert OTHER_COMPRESSIBILITY not in dict(run.marks())
        assert summarise(run)["rows_ratio"] is None
        sentences = [each.message for each in run.events() if "cannot be verified" in each.message]
        assert sentences == [f"the loaded tables' compressibility cannot be verified ({OF_ITS_MACHINE})"]
        assert run.metadata.workload.compressibility == 2.0
