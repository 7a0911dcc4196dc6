"""Represent the verdict on one configuration: the finding, its reservations, and its only rendering. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from app.comparison.disturbed_runs import without_verdict
from app.comparison.overall.single_runs import ChanceOfFewRuns, describe_chance
from app.comparison.wording import SPEED, Wording, describe, describe_briefly, describe_unranked
from app.domain.text import tr
from app.statistics.verdict import Comparison


class ReservationCode(StrEnum):
    """Kinds of reservations about a verdict."""

    DISTURBED = "disturbed"
    OTHERS_CPU = "others_cpu"
    LENGTHS = "lengths"
    UNLIKE_STALLS = "unlike_stalls"
    OTHER_PHASE = "other_phase"
    NOT_INTERLEAVED = "not_interleaved"
    STALLS = "stalls"
    WITH_DISTURBED = "with_disturbed"
    WITHOUT_DISTURBED = "without_disturbed"
    CHANCE = "chance"
    NOT_RANKED = "not_ranked"
    NOT_DURABLE = "not_durable"
    UNSAFE = "unsafe"


_WITHDRAWS: Final = frozenset(
    {
        ReservationCode.DISTURBED,
        ReservationCode.OTHERS_CPU,
        ReservationCode.LENGTHS,
        ReservationCode.UNLIKE_STALLS,
        ReservationCode.OTHER_PHASE,
        ReservationCode.NOT_INTERLEAVED,
    }
)

ReservationValue = str | Comparison | ChanceOfFewRuns | None


@dataclass(frozen=True, slots=True)
class Reservation:
    """A reason that weakens or qualifies a verdict.

    Attributes:
        code: its kind.
        values: names, clauses, or findings with other runs.
    """

    code: ReservationCode
    values: tuple[ReservationValue, ...]

    @property
    def withdraws(self) -> bool:
        """Whether it withdraws the verdict; else it qualifies it."""
        return self.code in _WITHDRAWS

    @property
    def text(self) -> str:
        """The reservation as a clause."""
        match self.code, self.values:
            case ReservationCode.WITH_DISTURBED, (str(weak), Comparison() | None as other):
                told = tr("{weak}: left out, with them {other}")
                return told.format(weak=weak, other=_briefly(other))
            case ReservationCode.WITHOUT_DISTURBED, (Comparison() | None as other,):
                return tr("without them {other}").format(other=_briefly(other))
            case ReservationCode.CHANCE, (ChanceOfFewRuns() as chance,):
                return describe_chance(chance)
            case ReservationCode.NOT_RANKED, (str(name),):
                return tr("{name} is NOT DURABLE, so it is not ranked").format(name=name)
            case ReservationCode.NOT_DURABLE | ReservationCode.UNSAFE, names:
                what = tr("UNSAFE options") if self.code is ReservationCode.UNSAFE else tr("NOT DURABLE")
                return tr("{what}: {names}").format(what=what, names=", ".join(map(str, names)))
            case _:
                return ", ".join(map(str, self.values))


def _briefly(comparison: Comparison | None) -> str:
    return tr("speed is not compared") if comparison is None else describe_briefly(comparison)


@dataclass(frozen=True, slots=True)
class PairVerdict:
    """The verdict on a configuration against the first one of its condition.

    Attributes:
        baseline: name of the first one.
        candidate: name of the configuration.
        found: difference, interval and level; None for the first one, and if speed is not compared.
        comparisons: number of comparisons in the family.
        apart: how runs of two campaigns are compared, a clause, as in `describe`.
        rate: outcome of the configuration's rate, a clause.
        not_compared: why speed is not compared, a clause.
        is_ranked: whether the configuration may be called the fastest.
        cost: the feature that explains the difference of a configuration that is not ranked, such as "the
            storage".
        reservations: reasons that weaken or qualify it.
        wording: of the difference.
    """

    baseline: str
    candidate: str
    found: Comparison | None = None
    comparisons: int = 1
    apart: str = ""
    rate: str = ""
    not_compared: str = ""
    is_ranked: bool = True
    cost: str = ""
    reservations: tuple[Reservation, ...] = ()
    wording: Wording = SPEED

    def with_reservation(self, code: ReservationCode, *values: ReservationValue) -> PairVerdict:
        """Return the verdict with one more reservation, and without the parts that this withdraws."""
        one, found = Reservation(code, values), self.found
        if one.withdraws and found is not None:
            found = without_verdict(found)
        return replace(self, found=found, reservations=(*self.reservations, one))

    @property
    def chance(self) -> ChanceOfFewRuns | None:
        """The role of chance in a difference of too few runs; None for other verdicts."""
        values = (value for each in self.reservations for value in each.values)
        return next((value for value in values if isinstance(value, ChanceOfFewRuns)), None)

    @property
    def text(self) -> str:
        """The verdict as a sentence without a full stop; empty if there is nothing to say."""
        because = next((each.text for each in self.reservations if each.withdraws), "")
        beside = [each.text for each in self.reservations if not each.withdraws]
        pair = self.baseline, self.candidate
        if self.found is None:
            told = "; ".join(filter(None, (self.not_compared, because)))
        elif self.is_ranked or self.found.ratio is None:
            told = describe(
                *(self.found, pair),
                comparisons=self.comparisons,
                apart=self.apart,
                because=because,
                wording=self.wording,
            )
        else:
            told = describe_unranked(self.found, pair, because, self.cost, wording=self.wording)
        return "; ".join(filter(None, (self.rate, told, *beside)))
