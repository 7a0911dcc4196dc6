"""The matrix of a campaign: dimensions, exclusions, and the resulting cells. Pure.

A cell is one combination of values. A value counts only if it has an effect (an option of ZFS on ZFS only):
combinations that differ in nothing else are one cell. `app.campaign_file.matrix` creates them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from typing_extensions import override

from app.domain.text import tr

LONGEST_NAME: Final = 80
"""Maximum length of a configuration's name."""

_SWITCHES: Final = frozenset({"on", "off", "true", "false", "yes", "no", "none", "always", "auto", "default"})
"""Words that are meaningless without their key."""

_SPOKEN: Final = {"true": tr("on"), "false": tr("off")}

Cell = tuple[int | None, ...]
"""Index of the value for each dimension, from 0; None if the dimension has no effect there."""


@dataclass(frozen=True, slots=True)
class Change:
    """A key of a campaign file with its value.

    Attributes:
        key: parts of the dotted key; ``("target", "memory")`` with ``{}`` for a target without keys.
        value: as TOML has it.
    """

    key: tuple[str, ...]
    value: Any

    @override
    def __hash__(self) -> int:
        return hash(self.key)  # values may be lists and tables


@dataclass(frozen=True, slots=True)
class DimensionValue:
    """One value of a dimension.

    Attributes:
        name: given by the user, or the value's own text.
        changes: keys that it changes; empty for a value that changes nothing.
    """

    name: str
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class MatrixDimension:
    """A dimension with several values.

    Attributes:
        name: unique among those of a matrix.
        values: at least one; names and changes are unique.
        key: dotted, if each value changes only this key; else empty.
    """

    name: str
    values: tuple[DimensionValue, ...]
    key: str = ""


Exclusion = tuple[tuple[int, tuple[int, ...]], ...]
"""Excluded combinations: values of some dimensions, by index."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """Dimensions on top of the shared part of every configuration.

    Attributes:
        shared: the shared part.
        dimensions: at least one.
        exclusions: each excludes something.
        cells: one for each configuration of the campaign, in the same order.
        left_out: number of excluded cells.
    """

    shared: tuple[Change, ...]
    dimensions: tuple[MatrixDimension, ...]
    exclusions: tuple[Exclusion, ...]
    cells: tuple[Cell, ...]
    left_out: int = 0


def default_name(key: str) -> str:
    """Return the default name of a dimension with one key: the key's last part.

    For further disks with the group, because groups have the same keys.
    """
    settings, disks = "postgresql.settings.", "target.disks."
    if key.startswith(settings):
        return key.removeprefix(settings)
    group, _, rest = key.removeprefix(disks).partition(".")
    if key.startswith(disks) and rest and group != "options":
        return f"{group} {rest.rpartition('.')[2]}"
    return key.rpartition(".")[2]


def is_left_out(cell: Cell, exclusion: Exclusion) -> bool:
    """Return whether an exclusion matches a cell; not if one of its dimensions has no effect there."""
    return all(cell[dimension] in values for dimension, values in exclusion)


def labels_of(dimensions: Sequence[MatrixDimension]) -> tuple[tuple[str, ...], ...]:
    """Return each value's name in names of cells: its word if that is clear, else with its key."""
    words = [[_word(value) for value in each.values] for each in dimensions]
    found = []
    for place, each in enumerate(dimensions):
        others = {word for other, more in enumerate(words) if other != place for word in more}
        own = words[place]
        if not each.key or (all(map(_is_telling_word, own)) and not others & set(own)):
            found.append(tuple(own))
        else:
            found.append(tuple(f"{each.name} {word}" for word in own))
    return tuple(found)


def cell_names(dimensions: Sequence[MatrixDimension], cells: Sequence[Cell], alone: str) -> tuple[str, ...]:
    """Return a name for each cell: the shortest that is unique.

    Args:
        dimensions: of the matrix.
        cells: all different.
        alone: name of a cell that no value distinguishes.
    """
    labels = labels_of(dimensions)
    telling = [len({cell[place] for cell in cells}) > 1 for place in range(len(dimensions))]
    found: dict[str, None] = {}
    for number, cell in enumerate(cells, start=1):
        parts = [
            labels[place][value]
            for place, value in enumerate(cell)
            if value is not None and telling[place] and labels[place][value]
        ]
        name = ", ".join(parts) or alone
        if len(name) > LONGEST_NAME or name in found:
            ending = f" … {number}"
            name = name[: LONGEST_NAME - len(ending)].rstrip(" ,") + ending
        found[name] = None
    return tuple(found)


def describe_matrix(matrix: Matrix) -> tuple[str, ...]:
    """Describe the dimensions and the number of combinations in sentences."""
    sizes = [len(each.values) for each in matrix.dimensions]
    parts = [
        tr("{name} ({values})").format(name=each.name, values=", ".join(value.name for value in each.values))
        for each in matrix.dimensions
    ]
    sentence = tr("{dimensions}: {product} combinations give {count} configurations.")
    sentences = [
        sentence.format(dimensions=" x ".join(parts), product=math.prod(sizes), count=len(matrix.cells)),
    ]
    if matrix.left_out:
        sentences.append(tr("[[exclude]] removes {count} of them.").format(count=matrix.left_out))
    for place, each in enumerate(matrix.dimensions):
        idle = sum(cell[place] is None for cell in matrix.cells)
        if idle:
            words = tr("{name} has no effect in {idle} of {count} configurations; these are measured once.")
            sentences.append(words.format(name=each.name, idle=idle, count=len(matrix.cells)))
    return tuple(sentences)


def _word(value: DimensionValue) -> str:
    return _SPOKEN.get(value.name, value.name) if len(value.changes) == 1 else value.name


def _is_telling_word(word: str) -> bool:
    return word[:1].isalpha() and word.lower() not in _SWITCHES and word not in _SPOKEN.values()
