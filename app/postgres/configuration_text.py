"""The texts that make a data directory ours: settings, authentication, and initdb's arguments. Pure."""

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
"""Since 18 initdb makes checksums unless told not to (release notes 18); before, the switch is unknown."""
_SALT_BYTES: Final = 16
_ITERATIONS: Final = 4096
"""As PostgreSQL itself has it (scram-common.h)."""
_IDENT_MAP: Final = "footing"
INPUT_FILE: Final = "/proc/self/fd/0"
"""Where initdb reads the superuser's password: its input, a file in memory that has no name."""


def format_configuration(settings: Iterable[Setting], socket_directory: str) -> str:
    """Return the text of pgfooting.conf: one setting a line, with its reason above it."""
    lines = ["# Written by pgFooting; read after postgresql.conf, so these lines win."]
    for setting in settings:
        if setting.why:
            lines.append("# " + " ".join(setting.why.split()))
        lines.append(f"{setting.name} = {quote_value(setting.value)}")
    folder = '"' + socket_directory.replace('"', '""') + '"'
    lines.append(f"unix_socket_directories = {quote_value(folder)}")
    return "\n".join(lines) + "\n"


def format_hba(*, backups: bool = False) -> str:
    """Return pg_hba.conf: over the Unix socket two roles, and with backups a third one; nobody else.

    The superuser is who knows the secret: runner, server and pgbench may be of one user, whom the kernel's
    word does not tell apart. pgbench's role is known by the kernel's word, in its one database; the role of
    base backups too, which reaches none.
    """
    replication = f"local replication {BACKUP_ROLE} peer map={_IDENT_MAP}\n" if backups else ""
    return (
        "# Written by pgFooting.\n"
        f"local all {ROLE} scram-sha-256\n"
        f"local {BENCH_DATABASE} {BENCH_ROLE} peer map={_IDENT_MAP}\n"
        f"{replication}"
    )


def format_ident(account: str, *, backups: bool = False) -> str:
    """Return pg_ident.conf: the system user that may be pgbench's role, and that of base backups."""
    quoted = '"' + account.replace('"', '""') + '"'
    roles = (BENCH_ROLE, BACKUP_ROLE) if backups else (BENCH_ROLE,)
    return "# Written by pgFooting.\n" + "".join(f"{_IDENT_MAP} {quoted} {role}\n" for role in roles)


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of the superuser.

    Attributes:
        text: SQL.
        in_bench: whether it is executed in pgbench's database and not in the maintenance database.
    """

    text: str
    in_bench: bool = False


def bench_statements(
    *, superuser: bool = False, tablespaces: Tablespaces | None = None
) -> tuple[Statement, ...]:
    """Return what makes pgbench's role and database, and the tablespaces that are the role's.

    The role may make tables in the schema public and use what everybody may. It owns neither database nor
    schema: the owner of a database may create every trusted extension (manual 36.17.1).

    Args:
        superuser: the role is one: a person was shown the scripts that want it, and agreed.
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
    """Return what gives the superuser a password, for a server alone with its data; its input's only line.

    The verifier is made here (RFC 5803, as PostgreSQL stores it), so that no log of a server that refuses the
    statement holds the password.
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
    """Return the arguments of initdb; `wal_directory` is empty where the WAL stays in the data directory.

    The locale is C with UTF8: it exists on every machine and sorts alike with every C library, and pgbench's
    keys are integers. ``--no-sync``, because initdb would sync about a thousand files one by one; the caller
    syncs the filesystem once instead, so that nothing of the load is left to be written during the run.
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
