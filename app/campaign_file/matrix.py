"""Build the cells of a matrix: combinations of the values of its dimensions, merged as partial documents.

::

    common start + one value of each dimension -> does each value have an effect? -> cells, each once
    cells - exclusions -> names -> keys of each configuration
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from app.campaign_file.dimensions import Dimension, read_dimensions, read_exclusions
from app.campaign_file.disks import DATA_GROUP
from app.campaign_file.fields import MOST_CONFIGURATIONS, SECTIONS
from app.campaign_file.kinds import Key
from app.campaign_file.partial import (
    DISKS,
    SOMETIMES,
    TARGET,
    Given,
    Partial,
    alternative_of,
    changes_of,
    filesystems_of,
    groups_of,
    is_refused,
    kinds_of,
    level_in,
    merge,
    missing_keys,
    over,
    place_of,
    split_group,
    target_kind,
)
from app.campaign_file.problems import KeyPath, Problems
from app.campaign_file.rules import Stated
from app.domain.campaign.configuration import DiskTarget, PostgresChoice, Workload
from app.domain.campaign.matrix import Cell, Matrix, cell_names, is_left_out
from app.domain.errors import did_you_mean
from app.domain.filesystems import filesystem
from app.domain.options.checks import idle_options, is_of_today
from app.domain.options.raid import Assembler, Level
from app.domain.options.refusals import legal_options
from app.domain.text import number_text, tr

if TYPE_CHECKING:
    from app.campaign_file.reader import CampaignReader

MOST_COMBINATIONS: Final = 5_000
"""Most combinations of values that are enumerated, before exclusions."""


@dataclass(frozen=True, slots=True)
class ReadMatrix:
    """A matrix with its configurations and their merged documents.

    Attributes:
        matrix: the declaration, and its cells.
        configurations: one for each cell.
        every: the cells, including excluded ones.
    """

    matrix: Matrix
    configurations: tuple[tuple[str, Stated], ...]
    every: tuple[Cell, ...]


def read_matrix(
    reader: CampaignReader, document: Mapping[str, Any], name: str
) -> tuple[Partial, ReadMatrix | None]:
    """Return the common start of all configurations, and the matrix; None if a problem was reported.

    Args:
        reader: of the campaign.
        document: the file.
        name: of the campaign.
    """
    base = reader.read_partial(document, KeyPath())
    dimensions: tuple[Dimension, ...] | None = None
    if "dimension" in document:
        dimensions = read_dimensions(reader, document["dimension"])
    else:
        sentence = tr("excludes combinations of dimensions, but the file has no [[dimension]].")
        reader.problems.add(KeyPath("exclude"), sentence)
    if "configuration" in document:
        sentence = tr(
            "cannot be used with [[dimension]]. Make these configurations values of a dimension, each "
            "starting with [[dimension.value]]."
        )
        reader.problems.add(KeyPath("configuration"), sentence)
        return {}, None
    if dimensions is None or is_refused(base):
        return {}, None
    base = _stated(base, dimensions)
    return over({}, base), expand(reader, base, dimensions, document.get("exclude", []), name)


def every_cell(base: Partial, dimensions: Sequence[Dimension]) -> tuple[Cell, ...]:
    """Return the cells of dimensions, before exclusions; none if there are too many to enumerate."""
    if math.prod(len(each.partials) for each in dimensions) > MOST_COMBINATIONS:
        return ()
    return _Combinations(base, tuple(dimensions)).cells()


def expand(
    reader: CampaignReader,
    base: Partial,
    dimensions: Sequence[Dimension],
    exclusions: object,
    name: str,
) -> ReadMatrix | None:
    """Return the configurations of a matrix; None if there is a problem, which is reported.

    Args:
        reader: of the campaign.
        base: common start of all configurations.
        dimensions: individually valid.
        exclusions: as in TOML.
        name: of a configuration without differences.
    """
    product = math.prod(len(each.partials) for each in dimensions)
    if product > MOST_COMBINATIONS:
        sentence = tr(
            "{sizes} values make {product} combinations; at most {most} are allowed. Measured once for one "
            "minute each, they would take {days} days."
        )
        sizes = " x ".join(str(len(each.partials)) for each in dimensions)
        days = number_text(product / 1440, ",.0f")
        message = sentence.format(
            sizes=sizes,
            product=number_text(product, ","),
            most=number_text(MOST_COMBINATIONS, ","),
            days=days,
        )
        reader.problems.add(KeyPath("dimension"), message)
        return None
    left_out = read_exclusions(reader, exclusions, dimensions)
    combinations = _Combinations(base, tuple(dimensions))
    cells = combinations.cells()
    if left_out is None or not _all_count(reader.problems, combinations, cells):
        return None
    kept = tuple(cell for cell in cells if not any(is_left_out(cell, each) for each in left_out))
    for number, each in enumerate(left_out, start=1):
        if not any(is_left_out(cell, each) for cell in cells):
            sentence = tr("excludes nothing: it matches no configuration.")
            reader.problems.add(KeyPath(f"exclude[{number}]"), sentence)
    if not kept:
        sentence = tr("excludes all {count} configurations, so nothing is left to measure.")
        reader.problems.add(KeyPath("exclude"), sentence.format(count=len(cells)))
    if len(kept) > MOST_CONFIGURATIONS:
        sentence = tr("{count} configurations are too many; at most {most} are allowed.")
        message = sentence.format(
            count=number_text(len(kept), ","), most=number_text(MOST_CONFIGURATIONS, ",")
        )
        reader.problems.add(KeyPath("dimension"), message)
        return None
    declared = tuple(each.declared for each in dimensions)
    matrix = Matrix(changes_of(base), declared, left_out, kept, len(cells) - len(kept))
    names = cell_names(declared, kept, name)
    noted: set[str] = set()
    stated = (
        _state(reader, combinations.partials(cell), each, noted)
        for cell, each in zip(kept, names, strict=True)
    )
    return ReadMatrix(matrix, tuple(zip(names, stated, strict=True)), cells)


def _state(reader: CampaignReader, partials: Sequence[Partial], name: str, noted: set[str]) -> Stated:
    """Return the merged document of a cell.

    Args:
        reader: collects the problems of its target.
        partials: documents of the cell.
        name: of the cell.
        noted: targets with problems already reported.
    """
    given = merge(partials)
    if kind := target_kind(partials):
        given[TARGET, kind] = Given({}, KeyPath(f"{TARGET}.{kind}", name))
    target, problems = reader.make_target(given)
    known = repr([(key, each.value) for key, each in given.items() if key[0] == TARGET])
    if problems and known not in noted:
        noted.add(known)
        for problem in problems:
            place = _place_of(partials, (TARGET, *f"{kind}{problem.path}".split(".")), name)
            reader.problems.add(place, problem.message)
    return Stated(KeyPath("", name), given, target)


def _stated(base: Partial, dimensions: Sequence[Dimension]) -> Partial:
    """Return the common start with defaults stated, because later versions may have others.

    Not the warm-up if anything sets the state of caches: cold ones have none.
    """
    partials = (base, *(partial for each in dimensions for partial in each.partials))
    about_caches = any(("workload", "caches") in partial for partial in partials)
    usual = {"postgresql": PostgresChoice(), "workload": Workload()}
    found = {key: given for key, given in base.items() if key[0] == TARGET}
    for name, fields in SECTIONS.items():
        for each in fields:
            key, value = (name, each.name), getattr(usual[name], each.attribute)
            own = {found: given for found, given in base.items() if found[:2] == key}
            is_open = not own and alternative_of(key) not in base
            if is_open and value is not None and value != () and not (each.name == "warmup" and about_caches):
                own = {key: Given(value, KeyPath(".".join(key)))}
            found |= own
    return found


@dataclass(frozen=True, slots=True)
class _Combinations:
    """The valid combinations of values."""

    base: Partial
    dimensions: tuple[Dimension, ...]
    _fitting: dict[tuple[int, Situation], Partial] = field(default_factory=dict)
    """Documents without ineffective keys, by id and situation."""

    def cells(self) -> tuple[Cell, ...]:
        """Return every cell once, the last dimension changing fastest."""
        found: dict[Cell, None] = {}
        for values in itertools.product(*(range(len(each.partials)) for each in self.dimensions)):
            cell = self._cell(values)
            if cell is not None:
                found[cell] = None
        return tuple(found)

    def partials(self, cell: Cell) -> list[Partial]:
        """Return the documents of a cell, without ineffective keys."""
        chosen = self.chosen(cell)
        there = situation_of(chosen)
        for partial in chosen:
            key = (id(partial), there)
            if key not in self._fitting:
                fit = fitting_start if partial is self.base else _fitting
                self._fitting[key] = fit(partial, there)
        return [self._fitting[id(partial), there] for partial in chosen]

    def chosen(self, cell: Cell) -> list[Partial]:
        """Return the documents of a cell as given."""
        return [
            self.base,
            *(
                each.partials[value]
                for each, value in zip(self.dimensions, cell, strict=True)
                if value is not None
            ),
        ]

    def _cell(self, values: tuple[int, ...]) -> Cell | None:
        """Return the cell of a combination; None if a value has no effect and another would have."""
        partials = self.chosen(values)
        there = situation_of(partials)
        cell: list[int | None] = []
        for place, value in enumerate(values):
            if counts(partials[place + 1], there):
                cell.append(value)
            elif self._any_counts(place, partials):
                return None
            else:
                cell.append(None)
        return tuple(cell)

    def _any_counts(self, place: int, partials: list[Partial]) -> bool:
        for partial in self.dimensions[place].partials:
            if counts(partial, situation_of([*partials[: place + 1], partial, *partials[place + 2 :]])):
                return True
        return False


@dataclass(frozen=True, slots=True)
class MadeGroup:
    """A group of disks as merged from several documents.

    Attributes:
        name: of the group.
        filesystem: its id; empty if undecided.
        idle: (option, reason) for options without a possible value, given the others.
    """

    name: str
    filesystem: str
    idle: tuple[tuple[str, str], ...] = ()

    @property
    def options(self) -> frozenset[str]:
        """The options that a value can change; empty if the filesystem is undecided."""
        return frozenset(each.id for each in filesystem(self.filesystem).options) - dict(self.idle).keys()

    @property
    def presets(self) -> frozenset[str]:
        """The presets of a known filesystem, without those that only old kernels had."""
        spec = filesystem(self.filesystem)
        return frozenset(each.id for each in spec.presets if is_of_today(spec, each))


@dataclass(frozen=True, slots=True)
class Situation:
    """The merged facts that decide which values have an effect.

    Attributes:
        kind: of the target.
        made: groups of disks.
        level: of the data's disks.
    """

    kind: str
    made: tuple[MadeGroup, ...]
    level: Level

    def group(self, name: str) -> MadeGroup | None:
        """Return a group; None if it has no disks."""
        return next((each for each in self.made if each.name == name), None)


def situation_of(partials: Sequence[Partial]) -> Situation:
    """Return the situation that documents create together."""
    made = filesystems_of(partials)
    groups = (MadeGroup(name, spec_id, _idle_in(partials, name, spec_id)) for name, spec_id in made.items())
    return Situation(target_kind(partials), tuple(groups), level_in(partials))


def _idle_in(partials: Sequence[Partial], name: str, spec_id: str) -> tuple[tuple[str, str], ...]:
    if not spec_id:
        return ()
    values: dict[Key, Any] = {}
    for partial in partials:
        values |= groups_of(partial).get(name, {})
    options = tuple((key[1], value) for key, value in values.items() if key[:1] == ("options",) and key[1:])
    return _idle(spec_id, values.get(("preset",), ""), options, values.get(("level",)))


@lru_cache(maxsize=4096)
def _idle(
    spec_id: str, preset: str, options: tuple[tuple[str, Any], ...], level: Level | None
) -> tuple[tuple[str, str], ...]:
    spec = filesystem(spec_id)
    chosen = next((each.options for each in spec.presets if each.id == preset), {})
    return tuple(idle_options(spec, dict(chosen) | legal_options(spec, options), level).items())


def counts(partial: Partial, there: Situation) -> bool:
    """Return whether a value has any effect.

    Keys of a target need such a target; keys of a further group need its disks; options and presets need a
    filesystem that has one of them; keys of arrays of the data need an array.

    Args:
        partial: the value.
        there: the situation that the values create together.
    """
    data, groups = there.group(DATA_GROUP), groups_of(partial)
    if data and data.filesystem and _is_of_arrays(partial):
        missing = missing_keys(filesystem(data.filesystem), there.level)
        return not {name for (name,) in groups[DATA_GROUP]} <= missing
    kinds = kinds_of(partial)
    if kinds and there.kind not in kinds:
        return False
    if not groups or there.kind != DiskTarget.kind:
        return True
    return any(_group_counts(values, name, there.group(name)) for name, values in groups.items())


def _group_counts(values: Mapping[Key, Any], name: str, made: MadeGroup | None) -> bool:
    if made is None:
        return name == DATA_GROUP
    options, presets = _options(values), _presets(values)
    if not (options or presets) or not made.filesystem:
        return True
    return bool(options & made.options or presets & made.presets)


def _is_of_arrays(partial: Partial) -> bool:
    """Whether a value changes only keys that some levels of some filesystems have."""
    keys = partial.keys() - {DISKS}
    return bool(keys) and {(*DISKS, name) for name in SOMETIMES}.issuperset(keys)


def fitting_start(base: Partial, there: Situation) -> Partial:
    """Return the common start, without keys that its filesystems do not have."""
    # A group without known disks is kept, so that its missing keys are reported.
    others = tuple(MadeGroup(name, "") for name in groups_of(base) if there.group(name) is None)
    base = _fitting(base, replace(there, made=(*there.made, *others)))
    data = there.group(DATA_GROUP)
    if data is None or not data.filesystem:
        return base
    spec = filesystem(data.filesystem)
    gone = missing_keys(spec, there.level) | (set() if spec.several is Assembler.ZFS else {"zfs_log"})
    return {key: given for key, given in base.items() if key[:2] != DISKS or "".join(key[2:]) not in gone}


def _options(values: Mapping[Key, Any]) -> frozenset[str]:
    return frozenset(key[1] for key in values if key[:1] == ("options",) and key[1:])


def _presets(values: Mapping[Key, Any]) -> frozenset[str]:
    return frozenset(filter(None, [values.get(("preset",))]))


def _fitting(partial: Partial, there: Situation) -> Partial:
    """Return a value without keys that its filesystems do not have, and without groups that have no disks."""
    return {key: given for key, given in partial.items() if _is_known(key, given, there)}


def _is_known(key: Key, given: Given, there: Situation) -> bool:
    group = split_group(key)
    if group is None:
        return True
    name, rest = group
    made = there.group(name)
    if made is None or not made.filesystem:
        return made is not None or name == DATA_GROUP
    if rest[:1] == ("options",) and rest[1:]:
        return rest[1] in made.options
    return rest != ("preset",) or given.value in made.presets


def _all_count(problems: Problems, combinations: _Combinations, cells: Sequence[Cell]) -> bool:
    """Whether every value has an effect somewhere, and all its options exist there; else report it."""
    before = problems.count
    situations = [situation_of(combinations.chosen(cell)) for cell in cells]
    kinds = {each.kind for each in situations}
    for number, dimension in enumerate(combinations.dimensions):
        for value, (partial, place) in enumerate(zip(dimension.partials, dimension.places, strict=True)):
            used = [there for cell, there in zip(cells, situations, strict=True) if cell[number] == value]
            if kinds_of(partial) and not kinds & kinds_of(partial):
                sentence = tr("has no effect: no configuration has such a target.")
                problems.add(place, sentence)
                continue
            if _is_of_arrays(partial) and not used:
                sentence = tr("has no effect: no configuration has such a target.")
                problems.add(place, sentence)
                continue
            where = used or [situation_of([*combinations.chosen(cell), partial]) for cell in cells]
            _check_groups(problems, partial, place, where, situations)
    for name, values in groups_of(combinations.base).items():
        _check_exist(problems, KeyPath(TARGET), values, _groups(situations, name))
    return problems.count == before


def _check_groups(
    problems: Problems,
    partial: Partial,
    place: KeyPath,
    used: Sequence[Situation],
    situations: Sequence[Situation],
) -> None:
    for name, values in groups_of(partial).items():
        if not any(each.group(name) for each in situations):
            sentence = tr("has no effect: no configuration has disks for “{group}”.")
            problems.add(place, sentence.format(group=name))
            continue
        _check_exist(problems, place, values, _groups(used, name) or _groups(situations, name))


def _groups(situations: Iterable[Situation], name: str) -> list[MadeGroup]:
    """Return the distinct forms of a group that have a known filesystem."""
    found = {made: None for each in situations if (made := each.group(name)) and made.filesystem}
    return sorted(found, key=lambda made: made.filesystem)


def _check_exist(
    problems: Problems, place: KeyPath, values: Mapping[Key, Any], groups: Sequence[MadeGroup]
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
            sentence = tr("{what} “{name}” cannot be used with {filesystems}.")
            message = sentence.format(what=what, name=name, filesystems=labels)
            reason = why.get(name) or did_you_mean(name[:80], sorted(known))
            problems.add(place, f"{message} {reason}".rstrip())


def _place_of(partials: Sequence[Partial], key: Key, name: str) -> KeyPath:
    """Return the place of the value at fault in a cell."""
    word = key[-1].partition("[")[0]
    for partial in reversed(partials):
        for path in (key, (*key[:-1], word)):
            place = place_of(partial, path)
            if place is not None:
                return KeyPath(place.path, name)
    return KeyPath(".".join(key), name)
