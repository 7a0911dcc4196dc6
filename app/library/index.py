"""A cache of the library between two starts; may be deleted at any time.

One SQLite file per library in the user's cache folder. An entry is valid as long as its file's signature is
unchanged; a damaged index, or one of another version, is rebuilt.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import zlib
from collections.abc import Iterable, Mapping
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final

from app import TOP, VERSION
from app.library.entries import LibraryEntry
from app.runfile.file_cache import Signature

_READERS: Final = (
    "domain/disturbances.py",
    "domain/run.py",
    "library/entries.py",
    "library/index.py",
    "library/scan.py",
    "postgres/settings.py",
    "probes/facts/files.py",
    "runfile/bounds.py",
    "runfile/disturbance.py",
    "runfile/metadata/environment.py",
    "runfile/metadata/run_metadata.py",
    "runfile/metadata/stored_campaign.py",
    "runfile/metadata/typed_json.py",
    "runfile/reader.py",
    "runfile/schema.py",
    "runfile/summary.py",
)
_LISTS: Final = ("marks", "options", "keys", "tags")


@dataclass(frozen=True, slots=True)
class IndexedRun:
    """The cached part of a run file.

    Attributes:
        signature: of the file when it was read.
        entry: its entry in the library.
        spark: its spark line.
    """

    signature: Signature
    entry: LibraryEntry
    spark: tuple[float, ...]


def index_path(library: Path) -> Path | None:
    """Return the index file of a library; None if this user has no cache (XDG Base Directory)."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not base.startswith("/"):
        try:
            base = str(Path.home() / ".cache")
        except RuntimeError:
            return None
    name = hashlib.sha256(os.fsencode(library.absolute())).hexdigest()[:16]
    return Path(base) / "pgfooting" / "libraries" / f"{name}.sqlite"


def index_format() -> int:
    """Return a number that changes with the fields of an entry and with the code that reads it.

    The version alone would not do: in a checkout the code changes without a new version.
    """
    names = ",".join((VERSION, *(field.name for field in fields(LibraryEntry))))
    code = zlib.crc32(names.encode())
    for name in _READERS:
        with suppress(OSError):
            code = zlib.crc32((TOP / "app" / name).read_bytes(), code)
    return code & 0x7FFFFFFF


class LibraryIndex:
    """One index. Errors only cost time: no method raises."""

    def __init__(self, path: Path | None) -> None:
        self.path = path

    def load(self) -> dict[str, IndexedRun]:
        """Return all entries by path; empty if the index is damaged or of another version."""
        if self.path is None or not self.path.is_file():
            return {}
        try:
            with closing(self._connect()) as connection:
                if connection.execute("PRAGMA user_version").fetchone()[0] != index_format():
                    return {}
                rows = connection.execute("SELECT path, told FROM run").fetchall()
            return {os.fsdecode(path): _unfold(json.loads(stored)) for path, stored in rows}
        except (sqlite3.Error, OSError, ValueError, TypeError, KeyError):
            self._forget()
            return {}

    def store(self, changed: Mapping[str, IndexedRun], gone: Iterable[str]) -> None:
        """Store changed entries, and delete those of missing files."""
        missing = [(os.fsencode(path),) for path in gone]
        if self.path is None or not (changed or missing):
            return
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with closing(self._connect()) as connection, connection:
                self._make(connection)
                connection.executemany("DELETE FROM run WHERE path = ?", missing)
                rows = [(os.fsencode(path), json.dumps(_fold(run))) for path, run in changed.items()]
                connection.executemany("INSERT OR REPLACE INTO run VALUES (?, ?)", rows)
        except (sqlite3.DatabaseError, OSError) as error:
            if not isinstance(error, sqlite3.OperationalError):  # damaged, and not only busy or full
                self._forget()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path or "", timeout=1)
        try:
            connection.execute("PRAGMA synchronous=OFF")
        except BaseException:  # damaged
            connection.close()
            raise
        return connection

    def _make(self, connection: sqlite3.Connection) -> None:
        if connection.execute("PRAGMA user_version").fetchone()[0] != index_format():
            connection.execute("DROP TABLE IF EXISTS run")
            connection.execute(f"PRAGMA user_version = {index_format()}")
        connection.execute("CREATE TABLE IF NOT EXISTS run (path BLOB PRIMARY KEY, told TEXT) WITHOUT ROWID")

    def _forget(self) -> None:
        if self.path is not None:
            with suppress(OSError):
                self.path.unlink()


def _fold(run: IndexedRun) -> list[Any]:
    return [run.signature, asdict(run.entry), run.spark]


def _unfold(stored: list[Any]) -> IndexedRun:
    signature, values, spark = stored
    entry = LibraryEntry(**{**values, **{name: tuple(values[name]) for name in _LISTS}})
    return IndexedRun(tuple(tuple(map(int, part)) for part in signature), entry, tuple(map(float, spark)))  # type: ignore[misc]
