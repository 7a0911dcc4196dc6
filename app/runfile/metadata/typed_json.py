"""Convert frozen dataclasses to JSON objects and back; missing values are "not known". Pure.

A file may come from another version or any source: a key that is missing, or has a value of another type,
becomes `NOT_KNOWN`, or the field's default; keys without a field are ignored. Only known fields are written,
each under its own name.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum, StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

from app.domain.errors import CampaignError
from app.domain.json_value import Json
from app.domain.storage_plan.plan import StoragePlan, plan_as_mapping
from app.domain.storage_plan.reader import read_plan

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T")
D = TypeVar("D", bound="DataclassInstance")


class NotKnown(Enum):
    """Value of a fact that a file does not have: the fact may still exist."""

    NOT_KNOWN = "not known"


NOT_KNOWN: Final = NotKnown.NOT_KNOWN

Known: TypeAlias = T | NotKnown
"""A value, or not known."""

_Reader: TypeAlias = Callable[[Any], object]


def known(value: Known[T], otherwise: T) -> T:
    """Return a value, or `otherwise` if it is not known."""
    return otherwise if isinstance(value, NotKnown) else value


def or_none(value: Known[T]) -> T | None:
    """Return a value, or None if it is not known: for callers that treat both the same."""
    return None if isinstance(value, NotKnown) else value


def if_known(value: T | None) -> Known[T]:
    """Return a value; None becomes not known: for sources that omit unknown values."""
    return NOT_KNOWN if value is None else value


def values_of(item: DataclassInstance) -> dict[str, Json]:
    """Return the known fields of an object by name, as JSON values.

    Nested objects without known fields are omitted.
    """
    held = ((each.name, getattr(item, each.name)) for each in fields(item))
    found = {name: _json(value) for name, value in held if not isinstance(value, NotKnown)}
    return {name: value for name, value in found.items() if value != {}}


def _json(value: object) -> Json:
    if isinstance(value, StoragePlan):
        return _json(plan_as_mapping(value))
    if isinstance(value, StrEnum):
        return value.value
    if is_dataclass(value) and not isinstance(value, type):
        return values_of(value)
    if isinstance(value, Mapping):
        return {str(key): _json(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_json(item) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(type(value))


def read_values(kind: type[D], values: Json) -> D:
    """Return the object from JSON values, whatever they are.

    Raises:
        TypeError: a field without a default is not known.
    """
    table = values if isinstance(values, Mapping) else {}
    found = {}
    for name, reader in _readers(kind):
        if name in table:
            value = reader(table[name])
            if value is not NOT_KNOWN:
                found[name] = value
    return kind(**found)


@cache
def _readers(kind: type[DataclassInstance]) -> tuple[tuple[str, _Reader], ...]:
    hints = get_type_hints(kind)
    return tuple((each.name, _reader(hints[each.name])) for each in fields(kind))


def _reader(hint: Any) -> _Reader:  # noqa: ANN401, PLR0911 - a type form; each kind has its way
    """Return a reader for values of a type; it returns `NOT_KNOWN` for values of any other."""
    origin = get_origin(hint)
    if origin in {Union, types.UnionType}:
        readers = [_reader(each) for each in get_args(hint) if each is not NotKnown]
        return readers[0] if len(readers) == 1 else lambda value: _first(readers, value)
    if origin is tuple:
        item = _reader(get_args(hint)[0])
        return lambda value: _tuple(item, value)
    if origin is not None and issubclass(origin, Mapping):
        return lambda value: value if isinstance(value, Mapping) else NOT_KNOWN
    if hint is StoragePlan:
        return _plan
    if hint is float:
        return _number
    if hint is int:
        return lambda value: value if isinstance(value, int) and not isinstance(value, bool) else NOT_KNOWN
    if isinstance(hint, type) and is_dataclass(hint):
        return lambda value: _object(hint, value)
    return lambda value: value if isinstance(value, hint) else NOT_KNOWN


def _object(kind: type[DataclassInstance], value: object) -> object:
    try:
        return read_values(kind, value) if isinstance(value, Mapping) else NOT_KNOWN
    except TypeError:
        return NOT_KNOWN


def _first(readers: list[_Reader], value: object) -> object:
    return next((found for each in readers if (found := each(value)) is not NOT_KNOWN), NOT_KNOWN)


def _tuple(item: _Reader, value: object) -> object:
    if not isinstance(value, list | tuple):
        return NOT_KNOWN
    return tuple(found for each in value if (found := item(each)) is not NOT_KNOWN)


def _number(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return NOT_KNOWN
    return value


def _plan(value: object) -> object:
    try:
        return read_plan(value)
    except CampaignError:  # of a later version
        return NOT_KNOWN
