"""Put the seconds of a run on one clock: from progress, log or statistics, whichever is best.

TPS by the second come, in this order, from progress lines, from a whole log (a sampled one scaled by its
rate), and without either from commits in pg_stat_database, which is reported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from app.domain.errors import ForeignDataError, PgbenchError
from app.domain.text import tr
from app.importers.files.members import BadLines, ForeignFile, Readable, opened, read_lines
from app.importers.formats.outputs import ReportColumns
from app.importers.formats.server_statistics import COMMITS, ServerStatistics, read_statistics
from app.importers.formats.transaction_logs import (
    FIRST_US,
    LAST_US,
    LogSampling,
    LogSurvey,
    find_sampling,
    log_format,
    read_transactions,
    survey_log,
)
from app.importers.runs.discovery import ThreadLogs
from app.importers.runs.foreign_run import LONGEST_S, Array, ForeignSeries, SecondStore, StoredSecond
from app.postgres.pgbench.summary import PgbenchSummary
from app.postgres.pgbench.transaction_log import AggregateInterval, parse_aggregate_line
from app.runfile.summary import usual_length_s

# Compute series by the second from pgbench's logs and reports.


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
    source = "pgbench --log"
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
    source = "pgbench --progress"
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
        source = "pgbench --log --aggregate-interval"
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
                bad.add(shown_path, number, line, tr("truncated at the end of the file"))
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


_WHOLE: Final = 0.98
_EARLY_S: Final = 1.0
_LATE_S: Final = 5.0
_MOSTLY_CONNECTED: Final = 0.95
_NEAR_S: Final = 2.0
"""Seconds within which the first statistics count as the recorded start of the run."""

Gap = tuple[str, str]


@dataclass(frozen=True, slots=True)
class TimelineInputs:
    """Sources of the seconds of one run.

    Attributes:
        summary: of pgbench; None if there is none.
        progress: its reports.
        log: its log, None if there is none.
        statistics: files of statistics of the server.
        begin_s: its start, whole seconds since the epoch; None if unknown.
        seconds: its length including start and end of pgbench; None if unknown.
    """

    summary: PgbenchSummary | None
    progress: ReportColumns
    log: ThreadLogs | None
    statistics: Sequence[ForeignFile]
    begin_s: float | None = None
    seconds: float | None = None


@dataclass(slots=True)
class Timeline:
    """The seconds of one run.

    Attributes:
        origin_s: its start since the epoch; None if unknown.
        duration_s: measured time.
        series: by the second.
        seconds: latencies by the second; may be called once.
        log_one_in: transactions per line of the log; None without a log.
        tps_one_in: the same if the TPS by the second come from it.
        utc_offset_s: of the machine's clock, if statistics have it.
        marks: (kind, reason) labels.
        missing: (source, reason) of missing values.
        notes: decisions.
    """

    origin_s: float | None = None
    duration_s: float = 0.0
    series: list[ForeignSeries] = field(default_factory=list)
    seconds: Callable[[], Iterator[StoredSecond]] | None = None
    log_one_in: float | None = None
    tps_one_in: float | None = None
    utc_offset_s: float | None = None
    marks: list[tuple[str, str]] = field(default_factory=list)
    missing: list[Gap] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def has_tps(self) -> bool:
        """Whether TPS by the second are known."""
        return any(series.metric == TPS for series in self.series)


def read_timeline(sources: TimelineInputs, bad: BadLines) -> Timeline:
    """Return the seconds of a run; an unreadable source is missing, with the reason.

    Args:
        sources: the available ones.
        bad: collects invalid lines.

    Raises:
        ForeignDataError: figures that contradict each other.
    """
    timeline = Timeline()
    log = sources.log
    latencies = tr("latency percentiles")
    if log is None:
        timeline.missing.append((latencies, tr("there is no transaction log")))
        _take_progress(timeline, sources)
    elif log.is_aggregated:
        timeline.missing.append(
            (latencies, tr("the log is aggregated: it has averages but no individual latencies"))
        )
        _take_progress(timeline, sources)
        _guarded(timeline, log, lambda: _take_aggregates(timeline, sources, log, bad))
    else:
        _guarded(timeline, log, lambda: _take_transactions(timeline, sources, log, bad))
        if timeline.seconds is None:
            timeline.missing.append((latencies, tr("the transaction log cannot be used")))
            _take_progress(timeline, sources)
    _take_statistics(timeline, sources, bad)
    _settle(timeline, sources)
    return timeline


def _guarded(timeline: Timeline, log: ThreadLogs, take: Callable[[], None]) -> None:
    try:
        take()
    except ForeignDataError as error:
        timeline.notes.append(f"{log.members[0].shown_path}: {error.message}")
        timeline.marks.append(("damaged-log", error.message))


def _printed_s(summary: PgbenchSummary | None) -> float | None:
    """Return the time that pgbench divided by; None if it printed no TPS.

    Without connecting, except for clients that connect for every transaction: that is not only the start.
    """
    if summary is None or not summary.tps or not summary.transactions:
        return None
    whole = summary.tps_with_connecting or summary.tps
    return summary.transactions / (whole if whole < _MOSTLY_CONNECTED * summary.tps else summary.tps)


def _end_s(summary: PgbenchSummary | None, last_s: float) -> float:
    printed_s = _printed_s(summary)
    if printed_s is not None and last_s - _EARLY_S <= printed_s <= last_s + _LATE_S:
        return printed_s
    return last_s


def _take_progress(timeline: Timeline, sources: TimelineInputs) -> None:
    if not sources.progress:
        return
    reports = sources.progress
    origin_s = progress_origin_s(reports)
    if reports.is_epoch:
        # With a log, its first transaction gives the exact start.
        origin_s = timeline.origin_s = origin_s if timeline.origin_s is None else timeline.origin_s
    timeline.series += progress_series(reports, origin_s)
    timeline.duration_s = max(timeline.duration_s, _end_s(sources.summary, reports.times_s[-1] - origin_s))


def _take_aggregates(timeline: Timeline, sources: TimelineInputs, log: ThreadLogs, bad: BadLines) -> None:
    found: AggregatedLog | None = read_aggregates(log.members, bad)
    if found is None:
        raise ForeignDataError(tr("the transaction log has no complete line"))
    if timeline.has_tps:
        return
    timeline.origin_s = float(found.begin_s)
    end_s = found.end_s or _printed_s(sources.summary) or 1.0
    timeline.series += found.series(end_s)
    timeline.duration_s = end_s
    timeline.notes.append(
        tr("{file}: the first interval is shorter than the others and was skipped").format(
            file=log.members[0].shown_path
        )
    )


def _take_transactions(timeline: Timeline, sources: TimelineInputs, log: ThreadLogs, bad: BadLines) -> None:
    survey = survey_log(log.members)
    if survey is None:
        raise ForeignDataError(tr("the transaction log has no complete line"))
    has_lag = _has_lag(sources)
    format_ = log_format(survey, has_lag=has_lag)
    store = SecondStore(survey.begin_us)
    for member, stream in opened(log.members):
        for batch in read_transactions(stream, member.shown_path, format_, bad):
            store.add(batch, lag_is_known=has_lag is not None or survey.fields != 1)
    if not store.lines:
        raise ForeignDataError(tr("the transaction log has no complete line"))
    sampling, is_whole = _sampling(timeline, sources.summary, survey, store.lines)
    last_s = (store.last_us - store.origin_us) / 1e6
    timeline.origin_s = store.origin_us / 1e6
    timeline.seconds = store.seconds
    timeline.log_one_in = sampling.one_in
    timeline.duration_s = (
        _end_s(sources.summary, last_s) if is_whole else _printed_s(sources.summary) or last_s
    )
    if sampling.one_in != 1:
        reason = tr("the log contains about one in {number:g} transactions").format(number=sampling.one_in)
        timeline.marks.append(("sampled", reason))
    _take_progress(timeline, sources)
    if timeline.has_tps:
        return
    if is_whole:
        timeline.tps_one_in = sampling.one_in
        timeline.series += transaction_series(store, timeline.duration_s, sampling.one_in)


def _has_lag(sources: TimelineInputs) -> bool | None:
    """Return whether the single optional field of a log is a lag, or else retries; None if unknown."""
    if sources.summary is not None:
        return sources.summary.lag_ms is not None
    return True if sources.progress.has_lag else None


def _sampling(
    timeline: Timeline, summary: PgbenchSummary | None, survey: LogSurvey, lines: int
) -> tuple[LogSampling, bool]:
    """Return the sampling rate of the log, and whether it covers the whole run."""
    counted = max(survey.counted, lines)
    if summary is None or not summary.transactions:
        return find_sampling(lines, counted), True
    total = summary.transactions + (summary.failed or 0) + (summary.skipped or 0)
    if summary.threads and summary.clients and survey.clients:
        # Clients without a last line near the end of a file are assumed to be like the others.
        expected = summary.clients * survey.threads / summary.threads
        counted = round(counted * max(1.0, expected / survey.clients)) if survey.counted > lines else counted
    has_all_threads = survey.threads >= min(summary.threads or 1, summary.clients or 1)
    # Logs of several threads may be joined in one file.
    is_joined = lines >= _WHOLE * total or survey.clients == summary.clients
    is_whole = counted >= _WHOLE * total and (has_all_threads or is_joined)
    sampling = find_sampling(lines, total if is_whole else counted)
    if not is_whole:
        message = tr("the log contains {known} of {total} transactions, in {files} files")
        reason = message.format(known=counted, total=total, files=survey.threads)
        timeline.marks.append(("partial-latencies", reason))
        timeline.missing.append((tr("per-second TPS"), reason))
    elif sampling.missing:
        message = tr("{count} of {total} transactions are not in the log")
        timeline.marks.append(("partial-latencies", message.format(count=sampling.missing, total=total)))
    return sampling, is_whole


def _take_statistics(timeline: Timeline, sources: TimelineInputs, bad: BadLines) -> None:
    read = [statistics for member in sources.statistics if (statistics := _statistics(timeline, member, bad))]
    if not read:
        return
    timeline.notes += [each.note for each in read if each.note]
    offsets = [each.utc_offset_s for each in read if each.utc_offset_s is not None]
    timeline.utc_offset_s = offsets[0] if offsets else None
    if timeline.origin_s is None and not timeline.series:
        begin_s = min(each.begin_s for each in read)
        near = sources.begin_s is None or abs(begin_s - sources.begin_s) < _NEAR_S
        timeline.origin_s = begin_s if near else sources.begin_s
        span_s = max(each.end_s for each in read) - begin_s
        timeline.duration_s = _printed_s(sources.summary) or sources.seconds or span_s
    if timeline.origin_s is None:
        reason = tr("the start time of the run is unknown, so they cannot be aligned with it")
        timeline.missing.append((tr("server statistics"), reason))
        return
    for statistics in read:
        timeline.series += _inside(statistics, timeline.origin_s, timeline.duration_s)
    commits = next((each for each in timeline.series if each.metric == COMMITS), None)
    if commits is not None and not timeline.has_tps:
        source = tr("pg_stat_database: commits, usually at most 1 s late")
        timeline.series.append(ForeignSeries(TPS, commits.t_s, commits.values, source))
        reason = tr(
            "per-second TPS are commits from pg_stat_database: there is no log and no progress output"
        )
        timeline.marks.append(("tps-from-statistics", reason))


def _statistics(timeline: Timeline, member: ForeignFile, bad: BadLines) -> ServerStatistics | None:
    try:
        for _, stream in opened([member]):
            texts = read_statistics(stream, member.shown_path, bad)
            if texts is not None:
                return texts
            timeline.notes.append(tr("{file}: fewer than two rows").format(file=member.shown_path))
    except ForeignDataError as error:
        timeline.notes.append(error.message)
    return None


def _inside(statistics: ServerStatistics, origin_s: float, duration_s: float) -> Iterator[ForeignSeries]:
    """Yield the series of a run; the collector was started before and stopped after it."""
    for rates in statistics.series:
        t_s = rates.epoch_s - origin_s
        inside = (t_s > 0) & (t_s <= duration_s + 0.5)
        if inside.any():
            yield ForeignSeries(rates.metric, t_s[inside], rates.values[inside], rates.source)


def missing_between_reports(ends_s: Array) -> list[Gap]:
    """Return the missing values of a run with reports longer than a second."""
    interval_s = usual_length_s(np.diff(ends_s, prepend=0.0))
    if interval_s == 1:
        return []
    reason = tr("its TPS are averages over {interval} s, which hide jitter and shorter stalls")
    return [(tr("single seconds"), reason.format(interval=interval_s))]


def _settle(timeline: Timeline, sources: TimelineInputs) -> None:
    """Fill in values that no series has."""
    if timeline.origin_s is None:
        timeline.origin_s = sources.begin_s
    if not timeline.duration_s:
        duration_s = sources.summary.duration_s if sources.summary else None
        timeline.duration_s = _printed_s(sources.summary) or sources.seconds or float(duration_s or 0)
    if timeline.duration_s > LONGEST_S:
        message = tr("The run would last more than {days} days: its figures are inconsistent.")
        raise ForeignDataError(message.format(days=LONGEST_S // 86_400))
    by_second = next((each for each in timeline.series if each.metric == TPS), None)
    if by_second is not None and len(by_second.t_s):
        timeline.missing += missing_between_reports(by_second.t_s)
    if not timeline.has_tps:
        if not any(source == tr("per-second TPS") for source, _ in timeline.missing):
            reason = tr("there is no per-second data")
            timeline.missing.append((tr("per-second TPS"), reason))
        timeline.marks.append(("mean-only", tr("there is no per-second data")))
