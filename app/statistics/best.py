"""Find the configurations that may be the best, consistent with the verdicts.

A configuration is excluded if another one is significantly better. The remaining set contains the truly best
one in at least 95 % of cases: it is only excluded by an error, and the errors that may exclude a given
configuration are shared among the others (Bonferroni), one-sided, because only "another one is better"
excludes it. This is subset selection (Gupta, On some multiple decision rules, Technometrics 7, 1965, pages
225 to 245) by multiple comparisons with the best (Edwards and Hsu 1983: available whenever any configuration
may be the control), with Bonferroni in place of critical values that assume equal spreads.

Half of the error goes to the comparison with the first, which is the verdict of the table already (Holm), so
that the two never contradict each other; the other half is shared by all others. The first itself is excluded
exactly if a verdict says that another one is better. Simulated: resources/manual/method.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from app.statistics.sample_size import DEFAULT_ALPHA
from app.statistics.verdict import Comparison, Interval, Samples, Verdict, interval_beyond_chance


def possibly_best(
    with_first: Sequence[Comparison],
    samples: Callable[[int, int], Samples],
    *,
    is_real: Callable[[int, int, Interval], bool] = lambda _one, _other, _found: True,
    alpha: float = DEFAULT_ALPHA,
) -> tuple[int, ...]:
    """Return the indexes of the configurations that may be the best, where higher is better.

    Args:
        with_first: verdicts on each but the first, as `compare_family` makes them at `alpha`.
        samples: runs of two others by their indexes, from 1; called for the second against the first.
        is_real: whether a difference between two others counts; False for instance if it may have another
            cause.
        alpha: error allowed in all.

    Returns:
        Ascending; only empty without configurations.
    """
    count = len(with_first) + 1
    others = range(1, count)
    level = alpha / max(1, count - 2)  # two-sided, so that half of it is the share of one direction

    def beaten(place: int) -> bool:
        if not place:
            return any(found.verdict is Verdict.HIGHER for found in with_first)
        if with_first[place - 1].verdict is Verdict.LOWER:
            return True
        for other in others:
            if other != place:
                found = interval_beyond_chance(samples(place, other), level)
                if found is not None and found.low > 1 and is_real(place, other, found):
                    return True
        return False

    return tuple(place for place in range(count) if not beaten(place)) or tuple(range(count))
