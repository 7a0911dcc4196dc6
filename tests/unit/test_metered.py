"""A server that means ill takes neither all memory nor all time of who looks at it."""

from __future__ import annotations

import itertools
import os
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import psycopg
import pytest

from app.domain.errors import TargetError
from app.domain.text import MIB
from app.postgres.existing.address import open_address
from app.process import metered
from app.process.metered import MeteredConnection, connect_bounded
from tests.false_server import (
    Answer,
    endless_notices,
    endless_parameters,
    endless_rows,
    false_server,
    greeting,
    huge_error,
    message,
    one_huge_row,
    ready,
    silence,
    welcome,
)

SENT_TOO_MUCH = "the server sent more than"
NOT_IN_TIME = "the server did not answer in time"


def connect(conninfo: str) -> MeteredConnection:
    return connect_bounded(conninfo, timeout_s=60, statement_timeout_s=60, name="test")


@pytest.mark.parametrize(
    "answer", [endless_rows, one_huge_row, huge_error, endless_notices, endless_parameters]
)
def test_endless_answer_closes_connection(answer: Answer) -> None:
    with false_server(welcome, answer) as server:
        connection = connect(server.conninfo)
        with pytest.raises(psycopg.OperationalError, match=SENT_TOO_MUCH):
            connection.execute("SELECT 1")
        assert connection.closed


@pytest.mark.parametrize("answer", [huge_error, endless_notices, endless_parameters])
def test_endless_authentication_aborted(answer: Answer) -> None:
    def enter(client: object) -> None:
        client.sendall(greeting())  # type: ignore[attr-defined]
        answer(client)  # type: ignore[arg-type]

    with false_server(enter) as server, pytest.raises(TargetError, match=SENT_TOO_MUCH):
        open_address(server.conninfo)


def test_read_without_pause_is_ended() -> None:
    """As libpq reads a message of a gigabyte while the sender is the faster one."""
    with false_server(welcome, one_huge_row) as server:
        connection = connect(server.conninfo)
        with socket.socket(fileno=os.dup(connection.pgconn.socket)) as line:
            line.settimeout(None)
            line.sendall(b"anything")

            def greedy() -> Generator[object, object, None]:
                yield from ()
                received = 0
                with suppress(ConnectionResetError):
                    while received < 1024 * MIB and (part := line.recv(MIB)):
                        received += len(part)
                raise psycopg.DatabaseError("lost synchronization with server")

            with pytest.raises(psycopg.OperationalError, match=SENT_TOO_MUCH):
                connection.wait(greedy())
        connection.close()


def test_local_socket_watches_own_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metered, "MOST_MEMORY_BYTES", 32 * MIB)
    with false_server(welcome, endless_rows, folder=str(tmp_path)) as server:
        connection = connect(server.conninfo)
        with pytest.raises(psycopg.OperationalError, match=SENT_TOO_MUCH):
            connection.execute("SELECT 1")


def test_silent_server_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metered, "GRACE_S", -0.5)
    with false_server() as server:
        connection = connect_bounded(server.conninfo, timeout_s=60, statement_timeout_s=1, name="test")
        with pytest.raises(psycopg.OperationalError, match=NOT_IN_TIME):
            connection.execute("SELECT 1")
        assert connection.closed
    with false_server(silence) as server, pytest.raises(psycopg.OperationalError, match=NOT_IN_TIME):
        connect_bounded(
            f"{server.conninfo} connect_timeout=2", timeout_s=60, statement_timeout_s=1, name="test"
        )


