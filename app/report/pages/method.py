"""Explain how the numbers of a report were computed, in sentences, with the sources of the formulas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from app.analysis.bottleneck import describe_causes
from app.analysis.data_set import MOST_CACHED
from app.analysis.facts import property_of
from app.analysis.glossary import GlossaryTerm, terms_of_report
from app.analysis.properties import LABELS, WORKLOAD
from app.comparison.comparison import RunComparison
from app.comparison.run_order import describe_order
from app.domain.campaign.configuration import Caches
from app.domain.campaign.order import DEFAULT_CAP
from app.domain.columns import CellKind, Column
from app.domain.disturbances import describe_thresholds
from app.domain.text import tr
from app.domain.units import format_duration
from app.report.blocks import Block, TableSize, Text, TextRole, plain_table
from app.report.findings import Findings
from app.runfile.metadata.offered_load import KEPT_SHARE, LoadKind
from app.statistics.sample_size import RUNS_FOR_A_REFERENCE, RUNS_FOR_A_VERDICT
from app.statistics.selection import PRIOR_DF, SIMULATED_ALONE, SIMULATED_LOST, SIMULATED_LOST_UNEQUAL


def method(found: Findings) -> Iterator[Block]:
    """Yield how runs were measured and compared, and the meaning of terms."""
    yield Text(TextRole.HEADING, tr("Method"), bookmark=tr("Method"), new_page=True)
    yield Text(TextRole.SUBHEADING, tr("Measuring"))
    for sentence in _measuring(found.comparison):
        yield Text(TextRole.SMALL, sentence)
    yield Text(TextRole.SUBHEADING, tr("Comparing"))
    for sentence in (*_comparing(found), *found.notes):
        yield Text(TextRole.SMALL, sentence)
    yield Text(TextRole.SUBHEADING, tr("Words"))
    yield plain_table(_WORD_COLUMNS, terms_of_report(), size=TableSize.SMALL)


def _measuring(comparison: RunComparison) -> Iterator[str]:
    shapes = [run.facts.shape for run in comparison.runs if run.facts.shape is not None]
    if shapes:
        lengths = sorted(shape.duration_s for shape in shapes)
        sentence = format_duration(lengths[0])
        if round(lengths[0]) != round(lengths[-1]):
            sentence = tr("{short} to {long}").format(short=sentence, long=format_duration(lengths[-1]))
        yield tr("The load is pgbench. The measured phase lasted {time}; warm-up does not count.").format(
            time=sentence
        )
    yield tr(
        "TPS are pgbench's own count of transactions; device, CPU and WAL figures are counters of the "
        "kernel and the server, read every second. A second that was missed is missing, never filled in."
    )
    yield tr(
        "Device figures are of the chosen disks as a whole: of the members of arrays and pools, not of "
        "what lies over them; of a loop device itself, not of the disk below its file."
    )
    yield from describe_causes()
    yield tr(
        "Latency percentiles come from transactions, not from averages of averages: every transaction, or "
        "every n-th where the run says so, stands in a histogram with an error below 0.8 %."
    )
    if any(property_of(run.facts, WORKLOAD, LABELS["caches"]) == Caches.COLD for run in comparison.runs):
        yield tr(
            "Where caches were cold, the server was stopped before the measured phase, its files left the "
            "cache of the operating system, and it was started again. What was cached all the same was "
            "read back; runs with more than {percent:g} % of the data are marked. Caches of disks, "
            "controllers and hosts stay as they are."
        ).format(percent=100 * MOST_CACHED)
    if any(run.facts.load.kind is LoadKind.RATE for run in comparison.runs):
        yield tr(
            "With a rate, transactions arrive at random moments (a Poisson process of pgbench's), and "
            "latency counts from there; what the latency limit skipped counts as beyond it. A rate is kept "
            "where at least {percent:g} % of what was offered was done, allowing for chance. Speed is "
            "compared only where none kept the same rate."
        ).format(percent=100 * KEPT_SHARE)
    if order := describe_order(comparison):
        yield order


def _comparing(found: Findings) -> Iterator[str]:
    comparison = found.comparison
    yield tr(
        "The unit is the run, never the second: seconds of one run resemble each other, and tests on them "
        "call more than half of identical pairs different. Means are geometric, differences are ratios, "
        "intervals are Student's on the logarithms of run means; of interleaved runs the pairs are "
        "compared, of others Welch's test is used."
    )
    yield tr(
        "“Practically equal” means that the 90 % interval lies within {effect:g} % (two one-sided tests). "
        "Where several configurations are compared with the first, Holm's procedure keeps the chance of "
        "any false difference at 5 %. Below {runs} runs there is no verdict, nor between campaigns unless "
        "one configuration ran unchanged in both: such figures are indicative only. Each comparison takes "
        "its spread from its own runs: a spread shared by all configurations would see more with few "
        "repeats, but named differences in up to 10 % of simulated campaigns of identical ones."
    ).format(effect=100 * comparison.effect, runs=RUNS_FOR_A_VERDICT)
    yield tr(
        "Beside a difference of too few runs stands how much such runs would have to spread (standard "
        "deviation of logarithms) for chance to explain it in 5 % of cases, divided by the number of such "
        "differences. “Fastest” names a set that holds the truly fastest configuration in 95 % of cases: one "
        "is left out where its verdict against the first says that it is slower, or where another one is "
        "faster at 2.5 %, one-sided, divided by the number of these others (multiple comparisons with the "
        "best, Bonferroni)."
    )
    if found.factors.verdicts:
        yield tr(
            "Over the cells of a matrix the ratios of two levels of a factor, each within a cell in which "
            "all else is equal, are compared by Student's t on their logarithms, Holm's procedure over the "
            "levels of one factor. Where every cell has several runs these tell the spread (blocks by cell, "
            "Satterthwaite's degrees of freedom); where two cells differ beyond chance (Bonferroni over the "
            "pairs) and by more than matters, none is told over them. Else the cells are the repeats, and "
            "what the difference is in one and not in another is part of their spread. Cells whose runs are "
            "of different campaigns count as one where they share a campaign. Each condition is judged for "
            "itself, and every factor errs in 5 % for itself: of many factors without an effect one in "
            "twenty may seem to have one."
        )
    if any(group.contest for group in comparison.groups):
        yield tr(
            "Runs of a sequential design are paired by the rounds that both were in. There the spread of "
            "a comparison is drawn towards that of all that competed, as if it had {df} degrees of "
            "freedom more, and the interval of whatever is fastest allows for its having been chosen "
            "(hybrid intervals of Andrews, Kitagawa and McCloskey, with Student's t). After each round, "
            "from the third on, what is behind the leader is left out at a level that falls with the "
            "number of configurations; its nearest rival, without which one alone would be left, only "
            "beyond a boundary after O'Brien and Fleming. In simulated campaigns of {rounds} rounds, with "
            "6 to 33 configurations and up to 4 % from run to run, one that was 5 % faster than all "
            "others was left out in at most {lost:g} % of cases (up to {unequal:g} % where some spread "
            "much more than others; there a fixed design of as many rounds names another one still more "
            "often); of equal ones a single one was left in at most {alone:g} %. A lead of less than that "
            "is lost more often."
        ).format(
            df=PRIOR_DF,
            rounds=DEFAULT_CAP,
            lost=100 * SIMULATED_LOST,
            unequal=100 * SIMULATED_LOST_UNEQUAL,
            alone=100 * SIMULATED_ALONE,
        )
    if any(part.anchors.by_group for part in comparison.parts):
        yield tr(
            "Between campaigns each configuration is taken by the reference that ran in its own, at least "
            "{runs} times, with all that was chosen and all that is known of the machine the same in both: "
            "differences are ratios of these ratios, with the spreads of all four groups and degrees of "
            "freedom after Welch and Satterthwaite. That supposes that what changed between the campaigns "
            "changed all by the same factor; where several references disagree there is no verdict."
        ).format(runs=RUNS_FOR_A_REFERENCE)
    yield tr(
        "A run is disturbed where others did much while it was measured: {thresholds}. This is told from "
        "what others did and never from the speed of the run. Disturbed runs take no part where their "
        "configuration has {runs} others; else what is seen is indicative only. A run that was measured "
        "again counts once, and all attempts are kept. A difference that others may have made because they "
        "used more CPU beside one of two is no verdict."
    ).format(thresholds=describe_thresholds(), runs=RUNS_FOR_A_VERDICT)
    yield tr(
        "The interval within one run allows for the likeness of neighbouring seconds (autocorrelation time "
        "by Geyer's initial monotone sequence). It is blind to what differs between runs, which is usually "
        "two to three times as much."
    )


_WORD_COLUMNS: Final[tuple[Column[GlossaryTerm], ...]] = (
    Column("word", tr("Word"), lambda row: row.word, CellKind.LABEL),
    Column("meaning", tr("Meaning"), lambda row: row.meaning, CellKind.WORDS),
)
