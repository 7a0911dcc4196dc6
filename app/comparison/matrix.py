"""Lay configurations out as tables: a block for each condition, factors across and down. Pure.

A factor is a chosen property in which configurations differ (`app.comparison.overall.conditions`). One goes
across: the filesystem if it differs, else the factor with most levels. The next one that is crossed with it
goes down. Further factors that differ within a cell extend the names of columns if they are nested, such as
an option that only one filesystem has, else the names of rows. Factors that follow from these are not shown.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from app.analysis.labels import format_tps, one_line
from app.analysis.properties import LABELS, SETTING, TARGET, WORKLOAD, Property
from app.comparison.comparison import RunComparison
from app.comparison.factors import NONE, Dimension, find_dimensions
from app.comparison.groups import is_disturbed
from app.comparison.overall.conditions import PropertyRole, role_of
from app.comparison.overall.fastest import find_fastest, shows_speed
from app.comparison.table import ComparisonRow
from app.comparison.wording import format_difference, format_interval, format_range
from app.domain.columns import CellKind, Column
from app.domain.errors import UsageError
from app.domain.options.raid import Level
from app.domain.text import number_text, tr
from app.statistics.cells import CellComparison, CellPair, compare_levels

MOST_LEVELS: Final = 12
"""A factor with more levels than this is a name or a serial number."""
NOT_RANKED: Final = "!"
"""Follows the TPS of a configuration that is not durable."""
_FILESYSTEM: Final = (TARGET, tr("filesystem"))
_RAID: Final = (TARGET, "RAID")
_SAME_LEVEL: Final = {"raidz1": Level.RAID5.value, "raidz2": Level.RAID6.value}
"""Levels of imported runs that are one level here (`Level`)."""
_FEWEST_CELLS: Final = 3
_TIMES_FROM: Final = 2.0
_SAME: Final = 0.9995
_DEPENDS_FROM: Final = 1.25
"""Ratio of the largest to the smallest from which a factor is said to depend on something."""


@dataclass(frozen=True, slots=True)
class Cell:
    """Configurations of one row and column of a block; several if they were measured in several campaigns.

    Attributes:
        rows: those of the condition's table.
    """

    rows: tuple[ComparisonRow, ...]

    @property
    def tps(self) -> float | None:
        """Mean TPS of its ranked configurations, else of all; None if none was measured."""
        rows = [row for row in self.rows if row.is_ranked] or self.rows
        known = [row.mean.mean for row in rows if row.mean.mean is not None]
        return math.fsum(known) / len(known) if known else None

    @property
    def is_ranked(self) -> bool:
        """Whether it may be called the fastest."""
        return any(row.is_ranked for row in self.rows)

    def by_campaign(self) -> dict[str, list[ComparisonRow]]:
        """Return its ranked configurations with transactions, undisturbed as far as known, by campaign."""
        found: dict[str, list[ComparisonRow]] = {}
        for row in self.rows:
            if row.is_ranked and row.mean.mean and not any(map(is_disturbed, row.group.disturbed)):
                found.setdefault(row.group.origin, []).append(row)
        return found


@dataclass(frozen=True, slots=True)
class Block:
    """The table of one condition.

    Attributes:
        part: the comparison of the condition.
        rows: names of its rows.
        columns: names of its columns.
        cells: by the names of row and column; combinations that were not measured are missing.
    """

    part: RunComparison
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: Mapping[tuple[str, str], Cell]

    def lines(self, *, by_row: bool) -> Iterator[tuple[str, dict[str, float]]]:
        """Yield the name of each row with the mean TPS of its ranked cells, or of each column with those."""
        for line in self.rows if by_row else self.columns:
            tps: dict[str, float] = {}
            for other in self.columns if by_row else self.rows:
                cell = self.cells.get((line, other) if by_row else (other, line))
                if cell is not None and cell.is_ranked and cell.tps:
                    tps[other] = cell.tps
            if len(tps) > 1:
                yield line, tps

    def best(self, effect: float) -> frozenset[tuple[str, str]]:
        """Return the cells that may be the fastest; without verdicts those near the highest mean of a row."""
        fastest = find_fastest(self.part)
        if fastest is not None:
            names = {row.name for row in (fastest.best, *fastest.others)}
            return frozenset(
                at for at, cell in self.cells.items() if any(row.name in names for row in cell.rows)
            )
        return frozenset(
            (row, column)
            for row, tps in self.lines(by_row=True)
            for column, value in tps.items()
            if value >= (1 - effect) * max(tps.values())
        )


@dataclass(frozen=True, slots=True)
class Standing:
    """The ranking of one level of a factor, all else equal, over all rows or columns of all blocks.

    Attributes:
        level: its name.
        share: geometric mean of its shares of the highest mean.
        worst: the smallest of them.
        worst_at: row or column, and condition, of that.
        cells: number of shares.
        against: differences from the leading level by transactions, over the cells that have both.
    """

    level: str
    share: float
    worst: float
    worst_at: tuple[str, str]
    cells: int
    against: Mapping[str, CellComparison] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Matrix:
    """A comparison as tables.

    Attributes:
        across: name of the factor of the columns.
        down: name of the factor of the rows.
        blocks: a table for each condition with at least three cells.
        others: conditions with fewer.
        columns: standings of the columns, the fastest first.
        rows: standings of the rows.
    """

    across: str
    down: str
    blocks: tuple[Block, ...]
    others: tuple[RunComparison, ...]
    columns: tuple[Standing, ...]
    rows: tuple[Standing, ...]

    @property
    def compared(self) -> tuple[Standing, ...]:
        """The leading column, and those that are compared with it."""
        first = self.columns[:1]
        return tuple(each for each in self.columns if each.against or each.share == 1 or each in first)

    @property
    def levels(self) -> tuple[str, ...]:
        """All columns, the fastest first: the place of a column is the number of its colour everywhere."""
        ranked = [each.level for each in self.columns]
        return tuple(dict.fromkeys((*ranked, *(each for block in self.blocks for each in block.columns))))


def lay_out(comparison: RunComparison, columns: str = "", rows: str = "") -> Matrix | None:
    """Return the tables of a comparison; None without two crossed factors: then a list says it better.

    Args:
        comparison: of any number of conditions.
        columns: name of the factor across; empty to choose one.
        rows: name of the factor down; empty to choose one.

    Raises:
        UsageError: the chosen ones are not two crossed factors.
    """
    places = list(_places(comparison))
    varied = [
        each
        for each in map(_same_levels, find_dimensions(comparison))
        if role_of(Property(each.topic, each.name, "")) is PropertyRole.FACTOR
        and len(each.levels) <= MOST_LEVELS
        and any(len({each.values[place] for place in part}) > 1 for part in places)
    ]
    axes = _axes(varied, places, columns, rows)
    if axes is None:
        return None
    across, down, crossed = axes
    more = _within_cells(varied, (across, down), places)
    blocks = []
    for part, members in zip(comparison.parts, places, strict=True):
        names = (
            _names(part, members, axis, [each for each in more if (each in crossed) is (axis is down)])
            for axis in (down, across)
        )
        blocks.append(_block(part, *names))
    kept = [each for each in blocks if _is_table(each)]
    if not kept:
        return None
    standings = _with_differences(_standings(kept, by_row=True), kept, comparison.effect)
    order = [each.level for each in standings]
    ordered = _in_order([row for block in kept for row in block.rows])
    kept.sort(key=_place)
    return Matrix(
        one_line(across.name),
        one_line(down.name),
        tuple(_sorted(each, ordered, order) for each in kept),
        tuple(each.part for each in blocks if each not in kept),
        standings,
        _standings(kept, by_row=False),
    )


def _axes(
    varied: Sequence[Dimension], places: Sequence[range], columns: str, rows: str
) -> tuple[Dimension, Dimension, list[Dimension]] | None:
    """Return the factors across and down, and all that are crossed with the first; None if none are.

    Raises:
        UsageError: as `lay_out`.
    """
    usual = [each for each in varied if (each.topic, each.name) == _FILESYSTEM]
    usual += sorted(varied, key=lambda each: -len(each.levels))
    for across in usual:
        if columns and one_line(across.name).casefold() != columns.casefold():
            continue
        crossed = [each for each in varied if each is not across and _is_crossed(across, each, places)]
        chosen = [each for each in crossed if not rows or one_line(each.name).casefold() == rows.casefold()]
        if chosen:
            return across, chosen[0], crossed
    if columns or rows:
        names = ", ".join(one_line(each.name) for each in varied)
        raise UsageError(
            tr("These runs have no table with these rows and columns."),
            hint=tr("Properties that differ: {names}.").format(names=names or tr("none")),
        )
    return None


def _place(block: Block) -> list[tuple[int, str]]:
    """Return a sort key for the table of a condition: its name from the last part on, numbers ascending."""
    words = (word for part in reversed(block.part.condition.split(", ")) for word in part.split())
    return [(int(word), "") if word.isdecimal() else (-1, word) for word in words]


def _same_levels(dimension: Dimension) -> Dimension:
    """Return a dimension under the names that its levels have here: raidz1 is raid5, and no RAID one disk."""
    if (dimension.topic, dimension.name) != _RAID:
        return dimension
    alike = _SAME_LEVEL | ({NONE: Level.SINGLE.value} if Level.SINGLE.value in dimension.values else {})
    return replace(dimension, values=tuple(alike.get(value, value) for value in dimension.values))


def _places(comparison: RunComparison) -> Iterator[range]:
    """Yield the indices of the groups of each condition among all groups."""
    start = 0
    for part in comparison.parts:
        yield range(start, start + len(part.groups))
        start += len(part.groups)


def _is_crossed(across: Dimension, down: Dimension, parts: Sequence[range]) -> bool:
    """Return whether two levels of one factor have two levels of the other under one condition."""
    for part in parts:
        levels: dict[str, set[str]] = {}
        for place in part:
            levels.setdefault(across.values[place], set()).add(down.values[place])
        if sum(len(each) > 1 for each in levels.values()) > 1:
            return True
    return False


def _within_cells(
    factors: Sequence[Dimension], axes: tuple[Dimension, Dimension], parts: Sequence[range]
) -> list[Dimension]:
    """Return the factors that differ within a cell; of those that always change together the first."""
    found: dict[tuple[int, ...], Dimension] = {}
    for each in factors:
        cells: dict[tuple[int, str, str], set[str]] = {}
        for number, part in enumerate(parts):
            for place in part:
                at = number, axes[0].values[place], axes[1].values[place]
                cells.setdefault(at, set()).add(each.values[place])
        if each not in axes and any(len(values) > 1 for values in cells.values()):
            first = {value: number for number, value in reversed(list(enumerate(each.values)))}
            found.setdefault(tuple(first[value] for value in each.values), each)
    return list(found.values())


def _names(part: RunComparison, places: range, axis: Dimension, more: Sequence[Dimension]) -> list[str]:
    """Return the row or column of each group of a condition: its level, and unusual values of other factors.

    A variant is named by the words that only its configurations have, else by the properties.
    """
    usual = {each: _usual(each, axis, places) for each in more}
    keys = [
        (
            axis.values[place],
            *(_words(each, each.values[place]) for each in more if each.values[place] != usual[each]),
        )
        for place in places
    ]
    words: dict[tuple[str, ...], list[list[str]]] = {}
    for key, group in zip(keys, part.groups, strict=True):
        words.setdefault(key, []).append(group.name.partition(" (")[0].replace(",", "").split())
    labels = {}
    for key, names in words.items():
        plain = {word for name in words.get(key[:1], ()) for word in name}
        own = [word for word in names[0] if word not in plain and all(word in name for name in names)]
        labels[key] = " ".join((key[0], *own)) if len(key) > 1 and own and plain else ", ".join(key)
    for label, count in Counter(labels.values()).items():
        if count > 1:  # several of one name: with what only they have
            alike = [key for key in labels if labels[key] == label]
            shared = set.intersection(*map(set, alike))
            labels |= {
                key: ", ".join((label, *(each for each in key if each not in shared))) for key in alike
            }
    return [labels[key] for key in keys]


def _usual(factor: Dimension, axis: Dimension, places: range) -> str:
    """Return the value of most levels under a condition; of equally common ones that of most groups."""
    here: dict[str, set[str]] = {}
    for place in places:
        here.setdefault(factor.values[place], set()).add(axis.values[place])
    everywhere = Counter(factor.values)
    return max(here, key=lambda value: (len(here[value]), everywhere[value]))


def _words(factor: Dimension, value: str) -> str:
    if factor.topic != SETTING and value != NONE:
        return value
    return f"{one_line(factor.name)} {value}"


def _block(part: RunComparison, down: Sequence[str], across: Sequence[str]) -> Block:
    cells: dict[tuple[str, str], list[ComparisonRow]] = {}
    for row, at in zip(part.rows, zip(down, across, strict=True), strict=True):
        cells.setdefault(at, []).append(row)
    return Block(
        part,
        tuple(dict.fromkeys(row for row, _ in cells)),
        tuple(dict.fromkeys(column for _, column in cells)),
        {at: Cell(tuple(rows)) for at, rows in cells.items()},
    )


def _is_table(block: Block) -> bool:
    """Return whether a block says more than a list, and its TPS show speed."""
    return len(block.cells) >= _FEWEST_CELLS and len(block.columns) > 1 and shows_speed(block.part)


def _standings(blocks: Sequence[Block], *, by_row: bool) -> tuple[Standing, ...]:
    """Return the standings of columns, compared within rows, or of rows, compared within columns."""
    shares: dict[str, list[tuple[float, str, str]]] = {}
    for block in blocks:
        for line, tps in block.lines(by_row=by_row):
            best = max(tps.values())
            for level, value in tps.items():
                shares.setdefault(level, []).append((value / best, line, block.part.condition))
    found = [
        Standing(
            level, _geometric_mean([share for share, _, _ in each]), min(each)[0], min(each)[1:], len(each)
        )
        for level, each in shares.items()
    ]
    return tuple(sorted(found, key=lambda each: -each.share))


def _with_differences(
    standings: Sequence[Standing], blocks: Sequence[Block], effect: float
) -> tuple[Standing, ...]:
    """Return the standings of columns with their differences from the leading one."""
    best = next((each.level for each in find_leaders(standings, 0.0)), "")
    found = _differences(blocks, best, effect)
    kinds = dict.fromkeys(_transactions(block.part) for block in blocks)
    return tuple(
        replace(
            each, against={kind: found[each.level, kind] for kind in kinds if (each.level, kind) in found}
        )
        for each in standings
    )


def _differences(blocks: Sequence[Block], best: str, effect: float) -> dict[tuple[str, str], CellComparison]:
    """Return the difference of each other column from one, over their cells, by column and transactions.

    The columns are one family of comparisons for each kind of transactions.
    """
    pairs: dict[str, dict[str, list[CellPair]]] = {}
    for block in blocks:
        levels = pairs.setdefault(_transactions(block.part), {})
        for (row, column), cell in block.cells.items():
            first = block.cells.get((row, best))
            if column != best and first is not None and (pair := _pair(first, cell)) is not None:
                levels.setdefault(column, []).append(pair)
    return {
        (column, kind): found
        for kind, levels in pairs.items()
        for column, found in zip(levels, compare_levels([*levels.values()], effect=effect), strict=True)
    }


def _pair(first: Cell, second: Cell) -> CellPair | None:
    """Return two cells for comparison, of one campaign if any has both; None if runs of one are missing."""
    known = [each.by_campaign() for each in (first, second)]
    both = known[0].keys() & known[1].keys()
    one, other = (
        [row for key, rows in each.items() if not both or key in both for row in rows] for each in known
    )
    if not one or not other:
        return None
    first_tps, second_tps = (_geometric_mean([row.mean.mean or 0.0 for row in rows]) for rows in (one, other))
    campaigns = frozenset(() if both else (*known[0], *known[1]))
    return CellPair(first_tps, second_tps, campaigns, _run_by_run(*one, *other))


def _run_by_run(*rows: ComparisonRow) -> tuple[float, ...]:
    """Return the differences of the logarithms of neighbouring runs of two configurations of one campaign."""
    if len(rows) != 2 or rows[0].group.campaign != rows[1].group.campaign:
        return ()
    one, other = (row.group.by_repeat() for row in rows)
    common = sorted(one.keys() & other.keys())
    return tuple(math.log(other[at] / one[at]) for at in common if one[at] > 0 and other[at] > 0)


def _transactions(part: RunComparison) -> str:
    """Return the name of a condition's transactions; empty if not known."""
    items = (item for item in part.groups[0].facts.properties if item.key == (WORKLOAD, LABELS["label"]))
    return next((one_line(item.value) for item in items), "")


