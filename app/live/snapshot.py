"""One snapshot of a watched run; a replay of a recorded one looks the same to the page that shows it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Protocol

import numpy as np

from app.analysis.facts import command_line
from app.domain.campaign.configuration import Caches
from app.domain.run import Phase, PhaseName, RunState
from app.domain.step_progress import StepProgress
from app.domain.text import format_duration, tr
from app.runfile.metadata.run_metadata import PhaseMetadata, RunningCommand
from app.runfile.metadata.typed_json import Known, NotKnown, known, or_none
from app.runfile.reader import CommandRecord, RunFile
from app.runfile.series import RunData, load_run_data

STALE_S: Final = 3.5
"""An older number is not shown as the latest: pgbench and the sampler report every second."""

QUIET_S: Final = 5.0
"""Without a new second for this long while pgbench runs, the page reports silence."""

_SAMPLED: Final = frozenset({Phase.WARM_UP, Phase.PART, Phase.MEASURE})


@dataclass(frozen=True, slots=True)
class LiveNumbers:
    """The latest values; None if there is none of the last seconds.

    Attributes:
        tps: transactions per second.
        p99_ms: 99th percentile of latency of the newest complete second.
        latency_ms: mean latency.
        iops: reads and writes of the disks under the data directory.
        flushes: of these disks, per second.
        cpu_server: cores that PostgreSQL uses.
        cpu_pgbench: cores that pgbench uses.
        cpu_iowait: cores idle with I/O outstanding.
        wal_bytes: per second.
    """

    tps: float | None = None
    p99_ms: float | None = None
    latency_ms: float | None = None
    iops: float | None = None
    flushes: float | None = None
    cpu_server: float | None = None
    cpu_pgbench: float | None = None
    cpu_iowait: float | None = None
    wal_bytes: float | None = None


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line of the log drawer.

    Attributes:
        t_ms: on the run's clock.
        kind: of the event; `command` for an executed program.
        text: one or several lines.
    """

    t_ms: int
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class RunSnapshot:
    """A run at one moment.

    Attributes:
        data: so far.
        phase: the current one, else the last one.
        phase_elapsed_s: since its start.
        phase_planned_s: its length, if the campaign states it.
        state: actual one: a run recorded as running without a runner is incomplete.
        numbers: the latest.
        command: the current command line, else the current activity in words.
        finished: whether nothing more will come.
        log: all events, in order.
        quiet_s: time without new data while pgbench runs; 0 if all is well.
        problem: why it failed, or why it is no longer readable.
        phase_label: shown name of the phase, of a workload with several; else empty.
    """

    data: RunData
    phase: Phase
    phase_elapsed_s: float
    phase_planned_s: float | None
    state: RunState
    numbers: LiveNumbers
    command: str
    finished: bool
    log: tuple[LogLine, ...] = ()
    quiet_s: float = 0.0
    problem: str = ""
    phase_label: str = ""


class RunSource(Protocol):
    """Source of the live page's run."""

    def poll(self) -> RunSnapshot:
        """Return the run as it is now; may read files, so do not call it in the GUI thread.

        Raises:
            FootingError: there is no run yet, or it was never readable.
        """


@dataclass(frozen=True, slots=True)
class SnapshotContext:
    """The parts of a snapshot that the run itself does not show.

    Attributes:
        now_ms: time on the run's clock.
        state: actual one, see `RunSnapshot.state`.
        quiet_s: see there.
        problem: see there; empty for that of the run file.
        replayed: whether running commands are known; a live run stores only ended ones.
    """

    now_ms: float
    state: RunState
    quiet_s: float = 0.0
    problem: str = ""
    replayed: bool = False


def take_snapshot(data: RunData, moment: SnapshotContext, commands: Sequence[CommandRecord]) -> RunSnapshot:
    """Return the snapshot of a run; reads no file if the series of `numbers` are in memory."""
    newest, started_ms, ended_ms = _phase(data)
    phase, part = newest.phase, _part_of(data, newest)
    now_ms = moment.now_ms if ended_ms is None else float(ended_ms)
    finished = moment.state is not RunState.RUNNING
    running = next((line for line in commands if moment.replayed and _lasts(line, now_ms)), None)
    return RunSnapshot(
        data=data,
        phase=phase,
        phase_elapsed_s=max(0.0, (now_ms - started_ms) / 1000),
        phase_planned_s=planned_seconds_of(data, phase) if part is None else _planned_seconds(part),
        state=moment.state,
        numbers=latest_numbers(data),
        command="" if finished else _command_text(data, newest, running),
        phase_label="" if part is None else part.label,
        finished=finished,
        log=_log_lines(data, commands, moment.now_ms),
        quiet_s=moment.quiet_s if phase in _SAMPLED and not finished else 0.0,
        problem=moment.problem or _error_text(data),
    )


