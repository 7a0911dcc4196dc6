"""Facts of one run as sentences: interval, stalls, drift, steadiness, checkpoints. Never a comparison."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Final

from app.analysis.labels import format_tps
from app.analysis.stability import OwnInterval, RunStability
from app.domain.disturbances import Disturbances
from app.domain.text import tr, trn
from app.domain.units import format_duration
from app.runfile.metadata.offered_load import LoadKind, OfferedLoad
from app.statistics.series import FEWEST_PIECES, SLOPE_LIMIT, SPREAD_LIMIT

WITHIN_RUN_NOTE: Final = tr(
    "Intervals within a run come from its own seconds, which are alike in time; they are blind to what"
    " differs between runs, which is often two or three times as much."
)
"""Shown wherever such intervals are."""

CLOSED_LOOP_NOTE: Final = tr(
    "Closed loop: each client sends its next transaction when it has its answer. Latencies are of what was"
    " sent; the waiting of those who could not start is not counted."
)
"""Shown wherever latencies without a rate are (“coordinated omission”, G. Tene; README of wrk2)."""

_LEAST_DRIFT: Final = 0.05
_LEAST_EFFECT: Final = 0.02


def describe_shape(
    shape: RunStability | None, tps: float | None = None, cut_s: float = 0.0
) -> tuple[str, ...]:
    """Return sentences about one run's own seconds; empty if there are none.

    Args:
        shape: of the run, without the excluded seconds.
        tps: its mean as counted by pgbench; None: the mean of the seconds.
        cut_s: seconds excluded at its start.
    """
    if shape is None:
        return ()
    return (*_interval(shape, tps, cut_s), *_stalls(shape), *_change(shape), *_checkpoints(shape))


def is_closed_loop(load: OfferedLoad, figures: Mapping[str, float | None]) -> bool:
    """Return whether a run's latencies ignore the waiting of delayed transactions."""
    return load.kind is LoadKind.CLOSED and figures.get("latency_p99_ms") is not None


def describe_disturbances(judged: Disturbances) -> str:
    """Return how other processes disturbed a run, or why that is unknown; empty if undisturbed."""
    if judged.found:
        return tr("Disturbed: {reason}.").format(reason=judged.reason)
    if not judged.not_known:
        return ""
    return tr("Whether others disturbed it is not known: {why}.").format(why=judged.not_known)


def own_interval_words(interval: OwnInterval) -> str:
    """Return an interval within a run, labelled as such."""
    return tr("within this run {low} to {high}").format(
        low=format_tps(interval.low), high=format_tps(interval.high)
    )


def _interval(shape: RunStability, tps: float | None, cut_s: float) -> Iterator[str]:
    interval, mean = shape.own_interval(), shape.within.mean if tps is None else tps
    if interval is None or mean is None:
        return
    sentence = tr(
        "{mean} TPS from beginning to end, within this run {low} to {high} ({percent:g} % interval)."
    )
    if cut_s:
        sentence = tr(
            "After the first {cut} {mean} TPS, within this run {low} to {high} ({percent:g} % interval)."
        )
    yield sentence.format(
        cut=format_duration(round(cut_s)),
        mean=format_tps(mean),
        low=format_tps(interval.low),
        high=format_tps(interval.high),
        percent=100 * interval.confidence,
    )


def _stalls(shape: RunStability) -> Iterator[str]:
    found, interval_s = shape.jitter, shape.interval_s
    if interval_s > 1:
        yield tr("Reported every {interval} s: nothing shorter is in these figures.").format(
            interval=interval_s
        )
    if found.missed_seconds:
        sentence = tr("pgbench itself was blocked for {missed} s: of those seconds nothing is known.")
        if interval_s > 1:
            sentence = tr("{missed} s are in no report of the usual length: nothing is known of them.")
        yield sentence.format(missed=found.missed_seconds)
    if not found.stall_seconds:
        yield tr("No stalled second.") if interval_s == 1 else tr("No report stalled as a whole.")
        return
    sentence = tr(
        "Stalled in {stalled} of {seconds} s (below 10 % of what was reached within five minutes), at most"
        " {longest} s in a row."
    )
    yield sentence.format(stalled=found.stall_seconds, seconds=found.seconds, longest=found.longest_stall_s)


def _change(shape: RunStability) -> Iterator[str]:
    change = shape.drift.change
    if change is not None and abs(change) >= _LEAST_DRIFT:
        sentence = tr("Its last tenth was {percent:.0f} % above its first ({first} to {last} TPS).")
        if change < 0:
            sentence = tr("Its last tenth was {percent:.0f} % below its first ({first} to {last} TPS).")
        yield sentence.format(
            percent=abs(100 * change), first=format_tps(shape.drift.first), last=format_tps(shape.drift.last)
        )
    steady = shape.steady
    if steady.is_too_short:
        pieces = max(1, math.floor(steady.pieces))
        sentence = trn(
            "Too short to tell whether it was steady: neighbouring seconds are so correlated that it is worth"
            " about {pieces} independent piece ({fewest} are needed).",
            "Too short to tell whether it was steady: neighbouring seconds are so correlated that it is worth"
            " about {pieces} independent pieces ({fewest} are needed).",
            pieces,
        )
        yield sentence.format(pieces=pieces, fewest=FEWEST_PIECES)
    if steady.steady is False and steady.spread is not None and steady.slope is not None:
        sentence = tr(
            "Not steady: its five rounds lie {spread:.0f} % apart with a trend of {slope:+.0f} % (limits"
            " {most:.0f} and {trend:.0f} %), more than its unevenness explains."
        )
        yield sentence.format(
            spread=100 * steady.spread,
            slope=100 * steady.slope,
            most=100 * SPREAD_LIMIT,
            trend=100 * SLOPE_LIMIT,
        )


def _checkpoints(shape: RunStability) -> Iterator[str]:
    effect = shape.checkpoint_effect
    if effect is None or not effect.is_certain or abs(effect.change) < _LEAST_EFFECT:
        return
    sentence = tr(
        "After a checkpoint begins TPS are {percent:.0f} % lower than before the next one ({low:+.0f} to"
        " {high:+.0f} % over {cycles} cycles)."
    )
    if effect.change > 0:
        sentence = tr(
            "After a checkpoint begins TPS are {percent:.0f} % higher than before the next one ({low:+.0f} to"
            " {high:+.0f} % over {cycles} cycles)."
        )
    yield sentence.format(
        percent=abs(100 * effect.change), low=100 * effect.low, high=100 * effect.high, cycles=effect.cycles
    )
