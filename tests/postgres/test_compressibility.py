"""Data with a stated compressibility: loaded by real servers, written by real transactions, read back."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.analysis.data_set import RATIO_TOLERANCE
from app.domain.campaign.configuration import BuiltinScript, Protocol, Script, Workload
from app.domain.run import Phase
from app.postgres.configuration_text import BENCH_DATABASE, connect, table_files
from app.postgres.installations.installation import Installation
from app.postgres.pgbench.argv import (
    BenchmarkRequest,
    benchmark_argv,
    loading_argvs,
)
from app.postgres.pgbench.scale import LEAST_RATIO, MOST_RATIO, bytes_per_scale, load_script
from app.postgres.pgbench.summary import PgbenchSummary, parse_summary
from app.probes.facts.files import sample_compression
from app.process.starter import Account, run_command
from app.runfile.metadata.typed_json import known
from app.runfile.reader import RunFile
from app.runfile.summary import figures_of
from tests.fix_campaign import CampaignBench, campaign_text
from tests.fix_postgres import PgbenchServer, Workbench, give

pytestmark = pytest.mark.long

SCALE = 2
HALF_OF_TOLERANCE = RATIO_TOLERANCE / 2


@dataclass(frozen=True, slots=True)
class Bench(PgbenchServer):
    """A server with an empty database of pgbench's role, and a folder for its scripts."""

    account: Account
    folder: Path

    def execute(self, argv: tuple[str, ...]) -> str:
        outcome = run_command(argv, account=self.account, timeout_s=120, record=lambda _: None)
        assert outcome.succeeded, outcome.stderr
        return outcome.stdout

    def load(self, ratio: float | None, scale: int = SCALE) -> None:
        path = None
        if ratio is not None:
            path = self.folder / "load.sql"
            path.write_text(load_script(ratio))
            path.chmod(0o644)
        for argv in loading_argvs(self.program, self.connection, scale, None if path is None else str(path)):
            self.execute(argv)

    def run(self, workload: Workload, *scripts: Path) -> PgbenchSummary:
        request = BenchmarkRequest(1, SCALE, 1, tuple(map(str, scripts)))
        return parse_summary(self.execute(benchmark_argv(self.program, self.connection, workload, request)))

    def ask(self, query: str) -> list[tuple[object, ...]]:
        with connect(self.server.conninfo_for(BENCH_DATABASE)) as connection:
            return connection.execute(query.encode()).fetchall()

    def ratio(self) -> float:
        with connect(self.server.conninfo) as connection:
            connection.execute("CHECKPOINT")
        files = table_files(self.server.conninfo_for(BENCH_DATABASE), self.server.data_directory)
        sample = sample_compression(files)
        return sample.sampled_bytes / sample.compressed_bytes


@pytest.fixture
def bench(workbench: Workbench, database_account: Account) -> Bench:
    server = workbench.server()
    server.start()
    server.make_bench()
    return Bench(server, database_account, give(workbench.folder / "scripts", database_account))


def test_stated_ratios_at_pgbench_row_size(bench: Bench) -> None:
    rows = "SELECT count(*), min(aid), max(aid), min(bid), max(bid), sum(abalance) FROM pgbench_accounts"
    tables = ("pgbench_accounts", "pgbench_branches", "pgbench_tellers", "pgbench_history")
    counts = " UNION ALL ".join(f"SELECT count(*), pg_relation_size('{name}') FROM {name}" for name in tables)
    keys = "SELECT indexrelid::regclass::text FROM pg_index WHERE indrelid::regclass::text LIKE 'pgbench%'"
    members = "SELECT tid, bid, tbalance FROM pgbench_tellers ORDER BY tid"
    bench.load(None)
    own = [bench.ask(query) for query in (rows, counts, keys, members)]
    assert bench.ratio() > 20, "pgbench's own are blanks"
    size = bench.ask("SELECT pg_database_size(current_database())")
    for ratio in (LEAST_RATIO, 1.7, 2.0, 2.7, 4.0, 7.0, MOST_RATIO):
        bench.load(ratio)  # over what is there, as after a load that was broken off
        assert bench.ratio() == pytest.approx(ratio, rel=HALF_OF_TOLERANCE)
        assert [bench.ask(query) for query in (rows, counts, keys, members)] == own
        assert bench.ask("SELECT pg_database_size(current_database())")[0][0] == pytest.approx(
            size[0][0], rel=0.02
        )


