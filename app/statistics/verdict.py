"""Statistics over runs: a mean with its interval, verdicts on two configurations, and on a chosen largest.

The unit is the run, never the second: per-second tests call 58 to 71 % of identical pairs different, tests on
run means 3.6 to 5.8 % (measured; reference measurements E1). All computations use the logarithms of the run
means; means are therefore geometric (for runs 5 % apart 0.1 % below the arithmetic one) and differences are
ratios. Inside one run: `app.statistics.series`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.statistics.sample_size import (
    DEFAULT_ALPHA,
    DEFAULT_EFFECT,
    RUNS_FOR_A_REFERENCE,
    RUNS_FOR_A_VERDICT,
    runs_needed,
    student_t_quantile,
    student_t_tail,
)

# Intervals for a value that was chosen because it was the largest, and is therefore overestimated.
#
# Conditional on being chosen, a value has its distribution truncated at the least value that would have been
# chosen (its bound). Inverting the truncated distribution gives intervals with the right coverage, but of any
# width if the choice was close; so the truth is first confined to a wider interval that is valid for every
# choice (Bonferroni over all), at a tenth of the error. This is the hybrid of Andrews, Kitagawa and McCloskey
# (Inference on Winners, Quarterly Journal of Economics 139, 2024), with Student's t. Their coverage after a
# sequential choice: resources/manual/method.md, "What simulations found".


_CONFINING: Final = 0.1
"""Share of the error for the wider interval."""
_STEPS: Final = 32
_GRID: Final = 1.05
_STEPS_OF_GRID: Final = 566
"""1.05 to the power of minus that is 1e-12."""


@dataclass(frozen=True, slots=True)
class ChoiceAmong:
    """How the first of two was chosen among several.

    Attributes:
        bound: the least difference of the two with which it would still have been chosen.
        others: number of its competitors.
    """

    bound: float
    others: int

    def interval(self, seen: float, error: float, df: float, alpha: float) -> tuple[float, float]:
        """Return the ends of the interval of a difference in favour of the chosen one.

        It never says that the leading one is slower: being chosen is no evidence against it.

        Args:
            seen: difference; raised to the bound if it is below.
            error: standard error.
            df: degrees of freedom of that.
            alpha: error allowed, two-sided.
        """
        if error == 0:
            return seen, seen
        bound = (min(self.bound, seen) - seen) / error
        low, high = _standard(bound, df, self.others, alpha)
        return seen + low * error, max(seen + high * error, min(seen, 0.0))

    def p_value(self, seen: float, error: float, df: float) -> float:
        """Return the least error at which the interval excludes no difference, with 5 % relative precision.

        1 if the chosen one is not ahead at all.
        """
        if seen <= 0 or error == 0:
            return 1.0 if seen <= 0 else 0.0
        bound, truth = (min(self.bound, seen) - seen) / error, -seen / error
        low, high = 0, _STEPS_OF_GRID
        while low < high:  # the interval grows as the error that is allowed shrinks
            middle = (low + high + 1) // 2
            reach, inside = _confined(df, self.others, _GRID**-middle)
            share = _share_above(truth, bound, df, reach) if truth > -reach else 0.0
            low, high = (middle, high) if share < inside / 2 else (low, middle - 1)
        return _GRID**-low


def _confined(df: float, others: int, alpha: float) -> tuple[float, float]:
    """Return the half width of the wider interval, and the remaining error within it."""
    confining = _CONFINING * alpha
    reach = student_t_quantile(1 - confining / (2 * max(1, others)), df)
    return reach, (alpha - confining) / (1 - confining)


def _share_above(truth: float, bound: float, df: float, reach: float) -> float:
    """Return the share of the truncated distribution above 0, for a true value `truth`; errors are 1."""
    top = student_t_tail(reach, df)
    possible = student_t_tail(max(bound - truth, -reach), df) - top
    return (student_t_tail(-truth, df) - top) / possible if possible > 0 else 0.0


@lru_cache(maxsize=4096)
def _standard(bound: float, df: float, others: int, alpha: float) -> tuple[float, float]:
    """Return the ends for a difference of 0 with an error of 1; `bound` is at most 0."""
    reach, inside = _confined(df, others, alpha)

    def solve(share: float) -> float:
        low, high = -reach, reach
        for _ in range(_STEPS):
            middle = (low + high) / 2
            low, high = (middle, high) if _share_above(middle, bound, df, reach) < share else (low, middle)
        return (low + high) / 2

    return solve(inside / 2), solve(1 - inside / 2)


_ROUNDING: Final = 1e-12
_NOTHING: Final = 1e-9
"""Below this a mean counts as 0: a transaction in thirty years."""

_LARGEST_LOG: Final = 700.0


def _checked(values: Sequence[float]) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not np.isfinite(array).all() or (array < 0).any():
        raise ValueError(values)
    return np.where(array < _NOTHING, 0.0, array)


def _exp(logarithm: float) -> float:
    """Return e to a power, limited to 1e304: the interval of three runs may overflow."""
    return math.exp(min(max(logarithm, -_LARGEST_LOG), _LARGEST_LOG))


@dataclass(frozen=True, slots=True)
class RunInterval:
    """The mean of the runs of one configuration.

    Attributes:
        mean: geometric mean; 0 if a run was 0; None without runs.
        low: lower end of the interval; None below three runs or if a run was 0.
        high: upper end; None as `low`.
        runs: number of runs.
        confidence: of the interval.
    """

    mean: float | None
    low: float | None
    high: float | None
    runs: int
    confidence: float

    @property
    def ends(self) -> tuple[float, float] | None:
        """Both ends of the interval; None without one."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def indicative_only(self) -> bool:
        """Whether there are too few runs for an interval."""
        return self.runs < RUNS_FOR_A_VERDICT


