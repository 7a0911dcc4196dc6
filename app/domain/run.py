"""How far a run came, and the phases that it goes through."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

_MOST_DIGITS: Final = 4


class RunState(StrEnum):
    """How far a run came. A file that says `running` without a live runner is incomplete."""

    RUNNING = "running"
    DONE = "done"
    STOPPED = "stopped"
    FAILED = "failed"
    INCOMPLETE = "incomplete"


class Phase(StrEnum):
    """Phases of a run in their order; the figures of the run are those of MEASURE.

    A workload of several phases has a PART for each of the others, and a MAINTENANCE where something is done
    before one: they have numbers (`PhaseName`).
    """

    BASELINE = "baseline"
    PREPARE = "prepare"
    INITDB = "initdb"
    LOAD = "load"
    SETTLE = "settle"
    WARM_UP = "warm-up"
    MAINTENANCE = "maintenance"
    PART = "phase"
    MEASURE = "measure"
    COLLECT = "collect"
    TEARDOWN = "teardown"


@dataclass(frozen=True, slots=True)
class PhaseName:
    """What tells a phase of a run from every other one.

    Attributes:
        phase: what is done.
        number: of the phase of the workload that it belongs to; 0 where there is only one such phase.
    """

    phase: Phase
    number: int = 0

    @property
    def text(self) -> str:
        """As in table `phase`."""
        return f"{self.phase.value}:{self.number}" if self.number else self.phase.value

    @property
    def stem(self) -> str:
        """Begin of the names of what programs print in it: another one for each phase."""
        return f"{self.phase.value}{self.number or ''}"


def read_phase_name(text: str) -> PhaseName:
    """Return the name that stands in table `phase`.

    Raises:
        ValueError: there is no such phase.
    """
    word, colon, number = text.partition(":")
    if not colon:
        return PhaseName(Phase(word))
    if not (number.isascii() and number.isdecimal() and 0 < len(number) <= _MOST_DIGITS and int(number)):
        raise ValueError(text)
    return PhaseName(Phase(word), int(number))
