"""Follow a whole campaign from its folder: whether it runs, its progress, the current run, earlier runs."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Protocol

import numpy as np

from app.campaign_file.reader import load_campaign
from app.domain.campaign.configuration import Campaign, DiskTarget, as_begun, interleaved_order
from app.domain.errors import FootingError, RunFileError
from app.domain.run import Phase, RunState
from app.domain.text import tr
from app.execution.disks.session import DiskEnding, read_disk_ending
from app.execution.resume.begun import RunLengths, attempt_of
from app.library.entries import CAMPAIGN_NAME, is_live
from app.live.snapshot import (
    QUIET_S,
    LiveNumbers,
    LogLine,
    RunSnapshot,
    RunSource,
    SnapshotContext,
    take_snapshot,
)
from app.runfile.metadata.typed_json import NotKnown, known, or_none
from app.runfile.reader import CommandRecord, RunEvent, RunFile
from app.runfile.series import Array, GrownSource, LatencySeries, RunData, SeriesKey, load_run_data, view_of
from app.runfile.summary import summarise
from app.runfile.writer import SUFFIX

# Read the progress of a campaign from its folder alone, whether it runs, has ended or has crashed.


_BENCHMARK: Final = (Phase.WARM_UP, Phase.PART, Phase.MEASURE)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RunStatus:
    """One planned run of a campaign.

    Attributes:
        number: 1-based position in the order of the campaign.
        configuration: its name.
        repeat: 0-based repeat of the configuration.
        state: None if it has not started.
        path: of the newest run file with this number; None if there is none.
        name: as in the run file, or as it will be.
        tps: mean of the measured phase, once it has ended.
        measured: whether the phase `measure` was reached.
        left_out: whether it is skipped, because an earlier run of its configuration could not start.
        started_epoch_s: its start.
        length_s: from its start to the end of its teardown; None while it runs.
        before_benchmark_s: duration of preparation and loading; None if pgbench's clients have not started.
        problem: why it failed, or why its file cannot be read.
    """

    number: int
    configuration: str
    repeat: int
    state: RunState | None = None
    path: Path | None = None
    name: str = ""
    tps: float | None = None
    measured: bool = False
    left_out: bool = False
    started_epoch_s: float | None = None
    length_s: float | None = None
    before_benchmark_s: float | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class CampaignStatus:
    """A campaign at one moment.

    Attributes:
        name: of the campaign.
        folder: in the library.
        live: whether a runner is working on it.
        runs: all planned ones, in order.
        left_s: estimated remaining time; 0 if it has ended, None if unknown.
        problem: why its campaign file cannot be read; only started runs are then listed.
        disks: outcome for its spare disks; None if it has none, or still uses them.
    """

    name: str
    folder: Path
    live: bool
    runs: tuple[RunStatus, ...]
    left_s: float | None = None
    problem: str = ""
    disks: DiskEnding | None = None

    @property
    def current(self) -> RunStatus | None:
        """The current run."""
        return next((run for run in self.runs if run.state is RunState.RUNNING), None)

    @property
    def newest(self) -> RunStatus | None:
        """The current run, else the last one started."""
        begun = [run for run in self.runs if run.state is not None]
        return self.current or (begun[-1] if begun else None)

    @property
    def total(self) -> int:
        """The number of planned runs."""
        return len(self.runs)

    @property
    def done(self) -> int:
        """The number of runs that have ended in any way, or are skipped."""
        return sum(run.left_out or run.state not in {None, RunState.RUNNING} for run in self.runs)

    def share(self, now_s: float) -> float:
        """Return the share of its time that is over, from 0 to 1."""
        ended = sum(run.length_s or 0.0 for run in self.runs if run is not self.current)
        begun = self.current.started_epoch_s if self.current is not None else None
        over = ended + (0.0 if begun is None else max(0.0, now_s - begun))
        if not self.left_s or not over:
            return self.done / max(1, self.total)
        return over / (over + self.left_s)


class CampaignWatch:
    """Read the status of one campaign repeatedly; finished run files are opened once.

    Attributes:
        folder: of the campaign.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._campaign: Campaign | None = None
        self._problem = ""
        self._known: dict[Path, tuple[tuple[int, int, int], RunStatus]] = {}

    def read(self) -> CampaignStatus:
        """Return the status now.

        Raises:
            RunFileError: the folder is missing or cannot be read.
        """
        # Check first: a run that ends while the files are read must not look like a dead one.
        live = is_live(self.folder)
        files = _newest_by_number([self._status(path, live=live) for path in self._paths()])
        if self._campaign is None:
            self._load_campaign()
        if self._campaign is None:
            runs = tuple(files[number] for number in sorted(files))
            name = self.folder.name
        else:
            runs = tuple(_planned(self._campaign, files))
            name = self._campaign.name
        left_s = remaining_seconds(self._campaign, runs, time.time()) if live else 0.0
        disks = None if live else self._disk_ending(runs)
        return CampaignStatus(name, self.folder, live, runs, left_s, self._problem, disks)

    def _disk_ending(self, runs: Sequence[RunStatus]) -> DiskEnding | None:
        """Return the outcome for the disks of an ended campaign, or the prospect if its runner died."""
        ending = read_disk_ending(self.folder)
        targets = () if self._campaign is None else [each.target for each in self._campaign.configurations]
        died = any(run.state is RunState.INCOMPLETE for run in runs)
        if ending is not None or not died or not any(isinstance(each, DiskTarget) for each in targets):
            return ending
        return DiskEnding(
            free=tr(
                "The helper releases the disks of a dead runner by itself, without zeroing them. “pgfooting "
                "disks” and the wizard's disk page show whether they are free again."
            )
        )

    def _paths(self) -> list[Path]:
        try:
            return sorted(
                Path(entry.path) for entry in os.scandir(self.folder) if entry.name.endswith(SUFFIX)
            )
        except OSError as error:
            message = tr("{path} cannot be read: {reason}.")
            raise RunFileError(message.format(path=self.folder, reason=error.strerror)) from error

    def _load_campaign(self) -> None:
        try:
            self._campaign = as_begun(load_campaign(self.folder / CAMPAIGN_NAME))
            self._problem = ""
        except FootingError as error:  # also if a script of the workload is gone
            _log.debug("%s", self.folder, exc_info=error)
            self._problem = tr("The campaign file can no longer be read, so only the started runs are known.")

    def _status(self, path: Path, *, live: bool) -> RunStatus:
        state = RunState.RUNNING if live else RunState.INCOMPLETE
        try:
            found = path.stat()
        except OSError as error:
            return _unreadable(path, state, error.strerror or str(error))
        identity = (found.st_ino, found.st_size, found.st_mtime_ns)
        known = self._known.get(path)
        if known is not None and known[0] == identity:
            return known[1]
        try:
            with RunFile(path) as run:
                status = _read(path, run, state)
        except FootingError as error:
            return _unreadable(path, state, error.message)
        if status.state is not RunState.RUNNING:
            self._known[path] = (identity, status)
        return status


