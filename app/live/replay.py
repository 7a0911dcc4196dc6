"""Replay a recorded run as if it were live: any speed, pause, jump."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

from app.domain.run import RunState
from app.live.snapshot import RunSnapshot, SnapshotContext, take_snapshot
from app.runfile.reader import CommandRecord, RunFile
from app.runfile.series import RunData, load_run_data

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
