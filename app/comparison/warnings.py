"""List what weakens a comparison: other machines, kernels, builds, workloads; short runs ... Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from app.analysis.bottleneck import CAUSES, UNKNOWN, Bottleneck, Cause
from app.analysis.cannot_show import describe_limitations
from app.analysis.facts import is_elsewhere, property_of
from app.analysis.io_baseline import DURABLE_WRITES, READS, WORDS, WRITES, UsedShare, job_cell, sync_cell
from app.analysis.labels import format_tps, one_line, some
from app.analysis.properties import IDENTIFIER, LABELS, PGBENCH, TARGET, WORKLOAD
from app.comparison.anchor import describe_anchors
from app.comparison.comparison import RunComparison
from app.comparison.differences import PropertyDifference, find_differences
from app.comparison.groups import ComparedRun, is_disturbed, is_weak
from app.comparison.overall.conditions import CONDITION_WORDS
from app.comparison.overall.fastest import under_conditions
from app.comparison.overall.sequential import describe_design
from app.comparison.verdict import how_disturbed, why_unknown
from app.comparison.wording import INTERVALS_TOGETHER
from app.domain.columns import CellKind, Column
from app.domain.io_baseline import FLUSH_WORDS, IoBaseline, JobId, flush_verdict
from app.domain.text import CALLED, format_duration, titled, tr
from app.runfile.metadata.environment import MOST_NAMED
from app.runfile.metadata.run_metadata import IMPORTED
from app.statistics.sample_size import RUNS_FOR_A_REFERENCE

_SHORT_S: Final = 10
_LONGER_BY: Final = 1.5
_LONGEST: Final = 60
_MOST_NAMES: Final = 6
_MOST_REMARKS: Final = 12
_RUNS_FOR_AN_OUTLIER: Final = 4
_FAR: Final = 0.1
"""Least logarithm of the ratio of an outlying run to the nearest other one."""
_FAR_BY: Final = 3.0
"""How many times the range of the others it is, at least."""

_MACHINE: Final = titled(tr("machine"))
_POSTGRESQL: Final = "PostgreSQL"

_GRAVE: Final = (
    (TARGET, IDENTIFIER),
    (_MACHINE, tr("kernel")),
    (_POSTGRESQL, LABELS["version"]),
    (_POSTGRESQL, tr("build")),
    (_POSTGRESQL, PGBENCH),
)
"""The most important differences, by topic and name of the property."""


def comparison_notes(comparison: RunComparison) -> tuple[str, ...]:
    """Return remarks of campaigns, and unusual ways in which the comparison was made."""
    remarks = dict.fromkeys(one_line(each) for run in comparison.runs for each in run.facts.remarks)
    return (
        *list(remarks)[:_MOST_REMARKS],
        *_of_conditions(comparison),
        *describe_design(comparison),
        *_of_cut(comparison.cut_s),
        *_of_intervals(comparison),
    )


def _of_cut(cut_s: float) -> Iterator[str]:
    if cut_s:
        sentence = tr("The first {time} of every run is excluded from the comparison, as specified.")
        yield sentence.format(time=format_duration(round(cut_s)))


def _of_intervals(comparison: RunComparison) -> Iterator[str]:
    """State the level of the intervals of several comparisons."""
    if any(row.judged.comparisons > 1 for row in comparison.rows):
        yield INTERVALS_TOGETHER


def _of_conditions(comparison: RunComparison) -> Iterator[str]:
    """State what is held fixed, if runs have several conditions."""
    if comparison.asked is not None:
        sentence = tr("The configurations differ in one condition, {name}; everything else is equal.")
        yield sentence.format(name=CONDITION_WORDS[comparison.asked])
    if len(comparison.parts) > 1:
        sentence = tr(
            "The runs have {count} conditions, such as transactions or scale. TPS are compared within each "
            "condition only."
        )
        yield sentence.format(count=len(comparison.parts))


def comparison_warnings(comparison: RunComparison) -> tuple[str, ...]:
    """Return warnings on a comparison as sentences, the gravest first; empty for interleaved repeats."""
    found = (
        *_of_disturbances(comparison),
        *under_conditions(comparison.parts, _within),
        *_of_compression(comparison),
        *_of_sources(comparison),
        *_of_runs(comparison),
    )
    return tuple(dict.fromkeys(found))


def _within(part: RunComparison) -> Iterator[str]:
    """Yield the warnings on comparisons within one condition; differences outside it do not matter."""
    if len(part.groups) > 1:
        yield from _of_properties(find_differences([run.facts for run in part.own_runs]))
        yield from _of_campaigns(part)
    yield from _of_durations(part)
    yield from _of_outliers(part)


def _of_disturbances(comparison: RunComparison) -> Iterator[str]:
    """State which runs were or may have been disturbed, and how they are treated."""
    aside = [run for run in comparison.runs if run.is_excluded]
    used = [run for group in comparison.groups for run in group.included_runs if is_weak(run.facts)]
    for runs, sentence, unknown in (
        (
            used,
            tr("Other processes disturbed {names}: {how}. Too few undisturbed runs are left for a verdict."),
            tr(
                "It is not known whether other processes disturbed {names}: {how}. A verdict needs runs that"
                " are known to be undisturbed."
            ),
        ),
        (
            aside,
            tr("Excluded as disturbed by other processes: {names} ({how})."),
            tr("Excluded as possibly disturbed by other processes: {names} ({how})."),
        ),
    ):
        for is_reported, message, words in ((True, sentence, how_disturbed), (False, unknown, why_unknown)):
            those = [
                run
                for run in runs
                if is_disturbed(run.facts) is is_reported
                and (is_reported or run.facts.disturbances.not_known)
            ]
            if those:
                how = words([run.facts for run in those])
                names = some([run.name for run in those], _MOST_NAMES)
                if len(those) == len(comparison.runs) > 1:
                    names = tr("the runs")
                yield message.format(names=names, how=how)


def _of_properties(differences: Sequence[PropertyDifference]) -> Iterator[str]:
    variants = {(each.topic, each.name): each.variants for each in differences}
    for key in _GRAVE:
        # A property missing from one file may be the same: only two known values differ.
        values = [variant.value for variant in variants.get(key, ())]
        known = [value for value in values if value != tr("none")]
        if len(known) > 1:
            words = ", ".join(one_line(value)[:_LONGEST] for value in known)
            sentence = tr("Not the same for all runs: {topic}, {name} ({values}).")
            if key[1] == IDENTIFIER:
                sentence = tr(
                    "The servers are different PostgreSQL clusters, or one was recreated ({values})."
                )
            yield sentence.format(topic=key[0], name=key[1], values=words)


def _of_compression(comparison: RunComparison) -> Iterator[str]:
    """State which data was compressed: pgbench's own resembles almost no real data."""
    runs = [run.facts for run in comparison.runs]
    effects = dict.fromkeys(each.compression for each in runs if each.compression)
    if not effects:
        return
    names = ", ".join(list(effects)[:MOST_NAMED])
    rows = [property_of(each, WORKLOAD, LABELS["compressibility"]) for each in runs]
    if not all(rows):
        sentence = tr(
            "A filesystem compresses ({effects}). pgbench's rows are mostly blanks and compress about 30:1, "
            "so compression looks better than with most data."
        )
        yield sentence.format(effects=names)
    if stated := list(dict.fromkeys(filter(None, rows))):
        sentence = tr(
            "A filesystem compresses ({effects}). The loaded rows compress {ratios} (zstd -3 over 128 KiB); "
            "other data gives other results."
        )
        yield sentence.format(effects=names, ratios=", ".join(stated[:MOST_NAMED]))


