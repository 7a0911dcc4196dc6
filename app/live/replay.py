"""Playing a recorded run as if it were live: any speed, pause, jump."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from app.live.replay_clock import ReplayClock
from app.live.snapshot import RunSnapshot, SnapshotContext, take_snapshot
from app.runfile.reader import CommandRecord, RunFile
from app.runfile.series import RunData, load_run_data
from app.runfile.writer import RunState


class ReplaySource(ReplayClock):
    """Plays a run from the begin of its warm-up, else of its measured phase, to its end.

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
        """Begin to play.

        Args:
            data: the whole run, its series loaded.
            commands: the programs that were executed.
            speed: recorded seconds in a second.
            clock_s: the clock, for tests.
        """
        end_s = min(data.end_s, (data.last_ms - data.origin_ms) / 1000)
        super().__init__(data.begin_s, end_s, speed=speed, clock_s=clock_s)
        self.data = data
        self._commands = commands

    @property
    def checkpoints_s(self) -> tuple[float, ...]:
        """When checkpoints began, ascending."""
        return tuple(sorted({start_s for start_s, _, _ in self.data.checkpoints()}))

    def jump_to_checkpoint(self, *, backwards: bool = False) -> bool:
        """Go to shortly before the next checkpoint, or the one before; return whether there is one."""
        return self.jump_to_next(self.checkpoints_s, backwards=backwards)

    def poll(self) -> RunSnapshot:
        """Return the run as it was at the present position."""
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
    """Return a replay of a run file; reads all of it, so not for the GUI thread.

    Raises:
        RunFileError: the file is none of ours, damaged or unreadable.
    """
    data = load_run_data(path)
    data.load(data.series_keys(), (50.0, 95.0, 99.0))
    with RunFile(path) as run:
        commands = run.commands()
    return ReplaySource(data, commands, speed=speed)
