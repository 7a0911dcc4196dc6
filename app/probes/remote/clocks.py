"""How far the clock of another machine is from this one's. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

_CLOCK: Final = re.compile(r"(\d{9,11})(?:\.(\d{1,9}))?(?:\.?%?N)?")


@dataclass(frozen=True, slots=True)
class ClockAnswer:
    """One question for the time.

    Attributes:
        sent_s: seconds since 1970 by our clock, when it was asked.
        received_s: by our clock, when the answer was there.
        text: the answer: seconds since 1970, with what the far side has of a fraction.
    """

    sent_s: float
    received_s: float
    text: str


@dataclass(frozen=True, slots=True)
class ClockOffset:
    """The difference of two clocks.

    Attributes:
        offset_s: theirs minus ours.
        bound_s: the true difference is at most so far from it.
        round_trip_s: of the question that told it.
    """

    offset_s: float
    bound_s: float
    round_trip_s: float


def compare_clocks(answers: Iterable[ClockAnswer]) -> ClockOffset | None:
    """Return what the narrowest of several answers tells; None where none is a time.

    Their clock was read somewhere between question and answer; a clock without a fraction was cut down to
    whole seconds. (Cristian 1989, Probabilistic clock synchronization.)
    """
    found = [each for answer in answers if (each := _offset(answer)) is not None]
    return min(found, key=lambda each: each.bound_s, default=None)


def _offset(answer: ClockAnswer) -> ClockOffset | None:
    matched = _CLOCK.fullmatch(answer.text)
    round_trip_s = answer.received_s - answer.sent_s
    if matched is None or round_trip_s < 0:
        return None
    whole, fraction = matched.groups()
    step_s = 10.0 ** -len(fraction) if fraction else 1.0
    theirs_s = float(f"{whole}.{fraction or 0}") + step_s / 2
    middle_s = answer.sent_s + round_trip_s / 2
    return ClockOffset(theirs_s - middle_s, (round_trip_s + step_s) / 2, round_trip_s)
