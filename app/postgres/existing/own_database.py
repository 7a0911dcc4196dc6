"""The one database that pgFooting creates, and drops, on a server that it did not start.

It is recognised by name, owner and comment together. If any of them differs, the database belongs to someone
else: it is never touched, and the campaign does not start.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Any, Final

import psycopg
from psycopg import sql

from app.domain.errors import RefusedError, ServerError, SettingError
from app.domain.quoting import shown
from app.domain.text import format_size, tr
from app.postgres.existing.address import ServerAddress, error_line
from app.process.metered import ANSWER_ERRORS

OWN_DATABASE: Final = "pgfooting_bench"
MARK: Final = (
    "Made by pgFooting for a measurement, and dropped by it afterwards: nothing else may be kept here."
)
LOCK: Final = 0x706746_6F6F74
"""Key of pg_advisory_lock: one campaign per server. Such a lock belongs to one database; pg_locks shows
all.
"""

_FOUND: Final = """
    SELECT owner.rolname = current_user,
           pg_catalog.left(coalesce(pg_catalog.shobj_description(own.oid, 'pg_database'), ''), 200),
           pg_catalog.left(owner.rolname::text, 200),
           (SELECT pg_catalog.count(*) FROM pg_catalog.pg_stat_activity AS session
             WHERE session.datid = own.oid AND session.usesysid <> own.datdba)
      FROM pg_catalog.pg_database AS own
      JOIN pg_catalog.pg_roles AS owner ON owner.oid = own.datdba
     WHERE own.datname = %s
"""
_END_SESSIONS: Final = """
    SELECT pg_catalog.pg_terminate_backend(pid) FROM pg_catalog.pg_stat_activity
     WHERE datname = %s AND usename = current_user AND pid <> pg_catalog.pg_backend_pid()
"""
_OPEN_SESSIONS: Final = """
    SELECT pg_catalog.count(*) FROM pg_catalog.pg_stat_activity
     WHERE datname = %s AND usename = current_user AND pid <> pg_catalog.pg_backend_pid()
"""
_LOCK_OF_OTHERS: Final = f"""
    SELECT pg_catalog.count(*) FROM pg_catalog.pg_locks
     WHERE locktype = 'advisory' AND granted AND pid <> pg_catalog.pg_backend_pid()
       AND classid = {LOCK >> 32} AND objid = {LOCK & 0xFFFFFFFF} AND objsubid = 1
"""
_TABLES: Final = """
    SELECT pg_catalog.format('%I.%I', space.nspname, relname)
      FROM pg_catalog.pg_class
      JOIN pg_catalog.pg_namespace AS space ON space.oid = relnamespace
     WHERE relkind IN ('r', 'p', 'm') AND NOT relispartition AND relpersistence <> 't'
       AND relowner = (SELECT oid FROM pg_catalog.pg_roles WHERE rolname = current_user)
