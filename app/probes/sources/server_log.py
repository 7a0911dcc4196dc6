"""Events from the server's log: checkpoints, autovacuum, warnings, errors and crashes.

Our own server writes the log with ``log_line_prefix = '%n [%p] '`` (epoch with milliseconds, pid) and
``lc_messages = C``. tests/data/server_log has the wordings of 13 to 18; values are found by their names, so
versions may add some (LSNs in 16, SLRU buffers in 18).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import IO, Final

TEXT_LIMIT: Final = 2000
CHUNK_BYTES: Final = 65536
MOST_BYTES_A_POLL: Final = 4 * 1024**2
LONGEST_LINE: Final = 65536


class ServerEventKind(StrEnum):
    """Kinds of events."""

    CHECKPOINT_START = "checkpoint-start"
    CHECKPOINT_COMPLETE = "checkpoint-complete"
    CHECKPOINTS_TOO_FREQUENT = "checkpoints-too-frequent"
    AUTOVACUUM = "autovacuum"
    AUTOANALYZE = "autoanalyze"
    CRASH = "crash"
    WARNING = "warning"
    ERROR = "error"
    FATAL = "fatal"
    PANIC = "panic"


Value = float | str


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event of the server.

    Attributes:
        kind: of event.
        epoch_s: wall clock time of the log line.
        pid: process that wrote it.
        text: the server's message, with detail, hint and statement if it has them.
        values: its numbers and names; units are in the keys.
    """

    kind: ServerEventKind
    epoch_s: float
    pid: int
    text: str
    values: Mapping[str, Value] = field(default_factory=dict)


_LINE: Final = re.compile(r"(\d{9,11}\.\d{3}) \[(\d+)\] ([A-Z]+\d?):  (.*)")
_SEVERITIES: Final = {
    "WARNING": ServerEventKind.WARNING,
    "ERROR": ServerEventKind.ERROR,
    "FATAL": ServerEventKind.FATAL,
    "PANIC": ServerEventKind.PANIC,
}
_MESSAGES: Final = frozenset({"LOG", "INFO", "NOTICE", *_SEVERITIES})
_STARTING: Final = re.compile(r"(?:checkpoint|restartpoint) starting:(.*)")
_COMPLETE: Final = re.compile(r"(?:checkpoint|restartpoint) complete:")
_TOO_FREQUENT: Final = re.compile(r"checkpoints are occurring too frequently \((\d+) seconds? apart\)")
_AUTOMATIC: Final = re.compile(
    r"automatic (?P<aggressive>aggressive )?(?P<work>vacuum|analyze) (?P<wraparound>to prevent wraparound )?"
    r'of table "(?P<table>.*?)"(?:: index scans: (?P<index_scans>\d+))?'
)
_USAGE: Final = re.compile(
    r"system usage: CPU: user: (\d+\.\d+) s, system: (\d+\.\d+) s, elapsed: (\d+\.\d+) s"
)
_CRASH: Final = re.compile(r".* \(PID \d+\) was terminated by signal \d+|all server processes terminated;")
_COUNTS: Final = (
    ("buffers", re.compile(r"wrote (\d+) buffers")),
    ("slru_buffers", re.compile(r"wrote (\d+) SLRU buffers")),
    ("wal_files_added", re.compile(r"(\d+) WAL file\(s\) added")),
    ("wal_files_removed", re.compile(r"(\d+) removed")),
    ("wal_files_recycled", re.compile(r"(\d+) recycled")),
    ("sync_files", re.compile(r"sync files=(\d+)")),
)
_TIMES: Final = tuple(
    (f"{name}_s", re.compile(rf"\b{name}=(\d+\.\d+) s"))
    for name in ("write", "sync", "total", "longest", "average")
)
_SIZES: Final = tuple(
    (f"{name}_bytes", re.compile(rf"\b{name}=(\d+) kB")) for name in ("distance", "estimate")
)
_HARMLESS: Final = frozenset({"the database system is starting up", "connection to client lost"})
"""Messages provoked by our own clients: one that waits for the start, and a probe that is cancelled at the
end of a run while a busy server answers it. Losing pgbench, the only other client, fails the run anyway.
"""


@dataclass(slots=True)
class _Record:
    """A message with all its lines."""

    epoch_s: float
    pid: int
    severity: str
    message: str
    more: list[str]


class RecordReader:
    """Joins lines to messages and returns their events.

    A message is complete when the next one begins, because its other lines (lines that begin with a tab,
    DETAIL, HINT, STATEMENT ... of the same process) follow at once.
    """

    def __init__(self) -> None:
        self._record: _Record | None = None

    def feed(self, lines: Iterable[str]) -> list[ServerEvent]:
        """Add lines without their line ends; return the events that became complete."""
        events: list[ServerEvent] = []
        for line in lines:
            match = _LINE.fullmatch(line)
            if match is None:
                if self._record is not None:
                    self._record.more.append(line.strip())
            elif match[3] in _MESSAGES:
                events += self.flush()
                self._record = _Record(float(match[1]), int(match[2]), match[3], match[4], [])
            elif self._record is not None and self._record.pid == int(match[2]):
                self._record.more.append(f"{match[3]}:  {match[4]}")
        return events

    def flush(self) -> list[ServerEvent]:
        """Return the event of the last message; call it at the end of the log."""
        record, self._record = self._record, None
        event = None if record is None else _event(record)
        return [] if event is None else [event]