def _of_campaigns(comparison: RunComparison) -> Iterator[str]:
    """State the effect of different campaigns on a comparison, and whether a reference in both helps."""
    groups, anchors = comparison.groups, comparison.anchors
    known = {one.name for each in anchors.references for one in (each.first, each.other)}
    lacking = [
        group.name
        for group in groups
        if group.campaign != groups[0].campaign and group.name not in {*anchors.by_group, *known}
    ]
    if lacking and len({group.origin for group in groups}) == 1:
        yield tr(
            "The runs were imported from one campaign, perhaps not interleaved. Changes between the runs "
            "are part of every difference, so there is no verdict between them."
        )
        return
    if lacking and not anchors.references:
        sentence = tr(
            "The runs are from different campaigns and were not interleaved. Changes between the campaigns "
            "are part of every difference, so there is no verdict between them."
        )
        yield sentence if anchors.disagreeing else f"{sentence} {_way_out(comparison)}"
    elif lacking:
        sentence = tr(
            "There is no verdict on {names}. Changes between the campaigns are part of the difference, and no"
            " reference shows how large they were."
        )
        yield sentence.format(names=some(lacking, _MOST_NAMES))
    yield from describe_anchors(anchors)


def _way_out(comparison: RunComparison) -> str:
    """Return what would allow a verdict between campaigns."""
    sentence = tr("A configuration with {runs} or more runs in both campaigns would allow one.")
    way_out = sentence.format(runs=RUNS_FOR_A_REFERENCE)
    if not any(is_elsewhere(run.facts) for run in comparison.own_runs):
        return way_out
    more = tr(
        "If a server's storage is recreated between campaigns, use a second, unchanged server on its machine "
        "as that configuration. See “{command} recipes lentfer-2009”."
    )
    return f"{way_out} {more.format(command=CALLED)}"


