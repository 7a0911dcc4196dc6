"""Comparisons and upgrade gates as plain JSON values, for scripts.

The keys are stable and documented at `comparison_as_json` and `gate_as_json`. Missing values are null. Places
are indexes into the lists of the same document.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final

from app.analysis.labels import one_line
from app.comparison.anchor import Anchor
from app.comparison.comparison import RunComparison
from app.comparison.differences import PropertyDifference, what_differs
from app.comparison.factors import NONE, find_dimensions, number_of
from app.comparison.figures import (
    COSTS,
    EVENNESS,
    LATENCIES,
    LOADING,
    FigureComparison,
    compare_figures,
)
from app.comparison.groups import ComparedGroup, ComparedRun, is_disturbed
from app.comparison.matrix import describe_matrix, lay_out
from app.comparison.offered_load import KeptRate
from app.comparison.overall.answer import find_answer, question_of
from app.comparison.overall.conditions import is_held
from app.comparison.overall.fastest import describe_fastest, find_fastest
from app.comparison.overall.gate import GatedConfiguration, UpgradeGate
from app.comparison.overall.phases import ComparedPhase, compare_phases
from app.comparison.overall.single_runs import ChanceOfFewRuns
from app.comparison.table import ComparisonRow
from app.comparison.warnings import (
    StorageRow,
    bottlenecks,
    comparison_notes,
    describe_part_limitations,
    storage_rows,
)
from app.domain.io_baseline import flush_verdict
from app.domain.json_value import Json
from app.export.runs import bottleneck_as_json
from app.runfile.metadata.typed_json import values_of
from app.statistics.cells import CellComparison
from app.statistics.verdict import Comparison, Interval, run_interval

VERSION: Final = 1


def comparison_as_json(comparison: RunComparison) -> dict[str, Json]:
    """Return a comparison as JSON values.

    ``effect`` smallest difference of interest, a share; ``cut_s`` seconds excluded from the beginning of
    every run; ``question`` of the campaign with the figures ``answered_by`` and the ``answers``, sentences;
    ``warnings`` and ``notes`` sentences; ``differences``
    between the runs; ``not_known`` properties that may differ, because a file lacks them; ``runs`` each with
    ``left_out`` (why it is excluded, a clause or null), ``tps`` (the compared value), ``tps_whole`` (of the
    whole phase), ``within_run`` (interval of its own seconds), ``facts`` (sentences) and ``figures`` (as in
    the summary), all but ``tps_whole`` of the seconds after ``cut_s``.

    Rows of ``runs``, ``configurations``, ``figures`` and cells have ``dimensions``: by name the values of all
    properties in which configurations differ, null for none, ready for a pivot table.

    ``configurations`` each with ``runs`` (places), ``ranked`` (false for one that is not durable next to
    durable ones: it is last), ``disturbed`` (places of its disturbed runs), ``mean``, ``low``, ``high`` and,
    but for the first, ``verdict`` (one of `Verdict`), ``sentence``, ``ratio``, ``interval``, ``p_value``, if
    speed can be compared, ``reference`` (basis of a comparison between campaigns:
    ``groups``, places of the one configuration in the campaign of the first and in that of this one, ``runs``
    of each, ``ratio`` and ``interval`` of the second by the first), and with a rate ``rate`` (``rate_tps``,
    ``limit_ms``, ``kept``, ``late`` and ``skipped`` shares). With too few runs it has ``chance``:
    ``needed_spread``, ``known_spread``, ``probability``.

    ``figures`` the same for every other figure; ``storages`` of each configuration with a storage benchmark:
    ``io_baseline`` as in the run file, ``flushes`` (one of `FlushVerdict`), and the share of it that its
    first run with such data ``used``, by metric.

    ``conditions`` the parts that are compared separately, each with ``name`` (null for the only one),
    ``cut_s``, ``properties`` (the same in it and not in all), ``configurations`` (places; the first is the
    baseline) and ``fastest``: the name of the fastest configuration, those ``not_distinguishable`` from it
    and those ``not_judged``; ``asked`` the condition whose levels are compared, null for none; ``fastest``
    that of the only condition, else null.

    ``table`` if two factors are crossed, else null: ``across`` and ``down`` (their names), ``answers``
    (sentences), ``cells`` each with ``condition``, ``row``, ``column``, ``tps`` and ``configurations``
    (places), and ``standings`` of the levels across: ``level``, ``share`` of the
    best (geometric mean), ``worst`` share, ``cells``, and ``against`` the first, by transactions:
    ``verdict``, ``ratio``, ``interval`` and so on, the number of ``cells`` with both, ``sets`` (of cells that
    share campaigns; null if each cell is of one), ``depends`` (the difference varies between cells: then
    there is no verdict over them), ``least`` and ``most`` (ratios of cells).

    With several phases, ``phases``: those that count, in order, each with ``label``, ``name``, ``time``
    (which of several), ``transactions`` and ``configurations``: name, number of ``complete`` runs, ``mean``,
    ``low``, ``high``, ``latency_p95_ms`` and ``latency_p99_ms`` (geometric means of the whole phase, with
    ``at_least`` the names of those that are lower bounds), ``rate`` (with ``percent`` and ``of`` if it was a
    share of another phase), ``sentence``, and, but for the first, ``verdict`` and its details as above.
    """
    figures = compare_figures(comparison, (*LATENCIES, *EVENNESS, *COSTS, *LOADING))
    found = what_differs([run.facts for run in comparison.runs])
    question, names = question_of(comparison)
    answer = find_answer(comparison)
    tables = _dimensions(comparison)
    of_run = {
        run.index: table for group, table in zip(comparison.groups, tables, strict=True) for run in group.runs
    }
    return {
        "version": VERSION,
        "effect": comparison.effect,
        "cut_s": comparison.cut_s,
        "question": question or None,
        "answered_by": list(names),
        "answers": list(answer.sentences),
        "warnings": list(answer.weakened_by),
        "notes": list(comparison_notes(comparison)),
        "cannot_show": describe_part_limitations(comparison),
        "differences": [
            {
                "topic": each.topic,
                "name": each.name,
                "values": [{"value": one.value, "runs": list(one.runs)} for one in each.variants],
            }
            for each in found.differences
        ],
        "not_known": [{"topic": each.topic, "name": each.name} for each in found.not_known],
        "design": {
            "sequential": any(group.contest for group in comparison.groups),
            "left_out": {group.name: group.left_out for group in comparison.groups if group.left_out},
        },
        "runs": [_run(run) | {"dimensions": of_run.get(run.index, {})} for run in comparison.runs],
        "configurations": [
            _configuration(part, row, start)
            | {"bottleneck": bottleneck_as_json(bottleneck), "dimensions": tables[start + place]}
            for part, start in zip(comparison.parts, _starts(comparison), strict=True)
            for place, (row, bottleneck) in enumerate(zip(part.rows, bottlenecks(part), strict=True))
        ],
        "figures": [_figure(comparison.groups, tables, each) for each in figures],
        "conditions": list(_conditions(comparison)),
        "asked": None if comparison.asked is None else comparison.asked.value,
        "fastest": _fastest(comparison.parts[0]) if len(comparison.parts) == 1 else None,
        "table": _table(comparison, tables),
        "storages": [_storage(row) for row in storage_rows(comparison)],
        **_phases(comparison),
    }


def _conditions(comparison: RunComparison) -> Iterator[Json]:
    firsts = [part.groups[0].facts for part in comparison.parts if part.groups]
    differing = {(each.topic, each.name) for each in what_differs(firsts).differences}
    for part, first, start in zip(comparison.parts, firsts, _starts(comparison), strict=False):
        held = [item for item in first.properties if item.key in differing and is_held(item, part.asked)]
        yield {
            "name": part.condition or None,
            "properties": [{"topic": each.topic, "name": each.name, "value": each.value} for each in held],
            "configurations": list(range(start, start + len(part.groups))),
            "fastest": _fastest(part),
        }


def _dimensions(comparison: RunComparison) -> list[dict[str, Json]]:
    """Return the properties of each configuration in which any two differ."""
    found = find_dimensions(comparison)
    return [
        {one_line(each.name): _value(each.values[place]) for each in reversed(found)}
        for place in range(len(comparison.groups))
    ]


def _value(text: str) -> Json:
    number = number_of(text)
    if number is None:
        return None if text == NONE else text
    return int(number) if number == int(number) else number


def _table(comparison: RunComparison, tables: Sequence[dict[str, Json]]) -> Json:
    matrix = lay_out(comparison)
    if matrix is None:
        return None
    places = {group.name: place for place, group in enumerate(comparison.groups)}
    return {
        "across": matrix.across,
        "down": matrix.down,
        "answers": list(describe_matrix(matrix, comparison.effect)),
        "cells": [
            {
                "condition": block.part.condition or None,
                "row": row,
                "column": column,
                "tps": cell.tps,
                "configurations": [places[each.group.name] for each in cell.rows],
                "dimensions": _common([tables[places[each.group.name]] for each in cell.rows]),
            }
            for block in matrix.blocks
            for (row, column), cell in block.cells.items()
        ],
        "standings": [
            {
                "level": each.level,
                "share": each.share,
                "worst": each.worst,
                "cells": each.cells,
                "against": {kind: _over_cells(found) for kind, found in each.against.items()},
            }
            for each in matrix.columns
        ],
    }


def _over_cells(found: CellComparison) -> dict[str, Json]:
    return {
        "verdict": found.comparison.verdict.value,
        **_ratio(found.comparison),
        "cells": found.cells,
        "sets": found.sets,
        "depends": found.depends,
        "least": found.least,
        "most": found.most,
    }


def _common(tables: Sequence[dict[str, Json]]) -> dict[str, Json]:
    """Return what is the same in all tables."""
    return {name: value for name, value in tables[0].items() if all(each[name] == value for each in tables)}


def _starts(comparison: RunComparison) -> list[int]:
    """Return the index of the first configuration of each condition among all of them."""
    return list(accumulate((len(part.groups) for part in comparison.parts[:-1]), initial=0))


def _phases(comparison: RunComparison) -> dict[str, Json]:
    """Return the phases; empty if no run has several."""
    phases = compare_phases(comparison)
    return {"phases": [_phase(each) for each in phases]} if phases else {}


def _phase(phase: ComparedPhase) -> dict[str, Json]:
    return {
        "label": phase.label,
        "name": phase.name,
        "time": phase.time,
        "transactions": phase.transactions or None,
        "configurations": [_in_phase(row) for row in phase.having],
    }


def _in_phase(row: ComparisonRow) -> dict[str, Json]:
    found: dict[str, Json] = {
        "name": row.group.name,
        "complete": row.runs,
        "mean": row.mean.mean,
        "low": row.mean.low,
        "high": row.mean.high,
        **{name: run_interval(row.values(name)).mean for name in _PHASE_LATENCIES},
        "at_least": [name for name in _PHASE_LATENCIES if row.is_lower_bound(name)],
    }
    if row.load.at_a_rate:
        found["rate"] = _rate(row.load)
    if row.verdict:
        found["sentence"] = row.verdict
    if row.comparison is not None:
        found |= {"verdict": row.comparison.verdict.value, "paired": row.comparison.paired}
        found |= _ratio(row.comparison)
    return found


_PHASE_LATENCIES: Final = ("latency_p95_ms", "latency_p99_ms")


def _fastest(comparison: RunComparison) -> Json:
    found = find_fastest(comparison)
    if found is None:
        return None
    return {
        "name": found.best.group.name,
        "not_distinguishable": [row.group.name for row in found.others],
        "not_judged": [row.group.name for row in found.not_judged],
        "sentence": describe_fastest(found),
    }


def _chance(found: ChanceOfFewRuns) -> dict[str, Json]:
    return {
        "needed_spread": found.needed,
        "comparisons": found.comparisons,
        "known_spread": None if found.known is None else found.known.spread,
        "probability": found.chance,
    }


def _storage(row: StorageRow) -> dict[str, Json]:
    return {
        "name": row.name,
        "io_baseline": values_of(row.baseline),
        "flushes": flush_verdict(row.baseline).value,
        "used": {each.metric: each.share for each in row.used},
    }


def _run(run: ComparedRun) -> dict[str, Json]:
    interval = run.own_interval
    return {
        "id": run.facts.id,
        "path": run.facts.path,
        "name": run.name,
        "state": run.facts.state,
        "left_out": run.left_out or None,
        "tps": run.tps,
        "tps_whole": run.facts.summary.get("tps"),
        "within_run": None
        if interval is None
        else {"low": interval.low, "high": interval.high, "confidence": interval.confidence},
        "facts": list(run.sentences),
        "figures": dict(run.figures),
    }


def _configuration(comparison: RunComparison, row: ComparisonRow, start: int) -> dict[str, Json]:
    """Return a configuration of a condition; `start` is the index of that condition's first one."""
    group = row.group
    found: dict[str, Json] = {
        "name": group.name,
        "ranked": row.is_ranked,
        "runs": [run.index for run in group.runs],
        "complete": row.runs,
        "mean": row.mean.mean,
        "low": row.mean.low,
        "high": row.mean.high,
        "marks": list(row.marks),
        "disturbed": [run.index for run in group.runs if is_disturbed(run.facts)],
        "disturbance_unknown": [run.index for run in group.runs if run.facts.disturbances.not_known],
    }
    if row.load.at_a_rate:
        found["rate"] = _rate(row.load)
    if row.verdict:
        found["sentence"] = row.verdict
    if row.judged.chance is not None:
        found["chance"] = _chance(row.judged.chance)
    if row.comparison is None:
        return found
    return (
        found
        | {"verdict": row.comparison.verdict.value, "paired": row.comparison.paired}
        | _ratio(row.comparison)
        | {"reference": _reference(comparison, comparison.anchors.by_group.get(group.name), start)}
    )


