"""Represent the verdict on one configuration: the finding, its reservations, and its only rendering. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from app.analysis.facts import RunFacts
from app.analysis.stability import RunStability
from app.comparison.groups import OthersCpu, WeakRuns, is_disturbed, without_verdict
from app.comparison.overall.single_runs import ChanceOfFewRuns, RunLengths, Stalls
from app.comparison.wording import SPEED, Wording, describe, describe_unranked
from app.domain.disturbances import DisturbanceKind, disturbance_words, format_amounts
from app.domain.text import format_duration, number_text, tr, trn
from app.statistics.verdict import Comparison, Verdict


class ReservationCode(StrEnum):
    """Kinds of reservations about a verdict."""

    DISTURBED = "disturbed"
    OTHERS_CPU = "others_cpu"
    LENGTHS = "lengths"
    UNLIKE_STALLS = "unlike_stalls"
    OTHER_PHASE = "other_phase"
    NOT_INTERLEAVED = "not_interleaved"
    STALLS = "stalls"
    LEFT_OUT = "left_out"
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

_MOST_KINDS: Final = 2

ReservationValue = str | ChanceOfFewRuns | WeakRuns | OthersCpu | RunLengths | Stalls


@dataclass(frozen=True, slots=True)
class Reservation:
    """A reason that weakens or qualifies a verdict.

    Attributes:
        code: its kind.
        values: names, findings, or clauses.
    """

    code: ReservationCode
    values: tuple[ReservationValue, ...]

    @property
    def withdraws(self) -> bool:
        """Whether it withdraws the verdict; else it qualifies it."""
        return self.code in _WITHDRAWS

    @property
    def evidence(self) -> str:
        """How runs were disturbed, a clause; empty for other reservations.

        A comparison says it once, in its warnings.
        """
        return "; ".join(_weak_evidence(value) for value in self.values if isinstance(value, WeakRuns))

    @property
    def text(self) -> str:
        """The reservation as a clause."""
        sentences = [_value_words(value) for value in self.values]
        match self.code:
            case ReservationCode.OTHER_PHASE:
                return tr("another phase determined how often each configuration ran")
            case ReservationCode.LEFT_OUT:
                return tr("{weak}: excluded").format(weak=sentences[0])
            case ReservationCode.NOT_RANKED:
                return tr("{name} is NOT DURABLE, so it is not ranked").format(name=sentences[0])
            case ReservationCode.NOT_DURABLE | ReservationCode.UNSAFE:
                what = tr("UNSAFE options") if self.code is ReservationCode.UNSAFE else tr("NOT DURABLE")
                return f"{what}: {', '.join(sentences)}"
            case _:
                return ", ".join(sentences)


def _value_words(value: ReservationValue) -> str:
    match value:
        case WeakRuns():
            return _weak_words(value)
        case OthersCpu():
            return _others_words(value)
        case RunLengths(shortest_s, longest_s):
            sentence = tr("the runs lasted from {short} to {long}")
            return sentence.format(
                short=format_duration(round(shortest_s)), long=format_duration(round(longest_s))
            )
        case Stalls(first, (stalled, seconds), second, (more, of)):
            sentence = tr("{first} stalled in {stalled} of {seconds} s, {second} in {more} of {of} s")
            return sentence.format(
                first=first, stalled=stalled, seconds=seconds, second=second, more=more, of=of
            )
        case ChanceOfFewRuns():
            return _chance_words(value)
        case str():
            return value


def _weak_words(found: WeakRuns) -> str:
    """Return how many runs were disturbed, and for how many it is unknown."""
    runs = found.runs
    disturbed, unknown, unseen = _weak_kinds(found)
    parts = []
    if disturbed:
        parts.append(count_words(len(disturbed), runs))
    if unknown:
        sentence = tr("it is not known whether {count} of {runs} runs were disturbed")
        if runs == 1:
            sentence = tr("it is not known whether the run was disturbed")
        parts.append(sentence.format(count=len(unknown), runs=runs))
    if unseen:
        sentence = tr("{count} of {runs} runs lack most of their data ({why})")
        parts.append(sentence.format(count=len(unseen), runs=runs, why=unseen[0]))
    return tr(", and ").join(parts)


def _weak_evidence(found: WeakRuns) -> str:
    disturbed, unknown, _ = _weak_kinds(found)
    words = (how_disturbed(disturbed) if disturbed else "", why_unknown(unknown) if unknown else "")
    return "; ".join(filter(None, words))


def _weak_kinds(found: WeakRuns) -> tuple[list[RunFacts], list[RunFacts], list[str]]:
    """Return the disturbed runs, those of which it is unknown, and why most of a run is unknown."""
    disturbed = [run for run in found.weak if is_disturbed(run)]
    unknown = [run for run in found.weak if run.disturbances.not_known and not is_disturbed(run)]
    return disturbed, unknown, [why for run in found.weak if (why := describe_unseen(run.shape))]


def _others_words(found: OthersCpu) -> str:
    words = [format_amounts(DisturbanceKind.OTHERS_CPU, (percent,)) for percent in found.percents]
    if len(words) > 2:
        sentence = tr("other programs used {first} and {second} of the CPUs, {beside} during the reference")
        beside = tr("{first} and {second}").format(first=words[2], second=words[3])
        return sentence.format(first=words[0], second=words[1], beside=beside)
    if found.limit != 1:
        sentence = tr("other programs used {first} of the CPUs in the first and {second} in the second")
        return sentence.format(first=words[0], second=words[1])
    sentence = tr("other programs used {more} of the CPUs in the slower and {less} in the faster one")
    less, more = words if found.percents[0] <= found.percents[1] else words[::-1]
    return sentence.format(more=more, less=less)


def _chance_words(found: ChanceOfFewRuns) -> str:
    """Return the variation at which chance would explain a difference, a clause."""
    message = tr("chance alone explains it only if such runs vary by {needed} or more")
    if found.between_campaigns:
        message = tr("chance alone explains it only if such runs of two campaigns vary by {needed} or more")
    message = message.format(needed=spread_words(found.needed))
    if found.comparisons > 1:
        message = tr("{cause} (adjusted for {count} comparisons)").format(
            cause=message, count=found.comparisons
        )
    if found.known is None:
        return message
    sentence = tr("{cause}; {known}, too little to explain it")
    if found.is_explained:
        sentence = tr("{cause}; {known}, which may explain it")
    return sentence.format(cause=message, known=known_words(found))


def known_words(found: ChanceOfFewRuns) -> str:
    """Return how much runs like these are known to spread, a clause; empty if that is unknown."""
    if found.known is None:
        return ""
    sentence = tr("{runs} similar runs of {configurations} configurations in this library vary by {spread}")
    if found.of_these:
        sentence = tr(
            "the repeats among these runs ({runs} runs of {configurations} configurations) vary by {spread}"
        )
    return sentence.format(
        runs=found.known.runs,
        configurations=found.known.configurations,
        spread=spread_words(found.known.spread),
    )


def spread_words(spread: float) -> str:
    """Return a variation in percent with two digits."""
    percent = 100 * spread
    return f"{number_text(percent, '.0f')} %" if percent >= 9.95 else f"{number_text(percent, '.2g')} %"


def why_aside(run: RunFacts) -> str:
    """Return why a run is excluded, a clause."""
    if is_disturbed(run):
        return tr("it was disturbed ({how})").format(how=how_disturbed([run]))
    if unseen := describe_unseen(run.shape):
        return tr("most of its data is missing ({why})").format(why=unseen)
    return tr("whether the run was disturbed is not known ({why})").format(why=run.disturbances.not_known)


def how_disturbed(runs: Sequence[RunFacts]) -> str:
    """Return the disturbances of these runs, with the smallest and largest amount; the first two kinds."""
    amounts: dict[DisturbanceKind, list[float]] = {}
    for run in runs:
        for each in run.disturbances.found:
            amounts.setdefault(each.kind, []).append(each.amount)
    sentences = [disturbance_words(kind, tuple(amounts[kind])) for kind in DisturbanceKind if kind in amounts]
    return "; ".join(sentences[:_MOST_KINDS]) or tr("according to their files")


def count_words(disturbed: int, runs: int) -> str:
    """Return how many of some runs were disturbed."""
    if runs == 1:
        return tr("the run was disturbed")
    sentence = trn(
        "{disturbed} of {count} runs was disturbed", "{disturbed} of {count} runs were disturbed", disturbed
    )
    return sentence.format(disturbed=disturbed, count=runs)


def why_unknown(runs: Sequence[RunFacts]) -> str:
    """Return the first few reasons why it is unknown whether these runs were disturbed."""
    reasons = dict.fromkeys(run.disturbances.not_known for run in runs)
    return "; ".join(list(reasons)[:_MOST_KINDS])


def describe_unseen(shape: RunStability | None) -> str:
    """Return that most of a run is unknown, a clause; empty if it is not."""
    if shape is None or not shape.is_mostly_unseen:
        return ""
    missed, seconds = shape.jitter.missed_seconds, shape.jitter.seconds
    sentence = tr("pgbench itself was blocked for {missed} of {seconds} s")
    return sentence.format(missed=missed, seconds=missed + seconds)


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

    def with_reservation(self, one: Reservation) -> PairVerdict:
        """Return the verdict with one more reservation, and without the parts that this withdraws."""
        found = self.found
        if one.withdraws and found is not None:
            found = without_verdict(found)
        return replace(self, found=found, reservations=(*self.reservations, one))

    @property
    def chance(self) -> ChanceOfFewRuns | None:
        """The role of chance in a difference of too few runs; None for other verdicts."""
        values = (value for each in self.reservations for value in each.values)
        return next((value for value in values if isinstance(value, ChanceOfFewRuns)), None)

    @property
    def sentence(self) -> str:
        """The verdict as a sentence with a full stop; empty if there is nothing to say."""
        is_open = self.found is not None and self.found.verdict in {Verdict.INDICATIVE, Verdict.INCONCLUSIVE}
        # All other verdicts begin with the name of a configuration, which keeps its case.
        begins_with_words = not self.rate and (self.found is None or (is_open and self.is_ranked))
        clause = self.text
        return f"{clause[:1].upper() if begins_with_words else clause[:1]}{clause[1:]}." if clause else ""

    @property
    def text(self) -> str:
        """The verdict as a sentence without a full stop; empty if there is nothing to say."""
        because = next((each.text for each in self.reservations if each.withdraws), "")
        beside = [each.text for each in self.reservations if not each.withdraws]
        pair = self.baseline, self.candidate
        if self.found is None:
            sentence = "; ".join(filter(None, (self.not_compared, because)))
        elif self.is_ranked or self.found.ratio is None:
            sentence = describe(
                *(self.found, pair),
                comparisons=self.comparisons,
                apart=self.apart,
                because=because,
                wording=self.wording,
            )
        else:
            sentence = describe_unranked(
                *(self.found, pair, because, self.cost), comparisons=self.comparisons, wording=self.wording
            )
        return "; ".join(filter(None, (self.rate, sentence, *beside)))
