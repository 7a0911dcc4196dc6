"""Compare runs with several phases phase by phase, each configuration with the first.

A phase is compared as whole runs are (`app.comparison.comparison`), with its figures in place of the run's;
excluded and disturbed runs and those that are not durable count the same. All comparisons within a phase are
one family (Holm); different phases are different questions. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from app.analysis.facts import PhaseFigures, executed_words
from app.analysis.labels import mark_words, one_line
from app.comparison.comparison import (
    RunComparison,
    with_disturbed_rate,
    with_runs,
    with_safety,
    without_what_others_took,
)
from app.comparison.figures import LATENCIES
from app.comparison.groups import ComparedGroup, ComparedRun, without_verdict
from app.comparison.offered_load import common_load
from app.comparison.overall.fastest import under
from app.comparison.table import (
    COMPARISON_COLUMNS,
    ComparisonColumn,
    ComparisonRow,
    build_rows,
    latency_column,
)
from app.comparison.verdict import Reservation, ReservationCode
from app.comparison.wording import format_difference, format_interval
from app.domain.columns import CellKind, Column, choose, with_cells
from app.domain.text import titled, tr
from app.runfile.disturbance import DISTURBED
from app.runfile.metadata.offered_load import phase_load
from app.runfile.metadata.safety import NOT_DURABLE, UNSAFE
from app.statistics.verdict import Samples, compare_family

_OF_ALL_PHASES: Final = frozenset({UNSAFE, NOT_DURABLE, DISTURBED})
"""Marks that apply to every phase of a run; others apply to the phase that gives the run's figures."""

AS_FAST_AS_IT_GOES: Final = "tps"
AT_A_RATE: Final = "latency_p99_ms"
PHASE_FIGURES: Final = (AS_FAST_AS_IT_GOES, *LATENCIES)
"""Figures of a phase that are worth a chart."""

_Key = tuple[str, int, str]
"""Identity of a phase across runs: its name, its occurrence, its transactions, and its parallel work."""


@dataclass(frozen=True, slots=True)
class ComparedPhase:
    """One phase, or one of several occurrences of it.

    Attributes:
        label: shown name, in one line.
        name: of the phase.
        time: occurrence, from 1.
        transactions: those executed; empty if unknown.
        rows: of each configuration of a condition, with the figures of this phase.
        reached: names of the configurations that have it.
    """

    label: str
    name: str
    time: int
    transactions: str
    rows: tuple[ComparisonRow, ...]
    reached: frozenset[str]

    @property
    def having(self) -> tuple[ComparisonRow, ...]:
        """The rows of the configurations that have it."""
        return tuple(row for row in self.rows if row.group.name in self.reached)

    @property
    def figure(self) -> str:
        """Name of the figure that distinguishes its configurations: at a rate TPS are the same for all."""
        rated = [row.load.at_a_rate for row in self.having]
        return AT_A_RATE if rated and all(rated) else AS_FAST_AS_IT_GOES

    @property
    def verdicts(self) -> tuple[str, ...]:
        """The verdict on each configuration in it, sentences with a full stop."""
        return tuple(f"{self.label}: {row.verdict}." for row in self.having if row.verdict)


@dataclass(frozen=True, slots=True)
class PhaseRow:
    """A configuration in a phase.

    Attributes:
        phase: source of its figures.
        row: of the table of the phase.
        is_first: whether it is the first row of its phase.
    """

    phase: ComparedPhase
    row: ComparisonRow
    is_first: bool


def compare_phases(comparison: RunComparison) -> tuple[ComparedPhase, ...]:
    """Return every phase that counts in any of the runs, in order; empty if no run has several.

    Args:
        comparison: of whole runs.
    """
    phases = [
        {_key(each): each for each in run.facts.phases if each.metadata.counts} for run in comparison.runs
    ]
    return tuple(
        _compared(part, [each.get(key) for each in phases])
        for part in comparison.parts
        for key in dict.fromkeys(
            key for group in part.groups for run in group.runs for key in phases[run.index]
        )
    )


def describe_changes(part: RunComparison) -> Iterator[str]:
    """Yield how the TPS of each configuration change from its first phase to later ones of the same work.

    Runs are paired: the first phase of a run with a later one of the same run.

    Args:
        part: of one condition.
    """
    for group in part.groups:
        runs = [
            [each for each in run.facts.phases if each.metadata.counts and each.figures.get("tps")]
            for run in group.included_runs
        ]
        labels = [[each.metadata.label for each in phases] for phases in runs]
        if not runs or any(names != labels[0] for names in labels) or len(labels[0]) < 2:
            continue
        first = runs[0][0].metadata
        later = [
            place
            for place, each in enumerate(runs[0])
            if place and each.metadata.workload.label == first.workload.label
        ]
        tps = [tuple(phases[at].figures["tps"] or 0.0 for phases in runs) for at in range(len(runs[0]))]
        samples = [Samples(tps[0], tps[place], paired=True) for place in later]
        words = []
        for place, each in zip(later, compare_family(samples, effect=part.effect), strict=True):
            judged = without_verdict(each) if group.disturbed else each
            interval = format_interval(judged) or tr("no verdict")
            words.append(f"{one_line(labels[0][place])} {format_difference(judged)} ({interval})")
        if words:
            sentence = tr("{name}: {phases}, against {first}.")
            yield sentence.format(
                name=group.name_in_sentences, phases=", ".join(words), first=one_line(first.label)
            )


def phase_rows(phases: Sequence[ComparedPhase]) -> tuple[PhaseRow, ...]:
    """Return the rows of the table: those of each phase, in order."""
    return tuple(
        PhaseRow(phase, row, is_first=number == 0)
        for phase in phases
        for number, row in enumerate(phase.having)
    )


