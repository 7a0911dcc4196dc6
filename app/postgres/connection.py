"""Connection strings for our own server.

Sources: PostgreSQL 18 manual 34.1.1 "Connection Strings", 34.1.2 (requirepeer).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import psycopg
from psycopg.conninfo import make_conninfo

from app.domain.errors import ServerError
from app.domain.text import tr

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
