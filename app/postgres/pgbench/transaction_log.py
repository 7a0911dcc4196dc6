"""Parse pgbench's transaction log (``--log``) into columns of numbers, and choose its sampling rate.

A line is ``client transaction latency_us script epoch_s us [lag_us] [retries]``, separated by one blank: lag
with ``--rate``, retries with ``--max-tries`` (since 15). Instead of the latency there can be a word:
``skipped`` in all versions; ``failed``, or in detail ``serialization`` or ``deadlock``, since 15 (doLog() of
pgbench.c 13 to 19rc1; recorded in tests/data/pgbench). The parser touches every byte a constant number of
times in numpy and creates no Python object per line: a full log of 100 000 transactions per second must not
disturb the measurement (tests/bench). It is strict: any other line is an error with its position.

Sampling limits the cost of writing the log. Measured (prepared select-only, 53 000 TPS): a full log costs 541
ns of pgbench's CPU time per transaction and about 5 % of the TPS of a saturated CPU, a tenth of it 212 ns.
Measured with everything on one CPU (tests/bench/bench_cost_of_measuring.py, tpcb-like at 8 700 TPS): with a
full log pgFooting takes 1.3 % of the CPU time; hence the limits below. Counted
(tests/bench/bench_pgbench_instructions.py): a line of the log takes 4 000 to 5 600 instructions, two thirds
of those of a prepared select. No pgbench up to 19 keeps histograms itself; one that does, by second, would
replace this module.

pgbench's aggregated log (``--aggregate-interval``), one line per interval and thread, is only imported:
pgbench flushes 4 KiB at a time, about once a minute, too late for a live run. Formats of 13 to 19rc1 (doLog()
of pgbench.c; recorded in tests/data/pgbench).
"""

from __future__ import annotations

import ctypes
import math
import mmap
import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.domain.campaign.configuration import Workload
from app.domain.errors import PgbenchError
from app.domain.text import tr

Integers = NDArray[np.int64]

_BLANK: Final = ord(" ")
_NEWLINE: Final = ord("\n")
_NINE: Final = ord("9")
_WIDE: Final = 8
"""Digits that are read at once: bytes of one machine word."""
_LONGEST: Final = 2 * _WIDE
"""Digits of the longest number; 16 digits of microseconds are 300 years."""

_DIGITS: Final = np.array(
    [
        sum(0x0F << 8 * (_WIDE - 1 - place) for place in range(min(digits, _WIDE)))
        for digits in range(_LONGEST + 1)
    ],
    np.uint64,
)
"""Masks by the length of a field: the bits of the eight bytes before its end that hold digit values."""
_PAIRS: Final = np.uint64(10 * 2**8 + 1)
_FOURS: Final = np.uint64(100 * 2**16 + 1)
_EIGHTS: Final = np.uint64(10_000 * 2**32 + 1)

_LATENCY: Final = 2
_SECOND: Final = 4
_MICROSECOND: Final = 5


class Outcome(StrEnum):
    """Outcome of a transaction without a latency: the word in its line."""

    SKIPPED = "skipped"
    FAILED = "failed"
    SERIALIZATION = "serialization"
    DEADLOCK = "deadlock"


@dataclass(frozen=True, slots=True)
class LogFormat:
    """Optional fields in the lines of a log; follows from pgbench's arguments.

    Attributes:
        has_lag: with ``--rate``.
        has_retries: with ``--max-tries`` other than 1.
    """

    has_lag: bool = False
    has_retries: bool = False

    @property
    def fields(self) -> int:
        """Number of fields of a line."""
        return _MICROSECOND + 1 + self.has_lag + self.has_retries


@dataclass(frozen=True, slots=True, eq=False)
class TransactionBatch:
    """Transactions of a piece of a log, in its order (not sorted by time).

    Attributes:
        epoch_us: end of each successful transaction since the epoch; decides its second.
        latency_us: with ``--rate`` counted from the scheduled start.
        lag_us: schedule lag; None without ``--rate``.
        others: end times of the transactions without latency, by outcome; only those that occur.
    """

    epoch_us: Integers
    latency_us: Integers
    lag_us: Integers | None = None
    others: Mapping[Outcome, Integers] = field(default_factory=dict)

    @property
    def transactions(self) -> int:
        """Successful transactions."""
        return len(self.epoch_us)

    @property
    def lines(self) -> int:
        """All lines."""
        return self.transactions + sum(map(len, self.others.values()))


class _NotALogError(Exception):
    """Some line is invalid; a second, slow pass finds it."""


