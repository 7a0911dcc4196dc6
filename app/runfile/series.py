"""A run for charts and the live page: series and latency percentiles since the measured phase started.

`load_run_data` returns a run from its file and reads its series on demand; a growing file is followed by
`app.live.campaign_follower`. A `RunData` never changes; its samples come from a finished or a growing file.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Final, Generic, Protocol, TypeVar
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from app.domain.errors import CorruptRunFileError
from app.domain.run import Phase, RunState
from app.domain.text import tr
from app.runfile.disturbance import marks_of
from app.runfile.finalize import PERCENTS
from app.runfile.histogram_decoding import percentiles
from app.runfile.metadata.environment import counted_devices
from app.runfile.metadata.offered_load import LoadKind, offered_load
from app.runfile.metadata.run_metadata import PhaseMetadata, RunMetadata, read_moments
from app.runfile.metadata.typed_json import known, or_none
from app.runfile.reader import PhaseTimes, RunEvent, RunFile
from app.runfile.summary import figures_of
from app.runfile.writer import LatencySecond
from app.statistics.series import stalled_seconds

# Latency percentiles by the second, from the histograms of a run file, finished or growing.
#
# A second of a growing run may be read again: pgbench writes its log in blocks, and lines come late.


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


# Cache values read from run files while the files are unchanged: pages read the same runs in turn.


Signature = tuple[tuple[int, int, int], ...]
"""Changes when a file is written."""

Value = TypeVar("Value")


def signature_of(path: Path) -> Signature:
    """Return a value that changes when a file or its journal is written; empty if there is no file."""
    name = os.fspath(path)
    found = []
    with suppress(OSError):
        if os.path.islink(name):  # noqa: PTH114 - a thousand Paths would cost more than what they are asked
            name = os.path.realpath(name)
        for each in (name, name + "-wal"):
            known = os.stat(each)  # noqa: PTH116
            found.append((known.st_mtime_ns, known.st_size, known.st_ino))
    return tuple(found)


class FileCache(Generic[Value]):
    """Reads each file once while it is unchanged. Thread-safe.

    A value that is not final is read each time: the state of a running run depends on its runner, not on its
    file alone.

    Attributes:
        most: number of values kept without other references; referenced ones are always kept.
    """

    def __init__(self, read: Callable[[Path], Value], most: int, is_final: Callable[[Value], bool]) -> None:
        self.most = most
        self._read = read
        self._is_final = is_final
        self._lock = threading.Lock()
        self._held: WeakValueDictionary[tuple[str, Signature], Value] = WeakValueDictionary()
        self._newest: OrderedDict[tuple[str, Signature], Value] = OrderedDict()

    def __call__(self, path: Path) -> Value:
        """Return the file's value; errors of reading it propagate, and are not cached."""
        key = os.fspath(path), signature_of(path)
        with self._lock:
            value = self._held.get(key)
        if value is None:
            value = self._read(path)
        if key[1] and self._is_final(value):
            with self._lock:
                self._held[key] = value
                self._newest[key] = value
                self._newest.move_to_end(key)
                while len(self._newest) > self.most:
                    self._newest.popitem(last=False)
        return value


SeriesKey = tuple[str, str]
"""Metric and instance."""

_NOTHING: Final = (np.empty(0), np.empty(0))


class SeriesSource(Protocol):
    """Source of a run's samples; times in ms of the run's clock, ascending."""

    def samples(self, key: SeriesKey) -> tuple[Array, Array]:
        """Return (t_ms, values); empty if there is no such series."""

    def keys(self) -> tuple[SeriesKey, ...]:
        """Return every series."""

    def percentile(self, percent: float) -> tuple[Array, Array]:
        """Return (end of second in ms, latency in ms)."""

    def partial_ends_ms(self) -> Array:
        """Return the ends of the seconds with possibly incomplete percentiles."""

    def load(self, keys: Iterable[SeriesKey], percents: Collection[float]) -> None:
        """Read several series at once, to save later calls from disk access."""


