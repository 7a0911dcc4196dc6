"""Describe the I/O baseline in words and figures, and how much of it a run used.

The disks' capabilities are compared with their use by the same counters, read in the same way: once while fio
and pg_test_fsync had the storage to themselves, and once during the run's measurement.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from app.domain.columns import CellKind, Column
from app.domain.io_baseline import (
    DEFAULT_METHOD,
    FIO_JOBS,
    FLUSH_WORDS,
    IoBaseline,
    JobId,
    JobResult,
    flush_verdict,
)
from app.domain.run import Phase
from app.domain.text import number_text, titled, tr
from app.runfile.metadata.typed_json import known, or_none
from app.runfile.reader import RunFile

SYNC_METHOD: Final = "wal_sync_method"

DURABLE_WRITES: Final = tr("durable writes/s")
READS: Final = tr("reads/s")
WRITES: Final = tr("writes/s")
WORDS: Final = {
    "wal.syncs": DURABLE_WRITES,
    "storage.flushes": tr("flushes/s"),
    "storage.reads": READS,
    "storage.writes": WRITES,
    "storage.read_bytes": tr("MB/s read"),
    "storage.write_bytes": tr("MB/s written"),
}


@dataclass(frozen=True, slots=True)
class UsedShare:
    """A run's use of one of a storage's capabilities.

    Attributes:
        metric: id of the series.
        able: capability of the storage, in the unit of the metric.
        used: mean over the measured phase, in the same unit.
    """

    metric: str
    able: float
    used: float

    @property
    def share(self) -> float:
        """Share of `able`; above 1 if several writers together achieve more than one alone."""
        return self.used / self.able

    @property
    def sentence(self) -> str:
        """A sentence for users."""
        able = self.able / 1e6 if self.metric.endswith("_bytes") else self.able
        sentence = tr("The storage can do {able} {what}; the run used {share}.")
        return sentence.format(able=_figure(able), what=WORDS[self.metric], share=self.share_words)

    @property
    def share_words(self) -> str:
        """The share, for users."""
        return tr("less than 1 %") if self.share < 0.01 else f"{number_text(100 * self.share, '.0f')} %"


def used_shares(
    baseline: IoBaseline, means: Mapping[str, float], method: str = DEFAULT_METHOD
) -> tuple[UsedShare, ...]:
    """Return a run's use of each capability, the sync of WAL first; unknown ones are omitted.

    Args:
        baseline: of the storage.
        means: of the run's series over the measured phase, by metric.
        method: the run's wal_sync_method.
    """
    able = baseline.limits
    syncs = baseline.syncs_per_s(method)
    if syncs:
        able = {"wal.syncs": syncs} | able
    order = [metric for metric in WORDS if metric in able and metric in means]
    return tuple(UsedShare(metric, able[metric], means[metric]) for metric in order)


def read_used_shares(run: RunFile) -> tuple[UsedShare, ...]:
    """Return a run's use of its storage's capabilities; empty if its file has no baseline."""
    metadata = run.metadata
    baseline, measured = or_none(metadata.io_baseline), run.phase(Phase.MEASURE)
    if baseline is None or measured is None or measured.ended_ms is None:
        return ()
    totals = run.totals(measured.started_ms, measured.ended_ms, metrics=list(WORDS))
    means = {metric: total / count for (metric, which), (total, _, count) in totals.items() if not which}
    chosen = {each.name: each.value for each in known(metadata.settings, ())}
    return used_shares(baseline, means, chosen.get(SYNC_METHOD, DEFAULT_METHOD))


# --- as a table


def _figure(value: float | None) -> str:
    if value is None:
        return ""
    return number_text(value, ",.0f") if value >= 99.5 else number_text(value, ".3g")


def _job_words(result: JobResult) -> str:
    label = next((job.label for job in FIO_JOBS if job.id.value == result.job), result.job)
    is_cached = not result.is_direct and result.job != JobId.SYNC_APPEND.value
    return tr("{job}, through the cache").format(job=label) if is_cached else label


JOB_COLUMNS: Final[tuple[Column[JobResult], ...]] = (
    Column("job", tr("Job"), _job_words, CellKind.LABEL),
    Column("operations", titled(tr("per second")), lambda row: _figure(row.operations_per_s)),
    Column("throughput", "MB/s", lambda row: _figure(row.bytes_per_s / 1e6)),
    Column("mean", tr("Mean µs"), lambda row: _figure(row.latency_mean_us)),
    Column("p99", "p99 µs", lambda row: _figure(row.latency_p99_us)),
)
"""Columns of fio's results."""


def job_cell(baseline: IoBaseline | None, job: JobId) -> str:
    """Return one figure for a table of several storages: operations a second, for sequential jobs MB/s."""
    result = None if baseline is None else baseline.job(job)
    if result is None:
        return ""
    is_stream = job in {JobId.SEQUENTIAL_READ, JobId.SEQUENTIAL_WRITE}
    return _figure(result.bytes_per_s / 1e6 if is_stream else result.operations_per_s)


def sync_cell(baseline: IoBaseline | None, method: str = DEFAULT_METHOD) -> str:
    """Return the durable writes a second, for a table of several storages."""
    return "" if baseline is None else _figure(baseline.syncs_per_s(method))


def sync_sentences(baseline: IoBaseline) -> tuple[str, ...]:
    """Return the results of pg_test_fsync, and the conclusion about the drives."""
    if not baseline.sync_methods:
        return ()
    sentence = tr("Durable 8 kB writes per second, one at a time (pg_test_fsync): {methods}.")
    methods = ", ".join(f"{each.method} {_figure(each.per_s)}" for each in baseline.sync_methods)
    return tuple(filter(None, (sentence.format(methods=methods), FLUSH_WORDS[flush_verdict(baseline)])))
