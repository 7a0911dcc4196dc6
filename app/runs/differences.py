"""What differs between several runs: the first question of whoever lays them over each other. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.text import tr
from app.runs.run_facts import RunFacts


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
class Difference:
    """A property that is not the same in all runs.

    Attributes:
        topic: heading of the property.
        name: of the property.
        variants: its values in the order of the runs; at least two.
    """

    topic: str
    name: str
    variants: tuple[Variant, ...]


def find_differences(runs: Sequence[RunFacts]) -> tuple[Difference, ...]:
    """Return the properties that differ, in the order in which the runs name them.

    A property that one run does not have counts as a value of its own: memory has no device.
    """
    keys: dict[tuple[str, str], None] = {}
    tables = []
    for run in runs:
        table = {(item.topic, item.name): item.value for item in run.properties}
        tables.append(table)
        keys.update(dict.fromkeys(table))
    found = []
    for topic, name in keys:
        variants: dict[str, list[int]] = {}
        for index, table in enumerate(tables):
            variants.setdefault(table.get((topic, name), tr("none")), []).append(index)
        if len(variants) > 1:
            told = tuple(Variant(value, tuple(indices)) for value, indices in variants.items())
            found.append(Difference(topic, name, told))
    return tuple(found)
