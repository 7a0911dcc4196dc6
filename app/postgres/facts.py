"""What a running server says about itself, for the environment facts of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import psycopg

from app.domain.errors import ServerError
from app.domain.text import tr
from app.postgres.connection import connect

ALWAYS_REPORTED: Final = (
    "autovacuum",
    "block_size",
    "checkpoint_completion_target",
    "checkpoint_timeout",
    "data_checksums",
    "effective_io_concurrency",
    "fsync",
    "full_page_writes",
    "huge_pages",
    "huge_pages_status",
    "io_method",
    "jit",
    "max_connections",
    "max_wal_size",
    "min_wal_size",
    "server_version",
    "shared_buffers",
    "shared_memory_size",
    "synchronous_commit",
    "wal_block_size",
    "wal_buffers",
    "wal_compression",
    "wal_init_zero",
    "wal_level",
    "wal_recycle",
    "wal_segment_size",
    "wal_sync_method",
)
"""Reported also where they have their default, because defaults differ between versions; absent ones are
left out (huge_pages_status is of 17, io_method of 18, shared_memory_size of 15)."""

_SETTINGS_QUERY: Final = """
    SELECT name, pg_catalog.current_setting(name), source
      FROM pg_catalog.pg_settings
     WHERE name = ANY (%s) OR source NOT IN ('default', 'client', 'session', 'interactive', 'test')
     ORDER BY name
"""
_CONFIGURE_QUERY: Final = "SELECT setting FROM pg_catalog.pg_config WHERE name = 'CONFIGURE'"


@dataclass(frozen=True, slots=True)
class SettingInEffect:
    """A parameter as the running server has it.

    Attributes:
        name: parameter.
        value: as SHOW prints it, with its unit.
        source: where it comes from, in the words of pg_settings (``configuration file``, ``default`` ...).
    """

    name: str
    value: str
    source: str


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What the server says about itself.

    Attributes:
        version_text: ``SELECT version()``: version, platform, compiler.
        configure: arguments of its build's configure.
        settings: everything that is not a default, and what is always reported.
    """

    version_text: str
    configure: str
    settings: tuple[SettingInEffect, ...]


def read_server_facts(conninfo: str) -> ServerFacts:
    """Return version, build and settings of a running server; the role must be a superuser.

    Raises:
        ServerError: it cannot be asked.
    """
    try:
        with connect(conninfo) as connection:
            version = connection.execute("SELECT pg_catalog.version()").fetchone()
            configure = connection.execute(_CONFIGURE_QUERY).fetchone()
            settings = connection.execute(_SETTINGS_QUERY, (list(ALWAYS_REPORTED),)).fetchall()
    except psycopg.Error as err:
        raise ServerError(
            tr("The server does not tell its settings: {reason}").format(reason=str(err).strip())
        ) from err
    return ServerFacts(
        version_text=str(version[0]) if version else "",
        configure=str(configure[0]).strip() if configure else "",
        settings=tuple(
            SettingInEffect(str(name), str(value), str(source)) for name, value, source in settings
        ),
    )
