"""Read pgbench's transaction logs, full or sampled, piece by piece, and survey their ends.

Invalid lines are skipped and reported; see `app.postgres.pgbench.transaction_log` for the format. pgbench
does not record the sampling rate of a log; it follows from the numbers of transactions and lines.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from app.domain.errors import PgbenchError
from app.domain.text import tr
from app.importers.files.members import BadLines, ForeignFile, Lines, Readable, read_lines
from app.postgres.pgbench.transaction_log import LogFormat, TransactionBatch, parse_transactions

FIRST_US: Final = 946_684_800_000_000
LAST_US: Final = 4_102_444_800_000_000
"""2000 to 2100: anything outside is not a time in seconds since the epoch, but in another unit."""

_LINE: Final = re.compile(
    rb"(\d{1,9}) (\d{1,16}) (\d{1,16}|skipped|failed|serialization|deadlock) \d{1,9} (\d{9,10}) (\d{1,6})"
    rb"((?: \d{1,16}){0,2})\n"
)


def is_transaction_line(line: bytes) -> bool:
    """Return whether a line with its line end is one of a transaction log."""
    match = _LINE.fullmatch(line)
    return match is not None and FIRST_US <= _end_us(match) < LAST_US


@dataclass(frozen=True, slots=True)
class LogSurvey:
    """Facts from the ends of a log's files.

    Attributes:
        begin_us: start of its first transaction since the epoch.
        fields: optional fields of a line: 0 to 2.
        counted: transactions by the clients' own counters, including those missing from a sampled log.
        threads: number of files.
        clients: number of those with a counter.
    """

    begin_us: int
    fields: int
    counted: int
    threads: int
    clients: int


def survey_log(members: Sequence[ForeignFile]) -> LogSurvey | None:
    """Return the facts from the ends of one pgbench's files; None if they have no whole line."""
    begins, fields, counted, seen = [], set(), 0, 0
    for member in members:
        first = next(iter(_matches(member.head)), None)
        last = _matches(member.tail)
        if first is None or not last:
            continue
        latency = int(first[3]) if first[3].isdigit() else 0
        begins.append(_end_us(first) - latency)
        fields.add(first[6].count(b" "))
        clients = {each[1]: int(each[2]) for each in last}
        counted += sum(clients.values())
        seen += len(clients)
    if not begins:
        return None
    return LogSurvey(min(begins), max(fields), counted, len(begins), seen)


def log_format(survey: LogSurvey, *, has_lag: bool | None) -> LogFormat:
    """Return the format of the lines.

    Args:
        survey: of the log.
        has_lag: meaning of a single optional field: the lag of ``--rate``, or retries; None if unknown.
    """
    if survey.fields == 1:
        return LogFormat(has_lag=has_lag is not False, has_retries=has_lag is False)
    return LogFormat(has_lag=survey.fields == 2, has_retries=survey.fields == 2)


def read_transactions(
    stream: Readable, shown_path: str, format_: LogFormat, bad: BadLines
) -> Iterator[TransactionBatch]:
    """Yield the transactions of one file.

    Raises:
        ForeignDataError: too many invalid lines.
    """
    for lines in read_lines(stream, shown_path):
        if lines.is_cut:
            bad.add(shown_path, lines.first, lines.text, tr("truncated at the end of the file"))
            continue
        yield _batch(lines, shown_path, format_, bad)


def _batch(lines: Lines, shown_path: str, format_: LogFormat, bad: BadLines) -> TransactionBatch:
    try:
        batch = parse_transactions(lines.text, format_)
    except PgbenchError:
        return parse_transactions(_good_lines(lines, shown_path, format_, bad), format_)
    if batch.transactions and not (
        int(batch.epoch_us.min()) >= FIRST_US and int(batch.epoch_us.max()) < LAST_US
    ):
        return parse_transactions(_good_lines(lines, shown_path, format_, bad), format_)
    return batch


def _good_lines(lines: Lines, shown_path: str, format_: LogFormat, bad: BadLines) -> bytes:
    optional = format_.has_lag + format_.has_retries
    good = []
    for number, line in enumerate(lines.text.splitlines(keepends=True), lines.first):
        match = _LINE.fullmatch(line)
        if match is None or match[6].count(b" ") != optional:
            bad.add(shown_path, number, line)
        elif not FIRST_US <= _end_us(match) < LAST_US:
            bad.add(shown_path, number, line, tr("its time is not in seconds since 1970"))
        else:
            good.append(line)
    return b"".join(good)


def _matches(text: bytes) -> list[re.Match[bytes]]:
    found = (_LINE.fullmatch(line) for line in text.replace(b"\r\n", b"\n").splitlines(keepends=True))
    return [match for match in found if match]


def _end_us(match: re.Match[bytes]) -> int:
    return int(match[4]) * 1_000_000 + int(match[5])


_WHOLE: Final = 1.02
"""Transactions per line up to which a log is full: counters at its end may be slightly behind."""
_STANDARD_ERRORS: Final = 5.0


@dataclass(frozen=True, slots=True)
class LogSampling:
    """How a log was sampled.

    Attributes:
        one_in: transactions per line; 1 for a full log.
        missing: transactions without a line in an otherwise full log.
    """

    one_in: float
    missing: int = 0


def find_sampling(lines: int, transactions: int) -> LogSampling:
    """Return the sampling rate that gives these lines for these transactions.

    pgbench logs each transaction with the probability of ``--sampling-rate``, so the lines are binomial; the
    first plausible rate (1, 2 or 5 of a power of ten, one or two digits, one in a whole number) within five
    standard errors is chosen.

    Args:
        lines: of all threads, at least one.
        transactions: of the summary, or of the clients' counters.
    """
    ratio = transactions / lines
    if ratio <= _WHOLE:
        return LogSampling(1.0, max(0, transactions - lines))
    for rate in _rates_near(1 / ratio):
        error = math.sqrt(transactions * rate * (1 - rate))
        if abs(lines - transactions * rate) <= _STANDARD_ERRORS * error + 1:
            return LogSampling(_tidy(1 / rate))
    return LogSampling(ratio)


def _rates_near(rate: float) -> Iterator[float]:
    """Yield plausible rates, the likeliest first, all below 1."""
    power = 10.0 ** math.floor(math.log10(rate))
    nearest = min((digit * power for digit in (1, 2, 5, 10)), key=lambda each: abs(math.log(each / rate)))
    digits = -math.floor(math.log10(rate))
    candidates = (nearest, round(rate, digits), 1 / round(1 / rate), round(rate, digits + 1))
    yield from (each for each in candidates if 0 < each < 1)


def _tidy(one_in: float) -> float:
    """Return the nearest whole number if only rounding separates it."""
    return float(round(one_in)) if math.isclose(one_in, round(one_in), rel_tol=1e-9) else one_in