def _geometric_mean(values: Sequence[float]) -> float:
    return math.exp(math.fsum(map(math.log, values)) / len(values))


@dataclass(frozen=True, slots=True)
class Dependence:
    """Two levels of a factor whose ratio depends on something else.

    Attributes:
        first: one level.
        second: the other.
        ratios: geometric means of first to second by what it depends on, ascending.
    """

    first: str
    second: str
    ratios: tuple[tuple[str, float], ...]


def find_leaders(standings: Sequence[Standing], effect: float) -> tuple[Standing, ...]:
    """Return the first level and those that are on average as fast, of levels measured in most places."""
    most = max((each.cells for each in standings), default=0)
    usual = [each for each in standings if 2 * each.cells >= most]
    return tuple(each for each in usual if each.share >= usual[0].share / (1 + effect))


@dataclass(frozen=True, slots=True)
class Variant:
    """The fastest variant of a level across, such as one with another option, and what it gains.

    Attributes:
        level: the plain one.
        variant: the fastest of those whose names begin with it.
        gains: of the variant over the level, by transactions.
    """

    level: str
    variant: str
    gains: Mapping[str, CellComparison]


def find_variants(matrix: Matrix, effect: float) -> tuple[Variant, ...]:
    """Return the fastest variant of each level across that has any, measured in most places of the level."""
    found: list[Variant] = []
    for level in sorted(matrix.columns, key=lambda each: len(each.level)):
        variants = [
            each.level
            for each in matrix.columns
            if each.level.startswith((f"{level.level} ", f"{level.level}, ")) and 2 * each.cells > level.cells
        ]
        if variants and not any(level.level.startswith(f"{each.level} ") for each in found):
            gains = _differences(matrix.blocks, level.level, effect)
            mine = {kind: each for (name, kind), each in gains.items() if name == variants[0]}
            found.append(Variant(level.level, variants[0], mine))
    return tuple(found)


