"""Find the properties in which configurations differ, as chart axes: filesystem, RAID, scale ... Pure."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from app.analysis.facts import RunFacts, shown_settings
from app.analysis.labels import of_part, one_line
from app.analysis.properties import Property
from app.comparison.comparison import RunComparison
from app.comparison.overall.conditions import (
    Condition,
    chosen_settings,
    condition_of,
    name_conditions,
    role_of,
)
from app.domain.text import tr
from app.statistics.verdict import RunInterval, run_interval

NONE: Final = tr("none")
"""Value of a property that a group lacks or does not record."""

_CONFIGURATION: Final = tr("configuration")

_FIRST: Final = (
    (tr("Target"), tr("filesystem")),
    (tr("Target"), "RAID"),
    (tr("Workload"), tr("scale")),
    (tr("Workload"), tr("clients")),
    (tr("Workload"), tr("target rate")),
    (tr("Target"), tr("kind")),
)
"""Usual grouping properties, by topic and name, most usual first."""

_SWEPT: Final = (_FIRST[3], _FIRST[4], _FIRST[2])
"""Swept properties: numbers increased step by step."""

_FOLLOWS: Final = frozenset(
    {
        *((tr("Workload"), name) for name in (tr("threads"), tr("data"), tr("measured time"), tr("warm-up"))),
        (tr("Target"), tr("path")),
        (tr("Target"), tr("mount options")),
    }
)
"""Properties that follow from others and are not an axis."""


@dataclass(frozen=True, slots=True)
class Dimension:
    """A property that distinguishes groups.

    Attributes:
        name: as shown.
        values: of each group, one line each.
        is_swept: whether it is a number increased step by step.
        topic: heading of the property; empty for the name of the group.
    """

    name: str
    values: tuple[str, ...]
    is_swept: bool = False
    topic: str = ""

    @property
    def levels(self) -> tuple[str, ...]:
        """Its distinct values: numbers ascending, words in the order of the groups."""
        found = list(dict.fromkeys(self.values))
        numbers = [number_of(value) for value in found]
        if all(number is not None for number in numbers):
            found.sort(key=lambda value: number_of(value) or 0.0)
        return tuple(found)


def number_of(value: str) -> float | None:
    """Return the value as a number; None for words."""
    try:
        number = float(value.replace(",", ""))
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def find_dimensions(comparison: RunComparison) -> tuple[Dimension, ...]:
    """Return the properties in which groups differ, the usual ones first, the name of the group last."""
    settings = shown_settings(run.facts for run in comparison.runs)
    tables = [_common([run.facts for run in group.runs], settings) for group in comparison.groups]
    shown = dict.fromkeys(key for table in tables for key, item in table.items() if item.is_shown)
    keys = dict.fromkeys((*(key for key in _FIRST if key in shown), *shown))
    found = []
    for key in keys:
        if key in _FOLLOWS or not _is_axis(key):
            continue
        values = tuple(one_line(table[key].value if key in table else NONE) for table in tables)
        if len(set(values)) > 1:
            found.append(Dimension(key[1], values, key in _SWEPT and _are_numbers(values), key[0]))
    names = tuple(group.name for group in comparison.groups)
    return (*found, Dimension(_CONFIGURATION, names)) if len(set(names)) > 1 else tuple(found)


def _is_axis(key: tuple[str, str]) -> bool:
    return not key[1].startswith(tr("device {name}").format(name=""))  # too long for an axis


def _are_numbers(values: Sequence[str]) -> bool:
    return sum(number_of(value) is not None for value in set(values)) > 1


def _common(runs: Sequence[RunFacts], settings: Collection[str]) -> dict[tuple[str, str], Property]:
    """Return the properties that are known and the same for all runs of a group."""
    tables = [{item.key: item for item in run.every_property(settings) if item.is_known} for run in runs]
    first, *others = tables
    if not others:
        return first
    return {key: item for key, item in first.items() if all(table.get(key) == item for table in others)}


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """A configuration of a sweep: its position and the results of its runs."""

    x: float
    value: RunInterval
    group: int


@dataclass(frozen=True, slots=True)
class SweepLine:
    """Configurations that differ only in the swept number; x ascending."""

    name: str
    points: tuple[SweepPoint, ...]


def sweep(comparison: RunComparison, dimension: Dimension, figure: str) -> tuple[SweepLine, ...]:
    """Return a figure over a swept number, a line for each combination of all other properties.

    The properties equal along a line name it: they are held fixed. Groups without a number, such as no rate
    limit, are skipped.
    """
    swept = role_of(Property(dimension.topic, dimension.name, ""))
    chosen = chosen_settings([run.facts for run in comparison.runs])
    lines: dict[tuple[Condition, str], list[SweepPoint]] = {}
    for place, group in enumerate(comparison.groups):
        x = number_of(dimension.values[place])
        value = run_interval(tuple(group.values(figure)))
        if x is None or value.mean is None:
            continue
        held = condition_of(group.facts, swept, chosen)
        key = held, group.warning if group.not_durable else ""
        lines.setdefault(key, []).append(SweepPoint(x, value, place))
    firsts = {held: comparison.groups[points[0].group].facts for (held, _), points in lines.items()}
    names = dict(zip(firsts, name_conditions(list(firsts.values()), swept), strict=True))
    return tuple(
        SweepLine(
            of_part(", ".join(filter(None, (names[held], warning))) or tr("all"), comparison.cut_s),
            tuple(sorted(points, key=lambda point: point.x)),
        )
        for (held, warning), points in lines.items()
    )
