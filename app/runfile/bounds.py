"""Open an untrusted SQLite file: no statement can use more resources than the file's size justifies.

A table of n bytes has fewer than n rows and less than n bytes of text; a file with circular page links, or a
schema that computes, does not obey that. Each statement gets steps, rows and text in proportion to the size
of the file and its journal, and a deadline; nothing is spilled to the disk.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from app.domain.errors import RunFileError
from app.domain.text import tr

DEADLINE_S: Final = 30.0
"""Time limit of SQLite for one batch of rows; a working disk is far below."""

STEPS: Final = 2_000_000
STEPS_PER_BYTE: Final = 40
"""Instructions of SQLite's machine (https://www.sqlite.org/opcode.html). Real files of an hour, finished or
growing, need fewer than 4 per byte in every statement (tests/unit/runfile/test_bounds.py).
"""

_LEAST_ROW_BYTES: Final = 6
"""A cell of any table has a pointer of two bytes, a length and a header of two bytes or more, and a key."""

_SPARE_BYTES: Final = 1 << 16
"""Possible growth of a file since its size was read: four seconds of it."""

MOST_TEXT_BYTES: Final = 64 << 20
MOST_NUMBER_BYTES: Final = 1 << 20
"""The longest value in statements that return text, and in those that return numbers (or a second of them).
"""

_HANDLER_STEPS: Final = 10_000
_BATCH_ROWS: Final = 256
_LIMITS: Final = {
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_COLUMN: 32,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 4,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 32,
    sqlite3.SQLITE_LIMIT_FUNCTION_ARG: 8,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 64,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 16_384,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 1,
    sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER: 16,
    sqlite3.SQLITE_LIMIT_VDBE_OP: 5_000,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
_PRAGMAS: Final = ("trusted_schema=OFF", "query_only=ON", "temp_store=MEMORY", "cell_size_check=ON")


class TooMuchError(ValueError):
    """The file needs more than its size justifies; the message is a clause."""


def check_regular(path: Path) -> None:
    """Refuse anything but a regular file: opening a FIFO waits for ever. SQLite opens the journals too.

    Raises:
        RunFileError: the file, or one of its journals, is something else or cannot be examined.
    """
    try:
        mode = path.stat().st_mode
    except OSError as error:
        message = tr("{path} cannot be read: {reason}.")
        raise RunFileError(message.format(path=path, reason=error.strerror)) from error
    if not stat.S_ISREG(mode):
        raise RunFileError(f"{path} " + tr("is not a regular file") + ".")
    name = os.path.realpath(path)
    for suffix in ("-wal", "-shm", "-journal"):
        with suppress(FileNotFoundError, NotADirectoryError):
            if not stat.S_ISREG(os.lstat(name + suffix).st_mode):
                raise RunFileError(f"{name}{suffix} " + tr("is not a regular file") + ".")


class BoundedConnection:
    """One connection, for reading. Belongs to one thread.

    Attributes:
        connection: SQLite's own; a statement that bypasses `rows` has the bounds of the one before.
    """

    def __init__(self, path: Path, flags: str, *, grows: bool = True) -> None:
        """Open a file.

        Args:
            path: of a regular file.
            flags: of SQLite's URI, such as mode=ro.
            grows: its size may change while it is open.

        Raises:
            sqlite3.Error: it is not a database, or cannot be opened.
        """
        self._name = os.path.realpath(path)
        self._grows = grows
        self._size_bytes = self._text_left = self._steps_left = 0
        self._deadline_s = 0.0
        self._stopped = ""
        self.connection = sqlite3.connect(
            f"file:{quote(os.fsencode(self._name))}?{flags}", uri=True, timeout=5, isolation_level=None
        )
        try:
            for limit, most in _LIMITS.items():
                self.connection.setlimit(limit, most)
            self.connection.text_factory = self._text
            self.connection.set_progress_handler(self._progress, _HANDLER_STEPS)
            self._renew(MOST_TEXT_BYTES)
            for pragma in _PRAGMAS:
                self.connection.execute(f"PRAGMA {pragma}")
        except BaseException:  # damaged
            self.connection.close()
            raise

    def rows(
        self,
        statement: str,
        values: Sequence[object] = (),
        *,
        longest: int = MOST_TEXT_BYTES,
        most_text: int | None = None,
    ) -> Iterator[list[tuple[Any, ...]]]:
        """Yield the rows of a statement in batches.

        Args:
            statement: SQL.
            values: for its placeholders.
            longest: limit of one value, bytes.
            most_text: limit of all text, bytes; never more than the file has.

        Raises:
            TooMuchError: it needs more than a file of this size justifies.
            sqlite3.Error: the file is damaged.
        """
        size_bytes = self._renew(longest)
        text_left = min(size_bytes, size_bytes if most_text is None else most_text)
        steps_left = STEPS + STEPS_PER_BYTE * size_bytes
        rows_left = size_bytes // _LEAST_ROW_BYTES
        cursor = None
        while True:
            # Another statement may have run since the last batch: restore the bounds of this one.
            self._text_left, self._steps_left, self._stopped = text_left, steps_left, ""
            self._deadline_s = time.monotonic() + DEADLINE_S
            try:
                if cursor is None:
                    cursor = self.connection.execute(statement, tuple(values))
                batch = cursor.fetchmany(_BATCH_ROWS)
            except sqlite3.OperationalError as error:
                if self._stopped:
                    raise TooMuchError(self._stopped) from error
                raise
            text_left, steps_left = self._text_left, self._steps_left
            rows_left -= len(batch)
            if rows_left < 0:
                raise TooMuchError(tr("it claims to hold more data than fits in a file of its size"))
            yield batch
            if len(batch) < _BATCH_ROWS:
                return

    def close(self) -> None:
        """Close the file."""
        self.connection.close()

    def _renew(self, longest: int) -> int:
        """Set the bounds of the next statement; return the size of the file."""
        if self._grows or not self._size_bytes:
            self._size_bytes = _SPARE_BYTES
            for name in (self._name, self._name + "-wal"):
                with suppress(OSError):
                    self._size_bytes += os.stat(name).st_size  # noqa: PTH116 - often, also in a live page
        size_bytes = self._size_bytes
        self._text_left, self._steps_left = size_bytes, STEPS + STEPS_PER_BYTE * size_bytes
        self._deadline_s, self._stopped = time.monotonic() + DEADLINE_S, ""
        self.connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, min(longest, size_bytes))
        return size_bytes

    def _progress(self) -> bool:
        """Called by SQLite every `_HANDLER_STEPS` steps; True stops the statement."""
        self._steps_left -= _HANDLER_STEPS
        if self._steps_left < 0:
            self._stopped = tr("reading it takes more steps than any valid file of its size")
        elif time.monotonic() > self._deadline_s:
            self._stopped = tr("it could not be read within {s:.0f} s").format(s=DEADLINE_S)
        return bool(self._stopped)

    def _text(self, raw: bytes) -> str:
        """Called by Python's sqlite3 module for every text."""
        self._text_left -= len(raw)
        if self._text_left < 0:
            raise TooMuchError(tr("it claims to hold more data than fits in a file of its size"))
        return raw.decode()
