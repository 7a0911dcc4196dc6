"""Express comparisons in words (ui.md "Words": plain, exact, unexcited) and in table cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from app.domain.text import number_text, tr, trn
from app.statistics.sample_size import RUNS_FOR_A_VERDICT
from app.statistics.verdict import Comparison, Interval, Verdict

NOT_INTERLEAVED: Final = tr("not interleaved")
ORDER_NOT_KNOWN: Final = tr("order unknown")
"""Qualifications of comparisons: the first for runs of campaigns without a common configuration, the second
for runs imported from one campaign.
"""

_TIMES_FROM: Final = 2.0
"""From this ratio on "3.1 times" is easier to understand than "210 % faster"."""
_TIMES_FROM_AN_END: Final = 5.0
"""The same for the other end of a range, or of an interval around a small difference."""


@dataclass(frozen=True, slots=True)
class Wording:
    """Words for a difference of a figure.

    Attributes:
        more: for higher values.
        less: for lower values.
        times: for a ratio of two or more.
    """

    more: str
    less: str
    times: str


SPEED: Final = Wording(
    tr("{percent} % faster than {baseline}"),
    tr("{percent} % slower than {baseline}"),
    tr("{ratio} times as fast as {baseline}"),
)
SIZE: Final = Wording(
    tr("{percent} % higher than {baseline}"),
    tr("{percent} % lower than {baseline}"),
    tr("{ratio} times as high as {baseline}"),
)


@dataclass(frozen=True, slots=True)
class _Amounts:
    """Ratios of one quantity as numbers in one unit, with the decimals that give the largest two digits.

    Attributes:
        numbers: of the difference, and of the ends of its interval.
        in_times: whether they are factors; else percentages.
    """

    numbers: tuple[str, ...]
    in_times: bool

    @property
    def words(self) -> str:
        """The first number with its unit."""
        return self.with_unit(self.numbers[0])

    @property
    def ends(self) -> str:
        """The last two numbers with their unit; one of them if they are equal to the last shown digit."""
        low, high = self.numbers[-2:]
        return self.with_unit(low if low == high else tr("{low} to {high}").format(low=low, high=high))

    def with_unit(self, number: str) -> str:
        """Return a number with the unit."""
        return (tr("{done} times") if self.in_times else "{done} %").format(done=number)


def _amounts(*ratios: float, signed: bool = True) -> _Amounts:
    """Return ratios in percent, with signs or as sizes, or in times if they are too large for that.

    Args:
        ratios: the most important one first.
        signed: whether percentages have signs.
    """
    if ratios[0] >= _TIMES_FROM or max(ratios) >= _TIMES_FROM_AN_END:
        return _Amounts(tuple(map(_times, ratios)), in_times=True)
    percents = [100 * (ratio - 1) if signed else 100 * abs(ratio - 1) for ratio in ratios]
    largest = max(map(abs, percents))
    decimals = -1 if largest >= 99.5 else 0 if largest >= 9.95 else 1 if largest >= 0.995 else 2
    rounded = [round(each, decimals) + 0.0 for each in percents]  # never -0.0
    forms = [f"{'+' if signed and each else ''}.{max(0, decimals)}f" for each in rounded]
    return _Amounts(tuple(map(number_text, rounded, forms)), in_times=False)


def _times(ratio: float) -> str:
    """Return a ratio with two digits, or all whole ones."""
    if ratio < 0.01:
        return f"<{number_text(0.01, 'g')}"
    return number_text(ratio, ",.0f" if ratio >= 9.95 else ".1f" if ratio >= 0.995 else ".2g")


def signed_changes(*ratios: float) -> list[str]:
    """Return ratios of one quantity as signed differences: ``+3.1 %``, ``2.1 times``; never ``-0.0``."""
    found = _amounts(*ratios)
    return list(map(found.with_unit, found.numbers))


def format_range(low: float, high: float) -> str:
    """Return two ratios as a range: ``+1.2 to +5.0 %``, ``2.9 to 3.3 times``."""
    return _amounts(low, high).ends


def _in_cells(comparison: Comparison) -> _Amounts | None:
    """Return a ratio with the ends of its interval, if any; None without a ratio."""
    interval = comparison.interval
    if comparison.ratio is None:
        return None
    return _amounts(comparison.ratio, *(() if interval is None else (interval.low, interval.high)))


def format_difference(comparison: Comparison) -> str:
    """Return the difference for a table cell: ``+3.1 %``, ``3.1 times``; empty without a ratio."""
    found = _in_cells(comparison)
    return "" if found is None else found.words


def format_interval(comparison: Comparison) -> str:
    """Return the interval for a table cell: ``+1.2 to +5.0 %``, ``2.9 to 3.3 times``; empty without one."""
    found = _in_cells(comparison)
    return "" if found is None or comparison.interval is None else found.ends


_APART: Final = {
    NOT_INTERLEAVED: tr(
        "no verdict: {candidate} measured {magnitude} ({count}). A verdict needs runs of one campaign, or a "
        "reference that ran in both"
    ),
    ORDER_NOT_KNOWN: tr(
        "no verdict: {candidate} measured {magnitude} ({count}). Changes between the runs are part of the "
        "difference"
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
        comparisons: size of the family.
        apart: for runs of different campaigns, because changes of the machine between them are part of their
            difference: `NOT_INTERLEAVED`, or the reference that still allows a verdict, a clause.
        because: why this is not a verdict even with enough runs, a clause
            (`app.comparison.groups.without_verdict`).
        wording: of the difference.
    """
    baseline, candidate = pair
    names = {"baseline": baseline, "candidate": candidate, "count": _count(comparison.runs, apart)}
    is_enough = min(comparison.runs) >= RUNS_FOR_A_VERDICT
    match comparison:
        case Comparison(Verdict.HIGHER | Verdict.LOWER, float(ratio), interval=Interval() as interval):
            names |= {"magnitude": magnitude(ratio, wording, baseline, interval)}
            message = _describe_difference(comparison, ratio, interval, comparisons, names)
        case Comparison(Verdict.EQUAL, narrow=Interval() as narrow):
            message = _describe_equal(comparison, narrow, comparisons, names)
        case Comparison(Verdict.INCONCLUSIVE):
            # For disturbed runs it is unknown how many more would be enough.
            more = "" if because else _describe_more_runs(comparison)
            message = ". ".join(
                filter(None, (_describe_inconclusive(comparison, comparisons, names, wording), more))
            )
        case Comparison(Verdict.INDICATIVE, float(ratio)):
            sentence = tr("no verdict: {candidate} measured {magnitude} ({count}; a verdict needs 3)")
            if is_enough and because:
                sentence = tr("no verdict, because {because}: {candidate} measured {magnitude} ({count})")
            elif is_enough:
                sentence = _APART.get(apart, sentence)
            message = sentence.format(magnitude=magnitude(ratio, wording, baseline), because=because, **names)
            because = "" if is_enough else because
        case _:
            sentence = tr("{baseline} and {candidate} cannot be compared: one completed no transactions")
            message = sentence.format(**names)
    return "; ".join(filter(None, (message, because)))


