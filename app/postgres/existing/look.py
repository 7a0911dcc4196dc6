"""Inspect a server that pgFooting did not start, over SQL, before anything is created there; changes nothing.

All answers are limited in length: names come from the remote side, and may contain anything. `check_server`
refuses unsuitable servers with the first reason; `look_rows` describes the server to the user.

Managed services are recognised by parameters that only their servers have. Sources:
docs.aws.amazon.com/AmazonRDS ("Working with parameters on your RDS for PostgreSQL DB instance":
rds.extensions, rds.force_ssl; Aurora has the same ones); cloud.google.com/sql/docs/postgres/flags
(cloudsql.iam_authentication, cloudsql.logical_decoding) and /alloydb/docs/reference/database-flags
(alloydb.iam_authentication); learn.microsoft.com/azure/postgresql/flexible-server ("Server parameters":
azure.extensions, azure.accepted_password_auth_method); github.com/neondatabase/neon (neon.tenant_id);
github.com/supabase/supautils (supautils.*).
"""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import psycopg

from app.domain.errors import RefusedError, TargetError
from app.domain.quoting import shown
from app.domain.text import format_size, titled, tr, trn
from app.postgres.existing.address import ServerAddress, error_line
from app.postgres.existing.own_database import OWN_DATABASE
from app.postgres.installations.installation import OLDEST_MAJOR
from app.process.metered import ANSWER_ERRORS

SERVICES: Final = {
    "rds": "Amazon RDS or Aurora",
    "alloydb": "Google AlloyDB",
    "cloudsql": "Google Cloud SQL",
    "azure": "Azure Database for PostgreSQL",
    "neon": "Neon",
    "supautils": "Supabase",
}
"""By parameter prefix, before the dot; the first match counts, as AlloyDB may have Cloud SQL's too."""


def managed_service(words: Collection[str]) -> str:
    """Return the name of the managed service; empty if none is recognised.

    Args:
        words: prefixes, before the dot, of the server's parameters.
    """
    return next((name for word, name in SERVICES.items() if word in words), "")


LOOK_S: Final = 10.0
"""How long the load of others is watched."""
_ROUND_TRIPS: Final = 21
_LONGEST: Final = 200
_MOST_DATABASES: Final = 20
DANGEROUS_ROLES: Final = ("pg_execute_server_program", "pg_read_server_files", "pg_write_server_files")
"""Roles whose members can reach the server's files or programs (manual 22.5 "Predefined Roles")."""

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
"""The view omits settings that the role may not see; current_setting would log an error on the server."""
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
    """A database of the server; `size_bytes` is None if the role may not read it."""

    name: str
    size_bytes: int | None


@dataclass(frozen=True, slots=True)
class ServerRole:
    """The rights of our role.

    Attributes:
        name: of the role.
        is_superuser: it may do everything.
        may_create: databases.
        has_monitor: sees the activity of other sessions (pg_monitor).
        may_checkpoint: superuser or pg_checkpoint, which exists since 15.
        dangerous: roles of `DANGEROUS_ROLES` that it is a member of.
        owned: other databases owned by it or by a role that it is a member of.
    """

    name: str
    is_superuser: bool
    may_create: bool
    has_monitor: bool
    may_checkpoint: bool
    dangerous: tuple[str, ...] = ()
    owned: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OtherActivity:
    """Activity of others on the server.

    Attributes:
        sessions: of others that are connected.
        active: sessions that were not idle at the start and at the end of the watch.
        hidden: sessions whose activity our role may not see.
        tps: transactions per second over the watch, in all databases, without ours.
        seconds: duration of the watch.
    """

    sessions: int
    active: int
    hidden: int
    tps: float
    seconds: float


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """Duration of an empty statement to the server and back, in milliseconds."""

    median_ms: float
    least_ms: float
    most_ms: float


