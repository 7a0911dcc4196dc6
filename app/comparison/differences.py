"""Find the properties that differ between several runs. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from app.analysis.facts import RunFacts, shown_settings
from app.analysis.labels import one_line, some
from app.analysis.properties import MACHINE, PGBENCH, PGBENCH_MACHINE, POSTGRESQL, SETTING, Property
from app.domain.text import tr, trn

_MACHINES: Final = frozenset({MACHINE, PGBENCH_MACHINE})
_MOST_NAMED: Final = 8
"""Unknown properties listed in a sentence."""

_MOST_VALUES: Final = 8
_MOST_RUNS: Final = 4
_LONGEST: Final = 60

_ALIKE_RATIO: Final = 2.0
_ALIKE_APART: Final = 0.1
"""Measured values, such as the round trip of a network, differ only if further apart than this share."""


@dataclass(frozen=True, slots=True)
class Variant:
    """One of the values that a property has.

    Attributes:
        value: as text.
        runs: indices of the runs that have it, ascending.
    """

    value: str
    runs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PropertyDifference:
    """A property that is not the same in all runs.

    Attributes:
        topic: heading of the property.
        name: of the property.
        variants: its values in the order of the runs; at least two.
    """

    topic: str
    name: str
    variants: tuple[Variant, ...]


@dataclass(frozen=True, slots=True)
class Comparability:
    """The differences between runs, known and possible.

    Attributes:
        differences: properties known to differ, in the order of the runs.
        not_known: properties without a known difference that at least one run does not record.
        configurations: number of different configuration names.
    """

    differences: tuple[PropertyDifference, ...]
    not_known: tuple[Property, ...]
    configurations: int = 1

    @property
    def are_repeats(self) -> bool:
        """Whether every chosen property is known for all runs, and the same."""
        return not self.differences and not self.not_known


def compare_properties(runs: Sequence[Iterable[Property]]) -> Comparability:
    """Return the differences between runs, each given by all its properties.

    A property that one run does not have counts as a value: memory has no device. A property that a run does
    not record may be the same, and alone is not a difference.
    """
    tables = [{item.key: item for item in run} for run in runs]
    keys = dict.fromkeys(key for table in tables for key in table)
    differences, not_known = [], []
    for key in keys:
        having = [item for table in tables if (item := table.get(key)) is not None]
        if len(having) == len(tables) and len({(item.value, item.is_known) for item in having}) == 1:
            if not having[0].is_known and not any(item.part for item in having):
                not_known.append(having[0])
            continue
        if not any(item.is_shown for item in having) and all(item.is_known for item in having):
            continue
        if _follows(having, tables) or (len(having) == len(tables) and _is_measured_alike(having)):
            continue
        values = [_value(table, key, having[0]) for table in tables]
        if len({value for value in values if value is not None}) > 1:
            variants: dict[str, list[int]] = {}
            for index, value in enumerate(values):
                variants.setdefault(tr("not known") if value is None else value, []).append(index)
            variants_found = tuple(Variant(value, tuple(indices)) for value, indices in variants.items())
            differences.append(PropertyDifference(*key, variants_found))
        elif None in values and not any(item.part for item in having):
            not_known.append(having[0])
    return Comparability(tuple(differences), tuple(not_known))


def _follows(having: Sequence[Property], tables: Sequence[Mapping[tuple[str, str], Property]]) -> bool:
    """Whether a property differs only because some runs lack its parent, which is listed already."""
    item = having[0]
    whole = (item.topic, item.within)
    is_one_value = len({each.value for each in having}) == 1
    return (
        bool(item.within) and is_one_value and any(not {item.key, whole} & table.keys() for table in tables)
    )


def _is_measured_alike(having: Sequence[Property]) -> bool:
    """Whether all values were measured, and agree within `_ALIKE_APART`."""
    values = [item.measured for item in having if item.measured is not None]
    if len(values) < len(having):
        return False
    least, most = min(values), max(values)
    return most <= _ALIKE_RATIO * least or most - least <= _ALIKE_APART


def _value(table: dict[tuple[str, str], Property], key: tuple[str, str], other: Property) -> str | None:
    """Return the value that a run has; None if it is not recorded."""
    item = table.get(key)
    if item is None and other.topic in _MACHINES and not any(topic == other.topic for topic, _ in table):
        return None  # each run had a machine; this one did not record it
    if item is None and key == (POSTGRESQL, PGBENCH):
        return None  # pgbench prints its version since 14
    if item is None:
        whole = table.get((other.topic, other.part)) if other.part else None
        if whole is not None:
            return None
        return tr("not set") if other.topic == SETTING else tr("none")
    return item.value if item.is_known else None


def what_differs(runs: Sequence[RunFacts]) -> Comparability:
    """Return the differences between runs."""
    settings = shown_settings(runs)
    found = compare_properties([run.every_property(settings) for run in runs])
    return replace(found, configurations=len({run.configuration for run in runs}))


def find_differences(runs: Sequence[RunFacts]) -> tuple[PropertyDifference, ...]:
    """Return the properties known to differ, in the order of the runs."""
    return what_differs(runs).differences


def describe_sameness(found: Comparability) -> str:
    """Return how to read the absence of known differences, as a sentence.

    Args:
        found: without differences.
    """
    if found.are_repeats:
        if found.configurations > 1:
            return tr("No known difference.")
        return tr("No known difference: these are repeats.")
    names = [f"{item.topic}: {item.name}" for item in found.not_known]
    return tr("No known difference, but unknown values: {names}.").format(names=some(names, _MOST_NAMED))


def describe_values(difference: PropertyDifference, names: Sequence[str] = ()) -> str:
    """Return the values of a property, each with the runs that have it.

    Args:
        difference: of the property.
        names: of all runs: a few with the same value are named, more are counted; empty to count all.
    """
    parts = []
    for variant in difference.variants[:_MOST_VALUES]:
        value = one_line(variant.value)
        value = value if len(value) <= _LONGEST else f"{value[: _LONGEST // 2]}…{value[-_LONGEST // 2 :]}"
        having = list(dict.fromkeys(names[run] for run in variant.runs)) if names else []
        runs = ", ".join(having)
        if not 0 < len(having) <= _MOST_RUNS:
            count = len(variant.runs)
            runs = trn("{count} run", "{count} runs", count).format(count=count)
        parts.append(f"{value} ({runs})")
    if len(difference.variants) > _MOST_VALUES:
        more = len(difference.variants) - _MOST_VALUES
        parts.append(trn("{count} more value", "{count} more values", more).format(count=more))
    return "; ".join(parts)
