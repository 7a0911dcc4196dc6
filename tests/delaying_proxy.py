"""A TCP proxy on the loopback interface that delays what passes, can be cut and mended, and can lie."""

from __future__ import annotations

import queue
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

from tests.false_server import Answer, welcome

Truth = Callable[[socket.socket, bytes], bytes]
"""What passes of a part that came from a socket."""

_PGBENCH: Final = b"application_name\0pgbench\0"


@dataclass(slots=True)
class DelayingProxy:
    """Forwards connections to a port; each way takes half of the round trip.

    Attributes:
        target: port of the server.
        round_trip_s: what is added there and back.
    """

    target: int
    round_trip_s: float = 0.0
    _listening: socket.socket = field(init=False)
    _made: list[socket.socket] = field(default_factory=list, init=False)
    _threads: list[threading.Thread] = field(default_factory=list, init=False)
    _is_cut: threading.Event = field(default_factory=threading.Event, init=False)
    _pgbenches: list[socket.socket] = field(default_factory=list, init=False)
    _lie: Answer | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        """Listen on a port of its own."""
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._start(self._accept)

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._listening.getsockname()[1])

    def cut(self) -> None:
        """End every connection, and refuse new ones until `mend`."""
        self._is_cut.set()
        for end in list(self._made):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def mend(self) -> None:
        """Let connections pass again."""
        self._is_cut.clear()

    def lie(self, answer: Answer) -> None:
        """Answer what pgbench asks from now on so; others get the server's own answers.

        A pgbench that comes later is let in, and gets this for its first statement.
        """
        self._lie = answer

    def close(self) -> None:
        """End everything."""
        self.cut()
        self._listening.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(10)
        for each in (self._listening, *self._made):
            each.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            if self._is_cut.is_set():
                client.close()
                continue
            try:
                server = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                client.close()
                continue
            for end in (client, server):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._made += [client, server]
            self._forward(client, server, self._truth)
            self._forward(server, client, _as_it_is)

    def _forward(self, source: socket.socket, sink: socket.socket, truth: Truth) -> None:
        waiting: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()

        def read() -> None:
            part = b"-"
            while part:
                try:
                    part = source.recv(65536)
                except OSError:
                    part = b""
                waiting.put((time.monotonic() + self.round_trip_s / 2, truth(source, part)))

        def write() -> None:
            while True:
                due_s, part = waiting.get()
                time.sleep(max(0.0, due_s - time.monotonic()))
                try:
                    if part:
                        sink.sendall(part)
                        continue
                    sink.shutdown(socket.SHUT_WR)
                except OSError:
                    with suppress(OSError):
                        source.shutdown(socket.SHUT_RDWR)
                return

        for work in (read, write):
            self._start(work)

    def _truth(self, source: socket.socket, part: bytes) -> bytes:
        """Return what passes of a client's part; where it is of a pgbench that is lied to, that is done here.

        A server's answers are no client's parts: they name pgbench too (ParameterStatus), and one that was
        under way when the lying began would have had the server lied to, which then ends the connection.
        """
        is_new = _PGBENCH in part
        if is_new:
            self._pgbenches.append(source)
        if self._lie is None or source not in self._pgbenches:
            return part
        with suppress(OSError):
            if is_new:
                welcome(source)
                source.recv(65536)
            self._lie(source)
        return b""

    def _start(self, work: Callable[[], None]) -> None:
        thread = threading.Thread(target=work, daemon=True)
        self._threads.append(thread)
        thread.start()


def _as_it_is(_source: socket.socket, part: bytes) -> bytes:
    return part


@contextmanager
def delaying_proxy(target: int, round_trip_s: float = 0.0) -> Iterator[DelayingProxy]:
    """Yield a proxy, which is closed afterwards."""
    proxy = DelayingProxy(target, round_trip_s)
    try:
        yield proxy
    finally:
        proxy.close()
