"""How it is settled how often each configuration of a campaign is run. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from enum import StrEnum
from typing import Final, Protocol

DEFAULT_CAP: Final = 10
"""Rounds of a sequential campaign, at most, where nobody says."""
LEFT_OUT: Final = "left-out"
"""Kind of the mark of the last run of a configuration that is unlikely to be the fastest."""
FEWEST_CAP: Final = 4
"""Nothing is left out before the third round: with fewer it would be the fixed matrix."""


class Design(StrEnum):
    """How it is settled how often each configuration is run.

    FIXED: `Campaign.repeats` times. SEQUENTIAL: after each complete round what is unlikely to be the fastest
    is left out (`app.statistics.selection`); the others go on until one is left, `Campaign.repeats` rounds at
    most.
    """

    FIXED = "fixed"
    SEQUENTIAL = "sequential"


class _Competitor(Protocol):
    """A configuration, as far as it decides what it competes with."""

    @property
    def condition(self) -> Hashable:
        """What is the same for those that may be compared."""

    @property
    def has_rate(self) -> bool:
        """Whether transactions arrive at a rate."""


def contests(configurations: Sequence[_Competitor]) -> tuple[tuple[int, ...], ...]:
    """Return the places of those that can win against each other: under one condition, and without a rate.

    Another scale, another number of clients, other transactions or another memory limit are other conditions:
    all of them are wanted. At a rate all are as fast as that.
    """
    alike: dict[Hashable, list[int]] = {}
    for place, each in enumerate(configurations):
        if not each.has_rate:
            alike.setdefault(each.condition, []).append(place)
    return tuple(tuple(places) for places in alike.values() if len(places) > 1)
