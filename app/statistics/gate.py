"""Judge whether the side after an upgrade is worse than the side before it.

The two sides cannot be interleaved: changes by a reboot, a reformatting or a month affect every later run. So
the unit is the campaign: each is its mean, and the error is the variation between campaigns of one side,
which repeats within a campaign cannot show (`app.comparison.anchor`). All on logarithms, as in
`app.statistics.verdict`.

The error allowed is one-sided, at a limit: if the truth is exactly at the limit, at most one of twenty says
that it is beyond, and one of twenty that it is within. Simulated: resources/manual/method.md. Pure.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np

from app.statistics.sample_size import POWER, student_t_quantile

FEWEST_CAMPAIGNS: Final = 3
"""Per side: with two, the variation between them is one number, and only huge changes are significant."""

ALPHA: Final = 0.05
_ROUNDING: Final = 1e-12
_MOST_ADVISED: Final = 100
"""Maximum number of campaigns per side in an advice."""


class GateVerdict(StrEnum):
    """Possible verdicts on the new side."""

    WORSE = "worse"
    NOT_WORSE = "not-worse"
    INCONCLUSIVE = "cannot-be-told"


@dataclass(frozen=True, slots=True)
class GateEstimate:
    """The new side against the base.

    Attributes:
        verdict: at the limit.
        ratio: of the geometric means of their campaigns, new by base; None if a side has none.
        low: with 95 % confidence the ratio is above this; None below `FEWEST_CAMPAIGNS` of a side.
        high: with 95 % confidence it is below this; with several configurations the 5 % are shared.
        campaigns: of the base and of the new side.
        spreads: standard deviations between campaigns, as shares, of both; None for fewer than two.
        more: further campaigns per side that detect a difference of this size in four of five cases; 0 if it
            is already significant; None for more than a hundred, or if unknown.
    """

    verdict: GateVerdict
    ratio: float | None
    low: float | None
    high: float | None
    campaigns: tuple[int, int]
    spreads: tuple[float | None, float | None]
    more: int | None


def judge_gate(
    base: Sequence[Sequence[float]], new: Sequence[Sequence[float]], worse_by: float, among: int = 1
) -> GateEstimate:
    """Judge whether the new side is worse than the base by more than a limit.

    Worse: the whole one-sided 95 % interval is beyond the limit. Not worse: all of it is within.

    Args:
        base: run means of each campaign, all above 0, at least one each.
        new: of the new side.
        worse_by: the limit, as a share above 0 and below 1.
        among: number of configurations: the error of 5 % is that of calling any of them worse.

    Raises:
        ValueError: a campaign has no run, or a mean is not above 0, or the limit is out of range.
    """
    if not 0 < worse_by < 1 or among < 1:
        raise ValueError(worse_by, among)
    sides = [np.array([_log_mean(campaign) for campaign in side]) for side in (base, new)]
    counts = (len(base), len(new))
    spreads = tuple(float(side.std(ddof=1)) if len(side) > 1 else None for side in sides)
    reported_spreads = (_as_share(spreads[0]), _as_share(spreads[1]))
    if not all(counts):
        return GateEstimate(GateVerdict.INCONCLUSIVE, None, None, None, counts, reported_spreads, None)
    difference, limit = float(sides[1].mean() - sides[0].mean()), math.log1p(-worse_by)
    variances = [0.0 if spread is None else spread**2 for spread in spreads]
    if min(counts) < FEWEST_CAMPAIGNS:
        ratio = math.exp(difference)
        known = None not in spreads
        more = _more_needed(variances, counts, difference - limit, among) if known else None
        missing = FEWEST_CAMPAIGNS - min(counts)
        more = max(more, missing) if more is not None else (None if known else missing)
        return GateEstimate(GateVerdict.INCONCLUSIVE, ratio, None, None, counts, reported_spreads, more)
    low = difference - _half(variances, counts, ALPHA)
    high = difference + _half(variances, counts, ALPHA / among)
    verdict, more = GateVerdict.INCONCLUSIVE, None
    if high < limit - _ROUNDING:
        verdict, more = GateVerdict.WORSE, 0
    elif low > limit + _ROUNDING:
        verdict, more = GateVerdict.NOT_WORSE, 0
    else:
        more = _more_needed(variances, counts, difference - limit, among)
    return GateEstimate(
        verdict, math.exp(difference), math.exp(low), math.exp(high), counts, reported_spreads, more
    )


def _log_mean(campaign: Sequence[float]) -> float:
    values = np.asarray(campaign, dtype=np.float64)
    if not len(values) or not np.isfinite(values).all() or not (values > 0).all():
        raise ValueError(campaign)
    return float(np.log(values).mean())


def _as_share(spread: float | None) -> float | None:
    return None if spread is None else math.expm1(spread)


def _half(variances: Sequence[float], counts: tuple[int, int], alpha: float) -> float:
    """Return half of the interval: Student's quantile times the standard error of the difference.

    Degrees of freedom by Welch and Satterthwaite, but at most those of two sides of the smaller size,
    weighted by their inequality: with 12 campaigns against 3 Welch's alone are wrong in up to 6.3 of 100
    cases instead of 5; with this bound in at most 5.2, mostly in fewer (resources/manual/method.md).
    """
    parts = [variance / count for variance, count in zip(variances, counts, strict=True)]
    if not sum(parts):
        return 0.0
    df = sum(parts) ** 2 / sum(part**2 / (count - 1) for part, count in zip(parts, counts, strict=True))
    most = (min(counts) - 1) * (1 + min(counts) / max(counts))
    return student_t_quantile(1 - alpha, min(df, most)) * math.sqrt(sum(parts))


def _more_needed(
    variances: Sequence[float], counts: tuple[int, int], distance: float, among: int
) -> int | None:
    """Return the further campaigns per side for a verdict, if difference and spreads stay the same."""
    alpha = ALPHA / among if distance < 0 else ALPHA

    def would_decide(more: int) -> bool:
        many = (counts[0] + more, counts[1] + more)
        return _half(variances, many, alpha) + _half(variances, many, 1 - POWER) <= abs(distance)

    least = max(1, FEWEST_CAMPAIGNS - min(counts))
    wanted = range(least, _MOST_ADVISED + 1)
    place = bisect_left(wanted, 1, key=lambda more: int(would_decide(more)))
    return wanted[place] if place < len(wanted) else None
