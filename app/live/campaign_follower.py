"""Follow a whole campaign: its progress, the current run, and earlier runs."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Protocol

import numpy as np

from app.domain.errors import FootingError, RunFileError
from app.domain.run import RunState
from app.domain.text import tr
from app.library.entries import is_live
from app.live.campaign_status import CampaignStatus, CampaignWatch, RunStatus
from app.live.snapshot import (
    QUIET_S,
    LiveNumbers,
    LogLine,
    RunSnapshot,
    RunSource,
    SnapshotContext,
    take_snapshot,
)
from app.runfile.latency_series import LatencySeries
from app.runfile.metadata.typed_json import or_none
from app.runfile.reader import CommandRecord, RunEvent, RunFile
from app.runfile.series import Array, GrownSource, RunData, SeriesKey, load_run_data, view_of
from app.runfile.summary import summarise


class _Growing:
    """One growing series; results of `seen` do not change when values are added."""

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
        """Insert a late sample; an existing one at the same time wins, as in the file."""
        t, v = self.seen()
        place = int(np.searchsorted(t, t_ms))
        if t[place] != t_ms:
            self._t_ms, self._values = np.insert(t, place, t_ms), np.insert(v, place, value)
            self._count += 1

    def seen(self) -> tuple[Array, Array]:
        return self._t_ms[: self._count], self._values[: self._count]


class GrowingRun:
    """Follow one run file. All methods belong to one thread.

    Attributes:
        path: of the file; may be a symbolic link that is later replaced by the finished file.
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
        """Read the file, and return the run so far.

        A finished file is loaded like any other.

        Raises:
            RunFileError: the file is missing, damaged or unreadable.
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
            self._names = {number: key for key, number in run.series_numbers().items()}
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


__all__ = ["LiveNumbers", "LogLine", "RunFollower", "RunSnapshot", "RunSource"]


class RunFollower:
    """Follow one run file; all methods belong to one thread at a time.

    The file may be a symbolic link to memory that is replaced by the finished file. The lock of the
    campaign's folder shows whether its runner is alive.

    Attributes:
        path: of the run file, under its name in the library.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._growing = GrowingRun(path)
        self._last: RunSnapshot | None = None
        self._commands: tuple[CommandRecord, ...] = ()
        self._commands_at: tuple[object, ...] = ()

    def poll(self) -> RunSnapshot:
        """Return the run as it is now.

        Raises:
            RunFileError: the file could not be read, now or before.
        """
        if self._last is not None and self._last.finished:
            return self._last
        # Check the lock before reading: a run that ends in between must not look like a dead one.
        live = is_live(self.path.parent)
        try:
            snapshot = self._read(live=live)
        except RunFileError as error:
            snapshot = self._unreadable(error, live=live)
        self._last = snapshot
        return snapshot

    def _read(self, *, live: bool) -> RunSnapshot:
        try:
            data = self._growing.refresh()
        except RunFileError:
            data = self._growing.refresh()  # the file moved between finding the link and following it
        state = data.state
        if state is RunState.RUNNING and not live:
            state = RunState.INCOMPLETE
            data = replace(data, state=state, summary=data.summary or self._summarise())
        now_ms = self._now_ms(data) if state is RunState.RUNNING else data.last_ms
        silent_s = (now_ms - data.last_ms) / 1000
        problem = ""
        if state is RunState.INCOMPLETE:
            problem = tr("The runner of this run died. Everything measured until then is kept.")
        quiet_s = silent_s if silent_s > QUIET_S else 0.0
        return take_snapshot(
            data, SnapshotContext(now_ms, state, quiet_s, problem), self._read_commands(data)
        )

    def _now_ms(self, data: RunData) -> float:
        """Return the current time on the run's clock, by the wall clock: not before the file's latest."""
        started = or_none(data.metadata.started_epoch_s)
        if started is None:
            return data.last_ms
        return max(data.last_ms, 1000 * (time.time() - started))

    def _summarise(self) -> dict[str, float | None]:
        """Return the figures of a run without a summary, because it was never finished."""
        with RunFile(self.path) as run:
            return summarise(run)

    def _read_commands(self, data: RunData) -> tuple[CommandRecord, ...]:
        """Return the executed programs; read only when a phase starts, because they end then."""
        moment = (len(data.phases), data.state)
        if moment != self._commands_at:
            with RunFile(self.path) as run:
                self._commands = run.commands()
            self._commands_at = moment
        return self._commands

    def _unreadable(self, error: RunFileError, *, live: bool) -> RunSnapshot:
        """Return the last snapshot with the error; it is final if the file is gone.

        Raises:
            RunFileError: there is no last snapshot.
        """
        if self._last is None:
            raise error
        if self.path.exists():
            if live:  # it may become readable soon
                return replace(self._last, problem=error.message)
            problem = error.message
        elif self.path.is_symlink():
            problem = tr("The run file {path} was kept in memory and has disappeared.").format(path=self.path)
        else:
            problem = tr("The run file {path} was removed while it was being read.").format(path=self.path)
        state = RunState.INCOMPLETE if self._last.state is RunState.RUNNING else self._last.state
        return replace(
            self._last,
            state=state,
            data=replace(self._last.data, state=state),
            finished=True,
            command="",
            quiet_s=0.0,
            numbers=LiveNumbers(),
            problem=problem,
        )