@dataclass(frozen=True, slots=True)
class ServerLook:
    """Everything found out about a server.

    Attributes:
        version: such as ``15.14``.
        version_text: ``SELECT version()``.
        major: major version.
        cluster_name: setting cluster_name; empty for none.
        system_identifier: of the cluster; empty if the role may not read it.
        server_address: of the server's own end; empty for a socket.
        started: start time of the postmaster, in its own format.
        in_recovery: it is a standby, or still recovering.
        max_connections: limit of the server.
        reserved_connections: part of it for superusers.
        tls: protocol and cipher of our connection; empty for none.
        role: our rights.
        databases: the largest ones.
        database_count: number of all databases except templates.
        others: activity of others.
        round_trip: of the network.
        data_folder: on its machine; empty if the role may not read it.
        managed_service: its operator; empty if none is recognised.
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
    others: OtherActivity
    round_trip: RoundTrip
    data_folder: str = ""
    managed_service: str = ""

    @property
    def identity(self) -> tuple[str, str]:
        """The same for every connection to one server."""
        return self.system_identifier, self.started


def version_words(number: int) -> str:
    """Return a version as text, from libpq's number."""
    return f"{number // 10000}.{number % 10000}"


def look_at_server(
    connection: Connection,
    address: ServerAddress,
    own_database: str,
    *,
    look_s: float = LOOK_S,
    sleep: Callable[[float], None] = time.sleep,
) -> ServerLook:
    """Inspect a server and the activity of others there.

    Args:
        connection: to it.
        address: of the connection.
        own_database: name of pgFooting's database.
        look_s: seconds that the load of others is watched.
        sleep: waits; may raise to end the inspection.

    Raises:
        TargetError: it is too old, or does not answer as every PostgreSQL does.
    """
    number = connection.info.server_version
    if number // 10000 < OLDEST_MAJOR:
        message = tr("The server is PostgreSQL {version}; {oldest} or newer is needed.")
        old = version_words(number) if number >= 100000 else f"{number // 10000}.{number // 100 % 100}"
        raise TargetError(message.format(version=old, oldest=OLDEST_MAJOR))
    try:
        return _look(connection, address, own_database, look_s, sleep)
    except ANSWER_ERRORS as error:
        message = tr("The server does not identify itself: {reason}")
        raise TargetError(message.format(reason=error_line(error))) from error


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


def _names(names: Iterable[object]) -> tuple[str, ...]:
    return tuple(shown(each, _LONGEST) for each in itertools.islice(names, _MOST_DATABASES))


def _row(connection: Connection, statement: str, values: tuple[object, ...] | None = None) -> tuple[Any, ...]:
    found = connection.execute(statement.encode(), values).fetchone()
    if found is None:
        raise ValueError(tr("an empty answer"))
    return found


def _unless_refused(connection: Connection, statement: str) -> str:
    """Return a text; empty if the role may not read it."""
    try:
        return str(_row(connection, statement)[0])
    except psycopg.Error:
        return ""


def _path(path: str) -> str:
    return path if path.isprintable() and len(path) < _LONGEST_PATH else ""


def _watch(connection: Connection, look_s: float, sleep: Callable[[float], None]) -> OtherActivity:
    before, begun_s = int(_row(connection, _TRANSACTIONS)[0] or 0), time.monotonic()
    active = int(_row(connection, _SESSIONS)[1])
    sleep(look_s)
    after, ended_s = int(_row(connection, _TRANSACTIONS)[0] or 0), time.monotonic()
    sessions, still_active, hidden = map(int, _row(connection, _SESSIONS))
    seconds = max(ended_s - begun_s, 0.001)
    own = 2  # of the statements between, each is a transaction
    tps = max(0, after - before - own) / seconds
    return OtherActivity(sessions, min(active, still_active), hidden, tps, seconds)


def measure_round_trip(connection: Connection) -> RoundTrip:
    """Measure an empty statement, there and back; may raise psycopg.Error."""
    times = []
    for _ in range(_ROUND_TRIPS):
        begun_s = time.perf_counter()
        connection.execute(b"", prepare=False)
        times.append((time.perf_counter() - begun_s) * 1000)
    later = sorted(times[1:])  # the first one also wakes both ends
    return RoundTrip(statistics.median(later), later[0], later[-1])


MOST_TPS_OF_OTHERS: Final = 10.0
"""Monitoring alone makes a few per second; real work makes more."""
_CONNECTIONS_OF_OURS: Final = 5
"""In addition to pgbench's clients: inspection, watch, the sampler's two, vacuum."""
_MOST_NAMED: Final = 5