def _event(record: _Record) -> ServerEvent | None:
    kind: ServerEventKind | None
    values: dict[str, Value]
    if record.severity in _SEVERITIES:
        kind, values = _SEVERITIES[record.severity], {}
        if record.message in _HARMLESS:
            kind = None
    else:
        kind, values = _log_event(record)
    if kind is None:
        return None
    text = "\n".join((record.message, *record.more))[:TEXT_LIMIT]
    return ServerEvent(kind, record.epoch_s, record.pid, text, values)


def _log_event(record: _Record) -> tuple[ServerEventKind | None, dict[str, Value]]:
    """Return kind and values of a message of severity LOG; no kind for uninteresting ones."""
    message = record.message
    if match := _STARTING.match(message):
        return ServerEventKind.CHECKPOINT_START, {"cause": match[1].strip()}
    if _COMPLETE.match(message):
        return ServerEventKind.CHECKPOINT_COMPLETE, checkpoint_values(message)
    if match := _TOO_FREQUENT.match(message):
        return ServerEventKind.CHECKPOINTS_TOO_FREQUENT, {"apart_s": int(match[1])}
    if match := _AUTOMATIC.match(message):
        return _autovacuum(match, " ".join((message, *record.more)))
    if _CRASH.match(message):
        return ServerEventKind.CRASH, {}
    return None, {}


def checkpoint_values(message: str) -> dict[str, Value]:
    """Return the numbers of a "checkpoint complete" message: counts, seconds, bytes."""
    values: dict[str, Value] = {}
    for name, pattern in _COUNTS:
        if match := pattern.search(message):
            values[name] = int(match[1])
    for name, pattern in _TIMES:
        if match := pattern.search(message):
            values[name] = float(match[1])
    for name, pattern in _SIZES:
        if match := pattern.search(message):
            values[name] = int(match[1]) * 1024
    return values


def _autovacuum(match: re.Match[str], text: str) -> tuple[ServerEventKind, dict[str, Value]]:
    values: dict[str, Value] = {"table": match["table"]}
    if match["index_scans"]:
        values["index_scans"] = int(match["index_scans"])
    if match["aggressive"] or match["wraparound"]:
        values["aggressive"] = 1
    if usage := _USAGE.search(text):
        values |= {
            "user_s": float(usage[1]),
            "system_s": float(usage[2]),
            "elapsed_s": float(usage[3]),
        }
    kind = ServerEventKind.AUTOVACUUM if match["work"] == "vacuum" else ServerEventKind.AUTOANALYZE
    return kind, values


# --- The log while it is written.


OpenLog = Callable[[], IO[bytes]]
"""Opens a log, unbuffered; raises FileNotFoundError while it does not exist."""


class ServerLogTail:
    """Reads additions to a log, from its beginning on.

    Args:
        open_log: exceptions other than FileNotFoundError are passed on.
    """

    def __init__(self, open_log: OpenLog) -> None:
        self._open_log = open_log
        self._file: IO[bytes] | None = None
        self._offset = 0
        self._rest = b""
        self._cutting = False
        self._reader = RecordReader()

    def poll(self) -> list[ServerEvent]:
        """Return the events that became complete; none while the file does not exist.

        The last message counts as complete once nothing was added between two polls.

        Raises:
            OSError: the file cannot be read.
        """
        begun = self._offset
        events = self._read()
        return events if self._offset > begun else self._reader.flush()

    def _read(self) -> list[ServerEvent]:
        """Read additions, at most 4 MiB, and return the events that they complete."""
        file = self._opened()
        if file is None:
            return []
        events: list[ServerEvent] = []
        begun = self._offset
        while self._offset - begun < MOST_BYTES_A_POLL:
            data = os.pread(file.fileno(), CHUNK_BYTES, self._offset)
            if not data:
                break
            self._offset += len(data)
            events += self._reader.feed(self._lines(data))
        return events

    def finish(self) -> list[ServerEvent]:
        """Return all remaining events, including a last line without an end, and close the file."""
        events: list[ServerEvent] = []
        begun = -1
        while self._offset != begun:
            begun = self._offset
            events += self._read()
        if self._rest:
            events += self._reader.feed([self._rest.decode(errors="replace")])
            self._rest = b""
        events += self._reader.flush()
        self.close()
        return events

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _opened(self) -> IO[bytes] | None:
        if self._file is None:
            with suppress(FileNotFoundError):
                self._file = self._open_log()
        return self._file

    def _lines(self, data: bytes) -> list[str]:
        """Return the complete lines; cut those beyond the limit."""
        *complete, rest = (self._rest + data).split(b"\n")
        if complete and self._cutting:  # the end of a line whose beginning was passed on already
            complete, self._cutting = complete[1:], False
        if self._cutting:
            rest = b""
        elif len(rest) > LONGEST_LINE:
            complete.append(rest[:LONGEST_LINE])
            rest, self._cutting = b"", True
        self._rest = rest
        return [line[:LONGEST_LINE].decode(errors="replace") for line in complete]