def parse_transactions(
    chunk: bytes, log_format: LogFormat, *, file: str = "", offset: int = 0
) -> TransactionBatch:
    """Parse the transactions of `chunk`, which consists of whole lines.

    Args:
        chunk: any number of lines.
        log_format: their fields.
        file: name of the log, for the error.
        offset: of `chunk` in the log, for the error.

    Raises:
        PgbenchError: a line that pgbench does not write in this format; names file and offset.
    """
    try:
        return _parse(chunk, log_format)
    except _NotALogError as err:
        place, line = _first_bad_line(chunk, log_format)
        raise PgbenchError(
            tr("pgbench's transaction log {file} is damaged at byte {offset}: {line}.").format(
                file=file, offset=offset + place, line=repr(line)
            ),
            hint=tr("Its lines have {count} fields. The log's filesystem may have been full.").format(
                count=log_format.fields
            ),
        ) from err


def _parse(chunk: bytes, log_format: LogFormat) -> TransactionBatch:
    tokens = _Tokens(chunk, log_format.fields)
    lag = tokens.numbers(_MICROSECOND + 1) if log_format.has_lag else None
    epoch_us = tokens.numbers(_SECOND) * 1_000_000 + tokens.numbers(_MICROSECOND)
    words = tokens.words(_LATENCY)
    if words is None:
        return TransactionBatch(epoch_us, tokens.numbers(_LATENCY), lag)
    kept = words == 0
    return TransactionBatch(
        epoch_us=epoch_us[kept],
        latency_us=tokens.numbers(_LATENCY)[kept],
        lag_us=None if lag is None else lag[kept],
        others={
            outcome: epoch_us[words == number]
            for number, outcome in enumerate(Outcome, start=1)
            if (words == number).any()
        },
    )


class _Tokens:
    """Positions of the fields of all lines, and their numbers and words.

    A field is read from its end: eight bytes as one little-endian word with the first character in the lowest
    byte; bytes before the field are masked out; then three multiplications add up pairs, fours and all eight
    digits (D. Lemire, "Quickly parsing eight digits", 2018).
    """

    def __init__(self, chunk: bytes, fields: int) -> None:
        # Room for the word before the first field.
        self._bytes = np.frombuffer(b"0" * _LONGEST + chunk, np.uint8)
        text = self._bytes[_LONGEST:]
        separators = np.flatnonzero(text < ord("0"))
        lines, rest = divmod(len(separators), fields)
        if rest or (chunk and chunk[-1] != _NEWLINE):
            raise _NotALogError
        table = text[separators].reshape(lines, fields)
        if (table[:, :-1] != _BLANK).any() or (table[:, -1] != _NEWLINE).any():
            raise _NotALogError
        lengths = np.diff(separators, prepend=-1) - 1
        if (lengths < 1).any():
            raise _NotALogError
        self._ends = separators.reshape(lines, fields) + _LONGEST
        self._lengths = lengths.reshape(lines, fields)
        self._letters = int(np.count_nonzero(text > _NINE))
        self._words_at = np.ndarray(
            shape=max(0, len(self._bytes) - _WIDE + 1),
            dtype="<u8",
            buffer=self._bytes.data,
            strides=(1,),
        )

    def numbers(self, column: int) -> Integers:
        """Return the values of a column; words give arbitrary ones."""
        lengths, ends = self._lengths[:, column], self._ends[:, column]
        longest = int(lengths.max(initial=0))
        if longest > _LONGEST:
            raise _NotALogError
        if longest == 1:
            return self._bytes[ends - 1].astype(np.int64) - ord("0")
        low = _eight_digits(self._words_at[ends - _WIDE] & _DIGITS.take(lengths))
        if longest <= _WIDE:
            return low
        high = self._words_at[ends - _LONGEST] & _DIGITS.take(np.maximum(lengths - _WIDE, 0))
        if (high == high[0]).all():  # all but once in three years of seconds
            high = high[:1]
        return _eight_digits(high) * 10**_WIDE + low

    def words(self, column: int) -> NDArray[np.uint8] | None:
        """Return 0 or the 1-based number of the `Outcome` for each line; None if all are numbers.

        Raises:
            _NotALogError: other letters in this column.
        """
        if not self._letters:
            return None
        ends, lengths = self._ends[:, column], self._lengths[:, column]
        found = np.zeros(len(ends), np.uint8)
        for number, outcome in enumerate(Outcome, start=1):
            candidates = np.flatnonzero(lengths == len(outcome))
            places = ends[candidates, np.newaxis] + np.arange(-len(outcome), 0)
            same = (self._bytes[places] == np.frombuffer(outcome.encode(), np.uint8)).all(axis=1)
            found[candidates[same]] = number
        if int(lengths[found > 0].sum()) != self._letters:
            raise _NotALogError
        return found


def _eight_digits(words: NDArray[np.uint64]) -> Integers:
    """Return the numbers whose digits are the bytes of each word, the first one lowest."""
    pairs = (words * _PAIRS) >> np.uint64(8)
    fours = ((pairs & np.uint64(0x00FF00FF00FF00FF)) * _FOURS) >> np.uint64(16)
    eights = ((fours & np.uint64(0x0000FFFF0000FFFF)) * _EIGHTS) >> np.uint64(32)
    return eights.view(np.int64)