def describe_unranked(
    comparison: Comparison,
    pair: tuple[str, str],
    because: str,
    cost: str,
    *,
    comparisons: int = 1,
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
        comparisons: size of the family.
        wording: of the difference.
    """
    ratio = comparison.ratio or 1.0
    is_reported = comparison.verdict in {Verdict.HIGHER, Verdict.LOWER} and not because
    interval = comparison.interval
    sentence = tr("{candidate} measured {magnitude} ({count}), but it is NOT DURABLE, so it is not ranked")
    if is_reported and interval is not None:
        sentence = tr(
            "{candidate} is {magnitude} ({interval}, {count}), but it is NOT DURABLE, so it is not ranked"
        )
    sentences = [
        sentence.format(
            candidate=pair[1],
            magnitude=magnitude(ratio, wording, pair[0], interval if is_reported else None),
            count=_count(comparison.runs, ""),
            interval="" if interval is None else with_level(ends(ratio, interval), interval, comparisons),
        )
    ]
    if ratio > 1 and cost:
        sentences.append(tr("This is the cost of {cost}").format(cost=cost))
    if not is_reported:
        why = because or tr("a verdict needs {runs} runs of each").format(runs=RUNS_FOR_A_VERDICT)
        if not because and interval is not None:
            seen = with_level(format_interval(comparison), interval, comparisons)
            why = tr("chance alone may explain it ({interval})").format(interval=seen)
        sentences.append(tr("No verdict: {why}").format(why=why))
    return ". ".join(sentences)


def describe_change(comparison: Comparison, baseline: str) -> str:
    """Return a difference with its interval, to follow the name of what is compared with the baseline."""
    ratio, interval = comparison.ratio or 1.0, comparison.interval
    words = magnitude(ratio, SPEED, baseline, interval)
    if interval is None:
        return words
    seen = with_level(ends(ratio, interval), interval, 1)
    return f"{words} ({seen})"


def magnitude(ratio: float, wording: Wording, baseline: str, interval: Interval | None = None) -> str:
    """Return ``3.1 % faster than ext4``, ``4.0 % slower than ext4`` or ``3.1 times as fast as ext4``."""
    found = _sized(ratio, interval)
    if found.in_times:
        return wording.times.format(ratio=found.numbers[0], baseline=baseline)
    words = wording.more if ratio >= 1 else wording.less
    return words.format(percent=found.numbers[0], baseline=baseline)


def ends(ratio: float, interval: Interval) -> str:
    """Return the ends in the direction of the difference: "slower" gives percents slower."""
    return _sized(ratio, interval).ends


def with_level(ends: str, interval: Interval, comparisons: int) -> str:
    """Return an interval; of a single comparison with its level, else `INTERVALS_TOGETHER` reports it."""
    if comparisons > 1:
        return ends
    percent = number_text(100 * interval.confidence, ".3g")
    return tr("{percent} % CI {ends}").format(percent=percent, ends=ends)


def _sized(ratio: float, interval: Interval | None) -> _Amounts:
    """Return the size of a difference, with the ends of its interval in its direction, if any."""
    ends = () if interval is None else (interval.low, interval.high)
    return _amounts(ratio, *(ends if ratio >= 1 else ends[::-1]), signed=False)


INTERVALS_TOGETHER: Final = tr(
    "Ranges in brackets are 95 % confidence intervals, adjusted for all comparisons of one condition."
)
"""Said once for several comparisons."""


def _count(runs: tuple[int, int], apart: str) -> str:
    sentence = tr("{first} and {second} runs").format(first=runs[0], second=runs[1])
    if runs[0] == runs[1]:
        sentence = trn("{runs} run each", "{runs} runs each", runs[0]).format(runs=runs[0])
    return f"{sentence}, {apart}" if apart else sentence


Names = dict[str, str]
"""Values of {baseline}, {candidate}, {count} and {magnitude}."""


def _describe_difference(
    comparison: Comparison, ratio: float, interval: Interval, comparisons: int, names: Names
) -> str:
    message = tr("{candidate} is {magnitude} ({interval}, {count})").format(
        interval=with_level(ends(ratio, interval), interval, comparisons), **names
    )
    if comparison.equivalent:
        message += tr(", less than the smallest difference of interest ({effect:g} %)").format(
            effect=comparison.effect * 100
        )
    return message


def _describe_equal(comparison: Comparison, narrow: Interval, comparisons: int, names: Names) -> str:
    sentence = tr(
        "{baseline} and {candidate} are practically equal: the difference is within {effect:g} % "
        "({interval}, {count})"
    )
    interval = with_level(format_range(narrow.low, narrow.high), narrow, comparisons)
    return sentence.format(effect=comparison.effect * 100, interval=interval, **names)


def about(runs: int | None) -> str:
    """Return a number of runs with two significant digits: more would claim unknown precision."""
    if runs is None or runs < 100:
        return str(runs)
    step = 10 ** (len(str(runs)) - 2)
    return number_text(round(runs / step) * step, ",")


def _describe_inconclusive(comparison: Comparison, comparisons: int, names: Names, wording: Wording) -> str:
    """State the measured difference with its interval; no winner is named."""
    if comparison.interval is None or comparison.ratio is None:
        return tr("inconclusive: {baseline} and {candidate}").format(**names)
    interval = with_level(format_interval(comparison), comparison.interval, comparisons)
    seen = magnitude(comparison.ratio, wording, names["baseline"])
    sentence = tr("inconclusive: {candidate} measured {magnitude} ({interval}, {count})")
    return sentence.format(magnitude=seen, interval=interval, **names)


def _describe_more_runs(comparison: Comparison) -> str:
    """State how many more runs would help in an inconclusive comparison."""
    wanted = comparison.effect if comparison.more_runs_for is None else comparison.more_runs_for
    difference = tr("a difference of {effect:g} %").format(effect=comparison.effect * 100)
    if wanted > comparison.effect:
        difference = tr("the measured difference")
    if comparison.more_runs is None:
        return tr("Detecting {difference} would take more than 10,000 runs of each").format(
            difference=difference
        )
    sentence = tr("Detecting {difference} needs about {more} more of each")
    if comparison.reference_runs is not None:
        sentence = tr("Detecting {difference} needs about {more} more of each, and of the reference")
    return sentence.format(more=about(comparison.more_runs), difference=difference)