def remaining_seconds(
    campaign: Campaign | None, runs: Sequence[RunStatus], now_epoch_s: float
) -> float | None:
    """Return the estimated seconds that a running campaign still takes; None if unknown.

    Runs take as long as earlier ones of their configuration (`app.execution.resume.begun`); during the first
    one, its own preparation is added to the planned time.
    """
    if campaign is None:
        return None
    done = [run for run in runs if run.state is RunState.DONE]
    lengths = RunLengths(campaign, ((run.configuration, run.length_s) for run in done))
    begun = [run.before_benchmark_s for run in runs if run.before_benchmark_s is not None]
    left_s = 0.0
    for run in runs:
        if run.left_out or run.state not in {None, RunState.RUNNING}:
            continue
        planned_s = lengths.planned_seconds(run.configuration)
        whole_s = lengths.expected_seconds(run.configuration)
        if whole_s is None and planned_s is not None and begun:
            whole_s = planned_s + begun[-1]
        if whole_s is None:
            return None
        if planned_s is not None and run.before_benchmark_s is not None:
            # A slow preparation does not shorten the measurement.
            whole_s = max(whole_s, run.before_benchmark_s + planned_s)
        elapsed_s = 0.0 if run.started_epoch_s is None else now_epoch_s - run.started_epoch_s
        left_s += max(0.0, whole_s - max(0.0, elapsed_s))
    return left_s


def _planned(campaign: Campaign, files: Mapping[int, RunStatus]) -> list[RunStatus]:
    """Return every planned run: from its file, or as not started."""
    hopeless = {
        run.configuration for run in files.values() if run.state is RunState.FAILED and not run.measured
    }
    runs = []
    for planned in interleaved_order(campaign):
        name = planned.configuration.name
        title = name
        if campaign.repeats > 1:
            title = f"{name} #{planned.repeat + 1}"
        waiting = RunStatus(planned.number, name, planned.repeat, name=title, left_out=name in hopeless)
        found = files.get(planned.number, waiting)
        if found.configuration not in {"", name}:  # a file of another campaign was copied here
            found = waiting
        if not found.configuration:  # an unreadable file has no configuration
            found = RunStatus(
                planned.number, name, planned.repeat, found.state, found.path, title, problem=found.problem
            )
        runs.append(found)
    return runs


_REPLACES_DONE: Final = frozenset({RunState.RUNNING, RunState.DONE})


def _newest_by_number(found: Sequence[RunStatus]) -> dict[int, RunStatus]:
    """Return one run per number: failed or disturbed ones may have several attempts."""
    runs: dict[int, RunStatus] = {}
    for run in sorted(found, key=_attempt):  # not by time: the clock may have been set back
        before = runs.get(run.number)
        if before is None or before.state is not RunState.DONE or run.state in _REPLACES_DONE:
            runs[run.number] = run
    return runs


def _attempt(run: RunStatus) -> int:
    return 0 if run.path is None else attempt_of(run.path)


def _unreadable(path: Path, state: RunState, problem: str) -> RunStatus:
    """Return the status for a file that is being created, or is unreadable."""
    head = path.name.partition("-")[0]
    number = int(head) if head.isascii() and head.isdigit() else 0
    return RunStatus(number, "", 0, state, path, path.stem, problem=problem)


def _read(path: Path, run: RunFile, unfinished: RunState) -> RunStatus:
    metadata = run.metadata
    started, ended = or_none(metadata.started_epoch_s), or_none(metadata.ended_epoch_s)
    phases = run.phases()
    begun = [times.started_ms for times in phases if times.phase in _BENCHMARK]
    return RunStatus(
        number=known(metadata.number, 0),
        configuration=known(metadata.configuration, ""),
        repeat=known(metadata.repeat, 0),
        state=unfinished if known(metadata.state, RunState.RUNNING) == RunState.RUNNING else run.state,
        path=path,
        name=known(metadata.name, path.stem),
        tps=run.summary().get("tps"),
        measured=any(times.phase in {Phase.PART, Phase.MEASURE} for times in phases),
        started_epoch_s=started,
        length_s=None if started is None or ended is None else ended - started,
        before_benchmark_s=begun[0] / 1000 if begun else None,
        problem="" if isinstance(metadata.error, NotKnown) else metadata.error.sentences[0],
    )


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
            problem = tr("The runner of this run died, but everything measured so far is kept.")
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
            problem = tr("{path} was removed.").format(path=self.path)
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
            problem = tr("{path} was removed.").format(path=self.folder)
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
