"""Judge factors over the cells of a matrix: the effect of a filesystem or setting, all else equal. Pure.

A factor is a chosen property in which configurations differ: filesystem, RAID level, an option, the settings
of the server. Its levels are compared cell by cell (`app.statistics.cells`): a cell is a combination of all
other factors that was measured at both levels. Each condition has its own verdicts.

Properties that no cell can hold equal change with the factor and are listed: an option that only one
filesystem has, a setting that every configuration of one level has and none of the other. If the machine or
the filesystem changes with it, the factor gets no verdict.

Also renders verdicts on factors as sentences and as a table.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from app.analysis.labels import one_line
from app.analysis.properties import MACHINE, POSTGRESQL, SETTING, TARGET, Property
from app.comparison.comparison import RunComparison
from app.comparison.disturbed_runs import WeakRuns, is_disturbed, what_others_took, without_verdict
from app.comparison.factors import NONE, Dimension, find_dimensions
from app.comparison.overall.conditions import PropertyRole, role_of
from app.comparison.verdict import Reservation, ReservationCode
from app.comparison.wording import (
    NOT_INTERLEAVED,
    format_difference,
    format_interval,
    format_range,
    signed_changes,
)
from app.domain.columns import CellKind, Column
from app.domain.options.raid import Level
from app.domain.text import tr
from app.statistics.cells import CellComparison, CellPair, compare_levels
from app.statistics.sample_size import RUNS_FOR_A_VERDICT
from app.statistics.verdict import Verdict

MOST_LEVELS: Final = 12
"""A factor with more levels than this is a name or a serial number."""

_UNDECIDED: Final = frozenset({Verdict.INCONCLUSIVE, Verdict.INDICATIVE})
_TIMES_FROM: Final = 2.0

_RAID: Final = tr("RAID")
FILESYSTEM: Final = (TARGET, tr("filesystem"))
_SETTINGS: Final = tr("settings together")
_SAME_LEVEL: Final = {"raidz1": Level.RAID5.value, "raidz2": Level.RAID6.value}
"""Levels of imported runs that are one level here (`Level`)."""


@dataclass(frozen=True, slots=True)
class FactorVerdict:
    """Two levels of a factor over their cells.

    Attributes:
        factor: name of the differing property.
        condition: of the runs; empty if there is only one.
        baseline: first level.
        candidate: second level.
        found: the verdict.
        levels: number of levels judged together against the first.
        over: names of properties that differ between cells.
        unpaired: number of cells measured only at the first level, and only at the second.
        goes_with: names of properties that change with the factor.
        runs: fewest and most runs per mean of a cell.
        interleaved: whether all pairs are of a campaign with interleaved runs.
        weak: disturbances, certain or possible, that prevent a verdict; None for none.
        ends: names of the cells with the smallest and the largest ratio.
        compared: indices of the groups of the first and of the second level in each cell.
    """

    factor: str
    condition: str
    baseline: str
    candidate: str
    found: CellComparison
    levels: int
    over: tuple[str, ...]
    unpaired: tuple[int, int]
    goes_with: tuple[str, ...]
    runs: tuple[int, int]
    interleaved: bool
    weak: Reservation | None = None
    ends: tuple[str, str] = ("", "")
    compared: frozenset[tuple[tuple[int, ...], tuple[int, ...]]] = frozenset()

    @property
    def has_mean(self) -> bool:
        """Whether the mean over the cells describes them."""
        if self.found.depends:
            return False
        least, most = self.found.least or 1.0, self.found.most or 1.0
        effect = 1 + self.found.comparison.effect
        # If cells have repeats, `depends` has tested whether they differ.
        both_ways = least < 1 / effect and most > effect and not self.found.repeated
        is_open = self.found.comparison.verdict in _UNDECIDED
        return not (is_open and (both_ways or most >= _TIMES_FROM * least))


@dataclass(frozen=True, slots=True)
class FactorVerdicts:
    """All verdicts on the factors of a comparison.

    Attributes:
        verdicts: by factor, the usual ones first; only with two or more cells.
        not_counted: (reason, number) for configurations that are in no cell.
    """

    verdicts: tuple[FactorVerdict, ...] = ()
    not_counted: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class _Factor:
    """A factor to judge: its values by group, and the dimensions equal to these values or part of them."""

    name: str
    values: tuple[str, ...]
    parts: tuple[Dimension, ...]
    is_combined: bool = False


def judge_factors(comparison: RunComparison) -> FactorVerdicts:
    """Return the factor verdicts of a comparison, separately for each condition.

    Factors that compare the same groups cell by cell are one comparison, under the name of the first.
    """
    verdicts: list[FactorVerdict] = []
    reasons: Counter[str] = Counter()
    for part in comparison.parts:
        known = tuple(same_levels(each) for each in find_dimensions(part) if each.topic)
        counted, left_out = _counted(part)
        found: dict[object, FactorVerdict] = {}
        for factor in _factors(known, counted):
            others = [each for each in known if each not in factor.parts]
            for each in _Judge(part, factor, others).judge(counted):
                found.setdefault(each.compared, each)
        verdicts += found.values()
        reasons.update(left_out)
    return FactorVerdicts(tuple(verdicts), tuple(reasons.items()) if verdicts else ())


def same_levels(dimension: Dimension) -> Dimension:
    """Return a dimension under the names that its levels have here: raidz1 is raid5, and no RAID one disk."""
    if dimension.name != _RAID:
        return dimension
    alike = _SAME_LEVEL | ({NONE: Level.SINGLE.value} if Level.SINGLE.value in dimension.values else {})
    values = tuple(alike.get(value, value) for value in dimension.values)
    return Dimension(dimension.name, values, dimension.is_swept, dimension.topic)


def _counted(comparison: RunComparison) -> tuple[list[int], dict[str, int]]:
    """Return the indices of groups that may be in a cell, and the reasons for excluding others."""
    counted, reasons = [], dict[str, int]()
    for place, row in enumerate(comparison.rows):
        mean = row.mean.mean
        why = ""
        if mean is None:
            why = tr("without a complete run")
        elif row.load.at_a_rate:
            why = tr("at a rate")
        elif not row.is_ranked:
            why = tr("NOT DURABLE")
        elif any(map(is_disturbed, row.group.disturbed)):
            why = tr("disturbed by others")
        elif not (mean > 0 and math.isfinite(mean)):
            why = tr("without a transaction")
        if why:
            reasons[why] = reasons.get(why, 0) + 1
        else:
            counted.append(place)
    return counted, reasons


def _factors(dimensions: Sequence[Dimension], counted: Sequence[int]) -> Iterator[_Factor]:
    """Yield the factors to judge: each chosen property; those that always change together are one."""
    together: dict[tuple[int, ...], list[Dimension]] = {}
    for each in dimensions:
        if role_of(Property(each.topic, each.name, "")) is not PropertyRole.FACTOR:
            continue
        values = [each.values[place] for place in counted]
        first = {value: number for number, value in reversed(list(enumerate(values)))}
        if 1 < len(first) <= MOST_LEVELS:
            together.setdefault(tuple(first[value] for value in values), []).append(each)
    for alike in together.values():
        yield _Factor(_name(alike[0]), alike[0].values, tuple(alike))
    chosen = _chosen_settings(dimensions, counted)
    if len({pattern for pattern, alike in together.items() if not chosen.isdisjoint(alike)}) > 1:
        ordered = [each for each in dimensions if each in chosen]
        count = len(ordered[0].values)
        combined = tuple(
            ", ".join(f"{each.name} {_setting(each.values[place])}" for each in ordered)
            for place in range(count)
        )
        if len({combined[place] for place in counted}) <= MOST_LEVELS:
            yield _Factor(_SETTINGS, combined, tuple(ordered), is_combined=True)


def _setting(value: str) -> str:
    return tr("default") if value == NONE else value


def _name(dimension: Dimension) -> str:
    name = one_line(dimension.name)
    if dimension.topic in {MACHINE, POSTGRESQL}:
        return tr("{topic}: {name}").format(topic=dimension.topic, name=name)
    return name


def _chosen_settings(dimensions: Sequence[Dimension], counted: Sequence[int]) -> set[Dimension]:
    """Return the settings that differ where nothing else does: not those that follow from a machine."""
    others = [each for each in dimensions if each.topic != SETTING]
    alike: dict[tuple[str, ...], list[int]] = {}
    for place in counted:
        alike.setdefault(tuple(each.values[place] for each in others), []).append(place)
    return {
        each
        for each in dimensions
        if each.topic == SETTING
        and any(len({each.values[place] for place in places}) > 1 for places in alike.values())
    }


_Cells = dict[tuple[str, ...], list[int]]


@dataclass(frozen=True, slots=True)
class _LaidOut:
    """Groups of two levels by cell.

    Attributes:
        level: the second level.
        matched: properties equal within a cell.
        goes_with: properties that are not, besides the factor.
        first: indices of the groups of the first level, by the values of `matched`.
        second: the same for the second level.
        shared: cells with both levels.
    """

    level: str
    matched: list[Dimension]
    goes_with: tuple[Dimension, ...]
    first: _Cells
    second: _Cells
    shared: list[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class _Judge:
    """Judge one factor among runs of one condition."""

    comparison: RunComparison
    factor: _Factor
    others: Sequence[Dimension]

    @property
    def is_of_machine(self) -> bool:
        """Whether the factor is the machine or a property of it."""
        return any(each.topic == MACHINE for each in self.factor.parts)

    def judge(self, places: Sequence[int]) -> list[FactorVerdict]:
        """Return the verdicts on its levels against the first, if they have two or more cells."""
        levels: dict[str, list[int]] = {}
        for place in places:
            levels.setdefault(self.factor.values[place], []).append(place)
        if len(levels) < 2:
            return []
        (baseline, first), *more = levels.items()
        laid = [self._laid(level, first, second) for level, second in more]
        kept = [each for each in laid if len(each.shared) > 1 and not self._is_confounded(each)]
        pairs = [[self._pair(each.first[key], each.second[key]) for key in each.shared] for each in kept]
        judged = compare_levels(pairs, effect=self.comparison.effect)
        count = sum(each.comparison.p_value is not None for each in judged)
        return [
            replace(self._verdict(found, baseline, each, count), ends=_ends(each, cells))
            for found, each, cells in zip(judged, kept, pairs, strict=True)
        ]

    def _is_confounded(self, laid: _LaidOut) -> bool:
        """Return whether machine or filesystem change with the factor, which then cannot be judged."""
        own = {(each.topic, each.name) for each in self.factor.parts}
        others = {(each.topic, each.name) for each in laid.goes_with} - own
        machine = any(topic == MACHINE for topic, _ in others) and not self.is_of_machine
        return machine or (FILESYSTEM in others and not self.is_of_machine)

    def _laid(self, level: str, first: Sequence[int], second: Sequence[int]) -> _LaidOut:
        """Lay groups of two levels out as cells."""
        matched = self._matched(first, second)
        one, other = _cells(first, matched), _cells(second, matched)
        shared = [key for key in one if key in other]
        rest = () if self.factor.is_combined else self.factor.parts[1:]
        goes_with = tuple(
            each
            for each in (*rest, *(other for other in self.others if other not in matched))
            if any(_values(each, one[key]) != _values(each, other[key]) for key in shared)
        )
        return _LaidOut(level, matched, goes_with, one, other, shared)

    def _matched(self, first: Sequence[int], second: Sequence[int]) -> list[Dimension]:
        """Return the properties that must be equal in a cell."""
        equal, nested = list[Dimension](), list[Dimension]()
        for each in self.others:
            one, other = _values(each, first), _values(each, second)
            if len(one | other) == 1 or one.isdisjoint(other):
                continue
            (nested if {NONE} in (one, other) else equal).append(each)
        for each in nested:  # an option that only one level has, and that follows from the rest there
            having = second if _values(each, first) == {NONE} else first
            if not _follows(each, equal, having):
                equal.append(each)
        return equal

    def _pair(self, first: Sequence[int], second: Sequence[int]) -> CellPair:
        """Return a cell: from groups of one campaign if there are any, else from all."""
        one, other = self._by_campaign(first), self._by_campaign(second)
        both = one.keys() & other.keys()
        return CellPair(
            _mean([one[key] for key in both or one]),
            _mean([other[key] for key in both or other]),
            frozenset() if both else frozenset((*one, *other)),
            self._differences(*first, *second) if both and len(first) == len(second) == 1 else (),
        )

    def _differences(self, first: int, second: int) -> tuple[float, ...]:
        """Return the differences of the logarithms of neighbouring runs of two groups."""
        groups = [self.comparison.groups[place] for place in (first, second)]
        if groups[0].campaign != groups[1].campaign:
            return ()
        one, other = (group.by_repeat() for group in groups)
        common = sorted(one.keys() & other.keys())
        return tuple(math.log(other[at] / one[at]) for at in common if one[at] > 0 and other[at] > 0)

    def _by_campaign(self, places: Sequence[int]) -> dict[str, float]:
        """Return the mean of these groups in each campaign."""
        found: dict[str, list[float]] = {}
        for place in places:
            key = self.comparison.groups[place].origin
            found.setdefault(key, []).append(self.comparison.rows[place].mean.mean or math.nan)
        return {key: _mean(values) for key, values in found.items()}

    def _verdict(self, found: CellComparison, baseline: str, laid: _LaidOut, levels: int) -> FactorVerdict:
        paired = [place for key in laid.shared for place in (*laid.first[key], *laid.second[key])]
        counts = [self.comparison.rows[place].runs for place in paired]
        groups = self.comparison.groups
        weak = [run for place in paired for run in groups[place].disturbed]
        sides = [
            [run.facts for key in laid.shared for place in side[key] for run in groups[place].included_runs]
            for side in (laid.first, laid.second)
        ]
        others = None if weak else what_others_took(sides, found.comparison)
        why = None if others is None else Reservation(ReservationCode.OTHERS_CPU, (others,))
        if weak:
            why = Reservation(ReservationCode.DISTURBED, (WeakRuns(tuple(weak), sum(counts)),))
        if why is not None:  # disturbed configurations are in no cell
            comparison, over_cells = map(without_verdict, (found.comparison, found.over_cells))
            found = replace(found, comparison=comparison, over_cells=over_cells)
        together = all(
            {groups[place].campaign for place in laid.first[key]}
            & {groups[place].campaign for place in laid.second[key]}
            for key in laid.shared
        )
        return FactorVerdict(
            factor=self.factor.name,
            condition=self.comparison.condition,
            baseline=baseline,
            candidate=laid.level,
            found=found,
            levels=levels,
            over=tuple(
                _name(each)
                for number, each in enumerate(laid.matched)
                if len({key[number] for key in laid.shared}) > 1
            ),
            unpaired=(len(laid.first) - len(laid.shared), len(laid.second) - len(laid.shared)),
            goes_with=tuple(map(_name, laid.goes_with)),
            runs=(min(counts), max(counts)),
            interleaved=together,
            weak=why,
            compared=frozenset((tuple(laid.first[key]), tuple(laid.second[key])) for key in laid.shared),
        )


def _ends(laid: _LaidOut, pairs: Sequence[CellPair]) -> tuple[str, str]:
    """Return names that distinguish the cells with the smallest and with the largest ratio."""
    telling = [place for place in range(len(laid.matched)) if len({key[place] for key in laid.shared}) > 1]
    by_ratio = sorted(zip(laid.shared, pairs, strict=True), key=lambda each: each[1].ratio)
    least, most = (
        ", ".join(one_line(key[place]) for place in telling) for key, _ in (by_ratio[0], by_ratio[-1])
    )
    return least, most


def _values(dimension: Dimension, places: Sequence[int]) -> set[str]:
    return {dimension.values[place] for place in places}


def _cells(places: Sequence[int], matched: Sequence[Dimension]) -> _Cells:
    found: _Cells = {}
    for place in places:
        found.setdefault(tuple(each.values[place] for each in matched), []).append(place)
    return found


def _mean(values: Sequence[float]) -> float:
    return math.exp(math.fsum(map(math.log, values)) / len(values))


def _follows(dimension: Dimension, others: Sequence[Dimension], places: Sequence[int]) -> bool:
    """Return whether equal values of these other dimensions imply one value of a dimension."""
    seen: dict[tuple[str, ...], set[str]] = {}
    for place in places:
        key = tuple(each.values[place] for each in others)
        seen.setdefault(key, set()).add(dimension.values[place])
    return all(len(values) == 1 for values in seen.values())


EXPLANATION: Final = tr(
    "A cell is a combination of all other factors that was measured at both levels. Where every cell was"
    " measured several times, the interval holds for the mean over these cells, and there is none where the"
    " difference depends on the cell. Where cells were measured once, they are the repeats: how the"
    " difference changes from cell to cell counts as spread."
)
"""Shown once with the verdicts on factors."""

_MOST_NAMED: Final = 4


def describe_not_counted(found: FactorVerdicts) -> str:
    """Return which configurations are in no cell, a sentence; empty if there are none."""
    if not found.not_counted:
        return ""
    parts = ", ".join(f"{count} {why}" for why, count in found.not_counted)
    return tr("Configurations that are in no cell: {parts}.").format(parts=parts)


def _range(verdict: FactorVerdict) -> str:
    """Return the smallest and the largest difference of a cell."""
    least, most = verdict.found.least or 1.0, verdict.found.most or 1.0
    if not all(verdict.ends):
        return format_range(least, most)
    first, last = verdict.ends
    words = (signed_changes(least, most), (first, last))
    low, high = (tr("{end} ({cell})").format(end=end, cell=cell) for end, cell in zip(*words, strict=True))
    return tr("{low} to {high}").format(low=low, high=high)


def _remarks(verdict: FactorVerdict) -> str:
    """Return what weakens or limits a verdict, clauses."""
    sets = verdict.found.sets
    clauses = (
        "" if verdict.weak is None else verdict.weak.text,
        "" if verdict.interleaved else NOT_INTERLEAVED,
        ""
        if sets is None or sets >= RUNS_FOR_A_VERDICT
        else tr("a verdict takes {count} sets of campaigns").format(count=RUNS_FOR_A_VERDICT),
        *_more(verdict),
    )
    return "; ".join(filter(None, clauses))


def _more(verdict: FactorVerdict) -> tuple[str, ...]:
    """Return additions to the verdict: cells without a counterpart, and properties that change with it."""
    sentences = [
        _only(count).format(count=count, level=level)
        for count, level in zip(verdict.unpaired, (verdict.baseline, verdict.candidate), strict=True)
        if count
    ]
    if verdict.goes_with:
        names = ", ".join(verdict.goes_with[:_MOST_NAMED])
        if len(verdict.goes_with) > _MOST_NAMED:
            left = len(verdict.goes_with) - _MOST_NAMED
            names = tr("{names} and {count} more").format(names=names, count=left)
        sentences.append(tr("with it differ: {names}").format(names=names))
    return tuple(sentences)


def _only(count: int) -> str:
    return tr("1 more cell has {level} only") if count == 1 else tr("{count} more cells have {level} only")


def _difference_cell(verdict: FactorVerdict) -> str:
    return format_difference(verdict.found.comparison) if verdict.has_mean else ""


def _interval_cell(verdict: FactorVerdict) -> str:
    if not verdict.has_mean:
        return tr("depends on the cell")
    return format_interval(verdict.found.comparison) or tr("indicative only")


FACTOR_COLUMNS: Final[tuple[Column[FactorVerdict], ...]] = (
    Column("factor", tr("Factor"), lambda each: each.factor, CellKind.WORDS),
    Column("condition", tr("Condition"), lambda each: each.condition, CellKind.WORDS, optional=2),
    Column("level", tr("Level"), lambda each: each.candidate, CellKind.WORDS),
    Column("against", tr("Against"), lambda each: each.baseline, CellKind.WORDS),
    Column("cells", tr("Cells"), lambda each: str(each.found.cells)),
    Column("difference", tr("Difference"), _difference_cell),
    Column("interval", tr("Interval of it"), _interval_cell),
    Column("range", tr("Single cells"), _range, CellKind.NUMBERS, optional=1),
    Column("remarks", tr("Remarks"), _remarks, CellKind.WORDS, optional=3),
)
"""Columns of the table of factors, in the order shown."""
