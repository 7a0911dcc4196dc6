"""Tablespaces for tables and for indexes: how to create and use them, and where the files of relations are.

Sources: manual, CREATE TABLESPACE (an empty folder of the server's account, outside of the data directory),
pgbench (``--tablespace``, ``--index-tablespace``: primary keys too), storage layout (``pg_tblspc``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.domain.campaign.configuration import DiskTarget, Target
from app.domain.errors import TargetError
from app.domain.storage_plan.plan import RELATION_ROLES, Role
from app.domain.text import tr
from app.postgres.connection import connect, refused_as

_OPTIONS: Final = {Role.TABLES: "--tablespace", Role.INDEXES: "--index-tablespace"}
_MISPLACED: Final = {
    Role.TABLES: tr("The table in {found} should lie in {place}. Nothing was measured."),
    Role.INDEXES: tr("The index in {found} should lie in {place}. Nothing was measured."),
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
            raise TargetError(_MISPLACED[role].format(found=found, place=place))


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
    sentence = tr("The server does not tell where its tables lie: {reason}")
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