"""
_END_S: Final = 5.0

Connection = psycopg.Connection[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class FoundDatabase:
    """A database with our name.

    Attributes:
        is_own: name, owner and comment are ours, and no one else is connected to it.
        reason: a sentence: why it is not ours, or cannot be dropped.
    """

    is_own: bool
    reason: str = ""


def find_own(connection: Connection) -> FoundDatabase | None:
    """Return the state of a database with our name; None if there is none; may raise psycopg.Error."""
    row = connection.execute(_FOUND.encode(), (OWN_DATABASE,)).fetchone()
    if row is None:
        return None
    is_owner, comment, owner, others = row
    if not is_owner:
        message = tr("The database {name} belongs to {owner}, not to this role, so it is not pgFooting's.")
        return FoundDatabase(is_own=False, reason=message.format(name=OWN_DATABASE, owner=shown(owner)))
    if comment != MARK:
        message = tr("The database {name} lacks pgFooting's comment, so it is treated as someone else's.")
        return FoundDatabase(is_own=False, reason=message.format(name=OWN_DATABASE))
    if others:
        message = tr("{count} other sessions are connected to the database {name}.")
        return FoundDatabase(is_own=False, reason=message.format(count=shown(others), name=OWN_DATABASE))
    return FoundDatabase(is_own=True)


def drop_own(connection: Connection, address: ServerAddress, *, ends_sessions: bool) -> bool:
    """Drop our database if it exists; return whether it did.

    Args:
        connection: of the owning role, which holds the lock.
        address: of the connection.
        ends_sessions: the owning role's sessions in it belong to a run of this campaign, and are ended first;
            else they may belong to another measuring machine, and the drop is refused.

    Raises:
        RefusedError: a database of that name is not ours, or is in use: it was not touched.
        ServerError: the server refuses, or is gone.
    """
    try:
        found = find_own(connection)
        if found is None:
            return False
        if not found.is_own:
            raise RefusedError(
                tr("{reason} It was not touched.").format(reason=found.reason),
                hint=tr("Its owner can rename or drop it; pgFooting uses no other name."),
            )
        if ends_sessions:
            _end_sessions(connection)
        elif _open_sessions(connection):
            message = tr("The database {name} is pgFooting's and in use by another measurement.")
            hint = tr("Wait until it ends. After a crash, TCP keepalive ends its sessions within hours.")
            raise RefusedError(message.format(name=OWN_DATABASE), hint=hint)
        _make_room(address)
        connection.execute(sql.SQL("DROP DATABASE {}").format(sql.Identifier(OWN_DATABASE)))
    except ANSWER_ERRORS as error:
        message = tr("The server could not execute {statements}: {reason}")
        statement = f"DROP DATABASE {OWN_DATABASE}"
        raise ServerError(message.format(statements=statement, reason=error_line(error))) from error
    return True


def _make_room(address: ServerAddress) -> None:
    """Drop the tables of our database, which frees their space at once; may raise psycopg.errors.DiskFull.

    DROP DATABASE starts with a checkpoint, during which a server with a full disk panics (seen with 15),
    which ends the sessions of all other users too.
    """
    try:
        with address.connect(OWN_DATABASE) as connection:
            for (name,) in connection.execute(_TABLES.encode()).fetchall():
                connection.execute(f"DROP TABLE IF EXISTS {name} CASCADE".encode())
    except psycopg.errors.DiskFull:
        raise
    except ANSWER_ERRORS:  # such as after an interrupted drop: it accepts no connection, and is dropped
        return


def _end_sessions(connection: Connection) -> None:
    connection.execute(_END_SESSIONS.encode(), (OWN_DATABASE,))
    end_s = time.monotonic() + _END_S
    while _open_sessions(connection) and time.monotonic() < end_s:
        time.sleep(0.05)


def _open_sessions(connection: Connection) -> int:
    row = connection.execute(_OPEN_SESSIONS.encode(), (OWN_DATABASE,)).fetchone()
    return int(row[0]) if row is not None else 0


class ServerLock:
    """Keeps other campaigns from a server, as long as one lasts; used by one thread.

    The lock belongs to a session, which ends with a broken connection or by the server's
    idle_session_timeout. Call `hold` before dropping our database.
    """

    def __init__(self, address: ServerAddress, connection: Connection) -> None:
        """Take over a connection, which `close` closes."""
        self._address = address
        self._connection = connection

    def take(self) -> None:
        """Take the lock; if it fails, nothing stays locked.

        Campaigns that use different databases of the server each get their own lock, and then see the
        other's: of two that lock at the same time both may be refused, but never both succeed.

        Raises:
            RefusedError: another campaign measures there, through whichever database.
            ServerError: the server cannot be asked.
        """
        try:
            is_taken = self._answer(f"SELECT pg_catalog.pg_try_advisory_lock({LOCK})")
            is_alone = is_taken and not self._answer(_LOCK_OF_OTHERS)
        except ANSWER_ERRORS as error:
            self._connection.close()
            raise self._silent(error) from error
        if not is_alone:
            self._connection.close()  # and with it the lock: `hold` starts again
            message = tr("Another pgFooting campaign is measuring {name}. Nothing was done there.")
            raise RefusedError(message.format(name=self._address.name))

    def _answer(self, statement: str) -> object:
        row = self._connection.execute(statement.encode()).fetchone()
        return row and row[0]

    def hold(self) -> None:
        """Make sure that the lock is held, taking it again if necessary.

        Raises:
            RefusedError: another campaign has taken it, and with it our database.
            ServerError: the server cannot be asked.
        """
        try:
            self._connection.execute(b"SELECT 1")
        except ANSWER_ERRORS:
            self._connection.close()
            try:
                self._connection = self._address.connect()
            except ANSWER_ERRORS as error:
                raise self._silent(error) from error
            self.take()

    def close(self) -> None:
        """Release the lock and close the connection."""
        self._connection.close()

    def _silent(self, error: Exception) -> ServerError:
        return ServerError(tr("The server does not answer: {reason}").format(reason=error_line(error)))


def make_own(connection: Connection) -> None:
    """Create our database and mark it as ours.

    Raises:
        ServerError: the server refuses.
    """
    name = sql.Identifier(OWN_DATABASE)
    try:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(name))
        connection.execute(sql.SQL("COMMENT ON DATABASE {} IS {}").format(name, sql.Literal(MARK)))
    except ANSWER_ERRORS as error:
        message = tr("The server could not execute {statements}: {reason}")
        statement = f"CREATE DATABASE {OWN_DATABASE}"
        raise ServerError(message.format(statements=statement, reason=error_line(error))) from error


def give_settings(
    connection: Connection, address: ServerAddress, settings: tuple[tuple[str, str], ...]
) -> None:
    """Set settings for sessions of our database only, and read them back there.

    Raises:
        SettingError: the server rejects one for a database; its own configuration is unchanged.
        ServerError: it cannot be asked.
    """
    name = sql.Identifier(OWN_DATABASE)
    for setting, value in settings:
        statement = sql.SQL("ALTER DATABASE {} SET {} TO {}").format(
            name, sql.Identifier(setting.lower()), sql.Literal(value)
        )
        try:
            connection.execute(statement)
        except ANSWER_ERRORS as error:
            message = tr("The server does not accept {name} = {value} for one database: {reason}")
            hint = tr("pgFooting never changes settings of the server itself and never restarts it.")
            raise SettingError(
                message.format(name=setting, value=value, reason=error_line(error)), hint=hint
            ) from error
    if settings:
        _read_back(address, settings)


_SHOWN: Final = """
    SELECT pg_catalog.current_setting(%s), source = 'database'
      FROM pg_catalog.pg_settings WHERE pg_catalog.lower(name) = %s
"""


def _read_back(address: ServerAddress, settings: tuple[tuple[str, str], ...]) -> None:
    try:
        with address.connect(OWN_DATABASE) as connection:
            for setting, value in settings:
                row = connection.execute(_SHOWN.encode(), (setting, setting.lower())).fetchone()
                if row is None or not row[1]:
                    found = "(" + tr("not known") + ")" if row is None else shown(row[0])
                    message = tr("{name} is {found} instead of {value}. Nothing was measured.")
                    raise SettingError(message.format(name=setting, found=found, value=value))
    except ANSWER_ERRORS as error:
        message = tr("The server does not report its settings: {reason}")
        raise ServerError(message.format(reason=error_line(error))) from error


# Check every second that a foreign server is up, the same one, and within its size limit.


_EVERY_S: Final = 1.0
_SIZE_EVERY: Final = 10
"""Checks between two readings of the database's size, for which the server lists its files."""
_AGAIN_S: Final = 1.0
_STATE: Final = "SELECT pg_catalog.pg_postmaster_start_time()::text, pg_catalog.pg_is_in_recovery()"
_SIZE: Final = """
    SELECT pg_catalog.pg_database_size(oid) FROM pg_catalog.pg_database WHERE datname = %s
"""


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