def test_the_same_rows_are_loaded_each_time(bench: Bench) -> None:
    digest = (
        "SELECT md5(string_agg(filler::text, '' ORDER BY aid)), count(DISTINCT filler) FROM pgbench_accounts"
    )
    found = []
    for _ in range(2):
        bench.load(2.0, scale=1)
        found += bench.ask(digest)
    assert found[0] == found[1]
    assert found[0][1] == 100_000


@pytest.mark.parametrize("builtin", BuiltinScript)
@pytest.mark.parametrize(
    "protocol",
    [
        each if each is Protocol.PREPARED else pytest.param(each, marks=pytest.mark.longest)
        for each in Protocol
    ],
)
def test_built_in_scripts_write_compressible_rows(
    bench: Bench, builtin: BuiltinScript, protocol: Protocol
) -> None:
    bench.load(LEAST_RATIO, scale=1)
    before = bench.ask("SELECT md5(string_agg(filler::text, '' ORDER BY aid)) FROM pgbench_accounts")
    workload = Workload(
        (Script(builtin),), clients=2, threads=1, duration_s=None, transactions=300, protocol=protocol
    )
    summary = bench.run(workload)
    assert (summary.transactions, summary.failed or 0) == (600, 0)
    assert bench.ask("SELECT md5(string_agg(filler::text, '' ORDER BY aid)) FROM pgbench_accounts") == before
    written = 0 if builtin is BuiltinScript.SELECT_ONLY else 600
    lengths = "min(length(filler)), max(length(filler))"
    kinds = f"SELECT count(*), count(DISTINCT filler), {lengths} FROM pgbench_history"
    expected = (written, written, 22, 22) if written else (0, 0, None, None)
    assert bench.ask(kinds) == [expected]


def test_inserted_rows_compress_like_loaded(bench: Bench) -> None:
    """Of both fillers the same share is random, and the rest zeros."""
    bench.load(4.0, scale=1)
    bench.run(Workload((Script(),), clients=1, threads=1, duration_s=None, transactions=100))
    shares = []
    for table in ("pgbench_accounts", "pgbench_history"):
        query = f"SELECT filler FROM {table} LIMIT 100"
        texts = [bytes(row[0]) for row in bench.ask(query) if isinstance(row[0], bytes)]
        assert len(texts) == 100
        ends = [len(text.rstrip(b"\0")) for text in texts]
        shares.append(max(ends) / len(texts[0]))
        assert min(ends) >= max(ends) - 2, "but for random zeros at the end"
    assert shares[0] == pytest.approx(shares[1], abs=0.03)


def test_own_scripts_find_tables(bench: Bench) -> None:
    own = bench.folder / "own.sql"
    own.write_text(
        "\\set aid random(1, 100000 * :scale)\n"
        "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (1, 1, :aid, 1, now());\n"
        "SELECT 1 / least(length(filler), 1) FROM pgbench_accounts WHERE aid = :aid;\n"
    )
    own.chmod(0o644)
    bench.load(2.0)
    scripts = (Script(None, "/own.sql", own.read_text()),)
    summary = bench.run(Workload(scripts, clients=1, threads=1, duration_s=None, transactions=50), own)
    assert summary.transactions == 50
    assert bench.ask("SELECT count(filler) FROM pgbench_history") == [(50,)]


def test_ratio_in_every_version_and_page_size(
    workbench: Workbench, every_installation: tuple[Installation, ...], database_account: Account
) -> None:
    for number, installation in enumerate(every_installation):
        server = workbench.server(name=f"number{number}", initialise=False)
        server.installation = installation
        server.initdb(checksums=True)
        server.write_configuration()
        server.start()
        server.make_bench()
        bench = Bench(server, database_account, give(workbench.folder / f"scripts{number}", database_account))
        for ratio in (LEAST_RATIO, 4.0):
            bench.load(ratio, scale=1)
            assert bench.ratio() == pytest.approx(ratio, rel=RATIO_TOLERANCE), installation.version
        tables = bench.ask(
            "SELECT sum(pg_relation_size(oid)) FROM pg_class WHERE relname IN "
            "('pgbench_accounts', 'pgbench_accounts_pkey')"
        )
        assert float(str(tables[0][0])) == pytest.approx(bytes_per_scale(installation.page_bytes), rel=0.03)
        server.stop()


