"""pgbench's transaction log (``--log``): bytes of whole lines to columns of numbers.

A line is ``client transaction latency_us script epoch_s us [lag_us] [retries]``, separated by one blank:
lag with ``--rate``, retries with ``--max-tries`` (since 15). Instead of the latency there can be a word:
``skipped`` in all versions; ``failed``, or in detail ``serialization`` or ``deadlock``, since 15 (doLog() of
pgbench.c 13 to 19rc1; recorded in tests/data/pgbench).

The parser touches every byte a constant number of times in numpy and makes no Python object per line:
a full log of 100 000 transactions per second must not disturb what it measures (tests/bench).
It is strict: whatever is not exactly such a line is an error with its place, never guessed at.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

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
"""By the length of a field: what of the eight bytes before its end belongs to its digits' values."""
_PAIRS: Final = np.uint64(10 * 2**8 + 1)
_FOURS: Final = np.uint64(100 * 2**16 + 1)
_EIGHTS: Final = np.uint64(10_000 * 2**32 + 1)

_LATENCY: Final = 2
_SCRIPT: Final = 3
_SECOND: Final = 4
_MICROSECOND: Final = 5


class Outcome(StrEnum):
    """What became of a transaction that has no latency: the word in its line."""

    SKIPPED = "skipped"
    FAILED = "failed"
    SERIALIZATION = "serialization"
    DEADLOCK = "deadlock"


@dataclass(frozen=True, slots=True)
class LogFormat:
    """Which optional fields the lines of a log have; follows from pgbench's arguments.

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
        script: its number, from 0.
        lag_us: schedule lag; None without ``--rate``.
        retries: None without ``--max-tries``.
        others: when the transactions without latency ended, by outcome; only those that occur.
    """

    epoch_us: Integers
    latency_us: Integers
    script: Integers
    lag_us: Integers | None = None
    retries: Integers | None = None
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
    """Some line is none; which one is found afterwards, slowly."""


def parse_transactions(
    chunk: bytes, log_format: LogFormat, *, file: str = "", offset: int = 0
) -> TransactionBatch:
    """Return the transactions of `chunk`, which holds whole lines only.

    Args:
        chunk: any number of lines.
        log_format: which fields they have.
        file: name of the log, for the error.
        offset: where `chunk` begins in the log, for the error.

    Raises:
        PgbenchError: a line that pgbench does not write in this format; names file and offset.
    """
    try:
        return _parse(chunk, log_format)
    except _NotALogError as err:
        place, line = _first_bad_line(chunk, log_format)
        raise PgbenchError(
            tr("The transaction log {file} of pgbench is damaged at byte {offset}: {line}.").format(
                file=file, offset=offset + place, line=repr(line)
            ),
            hint=tr("Its lines have {count} fields. Was there no room left for the log?").format(
                count=log_format.fields
            ),
        ) from err


def _parse(chunk: bytes, log_format: LogFormat) -> TransactionBatch:
    tokens = _Tokens(chunk, log_format.fields)
    lag = tokens.numbers(_MICROSECOND + 1) if log_format.has_lag else None
    retries = tokens.numbers(log_format.fields - 1) if log_format.has_retries else None
    epoch_us = tokens.numbers(_SECOND) * 1_000_000 + tokens.numbers(_MICROSECOND)
    words = tokens.words(_LATENCY)
    if words is None:
        return TransactionBatch(epoch_us, tokens.numbers(_LATENCY), tokens.numbers(_SCRIPT), lag, retries)
    kept = words == 0
    return TransactionBatch(
        epoch_us=epoch_us[kept],
        latency_us=tokens.numbers(_LATENCY)[kept],
        script=tokens.numbers(_SCRIPT)[kept],
        lag_us=None if lag is None else lag[kept],
        retries=None if retries is None else retries[kept],
        others={
            outcome: epoch_us[words == number]
            for number, outcome in enumerate(Outcome, start=1)
            if (words == number).any()
        },
    )


class _Tokens:
    """Where the fields of each line begin and end, with the numbers and words that they hold.

    A field is read from its end: eight bytes as one little-endian word in which the first character is the
    lowest byte; what stands before the field is masked out; then three multiplications add up pairs, fours
    and all eight digits (D. Lemire, "Quickly parsing eight digits", 2018).
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
        """Return for each line 0 or the 1-based number of its `Outcome`; None where all are numbers.

        Raises:
            _NotALogError: letters that are none of these words in this column.
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
