"""Follow the transaction log of a running pgbench: read new lines and free their memory.

The log is in memory (tmpfs), one file per thread: ``PREFIX.PID`` and ``PREFIX.PID.N``. It is a file, not a
pipe, because a reader that stalls must never stall the benchmark. Read parts are punched out of the files
(fallocate(2), FALLOC_FL_PUNCH_HOLE, Linux 3.5 for tmpfs), which keeps them small in long runs.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from app.domain.errors import PgbenchError
from app.domain.text import tr
from app.postgres.pgbench.transaction_log import LogFormat, TransactionBatch, parse_transactions

CHUNK_BYTES: Final = 1024**2
"""Bytes parsed at once: large enough for numpy, small enough for the CPU's cache."""

_LONGEST_LINE: Final = 4096
_FLAGS: Final = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_KEEP_SIZE_AND_PUNCH_HOLE: Final = 0x01 | 0x02
_libc: Final = ctypes.CDLL(None, use_errno=True)


@dataclass(slots=True)
class _ThreadLog:
    """One open file.

    Attributes:
        name: within the folder.
        descriptor: open for reading and, if allowed, for punching holes.
        consumed: bytes read and passed on: the start of the first unread line.
        punched: bytes freed; whole pages.
        last_us: end of the last transaction passed on, since the epoch; 0 before the first.
    """

    name: str
    descriptor: int
    consumed: int = 0
    punched: int = 0
    last_us: int = 0


@dataclass(frozen=True, slots=True)
class _Piece:
    """Whole lines of one file, from `offset` on."""

    log: _ThreadLog
    offset: int
    text: bytes


