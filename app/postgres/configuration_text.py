"""Texts for our own data directory: settings, authentication, and initdb's arguments. Pure."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from app.postgres.connection import BACKUP_ROLE, BENCH_DATABASE, BENCH_ROLE, ROLE
from app.postgres.settings import Setting, quote_value
from app.postgres.tablespaces import Tablespaces

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