def run_interval(values: Sequence[float], confidence: float = 0.95) -> RunInterval:
    """Return the geometric mean of run means with Student's interval on the logarithms.

    Args:
        values: one per run, in any unit.
        confidence: above 0 and below 1.

    Raises:
        ValueError: a value is negative, infinite or NaN.
    """
    array = _checked(values)
    runs = len(array)
    if runs == 0 or (array == 0).any():
        return RunInterval(0.0 if runs else None, None, None, runs, confidence)
    logs = np.log(array)
    mean = float(logs.mean())
    if runs < RUNS_FOR_A_VERDICT:
        return RunInterval(math.exp(mean), None, None, runs, confidence)
    half = student_t_quantile((1 + confidence) / 2, runs - 1) * float(logs.std(ddof=1)) / math.sqrt(runs)
    return RunInterval(math.exp(mean), _exp(mean - half), _exp(mean + half), runs, confidence)


class Verdict(StrEnum):
    """Possible verdicts on the second configuration against the first."""

    HIGHER = "higher"
    LOWER = "lower"
    EQUAL = "practically-equal"
    INCONCLUSIVE = "inconclusive"
    INDICATIVE = "indicative-only"
    IMPOSSIBLE = "not-comparable"


@dataclass(frozen=True, slots=True)
class ReferenceRuns:
    """Run means of one configuration that ran, unchanged, in the campaigns of both compared ones.

    Attributes:
        baseline: in the campaign of the first.
        candidate: in the campaign of the second.
    """

    baseline: tuple[float, ...]
    candidate: tuple[float, ...]

    def __post_init__(self) -> None:
        for values in (self.baseline, self.candidate):
            if len(values) < RUNS_FOR_A_REFERENCE or not _checked(values).all():
                raise ValueError(values)


@dataclass(frozen=True, slots=True)
class Samples:
    """Run means of two configurations.

    Attributes:
        baseline: of the first.
        candidate: of the second.
        paired: whether values at the same index belong to the same block of an interleaved campaign.
        together: whether all are of one campaign. A change between two campaigns is part of their difference,
            and repeats within either do not show it: with 1 % between campaigns, 35 % of five identical runs
            each were called different, and more runs made it worse.
        reference: measures that change; each of the two is divided by the reference in its own campaign, and
            the ratio of these ratios is compared. None if nothing ran in both.
        estimate: of their difference, if more is known than these values show: in a sequential campaign
            (`app.statistics.selection`).
    """

    baseline: tuple[float, ...]
    candidate: tuple[float, ...]
    paired: bool
    together: bool = True
    reference: ReferenceRuns | None = None
    estimate: Estimate | None = None

    def __post_init__(self) -> None:
        if self.paired and len(self.baseline) != len(self.candidate):
            raise ValueError((len(self.baseline), len(self.candidate)))
        if self.reference is not None and (self.paired or self.together):
            raise ValueError(self)


