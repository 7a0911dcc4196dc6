"""Kinds of values in a campaign file: accepted values, reading and writing.

A kind knows nothing about the field that uses it: `CampaignField` is one key with its kind, and
`app.campaign_file.fields` lists them.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from typing_extensions import override

from app.campaign_file.problems import InvalidValueError, printable, unfit
from app.domain.errors import Problem, did_you_mean
from app.domain.text import GIB, KIB, MIB, TIB, format_size, tr

Key = tuple[str, ...]
"""Parts of a dotted key."""


class ValueKind(ABC):
    """The accepted values of one kind."""

    __slots__ = ()

    @property
    @abstractmethod
    def allowed(self) -> str:
        """The allowed values, as the end of a sentence."""

    @abstractmethod
    def read(self, value: object, folder: Path) -> Any:  # noqa: ANN401 - the field's attribute has the type
        """Return the value as the domain represents it.

        Args:
            value: as in TOML.
            folder: base of relative paths.

        Raises:
            InvalidValueError: not allowed.
        """

    def plain(self, value: Any) -> Any:  # noqa: ANN401
        """Return what `read` converts back to `value`: a value as TOML has it."""
        if isinstance(value, StrEnum):
            return value.value
        return list(value) if isinstance(value, tuple) else value


class TableKind(ValueKind):
    """A table whose keys merge one by one: arbitrary names, each with its own value."""

    __slots__ = ()

    @override
    def plain(self, value: Any) -> Any:
        return dict(value)

    def split(self, value: Any) -> dict[Key, Any]:  # noqa: ANN401
        """Return the value of each key of the table."""
        return {(name,): each for name, each in value}

    def join(self, parts: Mapping[Key, Any]) -> Any:  # noqa: ANN401
        """Return the value from the parts that `split` returns."""
        return tuple((key[0], each) for key, each in parts.items() if key)

    def find(self, names: Sequence[str]) -> Key | None:
        """Return the key for `names`, the parts of a dotted key; None if there is no such key."""
        return (".".join(names),) if names else None

    @property
    def part_names(self) -> tuple[str, ...]:
        """The dotted keys of the table; empty for the table itself, NAME for any name."""
        return ("NAME",)

    def plain_part(self, key: Key, value: Any) -> Any:  # noqa: ANN401, ARG002 - a key may have its own way
        """Return one key's value as TOML has it."""
        return value


def quote(text: str) -> str:
    """Return `text` as a TOML basic string (TOML 1.0: quotation mark, backslash, controls escaped)."""
    marks = {'"': '\\"', "\\": "\\\\"}
    escaped = (marks.get(c) or (f"\\u{ord(c):04X}" if c < " " or c == "\x7f" else c) for c in text)
    return f'"{"".join(escaped)}"'


def bare_key(key: str) -> str:
    """Return a key, without quotation marks if TOML needs none."""
    plain = key.isascii() and key and all(c.isalnum() or c in "_-" for c in key)
    return key if plain else quote(key)


def toml(raw: object, gap: str = " ") -> str:
    """Return the TOML of a plain value.

    Args:
        raw: a text, a number, a truth value, a list or a table of such.
        gap: between a table and its braces; tables in lists and scripts have none.

    Raises:
        TypeError: it is something else.
    """
    match raw:
        case str():
            return quote(raw)
        case bool():
            return "true" if raw else "false"
        case int() | float():
            return repr(raw)
        case list() if any(isinstance(each, dict) and "name" in each for each in raw):  # phases
            return "[\n" + "".join(f"    {toml(each, '')},\n" for each in raw) + "]"
        case list():
            return f"[{', '.join(toml(each, '') for each in raw)}]"
        case dict():
            gap = "" if not raw or raw.keys() & {"file", "builtin"} else gap
            # two spaces: names of cells contain such texts, and `--resume` finds their runs by name
            inner = {key: "{  }" if value == {} else toml(value, gap) for key, value in raw.items()}
            keys = ", ".join(f"{bare_key(key)} = {value}" for key, value in inner.items())
            return f"{{{gap}{keys}{gap}}}"
        case _:
            raise TypeError(raw)


