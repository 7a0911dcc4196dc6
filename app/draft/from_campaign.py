"""Convert a campaign back to a draft: recipes, files, earlier campaigns; and keep a draft across restarts."""

from __future__ import annotations

import dataclasses
import json
import os
import tomllib
import types
import typing
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Any, Final

from app.campaign_file.dimensions import word_of
from app.campaign_file.disks import values_of_group
from app.campaign_file.fields import SECTIONS
from app.campaign_file.kinds import Key
from app.campaign_file.matrix import fitting_start, situation_of
from app.campaign_file.partial import TABLES, TARGET, Partial, alike, given_keys, merge, nested
from app.campaign_file.problems import KeyPath, Problems
from app.campaign_file.reader import CampaignReader, build_configuration
from app.campaign_file.rules import Stated
from app.domain.campaign.configuration import (
    Campaign,
    Configuration,
    DataSize,
    DiskTarget,
    GroupChoice,
    Script,
    Target,
)
from app.domain.campaign.matrix import Change, DimensionValue, Matrix, MatrixDimension, default_name
from app.domain.errors import FootingError, UsageError
from app.domain.filesystems import filesystem
from app.domain.storage_plan.plan import Role
from app.domain.text import tr
from app.draft.disks.target import PREFIX, read_option, read_target, write_option
from app.draft.fields.phases import phase_part, script_parts
from app.draft.fields.state import (
    CHANGEABLE,
    FIELDS,
    OF_PAGES,
    OWN_SCRIPTS,
    SETTINGS,
    TYPED_FIELDS,
    TYPED_OF_CAMPAIGN,
    ConfigurationDraft,
    DisksDraft,
    DraftParts,
    GroupDraft,
    MadeDraft,
    Place,
    alternative,
    first_values,
    put,
)
from app.draft.fields.text import write_settings, write_text
from app.hosts.folders.own_folders import create_state_folder

# Convert the matrix of a campaign to a draft: fields of the first pages, dimensions, exclusions. Pure.


_FILESYSTEM: Key = ("target", DiskTarget.kind, "filesystem")
_SETTINGS: Key = ("postgresql", "settings")


def excluded_names(matrix: Matrix) -> list[dict[str, list[str]]]:
    """Return the names of the values of each exclusion, by the name of their dimension."""
    return [
        {
            matrix.dimensions[place].name: [matrix.dimensions[place].values[value].name for value in values]
            for place, values in exclusion
        }
        for exclusion in matrix.exclusions
    ]


def open_matrix(campaign: Campaign, matrix: Matrix) -> tuple[Configuration, list[MatrixDimension]]:
    """Return the content of the pages before the dimensions, and the dimensions that build this matrix again.

    The pages show the values that every configuration starts with; a key that only a dimension sets shows its
    first value. Options that the pages cannot show are dimensions with a single value.
    """
    reader = CampaignReader(Path("/"), Problems())
    start = _fitting(_filling(matrix), matrix.shared)
    partials = [reader.read_partial(nested(changes), KeyPath()) for changes in (start, matrix.shared)]
    made = None if reader.problems.count else _configuration(reader, partials, campaign.name)
    if made is None:  # such as a script that is no longer readable
        return campaign.configurations[0], [*matrix.dimensions]
    fits = given_keys(fitting_start(partials[1], situation_of(partials)))
    lost = [each for each in matrix.shared if each.key not in fits and _is_option(each)]
    return made, [*matrix.dimensions, *map(_single, lost)]


def _filling(matrix: Matrix) -> list[Change]:
    """Return for each dimension the changes common to all its values, as one of them states them.

    That is the first value; of filesystems the first that has the common options.
    """
    wanted = {each.key[3] for each in matrix.shared if _is_option(each)}
    found = []
    for each in matrix.dimensions:
        everywhere = set.intersection(*({change.key for change in value.changes} for value in each.values))
        found += [change for change in _chosen(each, wanted).changes if change.key in everywhere]
    return found


