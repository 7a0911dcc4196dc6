"""How load was offered in a run: as fast as clients could, or at a fixed rate. Pure.

pgbench prints a schedule lag if and only if it had a rate, the number of skipped transactions if and only if
it also had a limit, and the limit itself (printResults() of pgbench.c, 13 to 18); values missing from a file,
as from imported runs, follow from that.
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
"""A rate is kept if at least this share of the offered transactions was done.

The rest may be what a 99th percentile ignores: with more, percentiles reported for a rate would belong to
another load. Our own choice; no standard names a number for pgbench.
"""

CHANCE: Final = 3.0
"""Standard deviations of random arrivals: pgbench's schedule is a Poisson process (manual, --rate)."""

MOST_CHANCE: Final = 0.05
"""Share of the offered transactions: if chance may explain more, missing ones prove nothing."""

FEWEST_OFFERED: Final = round((CHANCE / MOST_CHANCE) ** 2)
"""Number of transactions from which chance explains no more than that."""

Figures = Mapping[str, float | None]
"""Figures of a run by name."""


class LoadKind(StrEnum):
    """What starts the next transaction."""

    CLOSED = "closed"
    """Each client, once it has its answer: the waiting of delayed transactions is not counted."""
    RATE = "rate"
    """A schedule independent of the server: latency counts from the scheduled start."""
    NOT_KNOWN = "not known"


@dataclass(frozen=True, slots=True)
class OfferedLoad:
    """How load was offered.

    Attributes:
        kind: what starts the next transaction.
        rate_tps: transactions offered a second; None without a rate, or if unknown.
        limit_ms: latency limit; None for none, or if unknown.
        limit_is_known: whether None means that there was none.
        share: the rate as a share of another phase, which makes it differ in every run; None for none.
    """

    kind: LoadKind = LoadKind.NOT_KNOWN
    rate_tps: float | None = None
    limit_ms: float | None = None
    limit_is_known: bool = False
    share: RateShare | None = None


def offered_load(run: RunMetadata) -> OfferedLoad:
    """Return how load was offered in a run; with several phases, in the one that gives its figures."""
    own = next((each for each in known(run.phases, ()) if each.is_own), None)
    return _offered(run) if own is None else replace(_offered(run), share=_share(own))


def phase_load(phase: PhaseMetadata) -> OfferedLoad:
    """Return how load was offered in one of several phases of a run."""
    return replace(_offered(RunMetadata(workload=phase.workload, pgbench=phase.pgbench)), share=_share(phase))


def _share(phase: PhaseMetadata) -> RateShare | None:
    percent, of = or_none(phase.rate_percent), or_none(phase.rate_of)
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
    """Return the number of transactions of a run, including failed ones."""
    return (figures.get("transactions") or 0.0) + (figures.get("failed") or 0.0)


def run_kept_rate(load: OfferedLoad, figures: Figures) -> bool | None:
    """Return whether a run kept its rate; None if that is unknown.

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
    if load.rate_tps is None:  # with a limit nothing waits longer: what was not skipped was done
        return None if skipped is None else True
    offered, arrived = load.rate_tps * transactions / tps, done + (skipped or 0.0)
    if arrived >= KEPT_SHARE * offered:
        return True
    if arrived < KEPT_SHARE * offered - CHANCE * math.sqrt(offered):
        return False
    return True if offered >= FEWEST_OFFERED else None
