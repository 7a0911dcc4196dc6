r"""What one place of a campaign file changes, key by key: targets as well, which are not whole there.

::

    tables of keys -> Layer (read) -> several layers -> Scope of one configuration
                        \-> changes (as TOML has them) for what is written
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from app.campaign_file.disks import tables_by_group
from app.campaign_file.fields import SECTIONS, TARGETS, TargetTable
from app.campaign_file.kinds import CampaignField, Key
from app.campaign_file.problems import KeyPath
from app.campaign_file.scopes import Scope, ScopedValue, Table, merge_tables
from app.domain.campaign.configuration import Configuration, DiskTarget
from app.domain.campaign.matrix import Change
from app.domain.options.filesystem_spec import FilesystemSpec
from app.domain.options.raid import Assembler, Level
from app.storage.layout.partitions import STRIPED

TARGET: Final = "target"

_KINDS: Final = {target.kind: target for target in TARGETS}

_OPTIONS: Final = (TARGET, DiskTarget.kind, "options")


@dataclass(frozen=True, slots=True)
class Layer:
    """What one place says.

    Attributes:
        place: of the layer itself.
        targets: keys of targets by kind; an empty table is a target without keys.
        sections: by name of the table.
        places: of a key, where it is not `place` with the key below it.
    """

    place: KeyPath = field(default_factory=KeyPath)
    targets: Mapping[str, Table] = field(default_factory=dict)
    sections: Mapping[str, Table] = field(default_factory=dict)

    @property
    def chosen_kind(self) -> str:
        """The kind of target that this layer chooses; empty where it only changes keys of one, or none.

        Naming a folder, memory or disks chooses; everything else of disks counts where disks are.
        """
        for kind, table in self.targets.items():
            if kind != DiskTarget.kind or "disks" in table:
                return kind
        return ""

    @property
    def groups(self) -> Mapping[str, Mapping[str, Any]]:
        """Values by attribute, of each group of disks that it says something of; without what was refused."""
        table = self.targets.get(DiskTarget.kind, {})
        return tables_by_group({name: each.value for name, each in table.items() if not each.refused})

    @property
    def is_refused(self) -> bool:
        """Whether any of its values was refused."""
        return any(each.refused for _, _, each in self._values())

    @property
    def given(self) -> frozenset[Key]:
        """Every key that it gives."""
        return frozenset(change.key for change in self.changes())

    def changes(self) -> tuple[Change, ...]:
        """Return everything that it says, in the order of the declarations."""
        found = []
        for kind, table in self.targets.items():
            if not table:
                found.append(Change((TARGET, kind), "{}"))
        for path, each, given in self._values():
            if given.value is None:
                continue
            parts = each.kind.parts(given.value)
            if parts is None:
                found.append(Change((*path, each.name), each.kind.write(given.value)))
            else:
                found += [Change((*path, each.name, *key), text) for key, text in parts]
        return tuple(found)

    def place_of(self, key: Key) -> KeyPath | None:
        """Return where the layer gives a key; None where it does not."""
        for path, each, given in self._values():
            whole = (*path, each.name)
            if key[: len(whole)] == whole and given.value is not None:
                parts = [part for part, _ in each.kind.parts(given.value) or ()]
                rest = key[len(whole) :]
                if not parts or any(part[: len(rest)] == rest[: len(part)] for part in parts):
                    return given.place
        return None

    def _values(self) -> Iterator[tuple[Key, CampaignField, ScopedValue]]:
        for kind, table in self.targets.items():
            yield from _given((TARGET, kind), _KINDS[kind].fields, table)
        for name, fields in SECTIONS.items():
            yield from _given((name,), fields, self.sections.get(name, {}))


def _given(
    path: Key, fields: Iterable[CampaignField], table: Table
) -> Iterator[tuple[Key, CampaignField, ScopedValue]]:
    return ((path, each, table[each.attribute]) for each in fields if each.attribute in table)


def find_field(parts: Sequence[str]) -> tuple[Key, CampaignField, str] | None:
    """Return table and field of a key, and the name of a part below that; None where there is no such key."""
    for path, fields in _every_table():
        if tuple(parts[: len(path)]) != path or len(parts) <= len(path):
            continue
        for each in fields:
            rest = ".".join(parts[len(path) + 1 :])
            if each.name == parts[len(path)] and _has_part(each, rest):
                return path, each, rest
    return None


def _has_part(each: CampaignField, name: str) -> bool:
    try:
        each.kind.whole(name, None)
    except KeyError:
        return False
    return True


def known_keys() -> tuple[str, ...]:
    """Return every key that a dimension may have; NAME is anything."""
    return tuple(
        ".".join((*path, each.name, *filter(None, [part])))
        for path, fields in _every_table()
        for each in fields
        for part in each.kind.part_names
    )


def _every_table() -> Iterator[tuple[Key, tuple[CampaignField, ...]]]:
    yield from (((TARGET, target.kind), target.fields) for target in TARGETS)
    yield from (((name,), fields) for name, fields in SECTIONS.items())


def layer_of(configuration: Configuration) -> Layer:
    """Return the layer that makes this configuration by itself."""
    kind = _KINDS[configuration.target.kind]
    parts = {name: getattr(configuration, name) for name in SECTIONS}
    given = {name: value for name, value in kind.values(configuration.target).items() if value is not None}
    sections = {
        name: _table(fields, KeyPath(name), partial(getattr, parts[name]))
        for name, fields in SECTIONS.items()
    }
    return Layer(
        KeyPath(), {kind.kind: _table(kind.fields, KeyPath(TARGET) / kind.kind, given.get)}, sections
    )


def _table(fields: Iterable[CampaignField], place: KeyPath, value_of: Callable[[str], object]) -> Table:
    values = ((each, value_of(each.attribute)) for each in fields)
    return {
        each.attribute: ScopedValue(value, place / each.name)
        for each, value in values
        if value is not None and value != ()
    }


@dataclass(frozen=True, slots=True)
class MergedTarget:
    """The target that several layers make together.

    Attributes:
        kind: declaration of the target.
        table: its values.
    """

    kind: TargetTable
    table: Table


def target_kind(layers: Sequence[Layer]) -> str:
    """Return the kind of target of several layers, the last one that chooses; empty for none."""
    chosen = [layer.chosen_kind for layer in layers]
    return next((kind for kind in reversed(chosen) if kind), "")


def filesystems_of(layers: Sequence[Layer]) -> dict[str, str]:
    """Return the filesystem of each group of disks that several layers make; empty where that is open."""
    if target_kind(layers) != DiskTarget.kind:
        return {}
    found: dict[str, dict[str, Any]] = {}
    for layer in layers:
        for name, values in layer.groups.items():
            found[name] = {**found.get(name, {}), **values}
    return {name: values.get("filesystem") or "" for name, values in found.items() if "disks" in values}


def merge_layers(layers: Sequence[Layer], place: KeyPath) -> tuple[Scope, MergedTarget | None]:
    """Return sections and target of layers, each over those before it.

    Args:
        layers: the first is what every configuration starts with.
        place: of the configuration.
    """
    sections: dict[str, Table] = {}
    for name, fields in SECTIONS.items():
        table: Table = {}
        for layer in layers:
            if name in layer.sections:
                table = merge_tables(table, layer.sections[name], fields)
        sections[name] = table
    kind = target_kind(layers)
    if not kind:
        return Scope(place, None, sections), None
    merged: Table = {}
    for layer in layers:
        if kind in layer.targets:
            merged = merge_tables(merged, layer.targets[kind], _KINDS[kind].fields)
    return Scope(place, None, sections), MergedTarget(_KINDS[kind], merged)


# --- what a filesystem and its level have; nothing else counts there


SOMETIMES: Final = {
    "chunk_size": "chunk_bytes",
    "bitmap": "bitmap",
    "initial_sync": "initial_sync",
    "read_ahead": "read_ahead_bytes",
}
"""Attributes of the keys that only some levels of some filesystems have."""


def array_keys(spec: FilesystemSpec, level: Level) -> tuple[str, ...]:
    """Return the fields of an md array that a level of this filesystem has."""
    if level not in spec.levels or spec.assembler(level) is not Assembler.MD:
        return ()
    redundant = ("bitmap", "initial_sync") if level is not Level.STRIPE else ()
    return (*(("chunk_size",) if level in STRIPED else ()), *redundant)


def queue_keys(spec: FilesystemSpec) -> tuple[str, ...]:
    """Return the fields of the kernel's settings for disks that act below this filesystem."""
    return ("scheduler",) if spec.several is Assembler.ZFS else ("scheduler", "read_ahead")


def missing_keys(spec: FilesystemSpec, level: Level) -> frozenset[str]:
    """Return the attributes that disks with this filesystem and level do not have."""
    known = {*array_keys(spec, level), *queue_keys(spec)}
    return frozenset(attribute for key, attribute in SOMETIMES.items() if key not in known)


def level_in(layers: Sequence[Layer]) -> Level:
    """Return the level that several layers make, the last one that says it; a single disk where none does."""
    given = (disks_table(layer).get("level") for layer in reversed(layers))
    return next((each.value for each in given if each is not None and each.value), Level.SINGLE)


def disks_table(layer: Layer) -> Table:
    """Return what a layer says of disks."""
    return layer.targets.get(DiskTarget.kind, {})
