"""Equal means are not told as alike where stalls, lengths or unknown seconds say otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from app.analysis.facts import RunFacts
from app.analysis.stability import RunStability
from app.comparison.comparison import RunComparison, compare_runs
from app.statistics.verdict import Verdict
from tests.unit.comparison.test_disturbed_runs import campaign, trial, verdict_of

__all__ = ["trial"]

ALIKE = (1000.0, 1001.0, 999.5, 1000.5, 999.8)


def shape(seconds: int = 60, dead: int = 0, missed: int = 0) -> RunStability:
    """Return a run of the same mean with so many dead seconds in the middle, and so many without a line."""
    tps = np.full(seconds, 1000.0 * seconds / max(1, seconds - dead))
    tps[10 : 10 + dead] = 0.0
    ends = np.arange(1.0, seconds + 1)
    ends[seconds // 2 :] += missed
    return RunStability(ends, tps, float(seconds + missed), ())


def compared(
    trial: RunFacts, one: RunStability, two: RunStability, values: Sequence[float] = ALIKE
) -> RunComparison:
    runs = campaign(trial, one=ALIKE, two=values)
    runs = [replace(run, shape=one if run.configuration == "one" else two) for run in runs]
    return compare_runs(runs, cut_s=0.0)


@pytest.mark.parametrize(
    ("first", "second", "verdict", "words"),
    [
        (0, 0, Verdict.EQUAL, ""),
        (0, 20, Verdict.INDICATIVE, "one stalled in 0 of 300 s, two in 100 of 300 s"),
        (20, 48, Verdict.INDICATIVE, "two in 240 of 300 s"),
        (20, 20, Verdict.EQUAL, "one stalled in 100 of 300 s, two in 100 of 300 s"),
    ],
)
def test_equal_says_stalls_or_is_none(
    trial: RunFacts, first: int, second: int, verdict: Verdict, words: str
) -> None:
    found = compared(trial, shape(dead=first), shape(dead=second))
    assert verdict_of(found) is verdict
    assert words in found.verdicts[0]
    assert ("stalled" in found.verdicts[0]) is bool(words)
    assert ("practically equal" in found.verdicts[0]) is (verdict is Verdict.EQUAL)


@pytest.mark.parametrize(("seconds", "verdict"), [(3600, Verdict.INDICATIVE), (30, Verdict.LOWER)])
def test_lengths_apart_are_no_verdict(trial: RunFacts, seconds: int, verdict: Verdict) -> None:
    slower = [0.8 * value for value in ALIKE]
    found = compared(trial, shape(seconds), shape(4), slower)
    assert verdict_of(found) is verdict
    assert ("lasted from 00:04 to" in found.verdicts[0]) is (verdict is Verdict.INDICATIVE)


@pytest.mark.parametrize(("missed", "verdict"), [(540, Verdict.INDICATIVE), (20, Verdict.LOWER)])
def test_mostly_unknown_is_no_verdict(trial: RunFacts, missed: int, verdict: Verdict) -> None:
    slower = [0.8 * value for value in ALIKE]
    found = compared(trial, shape(), shape(missed=missed), slower)
    assert verdict_of(found) is verdict
    assert ("blocked for 540 of 600 s" in found.verdicts[0]) is (verdict is Verdict.INDICATIVE)