class FileSource:
    """Samples of a finished file; each series is read once. Thread-safe."""

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
        """Return (end of second in ms, latency in ms): as stored if available, else from the histograms."""
        with self._lock:
            stored = self.samples((f"latency.p{percent:g}", ""))
            return stored if len(stored[0]) else self._latency_series().percentile(percent)

    def partial_ends_ms(self) -> Array:
        """Return the ends of the seconds with possibly incomplete percentiles."""
        with self._lock:
            if self._partial_ends_ms is None:
                with RunFile(self._path) as run:
                    begins_ms = np.array(run.partial_latency_seconds(), dtype=np.float64)
                self._partial_ends_ms = begins_ms + SECOND_MS
            return self._partial_ends_ms

    def load(self, keys: Iterable[SeriesKey], percents: Collection[float]) -> None:
        """Read all missing series, with one opening of the file."""
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
    """Contents of a growing file at one moment."""

    series: Mapping[SeriesKey, tuple[Array, Array]]
    latencies: LatencySeries

    def samples(self, key: SeriesKey) -> tuple[Array, Array]:
        """Return (t_ms, values) at that moment."""
        return self.series.get(key, _NOTHING)

    def keys(self) -> tuple[SeriesKey, ...]:
        """Return every series with samples."""
        return tuple(self.series)

    def percentile(self, percent: float) -> tuple[Array, Array]:
        """Return (end of second in ms, latency in ms), including late lines."""
        return self.latencies.percentile(percent)

    def partial_ends_ms(self) -> Array:
        """Return the ends of the seconds with possibly incomplete percentiles."""
        return self.latencies.partial_ends_ms()

    def load(self, keys: Iterable[SeriesKey], percents: Collection[float]) -> None:
        """Everything is in memory already."""


TPS: Final[SeriesKey] = ("pgbench.tps", "")
MEAN_S: Final = 15.0
WIDTHS_S: Final = (2.0, 5.0, MEAN_S, 30.0, 60.0, 120.0, 300.0)
"""Widths of the running means in charts, seconds, `MEAN_S` by default; statistics never use them."""
_MEANS_IN_SIGHT: Final = 60
"""Least number of running means that fit side by side into the shown time, if it is long enough."""

_FEWEST_FOR_STALLS: Final = 10
_EDGE_S: Final = 0.5
"""pgbench's last second and a tick at the edge may come this late after the end of a phase."""
_BENCHMARKS: Final = frozenset({Phase.WARM_UP, Phase.MAINTENANCE, Phase.PART, Phase.MEASURE})
"""Phases that charts show."""


@dataclass(frozen=True, slots=True)
class PhaseRegion:
    """A phase of a workload with several on the axis of a chart.

    Attributes:
        label: for users.
        start_s: since the start of the phase that gives the run's figures.
        end_s: end, or the latest known time.
        counts: its figures are compared.
    """

    label: str
    start_s: float
    end_s: float
    counts: bool = True


