"""Real pgbench runs: what was asked for is understood, and the log adds up to the last transaction."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from app.domain.campaign.configuration import BuiltinScript, Protocol, Script, Workload
from app.domain.errors import PgbenchError
from app.postgres.installations.installation import Installation
from app.postgres.pgbench.argv import (
    BenchmarkRequest,
    TransactionLog,
    benchmark_argv,
    initialise_argv,
)
from app.postgres.pgbench.summary import PgbenchSummary, parse_progress, parse_summary
from app.postgres.pgbench.transaction_log import LogFormat, TransactionBatch, TransactionLogTail
from app.process.starter import Account, run_command, spawn
from tests.fix_postgres import PgbenchServer, Workbench, give
from tests.transactions import concatenate, unread_bytes

pytestmark = pytest.mark.postgres

SCALE = 2
SELECT_ONLY = Workload(scripts=(Script(builtin=BuiltinScript.SELECT_ONLY),), duration_s=2)


@dataclass(frozen=True, slots=True)
class Run:
    """What a run of pgbench left."""

    exit_code: int
    output: str
    errors: str
    batch: TransactionBatch
    lines: int
    unread_bytes: int

    @property
    def summary(self) -> PgbenchSummary:
        return parse_summary(self.output, self.errors)


@dataclass(frozen=True, slots=True)
class Bench(PgbenchServer):
    """A server with pgbench's tables, and a folder in memory for logs and scripts."""

    account: Account
    folder: Path

    def request(self, *scripts: str) -> BenchmarkRequest:
        """A full log; the texts of the workload's own scripts."""
        paths = []
        for number, text in enumerate(scripts, start=1):
            path = self.folder / f"script{number}"
            path.write_text(text)
            path.chmod(0o644)
            paths.append(str(path))
        log = TransactionLog(str(self.folder / "log"), 1)
        return BenchmarkRequest(seed=1, scale=SCALE, threads=2, script_paths=tuple(paths), log=log)

    def load(self) -> str:
        """Make the tables; return what pgbench printed."""
        argv = initialise_argv(self.program, self.connection, SCALE)
        outcome = run_command(argv, account=self.account, timeout_s=60, record=lambda _: None)
        assert outcome.succeeded, outcome.stderr
        return outcome.stderr

    def run(
        self,
        workload: Workload,
        request: BenchmarkRequest,
        look: Callable[[subprocess.Popen[bytes], TransactionLogTail], None] = lambda *_: None,
    ) -> Run:
        """Run pgbench and follow its log; `look` is called after every poll."""
        argv = benchmark_argv(self.program, self.connection, workload, request)
        log_format = LogFormat(has_lag=workload.rate_tps is not None)
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
            process = spawn(
                argv, account=self.account, death_signal=signal.SIGKILL, stdout=output, stderr=errors
            )
            batches: list[TransactionBatch] = []
            try:
                with closing(TransactionLogTail(str(self.folder), "log", process.pid, log_format)) as tail:
                    while _is_running(process):
                        batches += tail.poll()
                        look(process, tail)
                    batches += tail.drain()
                    lines, unread = tail.lines, unread_bytes(tail)
            finally:
                process.kill()
                exit_code = process.wait()
            texts = []
            for file in (output, errors):
                file.seek(0)
                texts.append(file.read().decode())
        return Run(exit_code, texts[0], texts[1], concatenate(batches), lines, unread)


def _is_running(process: subprocess.Popen[bytes]) -> bool:
    try:
        process.wait(timeout=0.05)
    except subprocess.TimeoutExpired:
        return True
    return False


@pytest.fixture
def private_folder(database_account: Account) -> Iterator[Path]:
    """A folder in memory that belongs to the server's account."""
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=memory) as name:
        Path(name).chmod(0o711)
        yield give(Path(name) / "private", database_account)


@pytest.fixture
def bench(workbench: Workbench, database_account: Account, private_folder: Path) -> Bench:
    server = workbench.server()
    server.start()
    server.make_bench()
    made = Bench(server, database_account, private_folder)
    made.load()
    return made


def test_every_version_runs_and_parses(
    workbench: Workbench,
    every_installation: tuple[Installation, ...],
    database_account: Account,
    private_folder: Path,
) -> None:
    workload = Workload(
        scripts=(Script(), Script(builtin=None, path="/own.sql", weight=2)),
        clients=3,
        duration_s=2,
        protocol=Protocol.EXTENDED,
        rate_tps=150.0,
        latency_limit_ms=400.0,
    )
    for number, installation in enumerate(every_installation):
        server = workbench.server(name=f"number{number}", initialise=False)
        server.installation = installation
        server.initdb(checksums=True)
        server.write_configuration()
        server.start()
        server.make_bench()
        bench = Bench(server, database_account, give(private_folder / str(number), database_account))
        assert "200000 of 200000 tuples (100%)" in bench.load()
        # With more than one thread pgbench loses counts of its scripts: they share them without a lock.
        request = replace(bench.request("\\sleep 1 ms\nSELECT :scale;\n"), threads=1)
        run = bench.run(workload, request)
        server.stop()
        assert run.exit_code == 0, run.errors
        assert "warning" not in run.errors
        assert run.summary.other_lines == ()
        assert run.summary.messages == ()
        assert run.summary.transactions == run.batch.transactions > 100
        said = [line for line in run.errors.splitlines() if parse_progress(line) is None]
        assert said == ["pgbench: setting random seed to 1"]


def test_full_log_adds_up_and_stays_small(bench: Bench) -> None:
    largest_bytes = 0
    sizes: dict[Path, int] = {}

    def look(process: subprocess.Popen[bytes], tail: TransactionLogTail) -> None:
        nonlocal largest_bytes
        for path in bench.folder.glob("log.*"):
            status = path.stat()
            # What came since this file's size was last seen, and the pages at both ends.
            allowed_bytes = status.st_size - sizes.get(path, 0) + 4 * 4096
            assert status.st_blocks * 512 <= allowed_bytes
            largest_bytes = max(largest_bytes, status.st_blocks * 512)
            sizes[path] = status.st_size

    run = bench.run(SELECT_ONLY, bench.request(), look)
    assert run.exit_code == 0, run.errors
    assert run.batch.transactions == run.lines == run.summary.transactions
    assert run.unread_bytes == 0
    assert len(sizes) == 2
    for path in sizes:
        status = path.stat()
        assert status.st_size > 100_000
        assert status.st_blocks * 512 <= 4096


def test_killed_pgbench_whole_lines_read(bench: Bench) -> None:
    def kill_after_some(process: subprocess.Popen[bytes], tail: TransactionLogTail) -> None:
        if tail.lines > 1000:
            os.kill(process.pid, signal.SIGKILL)

    run = bench.run(replace(SELECT_ONLY, duration_s=60), bench.request(), kill_after_some)
    assert run.exit_code == -signal.SIGKILL
    assert run.lines > 1000
    assert run.unread_bytes < 2 * 64  # at most one cut line per thread
    with pytest.raises(PgbenchError, match="does not contain number of transactions actually processed, tps"):
        _ = run.summary
