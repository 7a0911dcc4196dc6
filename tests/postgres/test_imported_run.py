"""Real runs of pgbench by hand, imported: the seconds add up to what pgbench itself counted."""

from __future__ import annotations

import os
import pwd
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from app.importers.importing import import_paths
from app.postgres.pgbench.argv import Connection, PgbenchProgram, initialise_argv
from app.postgres.pgbench.summary import parse_summary
from app.process.starter import Account, run_command
from app.runfile.reader import RunFile
from tests.fix_postgres import Workbench, give

pytestmark = pytest.mark.long


@dataclass(frozen=True, slots=True)
class ByHand:
    """A server with pgbench's tables, and a folder for what a person keeps of a run."""

    program: str
    socket: str
    folder: Path
    account: Account

    def run(self, *options: str) -> str:
        """Run pgbench as a person would, both streams into files; return its summary."""
        argv = [
            self.program,
            "--host",
            self.socket,
            "-U",
            "pgfooting_bench",
            "-n",
            "-c",
            "2",
            "-j",
            "2",
            *options,
            "pgbench",
        ]
        user = pwd.getpwnam(self.account.name).pw_uid if os.geteuid() == 0 else None
        with (self.folder / "run.out").open("w") as output, (self.folder / "run.err").open("w") as errors:
            subprocess.run(
                argv, check=True, stdout=output, stderr=errors, cwd=self.folder, user=user, timeout=60
            )
        return (self.folder / "run.out").read_text()


@pytest.fixture
def by_hand(workbench: Workbench, database_account: Account) -> ByHand:
    server = workbench.server()
    server.start()
    server.make_bench()
    program = PgbenchProgram(server.installation.program("pgbench"), server.installation.major)
    argv = initialise_argv(program, Connection(server.socket_directory), 1)
    assert run_command(argv, account=database_account, timeout_s=60, record=lambda _: None).succeeded
    folder = give(workbench.folder / "kept", database_account)
    return ByHand(program.path, server.socket_directory, folder, database_account)


def imported(folder: Path, library: Path) -> Path:
    report = import_paths([folder], library, lambda _done, _total, _what: None)
    assert not report.problems
    (run,) = report.imported
    return run.path


def test_full_log_matches_pgbench_count(by_hand: ByHand, tmp_path: Path) -> None:
    printed = parse_summary(by_hand.run("-T", "3", "-S", "-l"))
    with RunFile(imported(by_hand.folder, tmp_path)) as run:
        t_ms, tps = run.samples("pgbench.tps")
        summary = run.summary()
        assert run.values["transaction_log_one_in"] == 1
        assert sum(second.transactions for second in run.latency_seconds()) == printed.transactions
    assert summary["tps"] == printed.tps
    assert float(np.sum(tps * np.diff(t_ms, prepend=0)) / 1000) == pytest.approx(
        printed.transactions, rel=1e-3
    )


def test_rate_of_sampled_log(by_hand: ByHand, tmp_path: Path) -> None:
    printed = parse_summary(by_hand.run("-T", "3", "-S", "-l", "--sampling-rate=0.1"))
    with RunFile(imported(by_hand.folder, tmp_path)) as run:
        assert run.values["tps_one_in"] == 10
        t_ms, tps = run.samples("pgbench.tps")
        lines = sum(second.transactions for second in run.latency_seconds())
        assert run.summary()["tps"] == printed.tps
    assert float(np.sum(tps * np.diff(t_ms, prepend=0)) / 1000) == pytest.approx(10 * lines, rel=1e-3)
    assert 10 * lines == pytest.approx(printed.transactions, rel=10 / np.sqrt(lines))


def test_progress_beside_log(by_hand: ByHand, tmp_path: Path) -> None:
    by_hand.run("-T", "4", "-S", "-l", "-P", "1")
    with RunFile(imported(by_hand.folder, tmp_path)) as run:
        sources = {series.metric: series.source for series in run.series()}
        assert sources["pgbench.tps"] == "pgbench --progress"
        assert len(run.samples("pgbench.tps")[1]) >= 3
        assert run.summary()["latency_p99_ms"] is not None
        assert run.marks()[0][0] == "imported"
