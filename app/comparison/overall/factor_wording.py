"""What verdicts on factors say in words, and their table."""

from __future__ import annotations

from typing import Final

from app.comparison.overall.factor_verdicts import FactorVerdict, FactorVerdicts
from app.comparison.overall.fastest import under
from app.comparison.wording import (
    SPEED,
    about,
    confidence,
    ends,
    format_difference,
    format_interval,
    magnitude,
    signed_percent,
)
from app.domain.columns import CellKind, Column
from app.domain.text import tr, trn
from app.statistics.sample_size import RUNS_FOR_A_VERDICT
from app.statistics.verdict import Comparison, Interval, Verdict

EXPLANATION: Final = tr(
    "A cell is a combination of all other factors that was measured at both levels. Where every cell was"
    " measured several times, the interval holds for the mean over these cells, and there is none where the"
    " difference depends on the cell. Where cells were measured once, they are the repeats: how the"
    " difference changes from cell to cell counts as spread."
)
"""Stands once beside verdicts on factors."""

_MOST_NAMED: Final = 4
_UNDECIDED: Final = frozenset({Verdict.INCONCLUSIVE, Verdict.INDICATIVE})
_TIMES_FROM: Final = 2.0


def describe_factors(found: FactorVerdicts) -> tuple[str, ...]:
    """Return all verdicts as sentences with full stops."""
    return tuple(f"{describe_factor(each)}." for each in found.verdicts)


def describe_not_counted(found: FactorVerdicts) -> str:
    """Return which configurations are in no cell, a sentence; empty where all are."""
    if not found.not_counted:
        return ""
    parts = ", ".join(f"{count} {why}" for why, count in found.not_counted)
    return tr("Configurations that are in no cell: {parts}.").format(parts=parts)


def describe_factor(verdict: FactorVerdict) -> str:
    """Return a verdict as a sentence without a full stop."""
    told = _told(verdict)
    weak = (verdict.weak,) if verdict.weak and verdict.weak not in told else ()
    parts = (told, *weak, *_more(verdict))
    told = tr("{what}: {told}").format(what=verdict.factor, told="; ".join(parts))
    return under(verdict.condition, told)


def _told(verdict: FactorVerdict) -> str:
    names = {
        "baseline": verdict.baseline,
        "candidate": verdict.candidate,
        "cells": _cells(verdict),
        "runs": _runs(verdict),
        "range": _range(verdict),
    }
    if verdict.found.depends:
        return tr(
            "what {candidate} makes against {baseline} depends on the cell: {range} over {cells} ({runs})"
        ).format(**names)
    if verdict.found.comparison.verdict in _UNDECIDED and _is_nobodys_mean(verdict):
        return tr(
            "no verdict: what {candidate} makes against {baseline} differs from cell to cell, {range} over "
            "{cells} ({runs}), so no mean is given"
        ).format(**names)
    match verdict.found.comparison:
        case Comparison(Verdict.HIGHER | Verdict.LOWER, float(ratio), interval=Interval() as interval):
            told = tr(
                "{candidate} is {magnitude} over {cells} ({confidence} interval {ends}{allowing}; "
                "single cells {range}; {runs})"
            ).format(
                magnitude=magnitude(ratio, SPEED, verdict.baseline),
                confidence=confidence(interval),
                ends=ends(interval, ratio),
                allowing=_allowing(verdict),
                **names,
            )
            if verdict.found.comparison.equivalent:
                effect = 100 * verdict.found.comparison.effect
                told += tr(", less than the {effect:g} % that would matter").format(effect=effect)
            return told
        case Comparison(Verdict.EQUAL, narrow=Interval() as narrow, effect=effect):
            return tr(
                "{baseline} and {candidate} are practically equal over {cells}: the mean difference is "
                "within {effect:g} % ({confidence} interval {low} to {high} %; single cells {range}; {runs})"
            ).format(
                effect=100 * effect,
                confidence=confidence(narrow),
                low=signed_percent(narrow.low),
                high=signed_percent(narrow.high),
                **names,
            )
        case Comparison(Verdict.INCONCLUSIVE, interval=Interval() as interval) as found:
            told = tr(
                "{baseline} and {candidate} cannot be told apart over {cells}: of {candidate} against "
                "{baseline} {seen} was seen ({confidence} interval {ends}{allowing}; single cells {range}; "
                "{runs})"
            ).format(
                seen=format_difference(found),
                confidence=confidence(interval),
                ends=format_interval(found),
                allowing=_allowing(verdict),
                **names,
            )
            return "; ".join(filter(None, (told, _wanted(verdict))))
        case found:
            return _indicative(verdict, found, names)


def _is_nobodys_mean(verdict: FactorVerdict) -> bool:
    """Return whether cells lie so far apart that their mean describes none of them."""
    least, most = verdict.found.least or 1.0, verdict.found.most or 1.0
    return most >= _TIMES_FROM * least


