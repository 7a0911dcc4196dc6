"""Read ``[[dimension]]`` and ``[[exclude]]`` of a campaign file; each value is a partial document.

::

    [[dimension]]                        [[dimension]]
    key = "workload.clients"             name = "layout"
    values = [1, 4, 16]                  [[dimension.value]]
                                         name = "raid10 of 4"
                                         target.disks.level = "raid10"
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from app.campaign_file.fields import ALIKE, SECTIONS
from app.campaign_file.kinds import CampaignField, IntKind, Key, Name, toml
from app.campaign_file.partial import (
    TARGET,
    Partial,
    alternative_of,
    changes_of,
    chosen_kind,
    find_field,
    given_at,
    given_keys,
    is_refused,
    known_keys,
    nested,
)
from app.campaign_file.paths import Scripts
from app.campaign_file.problems import InvalidValueError, KeyPath, Problems, printable, refusal
from app.domain.campaign.matrix import Change, DimensionValue, Exclusion, MatrixDimension, default_name
from app.domain.errors import did_you_mean
from app.domain.text import quoted, tr

if TYPE_CHECKING:
    from app.campaign_file.reader import CampaignReader

MOST_DIMENSIONS: Final = 20
MOST_VALUES: Final = 1000

_NAME: Final = (CampaignField("name", Name(), ""),)
DIMENSION_KEYS: Final = {
    "name": tr("Your name for the dimension; default: the last part of its key."),
    "key": tr("The key whose value changes: one of target, server or workload."),
    "values": tr("The values of that key, without duplicates. The baseline uses the first one."),
    "doubling": tr("Instead of values: the first and last whole number of a doubling series."),
    "value": tr("Instead of a key: named tables, for values that change several keys or none."),
}
"""Purpose of each key of a dimension; the recipe “example-matrix” has the same words (tested)."""

_KEYS: Final = tuple(DIMENSION_KEYS)
_FORMS: Final = tr(
    "either key with values (or doubling), or name with tables that begin with [[dimension.value]]"
)


@dataclass(frozen=True, slots=True)
class Dimension:
    """A dimension with the changes of each of its values.

    Attributes:
        declared: as stored in the campaign.
        partials: one for each value.
        places: of the values in the file.
    """

    declared: MatrixDimension
    partials: tuple[Partial, ...]
    places: tuple[KeyPath, ...]


def read_dimensions(reader: CampaignReader, entries: object) -> tuple[Dimension, ...] | None:
    """Return the dimensions of a file; None if one has a problem, which is reported."""
    allowed = tr("1 to {most} tables, each beginning with {heading}").format(
        most=MOST_DIMENSIONS, heading="[[dimension]]"
    )
    if not isinstance(entries, list) or not 1 <= len(entries) <= MOST_DIMENSIONS:
        reader.problems.add(KeyPath("dimension"), refusal(entries, allowed))
        return None
    places = [KeyPath(f"dimension[{number}]") for number in range(1, len(entries) + 1)]
    read = [_read_dimension(reader, entry, place) for entry, place in zip(entries, places, strict=True)]
    found = tuple(each for each in read if each is not None)
    if len(found) < len(read) or not _is_consistent(reader, found):
        return None
    return found


def _read_dimension(reader: CampaignReader, entry: object, place: KeyPath) -> Dimension | None:
    if not isinstance(entry, dict):
        reader.problems.add(
            place, refusal(entry, tr("a table that begins with {heading}").format(heading="[[dimension]]"))
        )
        return None
    unknown = [key for key in entry if key not in _KEYS]
    for key in unknown:
        reader.problems.add_unknown(place, key, _KEYS)
    given = reader.read_value(_NAME[0], entry["name"], place / "name") if "name" in entry else None
    if unknown or (given is not None and given.refused):
        return None
    name = given.value if given is not None else ""
    if "key" in entry and "value" not in entry and ("values" in entry) != ("doubling" in entry):
        return _read_one_key(reader, entry, name, place)
    if "value" in entry and name and not {"key", "values", "doubling"} & entry.keys():
        return _read_tables(reader, entry["value"], name, place)
    if "key" in entry and not {"values", "doubling", "value"} & entry.keys():
        reader.problems.add(place / "values", tr("is missing: a dimension needs at least one value."))
    else:
        keys = ", ".join(key for key in _KEYS if key in entry) or tr("nothing")
        sentence = tr("has {given}; allowed: {forms}.")
        reader.problems.add(place, sentence.format(given=keys, forms=_FORMS))
    return None


# --- one key with several values


def _read_one_key(
    reader: CampaignReader, entry: Mapping[str, Any], name: str, place: KeyPath
) -> Dimension | None:
    key, raw = entry["key"], _doubled(reader, entry, place) if "doubling" in entry else entry["values"]
    if raw is None:
        return None
    found = find_field(key) if isinstance(key, str) else None
    if found is None or key in ALIKE:
        _refuse_key(reader, key, place / "key")
        return None
    if not isinstance(raw, list) or not 1 <= len(raw) <= MOST_VALUES:
        reader.problems.add(
            place / "values", refusal(raw, tr("a list of 1 to {most} values").format(most=MOST_VALUES))
        )
        return None
    places = tuple(place.within(f".values[{number}]") for number in range(1, len(raw) + 1))
    read = [read_key(reader, found, each, at) for each, at in zip(raw, places, strict=True)]
    if any(is_refused(partial) for partial, _ in read):
        return None
    values = tuple(value for _, value in read)
    partials = tuple(partial for partial, _ in read)
    return Dimension(MatrixDimension(name or default_name(key), values, key), partials, places)


def read_key(
    reader: CampaignReader, found: tuple[Key, CampaignField, Key], raw: object, place: KeyPath
) -> tuple[Partial, DimensionValue]:
    """Return the partial document that sets one key (of `find_field`), and the value of a dimension."""
    path, field, below = found
    for name in reversed(below):
        raw = {name: raw}
    given = reader.read_value(field, raw, place)
    partial = given_at((*path, field.name), field, given)
    if given.refused:
        return partial, DimensionValue("", ())
    whole = (Change((*path, field.name), field.kind.plain(given.value)),)
    changes = changes_of(partial) if below else whole  # a whole table is one change
    return partial, DimensionValue(_word(changes[0].value, field, given.value), changes)


def _refuse_key(reader: CampaignReader, key: object, place: KeyPath) -> None:
    if isinstance(key, str) and key in ALIKE:
        sentence = tr("must be the same in all configurations of a campaign: set it once, at the top.")
        reader.problems.add(place, f"{quoted(key)} {sentence}")
        return
    allowed = tr(
        "a key of target, server or workload, such as “workload.clients”, “target.disks.filesystem”, "
        "“target.disks.options.NAME” or “postgresql.settings.NAME”"
    )
    near = did_you_mean(key[:80], known_keys()) if isinstance(key, str) else ""
    reader.problems.add(place, f"{refusal(key, allowed)} {near}".rstrip())


def _doubled(reader: CampaignReader, entry: Mapping[str, Any], place: KeyPath) -> list[int] | None:
    """Return whole numbers, each twice the one before; None if first and last are invalid."""
    raw, kind = entry["doubling"], IntKind(1, 1_000_000)
    try:
        first, last = (kind.read(each, reader.folder) for each in raw) if isinstance(raw, list) else (1, 0)
    except (InvalidValueError, ValueError):
        first, last = 1, 0
    if first > last:
        allowed = tr("two whole numbers from {low} to {high}, first and last, such as [1, 64]")
        reader.problems.add(place / "doubling", refusal(raw, allowed.format(low=kind.low, high=kind.high)))
        return None
    return doubling(first, last)


def doubling(first: int, last: int) -> list[int]:
    """Return first, twice that, and so on below `last`, and `last`."""
    found = [first]
    while found[-1] * 2 < last:
        found.append(found[-1] * 2)
    return found if found[-1] == last else [*found, last]


def _word(raw: object, field: CampaignField, value: Any) -> str:  # noqa: ANN401 - scripts, where they are
    """Return the shown name of a value: a text without quotation marks, scripts by their names."""
    if isinstance(field.kind, Scripts):
        return " + ".join(script.label for script in value)
    return word_of(raw)


def word_of(raw: object) -> str:
    """Return the shown name of a plain value."""
    return raw if isinstance(raw, str) else toml(raw).removesuffix(".0")


def plain_dimension(each: MatrixDimension) -> dict[str, Any]:
    """Return a dimension as an entry of ``[[dimension]]``."""
    if each.key:
        values = [value.changes[0].value for value in each.values]
        return {"name": each.name, "key": each.key, "values": values}
    tables = [{"name": value.name, **nested(value.changes)} for value in each.values]
    return {"name": each.name, "value": tables}


# --- values that are tables


def _read_tables(reader: CampaignReader, entries: object, name: str, place: KeyPath) -> Dimension | None:
    if not isinstance(entries, list) or not 1 <= len(entries) <= MOST_VALUES:
        allowed = tr("1 to {most} tables, each beginning with {heading}").format(
            most=MOST_VALUES, heading="[[dimension.value]]"
        )
        reader.problems.add(place / "value", refusal(entries, allowed))
        return None
    values, partials, places = [], [], []
    for number, entry in enumerate(entries, start=1):
        at = place.within(f".value[{number}]")
        if not isinstance(entry, dict):
            allowed = tr("a table that begins with {heading}").format(heading="[[dimension.value]]")
            reader.problems.add(at, refusal(entry, allowed))
            return None
        table = reader.read_keys(entry, _NAME, at, elsewhere=(TARGET, *SECTIONS))
        if ("name",) not in table:
            reader.problems.add(at / "name", tr("is missing: give it its own name."))
        partial = reader.read_partial(entry, at)
        if is_refused(partial) or ("name",) not in table or is_refused(table):
            return None
        values.append(DimensionValue(table["name",].value, changes_of(partial)))
        partials.append(partial)
        places.append(at)
    return Dimension(MatrixDimension(name, tuple(values)), tuple(partials), tuple(places))


# --- rules between dimensions


def _is_consistent(reader: CampaignReader, found: Sequence[Dimension]) -> bool:
    """Whether names and values are unique, and no two dimensions change the same key; else report it."""
    before = reader.problems.count
    names: dict[str, int] = {}
    taken: dict[Key, int] = {}
    for number, each in enumerate(found, start=1):
        name = each.declared.name
        if names.setdefault(name, number) != number:
            sentence = tr("“{name}” is already the name of entry {other}; names must differ.")
            reader.problems.add(
                KeyPath(f"dimension[{number}].name"), sentence.format(name=name, other=names[name])
            )
        _check_values(reader, each)
        values = zip(each.partials, each.places, strict=True)
        slots = {slot: place for partial, place in values for slot in _slots(partial)}
        for slot, place in slots.items():
            if taken.setdefault(slot, number) != number:
                sentence = tr(
                    "“{key}” is already changed by dimension {other}; a key may be in one dimension only."
                )
                words = sentence.format(key=".".join(slot), other=taken[slot])
                reader.problems.add(place, words)
    return reader.problems.count == before


def _check_values(reader: CampaignReader, each: Dimension) -> None:
    names: dict[str, int] = {}
    changes: dict[frozenset[Any], int] = {}
    for number, (value, place) in enumerate(zip(each.declared.values, each.places, strict=True), start=1):
        same = changes.setdefault(frozenset(value.changes), number)
        if same != number:
            sentence = tr("equals value number {other}; give each value once.")
            reader.problems.add(place, sentence.format(other=same))
        elif names.setdefault(value.name, number) != number:
            sentence = tr("“{name}” is already the name of entry {other}; names must differ.")
            message = sentence.format(name=printable(value.name), other=names[value.name])
            reader.problems.add(place, message)


def _slots(partial: Partial) -> set[Key]:
    """Return the decisions of a document: two alternative keys are the same decision."""
    found: set[Key] = {(TARGET,)} if chosen_kind(partial) else set()
    for key in given_keys(partial):
        other = alternative_of(key)
        found.add(key if other is None else (*key[:-1], "/".join(sorted((key[-1], other[-1])))))
    return found


# --- exclusions


def read_exclusions(
    reader: CampaignReader, entries: object, found: Sequence[Dimension]
) -> tuple[Exclusion, ...] | None:
    """Return the content of ``[[exclude]]``; None if it has a problem, which is reported."""
    if not isinstance(entries, list):
        reader.problems.add(
            KeyPath("exclude"),
            refusal(entries, tr("a table that begins with {heading}").format(heading="[[exclude]]")),
        )
        return None
    before = reader.problems.count
    read = []
    for number, entry in enumerate(entries, start=1):
        place = KeyPath(f"exclude[{number}]")
        if not isinstance(entry, dict) or not entry:
            allowed = tr("a table of dimension names with their values")
            reader.problems.add(place, refusal(entry, allowed))
            continue
        read.append(_read_exclusion(reader, entry, found, place))
    return tuple(read) if reader.problems.count == before else None


def _read_exclusion(
    reader: CampaignReader, entry: Mapping[str, Any], found: Sequence[Dimension], place: KeyPath
) -> Exclusion:
    by_name = {each.declared.key: at for at, each in enumerate(found) if each.declared.key}
    by_name |= {each.declared.name: at for at, each in enumerate(found)}
    wanted: dict[int, tuple[int, ...]] = {}
    for key, raw in _flat(entry, by_name):
        if key not in by_name:
            reader.problems.add_unknown(place, key, [each.declared.name for each in found])
            continue
        dimension = found[by_name[key]]
        listed = raw if isinstance(raw, list) else [raw]
        values = [_find_value(reader, dimension, each) for each in listed]
        for value, each in zip(values, listed, strict=True):
            if value is None:
                names = ", ".join(value.name for value in dimension.declared.values)
                reader.problems.add(place / key, refusal(each, names))
        wanted[by_name[key]] = tuple(sorted({value for value in values if value is not None}))
        if not listed:
            reader.problems.add(place / key, refusal(raw, tr("a value, or a list of several")))
    return tuple(sorted(wanted.items()))


def _flat(entry: Mapping[str, Any], known: Mapping[str, int], prefix: str = "") -> list[tuple[str, Any]]:
    """Return dotted keys with their values: TOML makes tables of unquoted ones."""
    found: list[tuple[str, Any]] = []
    for key, raw in entry.items():
        whole = f"{prefix}{key}"
        if isinstance(raw, dict) and whole not in known:
            found += _flat(raw, known, f"{whole}.")
        else:
            found.append((whole, raw))
    return found


def _find_value(reader: CampaignReader, each: Dimension, raw: object) -> int | None:
    """Return the index of a value given by its name or, in a dimension with one key, by itself."""
    values = each.declared.values
    named = next((at for at, value in enumerate(values) if value.name == raw), None)
    found = find_field(each.declared.key)
    if named is not None or found is None:
        return named
    unnoted = replace(reader, problems=Problems())
    _, meant = read_key(unnoted, found, raw, KeyPath())
    return next((at for at, value in enumerate(values) if value.changes == meant.changes), None)
