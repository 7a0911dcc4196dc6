"""Servers whose data pages have 4, 16 and 32 kB: measured, recorded, compared and imported as what they are.

`python -m tests.servers` builds them, the same version as Debian 12's; where there are none these tests are
skipped.
"""

from __future__ import annotations

import json
from pathlib import Path

import psycopg
import pytest

from app.domain.campaign.configuration import PostgresChoice, Workload
from app.domain.options.option_spec import USUAL_PAGE_BYTES
from app.domain.run import Phase
from app.domain.text import KIB, MIB
from app.importers.importing import import_paths
from app.postgres.configuration_text import BENCH_DATABASE
from app.postgres.installations.installation import Installation
from app.postgres.pgbench.argv import Connection, PgbenchProgram, initialise_argv
from app.postgres.pgbench.scale import data_bytes_of
from app.postgres.presets import PRESETS
from app.postgres.server import Server
from app.postgres.settings import server_settings
from app.process.starter import Account, run_command
from app.runfile.metadata.environment import read_environment_facts
from app.runfile.reader import RunFile
from tests.fix_campaign import ORDINARY_EVENTS, CampaignBench, campaign_text
from tests.fix_postgres import SMALL_MACHINE, Workbench, give
from tests.servers.builds import BLOCK_SIZES_KB

pytestmark = pytest.mark.long

