"""Holm's procedure: several comparisons that err, all together, no more often than one would (Holm 1979)."""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Return p values adjusted for their number (Holm 1979), each at its place."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, place in enumerate(order):
        highest = max(highest, min(1.0, p_values[place] * (len(order) - rank)))
        adjusted[place] = highest
    return tuple(adjusted)


def holm_levels(p_values: Sequence[float], alpha: float) -> tuple[float, ...]:
    """Return the level at which Holm's procedure tested each hypothesis.

    An interval at 1 - level excludes no difference exactly where Holm rejects; after the first hypothesis
    that stands, the others are judged at its level.
    """
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    levels = [alpha] * len(p_values)
    level = alpha
    stands = False
    for rank, place in enumerate(order):
        if not stands:
            level = alpha / (len(order) - rank)
            stands = p_values[place] >= level
        levels[place] = level
    return tuple(levels)
