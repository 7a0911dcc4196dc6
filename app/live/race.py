"""Compare two to six saved runs on one clock: current speed, leader, and stalls. Pure.

Time 0 is the start of each run's measured phase. Runs are ordered by their mean TPS since then, so that one
that ends earlier keeps its position. Runs of several conditions keep the chosen order: speed under one
condition says nothing about another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.analysis.labels import one_line, with_warning
from app.comparison.label_shortening import identity_of, name_runs
from app.domain.errors import UsageError
from app.domain.text import tr, trn
from app.runfile.series import TPS, RunData

Array = NDArray[np.float64]

FEWEST: Final = 2
MOST: Final = 6
"""Most lanes that a viewer in the last row can distinguish."""

WIDTHS_S: Final = (5.0, 15.0, 30.0, 60.0, 120.0, 300.0)
"""Widths of the window of the newest mean, in recorded seconds."""
_HOLD: Final = 0.5
"""Real seconds for which a number stays constant: faster changes are unreadable."""
_SHOWN: Final = 1.0
"""Real seconds for which a stall is shown at least."""
_EDGE_S: Final = 0.5
"""pgbench's last second may come this much after the end of the phase."""


class Lane(StrEnum):
    """State of a run at a moment."""

    RUNNING = "running"
    STALLED = "stalled"
    ENDED = "ended"


@dataclass(frozen=True)
class RacingRun:
    """A run with the seconds of its measured phase.

    Attributes:
        run_id: identity: the path of its file.
        name: the shortest unique one, with its warning.
        warning: end of its name that is never shortened, such as UNSAFE.
        colour_index: number of its configuration's colour.
        t_s: end of each second, ascending, without those that have no value.
        tps: of each.
        end_s: end of its measured phase.
        stalls: (start, end) of each stall, ascending.
        checkpoints_s: starts of checkpoints, ascending.
    """

    run_id: str
    name: str
    warning: str
    colour_index: int
    t_s: Array = field(repr=False)
    tps: Array = field(repr=False)
    end_s: float
    stalls: tuple[tuple[float, float], ...] = ()
    checkpoints_s: tuple[float, ...] = ()

    @cached_property
    def _sums(self) -> Array:
        return np.concatenate(([0.0], np.cumsum(self.tps)))

    def mean(self, begin_s: float, end_s: float) -> float | None:
        """Return the mean of the seconds that ended after `begin_s` and not after `end_s`."""
        first, last = (int(np.searchsorted(self.t_s, each, side="right")) for each in (begin_s, end_s))
        return None if last <= first else float(self._sums[last] - self._sums[first]) / (last - first)

    def stalled_s(self, begin_s: float, end_s: float) -> float:
        """Return how many seconds between two times it stalled."""
        return sum(max(0.0, min(end, end_s) - max(begin, begin_s)) for begin, end in self.stalls)


@dataclass(frozen=True, slots=True)
class Standing:
    """A run at one moment of a race.

    Attributes:
        run: the run.
        rank: 1 leads; None before the first second, and for runs of several conditions.
        lane: its state.
        newest: mean TPS of the last `width_s`, or before its end; None before the first second.
        mean: mean TPS since the start; None before the first second.
        width_s: of `newest`.
        stalled_s: seconds stalled since the start.
        newly_stalled_s: seconds stalled within the last `width_s`.
    """

    run: RacingRun
    rank: int | None
    lane: Lane
    newest: float | None
    mean: float | None
    width_s: float
    stalled_s: float
    newly_stalled_s: float


@dataclass(frozen=True)
class Race:
    """Runs on one clock.

    Attributes:
        runs: in the chosen order.
        left_out: why others are excluded, a sentence each.
        note: how the runs were chosen, unless obvious.
        is_ranked: whether they are of one condition, so that one of them leads.
    """

    runs: tuple[RacingRun, ...]
    left_out: tuple[str, ...] = ()
    note: str = ""
    is_ranked: bool = True

    @cached_property
    def end_s(self) -> float:
        """The end of the last run."""
        return max((run.end_s for run in self.runs), default=0.0)

    @cached_property
    def top(self) -> float:
        """The highest mean of `WIDTHS_S[0]` seconds in any run: upper limit for a TPS scale."""
        width = int(WIDTHS_S[0])
        found = [_highest_mean(run.tps, width) for run in self.runs if len(run.tps)]
        return max(found, default=1.0) or 1.0

    @cached_property
    def stalls_s(self) -> tuple[float, ...]:
        """Starts of the stalls of all runs, ascending."""
        return tuple(sorted({begin for run in self.runs for begin, _ in run.stalls}))

    @cached_property
    def checkpoints_s(self) -> tuple[float, ...]:
        """Starts of the checkpoints of all runs, ascending."""
        return tuple(sorted({each for run in self.runs for each in run.checkpoints_s}))

    def standings(self, t_s: float, speed: float) -> tuple[Standing, ...]:
        """Return every run at a moment, the leader first; runs without a second yet are last.

        Runs of several conditions keep the chosen order, without a rank.

        Args:
            t_s: the moment.
            speed: recorded seconds per real second, which determines the width of the newest mean.
        """
        standings = [self._standing(run, t_s, speed) for run in self.runs]
        if not self.is_ranked:
            return tuple(standings)
        order = sorted(standings, key=lambda each: -1.0 if each.mean is None else each.mean, reverse=True)
        return tuple(
            replace(each, rank=None if each.mean is None else place) for place, each in enumerate(order, 1)
        )

    def _standing(self, run: RacingRun, t_s: float, speed: float) -> Standing:
        width_s, now_s = width_at(speed), min(t_s, run.end_s + _EDGE_S)
        newest = run.mean(max(0.0, now_s - width_s), now_s)
        lately_s = run.stalled_s(now_s - max(1.0, _SHOWN * speed), now_s)
        lane = Lane.STALLED if lately_s > 0 else Lane.RUNNING
        if t_s > run.end_s + _EDGE_S or t_s >= self.end_s:
            lane = Lane.ENDED
        return Standing(
            run,
            None,
            lane,
            newest,
            run.mean(0.0, now_s),
            width_s,
            run.stalled_s(0.0, now_s),
            run.stalled_s(now_s - width_s, now_s),
        )


