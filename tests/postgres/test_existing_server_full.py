"""The disk of a server that already runs fills: the run says so, and our database makes room again."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import psycopg
import pytest

from app.domain.run import RunState
from app.postgres.existing.own_database import OWN_DATABASE
from app.postgres.installations.installation import Installation
from app.process.starter import Account
from app.runfile.metadata.typed_json import or_none
from app.runfile.reader import RunFile
from tests.fix_campaign import CampaignBench
from tests.fix_existing import PASSWORD, Elsewhere
from tests.postgres.test_existing_server import RecordingListener, campaign, open_there

pytestmark = pytest.mark.long

FULL = "The server's disk is full: "


@pytest.fixture
def small_place(open_folder: Path) -> Iterator[Path]:
    """A folder on a filesystem of its own that is soon full."""
    place = open_folder / "small"
    place.mkdir()
    mounted = os.geteuid() == 0 and shutil.which("mount") is not None
    if mounted:
        command = ("mount", "-t", "tmpfs", "-o", "size=128m,mode=0755", "none", str(place))
        mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    if not mounted:
        pytest.skip("needs root that may mount a tmpfs")
    yield place
    subprocess.run(("umount", "--lazy", str(place)), check=True)


@pytest.fixture
def small_elsewhere(
    small_place: Path,
    data_template: Path,
    installation: Installation,
    database_account: Account,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Elsewhere]:
    """A server whose data directory lies there; not yet started."""
    data = small_place / "data"
    subprocess.run(["cp", "-a", str(data_template), str(data)], check=True)
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    found = Elsewhere(installation, database_account, data)
    yield found
    found.stop()


@pytest.fixture
def with_room_for_wal(small_elsewhere: Elsewhere, open_folder: Path) -> Elsewhere:
    """The same, started, with its WAL on a larger filesystem: it outlives that its data has no room."""
    wal, linked = open_folder / "wal", small_elsewhere.data / "pg_wal"
    subprocess.run(["cp", "-a", str(linked), str(wal)], check=True)
    shutil.rmtree(linked)
    linked.symlink_to(wal)
    small_elsewhere.start()
    return small_elsewhere


def fill(server: Elsewhere) -> Path:
    """Take what is free there, as somebody else does."""
    filler = server.data.parent / "filler"
    with suppress(OSError), filler.open("wb", buffering=0) as written:
        while True:
            written.write(bytes(4096))
    return filler


def the_error(path: Path) -> str:
    """Return why a run failed."""
    with RunFile(path) as run:
        assert run.state is RunState.FAILED
        error = or_none(run.metadata.error)
        assert error is not None
        assert error.code == "target-lost"
        return error.message


def test_remote_disk_full_while_loading(with_room_for_wal: Elsewhere, campaign_bench: CampaignBench) -> None:
    server = with_room_for_wal
    connection = server.role("bench")
    server.ask("CREATE DATABASE shop")
    before, started = server.databases(), server.ask("SELECT pg_postmaster_start_time()")
    two = '[[configuration]]\nname = "large"\nworkload.scale = 20\n[[configuration]]\nname = "small"\n'
    text = campaign(connection, extra=two).replace("repeats = 1", "repeats = 2")
    ended = campaign_bench.run(text, "--load", server.name, status=1)
    output = " ".join(ended.stdout.split())
    assert f"large: {FULL}could not extend file" in output, output
    assert "Free some space there, or choose less data or a shorter run" in output
    files = campaign_bench.run_files()
    (large,) = (path for path in files if "large" in path.name)  # what fails before measuring fails again
    assert the_error(large).startswith(FULL)
    states = []
    for path in files:
        with RunFile(path) as run:
            states.append(run.state)
    assert sorted(states) == sorted([RunState.FAILED, RunState.DONE, RunState.DONE])
    assert server.databases() == before
    assert server.ask("SELECT pg_postmaster_start_time()") == started


def measure_until_full(server: Elsewhere, bench: CampaignBench) -> tuple[Path, Path]:
    """Take what is free there while it is measured; return the failed run's file and what takes the room."""
    connection = server.role("bench")
    running = bench.start(campaign(connection).replace('"3s"', '"120s"'), "--load", server.name)
    running.until_second(1)
    filler = fill(server)
    assert running.end() == 1
    (path,) = bench.run_files()
    assert the_error(path).startswith(FULL)
    return path, filler


def test_remote_disk_full_while_measuring(
    with_room_for_wal: Elsewhere, campaign_bench: CampaignBench
) -> None:
    server = with_room_for_wal
    before, started = server.databases(), server.ask("SELECT pg_postmaster_start_time()")
    path, filler = measure_until_full(server, campaign_bench)
    with RunFile(path) as run:
        assert run.samples("pgbench.tps")[1].size, "what was measured is kept"
        assert "database-left" not in dict(run.marks())
    # A checkpoint on a full disk ends the server, and DROP DATABASE begins with one.
    assert server.ask("SELECT pg_postmaster_start_time()") == started
    assert server.databases() == before
    assert filler.stat().st_size > 0


def speak(server: Elsewhere, language: str, folder: Path) -> str:
    """Start the server anew in a language of this machine; return how it says that a table is missing."""
    locales = folder / "locales"
    locales.mkdir(mode=0o755)
    made = shutil.which("localedef") and subprocess.run(
        ("localedef", "-i", language, "-f", "UTF-8", str(locales / f"{language}.UTF-8")),
        capture_output=True,
        check=False,
    )
    if not made or made.returncode:
        pytest.skip(f"no locale {language} can be made here")
    server.stop()
    server.settings = {"lc_messages": f"{language}.UTF-8"}
    server.environment = {"LOCPATH": str(locales)}
    server.start()
    with pytest.raises(psycopg.errors.UndefinedTable) as caught:
        server.ask("SELECT FROM missing")
    return str(caught.value)


@pytest.mark.longest
def test_full_disk_in_another_language(
    with_room_for_wal: Elsewhere, campaign_bench: CampaignBench, open_folder: Path
) -> None:
    """Its SQLSTATE is read, not its words."""
    server = with_room_for_wal
    if "existiert nicht" not in speak(server, "de_DE", open_folder):
        pytest.skip("the server's translations are not installed")
    before, started = server.databases(), server.ask("SELECT pg_postmaster_start_time()")
    path, _ = measure_until_full(server, campaign_bench)
    assert "kein Speicherplatz mehr verf" in the_error(path)
    assert server.ask("SELECT pg_postmaster_start_time()") == started
    assert server.databases() == before


@pytest.mark.longest
def test_remote_wal_full_database_dropped_later(
    small_elsewhere: Elsewhere, campaign_bench: CampaignBench
) -> None:
    server = small_elsewhere
    server.start()
    before = server.databases()
    path, filler = measure_until_full(server, campaign_bench)
    filler.unlink()
    server.stop()
    server.start()
    if OWN_DATABASE in server.databases():  # the server was gone, or went on with what others left it
        with RunFile(path) as run:
            assert "The next campaign there drops it." in dict(run.marks())["database-left"]
        listener = RecordingListener()
        with ExitStack() as stack:
            open_there(stack, f"host=127.0.0.1 port={server.port} user=bench", server.account, listener)
        assert any("an earlier campaign left" in sentence for sentence in listener.sentences)
    assert server.databases() == before
