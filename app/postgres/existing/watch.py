"""Check every second that a foreign server is up, the same one, and within its size limit."""

from __future__ import annotations

import threading
import time
from typing import Any, Final

import psycopg

from app.domain.text import tr
from app.domain.units import format_size
from app.postgres.existing.address import ServerAddress, error_line
from app.postgres.existing.own_database import OWN_DATABASE
from app.process.metered import ANSWER_ERRORS

_EVERY_S: Final = 1.0
_SIZE_EVERY: Final = 10
"""Checks between two readings of the database's size, for which the server lists its files."""
_AGAIN_S: Final = 1.0
_STATE: Final = "SELECT pg_catalog.pg_postmaster_start_time()::text, pg_catalog.pg_is_in_recovery()"
_SIZE: Final = """
    SELECT pg_catalog.pg_database_size(oid) FROM pg_catalog.pg_database WHERE datname = %s
"""

Connection = psycopg.Connection[tuple[Any, ...]]


class ServerWatch:
    """Watches a server in a separate thread, so that callers never wait for the network.

    Attributes:
        failure: a sentence: why the run cannot continue; empty as long as it can.
        is_lost: it cannot be reached, which says nothing about the next run.
        over_room: a sentence: the database is larger than the campaign allows; empty if not.
    """

    def __init__(self, address: ServerAddress, started: str, room_bytes: int | None) -> None:
        self.failure = ""
        self.is_lost = False
        self.over_room = ""
        self._address = address
        self._started = started
        self._room_bytes = room_bytes
        self._stopping = threading.Event()
        self._wake = threading.Event()
        self._failed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="server-watch", daemon=True)

    def start(self) -> None:
        """Start the watch."""
        self._thread.start()

    def stop(self) -> None:
        """End the watch without waiting for a pending statement, which its timeout ends."""
        self._stopping.set()
        self._wake.set()
        if self._thread.ident is not None:
            self._thread.join(2 * _EVERY_S)

    def wait_for_failure(self, seconds: float) -> str:
        """Check at once, and return `failure` after at most `seconds`."""
        if seconds > 0 and not self.failure:
            self._wake.set()
            self._failed.wait(seconds)
        return self.failure

    def _run(self) -> None:
        try:
            with self._address.connect() as connection:
                self._look(connection)
        except ANSWER_ERRORS as error:
            reason, self.is_lost = self._reason(error)
            self._fail(reason)

    def _look(self, connection: Connection) -> None:
        looks = 0
        while not self._stopping.is_set():
            row = connection.execute(_STATE.encode()).fetchone()
            if row is not None and row[1]:
                self._fail(tr("The server has become a standby."))
            if row is not None and str(row[0]) != self._started:
                self._fail(tr("The server was restarted during the run."))
            if self._room_bytes is not None and looks % _SIZE_EVERY == 0:
                self._look_at_size(connection, self._room_bytes)
            looks += 1
            self._wake.wait(_EVERY_S)
            self._wake.clear()

    def _look_at_size(self, connection: Connection, room_bytes: int) -> None:
        row = connection.execute(_SIZE.encode(), (OWN_DATABASE,)).fetchone()
        if row is not None and int(row[0]) > room_bytes:
            message = tr("The database {name} has grown to {size}; the campaign allows {room}.")
            self.over_room = message.format(
                name=OWN_DATABASE, size=format_size(int(row[0])), room=format_size(room_bytes)
            )

    def _fail(self, reason: str) -> None:
        self.failure = self.failure or reason
        self._failed.set()

    def _reason(self, lost: Exception) -> tuple[str, bool]:
        """Return why the connection is gone, and whether the server is lost; reconnects to find out."""
        if self._stopping.is_set():
            return "", False
        message = tr("The connection to the server was lost: {reason}").format(reason=error_line(lost))
        end_s = time.monotonic() + _AGAIN_S
        while time.monotonic() < end_s:
            try:
                with self._address.connect() as connection:
                    row = connection.execute(_STATE.encode()).fetchone()
            except ANSWER_ERRORS:
                self._stopping.wait(0.1)
                continue
            if row is not None and str(row[0]) != self._started:
                return tr("The server was restarted during the run."), False
            return message, True
        return message, True
