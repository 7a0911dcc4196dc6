"""A server that speaks PostgreSQL's protocol as far as it takes to answer without an end or without measure.

Messages: PostgreSQL 18 manual 54.7 "Message Formats".
"""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

MIB: Final = 1024 * 1024
_NO_TLS: Final = frozenset({80877103, 80877104})
"""SSLRequest and GSSENCRequest."""

Answer = Callable[[socket.socket], None]
"""Sends what it likes."""


def message(kind: bytes, body: bytes, length: int | None = None) -> bytes:
    """Return a message; `length` is what its head says of its body, where that is not the truth."""
    return kind + struct.pack("!I", 4 + (len(body) if length is None else length)) + body


def ready() -> bytes:
    """Return ReadyForQuery."""
    return message(b"Z", b"I")


def parameter(name: str, value: str) -> bytes:
    """Return a ParameterStatus."""
    return message(b"S", f"{name}\0{value}\0".encode())


def greeting() -> bytes:
    """Return what a server says once it has let somebody in, without ReadyForQuery."""
    values = {"server_version": "15.3", "client_encoding": "UTF8", "standard_conforming_strings": "on"}
    return (
        message(b"R", struct.pack("!I", 0))
        + b"".join(parameter(name, value) for name, value in values.items())
        + message(b"K", struct.pack("!II", 1, 2))
    )


def welcome(client: socket.socket) -> None:
    """Let somebody in, as a server does."""
    client.sendall(greeting() + ready())


def a_column() -> bytes:
    """Return a RowDescription of one text."""
    return message(b"T", struct.pack("!H", 1) + b"x\0" + struct.pack("!IHIhih", 0, 0, 25, -1, -1, 0))


def _row(size: int, sent: int) -> bytes:
    return message(b"D", struct.pack("!HI", 1, size) + b"x" * sent, 6 + size)


def endless_rows(client: socket.socket) -> None:
    """Answer a statement with rows of a megabyte each that do not end."""
    client.sendall(a_column())
    row = _row(MIB, MIB)
    while True:
        client.sendall(row)


def endless_short_rows(client: socket.socket) -> None:
    """Answer a statement with rows without a column that do not end."""
    client.sendall(message(b"T", struct.pack("!H", 0)))
    rows = message(b"D", struct.pack("!H", 0)) * 100_000
    while True:
        client.sendall(rows)


def one_huge_row(client: socket.socket) -> None:
    """Answer a statement with a row of a gigabyte."""
    client.sendall(a_column() + _row(1024 * MIB, 0))
    _a_gigabyte(client)


def huge_error(client: socket.socket) -> None:
    """Answer with an error whose words take a gigabyte."""
    client.sendall(message(b"E", b"SERROR\0C42000\0M", 1024 * MIB))
    _a_gigabyte(client)


def endless_notices(client: socket.socket) -> None:
    """Answer with notices of a megabyte each that do not end."""
    notice = message(b"N", b"SWARNING\0C01000\0M" + b"x" * MIB + b"\0\0")
    while True:
        client.sendall(notice)


def endless_parameters(client: socket.socket) -> None:
    """Tell of parameters without an end, each under a name of its own."""
    number = 0
    while True:
        client.sendall(b"".join(parameter(f"p{number + each}", "x" * 20_000) for each in range(50)))
        number += 50


def endless_scram(client: socket.socket) -> None:
    """Let somebody in who hashes the password two thousand million times."""
    client.sendall(message(b"R", struct.pack("!I", 10) + b"SCRAM-SHA-256\0\0"))
    nonce = client.recv(65536).rpartition(b"r=")[2]
    said = b"r=" + nonce + b"server,s=c2FsdHNhbHRzYWx0,i=2000000000"
    client.sendall(message(b"R", struct.pack("!I", 11) + said))
    silence(client)


Column = tuple[int, bytes]
"""Number of a type, and a value as text."""


def answering(*tables: tuple[bytes, tuple[Column, ...]]) -> Answer:
    """Return what answers each statement that has a word in it with one row; the last pair has b""."""

    def answer(client: socket.socket) -> None:
        client.sendall(_one_row(((25, b""),), b""))  # the statement that came already
        while heard := client.recv(65536):
            columns = next(columns for word, columns in tables if word in heard)
            client.sendall(_one_row(columns, heard))

    return answer


def _one_row(columns: tuple[Column, ...], heard: bytes) -> bytes:
    described = b"".join(b"x\0" + struct.pack("!IHIhih", 0, 0, oid, -1, -1, 0) for oid, _ in columns)
    values = b"".join(struct.pack("!I", len(value)) + value for _, value in columns)
    count = struct.pack("!H", len(columns))
    prepared = message(b"1", b"") + message(b"2", b"") if heard[:1] == b"P" else b""
    row = message(b"T", count + described) + message(b"D", count + values)
    return prepared + row + message(b"C", b"SELECT 1\0") + ready()


def silence(client: socket.socket) -> None:
    """Say nothing, and keep the line."""
    with suppress(OSError):
        while client.recv(65536):
            pass


def _a_gigabyte(client: socket.socket) -> None:
    part = b"x" * MIB
    for _ in range(1025):
        client.sendall(part)


@dataclass(slots=True)
class FalseServer:
    """Takes connections on the loopback interface, or in a folder.

    Attributes:
        folder: of its socket; empty for a port of the loopback interface.
        enter: what it sends once somebody has introduced himself.
        answer: what it sends to the first statement.
    """

    enter: Answer = welcome
    answer: Answer = silence
    folder: str = ""
    _listening: socket.socket = field(init=False)
    _clients: list[socket.socket] = field(default_factory=list, init=False)
    _threads: list[threading.Thread] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        """Listen, on a port of its own."""
        if self.folder:
            self._listening = socket.socket(socket.AF_UNIX)
            self._listening.bind(f"{self.folder}/.s.PGSQL.5432")
            self._listening.listen()
        else:
            self._listening = socket.create_server(("127.0.0.1", 0))
        self._start(self._accept)

    @property
    def conninfo(self) -> str:
        """How it is reached."""
        where = f"host={self.folder}" if self.folder else f"host=127.0.0.1 port={self.port}"
        return f"{where} user=bench dbname=postgres"

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._listening.getsockname()[1])

    def close(self) -> None:
        """End everything."""
        self._listening.shutdown(socket.SHUT_RDWR)
        for client in self._clients:
            with suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(10)
        for each in (self._listening, *self._clients):
            each.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                self._clients.append(client)
                self._start(lambda client=client: self._serve(client))  # type: ignore[misc]

    def _serve(self, client: socket.socket) -> None:
        with suppress(OSError, struct.error):  # of who hangs up without a word
            while struct.unpack("!II", client.recv(65536)[:8])[1] in _NO_TLS:
                client.sendall(b"N")
            self.enter(client)
            if client.recv(65536):
                self.answer(client)

    def _start(self, work: Callable[[], None]) -> None:
        thread = threading.Thread(target=work, daemon=True)
        self._threads.append(thread)
        thread.start()


@contextmanager
def false_server(
    enter: Answer = welcome, answer: Answer = silence, *, folder: str = ""
) -> Iterator[FalseServer]:
    """Yield a server, which is closed afterwards."""
    server = FalseServer(enter, answer, folder)
    try:
        yield server
    finally:
        server.close()
