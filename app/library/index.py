"""The index of a library: what lists, searches and sorts use, in columns, and nothing else.

One SQLite database per library in the user's cache folder. It may be deleted at any time: all of it is read
again from the run files. Several processes may use it at once; if it cannot be used, this process keeps one
in memory. Errors only cost time. An index may be used by several threads.

What repeats share is stored once, as their setup. A word is a searchable value of a field.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
import time
import weakref
import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Final, TypeVar

from app import TOP, VERSION
from app.library.entries import LibraryEntry
from app.library.query import EVERY, FIELDS, Condition, Part, QueryField, Term, compile_query, own_text

_SCHEMA: Final = """
CREATE TABLE setup (
    number INTEGER PRIMARY KEY,
    digest TEXT NOT NULL UNIQUE,
    campaign TEXT, configuration TEXT, target TEXT, filesystem TEXT, raid TEXT, scale INTEGER, workload TEXT,
    clients INTEGER, postgresql TEXT, machine TEXT, kernel TEXT,
    options TEXT NOT NULL, keys TEXT NOT NULL
);
CREATE TABLE run (
    number INTEGER PRIMARY KEY,
    path BLOB NOT NULL UNIQUE,
    folder BLOB NOT NULL,
    inside INTEGER NOT NULL,
    signature TEXT NOT NULL,
    setup INTEGER NOT NULL REFERENCES setup (number),
    id TEXT, name TEXT, state TEXT NOT NULL,
    tps REAL, p99_ms REAL, jitter_cv REAL, started REAL, duration_s REAL,
    problem TEXT, note TEXT NOT NULL, marks TEXT NOT NULL, tags TEXT NOT NULL,
    spark BLOB NOT NULL
);
CREATE INDEX run_of_setup ON run (setup);
CREATE INDEX run_in_folder ON run (folder, started);
CREATE INDEX run_by_id ON run (id);
CREATE INDEX run_by_start ON run (coalesce(started, 0) DESC, path);
CREATE TABLE word (
    number INTEGER PRIMARY KEY,
    field TEXT NOT NULL, value TEXT NOT NULL, folded TEXT NOT NULL,
    UNIQUE (field, value)
);
CREATE TABLE setup_word (word INTEGER, setup INTEGER, PRIMARY KEY (word, setup)) WITHOUT ROWID;
CREATE INDEX word_of_setup ON setup_word (setup);
CREATE TABLE run_word (word INTEGER, run INTEGER, PRIMARY KEY (word, run)) WITHOUT ROWID;
CREATE INDEX word_of_run ON run_word (run);
CREATE VIRTUAL TABLE run_text USING fts5 (text, tokenize = 'trigram case_sensitive 1');
"""

_SETUP: Final = (
    "campaign", "configuration", "target", "filesystem", "raid", "scale", "workload", "clients",
    "postgresql", "machine", "kernel", "options", "keys",
)  # fmt: skip
"""Attributes of an entry that repeats share."""
_OWN: Final = (
    "id", "name", "state", "tps", "p99_ms", "jitter_cv", "started", "duration_s", "problem", "note",
    "marks", "tags",
)  # fmt: skip
"""Attributes of an entry that each run has by itself."""
_LISTS: Final = frozenset({"marks", "options", "keys", "tags"})

_RUN_COLUMNS: Final = ("path", "folder", "inside", "signature", "setup", *_OWN, "spark")
_SHOWN: Final = (
    "run.path",
    *(f"run.{each}" for each in _OWN),
    *(f"setup.{each}" for each in _SETUP),
    "run.spark",
)
_FROM: Final = "FROM run JOIN setup ON setup.number = run.setup"

PUT_RUN: Final = f"""
INSERT INTO run ({", ".join(_RUN_COLUMNS)}) VALUES ({", ".join("?" * len(_RUN_COLUMNS))})
ON CONFLICT (path) DO UPDATE SET {", ".join(f"{each} = excluded.{each}" for each in _RUN_COLUMNS[1:])}
"""
PUT_SETUP: Final = f"""
INSERT INTO setup (digest, {", ".join(_SETUP)}) VALUES ({", ".join("?" * (len(_SETUP) + 1))})
"""
PUT_WORD: Final = "INSERT INTO word (field, value, folded) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
PUT_SETUP_WORD: Final = """
INSERT INTO setup_word (word, setup) SELECT number, ? FROM word WHERE field = ? AND value = ?
ON CONFLICT DO NOTHING
"""
PUT_RUN_WORD: Final = """
INSERT INTO run_word (word, run) SELECT number, ? FROM word WHERE field = ? AND value = ?
ON CONFLICT DO NOTHING
"""
UNUSED: Final = (
    "DELETE FROM setup WHERE number NOT IN (SELECT setup FROM run)",
    "DELETE FROM setup_word WHERE setup NOT IN (SELECT number FROM setup)",
    """DELETE FROM word WHERE number NOT IN (SELECT word FROM setup_word)
       AND number NOT IN (SELECT word FROM run_word)""",
)
"""What no run uses any more."""
BY_START: Final = "coalesce(run.started, 0) DESC, run.path"
"""The newest run first."""
BY_CAMPAIGN: Final = """
run.problem IS NOT NULL,
max(coalesce(run.started, 0)) OVER (PARTITION BY run.folder) DESC,
run.folder, coalesce(run.started, 0), run.path
"""
"""The newest campaign first, within it the oldest run; unreadable files last."""
VALUES: Final = {
    Part.SETUP: """
        SELECT word.value, sum(held.runs) FROM word JOIN setup_word ON setup_word.word = word.number
        JOIN (SELECT setup, count(*) AS runs FROM run WHERE {visible} GROUP BY setup) AS held
        ON held.setup = setup_word.setup WHERE word.field = ? GROUP BY word.number""",
    Part.RUN: """
        SELECT word.value, count(*) FROM word JOIN run_word ON run_word.word = word.number
        JOIN run ON run.number = run_word.run WHERE {visible} AND word.field = ? GROUP BY word.number""",
}
"""Values of a field with their number of runs."""

SPARK_TYPE: Final = "f"
_BUSY_S: Final = 2
_LARGEST: Final = 2**63
_READERS: Final = (
    "domain/disturbances.py",
    "domain/run.py",
    "library/entries.py",
    "library/index.py",
    "library/query.py",
    "library/scan.py",
    "postgres/settings.py",
    "probes/facts/files.py",
    "runfile/bounds.py",
    "runfile/disturbance.py",
    "runfile/metadata/environment.py",
    "runfile/metadata/run_metadata.py",
    "runfile/metadata/typed_json.py",
    "runfile/reader.py",
    "runfile/summary.py",
    "runfile/writer.py",
)
_MADE_ANEW: Final = frozenset({sqlite3.SQLITE_ERROR, sqlite3.SQLITE_SCHEMA})
_DAMAGED: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class ListedRun:
    """A run in the library panel.

    Attributes:
        entry: of the library.
        spark: TPS over the measured phase in a few means; empty if there are none.
    """

    entry: LibraryEntry
    spark: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Read:
    """A run as it was read from its file.

    Attributes:
        run: what the file says.
        signature: of the file when it was read.
        inside: whether it is in the library's folder.
    """

    run: ListedRun
    signature: str = ""
    inside: bool = True


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

    The version alone would not do: in a checkout the code changes without a new version. The days of runs
    depend on the time zone.
    """
    names = ",".join((VERSION, *time.tzname, *(field.name for field in fields(LibraryEntry))))
    code = zlib.crc32(names.encode())
    for name in _READERS:
        with suppress(OSError):
            code = zlib.crc32((TOP / "app" / name).read_bytes(), code)
    return code & 0x7FFFFFFF


