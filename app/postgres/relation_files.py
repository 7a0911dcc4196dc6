"""In which files the tables of pgbench and their indexes lie, and the WAL."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import psycopg

from app.domain.errors import ServerError
from app.domain.text import tr
from app.postgres.connection import connect

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
    """Return the files of pgbench's tables, every segment (manual 65.1); none where there are no such tables.

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
    try:
        with connect(conninfo) as connection:
            rows = connection.execute(_QUERY, (kinds,)).fetchall()
    except psycopg.Error as err:
        sentence = tr("The server does not tell where its tables lie: {reason}")
        raise ServerError(sentence.format(reason=str(err).strip())) from err
    found: list[Path] = []
    for (name,) in rows:
        first = Path(data_directory, str(name))
        number = 0
        while (segment := first if not number else first.with_name(f"{first.name}.{number}")).exists():
            found.append(segment)
            number += 1
    return tuple(found)