@dataclass(frozen=True, slots=True)
class IntKind(ValueKind):
    """A whole number from `low` to `high`."""

    low: int
    high: int

    @property
    @override
    def allowed(self) -> str:
        return tr("a whole number from {low} to {high}").format(low=self.low, high=self.high)

    @override
    def read(self, value: object, folder: Path) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not self.low <= value <= self.high:
            raise unfit(value, self.allowed)
        return value


@dataclass(frozen=True, slots=True)
class FloatKind(ValueKind):
    """A finite number from `low` to `high`."""

    low: float
    high: float

    @property
    @override
    def allowed(self) -> str:
        return tr("a number from {low} to {high}").format(low=f"{self.low:g}", high=f"{self.high:.0f}")

    @override
    def read(self, value: object, folder: Path) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise unfit(value, self.allowed)
        if not self.low <= value <= self.high:  # also rejects nan
            raise unfit(value, self.allowed)
        return float(value)

    @override
    def plain(self, value: float) -> float:
        return float(value)


@dataclass(frozen=True, slots=True)
class BoolKind(ValueKind):
    """True or false."""

    @property
    @override
    def allowed(self) -> str:
        return tr("true or false (without quotes)")

    @override
    def read(self, value: object, folder: Path) -> bool:
        if not isinstance(value, bool):
            raise unfit(value, self.allowed)
        return value


@dataclass(frozen=True, slots=True)
class Name(ValueKind):
    """A name for display: printable text on one line.

    Attributes:
        longest: most characters.
    """

    longest: int = 80

    @property
    @override
    def allowed(self) -> str:
        return tr("1 to {most} printable characters, no blank at either end").format(most=self.longest)

    @override
    def read(self, value: object, folder: Path) -> str:
        if not isinstance(value, str) or not value.isprintable():
            raise unfit(value, self.allowed)
        if not 1 <= len(value) <= self.longest or value != value.strip():
            raise unfit(value, self.allowed)
        return value


@dataclass(frozen=True, slots=True)
class EnumKind(ValueKind):
    """One of a few words.

    Attributes:
        words: the allowed ones.
        make: converts the word to the domain's value.
    """

    words: tuple[str, ...]
    make: Callable[[str], str] = str

    @property
    @override
    def allowed(self) -> str:
        return tr("one of {words}").format(words=", ".join(map(quote, self.words)))

    @override
    def read(self, value: object, folder: Path) -> str:
        if not isinstance(value, str):
            raise unfit(value, self.allowed)
        if value not in self.words:
            raise unfit(value, self.allowed, remark=did_you_mean(value[:80], self.words))
        return self.make(value)


def read_each(values: list[object], kind: ValueKind, folder: Path) -> tuple[Any, ...]:
    """Return every value of a list, each read as `kind`.

    Raises:
        InvalidValueError: with the problems of all values, each with its place (``[2]`` is the second).
    """
    read: list[object] = []
    faults: list[Problem] = []
    for number, value in enumerate(values, start=1):
        try:
            read.append(kind.read(value, folder))
        except InvalidValueError as error:
            faults += [replace(problem, path=f"[{number}]{problem.path}") for problem in error.problems]
    if faults:
        raise InvalidValueError(*faults)
    return tuple(read)


@dataclass(frozen=True, slots=True)
class ListOf(ValueKind):
    """A list of values of one kind, at least one."""

    each: ValueKind
    most: int

    @property
    @override
    def allowed(self) -> str:
        return tr("a list of 1 to {most}, each {each}").format(most=self.most, each=self.each.allowed)

    @override
    def read(self, value: object, folder: Path) -> tuple[Any, ...]:
        if not isinstance(value, list) or not 1 <= len(value) <= self.most:
            raise unfit(value, self.allowed)
        return read_each(value, self.each, folder)