def _fitting(filling: Sequence[Change], shared: Sequence[Change]) -> list[Change]:
    """Return the changes for the pages, without those that may suit only one filesystem of a dimension.

    The pages show the common starting filesystem. Filesystems have options of the same name with other
    limits, and one may allow server settings that another forbids (full_page_writes); the dimensions set them
    anyway.
    """
    shown = next((each.value for each in (*shared, *filling) if each.key == _FILESYSTEM), "")
    options = {each.id: each for each in filesystem(shown).options} if shown else {}
    return [
        each
        for each in filling
        if each.key[:2] != _SETTINGS
        if not _is_option(each)
        or each.key[3] not in options
        or read_option(options[each.key[3]], str(each.value)) is not None
    ]


def _chosen(dimension: MatrixDimension, wanted: set[str]) -> DimensionValue:
    for value in dimension.values:
        name = next((change.value for change in value.changes if change.key == _FILESYSTEM), "")
        if name and wanted <= {each.id for each in filesystem(name).options}:
            return value
    return dimension.values[0]


def _configuration(reader: CampaignReader, partials: Sequence[Partial], name: str) -> Configuration | None:
    there = situation_of(partials)
    given = merge(fitting_start(each, there) for each in partials)
    target, _ = reader.make_target(given)
    return build_configuration(name, Stated(KeyPath(), given, target))


def _is_option(change: Change) -> bool:
    return change.key[:3] == ("target", DiskTarget.kind, "options") and len(change.key) == 4


def _single(change: Change) -> MatrixDimension:
    key = ".".join(change.key)
    return MatrixDimension(default_name(key), (DimensionValue(word_of(change.value), (change,)),), key)


_NAMES: Final = {
    Place.FOLDER: tr("folder"),
    Place.MEMORY: tr("memory"),
    Place.DISKS: tr("disks"),
    Place.SERVER: tr("server"),
}


def first_parts(repeats: int = 0, *, on_disks: bool = False) -> DraftParts:
    """Return the draft of a first look: the default folder against memory, or spare disks.

    Args:
        repeats: runs per configuration; 0 for the default of a campaign file.
        on_disks: tick only spare disks.
    """
    parts = DraftParts()
    parts.values["repeats"] = str(repeats) if repeats else ""
    ticked = {Place.DISKS} if on_disks else {Place.FOLDER, Place.MEMORY}
    _complete_where(parts, ticked=frozenset(ticked))
    return parts


def tick_disks(parts: DraftParts) -> None:
    """Tick spare disks on the first page, in addition to existing ticks."""
    for each in parts.configurations:
        if each.from_where and each.place is Place.DISKS:
            each.chosen = True


