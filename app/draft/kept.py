"""Keep a draft across restarts of the window: written on each change, offered at the next start.

The file is in the user's state folder. Confirmations and agreements are never kept: they are required again.
Missing entries are as in a first look, unknown ones are ignored; a damaged file is not a draft.
"""

from __future__ import annotations

import dataclasses
import json
import os
import tomllib
import types
import typing
from collections.abc import Mapping
from contextlib import suppress
from enum import Enum
from typing import Any, Final

from app.domain.campaign.configuration import DataSize
from app.domain.errors import FootingError, UsageError
from app.domain.text import tr
from app.draft.fields.fields import FIELDS, SETTINGS
from app.draft.fields.state import DraftParts, Place, alternative, first_values, put
from app.draft.from_campaign import with_places
from app.hosts.folders.own_folders import create_state_folder

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
