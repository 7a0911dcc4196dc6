"""Find what means hide and verdicts must consider: stalls, lengths, unknown seconds.

Two runs with one mean are not equivalent if one of them stalled for a third of its time. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from app.analysis.stability import RunStability
from app.domain.text import tr
from app.domain.units import format_duration

MATTERS: Final = 0.01
"""Share of the seconds: one stalled second in a hundred changes the longest latencies, as for disturbances.
"""

LONGER_BY: Final = 10.0
"""Factor: a run this much shorter than another has not seen the same events."""


def _stalls(shapes: Iterable[RunStability]) -> tuple[int, int]:
    """Return how many seconds stalled, and out of how many."""
    found = [shape.jitter for shape in shapes]
    return sum(each.stall_seconds for each in found), sum(each.seconds for each in found)


def describe_stalls(
    first: str, one: Sequence[RunStability], second: str, other: Sequence[RunStability]
) -> tuple[str, bool]:
    """Return how long both stalled, a clause, and whether that is similar; empty if neither did.

    Args:
        first: name of the first configuration.
        one: stability of its runs.
        second: name of the second.
        other: stability of its runs.
    """
    (stalled, seconds), (more, of) = _stalls(one), _stalls(other)
    if not seconds or not of or not (stalled or more):
        return "", True
    told = tr("{first} stalled in {stalled} of {seconds} s, {second} in {more} of {of} s").format(
        first=first, stalled=stalled, seconds=seconds, second=second, more=more, of=of
    )
    return told, abs(stalled / seconds - more / of) < MATTERS


def describe_lengths(shapes: Iterable[RunStability]) -> str:
    """Return that run lengths differ too much for a verdict, a clause; empty if they do not."""
    lengths = [shape.duration_s for shape in shapes if shape.duration_s > 0]
    if not lengths or max(lengths) < LONGER_BY * min(lengths):
        return ""
    told = tr("the runs lasted from {short} to {long}")
    return told.format(short=format_duration(round(min(lengths))), long=format_duration(round(max(lengths))))


def describe_unseen(shape: RunStability | None) -> str:
    """Return that most of a run is unknown, a clause; empty if it is not."""
    if shape is None or not shape.is_mostly_unseen:
        return ""
    missed, seconds = shape.jitter.missed_seconds, shape.jitter.seconds
    told = tr("pgbench itself was blocked for {missed} of {seconds} s")
    return told.format(missed=missed, seconds=missed + seconds)