def find_dependence(matrix: Matrix, *, of_columns: bool) -> Dependence | None:
    """Return the columns whose ratio depends most on the condition, or the rows on the column; else None.

    Only the best level is compared with others: ratios of two inferior levels help little.
    """
    standings = matrix.columns if of_columns else matrix.rows
    if len(standings) < 2:
        return None
    best = find_leaders(standings, 0.0)[0].level
    found: dict[str, dict[str, list[float]]] = {}
    for block in matrix.blocks:
        for line, tps in block.lines(by_row=of_columns):
            at = block.part.condition if of_columns else line
            for level, value in tps.items():
                if best in tps and level != best:
                    found.setdefault(level, {}).setdefault(at, []).append(tps[best] / value)
    dependences = []
    for level, by in found.items():
        ratios = sorted(((at, _geometric_mean(each)) for at, each in by.items()), key=lambda pair: pair[1])
        dependences.append(Dependence(best, level, tuple(ratios)))
    most = max(dependences, key=lambda each: each.ratios[-1][1] / each.ratios[0][1], default=None)
    return most if most and most.ratios[-1][1] > _DEPENDS_FROM * most.ratios[0][1] else None


def _in_order(names: Sequence[str]) -> list[str]:
    """Return names of rows in the order of RAID levels if they are such, else as given."""
    levels = [each.value for each in Level]
    found = list(dict.fromkeys(names))
    if all(name.partition(",")[0] in levels for name in found):
        found.sort(key=lambda name: (levels.index(name.partition(",")[0]), name))
    return found


