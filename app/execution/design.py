"""A sequential campaign: which configurations continue after a round, from the results so far.

No state but the runs themselves: the same runs always give the same course, which lets `--resume` continue
where the campaign stopped. Runs that were, or may have been, disturbed by other processes do not decide. An
excluded configuration is marked in its last run file (`LEFT_OUT`) and stays excluded, even if a run that was
repeated since would decide otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from app.domain.campaign.configuration import Campaign, Configuration, PlannedRun, interleaved_order
from app.domain.campaign.matrix import LEFT_OUT, Design, contests
from app.domain.errors import RunFileError
from app.domain.run import RunState
from app.domain.text import tr
from app.library.files import mark_ended_run
from app.recording.events import CampaignListener, RunResult
from app.runfile.metadata.safety import NOT_DURABLE
from app.statistics.selection import FEWEST_ROUNDS, Array, judge_round, within_precision


@dataclass(frozen=True, slots=True)
class EarlyStop:
    """A configuration that is unlikely to be the fastest.

    Attributes:
        name: of it.
        rounds: number of rounds after which it was excluded.
        leader: name of the fastest at that time.
        behind: how much slower it was, as a share of its own speed, over their common rounds.
    """

    name: str
    rounds: int
    leader: str
    behind: float

    @property
    def sentence(self) -> str:
        """A clause for users."""
        return tr(
            "dropped after round {rounds}: {leader} measured {percent:.1f} % faster, so it is unlikely to "
            "be the fastest"
        ).format(rounds=self.rounds, leader=self.leader, percent=100 * self.behind)


@dataclass(slots=True)
class SequentialState:
    """Decisions about the configurations of a campaign.

    Attributes:
        left_out: by name, in the order of exclusion.
        decided: number of rounds after which a contest was decided, by the names of its last contestants.
    """

    left_out: dict[str, EarlyStop] = field(default_factory=dict)
    decided: dict[tuple[str, ...], int] = field(default_factory=dict)

    def ended_after(self, name: str) -> int | None:
        """Return the number of rounds after which a configuration stops; None as long as it runs."""
        if name in self.left_out:
            return self.left_out[name].rounds
        return next((rounds for names, rounds in self.decided.items() if name in names), None)

    def holds(self, planned: PlannedRun) -> bool:
        """Whether a run is to be measured, as far as known."""
        ended = self.ended_after(planned.configuration.name)
        return ended is None or planned.repeat < ended


def follow(campaign: Campaign, results: Sequence[RunResult], rounds: int) -> SequentialState:
    """Return the decisions of the first `rounds` rounds.

    Args:
        campaign: with its order known; a fixed design never excludes anything.
        results: of its runs, including later rounds.
        rounds: number of finished rounds; nothing is decided after the last one of a campaign.
    """
    course = SequentialState()
    if campaign.design is not Design.SEQUENTIAL:
        return course
    runs = _Runs(campaign, results)
    for at in range(1, min(rounds, campaign.repeats - 1) + 1):
        for names in runs.contests:
            going = [name for name in names if course.ended_after(name) is None]
            if len(going) > 1:
                _judge(course, campaign, runs, names, going, at)
        is_open = any(sum(course.ended_after(each) is None for each in names) > 1 for names in runs.contests)
        if (course.decided or course.left_out) and not is_open:
            others = [each.name for each in campaign.configurations]
            others = [name for name in others if course.ended_after(name) is None]
            if others:
                course.decided[tuple(others)] = at
            break
    return course


def _judge(
    course: SequentialState,
    campaign: Campaign,
    runs: _Runs,
    names: Sequence[str],
    going: Sequence[str],
    rounds: int,
) -> None:
    """Exclude what is unlikely to be the fastest after a round, and end a contest that is decided."""
    for name in going:
        if name in runs.marked and runs.last_round(name) <= rounds:
            course.left_out[name] = EarlyStop(name, rounds, "", math.nan)
    left = [name for name in going if name not in course.left_out]
    if rounds >= FEWEST_ROUNDS:
        active = np.array([name in left and runs.counts(name, rounds) for name in names])
        if active.sum() > 1:
            judged = judge_round(runs.logs(names, rounds), active, cap=campaign.repeats)
            leader = names[int(judged.leader)]
            for place, name in enumerate(names):
                stays = runs.last_round(name) > rounds  # it has later runs, by whatever decision
                if judged.out[place] and not stays:
                    behind = math.expm1(float(judged.differences.behind[place]))
                    course.left_out[name] = EarlyStop(name, rounds, leader, behind)
            left = [name for name in left if name not in course.left_out]
            share = (campaign.precision or 0.0) / 100
            if share and bool(within_precision(judged, np.array([name in left for name in names]), share)):
                course.decided[tuple(left)] = rounds
                return
    able = [name for name in left if runs.last_round(name)]  # without a complete run it cannot win
    if len(able) == 1 and rounds >= FEWEST_ROUNDS and all(runs.last_round(name) <= rounds for name in left):
        course.decided[tuple(left)] = rounds


class _Runs:
    """The results that decide."""

    def __init__(self, campaign: Campaign, results: Sequence[RunResult]) -> None:
        self.marked: set[str] = set()
        self._tps: dict[tuple[str, int], float] = {}
        self._last: dict[str, int] = {}
        not_durable: set[str] = set()
        for each in results:
            name, kinds = each.planned.configuration.name, {kind for kind, _ in each.marks}
            if each.state is not RunState.DONE:
                continue
            self._last[name] = max(self._last.get(name, 0), each.planned.repeat + 1)
            if LEFT_OUT in kinds:
                self.marked.add(name)
            if NOT_DURABLE in kinds:
                not_durable.add(name)
            tps = each.summary.get("tps")
            if tps is not None and 0 < tps < math.inf and not each.is_weak:
                self._tps[name, each.planned.repeat] = tps
        self.contests = tuple(_durability_apart(campaign, not_durable))

    def last_round(self, name: str) -> int:
        return self._last.get(name, 0)

    def counts(self, name: str, rounds: int) -> bool:
        """Whether any of a configuration's first `rounds` runs decides."""
        return any((name, at) in self._tps for at in range(rounds))

    def logs(self, names: Sequence[str], rounds: int) -> Array:
        """Return logarithms of TPS by configuration and round, NaN for runs that do not count."""
        found = [[math.log(self._tps.get((name, at), math.nan)) for at in range(rounds)] for name in names]
        return np.array(found, dtype=np.float64)


