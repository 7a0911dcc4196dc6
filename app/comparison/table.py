"""Build the final table of a campaign: configurations with runs, means and verdicts; no rendering here."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from app.analysis.labels import at_least, format_tps, mark_words, of_part
from app.comparison.anchor import Anchor, describe_apart, reference_names, usable_anchors
from app.comparison.groups import ComparedGroup
from app.comparison.offered_load import (
    KeptRate,
    common_load,
    describe_loads,
    describe_rate,
    kept_rate,
    rate_cell,
    shares_cell,
    speed_comparable,
)
from app.comparison.overall.sequential import SequentialPairs
from app.comparison.verdict import PairVerdict, spread_words
from app.comparison.wording import format_difference, format_interval
from app.domain.columns import CellKind, Column
from app.domain.text import number_text, titled, tr
from app.runfile.summary import is_lower_bound
from app.statistics.sample_size import DEFAULT_EFFECT, RUNS_FOR_A_VERDICT
from app.statistics.verdict import (
    Comparison,
    ReferenceRuns,
    RunInterval,
    Samples,
    compare_family,
    run_interval,
)


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """One configuration in the table.

    Attributes:
        group: the configuration.
        runs: number of complete runs.
        failed: number of runs without a result.
        mean: TPS with its interval, None below three runs.
        figures: of each complete run, by name, see `app.runfile.figures.FIGURES`.
        judged: against the first configuration; without a comparison for the first, and if speed is not
            comparable (`app.comparison.offered_load`).
        load: outcome of the offered load.
        is_ranked: whether it may be called the fastest: it is durable, or none is.
        references: names of the configuration that links it to another campaign; empty if none is needed or
            available.
        condition: under which it was measured; empty if there is only one.
        cut_s: seconds at the start of every run that its mean excludes.
    """

    group: ComparedGroup
    runs: int
    failed: int
    mean: RunInterval
    figures: tuple[Mapping[str, float | None], ...]
    judged: PairVerdict
    load: KeptRate = field(default_factory=KeptRate)
    is_ranked: bool = True
    references: tuple[str, ...] = ()
    condition: str = ""
    cut_s: float = 0.0

    @property
    def name(self) -> str:
        """Name of the configuration in sentences about its condition."""
        return self.group.name_in_sentences

    @property
    def marks(self) -> tuple[str, ...]:
        """Kinds of the marks on its numbers."""
        return self.group.marks

    @property
    def comparison(self) -> Comparison | None:
        """The comparison of its speed with that of the first one; None if there is none."""
        return self.judged.found

    @property
    def verdict(self) -> str:
        """The verdict as a sentence without a full stop; for the first one only the outcome of its rate."""
        return self.judged.text

    def values(self, figure: str) -> list[float]:
        """Return a figure of the complete runs that have it."""
        return [value for each in self.figures if (value := each.get(figure)) is not None]

    def is_lower_bound(self, figure: str) -> bool:
        """Return whether a figure is a lower bound in any of the runs."""
        return any(is_lower_bound(each, figure) for each in self.figures)


def _runs_cell(row: ComparisonRow) -> str:
    if not row.failed:
        return str(row.runs)
    return tr("{number} of {count}").format(number=row.runs, count=row.runs + row.failed)


def _latency_cell(values_ms: Sequence[float]) -> str:
    """Return the geometric mean of latencies; empty if there are none."""
    known = [value for value in values_ms if value > 0]
    if not known:
        return ""
    mean_ms = math.exp(math.fsum(map(math.log, known)) / len(known))
    decimals = 2 if mean_ms < 9.995 else 1 if mean_ms < 99.95 else 0
    return number_text(mean_ms, f",.{decimals}f")


def _percent_cell(shares: Sequence[float]) -> str:
    """Return the mean of shares in percent; empty if there are none."""
    if not shares:
        return ""
    return f"{number_text(100 * (math.fsum(shares) / len(shares)), '.1f')} %"


def _ratio_cell(ratios: Sequence[float]) -> str:
    """Return the compressibility of the loaded rows; empty if unknown."""
    return f"{number_text(_mean(ratios), '.1f')}:1" if ratios else ""


def _compressed_cell(row: ComparisonRow) -> str:
    """Return the size of the loaded tables on a compressing filesystem; empty if none compresses."""
    if extents := row.values("tables_compressed"):
        return tr("{percent:.0f} % of extents").format(percent=_mean(extents))
    if on_disk := row.values("tables_on_disk"):
        return tr("{percent:.0f} % on disk").format(percent=_mean(on_disk))
    return ""


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _interval_cell(mean: RunInterval) -> str:
    if mean.low is not None and mean.high is not None:
        return tr("{low} to {high}").format(low=format_tps(mean.low), high=format_tps(mean.high))
    return tr("indicative only") if 0 < mean.runs < RUNS_FOR_A_VERDICT else ""


def _chance_cell(verdict: PairVerdict) -> str:
    """Return the spread of single runs from which on chance alone explains a difference."""
    return "" if verdict.chance is None else spread_words(verdict.chance.needed)


def latency_column(column: str, heading: str, figure: str, *, optional: int) -> Column[ComparisonRow]:
    """Return a column of geometric means of a latency.

    Args:
        column: its id.
        heading: its visible heading.
        figure: name of the latency, in milliseconds.
        optional: as in `Column`.
    """

    def cell(row: ComparisonRow) -> str:
        return at_least(_latency_cell(row.values(figure)), is_bound=row.is_lower_bound(figure))

    return Column(column, heading, cell, optional=optional, figure=figure)


class ComparisonColumn(StrEnum):
    """Ids of `COMPARISON_COLUMNS`."""

    CONDITION = "condition"
    CONFIGURATION = "configuration"
    RUNS = "runs"
    TPS = "tps"
    INTERVAL = "interval"
    P99 = "p99"
    JITTER = "jitter"
    ROWS_RATIO = "rows_ratio"
    COMPRESSED = "compressed"
    RATE = "rate"
    SHARES = "shares"
    DIFFERENCE = "difference"
    DIFFERENCE_INTERVAL = "difference_interval"
    CHANCE = "chance"
    REFERENCE = "reference"
    MARKS = "marks"


COMPARISON_COLUMNS: Final[tuple[Column[ComparisonRow], ...]] = (
    Column(ComparisonColumn.CONDITION, titled(tr("condition")), lambda row: row.condition, CellKind.WORDS),
    Column(ComparisonColumn.CONFIGURATION, titled(tr("configuration")), lambda row: row.name, CellKind.WORDS),
    Column(ComparisonColumn.RUNS, titled(tr("runs")), _runs_cell),
    Column(ComparisonColumn.TPS, "TPS", lambda row: format_tps(row.mean.mean)),
    Column(ComparisonColumn.INTERVAL, tr("95 % CI"), lambda row: _interval_cell(row.mean)),
    latency_column(ComparisonColumn.P99, "p99 ms", "latency_p99_ms", optional=3),
    Column(
        ComparisonColumn.JITTER,
        titled(tr("jitter")),
        lambda row: _percent_cell(row.values("jitter_cv")),
        optional=2,
        figure="jitter_cv",
    ),
    Column(
        ComparisonColumn.ROWS_RATIO,
        titled(tr("compressibility")),
        lambda row: _ratio_cell(row.values("rows_ratio")),
        optional=6,
        figure="rows_ratio",
    ),
    Column(ComparisonColumn.COMPRESSED, tr("Compressed"), _compressed_cell, optional=5),
    Column(ComparisonColumn.RATE, titled(tr("rate")), lambda row: rate_cell(row.load), CellKind.LABEL),
    Column(ComparisonColumn.SHARES, tr("Late, skipped"), lambda row: shares_cell(row.load), CellKind.NUMBERS),
    Column(
        ComparisonColumn.DIFFERENCE,
        tr("Difference"),
        lambda row: format_difference(row.comparison) if row.comparison else "",
    ),
    Column(
        ComparisonColumn.DIFFERENCE_INTERVAL,
        tr("CI of difference"),
        lambda row: format_interval(row.comparison) if row.comparison else "",
        optional=1,
    ),
    Column(ComparisonColumn.CHANCE, tr("Chance from"), lambda row: _chance_cell(row.judged), optional=7),
    Column(
        ComparisonColumn.REFERENCE,
        titled(tr("reference")),
        lambda row: ", ".join(row.references),
        CellKind.WORDS,
        optional=4,
    ),
    Column(
        ComparisonColumn.MARKS, tr("Marks"), lambda row: ", ".join(map(mark_words, row.marks)), CellKind.WORDS
    ),
)
"""Columns of the table of a comparison, in the order shown."""


_WHERE_NEEDED: Final = frozenset(
    {
        ComparisonColumn.RATE,
        ComparisonColumn.SHARES,
        ComparisonColumn.CHANCE,
        ComparisonColumn.REFERENCE,
        ComparisonColumn.ROWS_RATIO,
        ComparisonColumn.COMPRESSED,
    }
)


def columns_for(
    columns: Sequence[Column[ComparisonRow]], rows: Sequence[ComparisonRow]
) -> tuple[Column[ComparisonRow], ...]:
    """Return the columns, omitting those about rates, references, compression ... that are empty.

    The condition is a column if there are several. The TPS column says which part of the runs it covers
    unless it covers all.
    """
    several = len({row.condition for row in rows}) > 1
    return tuple(
        replace(column, heading=of_part(column.heading, rows[0].cut_s if rows else 0.0))
        if column.id == ComparisonColumn.TPS
        else column
        for column in columns
        if (several if column.id == ComparisonColumn.CONDITION else column.id not in _WHERE_NEEDED)
        or (column.id in _WHERE_NEEDED and any(map(column.cell, rows)))
    )


def build_rows(
    groups: Sequence[ComparedGroup],
    *,
    effect: float = DEFAULT_EFFECT,
    anchors: Mapping[str, Anchor] | None = None,
) -> tuple[ComparisonRow, ...]:
    """Return the rows of the table, in the order given; each is compared with the first.

    Comparisons are paired by repeat if at least three repeats are complete in both, else of independent runs;
    those of a sequential campaign are adjusted for its course (`app.statistics.selection`); between
    campaigns a verdict needs a reference that ran in both. Together they err at most as often as one
    comparison at 95 % would (Holm). At a target rate, speed is compared only if that is meaningful
    (`app.comparison.offered_load`).

    Args:
        groups: configurations with their runs.
        effect: smallest difference of interest, a share.
        anchors: references for groups outside the first one's campaign, by group name; None for none.

    Raises:
        ValueError: a mean that is negative, infinite or NaN.
    """
    if not groups:
        return ()
    first, *others = groups
    values = {group.name: group.by_repeat() for group in groups}
    nothing_durable = all(group.not_durable for group in groups)
    start, *after = (
        replace(_row(group, first.name_in_sentences), is_ranked=nothing_durable or not group.not_durable)
        for group in groups
    )
    found = usable_anchors(anchors or {}, others, {name: each.values() for name, each in values.items()})
    contests = SequentialPairs(groups)
    fast = [group for group, row in zip(others, after, strict=True) if speed_comparable(start.load, row.load)]
    samples = [
        contests.samples(first, group) or samples_of(values, first, group, found.get(group.name))
        for group in fast
    ]
    compared = compare_family(samples, effect=effect)
    judged = sum(comparison.p_value is not None for comparison in compared)
    comparisons = {group.name: comparison for group, comparison in zip(fast, compared, strict=True)}
    rows = [start]
    for group, row in zip(others, after, strict=True):
        comparison = comparisons.get(group.name)
        anchor = None if comparison is None else found.get(group.name)
        verdict = replace(
            row.judged,
            found=comparison,
            comparisons=judged,
            apart=describe_apart(first, group, anchor),
            not_compared=""
            if comparison is not None
            else describe_loads(start.name, start.load, row.name, row.load),
        )
        references = () if anchor is None else reference_names(anchor)
        rows.append(replace(row, judged=verdict, references=references))
    return tuple(rows)


def samples_of(
    values: Mapping[str, Mapping[int, float]],
    first: ComparedGroup,
    group: ComparedGroup,
    anchor: Anchor | None,
) -> Samples:
    """Return the samples that compare a configuration with the first one.

    Args:
        values: of every configuration, by its name and repeat.
        first: the first one.
        group: the configuration.
        anchor: its reference if it did not run in the first one's campaign; None for none.
    """
    if anchor is None:
        together = group.campaign == first.campaign
        return pair_samples(values[first.name], values[group.name], interleaved=together)
    if anchor.is_baseline:
        return pair_samples(values[anchor.other.name], values[group.name], interleaved=True)
    a, b, beside_a, beside_b = (tuple(values[each.name].values()) for each in anchor.groups(group))
    return Samples(a, b, paired=False, together=False, reference=ReferenceRuns(beside_a, beside_b))


def pair_samples(a: Mapping[int, float], b: Mapping[int, float], *, interleaved: bool) -> Samples:
    """Return the values of two configurations by repeat, as pairs if that is sound, else as independent.

    Args:
        a: of the first, by repeat.
        b: of the second.
        interleaved: whether both are of one campaign, in which equal repeats were neighbours in time.
    """
    both = sorted(a.keys() & b.keys()) if interleaved else []
    enough = min(len(a), len(b)) >= RUNS_FOR_A_VERDICT
    if len(both) >= RUNS_FOR_A_VERDICT or (both and not enough):
        return Samples(tuple(a[repeat] for repeat in both), tuple(b[repeat] for repeat in both), paired=True)
    return Samples(tuple(a.values()), tuple(b.values()), paired=False, together=interleaved)


def _row(group: ComparedGroup, baseline: str) -> ComparisonRow:
    runs = group.included_runs
    common = common_load(run.facts.load for run in group.runs)
    load = kept_rate(
        common,
        # The whole phase shows whether the rate was kept.
        [run.facts.summary if run.cut_s else run.figures for run in runs],
        [run.facts.load if run.facts.load.share else common for run in runs],
    )
    figures = [run.figures for run in runs]
    name = group.name_in_sentences
    mean = run_interval(tuple(tps for each in figures if (tps := each.get("tps")) is not None))
    return ComparisonRow(
        group=group,
        runs=len(figures),
        failed=len(group.runs) - len(runs),
        mean=mean,
        figures=tuple(figures),
        judged=PairVerdict(baseline, name, rate=describe_rate(name, load, mean, figures)),
        load=load,
    )
