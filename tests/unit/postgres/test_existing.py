"""How a server of others is reached and refused, as far as no server is needed to know."""

from __future__ import annotations

import socket
import struct
from dataclasses import replace
from pathlib import Path

import pytest
from psycopg.pq import Conninfo

from app.domain.errors import RefusedError, TargetError
from app.domain.text import GIB
from app.postgres.existing.address import (
    ALLOWED,
    ServerAddress,
    connection_problem,
    named_server,
    open_address,
)
from app.postgres.existing.look import (
    OtherActivity,
    OtherDatabase,
    RoundTrip,
    ServerLook,
    ServerNeeds,
    ServerRole,
    check_server,
    look_rows,
    made_sentence,
    not_known,
)
from app.postgres.pgbench.argv import Connection, PgbenchProgram, initialise_argv
from tests.false_server import false_server, message

ROLE = ServerRole("bench", is_superuser=False, may_create=True, has_monitor=True, may_checkpoint=True)
LOOK = ServerLook(
    version="15.3",
    version_text="PostgreSQL 15.3 on somewhere",
    major=15,
    cluster_name="main",
    system_identifier="7123",
    server_address="10.0.0.1",
    started="2026-01-01",
    in_recovery=False,
    max_connections=100,
    reserved_connections=3,
    tls="TLSv1.3 X",
    role=ROLE,
    databases=(OtherDatabase("shop", 3 * GIB), OtherDatabase("secret", None)),
    database_count=3,
    others=OtherActivity(2, 0, 0, 0.5, 10.0),
    round_trip=RoundTrip(5.0, 4.8, 6.2),
)
NEEDS = ServerNeeds("db:5432", 4, GIB, None, 15)
ADDRESS = ServerAddress({"host": "db", "port": "5432", "user": "bench"}, secret="sesame")  # noqa: S106 - no server has it