def _highest_mean(values: Array, width: int) -> float:
    width = min(width, len(values))
    sums = np.concatenate(([0.0], np.cumsum(values)))
    return float(((sums[width:] - sums[:-width]) / width).max())


def width_at(speed: float) -> float:
    """Return the width of the newest mean, in recorded s: at least the recorded time of a real second."""
    return next((width for width in WIDTHS_S if width >= speed * _SHOWN), WIDTHS_S[-1])


def steady_position(t_s: float, speed: float) -> float:
    """Return the moment of the figures shown at `t_s`: constant for half a real second."""
    step_s = max(1.0, _HOLD * speed)
    return float(np.floor(t_s / step_s + 1e-9) * step_s)


def take_runs(found: Sequence[RunData]) -> tuple[list[RunData], str]:
    """Return the runs for a race, and how they were chosen.

    Up to six runs race directly. With more, each configuration is represented by its middle run: as many
    repeats have a higher mean as a lower one; for an even number, the lower of the two.

    Raises:
        UsageError: they are too few or too many.
    """
    if len(found) < FEWEST:
        raise UsageError(tr("A race needs two to six runs; a single run can be replayed."))
    if len(found) <= MOST:
        return list(found), ""
    groups: dict[tuple[str, str], list[RunData]] = {}
    for data in found:
        groups.setdefault(identity_of(data).group, []).append(data)
    if not FEWEST <= len(groups) <= MOST:
        message = tr(
            "A race needs two to six runs, or runs of two to six configurations. You gave {runs} runs of "
            "{configurations}."
        )
        number = len(groups)
        words = trn("{count} configuration", "{count} configurations", number).format(count=number)
        raise UsageError(message.format(runs=len(found), configurations=words))
    note = tr("Each configuration is represented by its median run.")
    return [_middle(members) for members in groups.values()], note


def _middle(members: Sequence[RunData]) -> RunData:
    measured = [data for data in members if data.summary.get("tps") is not None] or list(members)
    ordered = sorted(measured, key=lambda data: data.summary.get("tps") or 0.0)
    return ordered[(len(ordered) - 1) // 2]


def make_race(
    chosen: Sequence[tuple[RunData, int]],
    left_out: Sequence[str] = (),
    note: str = "",
    *,
    is_ranked: bool = True,
) -> Race:
    """Return a race of runs with loaded series, without those that have no TPS by the second.

    Args:
        chosen: runs with the numbers of their colours.
        left_out: why others are excluded.
        note: how these were chosen.
        is_ranked: whether they are of one condition.

    Raises:
        UsageError: fewer than two runs have TPS by the second.
        RunFileError: a file is no longer readable.
    """
    names = name_runs([identity_of(data) for data, _ in chosen])
    runs, excluded = [], list(left_out)
    for (data, colour), name in zip(chosen, names, strict=True):
        run = _racing_run(data, with_warning(name.run, name.warning), name.warning, colour)
        if len(run.t_s):
            runs.append(run)
        else:
            sentence = tr("{name} is not in the race: it has no per-second TPS.")
            excluded.append(sentence.format(name=one_line(run.name)))
    if len(runs) < FEWEST:
        message = tr("A race needs at least two runs with per-second TPS.")
        raise UsageError(" ".join([message, *excluded]))
    if not is_ranked:
        apart = tr("These runs were made under different conditions, so they are not ranked.")
        note = " ".join(filter(None, (note, apart)))
    return Race(tuple(runs), tuple(excluded), note, is_ranked)


def _racing_run(data: RunData, name: str, warning: str, colour: int) -> RacingRun:
    t_s, tps = data.series(*TPS)
    end_s = data.duration_s or (float(t_s[-1]) if len(t_s) else 0.0)
    measured = (t_s > 0) & (t_s <= end_s + _EDGE_S) & np.isfinite(tps)
    checkpoints = sorted({begin_s for begin_s, _, _ in data.checkpoints() if begin_s > 0})
    return RacingRun(
        str(data.path),
        name,
        warning,
        colour,
        t_s[measured],
        tps[measured],
        end_s,
        tuple(data.stalls()),
        tuple(checkpoints),
    )
