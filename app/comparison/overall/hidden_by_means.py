"""What means hide, so that no verdict rests on them alone: stalls, lengths, seconds that are not known.

Two runs of one mean are not alike where one of them was dead for a third of its time. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from app.analysis.stability import RunStability
from app.domain.text import tr
from app.domain.units import format_duration

MATTERS: Final = 0.01
"""Share of the seconds: one of a hundred that stalled moves the longest latencies, as for disturbances."""

LONGER_BY: Final = 10.0
"""Times: a run that lasted so much shorter than another has not seen what that one has."""


def _stalls(shapes: Iterable[RunStability]) -> tuple[int, int]:
    """Return how many seconds stalled, and of how many."""
    found = [shape.jitter for shape in shapes]
    return sum(each.stall_seconds for each in found), sum(each.seconds for each in found)


def describe_stalls(
    first: str, one: Sequence[RunStability], second: str, other: Sequence[RunStability]
) -> tuple[str, bool]:
    """Return how long both stalled, a clause, and whether that is alike; empty where neither did.

    Args:
        first: name of the first configuration.
        one: how its runs went.
        second: name of the second.
        other: how its runs went.
    """
    (stalled, seconds), (more, of) = _stalls(one), _stalls(other)
    if not seconds or not of or not (stalled or more):
        return "", True
    told = tr("{first} stalled in {stalled} of {seconds} s, {second} in {more} of {of} s").format(
        first=first, stalled=stalled, seconds=seconds, second=second, more=more, of=of
    )
    return told, abs(stalled / seconds - more / of) < MATTERS


def describe_lengths(shapes: Iterable[RunStability]) -> str:
    """Return that runs are too unlike in length for a verdict, a clause; empty where they are not."""
    lengths = [shape.duration_s for shape in shapes if shape.duration_s > 0]
    if not lengths or max(lengths) < LONGER_BY * min(lengths):
        return ""
    told = tr("the runs lasted from {short} to {long}")
    return told.format(short=format_duration(round(min(lengths))), long=format_duration(round(max(lengths))))


def describe_unseen(shape: RunStability | None) -> str:
    """Return that most of a run is unknown, a clause; empty where it is not."""
    if shape is None or not shape.is_mostly_unseen:
        return ""
    missed, seconds = shape.jitter.missed_seconds, shape.jitter.seconds
    told = tr("pgbench itself was blocked for {missed} of {seconds} s")
    return told.format(missed=missed, seconds=missed + seconds)
