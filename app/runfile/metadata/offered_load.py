"""How load was offered in a run: as fast as clients could, or at a rate of its own. Pure.

pgbench prints a schedule lag if and only if it had a rate, how many were skipped if and only if it had a
limit too, and the limit itself (printResults() of pgbench.c, 13 to 18); what a file does not tell otherwise,
as of imported runs, follows from that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from app.domain.campaign.configuration import RateShare
from app.runfile.metadata.run_metadata import PhaseMetadata, RunMetadata
from app.runfile.metadata.typed_json import NotKnown, known, or_none

KEPT_SHARE: Final = 0.99
"""A rate is kept where at least this share of what was offered was done.

As many as a 99th percentile leaves out may be missing: with more, the percentiles that are told beside a rate
would be those of a load that was not offered. Our own choice; no standard names a number for pgbench.
"""

CHANCE: Final = 3.0
"""Standard deviations of what arrives by chance: pgbench's schedule is a Poisson process (manual, --rate)."""

MOST_CHANCE: Final = 0.05
"""Share of what was offered: where chance may take more, what is missing says nothing."""

FEWEST_OFFERED: Final = round((CHANCE / MOST_CHANCE) ** 2)
"""Transactions from which on chance takes no more than that."""

Figures = Mapping[str, float | None]
"""Of a run by their names."""


class LoadKind(StrEnum):
    """Who decides when the next transaction begins."""

    CLOSED = "closed"
    """Each client, once it has its answer: the waiting of those who could not start is not counted."""
    RATE = "rate"
    """A schedule that the server has no say in: latency counts from the scheduled begin."""
    NOT_KNOWN = "not known"


@dataclass(frozen=True, slots=True)
class OfferedLoad:
    """How load was offered.

    Attributes:
        kind: who decides.
        rate_tps: transactions offered a second; None without a rate, and where it is not told.
        limit_ms: latency limit; None for none, and where it is not told.
        limit_is_known: whether None means that there was none.
        share: of what the rate was a share, so that it is another one in every run; None for none.
    """

    kind: LoadKind = LoadKind.NOT_KNOWN
    rate_tps: float | None = None
    limit_ms: float | None = None
    limit_is_known: bool = False
    share: RateShare | None = None


def offered_load(run: RunMetadata) -> OfferedLoad:
    """Return how load was offered in a run; where it has several phases, in that of its own figures."""
    own = next((each for each in known(run.phases, ()) if each.is_own), None)
    return _offered(run) if own is None else replace(_offered(run), share=_share(own))


def phase_load(told: PhaseMetadata) -> OfferedLoad:
    """Return how load was offered in one of several phases of a run."""
    return replace(_offered(RunMetadata(workload=told.workload, pgbench=told.pgbench)), share=_share(told))


def _share(told: PhaseMetadata) -> RateShare | None:
    percent, of = or_none(told.rate_percent), or_none(told.rate_of)
    return None if percent is None or of is None else RateShare(percent, of)


def _offered(run: RunMetadata) -> OfferedLoad:
    rate, limit = run.workload.rate_tps, run.workload.latency_limit_ms
    is_printed = bool(run.printed("transactions")) and run.printed("latency_ms") is not None
    if isinstance(limit, NotKnown):
        limit_ms = run.printed("latency_limit_ms")
        limit_is_known = limit_ms is not None or (is_printed and run.printed("above_latency_limit") is None)
    else:
        limit_ms, limit_is_known = limit, True
    if isinstance(rate, NotKnown):
        kind = LoadKind.NOT_KNOWN
        if is_printed:
            kind = LoadKind.CLOSED if run.printed("lag_ms") is None else LoadKind.RATE
        return OfferedLoad(kind, None, limit_ms, limit_is_known)
    return OfferedLoad(LoadKind.CLOSED if rate is None else LoadKind.RATE, rate, limit_ms, limit_is_known)


def done_of(figures: Figures) -> float:
    """Return how many transactions a run did, also those that failed."""
    return (figures.get("transactions") or 0.0) + (figures.get("failed") or 0.0)


def run_kept_rate(load: OfferedLoad, figures: Figures) -> bool | None:
    """Return whether a run kept its rate; None where that cannot be told.

    Args:
        load: at a rate.
        figures: of the run.
    """
    done, skipped = done_of(figures), figures.get("skipped")
    if skipped and skipped > (1 - KEPT_SHARE) * (done + skipped):
        return False
    tps, transactions = figures.get("tps"), figures.get("transactions")
    if not tps or not transactions:
        return False if transactions == 0 or tps == 0 else None
    if load.rate_tps is None:  # with a limit nothing waits longer than that: what was not skipped was done
        return None if skipped is None else True
    offered, arrived = load.rate_tps * transactions / tps, done + (skipped or 0.0)
    if arrived >= KEPT_SHARE * offered:
        return True
    if arrived < KEPT_SHARE * offered - CHANCE * math.sqrt(offered):
        return False
    return True if offered >= FEWEST_OFFERED else None
