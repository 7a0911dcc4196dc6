"""What probes have in common that ask the server itself: a connection each, made anew when the server is."""

from __future__ import annotations

import os
import socket
import threading
import time
from abc import abstractmethod
from contextlib import suppress
from typing import Any, ClassVar, Final

import psycopg
from psycopg.conninfo import make_conninfo
from typing_extensions import override

from app.domain.metrics import Sample
from app.domain.quoting.shown import shown
from app.domain.text import tr
from app.probes.base.probe import Clock, Probe, ProbeContext, ProbeUnavailable
from app.process.metered import ANSWER_ERRORS, connect_bounded

CONNECT_TIMEOUT_S: Final = 2  # the shortest that libpq has
STATEMENT_TIMEOUT_MS: Final = 1000
APPLICATION: Final = "pgfooting "
"""What the application name of every connection of a probe begins with."""

ServerConnection = psycopg.Connection[tuple[Any, ...]]


class ServerProbe(Probe):
    """A probe with a connection to the server under test.

    Attributes:
        purpose: of the connection, the rest of its application name.
    """

    purpose: ClassVar[str]
    blocking = True
    of_machine = False

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._context: ProbeContext | None = None
        self._connection: ServerConnection | None = None
        self._conninfo: str | None = None
        self._stopping = threading.Event()

    def _begin(self, connection: ServerConnection) -> None:
        """Prepare a new connection; may raise psycopg.Error."""

    @abstractmethod
    def _ask(self, connection: ServerConnection) -> list[Sample]:
        """Return the values since the last read, or of now; may raise psycopg.Error or `ReadMissed`."""

    @override
    def open(self, context: ProbeContext) -> None:
        self.close()
        self._context = context

    @override
    def read(self) -> list[Sample]:
        conninfo = self._context.server.conninfo if self._context is not None else None
        if conninfo != self._conninfo:
            self._disconnect()
        if conninfo is None or self._stopping.is_set():
            return []
        try:
            if self._connection is None:
                self._connection = self._connect(conninfo)
            return self._ask(self._connection)
        except ANSWER_ERRORS as err:
            self._disconnect()
            raise ProbeUnavailable(
                tr("the statistics of the server cannot be read: {error}").format(
                    error=shown(str(err).strip())
                )
            ) from err

    def _connect(self, conninfo: str) -> ServerConnection:
        connection = connect_bounded(
            make_conninfo(conninfo, connect_timeout=CONNECT_TIMEOUT_S),
            timeout_s=CONNECT_TIMEOUT_S,
            statement_timeout_s=STATEMENT_TIMEOUT_MS // 1000,
            name=f"{APPLICATION}{self.purpose}",
        )
        try:
            connection.execute(f"SET statement_timeout = {STATEMENT_TIMEOUT_MS}")
            self._begin(connection)
        except BaseException:
            connection.close()
            raise
        self._conninfo = conninfo
        return connection

    @override
    def interrupt(self) -> None:
        self._stopping.set()
        connection = self._connection
        if connection is None:
            return
        with (
            suppress(OSError, psycopg.Error),  # it may just be closing itself
            socket.socket(fileno=os.dup(connection.fileno())) as duplicate,
        ):
            duplicate.shutdown(socket.SHUT_RDWR)

    @override
    def close(self) -> None:
        self._disconnect()
        self._context = None

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._conninfo = None