def parts_of(campaign: Campaign) -> DraftParts:
    """Return fields that build this campaign again.

    The pages before the list show the first configuration; differences of others are their changes, except
    that settings are on the second page only if all configurations have them. For a matrix the pages show the
    values that every configuration starts with.
    """
    if campaign.matrix is not None:
        first, dimensions = open_matrix(campaign, campaign.matrix)
        parts = parts_of(replace(campaign, configurations=(first,), matrix=None))
        (only,) = parts.chosen()
        only.name = place_name(only.place)
        parts.dimensions, parts.left_out = dimensions, excluded_names(campaign.matrix)
        return parts
    first = campaign.configurations[0]
    shared = tuple(alike([dict(each.postgresql.settings) for each in campaign.configurations]).items())
    parts = DraftParts(
        seeds=campaign.seeds,
        order_seed=campaign.order_seed,
        remarks=campaign.remarks,
        question=campaign.question,
        figures=campaign.figures,
    )
    for key in OF_PAGES:
        if _value(first, key) is not None:
            put(parts.values, key, write_text(FIELDS[key], _value(first, key)))
    for key in TYPED_OF_CAMPAIGN:
        parts.values[key] = write_text(FIELDS[key], getattr(campaign, FIELDS[key].attribute))
    if not campaign.repeat_disturbed:
        parts.values["repeat_disturbed"] = ""
    parts.values[SETTINGS] = write_settings(shared)
    if not _is_plain(first.workload.scripts):
        parts.values["workload.script"] = OWN_SCRIPTS
        parts.scripts = script_parts(first.workload.scripts)
    parts.phases = [phase_part(phase) for phase in first.workload.phases]
    of_pages = {Place(each.target.kind): each.target for each in reversed(campaign.configurations)}
    for target in of_pages.values():
        parts.values |= _texts_of(target)
    parts.disks = disks_of(of_pages.get(Place.DISKS))
    for each in campaign.configurations:
        place = Place(each.target.kind)
        own_place = of_pages[place] != each.target
        texts = _texts_of(each.target) if own_place else {}
        texts |= _changes(first, each)
        settings = tuple(pair for pair in each.postgresql.settings if pair not in shared)
        texts |= {SETTINGS: write_settings(settings)} if settings else {}
        taken = any(other.from_where and other.place is place for other in parts.configurations)
        made = ConfigurationDraft(each.name, place, texts, from_where=not (own_place or texts or taken))
        if own_place:
            _set_own_place(made, parts.disks, each.target)
        parts.configurations.append(made)
    _complete_where(parts, ticked=frozenset())
    return parts


def with_places(parts: DraftParts) -> DraftParts:
    """Return a draft with the configurations of all check boxes of the first page."""
    _complete_where(parts, ticked=frozenset())
    return parts


def place_name(place: Place) -> str:
    """Return the default name of the configuration of a check box of the first page."""
    return _NAMES.get(place, "")


def _complete_where(parts: DraftParts, *, ticked: Collection[Place]) -> None:
    """Add the missing configurations of the first page's check boxes."""
    for place, name in _NAMES.items():
        if not any(each.from_where and each.place is place for each in parts.configurations):
            made = ConfigurationDraft(name, place, from_where=True, chosen=place in ticked)
            parts.configurations.append(made)


def _changes(first: Configuration, configuration: Configuration) -> dict[str, str]:
    """Return the texts of keys whose value is not that of the first configuration."""
    return {
        key: write_text(FIELDS[key], _value(configuration, key))
        for key in CHANGEABLE
        if _value(configuration, key) != _value(first, key)
        and (_value(configuration, key) is not None or _stands(configuration, key))
    }


def _stands(configuration: Configuration, key: str) -> bool:
    """Whether None is a stated value, and not only the unused alternative."""
    instead = FIELDS[key].instead_of
    if not instead:
        return True
    section = key.partition(".")[0]
    other = next(field for field in SECTIONS[section] if field.attribute == instead)
    return _value(configuration, f"{section}.{other.name}") is None


def _value(configuration: Configuration, key: str) -> object:
    part = getattr(configuration, key.partition(".")[0])
    value: object = getattr(part, FIELDS[key].attribute)
    return value


def _texts_of(target: Target) -> dict[str, str]:
    """Return the texts of a target's keys; spare disks have their own fields."""
    if isinstance(target, DiskTarget):
        return {}
    fields = TABLES[TARGET, target.kind]
    return {
        f"{TARGET}.{target.kind}.{each.name}": write_text(each, getattr(target, each.attribute))
        for each in fields
    }


def _is_plain(scripts: Sequence[Script]) -> bool:
    return len(scripts) == 1 and scripts[0].builtin is not None and scripts[0].weight == 1


# --- From a target on spare disks back to the fields of its pages