EVERY_KB = tuple(sorted((*BLOCK_SIZES_KB, USUAL_PAGE_BYTES // KIB)))


@pytest.fixture(scope="session")
def by_page(every_installation: tuple[Installation, ...]) -> dict[int, Installation]:
    """Servers by the kB of a page, of the version that there is a build of for each."""
    built = [one for one in every_installation if one.page_bytes != USUAL_PAGE_BYTES]
    versions = {one.major for one in built}
    usual = [one for one in every_installation if one.page_bytes == USUAL_PAGE_BYTES]
    found = {one.page_bytes // KIB: one for one in (*usual, *built) if one.major in versions}
    missing = [str(size) for size in EVERY_KB if size not in found]
    if missing:
        pytest.skip(f"no server with pages of {', '.join(missing)} kB: python -m tests.servers builds them")
    return found


def server_of(workbench: Workbench, installation: Installation, *, name: str) -> Server:
    server = workbench.server(("max_wal_size", "128MB"), name=name, initialise=False)
    server.installation = installation
    server.initdb(checksums=True)
    server.write_configuration()
    return server


def load(server: Server, account: Account, scale: int) -> None:
    server.make_bench()
    program = PgbenchProgram(server.installation.program("pgbench"), server.installation.major)
    argv = initialise_argv(program, Connection(server.socket_directory), scale)
    assert run_command(argv, account=account, timeout_s=120, record=lambda _: None).succeeded


def asked(server: Server, query: str, database: str = "postgres") -> int:
    with psycopg.connect(server.conninfo_for(database)) as connection:
        row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return int(row[0])


@pytest.mark.parametrize("size_kb", EVERY_KB)
def test_database_size_predicted(
    workbench: Workbench, database_account: Account, by_page: dict[int, Installation], size_kb: int
) -> None:
    server = server_of(workbench, by_page[size_kb], name="sized")
    server.start()
    sizes: list[int] = []
    for scale in (1, 4):
        load(server, database_account, scale) if not sizes else load_again(server, database_account, scale)
        sizes.append(asked(server, "SELECT pg_database_size(current_database())", BENCH_DATABASE))
    found = [data_bytes_of(scale, size_kb * KIB) for scale in (1, 4)]
    print(f"{size_kb} kB: {sizes}, told {found}")  # noqa: T201 - shown with -s
    assert sizes == pytest.approx(found, rel=0.03)
    assert sizes[1] - sizes[0] == pytest.approx(found[1] - found[0], rel=0.02), "a unit of scale"


def load_again(server: Server, account: Account, scale: int) -> None:
    program = PgbenchProgram(server.installation.program("pgbench"), server.installation.major)
    argv = initialise_argv(program, Connection(server.socket_directory), scale)
    assert run_command(argv, account=account, timeout_s=120, record=lambda _: None).succeeded


@pytest.mark.parametrize("size_kb", BLOCK_SIZES_KB)
@pytest.mark.parametrize(
    "preset",
    [each if each == "defaults" else pytest.param(each, marks=pytest.mark.longest) for each in PRESETS],
)
def test_settings_presets_read_back(
    workbench: Workbench, by_page: dict[int, Installation], size_kb: int, preset: str
) -> None:
    server = server_of(workbench, by_page[size_kb], name="read")
    own = (("shared_buffers", "33MB"), ("effective_cache_size", "0x1000"), ("wal_buffers", "48"))
    choice = PostgresChoice(preset=preset, settings=(*own, ("max_wal_size", "128MB")))
    server.settings = server_settings(choice, SMALL_MACHINE, Workload(), target_free_bytes=1 << 30)
    server.write_configuration()
    server.start()
    server.check_settings()
    assert asked(server, "SHOW block_size") == size_kb * KIB
    assert asked(server, "SELECT pg_size_bytes(current_setting('shared_buffers'))") == 33 * MIB


def campaign_of(by_page: dict[int, Installation], folder: Path, *, extra: str = "", seconds: int = 3) -> str:
    workload = f'scale = 2\nclients = 2\nwarmup = "0s"\nduration = "{seconds}s"\n{extra}'
    head = campaign_text(workload=workload).replace("checksums = false", "checksums = true")
    head = f"io_baseline = false\n{head}"
    return head + "".join(
        f'[[configuration]]\nname = "{size} kB"\n'
        f"[configuration.target.folder]\npath = '{folder}'\n"
        f'[configuration.postgresql]\ninstallation = "{by_page[size].bin_directory}"\n'
        for size in EVERY_KB
    )


def test_campaign_over_page_sizes_compared(
    campaign_bench: CampaignBench, by_page: dict[int, Installation]
) -> None:
    text = campaign_of(by_page, campaign_bench.target)
    running = campaign_bench.start(text, "--trust")
    assert running.end() == 0, running.events
    paths = campaign_bench.run_files()
    for size_kb, path in zip(EVERY_KB, paths, strict=True):
        with RunFile(path) as run:
            run.check()
            assert run.values["state"] == "done"
            metadata, environment = run.metadata, read_environment_facts(run.facts("before"))
            assert (metadata.installation.block_size, environment.page_bytes) == (
                size_kb * KIB,
                size_kb * KIB,
            )
            assert metadata.data_bytes == data_bytes_of(2, size_kb * KIB)
            assert {event.kind for event in run.events()} <= ORDINARY_EVENTS
            marks = {kind for kind, _ in run.marks()} - {"disturbed", "not-steady", "client-bound"}
            assert marks <= {"no-checkpoint-cycle"}, run.marks()
            measured = run.phase(Phase.MEASURE)
            assert measured is not None
            summary = run.summary()
            print(size_kb, {name: summary.get(name) for name in ("tps", "wal_bytes", "write_amplification")})  # noqa: T201
    shown = campaign_bench.command("compare", *map(str, paths), status=0)
    sizes = [f"{size} KiB" for size in EVERY_KB]
    print(shown.stdout)  # noqa: T201 - shown with -s
    assert "block size" in shown.stdout
    assert all(size in shown.stdout for size in sizes), shown.stdout
    differences = json.loads(campaign_bench.command("compare", "--json", *map(str, paths)).stdout)[
        "differences"
    ]
    (differing,) = (each for each in differences if each["name"] == "block size")
    assert all(size in str(differing) for size in sizes), differing


def test_import_knows_page_size(
    workbench: Workbench,
    database_account: Account,
    by_page: dict[int, Installation],
    tmp_path: Path,
) -> None:
    for size_kb in (4, 32):
        server = server_of(workbench, by_page[size_kb], name=f"kept{size_kb}")
        server.start()
        load(server, database_account, 1)
        folder = give(workbench.folder / f"by-hand-{size_kb}", database_account)
        done = run_command(
            (
                *(server.installation.program("pgbench"), "-h", server.socket_directory),
                *("-U", "pgfooting_bench", "-n", "-c", "2", "-T", "2", "-P", "1", BENCH_DATABASE),
            ),
            account=database_account,
            timeout_s=60,
            record=lambda _: None,
        )
        assert done.succeeded, done.stderr
        (folder / "run.out").write_text(done.stdout)
        (folder / "run.err").write_text(done.stderr)
        query = "SELECT name, setting, unit, source FROM pg_settings ORDER BY name"
        with psycopg.connect(server.conninfo) as connection:
            rows = connection.execute(query.encode()).fetchall()
        lines = [
            "name|setting|unit|source",
            *("|".join("" if v is None else str(v) for v in r) for r in rows),
        ]
        (folder / "settings.log").write_text("\n".join(lines) + "\n")
        server.stop()
        report = import_paths([folder], tmp_path / "library", lambda _done, _total, _what: None)
        assert not report.problems
        (imported,) = report.imported
        with RunFile(imported.path) as run:
            assert run.metadata.installation.block_size == size_kb * KIB
            values = {each.name: each.value for each in run.metadata.settings}  # type: ignore[union-attr]
            assert values["shared_buffers"] == "128MB" or values["shared_buffers"].endswith("B")
            assert values["max_wal_size"] == "128MB"
