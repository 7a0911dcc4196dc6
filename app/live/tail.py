"""Following a run file that grows: each look reads only what is new."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from app.runfile.latency_series import LatencySeries
from app.runfile.reader import RunEvent, RunFile
from app.runfile.series import RunData, load_run_data, view_of
from app.runfile.series_sources import Array, GrownSource, SeriesKey
from app.runfile.writer import RunState


class _Growing:
    """One series; what `seen` returned stays as it was when more is appended."""

    __slots__ = ("_count", "_t_ms", "_values")

    def __init__(self) -> None:
        self._t_ms, self._values, self._count = np.empty(256), np.empty(256), 0

    def append(self, t_ms: float, value: float) -> None:
        count = self._count
        if count and t_ms <= self._t_ms[count - 1]:
            self._insert(t_ms, value)
            return
        if count == len(self._t_ms):
            self._t_ms = np.concatenate((self._t_ms, np.empty(count)))
            self._values = np.concatenate((self._values, np.empty(count)))
        self._t_ms[count], self._values[count] = t_ms, value
        self._count += 1

    def _insert(self, t_ms: float, value: float) -> None:
        """A late sample; the one that is there already wins, as in the file."""
        t, v = self.seen()
        place = int(np.searchsorted(t, t_ms))
        if t[place] != t_ms:
            self._t_ms, self._values = np.insert(t, place, t_ms), np.insert(v, place, value)
            self._count += 1

    def seen(self) -> tuple[Array, Array]:
        return self._t_ms[: self._count], self._values[: self._count]


class GrowingRun:
    """Follows one run file. All methods belong to one thread.

    Attributes:
        path: of the file; it may be a symbolic link that is replaced by the finished file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._series: dict[SeriesKey, _Growing] = {}
        self._names: dict[int, SeriesKey] = {}
        self._latencies = LatencySeries()
        self._events: tuple[RunEvent, ...] = ()
        self._last_event = 0
        self._last_tick = -1
        self._late_ticks: set[int] = set()
        self._last_ms = 0.0

    def refresh(self) -> RunData:
        """Look at the file: return the run as far as it has come.

        A file that is finished is loaded like any other.

        Raises:
            RunFileError: the file is gone, damaged or unreadable.
        """
        with RunFile(self.path) as run:
            if run.state is not RunState.RUNNING:
                return load_run_data(self.path)
            self._read_ticks(run)
            self._latencies.update(run.latency_seconds(after_ms=self._latencies.unsettled_ms))
            self._read_events(run)
            for times in run.phases():
                self._last_ms = max(self._last_ms, times.ended_ms or times.started_ms)
            seen = {key: growing.seen() for key, growing in self._series.items()}
            return view_of(run, self._events, self._last_ms, GrownSource(seen, self._latencies))

    def _read_ticks(self, run: RunFile) -> None:
        ticks = run.live_ticks(after=self._last_tick)
        if any(series not in self._names for tick in ticks for series, _, _ in tick.samples):
            self._names = run.series_numbers()
        for tick in ticks:
            if tick.number < 0 and tick.number in self._late_ticks:
                continue
            if tick.number < 0:
                self._late_ticks.add(tick.number)
            self._last_tick = max(self._last_tick, tick.number)
            self._last_ms = max(self._last_ms, tick.t_ms)
            for series, t_ms, value in tick.samples:
                self._series.setdefault(self._names[series], _Growing()).append(t_ms, value)

    def _read_events(self, run: RunFile) -> None:
        fresh = run.numbered_events(after_id=self._last_event)
        if fresh:
            self._last_event = fresh[-1][0]
            self._events += tuple(event for _, event in fresh)