@dataclass(frozen=True)
class RunData:
    """A run, or its first part.

    Attributes:
        path: of the run file.
        id: hexadecimal identity.
        name: configuration and repeat.
        campaign: its name; empty if there is none.
        state: as stored; the library knows whether a running one still has its runner.
        marks: kinds of labels, such as unsafe.
        metadata: of the run file.
        phases: so far.
        measure_start_ms: start of the measured phase on the run's clock; None before it.
        planned_s: planned length of the measured phase; None if it ends after a number of transactions.
        duration_s: length of the measured phase so far.
        events: so far, in order.
        summary: figures of `app.runfile.summary`; empty while the run lasts.
        marks_with_reasons: (kind, reason) labels.
        last_ms: the latest known time of the run's clock.
        devices: those of the series ``storage.*``, in a few words; empty if unknown.
    """

    path: Path
    id: str
    name: str
    campaign: str
    state: RunState
    marks: tuple[str, ...]
    metadata: RunMetadata = field(repr=False)
    phases: tuple[PhaseTimes, ...] = field(repr=False)
    measure_start_ms: int | None
    planned_s: float | None
    duration_s: float
    events: tuple[RunEvent, ...] = field(repr=False)
    summary: Mapping[str, float | None] = field(repr=False)
    marks_with_reasons: tuple[tuple[str, str], ...] = field(repr=False)
    last_ms: float
    source: SeriesSource = field(repr=False, compare=False)
    devices: str = ""

    @property
    def limits(self) -> Mapping[str, float]:
        """Capabilities of its storage, by metric; empty without a baseline."""
        baseline = or_none(self.metadata.io_baseline)
        return {} if baseline is None else baseline.limits

    @cached_property
    def origin_ms(self) -> float:
        """Time 0 of every series: the start of the measured phase, before it the earliest possible start."""
        if self.measure_start_ms is not None:
            return float(self.measure_start_ms)
        warm_up_ms = 1000 * known(self.metadata.workload.warmup_s, 0.0)
        started = next((times.started_ms for times in self.phases if times.phase in _BENCHMARKS), None)
        return (self.last_ms if started is None else started) + warm_up_ms

    @property
    def is_closed_loop(self) -> bool:
        """Whether its latencies ignore the waiting of delayed transactions."""
        return offered_load(self.metadata).kind is LoadKind.CLOSED

    @property
    def begin_s(self) -> float:
        """Start of the warm-up, else of the first measured phase; at most 0."""
        started = [times.started_ms for times in self.phases if times.phase in _BENCHMARKS]
        return min(0.0, (started[0] - self.origin_ms) / 1000) if started else 0.0

    @property
    def end_s(self) -> float:
        """The latest known time, at most the end of the last measured phase."""
        return min((self.last_ms - self.origin_ms) / 1000, self._measure_end_s)

    def series_keys(self) -> tuple[SeriesKey, ...]:
        """Return (metric, instance) of every series."""
        return self.source.keys()

    def series(self, metric: str, instance: str = "") -> tuple[Array, Array]:
        """Return (t_s, values) up to the end of the measured phase.

        t_s is the end of a value's interval; load and warm-up are negative.

        Raises:
            RunFileError: the file can no longer be read.
        """
        return self._seen(*self.source.samples((metric, instance)))

    def percentile(self, percent: float) -> tuple[Array, Array]:
        """Return (t_s, latency in ms) of every second with transactions, from all logged ones.

        Raises:
            RunFileError: the file can no longer be read, or a histogram is damaged.
        """
        return self._seen(*self.source.percentile(percent))

    def partial_seconds(self) -> Array:
        """Return the t_s of the seconds with possibly incomplete percentiles."""
        ends_ms = self.source.partial_ends_ms()
        return self._seen(ends_ms, ends_ms)[0]

    def stalls(self) -> list[tuple[float, float]]:
        """Return (start_s, end_s) of the stalled measured seconds, adjacent ones joined.

        As defined by `app.statistics.series.stalled_seconds`.
        """
        t_s, tps = self.series(*TPS)
        measured = (t_s > 0) & (t_s <= self.duration_s + _EDGE_S)
        t_s, tps = t_s[measured], tps[measured]
        if len(tps) < _FEWEST_FOR_STALLS:
            return []
        stalled = stalled_seconds(tps)
        edges = np.flatnonzero(np.diff(np.concatenate(([False], stalled, [False])).astype(np.int8)))
        before = np.concatenate(([0.0], t_s[:-1]))
        return [
            (float(before[first]), float(t_s[end - 1]))
            for first, end in zip(edges[::2], edges[1::2], strict=True)
        ]

    def checkpoints(self) -> list[tuple[float, float, RunEvent]]:
        """Return (start_s, end_s, event) of the checkpoints; an unfinished one ends at the latest known time.

        The event is that of the end, with the server's figures, else that of the start.
        """
        found: list[tuple[float, float, RunEvent]] = []
        started: RunEvent | None = None
        for event in self.events:
            if event.kind == "checkpoint-start":
                started = event
            elif event.kind == "checkpoint-complete":
                begin = event if started is None else started
                found.append((self._t_s(begin.t_ms), self._t_s(event.t_ms), event))
                started = None
        if started is not None:
            found.append((self._t_s(started.t_ms), self._t_s(self.last_ms), started))
        return [each for each in found if self.begin_s <= each[1] and each[0] <= self._measure_end_s]

    @cached_property
    def notes(self) -> tuple[tuple[float, str], ...]:
        """Time in s and words of the lines of the user's note that are about a moment."""
        return read_moments(known(self.metadata.note, ""))

    def until(self, t_s: float) -> RunData:
        """Return the same run as at `t_s`, for replay; time 0 does not move."""
        end_ms = self.origin_ms + 1000 * t_s
        if end_ms >= self.last_ms:
            return self
        phases = tuple(
            replace(times, ended_ms=None if (times.ended_ms or end_ms) >= end_ms else times.ended_ms)
            for times in self.phases
            if times.started_ms <= end_ms
        )
        return replace(
            self,
            state=RunState.RUNNING,
            phases=phases,
            duration_s=min(self.duration_s, max(0.0, t_s)),
            events=tuple(event for event in self.events if event.t_ms <= end_ms),
            summary={},
            last_ms=end_ms,
        )

    def load(self, keys: Iterable[SeriesKey], percents: Collection[float] = ()) -> RunData:
        """Read these series now, in the calling thread, and return the run.

        Raises:
            RunFileError: the file can no longer be read.
        """
        self.source.load(keys, percents)
        return self

    def _t_s(self, t_ms: float) -> float:
        return (t_ms - self.origin_ms) / 1000

    @cached_property
    def _measure_end_s(self) -> float:
        """End of the last measured phase; infinite while more may come."""
        ended = [times.ended_ms for times in self.phases if times.phase in {Phase.PART, Phase.MEASURE}]
        has_measured = any(times.phase is Phase.MEASURE for times in self.phases)
        is_over = has_measured and self.phases[-1].phase not in _BENCHMARKS
        known = [self._t_s(each) for each in ended if each is not None]
        if not has_measured or len(known) < len(ended) or not (is_over or len(ended) == 1):
            return float("inf")
        return max(known)

    @property
    def regions(self) -> tuple[PhaseRegion, ...]:
        """The phases of a workload with several, in order; empty for a run with one phase."""
        phases = known(self.metadata.phases, ())
        parts = {each.number: each for each in phases}
        own = next((each.number for each in phases if each.is_own), 0)
        found = []
        for times in self.phases if phases else ():
            if times.phase in {Phase.PART, Phase.MEASURE}:
                part = parts.get(times.number or own, PhaseMetadata())
                end_ms = self.last_ms if times.ended_ms is None else float(times.ended_ms)
                start_s, end_s = self._t_s(times.started_ms), self._t_s(end_ms)
                found.append(PhaseRegion(part.label, start_s, end_s, part.counts))
        return tuple(found)

    def _seen(self, t_ms: Array, values: Array) -> tuple[Array, Array]:
        last_ms = min(self.last_ms, self.origin_ms + 1000 * (self._measure_end_s + _EDGE_S))
        count = int(np.searchsorted(t_ms, last_ms, side="right"))
        return (t_ms[:count] - self.origin_ms) / 1000, values[:count]


