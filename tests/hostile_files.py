"""Run files that somebody made to hang, fill, crash or fool who reads them, from a good one."""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

FOREVER: Final = (
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT 'unsafe', printf('%.*c', 9999, x)"
    " FROM c"
)
LONG: Final = 20_000_000


def script(*statements: str) -> Callable[[Path], None]:
    """Return what runs SQL on a file."""

    def change(path: Path) -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            for statement in statements:
                connection.execute(statement)

    return change


def value_of_run(key: str, value: object) -> Callable[[Path], None]:
    """Return what sets a key of table `run`."""

    def change(path: Path) -> None:
        with closing(sqlite3.connect(path)) as connection, connection:
            text = value if isinstance(value, str) else json.dumps(value)
            connection.execute("INSERT OR REPLACE INTO run VALUES (?, ?)", (key, text))

    return change


def schema_text(name: str, old: str, new: str) -> Callable[[Path], None]:
    """Return what changes the SQL of an object in place, as no statement could."""
    return script(
        "PRAGMA writable_schema = ON",
        f"UPDATE sqlite_schema SET sql = replace(sql, {_quoted(old)}, {_quoted(new)}) WHERE name = '{name}'",
    )


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _beside(suffix: str, make: Callable[[Path], object]) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        make(path.with_name(path.name + suffix))

    return change


def _instead(make: Callable[[Path], object]) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        path.unlink()
        make(path)

    return change


def _page_number(path: Path, table: str) -> int:
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,)).fetchone()
    return int(found[0])