@pytest.mark.longest
def test_campaign_loads_and_reports_ratio(campaign_bench: CampaignBench) -> None:
    workload = 'scale = 1\nclients = 2\nwarmup = "1s"\nduration = "3s"\ncompressibility = 2'
    campaign_bench.run(campaign_text(folder=campaign_bench.target, memory=True, workload=workload), status=0)
    files = campaign_bench.run_files()
    assert len(files) == 2
    for path in files:
        with RunFile(path) as run:
            assert run.metadata.workload.compressibility == 2.0
            sample = known(run.metadata.sampled, None)
            assert sample is not None
            assert sample.ratio == pytest.approx(2.0, rel=HALF_OF_TOLERANCE)
            assert sample.zstd_version.startswith("1.")
            assert figures_of(run)["rows_ratio"] == sample.ratio
            assert "other-compressibility" not in {kind for kind, _ in run.marks()}
            assert run.output("load.sql") == load_script(2.0)
            steps = [each.argv for each in run.commands() if {"--initialize", "--no-vacuum"} & set(each.argv)]
            words = ["--init-steps=dt", "--transactions=1", "--init-steps=vp", "--progress=1", "--progress=1"]
            assert [word in argv for word, argv in zip(words, steps, strict=True)] == [True] * 5
            check_loading(run)
    compared = campaign_bench.command("compare", *map(str, files))
    assert "2.0:1" in compared.stdout, compared.stdout + compared.stderr
    shown = campaign_bench.command("show", str(files[0]))
    assert "compressibility of the tables" in shown.stdout
    assert re.search(r"rows +compressible 2:1\n", shown.stdout)
    as_json = json.loads(campaign_bench.command("show", "--json", str(files[0])).stdout)
    assert as_json["summary"]["rows_ratio"] == pytest.approx(2.0, rel=HALF_OF_TOLERANCE)
    assert as_json["summary"]["load_rows_s"] > 0
    assert "building keys" in shown.stdout
    assert "\nLoading\n" in compared.stdout


def check_loading(run: RunFile) -> None:
    """What loading took is a part of its phase, and a figure of the run."""
    data_set, figures, phase = known(run.metadata.data_set, None), figures_of(run), run.phase(Phase.LOAD)
    assert data_set is not None
    assert phase is not None
    assert phase.ended_ms is not None
    parts = (data_set.rows_s, data_set.vacuum_s, data_set.index_s)
    assert parts == tuple(figures[name] for name in ("load_rows_s", "load_vacuum_s", "load_index_s"))
    seconds = [part for part in parts if part is not None]
    assert len(seconds) == 3
    assert 0 < sum(seconds) <= (phase.ended_ms - phase.started_ms) / 1000
    assert data_set.state == "loaded"


def test_plain_rows_without_compression(campaign_bench: CampaignBench) -> None:
    assert campaign_bench.run(campaign_text(memory=True)).returncode == 0
    (path,) = campaign_bench.run_files()
    with RunFile(path) as run:
        assert run.metadata.workload.compressibility is None
        assert known(run.metadata.sampled, None) is None
        assert run.output("load.sql") is None
        (argv,) = (each.argv for each in run.commands() if "--initialize" in each.argv)
        assert "--init-steps=dtgvp" in argv
        check_loading(run)


def test_load_failure_quotes_server(campaign_bench: CampaignBench) -> None:
    """A limit on temporary files stands for whatever a server may refuse while loading."""
    text = campaign_text(
        memory=True,
        workload='scale = 1\nclients = 2\nduration = "3s"\ncompressibility = 2',
        extra='[postgresql.settings]\nstatement_timeout = "1ms"',
    ).replace('[postgresql.settings]\nshared_buffers = "32MB"\n', "", 1)
    ended = campaign_bench.run(text)
    assert ended.returncode != 0
    assert not any(campaign_bench.target.iterdir())
    assert "could not load the data" in ended.stdout + ended.stderr
    assert "statement timeout" in ended.stdout + ended.stderr