def planned_seconds_of(data: RunData, phase: Phase) -> float | None:
    """Return the length of a phase, if the campaign states it."""
    if phase is Phase.MEASURE:
        return data.planned_s
    if phase is Phase.WARM_UP:
        return or_none(data.metadata.workload.warmup_s)
    return None


def _planned_seconds(part: PhaseMetadata) -> float | None:
    return or_none(part.workload.duration_s) or None


def _part_of(data: RunData, name: PhaseName) -> PhaseMetadata | None:
    """Return the run's metadata of a phase, for a workload with several; None for any other phase."""
    if name.phase not in {Phase.PART, Phase.MEASURE}:
        return None
    phases = known(data.metadata.phases, ())
    return next(
        (each for each in phases if (each.number == name.number) or (each.is_own and not name.number)), None
    )


def latest_numbers(data: RunData) -> LiveNumbers:
    """Return the latest values of the last seconds of a run.

    Raises:
        RunFileError: the file is no longer readable.
    """
    reads, writes = _latest(data, "storage.reads"), _latest(data, "storage.writes")
    return LiveNumbers(
        tps=_latest(data, "pgbench.tps"),
        p99_ms=_latest_p99(data),
        latency_ms=_latest(data, "pgbench.latency_mean"),
        iops=_sum(reads, writes),
        flushes=_latest(data, "storage.flushes"),
        cpu_server=_process(data, "postgres"),
        cpu_pgbench=_process(data, "pgbench"),
        cpu_iowait=_latest(data, "cpu.iowait"),
        wal_bytes=_latest(data, "wal.bytes"),
    )


def _now_s(data: RunData) -> float:
    return (data.last_ms - data.origin_ms) / 1000


def _latest(data: RunData, metric: str, instance: str = "") -> float | None:
    t_s, values = data.series(metric, instance)
    if not len(t_s) or _now_s(data) - t_s[-1] > STALE_S or not np.isfinite(values[-1]):
        return None
    return float(values[-1])


def _latest_p99(data: RunData) -> float | None:
    """Return the newest second's percentile, complete except for lines that pgbench still buffers."""
    t_s, values = data.percentile(99.0)
    if len(t_s) > 1 and t_s[-1] in data.partial_seconds():
        t_s, values = t_s[:-1], values[:-1]  # the newest second is incomplete
    if not len(t_s) or _now_s(data) - t_s[-1] > STALE_S:
        return None
    return float(values[-1])


def _process(data: RunData, program: str) -> float | None:
    return _sum(_latest(data, "process.cpu_user", program), _latest(data, "process.cpu_system", program))


def _sum(*parts: float | None) -> float | None:
    known = [part for part in parts if part is not None]
    return sum(known) if known else None


def _phase(data: RunData) -> tuple[PhaseName, float, int | None]:
    """Return the newest phase with its start and end in ms."""
    if not data.phases:
        return PhaseName(Phase.PREPARE), 0.0, None
    newest = data.phases[-1]
    return newest.name, float(newest.started_ms), newest.ended_ms


def _lasts(command: CommandRecord, now_ms: float) -> bool:
    return command.started_ms <= now_ms < command.started_ms + command.duration_ms


def _command_text(data: RunData, newest: PhaseName, running: CommandRecord | None) -> str:
    if running is not None:
        return " ".join(running.argv)
    started = data.metadata.running_command
    if not isinstance(started, NotKnown) and started.phase == newest.text:
        return _with_progress(started, data.metadata.storage_step)
    return what_happens(data, newest.phase)


