"""Express comparisons in words (ui.md "Words": plain, exact, unexcited) and in table cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from app.domain.text import number_text, tr, trn
from app.statistics.sample_size import RUNS_FOR_A_VERDICT
from app.statistics.verdict import Comparison, Interval, Verdict

NOT_INTERLEAVED: Final = tr("not interleaved")
ORDER_NOT_KNOWN: Final = tr("in an order that is not known")
"""Qualifications of comparisons: the first for runs of campaigns without a common configuration, the second
for runs imported from one campaign.
"""

_TIMES_FROM: Final = 2.0
"""From this ratio on "3.1 times" is easier to understand than "210 % faster"."""


@dataclass(frozen=True, slots=True)
class Wording:
    """Words for a difference of a figure.

    Attributes:
        more: for higher values.
        less: for lower values.
        times: for a ratio of two or more.
        more_alone: for higher values, without a name.
        less_alone: for lower values, without a name.
    """

    more: str
    less: str
    times: str
    more_alone: str
    less_alone: str


SPEED: Final = Wording(
    tr("{percent} % faster than {baseline}"),
    tr("{percent} % slower than {baseline}"),
    tr("{ratio} times as fast as {baseline}"),
    tr("{percent} % faster"),
    tr("{percent} % slower"),
)
SIZE: Final = Wording(
    tr("{percent} % higher than {baseline}"),
    tr("{percent} % lower than {baseline}"),
    tr("{ratio} times as high as {baseline}"),
    tr("{percent} % higher"),
    tr("{percent} % lower"),
)


def _percent(share: float) -> str:
    """Return a share in percent with one decimal; never ``-0.0``."""
    return number_text(round(share * 100, 1) + 0.0, ".1f")


def signed_percent(ratio: float) -> str:
    """Return a ratio as a signed difference in percent, one decimal; never ``-0.0``."""
    percent = round((ratio - 1) * 100, 1) + 0.0
    return number_text(percent, "+.1f" if percent else ".1f")


def format_difference(comparison: Comparison) -> str:
    """Return the difference for a table cell: ``+3.1 %``, ``3.1 times``; empty without a ratio."""
    ratio = comparison.ratio
    if ratio is None:
        return ""
    if ratio >= _TIMES_FROM:
        return tr("{ratio:.1f} times").format(ratio=ratio)
    return tr("{percent} %").format(percent=signed_percent(ratio))


def format_interval(comparison: Comparison) -> str:
    """Return the interval for a table cell: ``+1.2 to +5.0 %``, ``2.9 to 3.3 times``; empty without one."""
    interval, ratio = comparison.interval, comparison.ratio
    if interval is None or ratio is None:
        return ""
    if ratio >= _TIMES_FROM:
        return tr("{low:.1f} to {high:.1f} times").format(low=interval.low, high=interval.high)
    low, high = signed_percent(interval.low), signed_percent(interval.high)
    return tr("{low} to {high} %").format(low=low, high=high)


_APART: Final = {
    NOT_INTERLEAVED: tr(
        "indicative only: {candidate} was {magnitude} ({count}: what else changed "
        "between the campaigns is part of it, and a verdict takes runs of one campaign, or a "
        "reference that ran in both)"
    ),
    ORDER_NOT_KNOWN: tr(
        "indicative only: {candidate} was {magnitude} ({count}: what changed between the runs is part of it)"
    ),
}
"""Sentences for enough runs that still allow no verdict, by reason."""


def describe(
    comparison: Comparison,
    pair: tuple[str, str],
    *,
    comparisons: int = 1,
    apart: str = "",
    because: str = "",
    wording: Wording = SPEED,
) -> str:
    """Return the verdict as a sentence without a full stop, about TPS unless another wording is given.

    Args:
        comparison: of the second with the first.
        pair: names of the first configuration and of the second.
        comparisons: size of the family; mentioned if the interval is adjusted for it.
        apart: for runs of different campaigns, because changes of the machine between them are part of their
            difference: `NOT_INTERLEAVED`, or the reference that still allows a verdict, a clause.
        because: why this is not a verdict even with enough runs, a clause
            (`app.comparison.disturbed_runs.without_verdict`).
        wording: of the difference.
    """
    baseline, candidate = pair
    names = {"baseline": baseline, "candidate": candidate, "count": _count(comparison.runs, apart)}
    is_enough = min(comparison.runs) >= RUNS_FOR_A_VERDICT
    match comparison:
        case Comparison(Verdict.HIGHER | Verdict.LOWER, float(ratio), interval=Interval() as interval):
            names |= {"comparisons": str(comparisons), "magnitude": magnitude(ratio, wording, baseline)}
            message = _describe_difference(comparison, ratio, interval, names)
        case Comparison(Verdict.EQUAL, narrow=Interval() as narrow):
            message = _describe_equal(comparison, narrow, names)
        case Comparison(Verdict.INCONCLUSIVE):
            # For disturbed runs it is unknown how many more would be enough.
            more = "" if because else _describe_more_runs(comparison)
            message = "; ".join(filter(None, (_describe_inconclusive(comparison, names), more)))
        case Comparison(Verdict.INDICATIVE, float(ratio)):
            sentence = tr("indicative only: {candidate} was {magnitude} ({count}; a verdict takes 3)")
            if is_enough and because:
                sentence = tr("indicative only, because {because}: {candidate} was {magnitude} ({count})")
            elif is_enough:
                sentence = _APART.get(apart, sentence)
            message = sentence.format(magnitude=magnitude(ratio, wording, baseline), because=because, **names)
            because = "" if is_enough else because
        case _:
            sentence = tr("{baseline} and {candidate} cannot be compared: one has no run with transactions")
            message = sentence.format(**names)
    return "; ".join(filter(None, (message, because)))


def describe_unranked(
    comparison: Comparison,
    pair: tuple[str, str],
    because: str,
    cost: str,
    *,
    wording: Wording = SPEED,
) -> str:
    """Return the result of a configuration that is not durable, and that it is not ranked.

    Reason, result and evidence are separate sentences, without a final full stop.

    Args:
        comparison: with a ratio.
        pair: names of the first configuration, which is ranked, and of the second.
        because: another reason against a verdict, a clause; empty for none.
        cost: the feature that explains the difference, such as "the storage"; empty if more than that
            differs.
        wording: of the difference.
    """
    ratio = comparison.ratio or 1.0
    is_reported = comparison.verdict in {Verdict.HIGHER, Verdict.LOWER} and not because
    interval = comparison.interval
    sentence = tr("{candidate} measured {magnitude} ({count}), but it is NOT DURABLE, so it is not ranked")
    if is_reported and interval is not None:
        sentence = tr(
            "{candidate} is {magnitude} ({confidence} interval {ends}, {count}), but it is NOT DURABLE, so "
            "it is not ranked"
        )
    sentences = [
        sentence.format(
            candidate=pair[1],
            magnitude=magnitude(ratio, wording, pair[0]),
            count=_count(comparison.runs, ""),
            confidence="" if interval is None else confidence(interval),
            ends="" if interval is None else ends(interval, ratio),
        )
    ]
    if ratio > 1 and cost:
        sentences.append(tr("This is what {cost} costs").format(cost=cost))
    if not is_reported:
        why = because or tr("a verdict takes {runs} runs of each").format(runs=RUNS_FOR_A_VERDICT)
        if not because and interval is not None:
            why = tr("chance alone may explain it ({confidence} interval {ends})").format(
                confidence=confidence(interval), ends=format_interval(comparison)
            )
        sentences.append(tr("No verdict: {why}").format(why=why))
    return ". ".join(sentences)


def describe_briefly(comparison: Comparison, *, wording: Wording = SPEED) -> str:
    """Return the verdict without names, to follow another sentence about the same two."""
    ratio = comparison.ratio
    if comparison.verdict is Verdict.IMPOSSIBLE or ratio is None:
        return tr("not comparable")
    if comparison.verdict is Verdict.INCONCLUSIVE:
        return tr("they cannot be told apart")
    if comparison.verdict is Verdict.EQUAL:
        return tr("they are practically equal")
    size = tr("{ratio:.1f} times as much").format(ratio=ratio)
    if ratio < _TIMES_FROM:
        words = wording.more_alone if ratio >= 1 else wording.less_alone
        size = words.format(percent=_percent(abs(ratio - 1)))
    if comparison.interval is None:
        return tr("{magnitude}, indicative only").format(magnitude=size)
    sentence = tr("{magnitude} ({confidence} interval {ends})")
    return sentence.format(
        magnitude=size, confidence=confidence(comparison.interval), ends=ends(comparison.interval, ratio)
    )


def magnitude(ratio: float, wording: Wording, baseline: str) -> str:
    """Return ``3.1 % faster than ext4``, ``4.0 % slower than ext4`` or ``3.1 times as fast as ext4``."""
    if ratio >= _TIMES_FROM:
        return wording.times.format(ratio=number_text(ratio, ".1f"), baseline=baseline)
    words = wording.more if ratio >= 1 else wording.less
    return words.format(percent=_percent(abs(ratio - 1)), baseline=baseline)


def ends(interval: Interval, ratio: float) -> str:
    """Return the ends in the direction of the difference: "slower" gives percents slower."""
    if ratio >= _TIMES_FROM:
        return tr("{low:.1f} to {high:.1f} times").format(low=interval.low, high=interval.high)
    ends = (interval.low - 1, interval.high - 1) if ratio >= 1 else (1 - interval.high, 1 - interval.low)
    return tr("{low} to {high} %").format(low=_percent(ends[0]), high=_percent(ends[1]))


def _count(runs: tuple[int, int], apart: str) -> str:
    sentence = tr("{first} and {second} runs").format(first=runs[0], second=runs[1])
    if runs[0] == runs[1]:
        sentence = trn("{runs} run each", "{runs} runs each", runs[0]).format(runs=runs[0])
    return tr("{count}, {apart}").format(count=sentence, apart=apart) if apart else sentence


def confidence(interval: Interval) -> str:
    """Return ``95 %``, or ``98.3 %`` if Holm requires more."""
    return tr("{percent:.3g} %").format(percent=interval.confidence * 100)


Names = dict[str, str]
"""Values of {baseline}, {candidate}, {count}, {magnitude} and {comparisons}."""


def _describe_difference(comparison: Comparison, ratio: float, interval: Interval, names: Names) -> str:
    sentence = tr("{candidate} is {magnitude} ({confidence} interval {ends}, {count})")
    if names["comparisons"] != "1":
        sentence = tr(
            "{candidate} is {magnitude} ({confidence} interval {ends}, allowing for {comparisons} "
            "comparisons, {count})"
        )
    message = sentence.format(
        confidence=confidence(interval),
        ends=ends(interval, ratio),
        **names,
    )
    if comparison.equivalent:
        message += tr(", less than the {effect:g} % that would matter").format(effect=comparison.effect * 100)
    return message


def _describe_equal(comparison: Comparison, narrow: Interval, names: Names) -> str:
    sentence = tr(
        "{baseline} and {candidate} are practically equal: the difference is within {effect:g} % "
        "({confidence} interval {low} to {high} %, {count})"
    )
    return sentence.format(
        effect=comparison.effect * 100,
        confidence=confidence(narrow),
        low=signed_percent(narrow.low),
        high=signed_percent(narrow.high),
        **names,
    )


def about(runs: int | None) -> str:
    """Return a number of runs with two significant digits: more would claim unknown precision."""
    if runs is None or runs < 100:
        return str(runs)
    step = 10 ** (len(str(runs)) - 2)
    return number_text(round(runs / step) * step, ",")


def _describe_inconclusive(comparison: Comparison, names: Names) -> str:
    """State the measured difference with its interval; no winner is named."""
    if comparison.interval is None or comparison.ratio is None:
        return tr("{baseline} and {candidate} cannot be told apart with these runs").format(**names)
    sentence = tr(
        "{baseline} and {candidate} cannot be told apart with these runs: of {candidate} against {baseline} "
        "{seen} was seen ({confidence} interval {ends}, {count})"
    )
    return sentence.format(
        seen=format_difference(comparison),
        confidence=confidence(comparison.interval),
        ends=format_interval(comparison),
        **names,
    )


def _describe_more_runs(comparison: Comparison) -> str:
    """State how many more runs would help in an inconclusive comparison."""
    wanted = comparison.effect if comparison.more_runs_for is None else comparison.more_runs_for
    difference = tr("a difference of {effect:g} %").format(effect=comparison.effect * 100)
    if wanted > comparison.effect:
        difference = tr("a difference as large as the one seen")
    if comparison.more_runs is None:
        return tr("{difference} would take more than 10 000 of each").format(difference=difference)
    sentence = tr("about {more} more of each would show {difference}")
    if comparison.reference_runs is not None:
        sentence = tr("about {more} more of each, and of the reference, would show {difference}")
    return sentence.format(more=about(comparison.more_runs), difference=difference)
