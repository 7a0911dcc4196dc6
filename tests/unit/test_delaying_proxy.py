"""The proxy of the tests lies to pgbench, never to the server."""

from __future__ import annotations

import socket

from tests.delaying_proxy import delaying_proxy
from tests.false_server import parameter

WORDS = parameter("application_name", "pgbench")


def test_pending_answer_delivered_when_lying_begins() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        delaying_proxy(server.getsockname()[1]) as proxy,
        socket.create_connection(("127.0.0.1", proxy.port)) as client,
        server.accept()[0] as behind,
    ):
        behind.sendall(WORDS)
        assert client.recv(100) == WORDS
        proxy.lie(lambda lied_to: lied_to.sendall(b"a lie"))
        behind.sendall(b"true")
        assert client.recv(100) == b"true"
        client.sendall(b"end")
        assert behind.recv(100) == b"end"