PERCENTS: Final = (50.0, 95.0, 99.0)


@dataclass(frozen=True, slots=True)
class EarlierRun:
    """An earlier run of the campaign that is followed.

    Attributes:
        status: its status.
        data: with the series of charts loaded.
    """

    status: RunStatus
    data: RunData


@dataclass(frozen=True, slots=True)
class LiveState:
    """The content of the live page at one moment.

    Attributes:
        run: the current or replayed run, else the last one; None before the first starts.
        status: of the campaign; None for a single run.
        earlier: the other measured runs of the campaign, in order.
        ended: whether nothing more will come.
        problem: of the campaign as a whole.
    """

    run: RunSnapshot | None = None
    status: CampaignStatus | None = None
    earlier: tuple[EarlierRun, ...] = ()
    ended: bool = False
    problem: str = ""


class LiveSource(Protocol):
    """Source of all data of the live page; polled outside of the GUI thread, one poll at a time."""

    def poll(self) -> LiveState:
        """Return the current state.

        Raises:
            FootingError: there is nothing yet, or nothing was ever readable.
        """


class SingleRun:
    """A source with one run and no campaign: a replay, or a growing run file.

    Attributes:
        source: of the run.
    """

    def __init__(self, source: RunSource) -> None:
        self.source = source

    def poll(self) -> LiveState:
        """Return the run as it is now.

        Raises:
            FootingError: from the source.
        """
        run = self.source.poll()
        return LiveState(run, ended=run.finished)


class CampaignFollower:
    """Follow a campaign folder from run to run.

    Attributes:
        folder: of the campaign.
    """

    def __init__(self, folder: Path, metrics: Iterable[str] = ()) -> None:
        """Start following.

        Args:
            folder: of the campaign.
            metrics: ids of metrics with series to preload for earlier runs, outside of the GUI thread.
        """
        self.folder = folder
        self._metrics = frozenset(metrics)
        self._watch = CampaignWatch(folder)
        self._follower: RunFollower | None = None
        self._earlier: dict[Path, RunData] = {}
        self._last = LiveState()

    def poll(self) -> LiveState:
        """Return the campaign as it is now.

        Raises:
            RunFileError: its folder could not be read, now or before.
        """
        try:
            status = self._watch.read()
        except RunFileError as error:
            return self._gone(error)
        run = self._poll_run(status.newest)
        here = run.data.path if run is not None else None
        earlier = tuple(
            EarlierRun(each, data)
            for each in status.runs
            if each.path is not None and each.path != here and (data := self._data_of(each)) is not None
        )
        self._last = LiveState(run, status, earlier, ended=not status.live, problem=status.problem)
        return self._last

    def _poll_run(self, newest: RunStatus | None) -> RunSnapshot | None:
        if newest is None or newest.path is None:
            self._follower = None
            return None
        if self._follower is None or self._follower.path != newest.path:
            self._follower = RunFollower(newest.path)
        try:
            return self._follower.poll()
        except RunFileError:
            return None  # it is being created, or damaged: the status shows which

    def _data_of(self, run: RunStatus) -> RunData | None:
        """Return an ended run with measurements, with its series loaded."""
        if run.path is None or not run.measured or run.state in {None, RunState.RUNNING}:
            return None
        known = self._earlier.get(run.path)
        if known is not None and known.state is run.state:
            return known
        try:
            data = load_run_data(run.path)
            data.load([key for key in data.series_keys() if key[0] in self._metrics], PERCENTS)
        except FootingError:
            return None  # removed or damaged since: only this earlier run is missing
        if run.state is not None:
            data = replace(data, state=run.state)
        self._earlier[run.path] = data
        return data

    def _gone(self, error: RunFileError) -> LiveState:
        """Return the last state with the error: the folder was removed.

        Raises:
            RunFileError: there was none.
        """
        if self._last.status is None:
            raise error
        run = self._last.run
        if run is not None and not run.finished:
            problem = tr("The campaign folder {path} was removed.").format(path=self.folder)
            state = RunState.INCOMPLETE
            run = replace(
                run,
                data=replace(run.data, state=state),
                state=state,
                finished=True,
                command="",
                problem=problem,
            )
        status = replace(self._last.status, live=False, left_s=0.0)
        self._last = replace(self._last, run=run, status=status, ended=True, problem=error.message)
        return self._last