def _sorted(block: Block, rows: Sequence[str], columns: Sequence[str]) -> Block:
    left = [each for each in block.columns if each not in columns]
    return Block(
        block.part,
        tuple(each for each in rows if each in block.rows),
        (*(each for each in columns if each in block.columns), *left),
        block.cells,
    )


def describe_matrix(matrix: Matrix, effect: float) -> tuple[str, ...]:
    """Return the answers of a matrix, a sentence each: which level leads, and what that depends on."""
    found: list[str] = []
    for factor, standings in ((matrix.across, matrix.columns), (matrix.down, matrix.rows)):
        leaders = find_leaders(standings, effect)
        if not leaders:
            continue
        worst = min(leaders, key=lambda each: each.worst)
        sentence = tr(
            "Which {factor}? {names}: on average {behind} behind the best, at worst {worst} ({where};"
            " {condition})."
        )
        if worst.worst > _SAME:
            sentence = tr("Which {factor}? {names}: the highest mean everywhere.")
        where, condition = worst.worst_at
        if not condition:
            where, condition = matrix.down if factor == matrix.across else matrix.across, where
        found.append(
            sentence.format(
                factor=factor,
                names=either([each.level for each in leaders]),
                behind=_behind(leaders[-1].share),
                worst=_behind(worst.worst),
                where=where,
                condition=condition,
            )
        )
    cells = [cell for block in matrix.blocks for cell in block.cells.values()]
    if found and all(row.mean.runs == 1 for cell in cells for row in cell.rows):
        sentence = tr(
            "Each configuration ran once, so the confidence intervals (95 %) are computed from how the "
            "differences vary from row to row."
        )
        if any(each.sets is not None for one in matrix.columns for each in one.against.values()):
            sentence = tr(
                "Each configuration ran once, so the confidence intervals (95 %) are computed from how the "
                "differences vary. Rows of the same campaigns count as one."
            )
        found.append(sentence)
    found += filter(None, (_describe_variant(each) for each in find_variants(matrix, effect)))
    for of_columns in (True, False):
        dependence = find_dependence(matrix, of_columns=of_columns)
        if dependence is not None:
            sentence = tr(
                "{first}'s gain over {second} depends on the {factor}: {least} ({at}) to {most} ({other})."
            )
            (at, least), *_, (other, most) = dependence.ratios
            found.append(
                sentence.format(
                    first=dependence.first,
                    second=dependence.second,
                    factor=tr("condition") if of_columns else matrix.across,
                    least=_ratio_words(least),
                    most=_ratio_words(most),
                    at=at,
                    other=other,
                )
            )
    return tuple(found)


