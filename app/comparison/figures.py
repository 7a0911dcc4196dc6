"""Compare any figure as TPS: run by run, on logarithms, each configuration with the first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from app.analysis.labels import at_least, format_figure
from app.comparison.anchor import Anchor, describe_apart, usable_anchors
from app.comparison.comparison import RunComparison
from app.comparison.groups import ComparedGroup, without_verdict
from app.comparison.table import samples_of
from app.comparison.verdict import PairVerdict, Reservation, ReservationCode
from app.comparison.wording import SIZE
from app.domain.metrics import Direction
from app.domain.text import tr
from app.runfile.figures import FIGURES, Figure
from app.runfile.summary import is_lower_bound
from app.statistics.verdict import Comparison, RunInterval, Samples, compare_family, run_interval

COSTS: Final = (
    *("device_write_bytes", "device_writes", "device_flushes", "device_read_bytes", "device_reads"),
    *("wal_bytes", "server_cpu_us", "kernel_cpu_us", "pgbench_cpu_us"),
)
"""Figures per transaction."""

LATENCIES: Final = ("latency_p50_ms", "latency_p95_ms", "latency_p99_ms", "latency_p999_ms", "latency_max_ms")
LOADING: Final = ("load_rows_s", "load_index_s", "load_vacuum_s")
"""Seconds to load the data on the storage, if it was loaded there."""
EVENNESS: Final = ("jitter_cv", "stall_s", "longest_stall_s")


def figure(name: str) -> Figure:
    """Return a figure of the summary by its name.

    Raises:
        KeyError: the name is unknown.
    """
    return _BY_NAME[name]


_BY_NAME: Final = {each.name: each for each in FIGURES}
FIGURE_NAMES: Final = frozenset(_BY_NAME)


@dataclass(frozen=True, slots=True)
class FigureComparison:
    """One figure over all configurations.

    Attributes:
        figure: the figure.
        means: of each group, in their order; a mean is None if no run has the figure.
        comparisons: of each group with the first of its condition, adjusted within it (Holm); None for a
            first one.
        verdicts: the same as sentences with the figure's name, without a full stop; empty for a first one.
        at_least: for each group, whether its mean is a lower bound; it is then not compared.
    """

    figure: Figure
    means: tuple[RunInterval, ...]
    comparisons: tuple[Comparison | None, ...]
    verdicts: tuple[str, ...]
    at_least: tuple[bool, ...] = ()

    @property
    def known(self) -> bool:
        """Whether any run has the figure."""
        return any(mean.mean is not None for mean in self.means)

    def better(self, place: int) -> bool | None:
        """Return whether group `place` is better than the first; None if unknown."""
        comparison = self.comparisons[place]
        ratio = None if comparison is None or comparison.interval is None else comparison.interval
        if ratio is None or ratio.low <= 1 <= ratio.high or self.figure.better is Direction.NEITHER:
            return None
        return (ratio.low > 1) is (self.figure.better is Direction.HIGHER)


def compare_figure(comparison: RunComparison, name: str) -> FigureComparison:
    """Return a figure over all configurations.

    Raises:
        KeyError: the name is unknown.
    """
    parts = [_in_condition(part, name) for part in comparison.parts]
    return FigureComparison(
        figure(name),
        *(
            tuple(each for part in parts for each in getattr(part, column))
            for column in ("means", "comparisons", "verdicts", "at_least")
        ),
    )


def _in_condition(part: RunComparison, name: str) -> FigureComparison:
    groups = part.groups
    values = {group.name: group.by_repeat(name) for group in groups}
    bounds = {group.name: _is_bound(group, name) for group in groups}
    usable = usable_anchors(
        part.anchors.by_group, groups, {name: each.values() for name, each in values.items()}
    )
    anchors = {
        group.name: anchor
        for group in groups
        if (anchor := usable.get(group.name)) is not None
        and not any(bounds[each.name] for each in anchor.groups(group))
    }
    samples = [
        Samples((), (), paired=False)
        if bounds[groups[0].name] or bounds[group.name]
        else samples_of(values, groups[0], group, anchors.get(group.name))
        for group in groups[1:]
    ]
    comparisons = [
        without_verdict(each) if part.why_indicative(group) else each
        for group, each in zip(groups[1:], compare_family(samples, effect=part.effect), strict=True)
    ]
    means = tuple(run_interval(tuple(each.values())) for each in values.values())
    verdicts = _verdicts(part, figure(name), comparisons, tuple(bounds.values()), anchors)
    first = ([None], [""]) if groups else ([], [])
    return FigureComparison(
        *(figure(name), means, (*first[0], *comparisons), (*first[1], *verdicts), tuple(bounds.values()))
    )


def _is_bound(group: ComparedGroup, name: str) -> bool:
    return any(is_lower_bound(run.figures, name) for run in group.included_runs)


def compare_figures(comparison: RunComparison, names: Sequence[str]) -> tuple[FigureComparison, ...]:
    """Return several figures, without those that no run has."""
    return tuple(each for name in names if (each := compare_figure(comparison, name)).known)


def _verdicts(
    part: RunComparison,
    compared: Figure,
    comparisons: Sequence[Comparison],
    bounds: Sequence[bool],
    anchors: Mapping[str, Anchor],
) -> Iterator[str]:
    judged = sum(each.p_value is not None for each in comparisons)
    for place, each in enumerate(comparisons, 1):
        first, group = part.groups[0], part.groups[place]
        apart = describe_apart(first, group, anchors.get(group.name))
        verdict = PairVerdict(
            first.name_in_sentences, group.name_in_sentences, each, judged, apart, wording=SIZE
        )
        if bounds[0] or bounds[place]:
            verdict = replace(
                verdict,
                found=None,
                not_compared=_describe_bounds(first.name_in_sentences, group.name_in_sentences),
            )
        elif because := part.why_indicative(group):
            verdict = verdict.with_reservation(because)
        if not part.rows[place].is_ranked:
            verdict = verdict.with_reservation(
                Reservation(ReservationCode.NOT_RANKED, (group.name_in_sentences,))
            )
        yield f"{compared.label}: {verdict.text}"


def _describe_bounds(baseline: str, candidate: str) -> str:
    sentence = tr(
        "{baseline} and {candidate} cannot be compared: the figure falls among skipped transactions, for "
        "which only a lower bound is known"
    )
    return sentence.format(baseline=baseline, candidate=candidate)


def format_mean(found: FigureComparison, place: int) -> str:
    """Return the mean of a group with its unit; empty if unknown."""
    mean = found.means[place].mean
    if mean is None:
        return ""
    return at_least(
        format_figure(found.figure, mean), is_bound=bool(found.at_least and found.at_least[place])
    )
