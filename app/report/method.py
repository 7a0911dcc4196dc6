"""How the numbers of a report came about, in sentences, with where the formulas come from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from app.comparison.comparison import RunComparison
from app.domain.columns import CellKind, Column
from app.domain.text import tr
from app.domain.units import format_duration
from app.report.blocks import Block, TableSize, Text, TextRole, plain_table
from app.report.findings import Findings
from app.statistics.sample_size import RUNS_FOR_A_VERDICT


def method(found: Findings) -> Iterator[Block]:
    """Yield the sections of the method."""
    yield Text(TextRole.SUBHEADING, tr("Measuring"))
    for sentence in _measuring(found.comparison):
        yield Text(TextRole.BODY, sentence)
    yield Text(TextRole.SUBHEADING, tr("Comparing"))
    for sentence in (*_comparing(found.comparison), *found.notes):
        yield Text(TextRole.BODY, sentence)
    yield Text(TextRole.SUBHEADING, tr("Words"))
    yield plain_table(_WORD_COLUMNS, _WORDS, size=TableSize.SMALL)


def _measuring(comparison: RunComparison) -> Iterator[str]:
    shapes = [run.facts.shape for run in comparison.runs if run.facts.shape is not None]
    if shapes:
        lengths = sorted(shape.duration_s for shape in shapes)
        told = format_duration(lengths[0])
        if round(lengths[0]) != round(lengths[-1]):
            told = tr("{short} to {long}").format(short=told, long=format_duration(lengths[-1]))
        yield tr("The load is pgbench. The measured phase lasted {time}; warm-up does not count.").format(
            time=told
        )
    yield tr(
        "TPS are pgbench's own count of transactions; device, CPU and WAL figures are counters of the "
        "kernel and the server, read every second. A second that was missed is missing, never filled in."
    )
    yield tr(
        "Latency percentiles come from transactions, not from averages of averages: every transaction, or "
        "every n-th where the run says so, stands in a histogram with an error below 0.8 %."
    )
    if len(comparison.groups) > 1 and len({group.campaign for group in comparison.groups}) == 1:
        yield tr(
            "The runs were interleaved, every second round in reverse order, so that a slow change of the "
            "machine falls on all configurations alike."
        )


def _comparing(comparison: RunComparison) -> Iterator[str]:
    yield tr(
        "The unit is the run, never the second: seconds of one run resemble each other, and tests on them "
        "call more than half of identical pairs different. Means are geometric, differences are ratios, "
        "intervals are Student's on the logarithms of run means; of interleaved runs the pairs are "
        "compared, of others Welch's test is used."
    )
    yield tr(
        "“Practically equal” means that the 90 % interval lies within {effect:g} % (two one-sided tests). "
        "Where several configurations are compared with the first, Holm's procedure keeps the chance of "
        "any false difference at 5 %. Below {runs} runs there is no verdict: such figures are indicative "
        "only."
    ).format(effect=100 * comparison.effect, runs=RUNS_FOR_A_VERDICT)
    yield tr(
        "The interval within one run allows for the likeness of neighbouring seconds (autocorrelation time "
        "by Geyer's initial monotone sequence). It is blind to what differs between runs, which is usually "
        "two to three times as much."
    )


@dataclass(frozen=True, slots=True)
class _Word:
    """A word of the report and what it means."""

    word: str
    meaning: str


_WORD_COLUMNS: Final[tuple[Column[_Word], ...]] = (
    Column("word", tr("Word"), lambda row: row.word, CellKind.LABEL),
    Column("meaning", tr("Meaning"), lambda row: row.meaning, CellKind.WORDS),
)

_WORDS: Final = (
    _Word(tr("p99"), tr("99 of 100 transactions were faster than this.")),
    _Word(tr("jitter"), tr("Standard deviation of the TPS per second, by their mean.")),
    _Word(tr("stalled"), tr("Seconds below 10 % of the run's median TPS, and all without any transaction.")),
    _Word(tr("drift"), tr("The mean of the last tenth of a run by that of the first, minus one.")),
    _Word(
        tr("steady"),
        tr("Five equal rounds within 20 % of their mean, with a trend within 10 % (as in SNIA's tests)."),
    ),
    _Word(tr("/ tx"), tr("What one transaction cost: the mean rate of a counter by the mean TPS.")),
    _Word(
        tr("UNSAFE"),
        tr(
            "An option that lets committed transactions, or the database, be lost in a crash or a power "
            "failure. Its numbers are not comparable with safe ones."
        ),
    ),
    _Word(
        tr("imported"), tr("Measured elsewhere, not by pgFooting; what its files do not hold is not known.")
    ),
    _Word(
        tr("sampled"),
        tr("The log holds one in so many transactions; counts of seconds are scaled by that."),
    ),
)
