"""Summarise the bottlenecks of compared configurations, and what the figures cannot show. Pure.

Also shows what the storage of each configuration can do without PostgreSQL, and how much of it the runs used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from app.analysis.bottleneck import CAUSES, UNKNOWN, Bottleneck, Cause
from app.analysis.cannot_show import describe_limitations
from app.analysis.io_baseline import UsedShare, job_cell, sync_cell
from app.analysis.labels import some
from app.comparison.comparison import RunComparison
from app.comparison.groups import ComparedRun
from app.comparison.overall.fastest import under_conditions
from app.domain.columns import CellKind, Column
from app.domain.io_baseline import FLUSH_WORDS, IoBaseline, JobId, flush_verdict
from app.domain.text import number_text, tr

MOST_NAMED: Final = 6
"""Configurations listed for one cause."""


def bottlenecks(comparison: RunComparison) -> tuple[Bottleneck, ...]:
    """Return the bottleneck of most runs of each configuration, with the evidence of their middle one.

    On a tie it is unknown.
    """
    return tuple(_of_runs(group.runs) for group in comparison.groups)


def _of_runs(runs: Sequence[ComparedRun]) -> Bottleneck:
    taking = [run for run in runs if run.tps is not None] or runs
    counts = Counter(run.facts.bottleneck.cause for run in taking)
    most = max(counts.values(), default=0)
    causes = [cause for cause, count in counts.items() if count == most]
    if len(causes) != 1:
        return UNKNOWN
    having = [run for run in taking if run.facts.bottleneck.cause in causes]
    having.sort(key=lambda run: run.tps or 0.0)
    return having[(len(having) - 1) // 2].facts.bottleneck


def describe_bottlenecks(comparison: RunComparison) -> str:
    """Return in one sentence the bottlenecks of the configurations; with evidence if there is only one."""
    found = bottlenecks(comparison)
    if not any(run.shape is not None for run in comparison.own_runs):
        return ""
    if len(found) == 1:
        return found[0].sentence
    names: dict[Cause, list[str]] = {}
    for group, bottleneck in zip(comparison.groups, found, strict=True):
        names.setdefault(bottleneck.cause, []).append(group.name_in_sentences)
    if len(names) == 1:
        [cause] = names
        if cause is Cause.NOT_KNOWN:
            return tr("The bottleneck is not known.")
        return tr("All were limited by {cause}.").format(cause=CAUSES[cause])
    parts = [f"{some(names[cause], MOST_NAMED)}: {CAUSES[cause]}" for cause in Cause if cause in names]
    return tr("Bottlenecks: {parts}.").format(parts="; ".join(parts))


def describe_part_limitations(comparison: RunComparison) -> str:
    """Return in one sentence what the compared figures cannot show; empty if there is nothing."""
    return describe_limitations(run.facts.unshown for run in comparison.own_runs if run.shape is not None)


def describe_limits(comparison: RunComparison) -> tuple[str, ...]:
    """Return the bottlenecks of each condition, and what its figures cannot show."""
    return under_conditions(
        comparison.parts,
        lambda part: filter(None, (describe_bottlenecks(part), describe_part_limitations(part))),
    )


_WAL_SYNCS: Final = "wal.syncs"


@dataclass(frozen=True, slots=True)
class StorageRow:
    """The storage of one configuration.

    Attributes:
        group: its index in the comparison.
        name: of the configuration.
        baseline: capability of its storage, from the first of its runs that recorded it.
        used: share of it that this run used.
    """

    group: int
    name: str
    baseline: IoBaseline
    used: tuple[UsedShare, ...]

    @property
    def sentence(self) -> str:
        """What its flush rate shows about the drives; empty if nothing."""
        words = FLUSH_WORDS[flush_verdict(self.baseline)]
        return f"{self.name}: {words}" if words else ""


def _syncs_used(row: StorageRow) -> str:
    share = next((each.share for each in row.used if each.metric == _WAL_SYNCS), None)
    if share is None:
        return ""
    return tr("less than 1 %") if share < 0.01 else f"{number_text(100 * share, '.0f')} %"


STORAGE_COLUMNS: Final[tuple[Column[StorageRow], ...]] = (
    Column("configuration", tr("Configuration"), lambda row: row.name, CellKind.WORDS),
    Column("syncs", tr("durable writes/s"), lambda row: sync_cell(row.baseline)),
    Column("used", tr("used"), _syncs_used),
    Column("appends", tr("appends/s"), lambda row: job_cell(row.baseline, JobId.SYNC_APPEND)),
    Column("read", tr("reads/s, 1"), lambda row: job_cell(row.baseline, JobId.RANDOM_READ)),
    Column("read_deep", tr("reads/s, 32"), lambda row: job_cell(row.baseline, JobId.RANDOM_READ_DEEP)),
    Column("write", tr("writes/s, 32"), lambda row: job_cell(row.baseline, JobId.RANDOM_WRITE)),
    Column("stream_read", tr("MB/s read"), lambda row: job_cell(row.baseline, JobId.SEQUENTIAL_READ)),
    Column("stream_write", tr("MB/s written"), lambda row: job_cell(row.baseline, JobId.SEQUENTIAL_WRITE)),
)
"""Columns of the table of storages, each measured alone, before the first run on it."""

EXPLANATION: Final = tr(
    "fio and pg_test_fsync before the first run: random 8 KiB, 1 or 32 in flight; sequential 1 MiB. Used: "
    "WAL syncs of the first run, in percent of durable writes (fdatasync)."
)


def storage_rows(comparison: RunComparison) -> tuple[StorageRow, ...]:
    """Return a row for each configuration with a measured storage; empty if none was measured."""
    measured = (
        (place, group.name, next((run.facts for run in group.runs if run.facts.baseline is not None), None))
        for place, group in enumerate(comparison.groups)
    )
    return tuple(
        StorageRow(place, name, facts.baseline, facts.used)
        for place, name, facts in measured
        if facts is not None and facts.baseline is not None
    )


def storage_sentences(rows: Sequence[StorageRow]) -> tuple[str, ...]:
    """Return what the flush rates show about the drives; a common statement appears once."""
    said = [FLUSH_WORDS[flush_verdict(row.baseline)] for row in rows]
    if said and all(each == said[0] for each in said):
        return tuple(filter(None, said[:1]))
    return tuple(filter(None, (row.sentence for row in rows)))
