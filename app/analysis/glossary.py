"""The glossary of window, commands and reports.

The heading of a table finds its term by the stable name of its column or figure (`meaning_of`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from app.domain.text import number_text, titled, tr
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


def _faster(share: str) -> str:
    return tr("{share} of the transactions were faster than this.").format(share=share)


_TERMS: Final = (
    GlossaryTerm("p99", _faster("99 %"), ("latency_p99_ms", "p99")),
    GlossaryTerm(
        titled(tr("jitter")),
        tr("Coefficient of variation of the per-second TPS: standard deviation divided by mean."),
        ("jitter", "jitter_cv"),
    ),
    GlossaryTerm(
        titled(tr("stalled")),
        tr(
            "Seconds without transactions, below 1 % of the run's 95th percentile, or below 10 % of the "
            "rate nearby (95th percentile of five minutes before or after, whichever is lower)."
        ),
        ("stall_s", "longest_stall_s"),
    ),
    GlossaryTerm(
        titled(tr("drift")),
        tr("Relative change of mean TPS from the first to the last tenth of a run."),
        ("drift",),
    ),
    GlossaryTerm(
        tr("Steady"),
        tr("Five equal slices (SNIA) differ by at most 20 %, with a trend of at most 10 %, or within noise."),
        ("steady",),
    ),
    GlossaryTerm("/ tx", tr("Cost of one transaction: mean rate of a counter divided by mean TPS.")),
    GlossaryTerm(
        titled(tr("disturbed")),
        tr("Other processes used CPU, disk or memory during the run, or the machine was throttled."),
    ),
    GlossaryTerm(
        tr("unsafe").upper(),
        tr(
            "With this option, a crash or power failure can lose committed transactions or the whole "
            "database. Do not compare its results with those of safe options."
        ),
    ),
    GlossaryTerm(
        tr("Capacity"),
        tr(
            "TPS of a configuration that could not keep up with its target rate. With a latency limit there "
            "is none, because late transactions were skipped."
        ),
    ),
    GlossaryTerm(
        tr("Closed loop"),
        tr("Each client waits for a reply before its next transaction: a slow server gets less load."),
    ),
    GlossaryTerm(
        titled(tr("imported")), tr("Not measured by pgFooting. Details missing from its files are not known.")
    ),
    GlossaryTerm(
        titled(tr("sampled")),
        tr("The log contains a sample of the transactions; counts per second are scaled up."),
    ),
    GlossaryTerm(
        titled(tr("configuration")),
        tr("One setup of disks, filesystem, options and server, compared with others."),
        ("configuration",),
    ),
    GlossaryTerm(
        titled(tr("condition")),
        tr(
            "Settings that a comparison holds fixed, such as transactions, scale and clients. Each "
            "condition is compared separately."
        ),
        ("condition",),
    ),
    GlossaryTerm(
        tr("Repeat"),
        tr(
            "One of several runs of the same configuration. The more repeats vary, the larger a difference "
            "must be to be significant."
        ),
        ("runs",),
    ),
    GlossaryTerm(
        "TPS",
        tr(
            "Transactions per second, as pgbench counts them; for a configuration, the geometric mean of "
            "its runs."
        ),
        ("tps",),
    ),
    GlossaryTerm(
        tr("95 % CI"),
        tr(
            "Confidence interval: in about 95 of 100 campaigns like this one, the range contains the true "
            "mean. More runs, and runs that agree, make it narrower."
        ),
        ("interval",),
    ),
    GlossaryTerm(
        tr("Difference"),
        tr("Mean of a configuration compared with the mean of the baseline, by default the first one."),
        ("difference",),
    ),
    GlossaryTerm(
        tr("CI of difference"),
        tr(
            "Confidence interval of the difference from the baseline. If it includes zero, chance can "
            "explain the difference. With several comparisons it is wider (Holm)."
        ),
        ("difference_interval",),
    ),
    GlossaryTerm(
        tr("Chance from"),
        tr(
            "For a difference with too few runs: if such runs vary by this much or more, chance alone can "
            "explain it."
        ),
        ("chance",),
    ),
    GlossaryTerm(
        "Holm",
        tr(
            "Adjusts for several comparisons with the baseline: each difference must be clearer, which "
            "keeps the chance of any false difference at 5 % or less."
        ),
    ),
    GlossaryTerm(
        tr("practically equal"),
        tr(
            "The 90 % confidence interval of the difference is within the smallest difference of interest "
            "(two one-sided tests). “Inconclusive” only means that the runs do not suffice."
        ),
    ),
    GlossaryTerm(
        titled(tr("indicative only")),
        tr(
            "A figure without a verdict: fewer than {runs} runs, or different campaigns without a "
            "configuration that ran unchanged in both at least {reference} times."
        ).format(runs=RUNS_FOR_A_VERDICT, reference=RUNS_FOR_A_REFERENCE),
    ),
    GlossaryTerm(
        tr("Verdict"),
        tr("The conclusion about the difference from the baseline, in one sentence."),
        ("verdict",),
    ),
    GlossaryTerm(
        titled(tr("reference")),
        tr("Ran unchanged in two campaigns and so makes their other results comparable."),
        ("reference",),
    ),
    GlossaryTerm(
        tr("Marks"),
        tr("Warnings to read before you compare these numbers with others, such as unsafe or disturbed."),
        ("marks",),
    ),
    GlossaryTerm(
        titled(tr("rate")),
        tr("Transactions per second that pgbench was to send, and whether the server kept up."),
        ("rate",),
    ),
    GlossaryTerm(
        tr("Late, skipped"),
        tr(
            "Late transactions took longer than the latency limit. Skipped ones were never sent, because "
            "they were already later than the limit."
        ),
        ("shares", "late", "skipped"),
    ),
    GlossaryTerm(
        titled(tr("compressibility")),
        tr("Compressibility of the loaded tables: size divided by size after zstd -3 over 128 KiB."),
        ("rows_ratio",),
    ),
    GlossaryTerm(
        tr("Compressed"),
        tr("Share of the loaded tables' extents that the filesystem compressed, or their size on disk."),
        ("compressed",),
    ),
    GlossaryTerm("p50", _faster("50 %"), ("latency_p50_ms",)),
    GlossaryTerm("p95", _faster("95 %"), ("latency_p95_ms",)),
    GlossaryTerm("p99.9", _faster(f"{number_text(99.9, '.1f')} %"), ("latency_p999_ms",)),
    GlossaryTerm(
        titled(tr("checkpoint")),
        tr(
            "PostgreSQL writes all changed pages to disk, every few minutes or after some amount of "
            "WAL. The first change of a page afterwards puts the whole page into the WAL."
        ),
        ("checkpoint_share",),
    ),
    GlossaryTerm(
        titled(tr("warm-up")),
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
