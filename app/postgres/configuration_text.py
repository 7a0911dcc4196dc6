"""Texts for our own server: settings, authentication, initdb's arguments, connection strings. Pure."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psycopg
from psycopg.conninfo import make_conninfo

from app.domain.campaign.configuration import DiskTarget, Target
from app.domain.errors import ServerError, TargetError
from app.domain.storage_plan.plan import RELATION_ROLES, Role
from app.domain.text import titled, tr
from app.postgres.settings import Setting, quote_value

# Connection strings for our own server.
#
# Sources: PostgreSQL 18 manual 34.1.1 "Connection Strings", 34.1.2 (requirepeer).


ROLE: Final = "pgfooting"
"""The superuser, for pgFooting alone; its secret exists only in the runner's memory."""
BENCH_ROLE: Final = "pgfooting_bench"
"""pgbench's role: no superuser, member of nothing, so that no SQL of a script can run a program."""
BACKUP_ROLE: Final = "pgfooting_backup"
"""pg_basebackup's role, in runs with base backups: it may replicate, no more."""
BENCH_DATABASE: Final = "pgbench"
"""The only database of `BENCH_ROLE`; the role owns its tables there, not the database."""
PORT: Final = 5432
MAINTENANCE_DATABASE: Final = "postgres"
CONNECT_TIMEOUT_S: Final = 10
STATEMENT_TIMEOUT_S: Final = 60


def connection_string(socket_directory: str, server_account: str, database: str, secret: str) -> str:
    """Return a libpq connection string of the superuser.

    It only reaches the server that `server_account` runs there, and contains the secret: never print it.
    """
    return make_conninfo(
        host=socket_directory,
        port=PORT,
        user=ROLE,
        password=secret,
        dbname=database,
        requirepeer=server_account,
        connect_timeout=CONNECT_TIMEOUT_S,
    )


@contextmanager
def refused_as(message: str, **words: str) -> Iterator[None]:
    """Raise errors of the server in a block as a ServerError.

    Args:
        message: with a placeholder for the server's `reason`.
        words: its other placeholders.

    Raises:
        ServerError: of that message.
    """
    try:
        yield
    except psycopg.Error as err:
        raise ServerError(message.format(reason=str(err).strip(), **words)) from err


def connect(
    conninfo: str, statement_timeout_s: int = STATEMENT_TIMEOUT_S
) -> psycopg.Connection[tuple[object, ...]]:
    """Return a connection in autocommit mode with a statement timeout of `statement_timeout_s` (0: none).

    Raises:
        ServerError: the server does not accept the connection; carries libpq's message.
    """
    options = f"-c statement_timeout={statement_timeout_s}s -c application_name=pgfooting"
    with refused_as(tr("The server refuses the connection: {reason}")):
        return psycopg.connect(conninfo, autocommit=True, options=options)


# Tablespaces for tables and for indexes: how to create and use them, and where the files of relations are.
#
# Sources: manual, CREATE TABLESPACE (an empty folder of the server's account, outside of the data directory),
# pgbench (``--tablespace``, ``--index-tablespace``: primary keys too), storage layout (``pg_tblspc``).


_OPTIONS: Final = {Role.TABLES: "--tablespace", Role.INDEXES: "--index-tablespace"}
_OBJECTS: Final = {
    Role.TABLES: titled(tr("tables")),
    Role.INDEXES: titled(tr("indexes")),
}


@dataclass(frozen=True, slots=True)
class Tablespaces:
    """The tablespaces of a server under test.

    Attributes:
        places: their folders, by role.
    """

    places: tuple[tuple[Role, str], ...] = ()

    @property
    def folders(self) -> tuple[str, ...]:
        """Their folders."""
        return tuple(folder for _, folder in self.places)

    def statements(self, owner: str) -> tuple[str, ...]:
        """Return the statements that create them; `owner` is the role that may use them."""
        return tuple(
            f"CREATE TABLESPACE {tablespace_name(role)} OWNER {owner} LOCATION '{_quoted(folder)}'"
            for role, folder in self.places
        )


def _quoted(text: str) -> str:
    return text.replace("'", "''")


def tablespace_name(role: Role) -> str:
    """Return the name of a role's tablespace; the prefix pg_ is reserved for the server."""
    return f"pgfooting_{role.value}"


def roles_of(target: Target) -> tuple[Role, ...]:
    """Return the roles with a tablespace on their own disks."""
    return tuple(role for role in RELATION_ROLES if isinstance(target, DiskTarget) and role in target.further)