def disks_of(target: Target | None) -> DisksDraft:
    """Return fields that build this target again; empty ones if it is not on disks."""
    if not isinstance(target, DiskTarget):
        return DisksDraft()
    limit = write_text(FIELDS[f"{PREFIX}memory_limit"], target.memory_limit_bytes)
    further = {role: _group(group) for role, group in target.further.items()}
    return DisksDraft(
        _group(target.data),
        further.get(Role.WAL, GroupDraft()),
        list(target.zfs_log),
        limit,
        tables=further.get(Role.TABLES, GroupDraft()),
        indexes=further.get(Role.INDEXES, GroupDraft()),
    )


def _set_own_place(configuration: ConfigurationDraft, disks: DisksDraft, target: Target) -> None:
    """Set how a target differs from the pages: on disks in the layout of the same ones, or in everything."""
    if not isinstance(target, DiskTarget):
        configuration.place = Place(f"other-{configuration.place}")
        return
    made, wal_apart = made_of(target.data), target.wal is not None
    if read_target(disks, made, wal_apart=wal_apart).target == target:
        configuration.made, configuration.wal_apart = made, wal_apart
    else:
        configuration.disks = disks_of(target)


def made_of(group: GroupChoice) -> MadeDraft:
    """Return level, filesystem and options of a group."""
    spec = filesystem(group.filesystem)
    typed = {name: write_option(spec.option(name), value) for name, value in group.options}
    return MadeDraft(group.level, spec.id, {spec.id: group.preset}, {spec.id: typed})


def _group(group: GroupChoice) -> GroupDraft:
    values = values_of_group(group)
    texts = {each.name: write_text(each, values[each.attribute]) for each in TYPED_FIELDS}
    return GroupDraft(list(group.disks), made_of(group), texts)


# Keep a draft across restarts of the window: written on each change, offered at the next start.
#
# The file is in the user's state folder. Confirmations and agreements are never kept: they are required
# again. Missing entries are as in a first look, unknown ones are ignored; a damaged file is not a draft.


FILE_NAME: Final = "draft.json"
_FORMAT: Final = 3
"""Earlier formats are read by `_of_today`."""
_TEXT_KEYS: Final = {
    Place.OTHER_FOLDER: "target.folder.path",
    Place.OTHER_MEMORY: "target.memory.size",
    Place.OTHER_SERVER: "target.server.connection",
}
"""The key whose text format 1 kept as ``text``."""
_LONGEST_BYTES: Final = 4 << 20
_NEVER: Final = frozenset({"confirmed", "agreed", "contacted", "loaded"})
"""Fields that contain confirmations."""


class DamagedDraftError(UsageError):
    """The kept file is not a draft that this version understands."""

    code = "draft"


def draft_text(parts: DraftParts) -> str:
    """Return a draft as the text to keep."""
    return json.dumps({"format": _FORMAT, "parts": _plain(parts)}, ensure_ascii=False)