def _of_sources(comparison: RunComparison) -> Iterator[str]:
    """State where imported results are compared with own runs: their measurement is only partly known."""
    foreign = [run.name for run in comparison.runs if IMPORTED in {kind for kind, _ in run.facts.marks}]
    if foreign and len(foreign) < len(comparison.runs):
        sentence = tr(
            "Imported, not measured by pgFooting: {names}. Details missing from their files may differ too."
        )
        yield sentence.format(names=some(foreign, _MOST_NAMES))


def _of_durations(comparison: RunComparison) -> Iterator[str]:
    lengths = {
        run.name: run.facts.shape.duration_s
        for run in comparison.own_runs
        if run.tps is not None and run.facts.shape is not None and run.facts.shape.duration_s > 0
    }
    if not lengths:
        return
    shortest, longest = min(lengths, key=lengths.__getitem__), max(lengths, key=lengths.__getitem__)
    if lengths[longest] > _LONGER_BY * lengths[shortest]:
        sentence = tr(
            "The runs lasted {short} ({first}) to {long} ({last}). A short run misses what comes later, such"
            " as checkpoints and full disks."
        )
        yield sentence.format(
            short=format_duration(round(lengths[shortest])),
            first=shortest,
            long=format_duration(round(lengths[longest])),
            last=longest,
        )
    short = {name: length for name, length in lengths.items() if length < _SHORT_S}
    if short:
        names = titled(tr("the runs")) if len(short) == len(lengths) > 1 else some(list(short), _MOST_NAMES)
        sentence = tr("{names} measured for {s:.0f} s or less, far too short to draw conclusions from.")
        yield sentence.format(names=names, s=max(short.values()))


def _of_outliers(part: RunComparison) -> Iterator[str]:
    """Name each run that is far from all other runs of its configuration."""
    for group in part.groups:
        runs = sorted((run for run in group.included_runs if run.tps), key=lambda run: run.tps or 0.0)
        if len(runs) < _RUNS_FOR_AN_OUTLIER:
            continue
        for run, others, nearest in ((runs[0], runs[1:], runs[1]), (runs[-1], runs[:-1], runs[-2])):
            low, high = others[0].tps or 0.0, others[-1].tps or 0.0
            gap = abs(math.log((run.tps or 0.0) / (nearest.tps or 0.0)))
            if gap > max(_FAR, _FAR_BY * math.log(high / low)):
                sentence = tr(
                    "{name} is an outlier: it measured {tps} TPS, the other {count} runs of its "
                    "configuration {low} to {high}."
                )
                yield sentence.format(
                    name=run.name,
                    tps=format_tps(run.tps),
                    count=len(others),
                    low=format_tps(low),
                    high=format_tps(high),
                )


def _of_runs(comparison: RunComparison) -> Iterator[str]:
    for run in comparison.runs:
        if run.left_out and not run.is_excluded:
            yield tr("{run} is excluded: {reason}.").format(run=run.name, reason=run.left_out)
    shapes = ((run.name, run.shape) for run in comparison.runs if run.tps is not None)
    never = [name for name, shape in shapes if shape is not None and shape.warm_up.settled is False]
    if never:
        sentence = tr("Never reached a steady state: {names}. Measure longer.")
        yield sentence.format(names=some(never, _MOST_NAMES))


# Summarise the bottlenecks of compared configurations, and what the figures cannot show. Pure.
#
# Also shows what the storage of each configuration can do without PostgreSQL, and how much of it the runs
# used.


_CAUSES_NAMED: Final = 6
"""Configurations listed for one cause."""


def bottlenecks(comparison: RunComparison) -> tuple[Bottleneck, ...]:
    """Return the bottleneck of most runs of each configuration, with the evidence of their middle one.

    On a tie it is unknown.
    """
    return tuple(_bottleneck_of(group.runs) for group in comparison.groups)


