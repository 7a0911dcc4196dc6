"""What pgbench prints to stderr while it works: one line per second, one per loaded block of rows.

Formats of 13 to 18 (printProgressReport() and initGenerateData() of pgbench.c; recorded in
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

_LOADING: Final = re.compile(
    r"(?P<done>\d+) of (?P<total>\d+) tuples \(\d+%\)(?: of (?P<table>\w+))? done"
    r" \(elapsed (?P<elapsed>\d+\.\d+) s, remaining (?P<remaining>\d+\.\d+) s\)",
    re.ASCII,
)
_LOADED: Final = re.compile(r"done in (?P<total>\d+\.\d+) s \((?P<steps>[^()]+)\)\.", re.ASCII)
_STEP: Final = re.compile(r"(?P<name>[\w -]+?) (?P<seconds>\d+\.\d+) s", re.ASCII)


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


@dataclass(frozen=True, slots=True)
class LoadingProgress:
    """One report of ``--initialize``.

    Attributes:
        table: the table being filled; empty where the version does not say (before 17).
        rows: rows loaded so far.
        total_rows: rows to load.
        elapsed_s: since the table's first row.
        remaining_s: pgbench's estimate.
    """

    table: str
    rows: int
    total_rows: int
    elapsed_s: float
    remaining_s: float


@dataclass(frozen=True, slots=True)
class LoadingSummary:
    """The last line of ``--initialize``.

    Attributes:
        total_s: the whole.
        steps_s: (step, seconds) in the order of execution, such as ``("primary keys", 0.03)``.
    """

    total_s: float
    steps_s: tuple[tuple[str, float], ...]


def parse_progress(line: str) -> ProgressLine | None:
    """Return the report that `line` is, or None where it is another line."""
    match = _PROGRESS.fullmatch(line.rstrip("\r\n"))
    if match is None:
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


def parse_loading_progress(line: str) -> LoadingProgress | None:
    """Return the loading report that `line` is, or None where it is another line."""
    match = _LOADING.fullmatch(line.rstrip("\r\n "))
    if match is None:
        return None
    return LoadingProgress(
        table=match["table"] or "",
        rows=int(match["done"]),
        total_rows=int(match["total"]),
        elapsed_s=float(match["elapsed"]),
        remaining_s=float(match["remaining"]),
    )


def parse_loading_summary(line: str) -> LoadingSummary | None:
    """Return the summary of loading that `line` is, or None where it is another line."""
    match = _LOADED.fullmatch(line.rstrip("\r\n "))
    if match is None:
        return None
    steps = tuple((step["name"].strip(), float(step["seconds"])) for step in _STEP.finditer(match["steps"]))
    return LoadingSummary(float(match["total"]), steps)


def _count(text: str | None) -> int | None:
    return None if text is None else int(text)