class ReadBackBy(StrEnum):
    """The component that reads back a choice about target or server before a run measures."""

    ROOT = "root"
    """The helper, for storage that it created (`app.storage.checks`)."""
    SERVER = "server"
    """The running server (`app.postgres.facts.check_in_effect`)."""
    TARGET = "target"
    """The runner, from the server's process and files (`app.hosts.own_server`)."""
    PARTS = "parts"
    """Each part is an option with its own read-back, as declared."""
    NONE = "nobody"
    """Nothing shows it afterwards: the run is marked (`app.domain.campaign.disk_target.unseen_choices`)."""


@dataclass(frozen=True, slots=True)
class CampaignField:
    """One key of a campaign file, and its field in forms.

    Attributes:
        name: the key.
        kind: of its values.
        sentence: its purpose, for documentation.
        attribute: of the domain's class; left out if it has the key's name.
        instead_of: attribute of the alternative key that it excludes and replaces.
        read_back: component that reads it back; None if it is not an option of target or server.
        label: of its field in a form, with a mnemonic; empty if it has none.
        shown_as: its name in lists and messages; left out if it is the label.
        help: its explanation in forms, two or three sentences; empty to show `sentence`.
        source: of that explanation; empty for pgFooting's own methods.
        placeholder: shown in its empty field.
        choices: label of each offered value; empty for a field of text.
        words: returns a value for users; None if numbers, sizes and times are written as everywhere.
        is_later: whether run files of earlier versions lack it: they have its default.
        fact: its name among the properties of a run; left out if it is the attribute's.
        condition: of comparisons, a `app.comparison.overall.conditions.PropertyRole`; empty for a factor.
    """

    name: str
    kind: ValueKind
    sentence: str
    attribute: str = ""
    instead_of: str = ""
    read_back: ReadBackBy | None = None
    label: str = ""
    shown_as: str = ""
    help: str = ""
    source: str = ""
    placeholder: str = ""
    choices: Mapping[str, str] = field(default_factory=dict)
    words: Callable[[Any], str] | None = None
    is_later: bool = False
    fact: str = ""
    condition: str = ""

    def __post_init__(self) -> None:
        if not self.attribute:
            object.__setattr__(self, "attribute", self.name)

    @property
    def shown_name(self) -> str:
        """Its name in lists and messages."""
        return self.shown_as or self.label.replace("&", "").rstrip(":")


UNKNOWN: Final = tr("is not a known key; allowed: {known}.")


def table_of(fields: Iterable[CampaignField]) -> str:
    """Return what is allowed where a table with these keys is."""
    return tr("a table with the keys {names}").format(names=", ".join(each.name for each in fields))


def read_fields(
    entry: object, fields: Iterable[CampaignField], folder: Path, unknown: str = UNKNOWN
) -> tuple[dict[str, Any], list[Problem]]:
    """Return the values of a table by attribute, None for a refused one, and its problems.

    Args:
        entry: as in TOML.
        fields: its keys.
        folder: base of relative paths.
        unknown: the sentence about an unknown key, with the place of the `known` ones.

    Raises:
        InvalidValueError: it is not a table.
    """
    by_name = {each.name: each for each in fields}
    if not isinstance(entry, dict):
        raise unfit(entry, table_of(by_name.values()))
    message = unknown.format(known=", ".join(by_name))
    faults = [
        Problem(f".{printable(key)}", f"{message} {did_you_mean(key[:80], by_name)}".rstrip())
        for key in entry
        if key not in by_name
    ]
    values: dict[str, Any] = {}
    for each in by_name.values():
        if each.name in entry:
            try:
                values[each.attribute] = each.kind.read(entry[each.name], folder)
            except InvalidValueError as error:
                faults += [replace(problem, path=f".{each.name}{problem.path}") for problem in error.problems]
                values[each.attribute] = None
    faults += (Problem("", sentence) for sentence in exclusive_keys(entry, by_name.values()))
    return values, faults


def exclusive_keys(entry: Container[str], fields: Collection[CampaignField]) -> Iterator[str]:
    """Yield a sentence for each two keys of a table that exclude each other."""
    names = {each.attribute: each.name for each in fields}
    for each in fields:
        other = names.get(each.instead_of, "")
        if each.name < other and each.name in entry and other in entry:
            both = tr("“{one}” and “{other}” cannot be used together; remove one of them.")
            yield both.format(one=each.name, other=other)


