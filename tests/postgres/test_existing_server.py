"""A server that already runs: looked at, agreed to, measured in one database of ours, and left as it was."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest
from typing_extensions import override

from app.domain.campaign.configuration import (
    Campaign,
    Configuration,
    ServerTarget,
    Workload,
    interleaved_order,
    with_drawn_order,
)
from app.domain.errors import FootingError, RefusedError, TargetError
from app.execution.resolve import resolve_campaign
from app.execution.servers import LoadConsent, Servers, open_servers
from app.hosts.existing_server import ExistingServer
from app.hosts.local import LocalHost
from app.hosts.recovery.resource_journal import ResourceJournal
from app.postgres.existing.address import open_address
from app.postgres.existing.look import look_at_server
from app.postgres.existing.own_database import LOCK, MARK, OWN_DATABASE, make_own
from app.process.starter import Account
from app.recording.events import CampaignListener
from app.runfile.metadata.run_metadata import EXISTING_SERVER
from app.runfile.metadata.typed_json import or_none
from app.runfile.reader import RunFile
from tests.fix_campaign import CampaignBench, kill
from tests.fix_existing import PASSWORD, Elsewhere

pytestmark = pytest.mark.long

LOOK_S = 0.3
WORKLOAD = Workload(scale=1, size=None, clients=2, threads=1, duration_s=3, warmup_s=1)


class RecordingListener(CampaignListener):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.sentences: list[str] = []

    @override
    def reported(self, kind: str, message: str) -> None:
        self.sentences.append(message)


def agree(_asked: Sequence[object]) -> None:
    """Let it be connected to, and loaded."""


def open_there(
    stack: ExitStack,
    connection: str,
    account: Account,
    listener: CampaignListener,
    workload: Workload = WORKLOAD,
    *,
    ssh: str = "",
) -> Servers:
    """Open a server as a campaign does, on whose load nobody waits for ten seconds."""
    target = ServerTarget(connection, room_bytes=10**9, ssh=ssh)
    campaign = with_drawn_order(Campaign("x", (Configuration("a", target, workload=workload),), 1))
    resolved = resolve_campaign(campaign, account, lambda _outcome: None)
    consent = LoadConsent(agree, LOOK_S, agree)
    return open_servers(stack, resolved, interleaved_order(campaign), consent, listener)


def refusal(elsewhere: Elsewhere, connection: str, workload: Workload = WORKLOAD) -> FootingError:
    """Return why a server is not measured; nothing was made there."""
    before = elsewhere.databases()
    with ExitStack() as stack, pytest.raises(FootingError) as caught:
        open_there(stack, connection, elsewhere.account, CampaignListener(), workload)
    assert elsewhere.databases() == before
    return caught.value


def campaign(connection: str, *, extra: str = "") -> str:
    return f"""