class LibraryIndex:
    """One index.

    Attributes:
        path: of its file; None while it is in memory.
        outside: run files outside the library that this process lists as well.
        generation: changes when the index was lost and is empty again.
        refill: fills an index that was lost; None if that is left to the next scan.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self.outside: tuple[Path, ...] = ()
        self.generation = 0
        self.refill: Callable[[], None] | None = None
        self._connection: sqlite3.Connection | None = None
        self._lock = threading.RLock()
        self._untidy = False
        self._end: weakref.finalize[[], LibraryIndex] | None = None

    # What it contains

    def runs(
        self, terms: Sequence[Term] = (), order: str = BY_CAMPAIGN, limit: int = -1, offset: int = 0
    ) -> list[ListedRun]:
        """Return the runs that match a query.

        Args:
            terms: of the query.
            order: `BY_START` or `BY_CAMPAIGN`.
            limit: maximum number of runs; negative for all.
            offset: number of runs to skip.
        """
        where = self._where(compile_query(terms))
        sql = f"SELECT {', '.join(_SHOWN)} {_FROM} WHERE {where.sql} ORDER BY {order} LIMIT ? OFFSET ?"
        values = (*where.values, limit, offset)
        return self._work(lambda db: [_listed(row) for row in db.execute(sql, values).fetchall()])

    def version(self) -> tuple[int, ...]:
        """Return a value that changes when the index changes, also by another process."""

        def work(db: sqlite3.Connection) -> tuple[int, ...]:
            return db.execute("PRAGMA data_version").fetchone()[0], db.total_changes

        return (self.generation, *self._work(work))

    def run_at(self, path: str) -> ListedRun | None:
        """Return the run of a file."""
        sql = f"SELECT {', '.join(_SHOWN)} {_FROM} WHERE run.path = ?"
        found = self._work(lambda db: db.execute(sql, (os.fsencode(path),)).fetchone())
        return None if found is None else _listed(found)

    def paths(self, terms: Sequence[Term]) -> set[str]:
        """Return the paths of the runs that match a query."""
        where = self._where(compile_query(terms))
        return {
            os.fsdecode(path)
            for (path,) in self._rows(f"SELECT path FROM run WHERE {where.sql}", where.values)
        }

    def count(self, terms: Sequence[Term] = ()) -> int:
        """Return the number of runs that match a query."""
        where = self._where(compile_query(terms))
        return int(self._rows(f"SELECT count(*) FROM run WHERE {where.sql}", where.values)[0][0])

    def has(self, condition: Condition = EVERY) -> bool:
        """Return whether a run matches a condition."""
        where = self._where(condition)
        return bool(self._rows(f"SELECT 1 FROM run WHERE {where.sql} LIMIT 1", where.values))

    def with_id(self, start: str) -> list[ListedRun]:
        """Return the runs whose id begins with a text."""
        where = self._where(Condition("substr(run.id, 1, ?) = ?", (len(start), _text(start))))
        sql = f"SELECT {', '.join(_SHOWN)} {_FROM} WHERE {where.sql} ORDER BY {BY_START}"
        return self._work(lambda db: [_listed(row) for row in db.execute(sql, where.values).fetchall()])

    def count_values(self, field: QueryField) -> list[tuple[str, int]]:
        """Return the values of a field and their number of runs, the most frequent first."""
        visible = self._visible()
        if field.id in FIELDS:
            sql = VALUES[field.part].format(visible=visible.sql)
            found = self._rows(sql, (*visible.values, field.id))
        else:
            found = self._count_settings(field.id)
        return sorted(((value, int(runs)) for value, runs in found), key=lambda each: (-each[1], each[0]))

    def _count_settings(self, name: str) -> list[tuple[str, int]]:
        counts: dict[str, int] = {}
        for each in (FIELDS["workload"], FIELDS["option"]):
            for word, runs in self.count_values(each):
                key, equals, value = word.partition("=")
                if key.casefold() == name:
                    counts[value if equals else "on"] = counts.get(value if equals else "on", 0) + runs
        return list(counts.items())

    def setting_names(self) -> set[str]:
        """Return the names of all keys, options and settings."""
        sql = "SELECT DISTINCT value FROM word WHERE field IN ('option', 'workload')"
        return {value.partition("=")[0] for (value,) in self._rows(sql)}

    def repeats(self) -> list[tuple[str, str, str, float]]:
        """Return target, folder, configuration and TPS of the finished runs at no fixed rate."""
        sql = f"""
            SELECT setup.target, run.folder, setup.configuration, run.tps {_FROM}
            WHERE run.state = 'done' AND run.tps > 0
            AND setup.target IS NOT NULL AND setup.configuration <> ''
            AND run.setup NOT IN (SELECT setup FROM setup_word JOIN word ON word.number = setup_word.word
                                  WHERE word.field = 'workload' AND substr(word.value, 1, 5) = 'rate=')
            ORDER BY run.number
        """
        rows = self._rows(sql)
        return [(target, os.fsdecode(folder), name, tps) for target, folder, name, tps in rows]

    # What scans change

    def known_in(self, folder: str) -> dict[str, tuple[str, str]]:
        """Return signature and state of the runs of a folder, by path."""
        rows = self._rows("SELECT path, signature, state FROM run WHERE folder = ?", (os.fsencode(folder),))
        return {os.fsdecode(path): (signature, state) for path, signature, state in rows}

    def folders(self) -> set[str]:
        """Return the folders with runs of the library."""
        return {
            os.fsdecode(folder)
            for (folder,) in self._rows("SELECT DISTINCT folder FROM run WHERE inside = 1")
        }

    def outside_paths(self) -> list[str]:
        """Return all runs outside the library that any process has listed."""
        return [os.fsdecode(path) for (path,) in self._rows("SELECT path FROM run WHERE inside = 0")]

    def put(self, runs: Sequence[Read]) -> None:
        """Add runs, or replace what is known of their files."""
        if runs:
            self._untidy = self._work(lambda db: _put_all(db, runs)) or self._untidy

    def delete(self, paths: Iterable[str]) -> None:
        """Delete runs."""
        gone = [(os.fsencode(path),) for path in paths]
        if gone:
            self._work(lambda db: _delete_all(db, gone))
            self._untidy = True

    def tidy(self) -> None:
        """Delete what no run uses any more, if this process has changed or deleted a run."""
        if not self._untidy:
            return

        def work(db: sqlite3.Connection) -> None:
            with _transaction(db):
                for statement in UNUSED:
                    db.execute(statement)

        self._work(work)
        self._untidy = False

    # The database

    def _visible(self) -> Condition:
        """Return the condition that a run is listed by this process."""
        marks = ", ".join("?" * len(self.outside))
        return Condition(f"(run.inside = 1 OR run.path IN ({marks}))", tuple(map(os.fsencode, self.outside)))

    def _where(self, condition: Condition) -> Condition:
        found = self._visible().and_also(condition)
        return Condition(
            found.sql, tuple(_text(each) if isinstance(each, str) else each for each in found.values)
        )

    def _rows(self, sql: str, values: Sequence[object] = ()) -> list[tuple]:  # type: ignore[type-arg]
        return self._work(lambda db: db.execute(sql, values).fetchall())

    def _work(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        """Do work; if the index is damaged or cannot be used, with an empty one."""
        with self._lock:
            for attempt in range(3):
                try:
                    return work(self._open())
                except (sqlite3.Error, OSError, ValueError, TypeError) as error:
                    self._recover(getattr(error, "sqlite_errorcode", None), attempt)
                    self._fill()
            return work(self._open())

    def _fill(self) -> None:
        refill, self.refill = self.refill, None  # while it is filled, nothing fills it
        if refill is not None:
            try:
                refill()
            finally:
                self.refill = refill

    def _recover(self, code: int | None, attempt: int) -> None:
        """Close the index; delete it if it is damaged, else continue in memory.

        Another version of the program may have made the tables again, so they are looked for once more first.
        """
        self.close()
        self.generation += 1
        again = code is not None and code & 0xFF in _MADE_ANEW and attempt == 0
        if self.path is None or again:
            return
        damaged = code is None or code & 0xFF in _DAMAGED | _MADE_ANEW
        try:
            if not damaged or attempt == 2:
                raise PermissionError
            self.path.unlink(missing_ok=True)
        except OSError:
            self.path = None

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            if self.path is not None:
                self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            name = self.path or ":memory:"
            found = sqlite3.connect(name, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
            try:
                found.execute("PRAGMA synchronous=OFF")
                _make(found)
            except BaseException:
                found.close()
                raise
            self._connection = found
            self._end = weakref.finalize(self, found.close)
        return self._connection

    def close(self) -> None:
        """Close the file; it is opened again when it is needed."""
        with self._lock:
            self._connection = None
            if self._end is not None:
                self._end()


@contextmanager
def _transaction(db: sqlite3.Connection) -> Iterator[None]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        db.rollback()
        raise
    db.commit()


def _make(db: sqlite3.Connection) -> None:
    """Create the tables, unless they are there; those of another version are dropped."""
    wanted = index_format()
    if db.execute("PRAGMA user_version").fetchone()[0] == wanted:
        return
    with _transaction(db):
        if db.execute("PRAGMA user_version").fetchone()[0] == wanted:  # by another process meanwhile
            return
        db.execute("DROP TABLE IF EXISTS run_text")  # with its own tables
        for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            db.execute(f'DROP TABLE "{name}"')
        for statement in filter(str.strip, _SCHEMA.split(";")):
            db.execute(statement)
        db.execute(f"PRAGMA user_version = {wanted}")


def _text(text: str) -> str:
    """Return a text that can be stored: a run file from elsewhere may have half characters."""
    return text.encode("utf-8", "replace").decode()


def _stored(name: str, value: object) -> object:
    if name in _LISTS:
        return json.dumps(value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int) and not -_LARGEST <= value < _LARGEST:
        return None
    return value


def _words(entry: LibraryEntry, part: Part) -> list[tuple[str, str, str]]:
    found = (
        (each.id, _text(value))
        for each in FIELDS.values()
        if each.part is part
        for value in each.values(entry)
    )
    return [(field, value, value.casefold()) for field, value in found]


def _put_all(db: sqlite3.Connection, runs: Sequence[Read]) -> bool:
    """Store runs; return whether one has another setup than before."""
    with _transaction(db):
        moved = [_put(db, each) for each in runs]
        return any(moved)


def _put(db: sqlite3.Connection, read: Read) -> bool:
    entry = read.run.entry
    path, setup = os.fsencode(entry.path), _put_setup(db, entry)
    before = db.execute("SELECT setup FROM run WHERE path = ?", (path,)).fetchone()
    own = (_stored(name, getattr(entry, name)) for name in _OWN)
    values = (
        path,
        path.rpartition(b"/")[0],
        int(read.inside),
        read.signature,
        setup,
        *own,
        array(SPARK_TYPE, read.run.spark).tobytes(),
    )
    db.execute(PUT_RUN, values)
    (number,) = db.execute("SELECT number FROM run WHERE path = ?", (path,)).fetchone()
    db.execute("DELETE FROM run_word WHERE run = ?", (number,))
    db.execute("DELETE FROM run_text WHERE rowid = ?", (number,))
    words = _words(entry, Part.RUN)
    db.executemany(PUT_WORD, words)
    db.executemany(PUT_RUN_WORD, [(number, field, value) for field, value, _ in words])
    db.execute("INSERT INTO run_text (rowid, text) VALUES (?, ?)", (number, _text(own_text(entry))))
    return before not in {None, (setup,)}


def _put_setup(db: sqlite3.Connection, entry: LibraryEntry) -> int:
    """Return the number of a setup, stored once."""
    values = tuple(_stored(name, getattr(entry, name)) for name in _SETUP)
    digest = hashlib.sha256(json.dumps(values).encode()).hexdigest()
    known = db.execute("SELECT number FROM setup WHERE digest = ?", (digest,)).fetchone()
    if known is not None:
        return int(known[0])
    number = db.execute(PUT_SETUP, (digest, *values)).lastrowid
    words = _words(entry, Part.SETUP)
    db.executemany(PUT_WORD, words)
    db.executemany(PUT_SETUP_WORD, [(number, field, value) for field, value, _ in words])
    return int(number or 0)


def _delete_all(db: sqlite3.Connection, paths: Sequence[tuple[bytes]]) -> None:
    number = "(SELECT number FROM run WHERE path = ?)"
    with _transaction(db):
        db.executemany(f"DELETE FROM run_word WHERE run = {number}", paths)
        db.executemany(f"DELETE FROM run_text WHERE rowid = {number}", paths)
        db.executemany("DELETE FROM run WHERE path = ?", paths)


@lru_cache(4096)  # repeats share theirs
def _list_of(text: str) -> tuple[str, ...]:
    return tuple(json.loads(text))


def _listed(row: Sequence[object]) -> ListedRun:
    path, *values, spark = row
    found = dict(zip((*_OWN, *_SETUP), values, strict=True))
    found |= {name: _list_of(str(found[name])) for name in _LISTS}
    line = array(SPARK_TYPE)
    line.frombytes(bytes(spark))  # type: ignore[call-overload]
    return ListedRun(LibraryEntry(path=os.fsdecode(path), **found), tuple(line))  # type: ignore[arg-type]
