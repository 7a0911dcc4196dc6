"""Any figure of runs compared as TPS are: run by run, on logarithms, each configuration with the first."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from app.analysis.labels import at_least, format_figure
from app.comparison.comparison import ComparedGroup, RunComparison, unranked
from app.comparison.disturbed_runs import without_verdict
from app.comparison.table import pair_samples
from app.comparison.wording import SIZE, describe, describe_without_verdict
from app.domain.metrics import Direction
from app.domain.text import tr
from app.runfile.summary import FIGURES, Figure, is_lower_bound
from app.statistics.verdict import Comparison, RunInterval, Samples, compare_family, run_interval

COSTS: Final = (
    *("device_write_bytes", "device_writes", "device_flushes", "device_read_bytes", "device_reads"),
    *("wal_bytes", "server_cpu_us", "kernel_cpu_us", "pgbench_cpu_us"),
)
"""Names of the figures that one transaction costs."""

LATENCIES: Final = ("latency_p50_ms", "latency_p95_ms", "latency_p99_ms", "latency_p999_ms", "latency_max_ms")
EVENNESS: Final = ("jitter_cv", "stall_s", "longest_stall_s")


def figure(name: str) -> Figure:
    """Return a figure of the summary by its name.

    Raises:
        KeyError: there is none of this name.
    """
    return _BY_NAME[name]


_BY_NAME: Final = {each.name: each for each in FIGURES}


@dataclass(frozen=True, slots=True)
class FigureComparison:
    """One figure over all configurations.

    Attributes:
        figure: which.
        means: of each group, in their order; its mean is None where no run has the figure.
        comparisons: of each group but the first with the first; their errors are shared (Holm).
        verdicts: the same as sentences with the figure's name, without full stops.
        at_least: of each group, whether its mean is at least that; then nothing is compared with it.
    """

    figure: Figure
    means: tuple[RunInterval, ...]
    comparisons: tuple[Comparison, ...]
    verdicts: tuple[str, ...]
    at_least: tuple[bool, ...] = ()

    @property
    def known(self) -> bool:
        """Whether any run has it."""
        return any(mean.mean is not None for mean in self.means)

    def better(self, place: int) -> bool | None:
        """Return whether group `place` is better than the first; None where that cannot be said."""
        comparison = self.comparisons[place - 1] if place else None
        ratio = None if comparison is None or comparison.interval is None else comparison.interval
        if ratio is None or ratio.low <= 1 <= ratio.high or self.figure.better is Direction.NEITHER:
            return None
        return (ratio.low > 1) is (self.figure.better is Direction.HIGHER)


def figure_values(comparison: RunComparison, group: ComparedGroup, name: str) -> dict[int, float]:
    """Return a figure of each run that takes part, by its place among the compared runs."""
    found: dict[int, float] = {}
    for place in group.members:
        run = comparison.runs[place]
        value = run.tps if name == "tps" else run.figures.get(name)
        if run.tps is not None and value is not None and math.isfinite(value) and value >= 0:
            found[place] = value
    return found


def compare_figure(comparison: RunComparison, name: str) -> FigureComparison:
    """Return a figure over all configurations.

    Raises:
        KeyError: there is no figure of this name.
    """
    groups = comparison.groups
    values = [_by_repeat(comparison, figure_values(comparison, group, name)) for group in groups]
    bounds = tuple(_is_bound(comparison, group, name) for group in groups)
    samples = [
        Samples((), (), paired=False)
        if bounds[0] or is_bound
        else pair_samples(values[0], other, interleaved=groups[0].campaign == group.campaign)
        for group, other, is_bound in zip(groups[1:], values[1:], bounds[1:], strict=True)
    ]
    comparisons = tuple(
        without_verdict(each) if comparison.why_indicative(group) else each
        for group, each in zip(groups[1:], compare_family(samples, effect=comparison.effect), strict=True)
    )
    means = tuple(run_interval(tuple(each.values())) for each in values)
    verdicts = _verdicts(comparison, name, comparisons, bounds)
    return FigureComparison(figure(name), means, comparisons, verdicts, bounds)


def _is_bound(comparison: RunComparison, group: ComparedGroup, name: str) -> bool:
    runs = (comparison.runs[place] for place in group.members)
    return any(is_lower_bound(run.figures, name) for run in runs if run.tps is not None)


def compare_figures(comparison: RunComparison, names: Sequence[str]) -> tuple[FigureComparison, ...]:
    """Return several figures, those that no run has left out."""
    return tuple(each for name in names if (each := compare_figure(comparison, name)).known)


def _by_repeat(comparison: RunComparison, values: Mapping[int, float]) -> dict[int, float]:
    repeats = {place: comparison.runs[place].facts.repeat for place in values}
    if len(set(repeats.values())) < len(repeats):
        return {-1 - place: value for place, value in values.items()}  # what stands twice is no pair
    return {repeats[place]: value for place, value in values.items()}


def _verdicts(
    comparison: RunComparison, name: str, found: Sequence[Comparison], bounds: Sequence[bool]
) -> tuple[str, ...]:
    judged = sum(each.p_value is not None for each in found)
    first, *others = comparison.groups or (None,)
    if first is None:
        return ()
    told = []
    for group, each, is_bound in zip(others, found, bounds[1:], strict=True):
        together = group.campaign == first.campaign
        because = comparison.why_indicative(group)
        if bounds[0] or is_bound:
            sentence = _tell_bounds(first.name, group.name)
        elif because:
            sentence = describe_without_verdict(
                each, first.name, group.name, because, interleaved=together, wording=SIZE
            )
        else:
            sentence = describe(
                each, first.name, group.name, comparisons=judged, interleaved=together, wording=SIZE
            )
        told.append(sentence)
    ranked = (
        sentence if is_ranked else unranked(group.name, sentence)
        for group, is_ranked, sentence in zip(others, comparison.ranked[1:], told, strict=True)
    )
    return tuple(f"{figure(name).label}: {sentence}" for sentence in ranked)


def _tell_bounds(baseline: str, candidate: str) -> str:
    sentence = tr(
        "{baseline} and {candidate} cannot be compared: it falls among skipped transactions, of which only"
        " the least is known"
    )
    return sentence.format(baseline=baseline, candidate=candidate)


def format_mean(found: FigureComparison, place: int) -> str:
    """Return the mean of a group with its unit; empty where there is none."""
    mean = found.means[place].mean
    if mean is None:
        return ""
    return at_least(
        format_figure(found.figure, mean), is_bound=bool(found.at_least and found.at_least[place])
    )