def _bottleneck_of(runs: Sequence[ComparedRun]) -> Bottleneck:
    taking = [run for run in runs if run.tps is not None] or runs
    counts = Counter(run.facts.bottleneck.cause for run in taking)
    most = max(counts.values(), default=0)
    causes = [cause for cause, count in counts.items() if count == most]
    if len(causes) != 1:
        return UNKNOWN
    having = [run for run in taking if run.facts.bottleneck.cause in causes]
    having.sort(key=lambda run: run.tps or 0.0)
    return having[(len(having) - 1) // 2].facts.bottleneck


def describe_bottlenecks(comparison: RunComparison) -> str:
    """Return in one sentence the bottlenecks of the configurations; with evidence if there is only one."""
    found = bottlenecks(comparison)
    if not any(run.shape is not None for run in comparison.own_runs):
        return ""
    if len(found) == 1:
        return found[0].sentence
    names: dict[Cause, list[str]] = {}
    for group, bottleneck in zip(comparison.groups, found, strict=True):
        names.setdefault(bottleneck.cause, []).append(group.name_in_sentences)
    if len(names) == 1:
        [cause] = names
        return tr("Common bottleneck: {cause}.").format(cause=CAUSES[cause])
    parts = [f"{some(names[cause], _CAUSES_NAMED)}: {CAUSES[cause]}" for cause in Cause if cause in names]
    return tr("Bottlenecks: {parts}.").format(parts="; ".join(parts))


def describe_part_limitations(comparison: RunComparison) -> str:
    """Return in one sentence what the compared figures cannot show; empty if there is nothing."""
    return describe_limitations(run.facts.unshown for run in comparison.own_runs if run.shape is not None)


def describe_limits(comparison: RunComparison) -> tuple[str, ...]:
    """Return the bottlenecks of each condition, and what its figures cannot show."""
    return under_conditions(
        comparison.parts,
        lambda part: filter(None, (describe_bottlenecks(part), describe_part_limitations(part))),
    )


_WAL_SYNCS: Final = "wal.syncs"


@dataclass(frozen=True, slots=True)
class StorageRow:
    """The storage of one configuration.

    Attributes:
        group: its index in the comparison.
        name: of the configuration.
        baseline: capability of its storage, from the first of its runs that recorded it.
        used: share of it that this run used.
    """

    group: int
    name: str
    baseline: IoBaseline
    used: tuple[UsedShare, ...]

    @property
    def sentence(self) -> str:
        """What its flush rate shows about the drives; empty if nothing."""
        words = FLUSH_WORDS[flush_verdict(self.baseline)]
        return f"{self.name}: {words}" if words else ""


def _syncs_used(row: StorageRow) -> str:
    return next((each.share_words for each in row.used if each.metric == _WAL_SYNCS), "")


STORAGE_COLUMNS: Final[tuple[Column[StorageRow], ...]] = (
    Column("configuration", titled(tr("configuration")), lambda row: row.name, CellKind.WORDS),
    Column("syncs", titled(DURABLE_WRITES), lambda row: sync_cell(row.baseline)),
    Column("used", tr("Used"), _syncs_used),
    Column("appends", tr("Appends/s"), lambda row: job_cell(row.baseline, JobId.SYNC_APPEND)),
    Column("read", f"{titled(READS)}, 1", lambda row: job_cell(row.baseline, JobId.RANDOM_READ)),
    Column("read_deep", f"{titled(READS)}, 32", lambda row: job_cell(row.baseline, JobId.RANDOM_READ_DEEP)),
    Column("write", f"{titled(WRITES)}, 32", lambda row: job_cell(row.baseline, JobId.RANDOM_WRITE)),
    Column(
        "stream_read", WORDS["storage.read_bytes"], lambda row: job_cell(row.baseline, JobId.SEQUENTIAL_READ)
    ),
    Column(
        "stream_write",
        WORDS["storage.write_bytes"],
        lambda row: job_cell(row.baseline, JobId.SEQUENTIAL_WRITE),
    ),
)
"""Columns of the table of storages, each measured alone, before the first run on it."""

EXPLANATION: Final = tr(
    "fio and pg_test_fsync before the first run: random 8 KiB (1 or 32 in flight), sequential "
    "1 MiB. Used: WAL syncs of the first run in percent of durable writes."
)


def storage_rows(comparison: RunComparison) -> tuple[StorageRow, ...]:
    """Return a row for each configuration with a measured storage; empty if none was measured."""
    measured = (
        (place, group.name, next((run.facts for run in group.runs if run.facts.baseline is not None), None))
        for place, group in enumerate(comparison.groups)
    )
    return tuple(
        StorageRow(place, name, facts.baseline, facts.used)
        for place, name, facts in measured
        if facts is not None and facts.baseline is not None
    )


def storage_sentences(rows: Sequence[StorageRow]) -> tuple[str, ...]:
    """Return what the flush rates show about the drives; a common statement appears once."""
    said = [FLUSH_WORDS[flush_verdict(row.baseline)] for row in rows]
    if said and all(each == said[0] for each in said):
        return tuple(filter(None, said[:1]))
    return tuple(filter(None, (row.sentence for row in rows)))
