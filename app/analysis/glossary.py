"""The glossary of window, commands and reports.

The heading of a table finds its term by the stable name of its column or figure (`meaning_of`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from app.domain.text import tr
from app.statistics.sample_size import RUNS_FOR_A_REFERENCE, RUNS_FOR_A_VERDICT


@dataclass(frozen=True, slots=True)
class GlossaryTerm:
    """A term and its meaning.

    Attributes:
        word: as shown.
        meaning: whole sentences.
        columns: names of the columns and figures with that heading.
    """

    word: str
    meaning: str
    columns: tuple[str, ...] = ()


_TERMS: Final = (
    GlossaryTerm(tr("p99"), tr("99 of 100 transactions were faster than this."), ("latency_p99_ms", "p99")),
    GlossaryTerm(
        tr("jitter"), tr("Standard deviation of the TPS per second, by their mean."), ("jitter", "jitter_cv")
    ),
    GlossaryTerm(
        tr("stalled"),
        tr(
            "Seconds below 10 % of what was reached near them (the lower of the 95th percentiles of "
            "the five minutes before and after), below 1 % of the run's own, or without any "
            "transaction."
        ),
        ("stall_s", "longest_stall_s"),
    ),
    GlossaryTerm(
        tr("drift"), tr("The mean of the last tenth of a run by that of the first, minus one."), ("drift",)
    ),
    GlossaryTerm(
        tr("steady"),
        tr("Five equal rounds within 20 % of their mean, with a trend within 10 % (as in SNIA's tests)."),
        ("steady",),
    ),
    GlossaryTerm(
        tr("cell"),
        tr("A combination of everything but one factor, measured at two levels of that factor."),
    ),
    GlossaryTerm(tr("/ tx"), tr("What one transaction cost: the mean rate of a counter by the mean TPS.")),
    GlossaryTerm(
        tr("disturbed"),
        tr("Others used the CPUs, the disks or memory meanwhile, or the machine was slowed down."),
    ),
    GlossaryTerm(
        tr("UNSAFE"),
        tr(
            "An option that lets committed transactions, or the database, be lost in a crash or a "
            "power failure. Its numbers are not comparable with safe ones."
        ),
    ),
    GlossaryTerm(
        tr("capacity"),
        tr(
            "TPS of a configuration that did not keep the rate at which load was offered. With a latency "
            "limit there is none: what came too late was skipped."
        ),
    ),
    GlossaryTerm(
        tr("closed loop"),
        tr("Each client sends its next transaction when it has an answer: a slow server is asked less."),
    ),
    GlossaryTerm(
        tr("imported"), tr("Measured elsewhere, not by pgFooting; what its files do not hold is not known.")
    ),
    GlossaryTerm(
        tr("sampled"),
        tr("The log holds one in so many transactions; counts of seconds are scaled by that."),
    ),
    GlossaryTerm(
        tr("configuration"),
        tr("One way to set up disks, filesystem, options and server, which is compared with others."),
        ("configuration",),
    ),
    GlossaryTerm(
        tr("condition"),
        tr(
            "What a comparison holds fixed, such as transactions, scale and clients. Each condition is "
            "compared by itself."
        ),
        ("condition",),
    ),
    GlossaryTerm(
        tr("repeat"),
        tr(
            "One of several runs of the same configuration. How much repeats differ says how large a "
            "difference between configurations has to be before it is more than chance."
        ),
        ("runs",),
    ),
    GlossaryTerm(
        tr("TPS"),
        tr(
            "Transactions per second, as pgbench counts them. Of a configuration it is the geometric "
            "mean of its runs."
        ),
        ("tps",),
    ),
    GlossaryTerm(
        tr("95 % CI"),
        tr(
            "A range made so that in 95 of 100 campaigns like this one it holds what endless repeats "
            "would give. It is narrow where runs are many and agree."
        ),
        ("interval",),
    ),
    GlossaryTerm(
        tr("difference"),
        tr("How the mean of a configuration compares with that of the first one."),
        ("difference",),
    ),
    GlossaryTerm(
        tr("interval of a difference"),
        tr(
            "As the 95 % interval, for the difference to the first configuration. Where it reaches "
            "from slower to faster, chance can explain the difference. Of several comparisons each is "
            "the wider (Holm)."
        ),
        ("difference_interval",),
    ),
    GlossaryTerm(
        tr("chance from"),
        tr(
            "For a difference of too few runs: where such runs spread by this much or more, chance alone "
            "explains it."
        ),
        ("chance",),
    ),
    GlossaryTerm(
        tr("Holm"),
        tr(
            "Holm's procedure: where several configurations are compared with the first, each has to "
            "differ more clearly, so that the chance of any false difference stays at 5 %."
        ),
    ),
    GlossaryTerm(
        tr("practically equal"),
        tr(
            "The 90 % interval of a difference lies within what is chosen not to matter (two one-sided "
            "tests). That is more than “inconclusive”, which only says that the runs do not suffice."
        ),
    ),
    GlossaryTerm(
        tr("indicative only"),
        tr(
            "A figure without a verdict: of fewer than {runs} runs, or of other campaigns with no "
            "configuration that ran unchanged in both at least {reference} times."
        ).format(runs=RUNS_FOR_A_VERDICT, reference=RUNS_FOR_A_REFERENCE),
    ),
    GlossaryTerm(
        tr("verdict"),
        tr("What the runs allow to be said of the difference to the first configuration, as a sentence."),
        ("verdict",),
    ),
    GlossaryTerm(
        tr("reference"),
        tr("A configuration that ran unchanged in two campaigns, by which their other results are compared."),
        ("reference",),
    ),
    GlossaryTerm(
        tr("marks"),
        tr(
            "What has to be known before these numbers are compared with others, such as unsafe or disturbed."
        ),
        ("marks",),
    ),
    GlossaryTerm(
        tr("rate"),
        tr("How many transactions per second pgbench was told to send, and whether they were kept."),
        ("rate",),
    ),
    GlossaryTerm(
        tr("late, skipped"),
        tr(
            "Late transactions took longer than the latency limit; skipped ones were not sent at all, "
            "because their turn had passed by more than that."
        ),
        ("shares", "late", "skipped"),
    ),
    GlossaryTerm(
        tr("compressible"),
        tr("How far the loaded tables can be compressed: their size by that after zstd -3 over 128 KiB."),
        ("rows_ratio",),
    ),
    GlossaryTerm(
        tr("compressed"),
        tr("What the filesystem made of the tables after they were loaded."),
        ("compressed",),
    ),
    GlossaryTerm(tr("p50"), tr("Half of the transactions were faster than this."), ("latency_p50_ms",)),
    GlossaryTerm(tr("p95"), tr("95 of 100 transactions were faster than this."), ("latency_p95_ms",)),
    GlossaryTerm(tr("p99.9"), tr("999 of 1000 transactions were faster than this."), ("latency_p999_ms",)),
    GlossaryTerm(
        tr("checkpoint"),
        tr(
            "PostgreSQL writes all changed pages to the disks, every few minutes or after so much WAL. "
            "The first change of each page after it is written to the WAL whole."
        ),
        ("checkpoint_share",),
    ),
    GlossaryTerm(
        tr("warm-up"),
        tr("Load before the measured phase. It fills caches and does not count."),
    ),
)

GLOSSARY: Final = tuple(sorted(_TERMS, key=lambda each: each.word.casefold()))
"""Every term, in alphabetical order."""

_BY_COLUMN: Final = {column: each for each in GLOSSARY for column in each.columns}


def meaning_of(column: str) -> str:
    """Return the meaning of a column's or figure's heading; empty if it needs no explanation."""
    term = _BY_COLUMN.get(column)
    return term.meaning if term is not None else ""
