"""Whether comparisons may share their spread: identical configurations told apart, own spreads and moderated.

Moderated is Smyth's (2004): each configuration's variance drawn towards what all have in common. It would be
taken from five repeats on where it errs in no setting more than 5 % and two standard errors; printed is how
often any of the configurations is told apart from the first (Holm), in percent, and how often 5 % is seen.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP))

from app.statistics.student_t import student_t_quantile  # noqa: E402
from tests.bench._figures import describe_machine  # noqa: E402

Array = NDArray[np.float64]
SETTINGS = ("all 2.5 %", "1 to 8 %", "first eightfold", "last eightfold")
_MOST_DF = 1e6


def spreads(setting: str, configurations: int) -> Array:
    """Return the true spread of each configuration."""
    if setting == "1 to 8 %":
        return np.geomspace(0.01, 0.08, configurations)
    found = np.full(configurations, 0.025 if setting == "all 2.5 %" else 0.01)
    if setting == "first eightfold":
        found[0] *= 8
    if setting == "last eightfold":
        found[-1] *= 8
    return found


def trigamma(x: float) -> float:
    """Return the second derivative of the logarithm of the gamma function (Abramowitz and Stegun 6.4.12)."""
    found = 0.0
    while x < 8:
        found, x = found + 1 / x**2, x + 1
    return found + 1 / x + 1 / (2 * x**2) + 1 / (6 * x**3) - 1 / (30 * x**5) + 1 / (42 * x**7)


def prior(variances: Array, df: int) -> tuple[float, float]:
    """Return degrees of freedom and variance that all have in common (Smyth 2004, section 6.2)."""
    logs = np.log(variances)
    excess = float(logs.var(ddof=1)) - trigamma(df / 2)
    pooled = float(variances.mean())
    if excess <= 0:
        return _MOST_DF, pooled
    low, high = 1e-3, _MOST_DF
    for _ in range(80):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if trigamma(middle / 2) > excess else (low, middle)
    return low, pooled


def shares(
    setting: str, configurations: int, repeats: int, campaigns: int, seen: float
) -> tuple[float, float]:
    """Return how often any is named by own and by moderated spreads; `seen` is added to the second one."""
    random = np.random.default_rng(4)
    sigma = spreads(setting, configurations)
    own = moderated = 0
    for _ in range(campaigns):
        logs = sigma[:, None] * random.standard_normal((configurations, repeats))
        logs[1] += seen
        pairs = logs[1:] - logs[0]
        means, variances = pairs.mean(axis=1), pairs.var(axis=1, ddof=1)
        d, d0_s0 = repeats - 1, prior(variances, repeats - 1)
        drawn = (d0_s0[0] * d0_s0[1] + d * variances) / (d0_s0[0] + d)
        picked = slice(0, 1) if seen else slice(None)
        level = len(means)
        for name, values, df in (("own", variances, d), ("moderated", drawn, d + d0_s0[0])):
            statistics = means / np.sqrt(values / repeats)
            critical = student_t_quantile(1 - 0.05 / level / 2, min(float(df), 1e7))
            hit = bool((np.abs(statistics[picked]) > critical).any())
            own, moderated = own + (hit and name == "own"), moderated + (hit and name == "moderated")
    return own / campaigns, moderated / campaigns


def main() -> None:
    """Print a row a setting."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--campaigns", type=int, default=2000)
    campaigns = parser.parse_args().campaigns
    allowed, began_s = 0.05 + 2 * math.sqrt(0.05 * 0.95 / campaigns), time.monotonic()
    print(describe_machine())
    print(f"{campaigns} campaigns a cell; at most {allowed:.1%} may be told apart")
    over = 0
    for configurations in (4, 12):
        for repeats in (5, 10):
            for setting in SETTINGS:
                own, moderated = shares(setting, configurations, repeats, campaigns, 0.0)
                found = shares(setting, configurations, repeats, campaigns, math.log(1.05))
                over += moderated > allowed
                print(
                    f"{configurations:2} x {repeats:2}, {setting:16} told apart: own {own:5.1%}, moderated "
                    f"{moderated:5.1%};  5 % seen: own {found[0]:5.1%}, moderated {found[1]:5.1%}",
                    flush=True,
                )
    print(f"settings in which moderated errs more than allowed: {over}; {time.monotonic() - began_s:.0f} s")


if __name__ == "__main__":
    main()