def _key(each: PhaseFigures) -> _Key:
    return each.metadata.name, each.metadata.time, executed_words(each.metadata)


def _compared(comparison: RunComparison, found: Sequence[PhaseFigures | None]) -> ComparedPhase:
    """Return the comparison of one phase.

    Args:
        comparison: of whole runs.
        found: the phase of each run; None if it was not reached.
    """
    runs = list(comparison.runs)
    for group in comparison.groups:
        for run in _runs_of(group, found):
            runs[run.index] = run
    phase = with_runs(comparison, runs)
    having = [
        (group.name, each.metadata)
        for group in phase.groups
        for run in group.runs
        if (each := found[run.index]) is not None
    ]
    reached, metadata = frozenset(name for name, _ in having), having[0][1]
    if not metadata.is_own:  # the other phase decided which groups were dropped when
        groups = tuple(replace(group, contest="") for group in phase.groups)
        phase = replace(phase, groups=groups)
    rows = build_rows(phase.groups, effect=comparison.effect, anchors=comparison.anchors.by_group)
    is_compared = phase.groups[0].name in reached
    settled = {group.name for group in comparison.groups if group.contest and not metadata.is_own}
    return ComparedPhase(
        under(comparison.condition, one_line(metadata.label)),
        one_line(metadata.name),
        metadata.time,
        one_line(executed_words(metadata)),
        tuple(
            _judged(phase, row, is_compared=is_compared, is_settled=row.group.name in settled) for row in rows
        ),
        reached,
    )


def _runs_of(group: ComparedGroup, found: Sequence[PhaseFigures | None]) -> Iterator[ComparedRun]:
    """Yield the runs of a configuration with figures and load of one phase."""
    loads = {
        run.index: phase_load(each.metadata) for run in group.runs if (each := found[run.index]) is not None
    }
    common = common_load(loads.values())
    for run in group.runs:
        each = found[run.index]
        figures = {} if each is None else each.figures
        tps = figures.get("tps")
        if run.tps is None or tps is None or not math.isfinite(tps) or tps < 0:
            tps = None
        facts = replace(run.facts, load=loads.get(run.index, common))
        yield replace(run, facts=facts, tps=tps, figures=figures, shape=None, cut_s=0.0)


def _judged(
    phase: RunComparison, row: ComparisonRow, *, is_compared: bool, is_settled: bool
) -> ComparisonRow:
    """Return a row with its verdict, as in the table of whole runs.

    Args:
        phase: the runs with the figures of the phase.
        row: of a configuration.
        is_compared: whether the first configuration has the phase.
        is_settled: whether another phase settled how often the configuration ran.
    """
    verdict, first = row.judged, phase.groups[0]
    if row.group is not first and not is_compared:
        why = tr("{name} has no such phase and is not compared here").format(name=first.name_in_sentences)
        verdict = replace(verdict, found=None, not_compared=why)
    elif verdict.found is None:
        verdict = with_disturbed_rate(row)
    elif is_settled:
        verdict = verdict.with_reservation(Reservation(ReservationCode.OTHER_PHASE, ()))
    elif because := phase.why_indicative(row.group):
        verdict = verdict.with_reservation(because)
    else:
        verdict = without_what_others_took(phase, row)
    return replace(row, judged=with_safety(phase, row, verdict))


EXPLANATION: Final = tr(
    "Figures cover whole phases; intervals are adjusted for all comparisons within a phase. A run disturbed "
    "in its last counted phase is treated as disturbed in all phases."
)

_COLUMNS: Final[tuple[Column[PhaseRow], ...]] = (
    Column("phase", tr("Phase"), lambda each: each.phase.label if each.is_first else "", CellKind.WORDS),
    Column(
        "transactions",
        titled(tr("transactions")),
        lambda each: each.phase.transactions if each.is_first else "",
        CellKind.LABEL,
        optional=4,
    ),
    *(
        column.of(lambda each: each.row)
        for column in (
            *choose(
                COMPARISON_COLUMNS,
                (
                    ComparisonColumn.CONFIGURATION,
                    ComparisonColumn.RUNS,
                    ComparisonColumn.TPS,
                    ComparisonColumn.INTERVAL,
                ),
            ),
            latency_column("p95", "p95 ms", "latency_p95_ms", optional=2),
            *choose(
                COMPARISON_COLUMNS,
                (
                    ComparisonColumn.P99,
                    ComparisonColumn.RATE,
                    ComparisonColumn.SHARES,
                    ComparisonColumn.DIFFERENCE,
                    ComparisonColumn.DIFFERENCE_INTERVAL,
                    ComparisonColumn.MARKS,
                ),
            ),
        )
    ),
)

COMPARED_PHASE_COLUMNS: Final = with_cells(
    _COLUMNS,
    {
        ComparisonColumn.MARKS: lambda each: ", ".join(
            mark_words(kind) for kind in each.row.marks if kind in _OF_ALL_PHASES
        )
    },
)
"""Columns of the table of phases and configurations."""

_WHERE_NEEDED: Final = frozenset({ComparisonColumn.RATE, ComparisonColumn.SHARES, ComparisonColumn.MARKS})


def phase_columns(rows: Sequence[PhaseRow]) -> tuple[Column[PhaseRow], ...]:
    """Return the columns, omitting those about rates and marks if there are none."""
    return tuple(
        column
        for column in COMPARED_PHASE_COLUMNS
        if column.id not in _WHERE_NEEDED or any(map(column.cell, rows))
    )