def split_values(values: Mapping[str, Any], fields: Iterable[CampaignField]) -> dict[Key, Any]:
    """Return values by key from values by attribute, those of tables key by key; without None."""
    found: dict[Key, Any] = {}
    for each in fields:
        value = values.get(each.attribute)
        if value is None:
            continue
        parts = each.kind.split(value) if isinstance(each.kind, TableKind) else {(): value}
        found |= {(each.name, *key): part for key, part in parts.items()}
    return found


def join_values(parts: Mapping[Key, Any], fields: Iterable[CampaignField]) -> dict[str, Any]:
    """Return values by attribute from the parts of `split_values`; a key with None gives None."""
    below: dict[str, dict[Key, Any]] = {}
    for key, value in parts.items():
        if key:
            below.setdefault(key[0], {})[key[1:]] = value
    given = ((each, below[each.name]) for each in fields if each.name in below)
    return {
        each.attribute: each.kind.join(found) if isinstance(each.kind, TableKind) else found[()]
        for each, found in given
    }


def find_key(names: Sequence[str], fields: Iterable[CampaignField]) -> Key | None:
    """Return the key for the parts of a dotted key; None if these fields have no such key."""
    each = next((each for each in fields if names and each.name == names[0]), None)
    if each is None:
        return None
    rest = names[1:]
    below = each.kind.find(rest) if isinstance(each.kind, TableKind) else None if rest else ()
    return None if below is None else (each.name, *below)


def dotted_keys(fields: Iterable[CampaignField]) -> Iterator[Key]:
    """Yield every key of these fields that can be given alone; NAME stands for any name."""
    for each in fields:
        for part in each.kind.part_names if isinstance(each.kind, TableKind) else ("",):
            yield (each.name, *filter(None, [part]))


def plain_key(key: Key, value: Any, fields: Iterable[CampaignField]) -> Any:  # noqa: ANN401
    """Return the value of one key as TOML has it."""
    kind = next(each.kind for each in fields if each.name == key[0])
    return kind.plain_part(key[1:], value) if isinstance(kind, TableKind) and key[1:] else kind.plain(value)


_SIZE_UNITS: Final = {
    "": 1,
    "b": 1,
    "kb": 1000,
    "mb": 1000**2,
    "gb": 1000**3,
    "tb": 1000**4,
    "kib": KIB,
    "mib": MIB,
    "gib": GIB,
    "tib": TIB,
}
_DURATION_UNITS: Final = {
    "": 1.0,
    "ms": 0.001,
    "s": 1.0,
    "sec": 1.0,
    "min": 60.0,
    "h": 3600.0,
}
_QUANTITY: Final = re.compile(r"\s*(\d{1,18}(?:\.\d{1,9})?)\s*([a-zA-Z]{0,3})\s*", re.ASCII)


def _parse(text: str, units: dict[str, float] | dict[str, int]) -> float:
    match = _QUANTITY.fullmatch(text)
    if match is None or match[2].lower() not in units:
        raise ValueError(text)
    return float(match[1]) * units[match[2].lower()]


def parse_size(text: str) -> int:
    """Return bytes for text such as ``200 MB`` (10^6), ``2GiB`` (2^30) or ``4096``.

    Raises:
        ValueError: not a non-negative number with one of B, kB, MB, GB, TB, KiB, MiB, GiB, TiB.
    """
    return round(_parse(text, _SIZE_UNITS))


def parse_duration(text: str) -> float:
    """Return seconds for text such as ``90``, ``90s``, ``250ms``, ``5 min`` or ``1h``.

    Raises:
        ValueError: not a non-negative number with one of ms, s, min, h.
    """
    return _parse(text, _DURATION_UNITS)