name = "There"
repeats = 1
[target.server]
connection = "{connection}"
room = "1 GiB"
[workload]
scale = 1
clients = 2
warmup = "1s"
duration = "3s"
{extra}
"""


def test_existing_server_left_unchanged(elsewhere: Elsewhere, campaign_bench: CampaignBench) -> None:
    connection = elsewhere.role("bench")
    before = elsewhere.databases()
    text = campaign(connection, extra='[postgresql.settings]\nwork_mem = "5MB"')
    ended = campaign_bench.run(text, "--load", elsewhere.name, "--trust", status=0)
    for words in (
        f"Server: {elsewhere.name}",
        "Role: bench",
        "Round trip: ",
        "It changes no other data or settings, but its load and checkpoints affect the whole server",
    ):
        assert words in ended.stderr
    assert elsewhere.databases() == before
    assert elsewhere.process is not None
    assert elsewhere.process.poll() is None
    (path,) = campaign_bench.run_files()
    with RunFile(path) as run:
        metadata = run.metadata
        server = or_none(metadata.target.server)
        assert server is not None
        assert (server.host_name, server.user_name, server.has_monitor) == (elsewhere.name, "bench", False)
        assert server.round_trip_ms is not None
        assert metadata.installation.version == server.version == elsewhere.installation.version
        assert {kind for kind, _ in run.marks()} >= {EXISTING_SERVER}
        assert [(each.name, each.value) for each in or_none(metadata.settings) or ()] == [("work_mem", "5MB")]
        facts = run.facts("before")
        settings = facts["server"]["settings"]  # type: ignore[index, call-overload]
        assert settings["work_mem"] == {"value": "5MB", "source": "database"}  # type: ignore[index, call-overload]
        rooms = {each.metric.partition(".")[0] for each in run.series()}
        assert {"pgbench", "wal", "server", "sessions"} <= rooms
        assert rooms.isdisjoint({"device", "storage", "array", "zfs", "btrfs"})
        assert run.samples("sessions.clients")[1].max() <= 2
        argvs = [each.argv for each in run.commands() if {"--initialize", "--no-vacuum"} & set(each.argv)]
        assert len(argvs) == 3, "to load, to warm up, to measure"
        assert all(f"dbname={OWN_DATABASE}" in argv[-1] for argv in argvs)
        assert any("pg_monitor" in event.message for event in run.events())
    everything = b"".join(each.read_bytes() for each in campaign_bench.folder.rglob("*") if each.is_file())
    assert PASSWORD.encode() not in everything.replace((elsewhere.data / "pg_hba.conf").read_bytes(), b"")
    shown = campaign_bench.command("show", str(path)).stdout
    assert "fit in" not in shown, "this machine's memory is not the server's"
    assert "below a virtual machine" not in shown
    for words in (
        "the server's machine",
        "existing-server: ",
        f"{elsewhere.name} as bench, TLS none, round trip ",
    ):
        assert words in shown


@pytest.mark.longest
def test_limited_role_logs_no_errors(elsewhere: Elsewhere, campaign_bench: CampaignBench) -> None:
    elsewhere.stop(signal.SIGINT)
    elsewhere.settings = {"logging_collector": "on", "log_directory": "log", "log_filename": "told"}
    elsewhere.start()
    connection, log = elsewhere.role("bench"), elsewhere.data / "log" / "told"
    before = len(log.read_text())
    campaign_bench.run(campaign(connection), "--load", elsewhere.name, status=0)
    elsewhere.stop(signal.SIGINT)
    lines = log.read_text()[before:].splitlines()
    assert "shutting down" in " ".join(lines), "it is the log of this server"
    assert [line for line in lines if " ERROR: " in line] == []


def test_nobody_agreed_and_nothing_was_done(elsewhere: Elsewhere, campaign_bench: CampaignBench) -> None:
    connection = elsewhere.role("bench")
    ended = campaign_bench.run(campaign(connection), status=3)
    assert f"--load {elsewhere.name}" in ended.stderr
    assert not elsewhere.has_ours()
    assert campaign_bench.run_files() == []


def test_leftovers_of_dead_campaign_dropped(elsewhere: Elsewhere, campaign_bench: CampaignBench) -> None:
    connection = elsewhere.role("bench")
    running = campaign_bench.start(campaign(connection), "--load", elsewhere.name)
    running.until_second(1)
    kill(running.process)
    assert elsewhere.has_ours()
    listener = RecordingListener()
    elsewhere.ask(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'bench'"
    )  # pgbench died with its runner; the server notices that later
    while elsewhere.ask("SELECT 1 FROM pg_stat_activity WHERE usename = 'bench'"):
        pass
    with ExitStack() as stack:
        open_there(stack, connection, elsewhere.account, listener)
        assert not elsewhere.has_ours()
    assert any("an earlier campaign left" in sentence for sentence in listener.sentences)


def test_foreign_database_of_our_name_untouched(elsewhere: Elsewhere) -> None:
    connection = elsewhere.role("bench")
    elsewhere.ask(f"CREATE DATABASE {OWN_DATABASE}")
    assert "belongs to pgfooting" in refusal(elsewhere, connection).message
    elsewhere.ask(f"ALTER DATABASE {OWN_DATABASE} OWNER TO bench")
    assert (
        "lacks pgFooting's comment, so it is treated as someone else's"
        in refusal(elsewhere, connection).message
    )
    elsewhere.ask(f"COMMENT ON DATABASE {OWN_DATABASE} IS '{MARK[:-1]}'")
    assert (
        "lacks pgFooting's comment, so it is treated as someone else's"
        in refusal(elsewhere, connection).message
    )
    elsewhere.ask(f"COMMENT ON DATABASE {OWN_DATABASE} IS '{MARK}'")
    others = f"host=127.0.0.1 port={elsewhere.port} dbname={OWN_DATABASE}"
    with psycopg.connect(f"{others} user=pgfooting"):
        assert "other sessions are connected" in refusal(elsewhere, connection).message
    with psycopg.connect(f"{others} user=bench"):
        assert "is pgFooting's and in use by another measurement" in refusal(elsewhere, connection).message


def test_one_campaign_per_server(elsewhere: Elsewhere) -> None:
    connection = elsewhere.role("bench")
    elsewhere.ask("CREATE DATABASE shop")
    with ExitStack() as stack:
        open_there(stack, connection, elsewhere.account, CampaignListener())
        assert "Another pgFooting campaign" in refusal(elsewhere, connection).message
        assert "Another pgFooting campaign" in refusal(elsewhere, f"{connection} dbname=template1").message
        assert "Another pgFooting campaign" in refusal(elsewhere, f"{connection} dbname=shop").message
    with ExitStack() as stack:
        open_there(stack, f"{connection} dbname=shop", elsewhere.account, CampaignListener())
        assert "Another pgFooting campaign" in refusal(elsewhere, connection).message
    somebody = f"host=127.0.0.1 port={elsewhere.port} user=pgfooting dbname=shop"
    with psycopg.connect(somebody, autocommit=True) as other, ExitStack() as stack:
        other.execute(
            f"SELECT pg_advisory_lock({LOCK - 1}), pg_advisory_lock({LOCK >> 32}, {LOCK & 0xFFFFFFFF})"
        )
        open_there(stack, connection, elsewhere.account, CampaignListener())


def test_lost_lock_retaken_unless_foreign(elsewhere: Elsewhere, tmp_path: Path) -> None:
    connection = elsewhere.role("bench")

    def end_its_sessions() -> None:  # as idle_session_timeout does, or a line that is cut
        sessions = "FROM pg_stat_activity WHERE usename = 'bench'"
        elsewhere.ask(f"SELECT pg_terminate_backend(pid) {sessions}")
        while elsewhere.ask(f"SELECT 1 {sessions}"):
            pass

    resources = ResourceJournal.create(str(tmp_path), "x", elsewhere.account, state_folder=tmp_path)
    with ExitStack() as stack, resources:
        (ours,) = open_there(stack, connection, elsewhere.account, CampaignListener()).values()
        host = LocalHost(elsewhere.account, resources, lambda _outcome: None)
        server = ExistingServer(host, ours.address, ours.look, report=lambda _sentence: None, lock=ours.lock)
        end_its_sessions()
        server.prepare(lambda: None)
        assert "Another pgFooting campaign" in refusal(elsewhere, connection).message
        end_its_sessions()
        with ExitStack() as others:
            open_there(others, connection, elsewhere.account, CampaignListener())
            with ours.address.connect() as made:
                make_own(made)
            for _ in range(2):  # the next run neither: what was refused is not held
                with pytest.raises(RefusedError, match="Another pgFooting campaign"):
                    server.prepare(lambda: None)
                assert elsewhere.has_ours()
        server.prepare(lambda: None)
        assert not elsewhere.has_ours()
        server.release()


def test_a_wrong_password_is_told_without_any(elsewhere: Elsewhere, monkeypatch: pytest.MonkeyPatch) -> None:
    connection = elsewhere.role("bench")
    monkeypatch.setenv("PGPASSWORD", "wrong-sesame")
    error = refusal(elsewhere, connection)
    assert isinstance(error, TargetError)
    assert "password authentication failed" in error.message
    assert "sesame" not in error.message + error.hint
    assert "~/.pgpass" in error.hint


@pytest.mark.parametrize(
    ("rights", "grant", "words"),
    [
        ("", "", "is not allowed to create databases (CREATEDB)"),
        ("SUPERUSER", "", "is a superuser"),
        ("CREATEDB", "GRANT pg_execute_server_program TO bench", "pg_execute_server_program"),
        ("CREATEDB", "CREATE DATABASE shop OWNER bench", "owns databases that are not pgFooting's: shop"),
        (
            "CREATEDB",
            "ALTER DATABASE postgres OWNER TO bench",
            "owns databases that are not pgFooting's: postgres",
        ),
    ],
)
def test_role_with_wrong_rights(elsewhere: Elsewhere, rights: str, grant: str, words: str) -> None:
    connection = elsewhere.role("bench", rights)
    if grant:
        elsewhere.ask(grant)
    error = refusal(elsewhere, connection)
    assert isinstance(error, RefusedError)
    assert words in error.message
    assert "CREATE ROLE pgfooting LOGIN CREATEDB" in error.hint


def test_a_standby_is_refused(standby: Elsewhere) -> None:
    connection = f"host=127.0.0.1 port={standby.port} user=bench"
    assert "is a standby" in refusal(standby, connection).message


@pytest.fixture
def busy(elsewhere: Elsewhere) -> Iterator[Elsewhere]:
    """Somebody works there: a session that is at it all the time, and many small transactions."""
    program = elsewhere.installation.program("psql")
    conninfo = f"host=127.0.0.1 port={elsewhere.port} user=pgfooting dbname=postgres"
    work = subprocess.Popen(
        [program, "--no-psqlrc", "--quiet", conninfo, "--command", "SELECT pg_sleep(60)"],
        stdout=subprocess.DEVNULL,
    )
    while not elsewhere.ask("SELECT 1 FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(60)'"):
        pass
    yield elsewhere
    work.send_signal(signal.SIGINT)
    work.wait()


def test_where_others_work_nobody_measures(busy: Elsewhere) -> None:
    connection = busy.role("bench")
    busy.ask("GRANT pg_monitor TO bench")
    assert "1 active session" in refusal(busy, connection).message


def test_hidden_foreign_transactions_counted(elsewhere: Elsewhere) -> None:
    connection = elsewhere.role("bench")
    address, there = open_address(connection)
    with there:

        def work(_seconds: float) -> None:
            with psycopg.connect(
                f"host=127.0.0.1 port={elsewhere.port} user=pgfooting dbname=postgres", autocommit=True
            ) as other:
                for _ in range(500):
                    other.execute("SELECT 1")
            while elsewhere.ask("SELECT 1 FROM pg_stat_activity WHERE usename = 'x'"):
                pass

        look = look_at_server(there, address, OWN_DATABASE, look_s=0, sleep=work)
    assert look.others.tps * look.others.seconds >= 490
    assert look.role.has_monitor is False


def test_hostile_names_reach_neither_terminal_nor_sentences(
    elsewhere: Elsewhere, campaign_bench: CampaignBench
) -> None:
    connection = elsewhere.role("bench")
    evil = "\x1b[2J\x9b31m" + "x" * 40
    elsewhere.ask(f'CREATE DATABASE "{evil}"', f'ALTER DATABASE "{evil}" OWNER TO bench')
    ended = campaign_bench.run(campaign(connection), "--load", elsewhere.name, status=3)
    assert "\\x1b[2J" in ended.stderr
    assert not {"\x1b", "\x9b"} & set(ended.stderr + ended.stdout)


def test_huge_comment_is_foreign_and_cheap(elsewhere: Elsewhere) -> None:
    connection = elsewhere.role("bench")
    elsewhere.ask(
        f"CREATE DATABASE {OWN_DATABASE} OWNER bench",
        "DO $$ BEGIN EXECUTE format("
        f"'COMMENT ON DATABASE {OWN_DATABASE} IS %L', repeat('x', 30000000)); END $$",
    )
    error = refusal(elsewhere, connection)
    assert "lacks pgFooting's comment, so it is treated as someone else's" in error.message
    assert len(error.message) < 300


def test_setting_needing_restart(elsewhere: Elsewhere, campaign_bench: CampaignBench) -> None:
    connection = elsewhere.role("bench")
    text = campaign(connection, extra='[postgresql.settings]\nshared_buffers = "32MB"')
    ended = campaign_bench.run(text, "--load", elsewhere.name, "--trust", status=1)
    assert "does not accept shared_buffers = 32MB for one database" in ended.stdout
    assert not elsewhere.has_ours()


def test_script_needs_agreement(elsewhere: Elsewhere, campaign_bench: CampaignBench, tmp_path: Path) -> None:
    connection = elsewhere.role("bench")
    (campaign_bench.folder / "own.sql").write_text("SELECT 1;\n")
    text = campaign(connection).replace("scale = 1", 'script = {file = "own.sql"}\nscale = 1')
    ended = campaign_bench.run(text, "--load", elsewhere.name, status=3)
    assert "with your role's rights there" in ended.stderr
    assert not elsewhere.has_ours()