def read_draft_text(text: str) -> DraftParts:
    """Return the draft of a text.

    Raises:
        DamagedDraftError: it does not contain one.
    """
    try:
        document = json.loads(text, object_hook=_of_today)
        known = dict.fromkeys(range(1, _FORMAT + 1), document)
        parts: DraftParts = _typed(DraftParts, known[document["format"]]["parts"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        message = tr("Your last unfinished setup cannot be read and is ignored.")
        raise DamagedDraftError(message) from error
    values = first_values()
    for key, typed in parts.values.items():
        if key in values or alternative(key) in values:
            put(values, key, typed)
    parts.values = values
    for each in parts.configurations:
        each.texts = {key: text for key, text in each.texts.items() if key in FIELDS}
    return with_places(parts)


def keep_draft(text: str) -> None:
    """Write a draft (`draft_text`) over the previous one; ignore failures."""
    with suppress(OSError, FootingError):
        path = create_state_folder() / FILE_NAME
        part = path.with_name(f".{FILE_NAME}")
        descriptor = os.open(
            part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
        )
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(part, path)  # noqa: PTH105 - whole or not at all


def read_kept_draft() -> DraftParts | None:
    """Return the kept draft; None if there is none.

    Raises:
        DamagedDraftError: it cannot be read; it is removed, to report this only once.
    """
    try:
        path = create_state_folder() / FILE_NAME
        with path.open("rb") as file:
            text = file.read(_LONGEST_BYTES).decode("utf-8", "replace")
    except (OSError, FootingError):
        return None
    try:
        return read_draft_text(text)
    except DamagedDraftError:
        with suppress(OSError):
            path.unlink()
        raise


def forget_draft() -> None:
    """Remove the kept draft."""
    with suppress(OSError, FootingError):
        (create_state_folder() / FILE_NAME).unlink(missing_ok=True)


def _of_today(table: dict[str, Any]) -> dict[str, Any]:
    """Return a change of a dimension with its value, a configuration with its texts, as kept by format 2."""
    if isinstance(table.get("key"), list) and isinstance(table.get("text"), str):
        return {"key": table["key"], "value": tomllib.loads(f"value = {table['text']}")["value"]}
    if isinstance(table.get("parts"), dict) and table.get("format") in {1, 2}:
        return {**table, "parts": _with_given_keys(table["parts"])}
    if "place" in table and "texts" not in table:
        keys = {
            "text": _TEXT_KEYS.get(Place(table["place"]), ""),
            "room": "target.server.room",
            "ssh": "target.server.ssh",
        }
        texts = {key: table[name] for name, key in keys.items() if table.get(name)}
        texts |= {change["key"]: change["text"] for change in table.get("changes", ())}
        if table.get("settings"):
            texts[SETTINGS] = table["settings"]
        return {**table, "texts": texts}
    return table


def _with_given_keys(parts: dict[str, Any]) -> dict[str, Any]:
    """Return parts without keys that did not count; formats 1 and 2 kept both of two alternatives."""
    size, length = parts.get("size_choice", DataSize.SMALL), parts.get("length", "duration")
    values = {**parts.get("values", {})}
    if size not in {"bytes", "scale"}:
        values["workload.size"] = DataSize(size).value
    for key in ("workload.scale" if size == "scale" else "workload.size", f"workload.{length}"):
        put(values, key, values.get(key, FIELDS[key].placeholder))
    return {**parts, "values": values}


# --- between dataclasses and JSON, by the annotations of the fields


def _plain(value: object) -> object:
    """Return a value as JSON allows it."""
    if isinstance(value, Enum):
        return value.value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = (each.name for each in dataclasses.fields(value) if each.name not in _NEVER)
        return {name: _plain(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {str(_plain(key)): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value


def _typed(hint: Any, value: object) -> Any:  # noqa: ANN401 - whatever the hint says
    """Return a value converted to the type of an annotation.

    Raises:
        TypeError: it has another type.
        ValueError: it is not a member of an enumeration.
    """
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in {types.UnionType, typing.Union}:
        if value is None and type(None) in inner:
            return None
        (only,) = (each for each in inner if each is not type(None))
        return _typed(only, value)
    if origin is not None:
        return _gathered(origin, inner, value)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint(value)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type) and isinstance(value, dict):
        hints = typing.get_type_hints(hint)
        given = {
            each.name: _typed(hints[each.name], value[each.name])
            for each in dataclasses.fields(hint)
            if each.name in value and each.name not in _NEVER
        }
        return hint(**given)
    if hint is Any or (hint in {str, bool, int} and type(value) is hint):
        return value
    raise TypeError(f"{value!r} for {hint}")


def _gathered(origin: Any, inner: tuple[Any, ...], value: object) -> Any:  # noqa: ANN401 - as above
    if origin in {list, tuple} and isinstance(value, list):
        return origin(_typed(inner[0], each) for each in value)
    if origin is dict and isinstance(value, dict):
        return {_typed(inner[0], key): _typed(inner[1], each) for key, each in value.items()}
    raise TypeError(f"{value!r} for {origin}")
