"""How load was offered in a run: as fast as clients could, or at a rate of its own. Pure.

pgbench prints a schedule lag if and only if it had a rate, how many were skipped if and only if it had a
limit too, and the limit itself (printResults() of pgbench.c, 13 to 18); what a file does not tell otherwise,
as of imported runs, follows from that.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from app.domain.campaign.configuration import RateShare
from app.runfile.metadata.run_metadata import RunMetadata
from app.runfile.metadata.typed_json import NotKnown, known, or_none
from app.runfile.metadata.workload_metadata import PhaseMetadata


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