def _with_progress(running: RunningCommand, step: Known[StepProgress]) -> str:
    """Return a command, with its progress if it is root's latest step."""
    text = " ".join(running.argv)
    if not running.step or isinstance(step, NotKnown) or step.number != running.step:
        return text
    shown = f"{step.number}/{step.count} {text}"
    if step.fraction is None:
        return shown
    shown = f"{shown}  {100 * step.fraction:.0f} %"
    if step.left_s is None:
        return shown
    return f"{shown}, " + tr("about {time} left").format(time=format_duration(step.left_s))


def what_happens(data: RunData, phase: Phase) -> str:
    """Return the activity of a phase of this run, as text."""
    metadata = data.metadata
    workload = metadata.workload
    if phase is Phase.BASELINE:
        return tr("fio and pg_test_fsync benchmark the raw storage")
    if phase is Phase.PREPARE:
        return tr("checking the machine and preparing {path}").format(path=known(metadata.target.path, ""))
    if phase is Phase.INITDB:
        return tr("initdb of PostgreSQL {version}").format(version=known(metadata.installation.version, ""))
    if phase is Phase.LOAD:
        return f"pgbench --initialize --scale={or_none(metadata.scale) or '?'}"
    if phase in _SAMPLED:
        return tr("pgbench: {scripts}, clients {clients}, threads {threads}, protocol {protocol}").format(
            scripts=known(workload.label, ""),
            clients=or_none(workload.clients) or "",
            threads=or_none(workload.threads) or "",
            protocol=known(workload.protocol, ""),
        )
    settling = tr("checkpoint, so that measuring begins without dirty pages")
    if workload.caches == Caches.COLD:
        settling = tr("checkpoint, stopping the server, emptying the caches, starting it again")
    return {
        Phase.SETTLE: settling,
        Phase.MAINTENANCE: tr("maintenance before a phase"),
        Phase.COLLECT: tr("collecting facts and figures"),
    }.get(phase, tr("stopping the server and removing its data"))


def _log_lines(data: RunData, commands: Sequence[CommandRecord], now_ms: float) -> tuple[LogLine, ...]:
    lines = [LogLine(event.t_ms, event.kind, event.message) for event in data.events]
    lines += [
        LogLine(command.started_ms, "command", _command_line(command, now_ms))
        for command in commands
        if command.started_ms <= now_ms
    ]
    return tuple(sorted(lines, key=lambda line: line.t_ms))


def _command_line(command: CommandRecord, now_ms: float) -> str:
    text = command_line(command)
    if _lasts(command, now_ms) or command.exit_code == 0:
        return text
    return f"{text} (" + tr("exit status {status}").format(status=command.exit_code) + ")"


def _error_text(data: RunData) -> str:
    error = data.metadata.error
    return "" if isinstance(error, NotKnown) or data.state is RunState.RUNNING else error.text


# Replay a recorded run as if it were live: any speed, pause, jump.


SPEEDS: Final = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
"""Speeds offered by the window; any other positive speed is possible."""

LEAD_S: Final = 3.0
"""A jump to an event ends this long before it, so that its effect is visible."""