def _first_bad_line(chunk: bytes, log_format: LogFormat) -> tuple[int, bytes]:
    offset = 0
    for line in chunk.splitlines(keepends=True):
        try:
            _parse(line, log_format)
        except _NotALogError:
            return offset, line[:120]
        offset += len(line)
    return 0, chunk[:120]


FULL_LOG_TPS: Final = 5_000
"""Up to this rate every transaction is logged."""
SAMPLED_TPS: Final = 1_250
"""Transactions logged per second above that: the standard error of the rank of the 99th percentile is then
3.5 of 12.5 in one second, and 27 of 750 over a minute.
"""
UNKNOWN_READS_ONE_IN: Final = 40
"""For reads without an expected rate: even a small machine serves 50 000 per second from memory."""


def sampling_rate(workload: Workload, expected_tps: float | None = None) -> int:
    """Return n: one in n transactions is logged; 1 for all of them.

    Args:
        workload: its rate limits the TPS.
        expected_tps: measured by a warm-up or an earlier run; None if unknown. Then workloads that write are
            logged in full, the built-in select-only by `UNKNOWN_READS_ONE_IN`.
    """
    known = [tps for tps in (workload.rate_tps, expected_tps) if tps is not None]
    if not known:
        return 1 if workload.writes else UNKNOWN_READS_ONE_IN
    tps = min(known)
    return 1 if tps <= FULL_LOG_TPS else math.ceil(tps / SAMPLED_TPS)


_LENGTHS: Final = frozenset({6, 10, 11, 15, 16})
"""Numbers of fields of a line: plain, with rate, with skipped too (13 and 14); 15 and later print zeros
instead, and 19 has a separate field for other failures.
"""
_COUNT_INCLUDES_SKIPPED: Final = 11
"""13 and 14 include skipped transactions in the count; 15 stopped that (recorded)."""


@dataclass(frozen=True, slots=True)
class AggregateInterval:
    """Transactions that ended in one interval.

    Attributes:
        start_s: seconds since the epoch.
        transactions: number, without skipped ones.
        latency_sum_us: sum of their latencies.
        latency_squares_us2: sum of the squares.
        lag_sum_us: schedule lag of ``--rate``; 0 without.
    """

    start_s: int
    transactions: int
    latency_sum_us: float
    latency_squares_us2: float
    lag_sum_us: float = 0.0

    def __add__(self, other: AggregateInterval) -> AggregateInterval:
        """Return both threads' transactions of the same interval."""
        return AggregateInterval(
            self.start_s,
            self.transactions + other.transactions,
            self.latency_sum_us + other.latency_sum_us,
            self.latency_squares_us2 + other.latency_squares_us2,
            self.lag_sum_us + other.lag_sum_us,
        )


_LAG_SUM: Final = 6
_SKIPPED: Final = 10
_MOST: Final = 1e30
"""More than the squares of all latencies of a day; its own square is still finite."""


def parse_aggregate_line(line: str) -> AggregateInterval:
    """Parse one line.

    Raises:
        PgbenchError: not 6, 10, 11, 15 or 16 numbers, or an impossible one.
    """
    words = line.split()
    try:
        values = [
            float(word) if _LATENCY <= place < _SKIPPED else int(word) for place, word in enumerate(words)
        ]
    except ValueError as err:
        raise _not_a_line(line) from err
    if len(words) not in _LENGTHS or not all(0 <= value <= _MOST for value in values):  # NaN is neither
        raise _not_a_line(line)
    skipped = values[_SKIPPED] if len(words) == _COUNT_INCLUDES_SKIPPED else 0
    lag_sum_us = values[_LAG_SUM] if len(words) > _LAG_SUM else 0.0
    return AggregateInterval(int(values[0]), int(values[1] - skipped), values[2], values[3], lag_sum_us)


def _not_a_line(line: str) -> PgbenchError:
    return PgbenchError(
        tr("This is not a line of an aggregated pgbench log: “{line}”.").format(line=line.strip()[:120]),
        hint=tr("Such a line has 6, 10, 11, 15 or 16 numbers."),
    )


# Follow the transaction log of a running pgbench: read new lines and free their memory.
#
# The log is in memory (tmpfs), one file per thread: ``PREFIX.PID`` and ``PREFIX.PID.N``. It is a file, not a
# pipe, because a reader that stalls must never stall the benchmark. Read parts are punched out of the files
# (fallocate(2), FALLOC_FL_PUNCH_HOLE, Linux 3.5 for tmpfs), which keeps them small in long runs.


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
                tr("{file} is not a regular file of pgbench; it was not touched.").format(file=name),
                hint=tr("Another process is writing to this run's private folder."),
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
        tr("pgbench's transaction log {file} cannot be read: {reason}.").format(
            file=name, reason=err.strerror
        ),
        hint=tr("The benchmark itself was not touched; its TPS are still counted."),
    )