@dataclass(frozen=True, slots=True)
class ServerNeeds:
    """What a campaign needs of a server.

    Attributes:
        name: of the server, see `ServerAddress.name`.
        clients: of the phase with the most.
        need_bytes: maximum size of its database.
        room_bytes: allowed size according to the campaign; None without a limit.
        pgbench_major: of the oldest pgbench that is used.
    """

    name: str
    clients: int
    need_bytes: int
    room_bytes: int | None
    pgbench_major: int


def check_server(look: ServerLook, needs: ServerNeeds) -> None:
    """Check that a server may be measured.

    Raises:
        RefusedError: it may not; the first reason, and a hint.
    """
    for message, hint in _reasons(look, needs):
        end = tr("{reason} Nothing was done there.")
        raise RefusedError(end.format(reason=message), hint=hint)


def _reasons(look: ServerLook, needs: ServerNeeds) -> Iterator[tuple[str, str]]:
    if needs.pgbench_major < look.major:
        message = tr("The server is PostgreSQL {version}; pgbench {major} is too old for it.")
        hint = tr("Install PostgreSQL {major} or newer on this machine; its server need not run.")
        yield message.format(version=look.version, major=needs.pgbench_major), hint.format(major=look.major)
    if look.in_recovery:
        yield (
            tr("{name} is a standby or still in recovery, so nothing can be written there.").format(
                name=needs.name
            ),
            tr("Use the primary instead."),
        )
    yield from _of_role(look)
    yield from _of_room(look, needs)
    yield from _of_others(look, needs)


def _of_role(look: ServerLook) -> Iterator[tuple[str, str]]:
    role = look.role
    grant = tr(
        "Create a role for pgFooting with CREATE ROLE pgfooting LOGIN CREATEDB. Optional, for statistics "
        "and checkpoints: GRANT pg_monitor, pg_checkpoint TO pgfooting (pg_checkpoint needs version 15 or "
        "newer)."
    )
    if role.is_superuser:
        yield (
            tr("The role {role} is a superuser, which is more than pgFooting accepts.").format(
                role=role.name
            ),
            grant,
        )
    if not role.may_create:
        yield (
            tr("The role {role} is not allowed to create databases (CREATEDB).").format(role=role.name),
            grant,
        )
    if role.dangerous:
        message = tr("The role {role} is a member of {roles}, which lets SQL reach outside the database.")
        yield message.format(role=role.name, roles=", ".join(role.dangerous)), grant
    if role.owned:
        message = tr("The role {role} also owns databases that are not pgFooting's: {names}.")
        yield message.format(role=role.name, names=_names_joined(role.owned)), grant


def _of_room(look: ServerLook, needs: ServerNeeds) -> Iterator[tuple[str, str]]:
    if needs.room_bytes is not None and needs.need_bytes > needs.room_bytes:
        message = tr("The database needs about {need} there; the campaign allows {room}.")
        hint = tr("Choose a smaller data set, or raise target.server.room.")
        sentence = message.format(need=format_size(needs.need_bytes), room=format_size(needs.room_bytes))
        yield sentence, hint
    left = look.max_connections - look.reserved_connections - look.others.sessions
    wanted = needs.clients + _CONNECTIONS_OF_OURS
    if left < wanted:
        message = tr("{clients} clients and pgFooting need {wanted} connections; the server has {left} left.")
        yield (
            message.format(clients=needs.clients, wanted=wanted, left=max(0, left)),
            tr("Choose fewer clients, or raise the server's max_connections."),
        )


def _of_others(look: ServerLook, needs: ServerNeeds) -> Iterator[tuple[str, str]]:
    others = look.others
    if others.tps > MOST_TPS_OF_OTHERS or others.active:
        message = trn(
            "{name} is in use by others: {tps:.0f} transactions a second in the last {seconds:.0f} s, "
            "{active} active session. A measurement and their work would disturb each other.",
            "{name} is in use by others: {tps:.0f} transactions a second in the last {seconds:.0f} s, "
            "{active} active sessions. A measurement and their work would disturb each other.",
            others.active,
        )
        sentence = message.format(
            name=needs.name, tps=others.tps, seconds=others.seconds, active=others.active
        )
        yield sentence, tr("Measure when the server is idle, or on a copy of it.")