class ReplayClock:
    """A clock that advances on its own. Thread-safe: polled in another thread than controlled.

    Times are those of `RunData`: seconds since the start of the measured phase.

    Attributes:
        begin_s: start of the replay.
        end_s: end of the replay.
    """

    def __init__(
        self,
        begin_s: float,
        end_s: float,
        *,
        speed: float = 1.0,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """Start playing.

        Args:
            begin_s: start of the replay.
            end_s: end of the replay.
            speed: recorded seconds per second.
            clock_s: the clock, for tests.
        """
        self.begin_s = begin_s
        self.end_s = max(begin_s, end_s)
        self._clock_s = clock_s
        self._lock = threading.Lock()
        self._speed = self._checked(speed)
        self._paused = False
        self._position_s = self.begin_s
        self._since_s = clock_s()

    @property
    def speed(self) -> float:
        """Recorded seconds per second."""
        return self._speed

    @property
    def paused(self) -> bool:
        """Whether it was paused on request."""
        return self._paused

    @property
    def position_s(self) -> float:
        """The current position."""
        with self._lock:
            return self._now_s()

    @property
    def at_end(self) -> bool:
        """Whether everything has been played."""
        return self.position_s >= self.end_s

    def set_speed(self, speed: float) -> None:
        """Change the speed from here on.

        Raises:
            ValueError: the speed is not positive.
        """
        with self._lock:
            self._settle()
            self._speed = self._checked(speed)

    def step_speed(self, steps: int) -> None:
        """Move by `steps` in `SPEEDS`; negative is slower."""
        nearest = min(range(len(SPEEDS)), key=lambda place: abs(SPEEDS[place] - self._speed))
        self.set_speed(SPEEDS[min(max(nearest + steps, 0), len(SPEEDS) - 1)])

    def pause(self) -> None:
        """Pause."""
        with self._lock:
            self._settle()
            self._paused = True

    def resume(self) -> None:
        """Continue; at the end, restart from the beginning."""
        with self._lock:
            self._settle()
            if self._position_s >= self.end_s:
                self._position_s = self.begin_s
            self._paused = False

    def toggle(self) -> None:
        """Pause or continue."""
        if self.paused or self.at_end:
            self.resume()
        else:
            self.pause()

    def jump(self, t_s: float) -> None:
        """Jump to a time, within the limits."""
        with self._lock:
            self._position_s = min(max(t_s, self.begin_s), self.end_s)
            self._since_s = self._clock_s()

    def jump_to_next(self, moments_s: tuple[float, ...], *, backwards: bool = False) -> bool:
        """Jump to shortly before the next of some moments, or the previous one; return whether there is one.

        Args:
            moments_s: ascending.
            backwards: jump to the previous one.
        """
        now_s = self.position_s
        if backwards:
            found = [start_s for start_s in moments_s if start_s - LEAD_S < now_s - 0.5][-1:]
        else:
            found = [start_s for start_s in moments_s if start_s - LEAD_S > now_s + 0.5][:1]
        for start_s in found:
            self.jump(start_s - LEAD_S)
        return bool(found)

    def _now_s(self) -> float:
        if self._paused:
            return self._position_s
        passed_s = (self._clock_s() - self._since_s) * self._speed
        return min(self._position_s + passed_s, self.end_s)

    def _settle(self) -> None:
        self._position_s, self._since_s = self._now_s(), self._clock_s()

    @staticmethod
    def _checked(speed: float) -> float:
        if not 0 < speed < float("inf"):
            raise ValueError(speed)
        return speed


class ReplaySource(ReplayClock):
    """Replay a run from the start of its warm-up, else of its measured phase, to its end.

    Attributes:
        data: the whole run.
    """

    def __init__(
        self,
        data: RunData,
        commands: tuple[CommandRecord, ...] = (),
        *,
        speed: float = 1.0,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """Start playing.

        Args:
            data: the whole run, its series loaded.
            commands: the executed programs.
            speed: recorded seconds per second.
            clock_s: the clock, for tests.
        """
        end_s = min(data.end_s, (data.last_ms - data.origin_ms) / 1000)
        super().__init__(data.begin_s, end_s, speed=speed, clock_s=clock_s)
        self.data = data
        self._commands = commands

    @property
    def checkpoints_s(self) -> tuple[float, ...]:
        """Starts of checkpoints, ascending."""
        return tuple(sorted({start_s for start_s, _, _ in self.data.checkpoints()}))

    def jump_to_checkpoint(self, *, backwards: bool = False) -> bool:
        """Jump to shortly before the next checkpoint, or the previous one; return whether there is one."""
        return self.jump_to_next(self.checkpoints_s, backwards=backwards)

    def poll(self) -> RunSnapshot:
        """Return the run as it was at the current position."""
        position_s = self.position_s
        if position_s >= self.end_s:
            data, state = self.data, self.data.state
            if state is RunState.RUNNING:  # recorded by a runner that died
                state = RunState.INCOMPLETE
                data = replace(data, state=state)
            return take_snapshot(data, SnapshotContext(data.last_ms, state), self._commands)
        now_ms = self.data.origin_ms + 1000 * position_s
        data = self.data.until(position_s)
        return take_snapshot(data, SnapshotContext(now_ms, RunState.RUNNING, replayed=True), self._commands)


def load_replay(path: Path, *, speed: float = 1.0) -> ReplaySource:
    """Return a replay of a run file; reads the whole file, so do not call it in the GUI thread.

    Raises:
        RunFileError: it is not a run file, or is damaged or unreadable.
    """
    data = load_run_data(path)
    data.load(data.series_keys(), (50.0, 95.0, 99.0))
    with RunFile(path) as run:
        commands = run.commands()
    return ReplaySource(data, commands, speed=speed)