def tablespace_options(roles: Iterable[Role]) -> tuple[str, ...]:
    """Return the options of ``pgbench --initialize``."""
    return tuple(f"{_OPTIONS[role]}={tablespace_name(role)}" for role in roles)


def check_places(
    tablespaces: Tablespaces, data_directory: str, relations: Iterable[tuple[Role, Path]]
) -> None:
    """Check that every file of tables and indexes is in its intended folder.

    Args:
        tablespaces: of the server.
        data_directory: the folder of files without a tablespace.
        relations: each file, and its role.

    Raises:
        TargetError: one is elsewhere; names it and the intended folder.
        OSError: a path cannot be resolved.
    """
    wanted = {role: Path(folder).resolve(strict=True) for role, folder in tablespaces.places}
    data = Path(data_directory).resolve(strict=True)
    for role, path in relations:
        found, place = path.resolve(strict=True), wanted.get(role, data)
        if not found.is_relative_to(place):
            message = tr("{what}: found in {found} instead of {place}. Nothing was measured.")
            raise TargetError(message.format(what=_OBJECTS[role], found=found, place=place))


_QUERY: Final = """
    SELECT pg_catalog.pg_relation_filepath(oid) FROM pg_catalog.pg_class
     WHERE relkind::text = ANY(%s) AND relname LIKE 'pgbench\\_%%' AND relpersistence = 'p'
       AND pg_catalog.pg_relation_filepath(oid) IS NOT NULL
"""
WAL_FOLDER: Final = "pg_wal"
"""In the data directory: a folder, or a link to one on another filesystem (initdb --waldir)."""
_WAL_FILE: Final = re.compile(r"[0-9A-F]{24}", re.ASCII)


def wal_files(folder: str) -> tuple[Path, ...]:
    """Return the files of the WAL in its folder (xlog_internal.h, XLOGFILENAME), by name.

    Raises:
        OSError: it cannot be read.
    """
    return tuple(sorted(path for path in Path(folder).iterdir() if _WAL_FILE.fullmatch(path.name)))


def table_files(conninfo: str, data_directory: str) -> tuple[Path, ...]:
    """Return the files of pgbench's tables, every segment (manual 65.1); empty without such tables.

    Args:
        conninfo: of a superuser's connection to the database with the tables.
        data_directory: of the server.

    Raises:
        ServerError: it cannot be asked.
    """
    return _files(conninfo, data_directory, ["r"])


def relation_files(conninfo: str, data_directory: str) -> tuple[Path, ...]:
    """Return the files of pgbench's tables and their indexes; otherwise as `table_files`."""
    return _files(conninfo, data_directory, ["r", "i"])


def index_files(conninfo: str, data_directory: str) -> tuple[Path, ...]:
    """Return the files of the indexes of pgbench's tables; otherwise as `table_files`."""
    return _files(conninfo, data_directory, ["i"])


def _files(conninfo: str, data_directory: str, kinds: list[str]) -> tuple[Path, ...]:
    sentence = tr("The server does not report where its tables are: {reason}")
    with refused_as(sentence), connect(conninfo) as connection:
        rows = connection.execute(_QUERY, (kinds,)).fetchall()
    found: list[Path] = []
    for (name,) in rows:
        first = Path(data_directory, str(name))
        number = 0
        while (segment := first if not number else first.with_name(f"{first.name}.{number}")).exists():
            found.append(segment)
            number += 1
    return tuple(found)


CHECKSUM_SWITCH_MAJOR: Final = 18
"""Since 18 initdb enables checksums by default (release notes 18); before, it has no switch to disable
them.
"""
_SALT_BYTES: Final = 16
_ITERATIONS: Final = 4096
"""PostgreSQL's own number (scram-common.h)."""
_IDENT_MAP: Final = "footing"
INPUT_FILE: Final = "/proc/self/fd/0"
"""initdb reads the superuser's password from its input, an unnamed file in memory."""


def format_configuration(settings: Iterable[Setting], socket_directory: str) -> str:
    """Return the text of pgfooting.conf: one setting per line, with its reason above it."""
    lines = ["# Written by pgFooting; read after postgresql.conf, so these lines win."]
    for setting in settings:
        if setting.why:
            lines.append("# " + " ".join(setting.why.split()))
        lines.append(f"{setting.name} = {quote_value(setting.value)}")
    folder = '"' + socket_directory.replace('"', '""') + '"'
    lines.append(f"unix_socket_directories = {quote_value(folder)}")
    return "\n".join(lines) + "\n"