def _rate(found: KeptRate) -> dict[str, Json]:
    share = found.load.share
    return {
        "rate_tps": found.load.rate_tps,
        "limit_ms": found.load.limit_ms,
        "kept": found.kept,
        "late": found.late,
        "skipped": found.skipped,
        **({} if share is None else {"percent": share.percent, "of": share.of}),
    }


def _reference(comparison: RunComparison, anchor: Anchor | None, start: int) -> Json:
    """Return the reference of a comparison between campaigns; None within one and without a reference."""
    if anchor is None:
        return None
    names = [group.name for group in comparison.groups]
    return {
        "groups": [start + names.index(each.name) for each in (anchor.first, anchor.other)],
        "runs": [len(each.included_runs) for each in (anchor.first, anchor.other)],
        "ratio": anchor.change.ratio,
        "interval": _interval(anchor.change.interval),
    }


def _ratio(comparison: Comparison) -> dict[str, Json]:
    return {
        "ratio": comparison.ratio,
        "interval": _interval(comparison.interval),
        "p_value": comparison.p_value,
        "equivalent": comparison.equivalent,
        "more_runs": comparison.more_runs,
        "more_runs_for": comparison.more_runs_for,
    }


def _interval(interval: Interval | None) -> Json:
    if interval is None:
        return None
    return {"low": interval.low, "high": interval.high, "confidence": interval.confidence}


