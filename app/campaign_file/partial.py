r"""Partial documents: the keys given at one place of a campaign file, and their merged values.

::

    table -> Partial (read) -> merged over those before it -> values of one configuration
                            \-> changes (as TOML has them) for the writer
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Final, TypeVar

from app.campaign_file.disks import FURTHER_GROUPS
from app.campaign_file.fields import SECTIONS, TARGETS, attributes
from app.campaign_file.kinds import (
    CampaignField,
    Key,
    TableKind,
    dotted_keys,
    find_key,
    join_values,
    plain_key,
    split_values,
)
from app.campaign_file.problems import KeyPath
from app.domain.campaign.configuration import Configuration, DiskTarget, Target
from app.domain.campaign.matrix import Change
from app.domain.options.filesystem_spec import FilesystemSpec
from app.domain.options.raid import STRIPED, Assembler, Level

TARGET: Final = "target"
DISKS: Final = (TARGET, DiskTarget.kind)
SETTINGS: Final = ("postgresql", "settings")

TABLES: Final[Mapping[Key, tuple[CampaignField, ...]]] = {
    **{(TARGET, target.kind): target.fields for target in TARGETS},
    **{(name,): fields for name, fields in SECTIONS.items()},
}
"""The fields of each table about a configuration."""

_ALTERNATIVES: Final = {
    (*path, each.name): (*path, next(other.name for other in fields if other.attribute == each.instead_of))
    for path, fields in TABLES.items()
    for each in fields
    if each.instead_of
}

_RANKS: Final = {
    (*path, each.name): number
    for number, (path, each) in enumerate((path, each) for path, fields in TABLES.items() for each in fields)
}


KeyT = TypeVar("KeyT")
ValueT = TypeVar("ValueT")


@dataclass(frozen=True, slots=True)
class Given:
    """A value and its place.

    Attributes:
        value: as the domain represents it; None if it was refused, missing, or its alternative was given.
        place: for messages.
        refused: whether it was refused, which is reported.
    """

    value: Any
    place: KeyPath
    refused: bool = False


Partial = dict[Key, Given]
"""The values of a document by key, each key of a table separately.

