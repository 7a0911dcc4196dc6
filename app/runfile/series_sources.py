"""Where the samples of a run come from: a file that does not change, or one that grows."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from app.runfile.latency_series import SECOND_MS, LatencySeries
from app.runfile.reader import RunFile

Array = NDArray[np.float64]
SeriesKey = tuple[str, str]
"""Metric and instance."""

_NOTHING: Final = (np.empty(0), np.empty(0))


class SeriesSource(Protocol):
    """Where a run's samples come from; times in ms of the run's clock, ascending."""

    def samples(self, key: SeriesKey) -> tuple[Array, Array]:
        """Return (t_ms, values); empty where there is no such series."""

    def keys(self) -> tuple[SeriesKey, ...]:
        """Return every series there is."""

    def percentile(self, percent: float) -> tuple[Array, Array]:
        """Return (end of second in ms, latency in ms)."""

    def partial_ends_ms(self) -> Array:
        """Return the ends of the seconds whose percentiles may be incomplete."""

    def load(self, keys: Iterable[SeriesKey], percents: Collection[float]) -> None:
        """Read several series at once, so that later calls need no disk."""


class FileSource:
    """Samples of a file that does not change; each series is read once. Safe for several threads."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.RLock()
        self._series: dict[SeriesKey, tuple[Array, Array]] = {}
        self._keys: tuple[SeriesKey, ...] | None = None
        self._latencies: LatencySeries | None = None
        self._partial_ends_ms: Array | None = None

    def samples(self, key: SeriesKey) -> tuple[Array, Array]:
        """Return (t_ms, values), read at the first call."""
        self.load([key], ())
        return self._series[key]

    def keys(self) -> tuple[SeriesKey, ...]:
        """Return every series of the file."""
        with self._lock:
            if self._keys is None:
                with RunFile(self._path) as run:
                    self._keys = tuple((series.metric, series.instance) for series in run.series())
            return self._keys

    def percentile(self, percent: float) -> tuple[Array, Array]:
        """Return (end of second in ms, latency in ms): as stored where it is, else from the histograms."""
        with self._lock:
            stored = self.samples((f"latency.p{percent:g}", ""))
            return stored if len(stored[0]) else self._latency_series().percentile(percent)

    def partial_ends_ms(self) -> Array:
        """Return the ends of the seconds whose percentiles may be incomplete."""
        with self._lock:
            if self._partial_ends_ms is None:
                with RunFile(self._path) as run:
                    begins_ms = np.array(run.partial_latency_seconds(), dtype=np.float64)
                self._partial_ends_ms = begins_ms + SECOND_MS
            return self._partial_ends_ms

    def load(self, keys: Iterable[SeriesKey], percents: Collection[float]) -> None:
        """Read what is not read yet, with one opening of the file."""
        with self._lock:
            stored = [(f"latency.p{percent:g}", "") for percent in percents]
            missing = [key for key in (*keys, *stored) if key not in self._series]
            if missing:
                with RunFile(self._path) as run:
                    self._series |= {key: run.samples(*key) for key in missing}
            for percent in percents:
                self.percentile(percent)
                self.partial_ends_ms()

    def _latency_series(self) -> LatencySeries:
        if self._latencies is None:
            latencies = LatencySeries()
            with RunFile(self._path) as run:
                latencies.update(run.latency_seconds())
            self._latencies = latencies
        return self._latencies


@dataclass(frozen=True, slots=True)
class GrownSource:
    """What a growing file held at one look."""

    series: Mapping[SeriesKey, tuple[Array, Array]]
    latencies: LatencySeries

    def samples(self, key: SeriesKey) -> tuple[Array, Array]:
        """Return (t_ms, values) as of this look."""
        return self.series.get(key, _NOTHING)

    def keys(self) -> tuple[SeriesKey, ...]:
        """Return every series that has samples."""
        return tuple(self.series)

    def percentile(self, percent: float) -> tuple[Array, Array]:
        """Return (end of second in ms, latency in ms), late lines included."""
        return self.latencies.percentile(percent)

    def partial_ends_ms(self) -> Array:
        """Return the ends of the seconds whose percentiles may be incomplete."""
        return self.latencies.partial_ends_ms()

    def load(self, keys: Iterable[SeriesKey], percents: Collection[float]) -> None:
        """Everything is in memory already."""
