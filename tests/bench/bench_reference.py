"""Whether a reference that ran in two campaigns allows a verdict: coverage and false verdicts, simulated.

Printed are, for campaigns whose machine changed by 10 %, how often the 95 % interval holds the truth (so that
identical configurations are told apart as often as it does not), how often they would be without the
reference, and how often a true difference of 10 % is told. All pairs of campaigns of a row are judged at
once, by the formulas of `app.statistics.verdict`, to which the first ones are compared.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP))

from app.statistics.sample_size import RUNS_FOR_A_REFERENCE  # noqa: E402
from app.statistics.student_t import student_t_quantile  # noqa: E402
from app.statistics.verdict import compare  # noqa: E402
from tests.bench._figures import describe_machine  # noqa: E402
from tests.simulated_references import Array, TwoCampaigns  # noqa: E402

_CHECKED = 5
SPREADS = {
    "all 1 %": (0.01, 0.01, 0.01, 0.01),
    "all 5 %": (0.05, 0.05, 0.05, 0.05),
    "1 to 8 %": (0.01, 0.02, 0.04, 0.08),
    "reference 4x": (0.01, 0.01, 0.04, 0.04),
    "reference 1/4": (0.04, 0.04, 0.01, 0.01),
    "one of it 8x": (0.01, 0.01, 0.01, 0.08),
}


_DF = np.geomspace(0.99, 100, 1000)
_CRITICAL = np.array([student_t_quantile(0.975, float(df)) for df in _DF])


def intervals(groups: Sequence[Array]) -> tuple[Array, Array]:
    """Return the ends of the 95 % intervals of the logarithm of a ratio, or of a ratio of ratios."""
    parts = np.array([group.var(axis=1, ddof=1) / group.shape[1] for group in groups])
    degrees = np.array([group.shape[1] - 1 for group in groups])[:, None]
    df = parts.sum(axis=0) ** 2 / (parts**2 / degrees).sum(axis=0)
    half = np.interp(df, _DF, _CRITICAL) * np.sqrt(parts.sum(axis=0))
    means = [group.mean(axis=1) for group in groups]
    middle = means[1] - means[0] + (means[2] - means[3] if len(means) > 2 else 0.0)
    return middle - half, middle + half


def check(truth: TwoCampaigns) -> None:
    """Hold the formulas of here to those of the program."""
    low, high = intervals(truth.logs(_CHECKED, 7))
    for place, samples in enumerate(truth.samples(_CHECKED, 7)):
        found = compare(samples).interval
        assert found is not None
        assert math.isclose(math.log(found.low), low[place], rel_tol=1e-3, abs_tol=1e-5)
        assert math.isclose(math.log(found.high), high[place], rel_tol=1e-3, abs_tol=1e-5)


def main() -> None:
    """Print a row a setting."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--campaigns", type=int, default=50_000)
    count, began_s = parser.parse_args().campaigns, time.monotonic()
    print(describe_machine())
    print(f"{count} pairs of campaigns a row, the machine of the second 10 % faster")
    outside = []
    for (name, spreads), runs, of_reference in product(SPREADS.items(), (3, 5, 10), (2, 3, 5)):
        truth = TwoCampaigns(runs, of_reference, spreads)
        is_used = of_reference >= RUNS_FOR_A_REFERENCE
        if is_used:
            check(truth)
        logs = truth.logs(count, 7)
        low, high = intervals(logs)
        covered = float(((low <= 0) & (high >= 0)).mean())
        alone = intervals(logs[:2])
        without = float(((alone[0] > 0) | (alone[1] < 0)).mean())
        seen = intervals(replace(truth, difference=0.1).logs(count, 8))
        outside += [covered] if is_used and not 0.93 <= covered <= 0.97 else []
        found = float((seen[0] > 0).mean())
        print(
            f"{name:14} {runs:2} runs, reference {of_reference}: covered {covered:.1%}, told apart "
            f"{1 - covered:.1%} (without reference {without:.0%}); 10 % seen {found:.0%}"
        )
    told = ", ".join(f"{each:.1%}" for each in outside) or "none"
    print(f"outside 93 to 97 % with {RUNS_FOR_A_REFERENCE} and more of the reference: {told}")
    print(f"{time.monotonic() - began_s:.0f} s")


if __name__ == "__main__":
    main()