@dataclass(frozen=True, slots=True)
class WholeSeconds(ValueKind):
    """A duration in whole seconds: 60, "60s", "5 min" (pgbench's ``--time`` accepts nothing finer)."""

    low: int
    high: int

    @property
    @override
    def allowed(self) -> str:
        sentence = tr('whole seconds from {low} to {high}, such as 60, "60s", "5 min" or "1h"')
        return sentence.format(low=self.low, high=self.high)

    @override
    def read(self, value: object, folder: Path) -> int:
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise unfit(value, self.allowed)
        try:
            seconds = float(value) if isinstance(value, int) else round(parse_duration(value), 6)
        except ValueError as err:
            raise unfit(value, self.allowed) from err
        if not self.low <= seconds <= self.high or not seconds.is_integer():
            raise unfit(value, self.allowed)
        return int(seconds)

    @override
    def plain(self, value: int) -> str:
        return f"{value}s"


@dataclass(frozen=True, slots=True)
class Milliseconds(ValueKind):
    """A short duration with its unit, stored in milliseconds to the microsecond (pgbench's resolution)."""

    low_ms: float
    high_ms: float

    @property
    @override
    def allowed(self) -> str:
        sentence = tr('a duration with its unit from {low} ms to {high} ms, such as "50ms" or "1.5s"')
        return sentence.format(low=f"{self.low_ms:g}", high=f"{self.high_ms:.0f}")

    @override
    def read(self, value: object, folder: Path) -> float:
        if not isinstance(value, str) or not value.strip()[-1:].isalpha():
            raise unfit(value, self.allowed)
        try:
            milliseconds = round(parse_duration(value) * 1000, 3)
        except ValueError as err:
            raise unfit(value, self.allowed) from err
        if not self.low_ms <= milliseconds <= self.high_ms:
            raise unfit(value, self.allowed)
        return milliseconds

    @override
    def plain(self, value: float) -> str:
        return f"{value:.3f}".rstrip("0").rstrip(".") + "ms"


@dataclass(frozen=True, slots=True)
class SizeKind(ValueKind):
    """A size with its unit, or one of a few words.

    Attributes:
        low: least bytes.
        high: most bytes.
        words: an enumeration with further allowed values; None for no words.
    """

    low: int
    high: int
    words: type[StrEnum] | None = None

    @property
    @override
    def allowed(self) -> str:
        sentence = tr('a size with its unit from {low} to {high}, such as "3 GiB"')
        sized = sentence.format(low=format_size(self.low), high=format_size(self.high))
        words = ", ".join(quote(member.value) for member in self.words or ())
        return tr("{names} or {last}").format(names=words, last=sized) if words else sized

    @override
    def read(self, value: object, folder: Path) -> int | StrEnum:
        if not isinstance(value, str):
            raise unfit(value, self.allowed)
        known = {member.value: member for member in self.words or ()}
        if value in known:
            return known[value]
        try:
            size_bytes = parse_size(value)
        except ValueError as err:
            raise unfit(value, self.allowed, remark=did_you_mean(value[:80], known)) from err
        if not self.low <= size_bytes <= self.high or not value.strip()[-1:].isalpha():
            raise unfit(value, self.allowed)
        return size_bytes

    @override
    def plain(self, value: int | StrEnum) -> str | int:
        if isinstance(value, StrEnum):
            return value.value
        for unit, factor in (("TiB", TIB), ("GiB", GIB), ("MiB", MIB), ("KiB", KIB)):
            if value % factor == 0:
                return f"{value // factor} {unit}"
        return f"{value} B"


@dataclass(frozen=True, slots=True)
class BytesOrNone(SizeKind):
    """A size as in `SizeKind`, a whole number of bytes, or 0 for none."""

    @property
    @override
    def allowed(self) -> str:
        return tr("{sized}, as whole bytes, or 0").format(sized=SizeKind(self.low, self.high).allowed)

    @override
    def read(self, value: object, folder: Path) -> int:
        if isinstance(value, int) and not isinstance(value, bool):
            number = value
        elif isinstance(value, str) and value.strip().isascii() and value.strip().isdigit():
            number = int(value[:20])
        else:
            return int(SizeKind.read(self, value, folder))
        if number and not self.low <= number <= self.high:
            raise unfit(value, self.allowed)
        return number

    @override
    def plain(self, value: int | StrEnum) -> str | int:
        return SizeKind.plain(self, value) if value else 0
