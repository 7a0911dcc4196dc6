"""Choose how much of the start of every run of a condition is excluded: one cut for all (MSER-5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from app.analysis.stability import FEWEST_FOR_A_CUT_S, RunStability
from app.domain.text import tr


class CutReason(StrEnum):
    """Reason for the position of the cut."""

    NOTHING = "nothing-to-cut"
    WARM_UP = "warm-up"
    CHECKPOINT = "first-checkpoint-cycle"
    CHOSEN = "chosen"
    BY_CONDITION = "by-condition"


@dataclass(frozen=True, slots=True)
class CommonCut:
    """The part excluded from every run.

    Attributes:
        seconds: from the start of the measured phase; 0 for none, and if each condition has its own.
        reason: of its length.
        run: index of the run that needed it; None for none.
        never_settled: indices of the runs with a best cut of half their length.
    """

    seconds: float
    reason: CutReason
    run: int | None
    never_settled: tuple[int, ...]


def common_cut(shapes: Sequence[RunStability | None]) -> CommonCut:
    """Return the longest warm-up of all runs, at least the first checkpoint cycle, as one cut for all.

    MSER-5 finds the end of a run's warm-up; a run that never settles is ignored here and reported instead. In
    a run with several checkpoints the first cycle ends as the first one starts. A cut that would leave less
    than half of the shortest run is dropped: a run of a minute compared with one of a day must not vanish.
    Runs below `FEWEST_FOR_A_CUT_S` are ignored. If only the mean of a run is known, no run is cut, because
    that one cannot be.
    """
    known = [(place, shape) for place, shape in enumerate(shapes) if shape is not None]
    if not known:
        return CommonCut(0.0, CutReason.NOTHING, None, ())
    most_s = min(shape.duration_s for _, shape in known) / 2
    options = [
        (float(shape.warm_up.cut_s), CutReason.WARM_UP, place)
        for place, shape in known
        if shape.warm_up.settled
    ]
    options += [
        (shape.checkpoints[0][0], CutReason.CHECKPOINT, place)
        for place, shape in known
        if len(shape.checkpoints) > 1 and shape.duration_s >= FEWEST_FOR_A_CUT_S
    ]
    never = tuple(place for place, shape in known if shape.warm_up.settled is False)
    all_known = len(known) == len(shapes)
    allowed = [wish for wish in options if 0 < wish[0] <= most_s and all_known]
    if not allowed:
        return CommonCut(0.0, CutReason.NOTHING, None, never)
    seconds, reason, place = max(allowed, key=lambda wish: wish[0])
    return CommonCut(float(round(seconds)), reason, place, never)


def of_part(what: str, *cuts_s: float) -> str:
    """Return the name of a figure with the part of the runs that it covers: `what` if it covers all.

    Args:
        what: the name.
        cuts_s: seconds excluded from the start of each run, or of the runs of each condition.
    """
    if not any(cuts_s):
        return what
    times = [f"{minutes}:{seconds:02}" for minutes, seconds in (divmod(round(s), 60) for s in cuts_s)]
    least, most = times[cuts_s.index(min(cuts_s))], times[cuts_s.index(max(cuts_s))]
    if least == most:
        return tr("{what} after {time}").format(what=what, time=most)
    return tr("{what} after {least} to {most}").format(what=what, least=least, most=most)


def describe_cut(cut: CommonCut, names: Sequence[str]) -> str:
    """Return how much is excluded and why, as a sentence; empty if nothing is."""
    if cut.reason is CutReason.BY_CONDITION:
        return tr(
            "The beginning of every run is left out of the comparison: as much as the runs of its condition"
            " need (warm-up by MSER-5, or the time to the first checkpoint). The name of each condition"
            " shows how much."
        )
    if not cut.seconds:
        return ""
    minutes, seconds = divmod(round(cut.seconds), 60)
    values = {"time": f"{minutes}:{seconds:02}", "run": names[cut.run] if cut.run is not None else ""}
    sentences = {
        CutReason.WARM_UP: tr(
            "The first {time} min of every run is left out of the comparison: so long does {run} warm up"
            " (MSER-5)."
        ),
        CutReason.CHECKPOINT: tr(
            "The first {time} min of every run is left out of the comparison: until then {run} had no"
            " checkpoint."
        ),
        CutReason.CHOSEN: tr("The first {time} min of every run is left out of the comparison, as chosen."),
    }
    return sentences[cut.reason].format(**values)
