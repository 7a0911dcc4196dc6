"""What a screen reader is told while a run goes on: each phase, each end, and figures now and then."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from app.analysis.labels import one_line
from app.domain.text import tr
from app.domain.units import format_duration
from app.live.campaign_follower import LiveState
from app.live.snapshot import RunSnapshot
from app.runfile.writer import Phase, RunState
from ui.live.header import run_problem
from ui.live.number_tiles import shown_numbers
from ui.live.words import NOTHING, PHASE_NAMES, campaign_words, clock_words, format_number, format_rate

EVERY_S: Final = 60.0
"""Between two sentences of figures: who listens does something else meanwhile."""


class Announcer:
    """Follows what is watched, and says a sentence where something begins, ends, or has lasted a while."""

    def __init__(self, say: Callable[[str], None], clock_s: Callable[[], float] = time.monotonic) -> None:
        """Make one that has said nothing.

        Args:
            say: called with each sentence.
            clock_s: of who listens; a replay at any speed is told no more often.
        """
        self._say = say
        self._clock_s = clock_s
        self._told_s = -EVERY_S
        self._told: tuple[Path, str, bool, bool] | None = None
        self._figures = ""

    def follow(self, watched: LiveState) -> None:
        """Say what is new, if anything."""
        run = watched.run
        if run is None:
            return
        stage = run.data.path, PHASE_NAMES[run.phase] + run.phase_label, run.finished, watched.ended
        if stage != self._told:
            self._told = stage
            self._tell(" ".join(filter(None, (_stage_words(run), _end_words(watched)))))
        elif not run.finished and self._clock_s() >= self._told_s + EVERY_S:
            figures = figures_words(run)
            if figures != self._figures:  # a replay that stands still has nothing to say
                self._figures = figures
                self._tell(figures)

    def _tell(self, sentence: str) -> None:
        self._told_s = self._clock_s()
        self._say(sentence)


def figures_words(run: RunSnapshot) -> str:
    """Return phase, clock and newest figures of a run that lasts, in a sentence."""
    numbers = run.numbers
    told = [
        tr("{phase}, {clock}.").format(
            phase=_phase_of(run), clock=clock_words(run.phase_elapsed_s, run.phase_planned_s)
        )
    ]
    if numbers.tps is not None:
        told.append(tr("{tps} transactions per second.").format(tps=format_rate(numbers.tps)))
    if numbers.p99_ms is not None:
        told.append(tr("99th percentile {latency} ms.").format(latency=format_number(numbers.p99_ms)))
    return " ".join(told)


def _phase_of(run: RunSnapshot) -> str:
    name = PHASE_NAMES[run.phase]
    return f"{name}, {one_line(run.phase_label)}" if run.phase_label and run.phase is Phase.PART else name


def _stage_words(run: RunSnapshot) -> str:
    name = one_line(run.data.name)
    if not run.finished:
        if run.phase_planned_s is None:
            return tr("{run}: {phase}.").format(run=name, phase=_phase_of(run))
        planned = format_duration(run.phase_planned_s)
        return tr("{run}: {phase}, for {time}.").format(run=name, phase=_phase_of(run), time=planned)
    if run.state is not RunState.DONE:
        return tr("{run}: {problem}").format(run=name, problem=run_problem(run))
    numbers = shown_numbers(run)
    if format_rate(numbers.tps) == NOTHING:
        return tr("{run} has ended.").format(run=name)
    told = tr("{run} has ended: {tps} transactions per second, 99th percentile {latency} ms.")
    return told.format(run=name, tps=format_rate(numbers.tps), latency=format_number(numbers.p99_ms))


def _end_words(watched: LiveState) -> str:
    if not watched.ended or watched.status is None:
        return ""
    return tr("Campaign {state}.").format(state=campaign_words(watched, None))
