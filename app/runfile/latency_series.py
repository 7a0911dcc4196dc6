"""Latency percentiles by the second, from the histograms of a run file, finished or growing.

A second of a growing run may be read again: pgbench writes its log in blocks, and lines come late.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.runfile.finalize import PERCENTS
from app.runfile.histogram_decoding import percentiles
from app.runfile.writer import LatencySecond

Array = NDArray[np.float64]

SECOND_MS: Final = 1000
COMMON: Final = PERCENTS
"""Percentiles used by charts; computed together, because decoding is the expensive part."""


class LatencySeries:
    """The seconds of one run with the computed percentiles. Thread-safe."""

    def __init__(self) -> None:
        # The window reads values under the pointer while another thread adds seconds.
        self._lock = threading.Lock()
        self._seconds: list[LatencySecond] = []
        self._t_ms: list[int] = []
        self._known: dict[float, Array] = {}
        self._stale: set[int] = set()
        self._settled = 0

    def update(self, seconds: Iterable[LatencySecond]) -> None:
        """Add new seconds and newer contents of known ones, ascending."""
        fresh = list(seconds)  # reads the file, outside of the lock
        with self._lock:
            self._take(fresh)

    def _take(self, seconds: Iterable[LatencySecond]) -> None:
        for second in seconds:
            if not self._t_ms or second.t_ms > self._t_ms[-1]:
                self._seconds.append(second)
                self._t_ms.append(second.t_ms)
                continue
            place = int(np.searchsorted(self._t_ms, second.t_ms))
            if self._t_ms[place] == second.t_ms:
                if self._seconds[place].buckets != second.buckets:
                    self._stale.add(place)
                self._seconds[place] = second
            else:
                self._seconds.insert(place, second)
                self._t_ms.insert(place, second.t_ms)
                self._known.clear()

    @property
    def unsettled_ms(self) -> int:
        """Everything after this time may still change; -1 if nothing is settled."""
        with self._lock:
            while self._settled < len(self._seconds) and not self._seconds[self._settled].partial:
                self._settled += 1
            return self._t_ms[self._settled - 1] if self._settled else -1

    def percentile(self, percent: float) -> tuple[Array, Array]:
        """Return (end of each second in ms, latency in ms) of the seconds with transactions.

        Raises:
            CorruptRunFileError: a histogram is damaged.
        """
        with self._lock:
            self._complete(percent)
            values = self._known[percent].copy()  # later completed seconds are changed in place
            ends = np.array(self._t_ms, dtype=np.float64) + SECOND_MS
        present = ~np.isnan(values)
        return ends[present], values[present]

    def partial_ends_ms(self) -> Array:
        """Return the ends of the seconds with possibly missing lines."""
        with self._lock:
            ends = [second.t_ms + SECOND_MS for second in self._seconds if second.partial]
        return np.array(ends, dtype=np.float64)

    def _complete(self, percent: float) -> None:
        wanted = COMMON if percent in COMMON else (percent,)
        if self._stale:
            places = sorted(self._stale)
            for each, values in self._known.items():
                inside = [place for place in places if place < len(values)]
                values[inside] = self._compute(inside, (each,))[0]
            self._stale.clear()
        known = self._known.setdefault(percent, np.empty(0))
        if len(known) < len(self._seconds):
            fresh = self._compute(list(range(len(known), len(self._seconds))), wanted)
            for each, values in zip(wanted, fresh, strict=True):
                self._known[each] = np.concatenate((self._known.get(each, np.empty(0)), values))

    def _compute(self, places: list[int], percents: tuple[float, ...]) -> Array:
        """Return a row for each percentile; NaN for seconds without transactions."""
        rows = np.full((len(percents), len(places)), np.nan)
        filled = [index for index, place in enumerate(places) if self._seconds[place].transactions]
        blobs = [self._seconds[places[index]].buckets for index in filled]
        rows[:, filled] = percentiles(blobs, percents) / 1000
        return rows
