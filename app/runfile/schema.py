"""The schema of each run file format: its tables, their columns and indexes, its view. Nothing else.

SQLite executes what a schema contains: a view instead of a table may compute for ever, a trigger may write. A
file is therefore read only if its schema is, word for word, that of its format.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import cache
from typing import Final

from app.domain.text import tr
from app.runfile.writer import SCHEMAS, schema_script

SchemaObject = tuple[str, str, str, str | None]
"""Type, name, table and SQL text, as in SQLite's table `sqlite_schema`."""

_OBJECTS: Final = "SELECT type, name, tbl_name, sql FROM sqlite_schema"


@cache
def schema_of(version: int) -> frozenset[SchemaObject]:
    """Return the schema of a format.

    Raises:
        KeyError: there is no such format.
    """
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(schema_script(version))
        return frozenset(connection.execute(_OBJECTS).fetchall())


def strange_part(connection: sqlite3.Connection) -> str:
    """Return a clause about the deviation of an open file from its format; empty if there is none.

    Raises:
        sqlite3.Error: it cannot be read.
    """
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version not in SCHEMAS:
        return tr("its format {version} does not exist").format(version=version)
    known = schema_of(version)
    found = connection.execute(_OBJECTS).fetchmany(len(known) + 1)
    strange = sorted((row for row in found if row not in known), key=str)
    if strange:
        kind, name = (_shown(word) for word in strange[0][:2])
        message = tr("its {kind} “{name}” is none of format {version}")
        return message.format(kind=kind, name=name, version=version)
    if len(found) != len(known) or len(set(found)) != len(known):
        missing = sorted(name for _, name, _, _ in known - set(found)) or [tr("a table")]
        return tr("{name} of format {version} is missing in it").format(name=missing[0], version=version)
    return ""


def _shown(word: object) -> str:
    return str(word)[:40]