def an_hour_at_every_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine that pgbench keeps busy, which gives this process no time."""
    hours = itertools.count(step=3600)
    monkeypatch.setattr(metered, "time", SimpleNamespace(monotonic=lambda: float(next(hours))))


def test_late_reading_not_counted_as_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(client: socket.socket) -> None:
        client.sendall(message(b"C", b"SELECT 0\0") + ready())

    an_hour_at_every_look(monkeypatch)
    with false_server(welcome, answer) as server:
        connection = connect(server.conninfo)
        assert connection.execute("SELECT 1").rowcount == 0
        connection.close()


def test_busy_machine_leaves_silent_server(monkeypatch: pytest.MonkeyPatch) -> None:
    an_hour_at_every_look(monkeypatch)
    with false_server(silence) as server, pytest.raises(psycopg.OperationalError, match=NOT_IN_TIME):
        connect_bounded(server.conninfo, timeout_s=1, statement_timeout_s=1, name="test")


def test_nothing_is_left_open_where_nobody_listens() -> None:
    with false_server() as server:
        conninfo = server.conninfo
    with pytest.raises(psycopg.OperationalError, match="refused"):
        connect(conninfo)


HASHING = """
import signal, sys, psycopg
from app.process.metered import connect_bounded
from tests.false_server import endless_scram, false_server
signal.signal(signal.SIGALRM, signal.default_int_handler)
with false_server(endless_scram) as server:
    signal.setitimer(signal.ITIMER_REAL, int(sys.argv[1]))
    for _ in range(int(sys.argv[3])):
        try:
            words = f"{server.conninfo} password=sesame connect_timeout={sys.argv[2]}"
            connect_bounded(words, timeout_s=600, statement_timeout_s=1, name="test")
        except KeyboardInterrupt:
            print("stopped")
        except psycopg.OperationalError as error:
            print(error)
sys.exit(7)
"""
BUSY = "too many earlier connections are still waiting for their servers"


@pytest.mark.long
@pytest.mark.parametrize(
    ("stop_s", "timeout_s", "times", "said"),
    [(2, 600, 1, ["stopped"]), (30, 2, 1, [NOT_IN_TIME]), (50, 2, 5, [NOT_IN_TIME] * 3 + [BUSY] * 2)],
)
def test_endless_hashing_times_out_and_stops(
    stop_s: int, timeout_s: int, times: int, said: list[str]
) -> None:
    """In a process of its own, whose end shows that the thread that hashes keeps nothing waiting."""
    argv = [sys.executable, "-c", HASHING, *map(str, (stop_s, timeout_s, times))]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout.splitlines(), done.stderr) == (7, said, "")


NO_ANSWER = """
import fcntl, signal, socket, struct, sys, psycopg
from app.process.metered import connect_bounded
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:  # up with the loopback interface
    fcntl.ioctl(line, 0x8914, struct.pack("16sH14x", b"lo", 0x1))
resolver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
resolver.bind(("127.0.0.1", 53))
signal.signal(signal.SIGALRM, signal.default_int_handler)
signal.setitimer(signal.ITIMER_REAL, int(sys.argv[1]))
try:
    words = f"host=db.example connect_timeout={sys.argv[2]}"
    connect_bounded(words, timeout_s=600, statement_timeout_s=1, name="test")
except KeyboardInterrupt:
    print("stopped")
except psycopg.OperationalError as error:
    print(error)
"""
NAMESPACES = ("unshare", "--user", "--map-root-user", "--mount", "--net")


@pytest.mark.long
@pytest.mark.skipif(
    subprocess.run((*NAMESPACES, "true"), capture_output=True, check=False).returncode != 0,
    reason="namespaces cannot be made here",
)
@pytest.mark.parametrize(("stop_s", "timeout_s", "said"), [(2, 600, "stopped"), (60, 2, NOT_IN_TIME)])
def test_resolver_without_answer(tmp_path: Path, stop_s: int, timeout_s: int, said: str) -> None:
    settings = tmp_path / "resolv.conf"
    settings.write_text("nameserver 127.0.0.1\noptions timeout:30 attempts:5\n")
    begin = 'mount --bind "$1" /etc/resolv.conf && shift && exec "$@"'
    python = (sys.executable, "-c", NO_ANSWER, str(stop_s), str(timeout_s))
    argv = (*NAMESPACES, "sh", "-c", begin, "sh", str(settings), *python)
    done = subprocess.run(argv, capture_output=True, text=True, timeout=100, check=False)
    assert (done.returncode, done.stdout.splitlines(), done.stderr) == (0, [said], "")
