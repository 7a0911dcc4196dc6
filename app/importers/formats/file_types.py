"""Recognise a foreign file by its start; its name counts only if the content does not decide."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import StrEnum
from typing import Final

from app.importers.files.members import END_BYTES, ForeignFile, is_packed, unread_kind
from app.importers.formats.outputs import is_output
from app.importers.formats.server_statistics import (
    is_configuration,
    is_pg_config,
    is_server_log,
    is_settings,
    is_statistics,
)
from app.importers.formats.storage_texts import is_results, read_storage
from app.importers.formats.time_tables import is_time_table
from app.importers.formats.transaction_logs import is_transaction_line


class FileType(StrEnum):
    """Type of a file."""

    TRANSACTIONS = "transaction log"
    AGGREGATES = "aggregated log"
    OUTPUT = "output of pgbench"
    STATISTICS = "statistics of the server"
    TIME_TABLE = "table of seconds"
    RESULTS = "table of results"
    SERVER_LOG = "server log"
    SETTINGS = "settings"
    CONFIGURATION = "configuration of the server"
    PG_CONFIG = "pg_config"
    STORAGE = "storage"
    SIZES = "sizes"
    README = "read me"
    ARCHIVE = "archive"
    UNREAD_ARCHIVE = "archive of a kind that is not read"
    RUN_FILE = "run file"
    BINARY = "binary"
    EMPTY = "empty"
    OTHER = "other"


_AGGREGATE: Final = re.compile(rb"\d{9,10}(?: \d+){5}(?:(?: \d+){4,5}|(?: \d+){9})?\n")
_SIZES: Final = re.compile(rb"(?:before|after);\d+")
_FIRST_LINES: Final = 20
"""Lines to check: a log with damaged first lines is still a log."""


def _is_transactions(head: bytes) -> bool:
    return any(map(is_transaction_line, head.splitlines(keepends=True)[:_FIRST_LINES]))


def _is_aggregates(head: bytes) -> bool:
    return any(_AGGREGATE.fullmatch(line) for line in head.splitlines(keepends=True)[:_FIRST_LINES])


def _whole_lines(head: bytes) -> bytes:
    """Return the start of a file without a last line that may be cut."""
    return head if len(head) < END_BYTES else head[: head.rfind(b"\n") + 1]


def _is_storage(head: bytes) -> bool:
    return read_storage(_whole_lines(head).decode("utf-8", "replace")) is not None


def _is_configuration(head: bytes) -> bool:
    return is_configuration(_whole_lines(head))


_TESTS: Final[tuple[tuple[FileType, Callable[[bytes], object]], ...]] = (
    (FileType.TRANSACTIONS, _is_transactions),
    (FileType.AGGREGATES, _is_aggregates),
    (FileType.STATISTICS, is_statistics),
    (FileType.TIME_TABLE, is_time_table),
    (FileType.RESULTS, is_results),
    (FileType.SETTINGS, is_settings),
    (FileType.PG_CONFIG, is_pg_config),
    (FileType.SERVER_LOG, is_server_log),
    (FileType.OUTPUT, is_output),
    (FileType.SIZES, _SIZES.match),
    (FileType.STORAGE, _is_storage),
    (FileType.CONFIGURATION, _is_configuration),
)


def kind_of(member: ForeignFile) -> FileType:
    """Return the type of a file."""
    if not member.size:
        return FileType.EMPTY
    if member.head.startswith(b"SQLite format 3\0"):
        return FileType.RUN_FILE
    if not member.inner and is_packed(member.head):
        return FileType.ARCHIVE
    if unread_kind(member.head) or is_packed(member.head):
        return FileType.UNREAD_ARCHIVE
    return _kind_of_text(member)


def _kind_of_text(member: ForeignFile) -> FileType:
    head = member.head.replace(b"\r\n", b"\n").removeprefix(b"\xef\xbb\xbf")
    kind = next((kind for kind, test in _TESTS if test(head)), FileType.OTHER)
    if kind is FileType.OTHER and b"tps = " in member.tail and is_output(member.tail):
        return FileType.OUTPUT
    if kind is FileType.OTHER and b"\0" in head:
        return FileType.BINARY
    if kind is FileType.OTHER and member.name.lower().startswith("readme"):
        return FileType.README
    return kind
