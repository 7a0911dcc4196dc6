"""Compute series by the second from pgbench's logs and reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from app.domain.errors import PgbenchError
from app.domain.text import tr
from app.importers.files.lines import BadLines, Readable, read_lines
from app.importers.files.members import ForeignFile, opened
from app.importers.formats.outputs import ReportColumns
from app.importers.formats.transaction_logs import FIRST_US, LAST_US
from app.importers.runs.foreign_run import Array, ForeignSeries
from app.importers.runs.per_second_store import SecondStore
from app.postgres.pgbench.transaction_log import AggregateInterval, parse_aggregate_line

TPS: Final = "pgbench.tps"
_MEAN: Final = "pgbench.latency_mean"
_SHORTEST_S: Final = 1e-3
_NUMBER, _TRANSACTIONS, _LATENCY, _LAG, _SKIPPED, _FAILED = range(6)


def ends_of_seconds(end_s: float) -> Array:
    """Return the ends of the seconds of a run.

    A rest of less than half a second belongs to the last second, a longer one is a second itself.
    """
    ends = np.arange(1.0, max(1, round(end_s)) + 1)
    ends[-1] = max(end_s, _SHORTEST_S)
    return ends


def transaction_series(store: SecondStore, end_s: float, one_in: float) -> list[ForeignSeries]:
    """Return the series of a transaction log; a second without a line had no transaction.

    Args:
        store: all of it.
        end_s: measured time.
        one_in: transactions per line.
    """
    source = tr("pgbench --log")
    if one_in != 1:
        source = tr("pgbench --log, 1 in {number:g}, scaled").format(number=one_in)
    sums, ends = store.sums(), ends_of_seconds(end_s)
    places = np.minimum(sums[:, _NUMBER], len(ends) - 1)

    def total(column: int) -> Array:
        return np.bincount(places, sums[:, column].astype(np.float64), len(ends)).astype(np.float64)

    lengths, transactions = np.diff(ends, prepend=0.0), total(_TRANSACTIONS)
    busy = transactions > 0
    found = [
        ForeignSeries(TPS, ends, transactions * one_in / lengths, source),
        ForeignSeries(_MEAN, ends[busy], total(_LATENCY)[busy] / transactions[busy] / 1000, source),
    ]
    if sums[:, _LAG].any():
        lag = total(_LAG)[busy] / transactions[busy] / 1000
        found.append(ForeignSeries("pgbench.lag", ends[busy], lag, source))
    for metric, column in (("pgbench.skipped", _SKIPPED), ("pgbench.failed", _FAILED)):
        if sums[:, column].any():
            found.append(ForeignSeries(metric, ends, total(column) * one_in, source))
    return found


def progress_series(reports: ReportColumns, origin_s: float) -> list[ForeignSeries]:
    """Return the series of pgbench's reports.

    Args:
        reports: of one run.
        origin_s: its start since the epoch if their times count from there, else 0.
    """
    source = tr("pgbench --progress")
    return [
        ForeignSeries(metric, np.array(times) - origin_s, np.array(values), source)
        for metric, (times, values) in reports.series.items()
    ]


def progress_origin_s(reports: ReportColumns) -> float:
    """Return the start of a run with reports that count from the epoch: one interval before the first."""
    if not reports.is_epoch:
        return 0.0
    steps = np.diff(np.array(reports.times_s))
    return reports.times_s[0] - (float(np.median(steps)) if len(steps) else 1.0)


@dataclass(frozen=True, slots=True)
class AggregatedLog:
    """An aggregated log without its first interval, which is shorter than the others.

    pgbench aligns intervals to whole seconds, so the first one lasts from the start to the next border; it
    never prints the last one, which the end of the run cuts (doLog() of 13 to 18; recorded).

    Attributes:
        begin_s: start of its first whole interval since the epoch.
        interval_s: length of each; None for a single one, which lasts as long as the run.
        intervals: all threads added up, ascending.
    """

    begin_s: int
    interval_s: int | None
    intervals: tuple[AggregateInterval, ...]

    @property
    def end_s(self) -> float | None:
        """End of the last whole interval, counted from `begin_s`; None for a single one."""
        if self.interval_s is None:
            return None
        return float(self.intervals[-1].start_s - self.begin_s + self.interval_s)

    def series(self, end_s: float) -> list[ForeignSeries]:
        """Return the series; `end_s` is the length of a single interval and otherwise unused."""
        source = tr("pgbench --log --aggregate-interval")
        length_s = float(self.interval_s) if self.interval_s else max(end_s, _SHORTEST_S)
        ends = np.array([each.start_s - self.begin_s + length_s for each in self.intervals])
        count = np.array([each.transactions for each in self.intervals], np.float64)
        busy = count > 0
        sums = np.array([each.latency_sum_us for each in self.intervals])[busy]
        squares = np.array([each.latency_squares_us2 for each in self.intervals])[busy]
        lags = np.array([each.lag_sum_us for each in self.intervals])[busy]
        mean = sums / count[busy]
        spread = np.sqrt(np.maximum(0.0, squares / count[busy] - mean**2))
        found = [
            ForeignSeries(TPS, ends, count / length_s, source),
            ForeignSeries(_MEAN, ends[busy], mean / 1000, source),
            ForeignSeries("pgbench.latency_stddev", ends[busy], spread / 1000, source),
        ]
        if lags.any():
            found.append(ForeignSeries("pgbench.lag", ends[busy], lags / count[busy] / 1000, source))
        return found


def read_aggregates(members: Iterable[ForeignFile], bad: BadLines) -> AggregatedLog | None:
    """Return the log of all threads; None if no line is whole.

    Threads may start their intervals at different seconds; those that start within the same interval of the
    first thread are added up.

    Raises:
        ForeignDataError: too many invalid lines.
    """
    sums: dict[int, AggregateInterval] = {}
    steps: Counter[int] = Counter()
    for member, stream in opened(members):
        before: int | None = None
        for interval in _intervals(stream, member.shown_path, bad):
            if before is not None:
                steps[interval.start_s - before] += 1
            before = interval.start_s
            present = sums.get(interval.start_s)
            sums[interval.start_s] = interval if present is None else present + interval
    if not sums:
        return None
    starts = sorted(sums)
    if not steps:
        return AggregatedLog(starts[0], None, (sums[starts[0]],)) if len(starts) == 1 else None
    interval_s = max(1, steps.most_common(1)[0][0])
    merged: dict[int, AggregateInterval] = {}
    for start_s in starts:
        place = starts[0] + (start_s - starts[0]) // interval_s * interval_s
        moved = replace(sums[start_s], start_s=place)
        merged[place] = merged[place] + moved if place in merged else moved
    whole = tuple(merged[place] for place in sorted(merged))[1:]
    return AggregatedLog(whole[0].start_s, interval_s, whole) if whole else None


def _intervals(stream: Readable, shown_path: str, bad: BadLines) -> Iterator[AggregateInterval]:
    for lines in read_lines(stream, shown_path):
        for number, line in enumerate(lines.text.decode("ascii", "replace").splitlines(), lines.first):
            if lines.is_cut:
                bad.add(shown_path, number, line, tr("cut off at the end of the file"))
                continue
            try:
                interval = parse_aggregate_line(line)
            except PgbenchError:
                bad.add(shown_path, number, line)
                continue
            if FIRST_US <= 1_000_000 * interval.start_s < LAST_US:
                yield interval
            else:
                bad.add(shown_path, number, line, tr("its time is not in seconds since 1970"))
