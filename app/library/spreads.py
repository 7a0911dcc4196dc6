"""Variation between repeats in a library by kind of target, the assumption for the next plan."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.domain.run import RunState
from app.library.entries import LibraryEntry
from app.library.scan import LibraryIndex, index_path

ENOUGH_DF: Final = 6
"""Degrees of freedom from which a spread is used: the 90 % interval is then 0.7 to 1.9 times it."""

_AT_A_RATE: Final = "rate="
"""Key of workloads at a fixed rate: their TPS, and so their spread, say nothing about the machine."""


@dataclass(frozen=True, slots=True)
class KnownSpread:
    """The spread of repeats.

    Attributes:
        spread: standard deviation of the logarithms of TPS within configurations, pooled.
        configurations: number of configurations with repeats.
        runs: number of their runs.
    """

    spread: float
    configurations: int
    runs: int

    @property
    def df(self) -> int:
        """Degrees of freedom of the spread."""
        return self.runs - self.configurations


def pooled_spread(groups: Iterable[Sequence[float]]) -> KnownSpread | None:
    """Return the spread within configurations; None if there are too few repeats.

    Args:
        groups: logarithms of the TPS of each configuration's repeats.
    """
    repeated = [logs for logs in groups if len(logs) > 1]
    df = sum(len(logs) - 1 for logs in repeated)
    if df < ENOUGH_DF:
        return None
    squares = math.fsum(
        math.fsum((log - math.fsum(logs) / len(logs)) ** 2 for log in logs) for logs in repeated
    )
    return KnownSpread(math.sqrt(squares / df), len(repeated), sum(map(len, repeated)))


def spreads_of(entries: Iterable[LibraryEntry]) -> dict[str, KnownSpread]:
    """Return the spread of repeats by kind of target, if there are enough of them.

    Repeats are finished runs of one configuration in one campaign; imported ones have no target, those at a
    fixed rate are excluded.
    """
    groups: dict[tuple[str, str, str], list[float]] = {}
    for entry in entries:
        if entry.state != RunState.DONE.value or not entry.tps or entry.target is None:
            continue
        if not entry.configuration or any(key.startswith(_AT_A_RATE) for key in entry.keys):
            continue
        key = (entry.target, str(Path(entry.path).parent), entry.configuration)
        groups.setdefault(key, []).append(math.log(entry.tps))
    found: dict[str, KnownSpread] = {}
    for target in dict.fromkeys(kind for kind, _, _ in groups):
        spread = pooled_spread(logs for key, logs in groups.items() if key[0] == target)
        if spread is not None:
            found[target] = spread
    return found


def read_spreads(library: Path | None) -> dict[str, KnownSpread]:
    """Return the spreads from the index of a library; empty without an index."""
    path = index_path(library) if library is not None else None
    return spreads_of(run.entry for _, run in LibraryIndex(path).load().values())