def rivals_of(campaign: Campaign, configuration: Configuration) -> tuple[str, ...]:
    """Return the names of a configuration and its competitors; empty if it has none."""
    if campaign.design is not Design.SEQUENTIAL:
        return ()
    for places in contests(campaign.configurations):
        names = tuple(campaign.configurations[place].name for place in places)
        if configuration.name in names:
            return names
    return ()


def _durability_apart(campaign: Campaign, not_durable: set[str]) -> Iterator[tuple[str, ...]]:
    """Yield the names of competitors: what may lose commits competes only with its own kind."""
    names = [each.name for each in campaign.configurations]
    for places in contests(campaign.configurations):
        for lossy in (False, True):
            found = tuple(names[place] for place in places if (names[place] in not_durable) is lossy)
            if found:
                yield found


def to_measure(campaign: Campaign, results: Sequence[RunResult]) -> list[PlannedRun]:
    """Return the runs that are still to be done, as far as known, in their order.

    A later round of a sequential design is included until it is known to be unnecessary.
    """
    done = {each.planned.number for each in results if each.state is RunState.DONE}
    order = interleaved_order(campaign)
    missing = [planned for planned in order if planned.number not in done]
    rounds = 0
    if campaign.design is not Design.SEQUENTIAL:
        return missing
    for at in range(1, campaign.repeats + 1):
        course = follow(campaign, results, at - 1)
        if any(each.repeat == at - 1 and course.holds(each) for each in missing):
            break
        rounds = at
    course = follow(campaign, results, rounds)
    return [planned for planned in missing if course.holds(planned)]


def report_round(
    course: SequentialState, rounds: int, results: list[RunResult], listener: CampaignListener
) -> None:
    """Report the decisions of a round, and mark the last run of each excluded configuration.

    Args:
        course: until the end of the round.
        rounds: number of finished rounds.
        results: of the campaign; the last one of an excluded configuration gets its mark.
        listener: receives the report.
    """
    marked = {each.planned.configuration.name for each in results if LEFT_OUT in dict(each.marks)}
    for name, found in course.left_out.items():
        places = [place for place, each in enumerate(results) if _is_done(each, name)]
        if name in marked or not places:
            continue
        listener.reported(LEFT_OUT, f"{name}: {found.sentence}.")
        last = max(places, key=lambda place: (results[place].planned.repeat, results[place].planned.attempt))
        run = results[last]
        results[last] = replace(run, marks=(*run.marks, (LEFT_OUT, found.sentence)))
        try:
            mark_ended_run(Path(run.path or ""), LEFT_OUT, found.sentence)
        except RunFileError as error:  # e.g. it was moved; the remaining runs give the same course
            listener.reported("note", error.message)
    for names, after in course.decided.items():
        if after == rounds:
            sentence = tr("No further runs are needed after round {rounds}: {names}.")
            listener.reported("note", sentence.format(rounds=rounds, names=", ".join(names)))


def _is_done(result: RunResult, name: str) -> bool:
    return result.planned.configuration.name == name and result.state is RunState.DONE
