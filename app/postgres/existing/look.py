"""What a server of others tells of itself over SQL before anything is made there; nothing is changed.

Everything is asked for in a bounded length: names are of the far side, and may be anything.
"""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

import psycopg

from app.domain.errors import TargetError
from app.domain.quoting.shown import shown
from app.domain.text import tr
from app.postgres.existing.address import ServerAddress, said
from app.postgres.existing.managed import SERVICES, managed_service
from app.postgres.pgbench.argv import OLDEST_MAJOR
from app.process.metered import ANSWER_ERRORS

LOOK_S: Final = 10.0
"""How long the load of others is watched."""
_ROUND_TRIPS: Final = 21
_LONGEST: Final = 200
_MOST_DATABASES: Final = 20
DANGEROUS_ROLES: Final = ("pg_execute_server_program", "pg_read_server_files", "pg_write_server_files")
"""Roles whose members can leave the database for the machine (manual 22.5 "Predefined Roles")."""

_SERVER: Final = f"""
    SELECT pg_catalog.left(pg_catalog.version(), {_LONGEST}),
           pg_catalog.pg_is_in_recovery(),
           pg_catalog.left(coalesce(pg_catalog.current_setting('cluster_name', true), ''), {_LONGEST}),
           pg_catalog.current_setting('max_connections')::int,
           pg_catalog.current_setting('superuser_reserved_connections')::int,
           pg_catalog.pg_postmaster_start_time()::text,
           coalesce(pg_catalog.host(pg_catalog.inet_server_addr()), '')
"""
_ROLE: Final = f"""
    SELECT role.rolsuper, role.rolcreatedb,
           pg_catalog.pg_has_role(role.oid, 'pg_monitor', 'USAGE'),
           role.rolsuper OR EXISTS (SELECT FROM pg_catalog.pg_roles AS known
                    WHERE known.rolname = 'pg_checkpoint'
                      AND pg_catalog.pg_has_role(role.oid, known.oid, 'USAGE')),
           ARRAY(SELECT known.rolname::text FROM pg_catalog.pg_roles AS known
                  WHERE known.rolname = ANY (%s) AND pg_catalog.pg_has_role(role.oid, known.oid, 'MEMBER')),
           ARRAY(SELECT pg_catalog.left(other.datname::text, {_LONGEST}) FROM pg_catalog.pg_database AS other
                  WHERE other.datname <> %s AND pg_catalog.pg_has_role(role.oid, other.datdba, 'MEMBER')
                  ORDER BY 1 LIMIT {_MOST_DATABASES})
      FROM pg_catalog.pg_roles AS role
     WHERE role.rolname = current_user
"""
_DATABASES: Final = f"""
    SELECT pg_catalog.left(datname::text, {_LONGEST}),
           CASE WHEN pg_catalog.has_database_privilege(oid, 'CONNECT')
                  OR pg_catalog.pg_has_role('pg_read_all_stats', 'USAGE')
                THEN pg_catalog.pg_database_size(oid) END,
           pg_catalog.count(*) OVER ()
      FROM pg_catalog.pg_database
     WHERE NOT datistemplate
     ORDER BY 2 DESC NULLS LAST, 1
     LIMIT {_MOST_DATABASES}
"""
_SESSIONS: Final = """
    SELECT pg_catalog.count(*), pg_catalog.count(*) FILTER (WHERE state <> 'idle'),
           pg_catalog.count(*) FILTER (WHERE state IS NULL)
      FROM pg_catalog.pg_stat_activity
     WHERE pid <> pg_catalog.pg_backend_pid() AND datid IS NOT NULL AND usesysid IS NOT NULL
       AND coalesce(backend_type, 'client backend') = 'client backend'
"""
_TRANSACTIONS: Final = "SELECT pg_catalog.sum(xact_commit + xact_rollback) FROM pg_catalog.pg_stat_database"
_IDENTIFIER: Final = "SELECT system_identifier::text FROM pg_catalog.pg_control_system()"
_DATA_DIRECTORY: Final = (
    "SELECT coalesce(max(setting), '') FROM pg_catalog.pg_settings WHERE name = 'data_directory'"
)
"""The view leaves out what the role may not see; current_setting would leave an error in the server's log."""
_LONGEST_PATH: Final = 4096
_WORDS: Final = """
    SELECT pg_catalog.array_agg(DISTINCT pg_catalog.split_part(name, '.', 1)) FROM pg_catalog.pg_settings
     WHERE pg_catalog.split_part(name, '.', 1) = ANY (%s) AND pg_catalog.strpos(name, '.') > 0
"""
_TLS: Final = f"""
    SELECT pg_catalog.left(version || ' ' || cipher, {_LONGEST}) FROM pg_catalog.pg_stat_ssl
     WHERE pid = pg_catalog.pg_backend_pid() AND ssl
"""