Includes the tables of targets, with an empty table as their value, and groups of disks without keys.
"""


def given_at(key: Key, field: CampaignField, given: Given) -> Partial:
    """Return the document of the value of one field: of a table, each of its keys."""
    if given.value is None or not isinstance(field.kind, TableKind):
        return {key: given}
    parts = field.kind.split(given.value)
    return {(*key, *part): replace(given, value=value) for part, value in parts.items()} or {
        key: replace(given, value={})
    }


def merge(partials: Iterable[Partial]) -> Partial:
    """Merge several partial documents into one; later ones override earlier ones.

    A key that replaces another removes it. Keys of targets apply to the kind chosen last.
    """
    partials = tuple(partials)
    kind = target_kind(partials)
    return {
        key: given
        for key, given in reduce(over, partials, Partial()).items()
        if key[0] != TARGET or key[1:2] == (kind,)
    }


def over(below: Partial, above: Partial) -> Partial:
    """Merge two partial documents; `above` overrides `below`."""
    merged = below | above
    for key, other in _ALTERNATIVES.items():
        if key in above and other not in above:
            merged[other] = Given(None, above[key].place)
    return merged


def is_refused(partial: Partial) -> bool:
    """Return whether any of its values was refused."""
    return any(each.refused for each in partial.values())


def values_at(partial: Partial, path: Key, fields: Iterable[CampaignField]) -> dict[str, Any] | None:
    """Return the values of a table by attribute; None if one of them was refused."""
    below = {key[len(path) :]: each for key, each in partial.items() if key[: len(path)] == path}
    if is_refused(below):
        return None
    return join_values({key: each.value for key, each in below.items()}, fields)


def partial_of(configuration: Configuration) -> Partial:
    """Return the document of a single configuration."""
    made = partial_of_target(configuration.target, KeyPath(TARGET))
    for name in SECTIONS:
        made |= _partial_of_values((name,), attributes(getattr(configuration, name)), KeyPath(name))
    return made


def partial_of_target(target: Target, place: KeyPath) -> Partial:
    """Return the document of a target, given at `place`."""
    kind = next(each for each in TARGETS if each.kind == target.kind)
    path, place = (TARGET, kind.kind), place / kind.kind
    return {path: Given({}, place)} | _partial_of_values(path, kind.values(target), place)


def _partial_of_values(path: Key, values: Mapping[str, Any], place: KeyPath) -> Partial:
    said = {name: value for name, value in values.items() if value != ()}
    parts = split_values(said, TABLES[path])
    return {(*path, *key): Given(value, place / key[0]) for key, value in parts.items()}


def changes_of(partial: Partial) -> tuple[Change, ...]:
    """Return everything in a partial document, in the order of the declarations."""
    empty = {(TARGET, kind) for kind in kinds_of(partial)} - {key[:2] for key in partial if len(key) > 2}
    given = ((key, each.value) for key, each in sorted(partial.items(), key=_rank))
    return tuple(
        Change(key, {} if key in empty else _plain_of(key, value))
        for key, value in given
        if key in empty or value not in (None, {})
    )


def _rank(item: tuple[Key, Given]) -> tuple[int, int]:
    key, _ = item
    _, rest = split_group(key) or ("", ())
    return _RANKS.get(key[: 3 if key[0] == TARGET else 2], -1), _RANKS.get((*DISKS, *rest[:1]), -1)


def _plain_of(key: Key, value: Any) -> Any:  # noqa: ANN401
    path = key[:2] if key[0] == TARGET else key[:1]
    return plain_key(key[len(path) :], value, TABLES[path])


def nested(changes: Iterable[Change]) -> dict[str, Any]:
    """Return the tables that give these keys, as TOML has them."""
    tables: dict[str, Any] = {}
    for change in changes:
        table = tables
        for name in change.key[:-1]:
            table = table.setdefault(name, {})
        table[change.key[-1]] = change.value
    return tables


def alike(tables: Sequence[Mapping[KeyT, ValueT]]) -> dict[KeyT, ValueT]:
    """Return what is the same in all of several tables, in the order of the first."""
    first, *others = tables
    return {key: each for key, each in first.items() if all(other.get(key) == each for other in others)}


def given_keys(partial: Partial) -> frozenset[Key]:
    """Return every key with a value in a partial document."""
    return frozenset(change.key for change in changes_of(partial))


def place_of(partial: Partial, key: Key) -> KeyPath | None:
    """Return the place that gives a key, or a part of its table; None if none does."""
    for found, given in partial.items():
        if (
            len(found) > len(DISKS)
            and given.value is not None
            and (found[: len(key)] == key or key[: len(found)] == found)
        ):
            return given.place
    return None


def find_field(dotted: str) -> tuple[Key, CampaignField, Key] | None:
    """Return table and field of a dotted key, and the rest below the field; None if there is no such key."""
    names = dotted.split(".")
    for path, fields in TABLES.items():
        if tuple(names[: len(path)]) == path:
            key = find_key(names[len(path) :], fields)
            if key is not None:
                return path, next(each for each in fields if each.name == key[0]), key[1:]
    return None


def known_keys() -> tuple[str, ...]:
    """Return every key that a dimension may have; NAME stands for any name."""
    return tuple(".".join((*path, *key)) for path, fields in TABLES.items() for key in dotted_keys(fields))


def alternative_of(key: Key) -> Key | None:
    """Return the key that replaces this one; None if there is none."""
    return _ALTERNATIVES.get(key)


# --- targets, and groups of disks


def kinds_of(partial: Partial) -> frozenset[str]:
    """Return the kinds of targets that have keys in a partial document."""
    return frozenset(key[1] for key in partial if key[0] == TARGET and key[1:])


def chosen_kind(partial: Partial) -> str:
    """Return the kind of target that a partial document chooses; empty if it only changes keys of one.

    A folder, memory, a server or disks choose it; all other keys of disks apply only to disks.
    """
    kinds = (key[1] for key in partial if key[0] == TARGET and key[1:])
    return next((kind for kind in kinds if kind != DiskTarget.kind or (*DISKS, "data") in partial), "")


def target_kind(partials: Sequence[Partial]) -> str:
    """Return the kind of target of several partial documents, chosen last; empty for none."""
    return next(filter(None, map(chosen_kind, reversed(partials))), "")


def split_group(key: Key) -> tuple[str, Key] | None:
    """Return the group of disks and the rest of a key of disks; None for another key.

    Keys of the target outside of further groups belong to the data's group, named by an empty text.
    """
    if key[:2] != DISKS or len(key) < 3:
        return None
    return (key[2], key[3:]) if key[2] in FURTHER_GROUPS else ("", key[2:])


def groups_of(partial: Partial) -> dict[str, dict[Key, Any]]:
    """Return the values of each group of disks by key, without refused ones."""
    found: dict[str, dict[Key, Any]] = {}
    for key, given in partial.items():
        group = split_group(key)
        if group is not None and not given.refused:
            name, rest = group
            found.setdefault(name, {})[rest] = given.value
    return found


def filesystems_of(partials: Sequence[Partial]) -> dict[str, str]:
    """Return the filesystem of each group of disks of several documents; empty if undecided."""
    if target_kind(partials) != DiskTarget.kind:
        return {}
    found: dict[str, dict[Key, Any]] = {}
    for partial in partials:
        for name, values in groups_of(partial).items():
            found.setdefault(name, {}).update(values)
    return {name: values.get(("filesystem",)) or "" for name, values in found.items() if ("data",) in values}


# --- keys of a filesystem and its level; no others apply there


SOMETIMES: Final = frozenset({"chunk_size", "bitmap", "initial_sync", "read_ahead"})
"""Keys that only some levels of some filesystems have."""


def array_keys(spec: FilesystemSpec, level: Level) -> tuple[str, ...]:
    """Return the fields of an md array that a level of this filesystem has."""
    if level not in spec.levels or spec.assembler(level) is not Assembler.MD:
        return ()
    redundant = ("bitmap", "initial_sync") if level is not Level.STRIPE else ()
    return (*(("chunk_size",) if level in STRIPED else ()), *redundant)


def queue_keys(spec: FilesystemSpec) -> tuple[str, ...]:
    """Return the fields of kernel settings for disks that take effect below this filesystem."""
    return ("scheduler",) if spec.several is Assembler.ZFS else ("scheduler", "read_ahead")


def missing_keys(spec: FilesystemSpec, level: Level) -> frozenset[str]:
    """Return the keys that disks with this filesystem and level do not have."""
    return SOMETIMES - {*array_keys(spec, level), *queue_keys(spec)}


def level_in(partials: Sequence[Partial]) -> Level:
    """Return the level of several documents, given last; a single disk if none gives one."""
    given = (partial.get((*DISKS, "level")) for partial in reversed(partials))
    return next((each.value for each in given if each is not None and each.value), Level.SINGLE)