@dataclass(frozen=True, slots=True)
class Interval:
    """An interval of a ratio.

    Attributes:
        low: lower end; 1 is no difference.
        high: upper end.
        confidence: above 0 and below 1.
    """

    low: float
    high: float
    confidence: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """The second configuration against the first.

    Attributes:
        verdict: INDICATIVE below three runs of either and between campaigns without a reference, IMPOSSIBLE
            without runs or if a run was 0.
        ratio: second by first, of geometric means, each by its reference if there is one; None for
            IMPOSSIBLE.
        runs: numbers of the first and of the second.
        paired: whether pairs were compared.
        effect: the smallest difference of interest, as a share.
        interval: of the ratio; excludes 1 exactly for HIGHER and LOWER; None for INDICATIVE and IMPOSSIBLE.
        narrow: the interval that is within plus and minus `effect` for equivalent ones; None as `interval`.
        p_value: two-sided, of the hypothesis that there is no difference; None as `interval`.
        equivalent: possible with HIGHER or LOWER: there is a difference, but too small to matter.
        more_runs: for INCONCLUSIVE, about how many more of each would detect a difference of `more_runs_for`
            with a probability of 80 %; None if that is more than 10 000, and for other verdicts.
        more_runs_for: for INCONCLUSIVE, the measured difference, as a share of the lower one, or `effect` if
            it was smaller; None for other verdicts.
        reference_runs: runs of the reference in the campaigns of the first and of the second; None without
            one.
    """

    verdict: Verdict
    ratio: float | None
    runs: tuple[int, int]
    paired: bool
    effect: float
    interval: Interval | None = None
    narrow: Interval | None = None
    p_value: float | None = None
    equivalent: bool = False
    more_runs: int | None = None
    more_runs_for: float | None = None
    reference_runs: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Estimate:
    """Estimate of the difference of two configurations.

    Attributes:
        difference: of their mean logarithms, of the second minus the first.
        error: standard error.
        df: degrees of freedom of that.
        spread: of one run or pair.
        choice: if one of the two was chosen as the fastest; else None.
        is_first: whether that is the first.
    """

    difference: float
    error: float
    df: float
    spread: float
    choice: ChoiceAmong | None = None
    is_first: bool = False

    def p_value(self) -> float:
        """Return the two-sided p value of the hypothesis that there is no difference."""
        if self.choice is not None:
            seen = -self.difference if self.is_first else self.difference
            return self.choice.p_value(seen, self.error, self.df)
        if self.error == 0:
            return 1.0 if self.difference == 0 else 0.0
        return min(1.0, 2 * student_t_tail(abs(self.difference) / self.error, self.df))

    def __post_init__(self) -> None:
        """Remove rounding errors: runs at a fixed rate may be equal to the last digit."""
        for name in ("difference", "error"):
            if abs(getattr(self, name)) < _ROUNDING:
                object.__setattr__(self, name, 0.0)

    def interval(self, alpha: float) -> Interval:
        """Return the interval of the ratio at 1 - `alpha`."""
        if self.choice is not None:
            sign = -1 if self.is_first else 1
            ends = self.choice.interval(sign * self.difference, self.error, self.df, alpha)
            low, high = sorted(sign * end for end in ends)
            return Interval(_exp(low), _exp(high), 1 - alpha)
        half = student_t_quantile(1 - alpha / 2, self.df) * self.error
        return Interval(_exp(self.difference - half), _exp(self.difference + half), 1 - alpha)


def _estimate(samples: Samples) -> Estimate | None:
    """Return the estimate; None below three runs or if a run was 0."""
    if samples.estimate is not None:
        return samples.estimate
    a, b = _checked(samples.baseline), _checked(samples.candidate)
    if min(len(a), len(b)) < RUNS_FOR_A_VERDICT or (a == 0).any() or (b == 0).any():
        return None
    if samples.paired:
        pairs = np.log(b) - np.log(a)
        spread = float(pairs.std(ddof=1))
        return Estimate(float(pairs.mean()), spread / math.sqrt(len(pairs)), len(pairs) - 1, spread)
    if samples.reference is None:
        return _welch(b, a)
    return _welch(b, a, _checked(samples.reference.baseline), _checked(samples.reference.candidate))


def _welch(*groups: NDArray[np.float64]) -> Estimate:
    """Return the mean logarithm of the first group minus that of the second, plus the third minus the fourth.

    Each group has its own spread; degrees of freedom are those of a sum of any number of variances
    (Satterthwaite 1946; for two groups they are Welch's).
    """
    logs = [np.log(group) for group in groups]
    difference = sum((-1) ** place * float(each.mean()) for place, each in enumerate(logs))
    variances = [float(each.var(ddof=1)) for each in logs]
    parts = [variance / len(each) for variance, each in zip(variances, logs, strict=True)]
    degrees = sum(part**2 / (len(each) - 1) for part, each in zip(parts, logs, strict=True))
    df = sum(parts) ** 2 / degrees if degrees > 0 else float(sum(len(each) - 1 for each in logs))
    return Estimate(difference, math.sqrt(sum(parts)), df, math.sqrt(sum(variances) / 2))