Connection = psycopg.Connection[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class OtherDatabase:
    """A database of the server; `size_bytes` is None where the role may not ask."""

    name: str
    size_bytes: int | None


@dataclass(frozen=True, slots=True)
class ServerRole:
    """What the role may that we connect as.

    Attributes:
        name: of the role.
        is_superuser: it may do everything.
        may_create: databases.
        has_monitor: sees what other sessions do (pg_monitor).
        may_checkpoint: superuser or pg_checkpoint, which is of 15.
        dangerous: roles of `DANGEROUS_ROLES` that it is a member of.
        owned: other databases whose owner it is, or is a member of.
    """

    name: str
    is_superuser: bool
    may_create: bool
    has_monitor: bool
    may_checkpoint: bool
    dangerous: tuple[str, ...] = ()
    owned: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OthersLoad:
    """What others do there.

    Attributes:
        sessions: of others that are connected.
        active: of them, those that were not idle at the begin and at the end of the look.
        hidden: of them, those of which the role may not see what they do.
        tps: transactions a second over the look, in all databases, without ours.
        seconds: how long was looked.
    """

    sessions: int
    active: int
    hidden: int
    tps: float
    seconds: float


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """How long an empty question to the server takes, in milliseconds."""

    median_ms: float
    least_ms: float
    most_ms: float


@dataclass(frozen=True, slots=True)
class ServerLook:
    """A server as it told itself.

    Attributes:
        version: such as ``15.14``.
        version_text: ``SELECT version()``.
        major: major version.
        cluster_name: setting cluster_name; empty for none.
        system_identifier: of the cluster; empty where the role may not ask.
        server_address: of the server's own end; empty for a socket.
        started: when the postmaster started, as it writes it.
        in_recovery: it is a standby, or not done with recovery.
        max_connections: that it takes.
        reserved_connections: of them, for superusers.
        tls: protocol and cipher of our connection; empty for none.
        role: what we may.
        databases: the largest ones.
        database_count: of all of them but templates.
        others: what others do.
        round_trip: of the network.
        data_folder: on its machine; empty where the role may not ask.
        managed_service: that runs it; empty for none that is known.
    """

    version: str
    version_text: str
    major: int
    cluster_name: str
    system_identifier: str
    server_address: str
    started: str
    in_recovery: bool
    max_connections: int
    reserved_connections: int
    tls: str
    role: ServerRole
    databases: tuple[OtherDatabase, ...]
    database_count: int
    others: OthersLoad
    round_trip: RoundTrip
    data_folder: str = ""
    managed_service: str = ""

    @property
    def identity(self) -> tuple[str, str]:
        """What is the same of one server, however it is reached."""
        return self.system_identifier, self.started


def version_words(number: int) -> str:
    """Return a version as people write it, from libpq's number."""
    return f"{number // 10000}.{number % 10000}"


def look_at_server(
    connection: Connection,
    address: ServerAddress,
    own_database: str,
    *,
    look_s: float = LOOK_S,
    sleep: Callable[[float], None] = time.sleep,
) -> ServerLook:
    """Ask a server what it is and what others do there.

    Args:
        connection: to it.
        address: how that was made.
        own_database: name of the database that is pgFooting's.
        look_s: seconds that the load of others is watched.
        sleep: waits; may raise to end it.

    Raises:
        TargetError: it is too old, or does not answer what every PostgreSQL answers.
    """
    number = connection.info.server_version
    if number // 10000 < OLDEST_MAJOR:
        message = tr("The server is PostgreSQL {version}; from {oldest} on servers are measured.")
        old = version_words(number) if number >= 100000 else f"{number // 10000}.{number // 100 % 100}"
        raise TargetError(message.format(version=old, oldest=OLDEST_MAJOR))
    try:
        return _look(connection, address, own_database, look_s, sleep)
    except ANSWER_ERRORS as error:
        message = tr("The server does not tell what it is: {reason}")
        raise TargetError(message.format(reason=said(error))) from error


def _look(
    connection: Connection,
    address: ServerAddress,
    own_database: str,
    look_s: float,
    sleep: Callable[[float], None],
) -> ServerLook:
    number = connection.info.server_version
    text, in_recovery, cluster, most, reserved, started, at = _row(connection, _SERVER)
    superuser, creates, monitors, checkpoints, dangerous, owned = _row(
        connection, _ROLE, (list(DANGEROUS_ROLES), own_database)
    )
    databases = connection.execute(_DATABASES.encode()).fetchall()
    others = _watch(connection, look_s, sleep)
    return ServerLook(
        version=version_words(number),
        version_text=shown(text, _LONGEST),
        major=number // 10000,
        cluster_name=shown(cluster, _LONGEST),
        system_identifier=shown(_unless_refused(connection, _IDENTIFIER), _LONGEST),
        server_address=shown(at, _LONGEST),
        started=shown(started, _LONGEST),
        in_recovery=bool(in_recovery),
        max_connections=int(most),
        reserved_connections=int(reserved),
        tls=next((shown(row[0], _LONGEST) for row in connection.execute(_TLS.encode()) if row[0]), ""),
        role=ServerRole(
            address.user,
            bool(superuser),
            bool(creates),
            bool(monitors),
            bool(checkpoints),
            _names(dangerous),
            _names(owned),
        ),
        databases=tuple(
            OtherDatabase(shown(name, _LONGEST), None if size is None else int(size))
            for name, size, _ in databases[:_MOST_DATABASES]
        ),
        database_count=int(databases[0][2]) if databases else 0,
        others=others,
        round_trip=measure_round_trip(connection),
        managed_service=managed_service(_row(connection, _WORDS, (list(SERVICES),))[0] or ()),
        data_folder=_path(_unless_refused(connection, _DATA_DIRECTORY)),
    )


def _names(told: Iterable[object]) -> tuple[str, ...]:
    return tuple(shown(each, _LONGEST) for each in itertools.islice(told, _MOST_DATABASES))


def _row(connection: Connection, statement: str, values: tuple[object, ...] | None = None) -> tuple[Any, ...]:
    found = connection.execute(statement.encode(), values).fetchone()
    if found is None:
        raise ValueError(tr("an empty answer"))
    return found


def _unless_refused(connection: Connection, statement: str) -> str:
    """Return a text; empty where the role may not ask for it."""
    try:
        return str(_row(connection, statement)[0])
    except psycopg.Error:
        return ""


def _path(told: str) -> str:
    return told if told.isprintable() and len(told) < _LONGEST_PATH else ""


def _watch(connection: Connection, look_s: float, sleep: Callable[[float], None]) -> OthersLoad:
    before, begun_s = int(_row(connection, _TRANSACTIONS)[0] or 0), time.monotonic()
    active = int(_row(connection, _SESSIONS)[1])
    sleep(look_s)
    after, ended_s = int(_row(connection, _TRANSACTIONS)[0] or 0), time.monotonic()
    sessions, still_active, hidden = map(int, _row(connection, _SESSIONS))
    seconds = max(ended_s - begun_s, 0.001)
    own = 2  # of the statements between, each is a transaction
    tps = max(0, after - before - own) / seconds
    return OthersLoad(sessions, min(active, still_active), hidden, tps, seconds)


def measure_round_trip(connection: Connection) -> RoundTrip:
    """Return how long an empty statement takes, there and back; may raise psycopg.Error."""
    times = []
    for _ in range(_ROUND_TRIPS):
        begun_s = time.perf_counter()
        connection.execute(b"", prepare=False)
        times.append((time.perf_counter() - begun_s) * 1000)
    told = sorted(times[1:])  # the first one also wakes both ends
    return RoundTrip(statistics.median(told), told[0], told[-1])
