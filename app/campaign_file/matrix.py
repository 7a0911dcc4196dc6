"""The cells of a matrix: every combination of the values of its dimensions, merged like what a file says.

::

    base layer + one value of each dimension -> does each value count there? -> cells, each once
    cells - exclusions -> names -> Scope of each configuration
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from app.campaign_file.dimensions import ReadDimension, read_dimensions, read_exclusions, read_layer
from app.campaign_file.disks import DATA_GROUP, group_keys
from app.campaign_file.fields import MOST_CONFIGURATIONS, SECTIONS
from app.campaign_file.kinds import Key
from app.campaign_file.layers import (
    SOMETIMES,
    TARGET,
    Layer,
    MergedTarget,
    filesystems_of,
    level_in,
    merge_layers,
    missing_keys,
    target_kind,
)
from app.campaign_file.problems import KeyPath, Problems
from app.campaign_file.scopes import Scope, ScopedValue, Table
from app.domain.campaign.configuration import DiskTarget, PostgresChoice, Workload
from app.domain.campaign.matrix import Cell, Matrix, cell_names, is_left_out
from app.domain.errors import did_you_mean
from app.domain.filesystems import filesystem
from app.domain.options.checks import idle_options, is_of_today, legal_options
from app.domain.options.raid import Assembler, Level
from app.domain.text import number_text, tr

if TYPE_CHECKING:
    from app.campaign_file.reader import CampaignReader

MOST_COMBINATIONS: Final = 5_000
"""Of values, before any is left out: so many are gone through."""


@dataclass(frozen=True, slots=True)
class ReadMatrix:
    """A matrix with its configurations, name and everything that counts for it.

    Attributes:
        matrix: what is declared, and its cells.
        configurations: one for each cell.
        every: the cells with those that are left out.
    """

    matrix: Matrix
    configurations: tuple[tuple[str, Scope], ...]
    every: tuple[Cell, ...]


def read_matrix(
    reader: CampaignReader, document: Mapping[str, Any], name: str
) -> tuple[Scope, ReadMatrix | None]:
    """Return what every configuration starts with, and the matrix; None where something wrong was noted.

    Args:
        reader: of the campaign.
        document: the file.
        name: of the campaign.
    """
    base = read_layer(reader, document, KeyPath())
    dimensions: tuple[ReadDimension, ...] | None = None
    if "dimension" in document:
        dimensions = read_dimensions(reader, document["dimension"])
    else:
        sentence = tr("leaves combinations of dimensions out, and there is no [[dimension]].")
        reader.problems.add(KeyPath("exclude"), sentence)
    if "configuration" in document:
        sentence = tr(
            "goes without [[dimension]] only: what the configurations change can be the values of a "
            "dimension, each beginning with [[dimension.value]]."
        )
        reader.problems.add(KeyPath("configuration"), sentence)
        return Scope(), None
    if base is None or dimensions is None or base.is_refused:
        return Scope(), None
    base = _stated(base, dimensions)
    shared, _ = merge_layers([base], KeyPath())
    return shared, expand(reader, base, dimensions, document.get("exclude", []), name)


def every_cell(base: Layer, dimensions: Sequence[ReadDimension]) -> tuple[Cell, ...]:
    """Return the cells of dimensions, before any is left out; none where they are too many to go through."""
    if math.prod(len(each.layers) for each in dimensions) > MOST_COMBINATIONS:
        return ()
    return _Combinations(base, tuple(dimensions)).cells()


def expand(
    reader: CampaignReader,
    base: Layer,
    dimensions: Sequence[ReadDimension],
    exclusions: object,
    name: str,
) -> ReadMatrix | None:
    """Return the configurations of a matrix; None where something is wrong, which is noted.

    Args:
        reader: of the campaign.
        base: what every configuration starts with.
        dimensions: right each for itself.
        exclusions: as TOML gives them.
        name: of a configuration that nothing tells from others.
    """
    product = math.prod(len(each.layers) for each in dimensions)
    if product > MOST_COMBINATIONS:
        sentence = tr(
            "{sizes} values are {product} combinations, more than the {most} that are gone through; "
            "measured one minute each, once, they would take {days} days."
        )
        sizes = " x ".join(str(len(each.layers)) for each in dimensions)
        days = number_text(product / 1440, ",.0f")
        told = sentence.format(
            sizes=sizes,
            product=number_text(product, ","),
            most=number_text(MOST_COMBINATIONS, ","),
            days=days,
        )
        reader.problems.add(KeyPath("dimension"), told)
        return None
    left_out = read_exclusions(reader, exclusions, dimensions)
    combinations = _Combinations(base, tuple(dimensions))
    cells = combinations.cells()
    if left_out is None or not _all_count(reader.problems, combinations, cells):
        return None
    kept = tuple(cell for cell in cells if not any(is_left_out(cell, each) for each in left_out))
    for number, each in enumerate(left_out, start=1):
        if not any(is_left_out(cell, each) for cell in cells):
            sentence = tr("leaves nothing out: there is no configuration that it is about.")
            reader.problems.add(KeyPath(f"exclude[{number}]"), sentence)
    if not kept:
        sentence = tr("leaves nothing to measure: every one of {count} configurations is left out.")
        reader.problems.add(KeyPath("exclude"), sentence.format(count=len(cells)))
    if len(kept) > MOST_CONFIGURATIONS:
        sentence = tr("{count} configurations are more than the {most} that are allowed.")
        told = sentence.format(count=number_text(len(kept), ","), most=number_text(MOST_CONFIGURATIONS, ","))
        reader.problems.add(KeyPath("dimension"), told)
        return None
    declared = tuple(each.dimension for each in dimensions)
    matrix = Matrix(base.changes(), declared, left_out, kept, len(cells) - len(kept))
    names = cell_names(declared, kept, name)
    makers = _Targets(reader)
    scopes = (
        makers.scope(combinations.layers(cell), KeyPath("", each))
        for cell, each in zip(kept, names, strict=True)
    )
    return ReadMatrix(matrix, tuple(zip(names, scopes, strict=True)), cells)


def _stated(base: Layer, dimensions: Sequence[ReadDimension]) -> Layer:
    """Return what every configuration starts with, defaults stated: later versions may have others.

    Not the warm-up where anything says what the caches hold: with cold ones there is none.
    """
    layers = (base, *(layer for each in dimensions for layer in each.layers))
    about_caches = any("caches" in layer.sections.get("workload", {}) for layer in layers)
    sections: dict[str, Table] = {}
    for name, default in (("postgresql", PostgresChoice()), ("workload", Workload())):
        given = base.sections.get(name, {})
        table: Table = {}
        for each in SECTIONS[name]:
            value = getattr(default, each.attribute)
            stated = value is not None and value != () and each.instead_of not in given
            if each.attribute in given:
                table[each.attribute] = given[each.attribute]
            elif stated and not (each.attribute == "warmup_s" and about_caches):
                table[each.attribute] = ScopedValue(value, KeyPath(f"{name}.{each.name}"))
        sections[name] = table
    return replace(base, sections=sections)


@dataclass(frozen=True, slots=True)
class _Combinations:
    """Which values count together."""

    base: Layer
    dimensions: tuple[ReadDimension, ...]
    _fitting: dict[tuple[int, Situation], Layer] = field(default_factory=dict)
    """Layers without what there is nothing for, by id and situation."""

    def cells(self) -> tuple[Cell, ...]:
        """Return every cell once, the last dimension changing fastest."""
        found: dict[Cell, None] = {}
        for values in itertools.product(*(range(len(each.layers)) for each in self.dimensions)):
            cell = self._cell(values)
            if cell is not None:
                found[cell] = None
        return tuple(found)

    def layers(self, cell: Cell) -> list[Layer]:
        """Return the layers of a cell, with what there is nothing for taken out."""
        chosen = self.chosen(cell)
        there = situation_of(chosen)
        for layer in chosen:
            key = (id(layer), there)
            if key not in self._fitting:
                self._fitting[key] = (fitting_start if layer is self.base else _fitting)(layer, there)
        return [self._fitting[id(layer), there] for layer in chosen]

    def chosen(self, cell: Cell) -> list[Layer]:
        """Return the layers of a cell as they are given."""
        return [
            self.base,
            *(
                each.layers[value]
                for each, value in zip(self.dimensions, cell, strict=True)
                if value is not None
            ),
        ]

    def _cell(self, values: tuple[int, ...]) -> Cell | None:
        """Return the cell of a combination; None where one of its values does not count and another would."""
        layers = self.chosen(values)
        there = situation_of(layers)
        cell: list[int | None] = []
        for place, value in enumerate(values):
            if counts(layers[place + 1], there):
                cell.append(value)
            elif self._any_counts(place, layers):
                return None
            else:
                cell.append(None)
        return tuple(cell)

    def _any_counts(self, place: int, layers: list[Layer]) -> bool:
        for layer in self.dimensions[place].layers:
            if counts(layer, situation_of([*layers[: place + 1], layer, *layers[place + 2 :]])):
                return True
        return False


@dataclass(frozen=True, slots=True)
class MadeGroup:
    """What several layers make of a group of disks.

    Attributes:
        name: of the group.
        filesystem: its id; empty for one that is open.
        idle: (option, reason) for options of which no value is possible beside the others.
    """

    name: str
    filesystem: str
    idle: tuple[tuple[str, str], ...] = ()

    @property
    def options(self) -> frozenset[str]:
        """The options that a value can have something to change of; of a filesystem that is known."""
        return frozenset(each.id for each in filesystem(self.filesystem).options) - dict(self.idle).keys()

    @property
    def presets(self) -> frozenset[str]:
        """The presets of a filesystem that is known, without what only old kernels had."""
        spec = filesystem(self.filesystem)
        return frozenset(each.id for each in spec.presets if is_of_today(spec, each))


@dataclass(frozen=True, slots=True)
class Situation:
    """What several layers make together.

    Attributes:
        kind: of the target.
        made: groups of disks.
        level: of the data's disks.
    """

    kind: str
    made: tuple[MadeGroup, ...]
    level: Level

    def group(self, name: str) -> MadeGroup | None:
        """Return a group; None where it has no disks."""
        return next((each for each in self.made if each.name == name), None)


def situation_of(layers: Sequence[Layer]) -> Situation:
    """Return what layers make together."""
    made = filesystems_of(layers)
    groups = (MadeGroup(name, spec_id, _idle_in(layers, name, spec_id)) for name, spec_id in made.items())
    return Situation(target_kind(layers), tuple(groups), level_in(layers))


def _idle_in(layers: Sequence[Layer], name: str, spec_id: str) -> tuple[tuple[str, str], ...]:
    options: dict[str, Any] = {}
    preset, level = "", None
    for values in (layer.groups[name] for layer in layers if name in layer.groups):
        options |= dict(values.get("options") or ())
        preset, level = values.get("preset") or preset, values.get("level") or level
    return _idle(spec_id, preset, tuple(options.items()), level) if spec_id else ()


@lru_cache(maxsize=4096)
def _idle(
    spec_id: str, preset: str, options: tuple[tuple[str, Any], ...], level: Level | None
) -> tuple[tuple[str, str], ...]:
    spec = filesystem(spec_id)
    chosen = next((each.options for each in spec.presets if each.id == preset), {})
    return tuple(idle_options(spec, dict(chosen) | legal_options(spec, options), level).items())


def counts(layer: Layer, there: Situation) -> bool:
    """Return whether a value has anything to change.

    Keys of a target count on such a target; those of a further group where that has disks; options and
    presets of a filesystem where it has one of them; keys of arrays of the data where there is one.

    Args:
        layer: the value.
        there: what the values make together.
    """
    data = there.group(DATA_GROUP)
    if data and data.filesystem and _is_of_arrays(layer):
        return not layer.groups[DATA_GROUP].keys() <= missing_keys(filesystem(data.filesystem), there.level)
    if layer.targets and there.kind not in layer.targets:
        return False
    groups = layer.groups if there.kind == DiskTarget.kind else {}
    if not groups:
        return True
    return any(_group_counts(values, name, there.group(name)) for name, values in groups.items())


def _group_counts(values: Mapping[str, Any], name: str, made: MadeGroup | None) -> bool:
    if made is None:
        return name == DATA_GROUP
    options, presets = _options(values), _presets(values)
    if not (options or presets) or not made.filesystem:
        return True
    return bool(options & made.options or presets & made.presets)


def _is_of_arrays(layer: Layer) -> bool:
    """Whether a value changes nothing but keys that only some levels of some filesystems have."""
    values = layer.groups.get(DATA_GROUP, {})
    only = layer.groups.keys() == {DATA_GROUP} and not layer.sections
    return only and bool(values) and values.keys() <= set(SOMETIMES.values())


def fitting_start(base: Layer, there: Situation) -> Layer:
    """Return what every configuration starts with, without what its filesystems do not have."""
    # A group of which no disks are known is kept, for what it lacks is told.
    others = tuple(MadeGroup(name, "") for name in base.groups if there.group(name) is None)
    base = _fitting(base, replace(there, made=(*there.made, *others)))
    data, table = there.group(DATA_GROUP), base.targets.get(DiskTarget.kind)
    if data is None or not data.filesystem or table is None:
        return base
    spec = filesystem(data.filesystem)
    gone = missing_keys(spec, there.level) | (set() if spec.several is Assembler.ZFS else {"zfs_log"})
    kept = {name: given for name, given in table.items() if name not in gone}
    return replace(base, targets={**base.targets, DiskTarget.kind: kept})


def _options(values: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(dict(values.get("options") or ()))


def _presets(values: Mapping[str, Any]) -> frozenset[str]:
    return frozenset({values["preset"]} if values.get("preset") else ())


def _fitting(layer: Layer, there: Situation) -> Layer:
    """Return a value without what filesystems do not have, and without groups that have no disks."""
    table = dict(layer.targets.get(DiskTarget.kind, {}))
    changed = False
    for name, values in layer.groups.items():
        made = there.group(name)
        if made is None and name != DATA_GROUP:
            kept: Mapping[str, Any] = {}
        else:
            kept = _known_there(values, made)
        if kept == values:
            continue
        changed = True
        if name == DATA_GROUP:
            for attribute in values.keys() - kept.keys():
                del table[attribute]
            table |= {each: replace(table[each], value=value) for each, value in kept.items()}
        elif kept:
            table[name] = replace(table[name], value=group_keys(kept))
        else:
            del table[name]
    return replace(layer, targets={DiskTarget.kind: table}) if changed else layer


def _known_there(values: Mapping[str, Any], made: MadeGroup | None) -> Mapping[str, Any]:
    """Return the values of a group that say something on its filesystem; all of them where it is open."""
    if made is None or not made.filesystem or not (_options(values) or _presets(values)):
        return values
    kept = dict(values)
    if "options" in kept:
        kept["options"] = tuple(pair for pair in kept["options"] if pair[0] in made.options)
    if "preset" in kept and kept["preset"] not in made.presets:
        del kept["preset"]
    return kept


def _all_count(problems: Problems, combinations: _Combinations, cells: Sequence[Cell]) -> bool:
    """Whether every value counts somewhere, and every option of it exists there; what does not is noted."""
    before = problems.count
    situations = [situation_of(combinations.chosen(cell)) for cell in cells]
    kinds = {each.kind for each in situations}
    for place, dimension in enumerate(combinations.dimensions):
        for value, layer in enumerate(dimension.layers):
            used = [there for cell, there in zip(cells, situations, strict=True) if cell[place] == value]
            if layer.targets and not kinds & layer.targets.keys():
                sentence = tr("changes nothing: no configuration has its data on such a target.")
                problems.add(layer.place, sentence)
                continue
            if _is_of_arrays(layer) and not used:
                sentence = tr("changes nothing: no configuration has disks that take it.")
                problems.add(layer.place, sentence)
                continue
            where = used or [situation_of([*combinations.chosen(cell), layer]) for cell in cells]
            _check_groups(problems, layer, where, situations)
    _check_start(problems, combinations.base, situations)
    return problems.count == before


def _check_start(problems: Problems, base: Layer, situations: Sequence[Situation]) -> None:
    for name, values in base.groups.items():
        _check_exist(problems, base.place / TARGET, values, _groups(situations, name))


def _check_groups(
    problems: Problems, layer: Layer, used: Sequence[Situation], situations: Sequence[Situation]
) -> None:
    for name, values in layer.groups.items():
        if not any(each.group(name) for each in situations):
            sentence = tr("changes nothing: no configuration has disks for “{group}”.")
            problems.add(layer.place, sentence.format(group=name))
            continue
        _check_exist(problems, layer.place, values, _groups(used, name) or _groups(situations, name))


def _groups(situations: Iterable[Situation], name: str) -> list[MadeGroup]:
    """Return what is made of a group, each once, where its filesystem is known."""
    found = {made: None for each in situations if (made := each.group(name)) and made.filesystem}
    return sorted(found, key=lambda made: made.filesystem)


def _check_exist(
    problems: Problems, place: KeyPath, values: Mapping[str, Any], groups: Sequence[MadeGroup]
) -> None:
    if not groups:
        return
    options = frozenset[str]().union(*(each.options for each in groups))
    presets = frozenset[str]().union(*(each.presets for each in groups))
    why = {option: reason for each in groups for option, reason in each.idle}
    labels = ", ".join(dict.fromkeys(filesystem(each.filesystem).label for each in groups))
    for what, given, known in (
        (tr("option"), _options(values), options),
        (tr("preset"), _presets(values), presets),
    ):
        for name in sorted(given - known):
            sentence = tr("{what} “{name}” is none of {filesystems}.")
            told = sentence.format(what=what, name=name, filesystems=labels)
            reason = why.get(name) or did_you_mean(name[:80], sorted(known))
            problems.add(place, f"{told} {reason}".rstrip())


@dataclass(frozen=True, slots=True)
class _Targets:
    """Makes the targets of cells: most cells share one."""

    reader: CampaignReader
    _known: dict[tuple[str, str], ScopedValue] = field(default_factory=dict)

    def scope(self, layers: Sequence[Layer], place: KeyPath) -> Scope:
        """Return everything that counts for a cell."""
        scope, merged = merge_layers(layers, place)
        if merged is None:
            return scope
        values = {name: given.value for name, given in merged.table.items() if given.value is not None}
        key = (merged.kind.kind, repr(sorted(values.items())))  # of equal ones, 1 is not true
        if key not in self._known:
            self._known[key] = self._make(layers, merged, values, place)
        return replace(scope, target=self._known[key])

    def _make(
        self, layers: Sequence[Layer], merged: MergedTarget, values: Mapping[str, Any], place: KeyPath
    ) -> ScopedValue:
        at = KeyPath(TARGET, place.configuration)
        problems = merged.kind.faults(values)
        for problem in problems:
            key = (TARGET, merged.kind.kind, *problem.path.removeprefix(".").split("."))
            self.reader.problems.add(_place_of(layers, key, place.configuration), problem.message)
        return ScopedValue(None if problems else merged.kind.make(**values), at, refused=bool(problems))


def _place_of(layers: Sequence[Layer], key: Key, name: str) -> KeyPath:
    """Return where the value stands that is at fault in a cell."""
    word = key[-1].partition("[")[0]
    for layer in reversed(layers):
        for path in (key, (*key[:-1], word)):
            place = layer.place_of(path)
            if place is not None:
                return KeyPath(place.path, name)
    return KeyPath(".".join(key), name)