def _names_joined(names: tuple[str, ...]) -> str:
    shown, more = ", ".join(names[:_MOST_NAMED]), len(names) - _MOST_NAMED
    return tr("{names} and {count} more").format(names=shown, count=more) if more > 0 else shown


_WORDS_SHOWN: Final = 8


def round_trip_words(trip: RoundTrip) -> str:
    """Return the round trip times as text."""
    return tr("{median:.2f} ms ({least:.2f} to {most:.2f})").format(
        median=trip.median_ms, least=trip.least_ms, most=trip.most_ms
    )


def look_rows(look: ServerLook, address: ServerAddress) -> tuple[tuple[str, str], ...]:
    """Return the findings as (label, value); names come from the remote side."""
    others = look.others
    tls = look.tls or tr("none")
    rows = [
        (titled(tr("server")), address.name),
        (titled(tr("version")), look.version_text),
        (tr("Cluster"), _cluster(look)),
        *([(titled(tr("managed service")), look.managed_service)] if look.managed_service else []),
        ("TLS", tr("none (local socket)") if address.is_socket else tls),
        (titled(tr("role")), address.user),
        (tr("Databases"), _databases(look)),
        (
            tr("Other activity"),
            tr("{sessions}, {tps:.1f} transactions a second in the last {seconds:.0f} s").format(
                sessions=trn("{count} session", "{count} sessions", others.sessions).format(
                    count=others.sessions
                ),
                tps=others.tps,
                seconds=others.seconds,
            ),
        ),
        (tr("Round trip"), round_trip_words(look.round_trip)),
    ]
    return tuple(rows)


def _cluster(look: ServerLook) -> str:
    unknown = tr("(not reported)")
    words = tr("{name}, system identifier {identifier}, address {address}")
    return words.format(
        name=look.cluster_name or tr("unnamed"),
        identifier=look.system_identifier or unknown,
        address=look.server_address or unknown,
    )


def _databases(look: ServerLook) -> str:
    unknown = tr("size not reported")  # not inside a text: catalogues are made from what stands by itself
    names = [
        f"{each.name} ({unknown if each.size_bytes is None else format_size(each.size_bytes)})"
        for each in look.databases[:_WORDS_SHOWN]
    ]
    more = look.database_count - len(names)
    return (
        tr("{names} and {count} more").format(names=", ".join(names), count=more)
        if more > 0
        else ", ".join(names)
    )


def not_known(look: ServerLook, *, is_asked: bool = False) -> tuple[str, ...]:
    """Return what cannot be known about such a server, in sentences.

    Args:
        look: the findings.
        is_asked: its machine is read over ssh.
    """
    sentences = [
        tr(
            "Existing server: its caches and other processes on its machine are unknown. CPU, memory, "
            "pressure and disks are those of its own machine, over ssh."
        )
        if is_asked
        else tr(
            "Existing server: its disks, filesystem, caches, memory and CPUs are unknown. CPU, memory and "
            "pressure are those of the machine that ran pgbench."
        ),
    ]
    if look.managed_service:
        words = tr(
            "Managed by {name}: the volume may have burst credits, so a short run can look faster than "
            "sustained use. SQL cannot show this, so check with the provider."
        )
        sentences.append(words.format(name=look.managed_service))
    elif not is_asked:
        sentences.append(
            tr(
                "SQL cannot show whether the volume has burst credits or is a cloud's virtual disk, so "
                "check with the provider."
            )
        )
    if not look.role.has_monitor:
        sentences.append(
            tr("Without pg_monitor, pgFooting cannot see the activity of other sessions or some settings.")
        )
    if not look.role.may_checkpoint:
        sentences.append(
            tr(
                "No checkpoint before measuring: the role lacks the right (pg_checkpoint, version 15 or "
                "newer)."
            )
        )
    return tuple(sentences)


def made_sentence(name: str) -> str:
    """Return the sentence that describes our changes on the server."""
    words = tr(
        "For each run, pgFooting creates, loads, measures and drops the database {database} on {name}. It "
        "changes no other data or settings, but its load and checkpoints affect the whole server."
    )
    return words.format(name=name, database=OWN_DATABASE)