def _describe_variant(found: Variant) -> str:
    gains = [f"{kind} {_difference_words(each)}".strip() for kind, each in found.gains.items()]
    if not gains:
        return ""
    sentence = tr("{variant} compared with {level}: {gains}.")
    return sentence.format(variant=found.variant, level=found.level, gains=", ".join(gains))


def either(names: Sequence[str]) -> str:
    """Return names joined by "or"."""
    if len(names) < 2:
        return "".join(names)
    return tr("{names} or {last}").format(names=", ".join(names[:-1]), last=names[-1])


def _behind(share: float) -> str:
    return f"{number_text(100 * (1 - share), '.1f' if share > 0.9 else '.0f')} %"


def _ratio_words(ratio: float) -> str:
    if ratio >= _TIMES_FROM:
        return tr("{ratio:.1f} times as fast").format(ratio=ratio)
    percent = number_text(100 * (ratio - 1), "+.0f")
    return tr("same speed") if percent in {"+0", "-0"} else f"{percent} %"


def standing_columns(matrix: Matrix) -> tuple[Column[Standing], ...]:
    """Return the columns of the ranking of the levels across."""
    kinds = dict.fromkeys(kind for each in matrix.columns for kind in each.against)
    best = next((each.level for each in find_leaders(matrix.columns, 0.0)), "")

    def difference(each: Standing, kind: str) -> str:
        found = each.against.get(kind)
        return "" if found is None else _difference_words(found)

    heading = tr("{kind}, compared with {best}")
    return (
        Column("level", matrix.across, lambda each: each.level, CellKind.WORDS),
        *(
            Column(
                f"kind {kind}",
                heading.format(kind=kind, best=best).removeprefix(", "),
                partial(difference, kind=kind),
                CellKind.NUMBERS,
            )
            for kind in kinds
        ),
        Column("behind", tr("Behind the best"), lambda each: _behind(each.share)),
        Column("worst", tr("At worst"), lambda each: _behind(each.worst)),
        Column("cells", tr("Rows"), lambda each: str(each.cells), optional=2),
    )


