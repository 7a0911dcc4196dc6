"""A run over the time since its last checkpoint began: its cycles laid over each other. For charts only."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.runfile.histogram_decoding import merge_encoded
from app.runfile.reader import PhaseTimes, RunFile
from app.runfile.series import RunData
from app.runfile.series_sources import SeriesKey, SeriesSource
from app.runfile.writer import Phase

Array = NDArray[np.float64]

_NOTHING: Final = (np.empty(0), np.empty(0))


@dataclass(slots=True)
class FoldedSource:
    """Samples by the time since the last checkpoint; a second of several cycles is their mean.

    A percentile is that of the transactions of all cycles together, from their merged histograms.

    Attributes:
        whole: the run's samples over its own time.
        data: the run.
        starts_s: begins of its checkpoints in the measured phase, ascending, at least one.
    """

    whole: SeriesSource
    data: RunData
    starts_s: tuple[float, ...]
    _known: dict[SeriesKey, tuple[Array, Array]] = field(default_factory=dict)
    _merged: dict[float, tuple[Array, Array]] = field(default_factory=dict)

    def samples(self, key: SeriesKey) -> tuple[Array, Array]:
        """Return (ms since the checkpoint, mean of the cycles)."""
        if key not in self._known:
            self._known[key] = self._fold(*self.data.series(*key))
        return self._known[key]

    def keys(self) -> tuple[SeriesKey, ...]:
        """Return every series of the run."""
        return self.whole.keys()

    def percentile(self, percent: float) -> tuple[Array, Array]:
        """Return (ms since the checkpoint, latency in ms)."""
        if percent not in self._merged:
            self._merged[percent] = self._fold_latencies(percent)
        return self._merged[percent]

    def partial_ends_ms(self) -> Array:
        """Return nothing: a folded second is complete or was left out."""
        return np.empty(0)

    def load(self, keys: Iterable[SeriesKey], percents: Collection[float]) -> None:
        """Read and fold what charts will ask for."""
        for key in keys:
            self.samples(key)
        for percent in percents:
            self.percentile(percent)

    def _places(self, t_s: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Return whole seconds since the checkpoint before each end of a second, and which have one."""
        starts = np.array(self.starts_s)
        cycle = np.searchsorted(starts, t_s - 1e-9, side="left") - 1
        inside = (cycle >= 0) & (t_s > 0)
        return np.rint(t_s - starts[np.maximum(cycle, 0)]), inside

    def _fold(self, t_s: Array, values: Array) -> tuple[Array, Array]:
        if not len(t_s):
            return _NOTHING
        places, inside = self._places(t_s)
        seconds, of = np.unique(places[inside], return_inverse=True)
        if not len(seconds):
            return _NOTHING
        sums = np.bincount(of, weights=values[inside])
        return 1000 * np.maximum(seconds, 0.0), sums / np.bincount(of)

    def _fold_latencies(self, percent: float) -> tuple[Array, Array]:
        with RunFile(self.data.path) as run:
            found = [second for second in run.latency_seconds() if second.transactions]
        ends_s = np.array([second.t_ms + 1000 - self.data.origin_ms for second in found]) / 1000
        if not len(ends_s):
            return _NOTHING
        places, inside = self._places(ends_s)
        inside &= ends_s <= self.data.duration_s + 0.5
        cells: dict[float, list[bytes]] = {}
        for second, place, kept in zip(found, places.tolist(), inside.tolist(), strict=True):
            if kept:
                cells.setdefault(max(0.0, place), []).append(second.buckets)
        times = sorted(cells)
        latencies = [merge_encoded(cells[time]).percentile(percent) / 1000 for time in times]
        return 1000 * np.array(times), np.array(latencies)


def since_checkpoint(data: RunData) -> RunData | None:
    """Return a run over the time since its last checkpoint began; None where it has no checkpoint."""
    starts = tuple(sorted(start_s for start_s, _, _ in data.checkpoints() if start_s >= 0))
    if not starts:
        return None
    edges = [*starts, max(data.end_s, starts[-1])]
    longest_ms = round(1000 * max(np.diff(edges), default=0.0))
    return replace(
        data,
        phases=(PhaseTimes(Phase.MEASURE, 0, longest_ms),),
        measure_start_ms=0,
        duration_s=longest_ms / 1000,
        planned_s=None,
        events=(),
        last_ms=float(longest_ms),
        source=FoldedSource(data.source, data, starts),
    )