def mean_width(span_s: float) -> float:
    """Return the width of the running means, in s, for a shown time span."""
    return next((width for width in WIDTHS_S if width * _MEANS_IN_SIGHT >= span_s), WIDTHS_S[-1])


def running_mean(t_s: Array, values: Array, width_s: float = MEAN_S) -> Array:
    """Return the mean over `width_s` centred on each time; at the ends over the available values.

    A mean never crosses time 0: warm-up and measured phase are two runs of pgbench.
    """
    half = width_s / 2
    begins = np.searchsorted(t_s, np.where(t_s > 0, np.maximum(t_s - half, 1e-9), t_s - half), side="left")
    ends = np.searchsorted(t_s, np.where(t_s > 0, t_s + half, np.minimum(t_s + half, 0.0)), side="right")
    sums = np.concatenate(([0.0], np.cumsum(values)))
    means: Array = (sums[ends] - sums[begins]) / np.maximum(1, ends - begins)
    return means


def load_run_data(path: Path) -> RunData:
    """Return a run from its file; series are read on demand.

    Raises:
        RunFileError: the file is not a run file, damaged or unreadable.
    """
    with RunFile(path) as run:
        last_ms = float(max((times.ended_ms or times.started_ms for times in run.phases()), default=0))
        if any(times.ended_ms is None for times in run.phases()):
            last_ms = max(last_ms, _last_tick_ms(run))
        return view_of(run, run.events(), last_ms, FileSource(path))


kept_run_data: Final = FileCache(
    load_run_data, most=0, is_final=lambda run: run.state is not RunState.RUNNING
)
"""The same for a run that is already shown, with the series read for that."""


def _last_tick_ms(run: RunFile) -> float:
    ticks = run.ticks()
    return float(ticks[-1, 1]) if len(ticks) else 0.0


def view_of(run: RunFile, events: tuple[RunEvent, ...], last_ms: float, source: SeriesSource) -> RunData:
    """Return a run from the small tables of its file, with its samples in `source`."""
    metadata, phases, marks = run.metadata, run.phases(), marks_of(run)
    measured = next((times for times in phases if times.phase is Phase.MEASURE), None)
    end_ms = last_ms if measured is None or measured.ended_ms is None else float(measured.ended_ms)
    return RunData(
        path=run.path,
        id=known(metadata.id, ""),
        name=known(metadata.name, run.path.stem),
        campaign=known(metadata.campaign, ""),
        state=_state(metadata),
        marks=tuple(sorted({kind for kind, _ in marks})),
        metadata=metadata,
        phases=phases,
        measure_start_ms=None if measured is None else measured.started_ms,
        planned_s=or_none(metadata.workload.duration_s) or None,
        duration_s=0.0 if measured is None else max(0.0, (end_ms - measured.started_ms) / 1000),
        events=events,
        summary=figures_of(run),
        marks_with_reasons=marks,
        last_ms=last_ms,
        source=source,
        devices=counted_devices(run.environment),
    )


def _state(metadata: RunMetadata) -> RunState:
    state = known(metadata.state, "")
    try:
        return RunState(state)
    except ValueError as error:
        message = tr("The run file is damaged: {state} is not a state of a run.")
        raise CorruptRunFileError(message.format(state=state)) from error
