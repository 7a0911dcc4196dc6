"""What pgbench prints to stderr while it works: one line per second, one per loaded block of rows.

Formats of 9.4 to 19rc1 (printProgressReport() and initGenerateData() of pgbench.c; recorded in
tests/data/pgbench).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_NUMBER: Final = r"-?(?:\d+(?:\.\d+)?|nan|inf)"
_PROGRESS: Final = re.compile(
    rf"progress: (?P<time>\d+\.\d+) s, (?P<tps>{_NUMBER}) tps, lat (?P<latency>{_NUMBER}) ms"
    rf" stddev (?P<stddev>{_NUMBER})(?:, (?P<failed>\d+) failed)?(?:, lag (?P<lag>{_NUMBER}) ms)?"
    r"(?:, (?P<skipped>\d+) skipped)?(?:, (?P<retried>\d+) retried, (?P<retries>\d+) retries)?",
    re.ASCII,
)
_EPOCH_DECIMALS: Final = 3


@dataclass(frozen=True, slots=True)
class ProgressLine:
    """One report of ``--progress``.

    The interval is the time since the line before: late reports are merged, so a line's number says nothing.
    The first interval includes connecting. Failed transactions are in neither TPS nor latency.

    Attributes:
        time_s: end of the interval: seconds since the epoch, or since the start.
        is_epoch: whether `time_s` counts from the epoch (``--progress-timestamp``).
        tps: transactions per second in the interval.
        latency_ms: their mean latency; 0 where there were none; may be NaN.
        stddev_ms: their standard deviation; may be NaN (rounding below zero).
        failed: transactions that failed; None before 15.
        lag_ms: mean schedule lag; None without ``--rate``.
        skipped: transactions skipped; None without ``--rate`` and ``--latency-limit``.
        retried: transactions tried again; None without ``--max-tries``.
        retries: number of such tries; None without ``--max-tries``.
    """

    time_s: float
    is_epoch: bool
    tps: float
    latency_ms: float
    stddev_ms: float
    failed: int | None = None
    lag_ms: float | None = None
    skipped: int | None = None
    retried: int | None = None
    retries: int | None = None


def parse_progress(line: str, *, allow_remarks: bool = False) -> ProgressLine | None:
    """Return the report that `line` is, or None where it is another line.

    Args:
        line: with or without its line end.
        allow_remarks: a person may have written something behind it, separated by a blank.
    """
    line = line.rstrip("\r\n")
    match = _PROGRESS.match(line)
    if match is None or not ((rest := line[match.end() :]) == "" or (allow_remarks and rest[0].isspace())):
        return None
    time = match["time"]
    return ProgressLine(
        time_s=float(time),
        is_epoch=len(time) - time.index(".") - 1 == _EPOCH_DECIMALS,
        tps=float(match["tps"]),
        latency_ms=float(match["latency"]),
        stddev_ms=float(match["stddev"]),
        failed=_count(match["failed"]),
        lag_ms=None if match["lag"] is None else float(match["lag"]),
        skipped=_count(match["skipped"]),
        retried=_count(match["retried"]),
        retries=_count(match["retries"]),
    )


def _count(text: str | None) -> int | None:
    return None if text is None else int(text)
