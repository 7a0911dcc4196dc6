"""A real server: made, configured, started, asked, stopped, and what happens when that goes wrong."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from app.domain.errors import FootingError, ServerError
from app.postgres.configuration_text import connect, connection_string
from app.postgres.facts import read_server_facts
from app.postgres.installations.installation import Installation
from app.postgres.server import Server
from app.process.starter import Account, run_command
from tests.fix_postgres import Workbench

pytestmark = pytest.mark.postgres


def _ask(server: Server, query: str) -> object:
    with connect(server.conninfo) as connection:
        row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return row[0]


def _do(server: Server, statement: str) -> None:
    with connect(server.conninfo) as connection:
        connection.execute(statement.encode())


@pytest.mark.parametrize(("checksums", "shown"), [(True, "on"), (False, "off")])
def test_every_version_made_started_and_stopped(
    *, workbench: Workbench, every_installation: tuple[Installation, ...], checksums: bool, shown: str
) -> None:
    for number, installation in enumerate(every_installation):
        server = workbench.server(("work_mem", "5MB"), name=f"number{number}", initialise=False)
        server.installation = installation
        server.initdb(checksums=checksums)
        server.write_configuration()
        assert server.pid is None
        assert not server.is_running()
        server.start()
        assert server.is_running()
        facts = read_server_facts(server.conninfo)
        assert f"PostgreSQL {installation.version}" in facts.version_text
        assert installation.configure in {"", facts.configure}
        values = {setting.name: setting.value for setting in facts.settings}
        assert values["work_mem"] == "5MB"
        assert values["data_checksums"] == shown
        assert int(values["block_size"]) == installation.block_size
        server.stop(timeout_s=300)
        assert server.pid is None
        server.stop()


def test_effective_settings_and_defaults(workbench: Workbench) -> None:
    server = workbench.server(("random_page_cost", "1.5"))
    server.start()
    facts = read_server_facts(server.conninfo)
    found = {setting.name: setting for setting in facts.settings}
    defaults = dict(facts.defaults)
    assert (defaults["seq_page_cost"], defaults["fsync"]) == ("1", "on")
    assert not {"random_page_cost", "application_name"} & defaults.keys()
    assert (found["random_page_cost"].value, found["random_page_cost"].source) == (
        "1.5",
        "configuration file",
    )
    assert found["fsync"].source == "default"
    assert "seq_page_cost" not in found
    assert "application_name" not in found


def test_the_log_has_our_prefix_and_checkpoints(workbench: Workbench) -> None:
    server = workbench.server()
    server.start()
    with connect(server.conninfo) as connection:
        connection.execute("CHECKPOINT")
    server.stop()
    lines = [line for line in server.log_text().splitlines() if "checkpoint" in line]
    assert any("checkpoint complete" in line for line in lines)
    epoch_s, process = lines[0].split()[:2]
    assert float(epoch_s) > 1.7e9
    assert process.startswith("[")


def test_commands_are_recorded_with_their_end(workbench: Workbench) -> None:
    server = workbench.server(initialise=False)
    server.initdb(checksums=True)
    server.write_configuration()
    server.start()
    server.stop()
    programs = [(Path(outcome.argv[0]).name, outcome.exit_code) for outcome in workbench.outcomes]
    assert programs == [("initdb", 0), ("sync", 0), ("data_files", 0), ("postgres", 0)]


def test_no_tcp_port_or_foreign_files(workbench: Workbench) -> None:
    server = workbench.server()
    server.start()
    assert server.pid is not None
    family = [psutil.Process(server.pid), *psutil.Process(server.pid).children()]
    assert len(family) > 3
    for process in family:
        with suppress(psutil.NoSuchProcess):  # the start-up's own children end
            assert process.net_connections(kind="tcp") == []
            for file in process.open_files():
                assert Path(file.path).is_relative_to(workbench.folder), file.path
    assert [path.name for path in Path(server.socket_directory).iterdir() if path.is_socket()] == [
        ".s.PGSQL.5432"
    ]


def test_servers_side_by_side(workbench: Workbench) -> None:
    theirs = workbench.server(name="theirs")
    theirs.start()
    _do(theirs, "CREATE DATABASE precious")
    pid = theirs.pid
    ours = workbench.server(name="ours")
    ours.start()
    assert _ask(ours, "SELECT count(*) FROM pg_database WHERE datname = 'precious'") == 0
    ours.stop()
    assert theirs.pid == pid
    assert _ask(theirs, "SELECT count(*) FROM pg_database WHERE datname = 'precious'") == 1


def _psql(server: Server, user: str, role: str, database: str = "postgres") -> str:
    """Try to connect as another user of this machine; return what psql says."""
    program = server.installation.program("psql")
    if not Path(program).exists():
        pytest.skip("psql is needed")
    argv = [program, "-h", server.socket_directory, "-U", role, "-d", database, "-Atc", "SELECT 42"]
    done = subprocess.run(
        argv, user=user, group=65534, extra_groups=[], cwd="/", env={}, capture_output=True, check=False
    )
    return (done.stdout + done.stderr).decode()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_refused(workbench: Workbench) -> None:
    server = workbench.server()
    server.start()
    folder, socket = Path(server.socket_directory), Path(server.socket_directory, ".s.PGSQL.5432")
    assert "Permission denied" in _psql(server, "nobody", "pgfooting")
    folder.chmod(0o755)
    assert "Permission denied" in _psql(server, "nobody", "pgfooting")
    socket.chmod(0o777)
    assert "no password supplied" in _psql(server, "nobody", "pgfooting")
    server.make_bench()
    found = _psql(server, "nobody", "pgfooting_bench", "pgbench")
    assert 'Peer authentication failed for user "pgfooting_bench"' in found
    assert "no pg_hba.conf entry" in _psql(server, "nobody", "nobody")


def test_nobody_is_the_superuser_without_the_secret(workbench: Workbench) -> None:
    server = workbench.server()
    server.start()
    argv = [server.installation.program("pgbench"), "-n", "-t", "1", "-h", server.socket_directory]
    argv += ["-U", "pgfooting", "postgres"]  # as the server's own user, as pgbench in a run
    ended = run_command(argv, account=server.account, timeout_s=60, record=lambda _: None)
    assert "no password supplied" in ended.stderr
    other = connection_string(server.socket_directory, server.account.name, "postgres", "guessed")
    with pytest.raises(ServerError, match="password authentication failed"):
        connect(other)


def test_secret_in_no_command_file_or_log(workbench: Workbench) -> None:
    server = workbench.server(("log_statement", "all"), ("log_connections", "on"), initialise=False)
    server.initdb(checksums=True)
    server.write_configuration()
    server.start()
    server.make_bench()
    assert server.secret not in repr(server)
    assert server.secret not in repr(workbench.outcomes)
    server.stop()
    held = [path for path in workbench.folder.rglob("*") if path.is_file()]
    assert len(held) > 900
    assert [path for path in held if server.secret.encode() in path.read_bytes()] == []


def test_server_user_has_one_role(workbench: Workbench, database_account: Account) -> None:
    server = workbench.server()
    server.start()
    text = server.conninfo.replace("user=pgfooting", f"user={database_account.name}")
    with pytest.raises(ServerError, match="no pg_hba"):
        connect(text)
    assert _ask(server, "SELECT rolsuper FROM pg_roles WHERE rolname = current_user") is True


def test_server_of_another_user_refused(workbench: Workbench) -> None:
    server = workbench.server()
    server.start()
    with pytest.raises(ServerError, match="requirepeer"):
        connect(server.conninfo.replace("requirepeer=", "requirepeer=not-"))


def test_the_users_environment_does_not_matter(workbench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    nonsense = {
        "PGHOST": "192.0.2.1",
        "PGHOSTADDR": "192.0.2.1",
        "PGPORT": "1",
        "PGUSER": "nobody",
        "PGDATABASE": "nothing",
        "PGDATA": "/nonexistent",
        "PGSERVICE": "nonsense",
        "PGOPTIONS": "--nonsense=1",
        "PGSSLMODE": "nonsense",
        "PGTZ": "Mars",
        "LC_ALL": "de_DE.UTF-8",
        "LC_NUMERIC": "de_DE.UTF-8",
        "LANG": "de_DE.UTF-8",
        "LANGUAGE": "de",
        "TZ": "Asia/Kathmandu",
    }
    for name, value in nonsense.items():
        monkeypatch.setenv(name, value)
    server = workbench.server(("random_page_cost", "1.5"), ("checkpoint_completion_target", "0.75"))
    server.start()
    assert _ask(server, "SHOW random_page_cost") == "1.5"
    assert _ask(server, "SHOW lc_numeric") == "C"
    assert _ask(server, "SHOW TimeZone") == "UTC"
    assert "database system is ready" in server.log_text()


def test_settings_with_quotes_and_backslashes(workbench: Workbench) -> None:
    server = workbench.server(("search_path", '"it\'s \\ odd", public'))
    server.start()
    assert _ask(server, "SHOW search_path") == '"it\'s \\ odd", public'


def test_the_database_for_pgbench_is_made_once(workbench: Workbench) -> None:
    server = workbench.server()
    server.start()
    server.make_bench()
    connect(server.conninfo_for("pgbench")).close()
    with pytest.raises(ServerError, match="already exists"):
        server.make_bench()


def _refused(server: Server) -> FootingError:
    with pytest.raises(FootingError) as caught:
        server.start()
    assert server.pid is None
    assert not Path(server.data_directory, "postmaster.pid").exists()
    return caught.value


def test_missing_library(workbench: Workbench) -> None:
    error = _refused(workbench.server(("shared_preload_libraries", "nothing_here")))
    assert isinstance(error, ServerError)
    assert 'could not access file "nothing_here"' in error.message


def test_a_missing_data_directory_is_told(workbench: Workbench) -> None:
    server = workbench.server(initialise=False)
    Path(server.data_directory).rmdir()
    with pytest.raises(ServerError, match="No such file or directory"):
        server.write_configuration()
    assert "could not access directory" in _refused(server).message


def test_nonempty_folder_untouched(workbench: Workbench) -> None:
    server = workbench.server(initialise=False)
    precious = Path(server.data_directory, "precious")
    precious.write_text("mine")
    with pytest.raises(ServerError, match="exists but is not empty") as caught:
        server.initdb(checksums=True)
    assert "remove or empty" in caught.value.hint
    assert [path.name for path in Path(server.data_directory).iterdir()] == ["precious"]


def test_running_server_not_started_again(workbench: Workbench) -> None:
    server = workbench.server()
    server.start()
    pid = server.pid
    with pytest.raises(ServerError, match="is already running"):
        server.start()
    assert server.pid == pid


def test_second_server_on_same_data(workbench: Workbench) -> None:
    server = workbench.server()
    server.start()
    second = workbench.server(name="two", initialise=False)
    second.data_directory = server.data_directory
    with pytest.raises(ServerError, match='lock file "postmaster.pid" already exists'):
        second.start()
    assert server.is_running()


def test_start_timeout(workbench: Workbench) -> None:
    server = workbench.server()
    with pytest.raises(ServerError, match="was not ready after 0 s"):
        server.start(timeout_s=0)
    assert server.pid is None


def test_server_end_noticed(workbench: Workbench) -> None:
    server = workbench.server()
    server.start()
    server.check_running()
    with connect(server.conninfo) as connection:
        row = connection.execute("SELECT pg_backend_pid()").fetchone()
        assert row is not None
        postmaster = server._process
        assert postmaster is not None
        psutil.Process(int(str(row[0]))).kill()
        postmaster.wait(60)  # restart_after_crash is off
    with pytest.raises(ServerError, match="stopped by itself"):
        server.check_running()
    server.stop()
    assert workbench.outcomes[-1].exit_code != 0


def test_a_crashed_data_directory_starts_again(workbench: Workbench) -> None:
    server = workbench.server()
    server.start()
    _do(server, "CREATE DATABASE kept")
    server.stop(timeout_s=300)
    server.start()
    assert _ask(server, "SELECT count(*) FROM pg_database WHERE datname = 'kept'") == 1
    assert "automatic recovery in progress" in server.log_text()