def compare(samples: Samples, *, effect: float = DEFAULT_EFFECT, alpha: float = DEFAULT_ALPHA) -> Comparison:
    """Compare two configurations.

    Higher or lower if the interval at 1 - `alpha` excludes no difference; else practically equal if the
    interval at 1 - 2 `alpha` is within plus and minus `effect` (two one-sided tests); else inconclusive.

    Raises:
        ValueError: a value is negative, infinite or NaN.
    """
    a, b = run_interval(samples.baseline), run_interval(samples.candidate)
    ratio = b.mean / a.mean if a.mean and b.mean else None
    runs = (a.runs, b.runs)
    estimate = _estimate(samples) if samples.together or samples.reference is not None else None
    if estimate is None:
        verdict = Verdict.IMPOSSIBLE if ratio is None else Verdict.INDICATIVE
        return Comparison(verdict, ratio, runs, samples.paired, effect)
    reference = samples.reference
    beside = None if reference is None else (len(reference.baseline), len(reference.candidate))
    found = Comparison(Verdict.INCONCLUSIVE, ratio, runs, samples.paired, effect, reference_runs=beside)
    return _judged(found, estimate, alpha)


def compare_reference(reference: ReferenceRuns, *, effect: float = DEFAULT_EFFECT) -> Comparison:
    """Compare the reference in the campaign of the second with that of the first.

    A difference means that the common basis of both campaigns has changed.
    """
    a, b = _checked(reference.baseline), _checked(reference.candidate)
    found = Comparison(Verdict.INCONCLUSIVE, None, (len(a), len(b)), paired=False, effect=effect)
    return _judged(found, _welch(b, a), DEFAULT_ALPHA)


def _judged(comparison: Comparison, estimate: Estimate, alpha: float) -> Comparison:
    """Return a comparison with the verdict of an estimate."""
    effect = comparison.effect
    interval, narrow = estimate.interval(alpha), estimate.interval(2 * alpha)
    equivalent = 1 / (1 + effect) < narrow.low and narrow.high < 1 + effect
    verdict = Verdict.EQUAL if equivalent else Verdict.INCONCLUSIVE
    if not interval.low <= 1 <= interval.high:
        verdict = Verdict.HIGHER if interval.low > 1 else Verdict.LOWER
    more = wanted = None
    if verdict is Verdict.INCONCLUSIVE:
        wanted = max(effect, math.expm1(min(abs(estimate.difference), _LARGEST_LOG)))
        needed = runs_needed(estimate.spread, effect=wanted, paired=comparison.paired, alpha=alpha)
        fewest = min((*comparison.runs, *(comparison.reference_runs or ())))
        more = None if needed is None else max(1, needed - fewest)
    return replace(
        comparison,
        verdict=verdict,
        # The estimate of the chosen fastest may be biased upwards beyond its interval.
        ratio=min(max(_exp(estimate.difference), interval.low), interval.high),
        interval=interval,
        narrow=narrow,
        p_value=estimate.p_value(),
        equivalent=equivalent,
        more_runs=more,
        more_runs_for=wanted,
    )


def interval_beyond_chance(samples: Samples, alpha: float) -> Interval | None:
    """Return the interval of the ratio if it excludes no difference, without the rest of a verdict.

    Args:
        samples: of two configurations.
        alpha: error allowed, two-sided.

    Returns:
        None if the difference is not significant, or there is no estimate.

    Raises:
        ValueError: a value is negative, infinite or NaN.
    """
    estimate = _estimate(samples) if samples.together else None
    if estimate is None or estimate.p_value() >= alpha:
        return None
    return estimate.interval(alpha)


def holm_levels(p_values: Sequence[float], alpha: float) -> tuple[float, ...]:
    """Return the level at which Holm's procedure (Holm 1979) tested each hypothesis.

    An interval at 1 - level excludes no difference exactly if Holm rejects; after the first hypothesis that
    is not rejected, the others are judged at its level.
    """
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    levels = [alpha] * len(p_values)
    level = alpha
    stands = False
    for rank, place in enumerate(order):
        if not stands:
            level = alpha / (len(order) - rank)
            stands = p_values[place] >= level
        levels[place] = level
    return tuple(levels)


def compare_family(
    samples: Sequence[Samples], *, effect: float = DEFAULT_EFFECT, alpha: float = DEFAULT_ALPHA
) -> tuple[Comparison, ...]:
    """Compare several configurations with one; the total error is at most `alpha`.

    Raises:
        ValueError: a value is not a run mean.
    """
    alone = [compare(each, effect=effect, alpha=alpha) for each in samples]
    judged = [place for place, comparison in enumerate(alone) if comparison.p_value is not None]
    p_values = [p for comparison in alone if (p := comparison.p_value) is not None]
    for place, level in zip(judged, holm_levels(p_values, alpha), strict=True):
        alone[place] = compare(samples[place], effect=effect, alpha=level)
    return tuple(alone)