def _difference_words(found: CellComparison) -> str:
    """Return a difference with its interval, or why it has none; those of the cells if it depends on them."""
    if found.depends and found.least and found.most:
        sentence = tr("{range}, depending on the row")
        return sentence.format(range=format_range(found.least, found.most))
    few = (tr("too few campaigns"), tr("too few runs"))
    interval = format_interval(found.comparison) or few[found.sets is None]
    return f"{format_difference(found.comparison)} ({interval})"


def block_columns(block: Block) -> tuple[Column[str], ...]:
    """Return the columns of a block for its rows: their name, and mean TPS by the levels across."""

    def cell(row: str, column: str) -> str:
        found = block.cells.get((row, column))
        return "" if found is None else _cell_words(found)

    best = block.best(block.part.effect)

    def is_best(row: str, column: str) -> bool:
        return (row, column) in best

    return (
        Column("", "", lambda row: row, CellKind.WORDS),
        *(
            Column(
                name,
                name,
                partial(cell, column=name),
                CellKind.NUMBERS,
                is_best=partial(is_best, column=name),
            )
            for name in block.columns
        ),
    )


def _cell_words(cell: Cell) -> str:
    words = format_tps(cell.tps)
    return words if cell.is_ranked else f"{words} {NOT_RANKED}"