def _indicative(verdict: FactorVerdict, found: Comparison, names: dict[str, str]) -> str:
    told = tr(
        "indicative only: over {cells} {candidate} was {magnitude} (single cells {range}; {runs}; {why})"
    )
    why = tr("a verdict takes {count} cells").format(count=RUNS_FOR_A_VERDICT)
    if verdict.found.sets is not None:
        why = tr(
            "what else changed between campaigns is in all cells of a set alike, and a verdict takes {count} "
            "sets"
        ).format(count=RUNS_FOR_A_VERDICT)
    if verdict.weak and verdict.found.comparison.p_value is None:
        why = verdict.weak
    return told.format(magnitude=magnitude(found.ratio or 1.0, SPEED, verdict.baseline), why=why, **names)


def _cells(verdict: FactorVerdict) -> str:
    told = tr("{count} cells").format(count=verdict.found.cells)
    if verdict.over:
        names = ", ".join(verdict.over[:_MOST_NAMED])
        if len(verdict.over) > _MOST_NAMED:
            names = tr("{names} and {count} more").format(names=names, count=len(verdict.over) - _MOST_NAMED)
        told = tr("{cells} ({names})").format(cells=told, names=names)
    if verdict.found.sets is None:
        return told
    if verdict.found.sets == 1:
        return tr("{cells} in 1 set that shares campaigns").format(cells=told)
    told_of = tr("{cells}, by the mean of {sets} sets that share no campaign")
    return told_of.format(cells=told, sets=verdict.found.sets)


def _allowing(verdict: FactorVerdict) -> str:
    if verdict.levels < 2:
        return ""
    return tr(", allowing for {count} comparisons").format(count=verdict.levels)


def _range(verdict: FactorVerdict) -> str:
    """Return the smallest and largest difference of a cell."""
    least, most = verdict.found.least or 1.0, verdict.found.most or 1.0
    words = [
        tr("{ratio:.1f} times").format(ratio=each)
        if most >= _TIMES_FROM
        else tr("{percent} %").format(percent=signed_percent(each))
        for each in (least, most)
    ]
    ends = (
        tr("{end} ({cell})").format(end=end, cell=cell) for end, cell in zip(words, verdict.ends, strict=True)
    )
    low, high = ends if all(verdict.ends) else words
    return tr("{low} to {high}").format(low=low, high=high)


def _runs(verdict: FactorVerdict) -> str:
    least, most = verdict.runs
    told = tr("{least} to {most} runs in each").format(least=least, most=most)
    if least == most:
        told = trn("{runs} run in each", "{runs} runs in each", most).format(runs=most)
    return told if verdict.interleaved else tr("{runs}, not interleaved").format(runs=told)


def _wanted(verdict: FactorVerdict) -> str:
    found = verdict.found.comparison
    if found.more_runs is None or found.more_runs_for is None:
        return ""
    difference = tr("of {effect:g} %").format(effect=100 * found.effect)
    if found.more_runs_for > found.effect:
        difference = tr("as large as the one seen")
    is_one = found.more_runs == 1
    if verdict.found.sets is not None:
        unit = tr("set") if is_one else tr("sets")
    else:
        unit = tr("cell") if is_one else tr("cells")
    sentence = tr("about {more} more such {unit} would show a difference {difference}")
    return sentence.format(more=about(found.more_runs), unit=unit, difference=difference)


def _more(verdict: FactorVerdict) -> tuple[str, ...]:
    """Return what else belongs to the verdict: cells without a counterpart, and what goes with the factor."""
    told = [
        _only(count).format(count=count, level=level)
        for count, level in zip(verdict.unpaired, (verdict.baseline, verdict.candidate), strict=True)
        if count
    ]
    if verdict.goes_with:
        names = ", ".join(verdict.goes_with[:_MOST_NAMED])
        if len(verdict.goes_with) > _MOST_NAMED:
            left = len(verdict.goes_with) - _MOST_NAMED
            names = tr("{names} and {count} more").format(names=names, count=left)
        told.append(tr("with it differ: {names}").format(names=names))
    return tuple(told)


def _only(count: int) -> str:
    return tr("1 more cell has {level} only") if count == 1 else tr("{count} more cells have {level} only")


def _interval_cell(verdict: FactorVerdict) -> str:
    return format_interval(verdict.found.comparison) or tr("indicative only")


FACTOR_COLUMNS: Final[tuple[Column[FactorVerdict], ...]] = (
    Column("factor", tr("Factor"), lambda each: each.factor, CellKind.WORDS),
    Column("condition", tr("Condition"), lambda each: each.condition, CellKind.WORDS, optional=2),
    Column("level", tr("Level"), lambda each: each.candidate, CellKind.WORDS),
    Column("against", tr("Against"), lambda each: each.baseline, CellKind.WORDS),
    Column("cells", tr("Cells"), lambda each: str(each.found.cells)),
    Column("difference", tr("Difference"), lambda each: format_difference(each.found.comparison)),
    Column("interval", tr("Interval of it"), _interval_cell),
    Column("range", tr("Single cells"), _range, CellKind.NUMBERS, optional=1),
)
"""Of the table of factors, in the order in which they are shown."""
