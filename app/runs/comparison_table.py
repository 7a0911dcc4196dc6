"""The table at the end of a campaign: configurations with runs, means and verdicts; no rendering here."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from app.domain.text import tr
from app.runs.comparison_text import describe, format_difference, format_interval
from app.runs.run_counts import DEFAULT_EFFECT, RUNS_FOR_A_VERDICT
from app.runs.statistics import Comparison, RunInterval, Samples, compare_family, run_interval

HEADINGS: Final = (
    tr("Configuration"),
    tr("Runs"),
    tr("TPS"),
    tr("95 % interval"),
    tr("p99 ms"),
    tr("Jitter"),
    tr("Difference"),
    tr("Interval of it"),
    tr("Marks"),
)
"""Headings of `Row.cells`."""


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """What the table needs of one run.

    Attributes:
        repeat: 0-based; runs of the same repeat were neighbours and are compared as a pair.
        tps: mean of the measured phase; None for a run that failed or is incomplete.
        p99_ms: 99th percentile of the latency; None where there is none.
        jitter: CV of the per-second TPS; None where there is none.
    """

    repeat: int
    tps: float | None
    p99_ms: float | None = None
    jitter: float | None = None


@dataclass(frozen=True, slots=True)
class MeasuredConfiguration:
    """A configuration with its runs.

    Attributes:
        name: of the configuration.
        runs: in any order.
        marks: words such as "unsafe: fsync = off" or "client-bound", as the table shows them.
        campaign: the same for what was interleaved; runs are paired only within one.
    """

    name: str
    runs: tuple[MeasuredRun, ...]
    marks: tuple[str, ...] = ()
    campaign: str = ""

    def tps_by_repeat(self) -> dict[int, float]:
        """Return the mean TPS of each complete run."""
        return {run.repeat: run.tps for run in self.runs if run.tps is not None}


@dataclass(frozen=True, slots=True)
class Row:
    """One configuration in the table.

    Attributes:
        name: of the configuration.
        runs: complete ones.
        failed: runs without a result.
        mean: TPS with its interval, None below three runs.
        p99_ms: geometric mean of the runs' 99th percentiles; None where there are none.
        jitter: mean of the runs' CV; None where there are none.
        comparison: against the first configuration; None for the first.
        verdict: the comparison as a sentence; for the first one empty.
        marks: words that go with the numbers.
    """

    name: str
    runs: int
    failed: int
    mean: RunInterval
    p99_ms: float | None
    jitter: float | None
    comparison: Comparison | None
    verdict: str
    marks: tuple[str, ...]

    def cells(self) -> tuple[str, ...]:
        """Return the row as text, one cell per heading; empty where there is nothing."""
        runs = str(self.runs)
        if self.failed:
            runs = tr("{runs} of {all}").format(runs=self.runs, all=self.runs + self.failed)
        return (
            self.name,
            runs,
            format_tps(self.mean.mean),
            _interval_cell(self.mean),
            _latency_cell(self.p99_ms),
            "" if self.jitter is None else tr("{percent:.1f} %").format(percent=self.jitter * 100),
            format_difference(self.comparison) if self.comparison else "",
            format_interval(self.comparison) if self.comparison else "",
            ", ".join(self.marks),
        )


def format_tps(tps: float | None) -> str:
    """Return TPS with thousands separators, with a decimal below 100; empty for None."""
    if tps is None:
        return ""
    return f"{tps:,.0f}" if tps >= 99.95 else f"{tps:.1f}"


def _latency_cell(milliseconds: float | None) -> str:
    if milliseconds is None:
        return ""
    decimals = 2 if milliseconds < 9.995 else 1 if milliseconds < 99.95 else 0
    return f"{milliseconds:,.{decimals}f}"


def _interval_cell(mean: RunInterval) -> str:
    if mean.low is not None and mean.high is not None:
        return tr("{low} to {high}").format(low=format_tps(mean.low), high=format_tps(mean.high))
    return tr("indicative only") if 0 < mean.runs < RUNS_FOR_A_VERDICT else ""


def build_rows(
    measured: Sequence[MeasuredConfiguration], *, effect: float = DEFAULT_EFFECT
) -> tuple[Row, ...]:
    """Return the rows of the table, in the order given; each is compared with the first.

    Comparisons are paired by repeat where at least three repeats are complete in both, else of independent
    runs. Together they err at most as often as one at 95 % would (Holm).

    Args:
        measured: configurations with their runs.
        effect: smallest difference of interest, as a share.

    Raises:
        ValueError: a mean that is negative, infinite or NaN.
    """
    if not measured:
        return ()
    first, *others = measured
    comparisons = compare_family([_samples(first, other) for other in others], effect=effect)
    judged = sum(comparison.p_value is not None for comparison in comparisons)
    rows = [_row(first, None, "")]
    for other, comparison in zip(others, comparisons, strict=True):
        together = first.campaign == other.campaign
        told = describe(comparison, first.name, other.name, comparisons=judged, interleaved=together)
        rows.append(_row(other, comparison, told))
    return tuple(rows)


def _samples(first: MeasuredConfiguration, other: MeasuredConfiguration) -> Samples:
    together = first.campaign == other.campaign
    return pair_samples(first.tps_by_repeat(), other.tps_by_repeat(), interleaved=together)


def pair_samples(a: Mapping[int, float], b: Mapping[int, float], *, interleaved: bool) -> Samples:
    """Return the values of two configurations by repeat as pairs where that is sound, else as independent.

    Args:
        a: of the first, by repeat.
        b: of the second.
        interleaved: whether equal repeats were neighbours in time.
    """
    both = sorted(a.keys() & b.keys()) if interleaved else []
    enough = min(len(a), len(b)) >= RUNS_FOR_A_VERDICT
    if len(both) >= RUNS_FOR_A_VERDICT or (both and not enough):
        return Samples(tuple(a[repeat] for repeat in both), tuple(b[repeat] for repeat in both), paired=True)
    return Samples(tuple(a.values()), tuple(b.values()), paired=False)


def _row(measured: MeasuredConfiguration, comparison: Comparison | None, verdict: str) -> Row:
    tps = tuple(measured.tps_by_repeat().values())
    complete = [run for run in measured.runs if run.tps is not None]
    p99 = [run.p99_ms for run in complete if run.p99_ms]
    jitters = [run.jitter for run in complete if run.jitter is not None]
    return Row(
        name=measured.name,
        runs=len(tps),
        failed=len(measured.runs) - len(complete),
        mean=run_interval(tps),
        p99_ms=math.exp(math.fsum(map(math.log, p99)) / len(p99)) if p99 else None,
        jitter=math.fsum(jitters) / len(jitters) if jitters else None,
        comparison=comparison,
        verdict=verdict,
        marks=measured.marks,
    )