def format_hba(*, backups: bool = False) -> str:
    """Return pg_hba.conf: over the Unix socket two roles, and with backups a third one; no other access.

    The superuser authenticates by the secret: runner, server and pgbench may run as the same user, which peer
    authentication cannot tell apart. pgbench's role uses peer authentication, in its one database; so does
    the role of base backups, which can use no database.
    """
    replication = f"local replication {BACKUP_ROLE} peer map={_IDENT_MAP}\n" if backups else ""
    return (
        "# Written by pgFooting.\n"
        f"local all {ROLE} scram-sha-256\n"
        f"local {BENCH_DATABASE} {BENCH_ROLE} peer map={_IDENT_MAP}\n"
        f"{replication}"
    )


def format_ident(account: str, *, backups: bool = False) -> str:
    """Return pg_ident.conf: the system user that may act as pgbench's role and the backup role."""
    quoted = '"' + account.replace('"', '""') + '"'
    roles = (BENCH_ROLE, BACKUP_ROLE) if backups else (BENCH_ROLE,)
    return "# Written by pgFooting.\n" + "".join(f"{_IDENT_MAP} {quoted} {role}\n" for role in roles)


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of the superuser.

    Attributes:
        text: SQL.
        in_bench: whether it runs in pgbench's database instead of the maintenance database.
    """

    text: str
    in_bench: bool = False


def bench_statements(
    *, superuser: bool = False, tablespaces: Tablespaces | None = None
) -> tuple[Statement, ...]:
    """Return the statements that create pgbench's role, database and tablespaces.

    The role may create tables in the schema public and use what PUBLIC may use. It owns neither database nor
    schema: the owner of a database may create every trusted extension (manual 36.17.1).

    Args:
        superuser: make the role a superuser: the user saw the scripts that need it, and agreed.
        tablespaces: for its tables and indexes; None for none.
    """
    spaces = () if tablespaces is None else tablespaces.statements(BENCH_ROLE)
    rights = "SUPERUSER" if superuser else "NOSUPERUSER"
    return (
        Statement(f"CREATE ROLE {BENCH_ROLE} LOGIN {rights} NOCREATEDB NOCREATEROLE NOREPLICATION"),
        *map(Statement, spaces),
        Statement(f"CREATE DATABASE {BENCH_DATABASE}"),
        Statement(f"GRANT CREATE, USAGE ON SCHEMA public TO {BENCH_ROLE}", in_bench=True),
    )


def password_statement(secret: str) -> str:
    """Return a statement that sets the superuser's password, as single-user mode reads it: one line.

    The verifier is computed here (RFC 5803, as PostgreSQL stores it), so that a server that rejects the
    statement does not log the password.
    """
    salt = secrets.token_bytes(_SALT_BYTES)
    salted = hashlib.pbkdf2_hmac("sha256", secret.encode("ascii"), salt, _ITERATIONS)
    client = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    server = hmac.digest(salted, b"Server Key", "sha256")
    stored, texts = (
        f"SCRAM-SHA-256${_ITERATIONS}",
        [base64.b64encode(part).decode() for part in (salt, client, server)],
    )
    return f"ALTER ROLE {ROLE} PASSWORD '{stored}:{texts[0]}${texts[1]}:{texts[2]}'\n"


def initdb_arguments(
    data_directory: str, major: int, *, checksums: bool, wal_directory: str = ""
) -> tuple[str, ...]:
    """Return the arguments of initdb; an empty `wal_directory` keeps the WAL in the data directory.

    The locale is C with UTF8: it exists on every machine and sorts the same with every C library, and
    pgbench's keys are integers. ``--no-sync``, because initdb would sync about a thousand files one by one;
    the caller syncs the filesystem once instead, so that no write of the load is left for the run.
    """
    arguments = ["--pgdata", data_directory, "--username", ROLE, "--encoding", "UTF8", "--locale", "C"]
    arguments += ["--auth-local", "scram-sha-256", "--auth-host", "reject", "--pwfile", INPUT_FILE]
    arguments.append("--no-sync")
    if checksums:
        arguments.append("--data-checksums")
    elif major >= CHECKSUM_SWITCH_MAJOR:
        arguments.append("--no-data-checksums")
    if wal_directory:
        arguments += ["--waldir", wal_directory]
    return tuple(arguments)