@pytest.mark.parametrize(
    "text",
    [
        "host=db.example user=bench",
        "service=bench",
        "postgresql://bench@db.example:5433/postgres?sslmode=verify-full",
        "host=db port=65535",
        "host=/run/postgresql user=bench passfile=/home/me/.pgpass",
    ],
)
def test_accepted_without_secret(text: str) -> None:
    assert connection_problem(text) == ""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "must be a libpq connection string"),
        ("host=db\nuser=x", "must be a libpq connection string"),
        ("host=db sesame", 'is not a valid libpq connection string, such as "host=db.example user=bench'),
        ("hots=sesame", "Did you mean “host”?"),
        ("host=db prot=sesame", "Did you mean “port”?"),
        ("host=db port=sesame", "allowed: a number from 1 to 65535"),
        ("host=db port=0", "allowed: a number from 1 to 65535"),
        ("host=db port=65536", "allowed: a number from 1 to 65535"),
        ("host=db port=1234567", "allowed: a number from 1 to 65535"),
        ("host=db password=sesame", "libpq finds passwords in ~/.pgpass, in a service, or in PGPASSWORD"),
        (
            "postgresql://bench:sesame@db/",
            "libpq finds passwords in ~/.pgpass, in a service, or in PGPASSWORD",
        ),
        ("host=db sslpassword=sesame", "libpq finds passwords in ~/.pgpass, in a service, or in PGPASSWORD"),
        ("host=db options='-c sesame=1'", "“options”"),
        ("host=sesame,two", "names several servers"),
        ("service=bench host=sesame", "names a service and a host"),
        ("service=bench hostaddr=10.0.0.1", "names a service and a host"),
        ("host=" + "x" * 3000, "must be a libpq connection string"),
    ],
)
def test_refused_connection_string_not_repeated(text: str, words: str) -> None:
    problem = connection_problem(text)
    assert words in problem
    assert "sesame" not in problem


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("host=db user=bench", "db:5432"),
        ("postgresql://bench@db.example:5433/", "db.example:5433"),
        ("host=/run/postgresql", "/run/postgresql:5432"),
        ("hostaddr=10.0.0.1", "10.0.0.1:5432"),
        ("host=db hostaddr=10.0.0.1 port=6000", "db/10.0.0.1:6000"),
        ("service=bench", ""),
        ("service=bench dbname=shop", ""),
        ("user=bench", ""),
        ("user=bench dbname=shop", ""),
        ("service=gone port=7", "gone:7"),
    ],
)
def test_server_named_before_contact(text: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for word in ("PGHOST", "PGHOSTADDR", "PGPORT", "PGSERVICE"):
        monkeypatch.delenv(word, raising=False)
    assert named_server(text) == name


def test_name_includes_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGHOST", "db.example")
    monkeypatch.setenv("PGPORT", "6000")
    assert named_server("user=bench") == ""
    assert named_server("hostaddr=10.0.0.1") == "db.example/10.0.0.1:6000"


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A service of the user's own, as the reviewer's."""
    file = tmp_path / "pg_service.conf"
    file.write_text("[prod]\nhost=127.0.0.1\nport=16001\npassword=sesame\nsslmode=verify-full\n")
    monkeypatch.setenv("PGSERVICEFILE", str(file))


KNOWN = ALLOWED & {each.keyword.decode() for each in Conninfo.get_defaults()}
"""libpq before 17 does not know sslnegotiation."""
OTHER_WAYS = sorted(KNOWN - {"service", "dbname", "host", "hostaddr"})


def value_of(word: str) -> str:
    return {"port": "16001", "sslmode": "verify-full"}.get(word, "1")


@pytest.mark.usefixtures("service")
@pytest.mark.parametrize("word", OTHER_WAYS)
def test_service_asks_only_for_database(word: str) -> None:
    assert named_server("service=prod dbname=x") == ""
    assert named_server(f"service=prod {word}={value_of(word)}") == "127.0.0.1:16001"


@pytest.mark.parametrize("word", sorted(KNOWN - {"service", "dbname", "user"}))
def test_no_service_asks_for_role_and_database(word: str) -> None:
    assert named_server(f"user=x dbname=y {word}={value_of(word)}") != ""


@pytest.mark.usefixtures("service")
@pytest.mark.parametrize("said", ["port=16002", "sslmode=disable", "sslmode=prefer"])
def test_what_the_service_says_stays(said: str) -> None:
    for ask in (named_server, open_address):
        with pytest.raises(RefusedError, match=f"sets {said.partition('=')[0]}"):
            ask(f"service=prod {said}")


def test_false_server_gets_no_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[bytes] = []

    def enter(client: socket.socket) -> None:
        client.sendall(message(b"R", struct.pack("!I", 3)))
        heard.append(client.recv(1000))

    file = tmp_path / "pg_service.conf"
    monkeypatch.setenv("PGSERVICEFILE", str(file))
    with false_server(enter) as server:
        file.write_text("[prod]\nhost=127.0.0.1\nport=1\npassword=sesame\nsslmode=verify-full\n")
        for said in (f"port={server.port}", f"port={server.port} sslmode=disable", "sslmode=disable"):
            with pytest.raises(RefusedError):
                open_address(f"service=prod {said}")
        assert heard == []


def test_hostaddr_part_of_agreed_name() -> None:
    address = replace(ADDRESS, parameters={**ADDRESS.parameters, "hostaddr": "10.0.0.1"})
    assert (ADDRESS.name, address.name) == ("db:5432", "db/10.0.0.1:5432")
    assert address.name == named_server(address.bare("x"))


def test_secret_in_no_argument_or_repr() -> None:
    assert "sesame" not in repr(ADDRESS) + ADDRESS.bare("x")
    assert "password=sesame" in ADDRESS.conninfo()
    assert ADDRESS.environment == {"PGPASSWORD": "sesame"}
    assert replace(ADDRESS, secret="").environment == {}


def test_pgbench_gets_whole_connection_string() -> None:
    connection = Connection("db", conninfo=ADDRESS.bare("pgfooting_bench"))
    argv = initialise_argv(PgbenchProgram("/bin/pgbench", 15), connection, 1)
    assert argv[-1] == "host=db port=5432 user=bench dbname=pgfooting_bench"
    assert not any(word.startswith("--host") for word in argv)


def test_unresolved_host_has_hint() -> None:
    with pytest.raises(TargetError, match=r"cannot be reached: .*no-such-host\.invalid") as caught:
        open_address("host=no-such-host.invalid user=bench connect_timeout=2")
    assert "spelling" in caught.value.hint


def test_suitable_server_accepted() -> None:
    check_server(LOOK, NEEDS)


@pytest.mark.parametrize(
    ("look", "needs", "words"),
    [
        (replace(LOOK, major=17, version="17.1"), NEEDS, "pgbench 15 is too old for it"),
        (replace(LOOK, in_recovery=True), NEEDS, "is a standby"),
        (replace(LOOK, role=replace(ROLE, is_superuser=True)), NEEDS, "is a superuser"),
        (
            replace(LOOK, role=replace(ROLE, may_create=False)),
            NEEDS,
            "is not allowed to create databases (CREATEDB)",
        ),
        (replace(LOOK, role=replace(ROLE, dangerous=("pg_read_server_files",))), NEEDS, "is a member of"),
        (
            replace(LOOK, role=replace(ROLE, owned=tuple(f"shop{n}" for n in range(7)))),
            NEEDS,
            "also owns databases that are not pgFooting's: shop0, shop1, shop2, shop3, shop4 and 2 more",
        ),
        (LOOK, replace(NEEDS, room_bytes=GIB // 2), "needs about 1 GiB there; the campaign allows 512"),
        (LOOK, replace(NEEDS, clients=91), "need 96 connections; the server has 95 left"),
        (replace(LOOK, others=replace(LOOK.others, tps=10.1)), NEEDS, "10 transactions a second"),
        (replace(LOOK, others=replace(LOOK.others, active=1)), NEEDS, "1 active session"),
    ],
)
def test_every_refusal_has_message_and_hint(look: ServerLook, needs: ServerNeeds, words: str) -> None:
    with pytest.raises(RefusedError) as caught:
        check_server(look, needs)
    assert words in caught.value.message
    assert caught.value.message.endswith("Nothing was done there.")
    assert caught.value.hint


def test_person_sees_known_and_unknown() -> None:
    values = dict(look_rows(LOOK, ADDRESS))
    assert values["Server"] == "db:5432"
    assert values["Databases"] == "shop (3 GiB), secret (size not reported) and 1 more"
    assert values["Other activity"] == "2 sessions, 0.5 transactions a second in the last 10 s"
    assert values["Round trip"] == "5.00 ms (4.80 to 6.20)"
    assert "pgfooting_bench" in made_sentence("db:5432")
    few = replace(LOOK, role=replace(ROLE, has_monitor=False, may_checkpoint=False))
    assert len(not_known(few)) == len(not_known(LOOK)) + 2
    assert any("burst credit" in sentence for sentence in not_known(LOOK))
