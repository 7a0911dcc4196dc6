"""Find what means hide and verdicts must consider: stalls, lengths, unknown seconds.

Two runs with one mean are not equivalent if one of them stalled for a third of its time. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from app.analysis.stability import RunStability

MATTERS: Final = 0.01
"""Share of the seconds: one stalled second in a hundred changes the longest latencies, as for disturbances.
"""

LONGER_BY: Final = 10.0
"""Factor: a run this much shorter than another has not seen the same events."""


def _stalls(shapes: Iterable[RunStability]) -> tuple[int, int]:
    """Return how many seconds stalled, and out of how many."""
    found = [shape.jitter for shape in shapes]
    return sum(each.stall_seconds for each in found), sum(each.seconds for each in found)


@dataclass(frozen=True, slots=True)
class Stalls:
    """Stalled seconds of two configurations.

    Attributes:
        first: name of the first one.
        first_s: how many seconds of its runs stalled, and out of how many.
        second: name of the second.
        second_s: the same of its runs.
    """

    first: str
    first_s: tuple[int, int]
    second: str
    second_s: tuple[int, int]

    @property
    def are_alike(self) -> bool:
        """Whether both stalled for a similar share of their time."""
        (stalled, seconds), (more, of) = self.first_s, self.second_s
        return abs(stalled / seconds - more / of) < MATTERS


@dataclass(frozen=True, slots=True)
class RunLengths:
    """Lengths of runs that differ too much for a verdict, in seconds."""

    shortest_s: float
    longest_s: float


def find_stalls(
    first: str, one: Sequence[RunStability], second: str, other: Sequence[RunStability]
) -> Stalls | None:
    """Return how long the runs of two configurations stalled; None if neither did, or if unknown."""
    found = Stalls(first, _stalls(one), second, _stalls(other))
    (stalled, seconds), (more, of) = found.first_s, found.second_s
    return found if seconds and of and (stalled or more) else None


def find_unlike_lengths(shapes: Iterable[RunStability]) -> RunLengths | None:
    """Return run lengths that differ too much for a verdict; None if they do not."""
    lengths = [shape.duration_s for shape in shapes if shape.duration_s > 0]
    if not lengths or max(lengths) < LONGER_BY * min(lengths):
        return None
    return RunLengths(min(lengths), max(lengths))