def same_page_everywhere(table: str, levels: int = 12) -> Callable[[Path], None]:
    """Return what makes a table a tree whose interior pages all lead to the same page: 400 ** levels rows.

    Page types and cells from SQLite's "Database File Format", section 1.6.
    """

    def change(path: Path) -> None:
        root, size, cells = _page_number(path, table), 4096, 300
        content = bytearray(path.read_bytes())
        old_root = content[(root - 1) * size : root * size]
        content += old_root
        for level in range(levels):
            child = (len(content) // size).to_bytes(4, "big")
            page = bytearray(size)
            page[:12] = b"\x05\0\0" + cells.to_bytes(2, "big") + (size - 5).to_bytes(2, "big") + b"\0" + child
            page[12 : 12 + 2 * cells] = (size - 5).to_bytes(2, "big") * cells
            page[size - 5 :] = child + b"\x01"
            if level < levels - 1:
                content += page
            else:
                content[(root - 1) * size : root * size] = page
        content[28:32] = (len(content) // size).to_bytes(4, "big")
        path.write_bytes(content)

    return change


def _cut_pages(path: Path) -> None:
    content = bytearray(path.read_bytes())
    for begin in range(4096, len(content), 4096):
        content[begin : begin + 512] = b"\xa5" * 512
    path.write_bytes(content)


def _wal_of_another(path: Path) -> None:
    """Put a journal beside the file in which its table is a view."""
    other = path.with_name("other.db")
    shutil.copyfile(path, other)
    with closing(sqlite3.connect(other, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL").fetchall()
        connection.execute("PRAGMA wal_autocheckpoint = 0").fetchall()
        connection.execute("DROP TABLE mark")
        connection.execute(f"CREATE VIEW mark(kind, reason) AS {FOREVER}")
        shutil.copyfile(other.with_name("other.db-wal"), path.with_name(path.name + "-wal"))
        shutil.copyfile(other, path)
    other.unlink()


_DEEP: Final = "[" * 200_000 + "]" * 200_000
_HUGE: Final = json.dumps("x" * LONG)

REFUSED: Final[dict[str, Callable[[Path], None]]] = {
    "a view that never ends instead of a table": script("DROP TABLE mark", f"CREATE VIEW mark AS {FOREVER}"),
    "a view instead of the runs": script(
        "ALTER TABLE run RENAME TO other", "CREATE VIEW run AS SELECT * FROM other"
    ),
    "another view samples": script("DROP VIEW samples", f"CREATE VIEW samples AS {FOREVER}"),
    "one view more": script("CREATE VIEW more AS SELECT 1"),
    "one table more": script("CREATE TABLE more (a)"),
    "one index more": script("CREATE INDEX more ON event (kind)"),
    "an index on an expression": script("CREATE INDEX more ON event (length(message))"),
    "a table of statistics": script("ANALYZE"),
    "a trigger": script("CREATE TRIGGER t AFTER INSERT ON run BEGIN DELETE FROM summary; END"),
    "a virtual table": script("CREATE VIRTUAL TABLE found USING fts5(text)"),
    "a table less": script("DROP TABLE summary"),
    "a table without its rowids": script(
        "DROP TABLE histogram",
        "CREATE TABLE histogram (t_ms INTEGER PRIMARY KEY, transactions, latency_sum_us, skipped, failed,"
        " partial, buckets) WITHOUT ROWID",
    ),
    "a generated column": script(
        "DROP TABLE mark",
        "CREATE TABLE mark (kind TEXT, reason TEXT AS (printf('%.*c', 100000000, 'x')),"
        " PRIMARY KEY (kind)) WITHOUT ROWID",
        "INSERT INTO mark (kind) VALUES ('unsafe')",
    ),
    "a column more": script("ALTER TABLE event ADD COLUMN more TEXT"),
    "a column under another name": script("ALTER TABLE event RENAME COLUMN kind TO what"),
    "a default that computes": schema_text("event", "'{}'", "(zeroblob(1000000000))"),
    "a check that computes": schema_text("mark", "kind TEXT NOT NULL", "kind TEXT CHECK (random())"),
    "the table twice": script(
        "PRAGMA writable_schema = ON",
        "INSERT INTO sqlite_schema SELECT * FROM sqlite_schema WHERE name = 'mark'",
    ),
    "an object without SQL": script(
        "PRAGMA writable_schema = ON",
        "INSERT INTO sqlite_schema VALUES ('view', 'more', 'more', 0, NULL)",
    ),
    "format 0": script("PRAGMA user_version = 0"),
    "format -1": script("PRAGMA user_version = -1"),
    "a journal that makes a view of a table": _wal_of_another,
    "a FIFO as file": _instead(os.mkfifo),
    "a link to a device": _instead(lambda path: path.symlink_to("/dev/zero")),
    "a link to itself": _instead(lambda path: path.symlink_to(path)),
    "a link to nothing": _instead(lambda path: path.symlink_to("/nowhere/at.all")),
    "a folder": _instead(Path.mkdir),
    "a FIFO as journal": _beside("-journal", os.mkfifo),
    "a FIFO as write-ahead log": _beside("-wal", os.mkfifo),
    "a FIFO as its index": _beside("-shm", os.mkfifo),
    "a link as journal": _beside("-journal", lambda path: path.symlink_to("/etc/passwd")),
    "an empty file": _instead(Path.touch),
    "a text": _instead(lambda path: path.write_text("no run file " * 100)),
}
"""What is refused before anything of it is read."""

DAMAGED: Final[dict[str, Callable[[Path], None]]] = {
    "deep lists": value_of_run("target", _DEEP),
    "deep objects": value_of_run("workload", '{"a":' * 900 + "1" + "}" * 900),
    "a name of 20 MB": value_of_run("name", _HUGE),
    "a configuration of 20 MB": value_of_run("configuration", _HUGE),
    "a value of 20 MB": value_of_run("note", _HUGE),
    "no JSON": value_of_run("target", "{"),
    "JSON of another encoding": script("UPDATE run SET value = CAST(x'22ff22' AS TEXT) WHERE key = 'name'"),
    "a binary name": script("UPDATE run SET value = x'00ff' WHERE key = 'name'"),
    "a key of 20 MB": script(f"INSERT INTO run VALUES (printf('%.*c', {LONG}, 'x'), '1')"),
    "an unknown state": value_of_run("state", "gone"),
    "no state": script("DELETE FROM run"),
    "a mark of 20 MB": script(f"INSERT INTO mark VALUES ('unsafe', printf('%.*c', {LONG}, 'x'))"),
    "a binary mark": script(f"INSERT INTO mark VALUES ('unsafe', zeroblob({LONG}))"),
    "facts that are deep": script(f"INSERT INTO fact VALUES ('before', 'deep', '{'[' * 5000 + ']' * 5000}')"),
    "a figure in words": script("UPDATE summary SET value = 'many'"),
    "a binary figure": script("UPDATE summary SET value = zeroblob(100)"),
    "damaged pages": _cut_pages,
}
"""What is refused by whoever lists it."""

INSIDE: Final[dict[str, Callable[[Path], None]]] = {
    "a metric of 20 MB": script(f"UPDATE series SET metric = printf('%.*c', {LONG}, 'x') WHERE id = 1"),
    "a unit of 20 MB": script(f"UPDATE series SET unit = printf('%.*c', {LONG}, 'x') WHERE id = 1"),
    "samples in words": script("UPDATE sample SET value = 'fast'"),
    "binary samples": script("UPDATE sample SET value = zeroblob(4000000) WHERE t_ms < 4000"),
    "a binary moment": script("UPDATE OR REPLACE sample SET t_ms = zeroblob(40)"),
    "histograms in words": script("UPDATE histogram SET buckets = 'none'"),
    "histograms of zeros": script("UPDATE histogram SET buckets = zeroblob(900000)"),
    "a long event": script("UPDATE event SET message = printf('%.*c', 900000, 'x')"),
    "an event's data in a list": script("UPDATE event SET data = '[1]'"),
    "a command in words": script("UPDATE command SET argv = '\"initdb\"'"),
    "phases of 300 ** 12 rows": same_page_everywhere("phase"),
    "a histogram of 300 ** 12 rows": same_page_everywhere("histogram"),
    "events of 300 ** 12 rows": same_page_everywhere("event"),
}
"""What the list may not see, and whoever exports or compares does."""

STRANGE_VALUES: Final[tuple[str, ...]] = (
    "null",
    "true",
    "-1",
    "1e999",
    "NaN",
    "-Infinity",
    "9" * 400,
    "9" * 5000,
    "[]",
    "{}",
    '""',
    '"\\ud800"',
    '"\\u0000\\u001b[2J"',
    '[{"a": [null, 1e308]}]',
    '{"kind": 5, "version": [], "clients": "x", "duration_s": 1e308, "path": {}, "raid": []}',
)
STRANGE_NUMBERS: Final = (
    "0",
    "-1",
    "1e308",
    "-1e308",
    "9e999",
    "9223372036854775807",
    "-9223372036854775808",
)

_TABLES: Final = {
    "phase": ("started_ms", "ended_ms"),
    "event": ("t_ms",),
    "command": ("started_ms", "duration_ms", "exit_code"),
    "sample": ("t_ms", "value"),
    "tick": ("t_ms", "lateness_us", "missed"),
    "histogram": ("t_ms", "transactions", "latency_sum_us", "skipped", "failed", "partial"),
    "summary": ("value",),
}


def complete(path: Path) -> Path:
    """Give a run of a test what a measured one holds besides: a program, facts, a mark."""
    mount = {"filesystem": "ext4", "options": ["rw"], "source": "/dev/vda1", "mount_point": "/"}
    facts = {"kernel": {"release": "6.1"}, "storage": {"mount": mount}, "memory": {"total_bytes": 1 << 34}}
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "INSERT INTO command (started_ms, duration_ms, account, argv, exit_code, stdout, stderr)"
            " VALUES (1, 2, 'postgres', '[\"initdb\", \"-D\", \"/srv/x\"]', 0, 'ok', '')"
        )
        connection.executemany(
            "INSERT INTO fact VALUES ('before', ?, ?)",
            [(name, json.dumps(value)) for name, value in facts.items()],
        )
        connection.execute("INSERT INTO mark VALUES ('unsafe', 'fsync = off')")
        connection.execute("INSERT INTO unavailable (t_ms, source, reason) VALUES (1, 'smart', 'no right')")
    return path


def mutate(path: Path, draw: random.Random) -> str:
    """Change something at random in a good run file; return what."""
    kind = draw.choice(("value", "number", "byte", "byte", "bytes", "fact", "delete"))
    if kind in {"byte", "bytes"}:
        content = bytearray(path.read_bytes())
        for _ in range(draw.choice((1, 4, 40))):
            content[draw.randrange(100, len(content))] = draw.choice((0, 0x7F, 0xFF, draw.randrange(256)))
        path.write_bytes(content)
        return "bytes"
    with suppress(sqlite3.Error, UnicodeError), closing(sqlite3.connect(path)) as connection, connection:
        if kind in {"value", "fact"}:
            table, column = ("run", "key") if kind == "value" else ("fact", "name")
            names = [row[0] for row in connection.execute(f"SELECT {column} FROM {table} ORDER BY 1")]
            name, value = draw.choice([*names, "more"]), draw.choice(STRANGE_VALUES)
            connection.execute(f"UPDATE {table} SET value = ? WHERE {column} = ?", (value, name))
            return f"{table}.{name} = {value[:40]}"
        table = draw.choice(sorted(_TABLES))
        if kind == "delete":
            connection.execute(f"DELETE FROM {table} WHERE abs(random()) % 2")
            return f"some rows of {table} deleted"
        column, number = draw.choice(_TABLES[table]), draw.choice(STRANGE_NUMBERS)
        connection.execute(f"UPDATE OR REPLACE {table} SET {column} = {number}")
        return f"{table}.{column} = {number}"
    return "nothing: it was damaged before"