class TransactionLogTail:
    """Reads the logs of one pgbench process while it writes them. Used from one thread.

    Attributes:
        lines: lines read so far, of any outcome.
        transactions: successful transactions read so far.
    """

    def __init__(self, directory: str, prefix: str, pid: int, log_format: LogFormat) -> None:
        """Open `directory`; the files may appear later.

        Args:
            directory: absolute folder of the logs.
            prefix: file name passed to pgbench, without the folder.
            pid: process id of pgbench.
            log_format: fields of the lines.

        Raises:
            PgbenchError: the folder cannot be opened.
        """
        self.lines = 0
        self.transactions = 0
        self._format = log_format
        self._name = re.compile(rf"{re.escape(prefix)}\.{pid}(?:\.\d+)?")
        self._logs: dict[str, _ThreadLog] = {}
        self._can_punch = True
        try:
            self._directory = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as err:
            raise _unreadable(directory, err) from err

    @property
    def read_up_to_us(self) -> int | None:
        """The time since the epoch up to which the log is complete; None if unknown.

        Each of pgbench's threads opens its file before it connects, and writes its lines in order but late,
        in blocks of 4 KiB: seconds after the earliest of their last lines are still partial.
        """
        last_us = min((log.last_us for log in self._logs.values()), default=0)
        return last_us or None

    def poll(self) -> Iterator[TransactionBatch]:
        """Yield the transactions whose lines are complete now; a cut line waits for its rest.

        Memory is bounded: lines come in batches of about 1 MiB of text, and a batch is freed before the next
        one. An exhausted iterator has read everything that existed when it began.

        Raises:
            PgbenchError: a damaged line, or an unreadable file. The position does not change.
        """
        self._open_new()
        ends = {name: os.fstat(log.descriptor).st_size for name, log in self._logs.items()}
        pieces: list[_Piece] = []
        size_bytes = 0
        for log in self._logs.values():
            for piece in self._read(log, ends[log.name]):
                pieces.append(piece)
                size_bytes += len(piece.text)
                if size_bytes >= CHUNK_BYTES:
                    yield self._batch(pieces)
                    pieces, size_bytes = [], 0
        if pieces:
            yield self._batch(pieces)

    def drain(self) -> Iterator[TransactionBatch]:
        """Yield the rest after pgbench has ended, which flushes its buffers."""
        while True:
            before = self.lines
            yield from self.poll()
            if self.lines == before:
                return

    def close(self) -> None:
        """Close all files without deleting them."""
        for log in self._logs.values():
            os.close(log.descriptor)
        self._logs.clear()
        if self._directory >= 0:
            os.close(self._directory)
            self._directory = -1

    def _open_new(self) -> None:
        with os.scandir(self._directory) as entries:
            names = sorted(entry.name for entry in entries)
        for name in names:
            if name not in self._logs and self._name.fullmatch(name):
                self._logs[name] = _ThreadLog(name, self._open(name))

    def _open(self, name: str) -> int:
        try:
            try:
                descriptor = os.open(name, os.O_RDWR | _FLAGS, dir_fd=self._directory)
            except PermissionError:  # another user's file: read it without punching
                descriptor = os.open(name, os.O_RDONLY | _FLAGS, dir_fd=self._directory)
        except OSError as err:
            raise _unreadable(name, err) from err
        status = os.fstat(descriptor)
        # SECURITY: what we punch holes into is pgbench's own new file, never one that was linked here.
        if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
            os.close(descriptor)
            raise PgbenchError(
                tr("{file} is not a plain file of pgbench; it was not touched.").format(file=name),
                hint=tr("Something else writes into the private folder of this run."),
            )
        return descriptor

    def _read(self, log: _ThreadLog, end: int) -> Iterator[_Piece]:
        """Yield whole lines up to `end`."""
        position = log.consumed
        while position < end:
            text = os.pread(log.descriptor, min(CHUNK_BYTES, end - position), position)
            whole = text.rfind(b"\n") + 1
            if not whole:
                if len(text) > _LONGEST_LINE:
                    parse_transactions(text, self._format, file=log.name, offset=position)
                return
            yield _Piece(log, position, text[:whole])
            position += whole

    def _batch(self, pieces: list[_Piece]) -> TransactionBatch:
        try:
            batch = parse_transactions(b"".join(piece.text for piece in pieces), self._format)
        except PgbenchError:
            for piece in pieces:  # again one by one, to name the file
                parse_transactions(piece.text, self._format, file=piece.log.name, offset=piece.offset)
            raise
        for piece in pieces:
            piece.log.consumed += len(piece.text)
            piece.log.last_us = _end_of_last(piece.text)
            self._give_back(piece.log)
        self.lines += batch.lines
        self.transactions += batch.transactions
        return batch

    def _give_back(self, log: _ThreadLog) -> None:
        whole_pages = log.consumed - log.consumed % mmap.PAGESIZE
        if self._can_punch and whole_pages > log.punched:
            self._can_punch = _punch_hole(log.descriptor, log.punched, whole_pages - log.punched)
            log.punched = whole_pages


def _punch_hole(descriptor: int, offset: int, length: int) -> bool:
    """Free a range of a file; return whether that works here.

    Some filesystems do not support it (EOPNOTSUPP), and a read-only descriptor may not (EBADF): then the log
    grows by 32 bytes per transaction.
    """
    result = _libc.fallocate(
        ctypes.c_int(descriptor),
        ctypes.c_int(_KEEP_SIZE_AND_PUNCH_HOLE),
        ctypes.c_long(offset),
        ctypes.c_long(length),
    )
    return bool(result == 0)


def _end_of_last(text: bytes) -> int:
    """Return when the transaction of the last line ended; the lines were parsed before."""
    words = text[text.rfind(b"\n", 0, -1) + 1 :].split()
    return int(words[4]) * 1_000_000 + int(words[5])


def _unreadable(name: str, err: OSError) -> PgbenchError:
    return PgbenchError(
        tr("The transaction log {file} of pgbench cannot be read: {reason}.").format(
            file=name, reason=err.strerror
        ),
        hint=tr("The benchmark itself was not touched; its TPS are still counted."),
    )