def _figure(
    groups: Sequence[ComparedGroup], tables: Sequence[Json], found: FigureComparison
) -> dict[str, Json]:
    rows: list[Json] = []
    for place, (group, mean) in enumerate(zip(groups, found.means, strict=True)):
        row: dict[str, Json] = {"name": group.name, "mean": mean.mean, "low": mean.low, "high": mean.high}
        row["dimensions"] = tables[place]
        if (comparison := found.comparisons[place]) is not None:
            row |= _ratio(comparison) | {"sentence": found.verdicts[place]}
        rows.append(row)
    return {"name": found.figure.name, "label": found.figure.label, "unit": found.figure.unit, "rows": rows}


def gate_as_json(gate: UpgradeGate) -> dict[str, Json]:
    """Return the result of an upgrade gate as JSON values.

    ``worse_by`` the limit, a share; ``verdict`` one of `GateVerdict`, of all; ``configurations`` each with
    ``name``, ``verdict``, ``ratio`` (new by base), ``low`` and ``high`` (one-sided 95 % bounds, null with too
    few campaigns), ``campaigns`` and ``runs`` (of the base and of the new side), ``spreads`` (between
    campaigns, shares, null for one campaign), ``more`` (campaigns per side for a verdict, null for more than
    a hundred), ``disturbed`` (number of runs that were or may have been disturbed; empty for none),
    ``changed`` and ``varied`` (``topic``, ``name`` and ``values``); ``left_out`` sentences.
    """
    return {
        "version": VERSION,
        "worse_by": gate.worse_by,
        "verdict": gate.verdict.value,
        "configurations": [_gated(each) for each in gate.configurations],
        "left_out": list(gate.left_out),
    }


def _gated(each: GatedConfiguration) -> dict[str, Json]:
    estimate = each.estimate
    return {
        "name": each.name,
        "verdict": estimate.verdict.value,
        "ratio": estimate.ratio,
        "low": estimate.low,
        "high": estimate.high,
        "campaigns": list(estimate.campaigns),
        "runs": list(each.runs),
        "spreads": list(estimate.spreads),
        "more": estimate.more,
        "disturbed": "" if each.weak is None else each.weak.text,
        "changed": [_difference(item) for item in each.changed],
        "varied": [_difference(item) for item in each.varied],
    }


def _difference(item: PropertyDifference) -> dict[str, Json]:
    return {"topic": item.topic, "name": item.name, "values": [each.value for each in item.variants]}
