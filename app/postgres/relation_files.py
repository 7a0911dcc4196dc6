"""In which files the tables of pgbench lie."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import psycopg

from app.domain.errors import ServerError
from app.domain.text import tr
from app.postgres.connection import connect

_QUERY: Final = """
    SELECT pg_catalog.pg_relation_filepath(oid) FROM pg_catalog.pg_class
     WHERE relkind = 'r' AND relname LIKE 'pgbench\\_%' AND relpersistence = 'p'
       AND pg_catalog.pg_relation_filepath(oid) IS NOT NULL
"""


def table_files(conninfo: str, data_directory: str) -> tuple[Path, ...]:
    """Return the files of pgbench's tables, every segment (manual 65.1); none where there are no such tables.

    Args:
        conninfo: of a superuser's connection to the database with the tables.
        data_directory: of the server.

    Raises:
        ServerError: it cannot be asked.
    """
    try:
        with connect(conninfo) as connection:
            rows = connection.execute(_QUERY).fetchall()
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
