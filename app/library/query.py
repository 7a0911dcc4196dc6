"""Search the library: words, and fields such as ``fs:ext4 scale:250 tag:baseline -state:failed``. Pure.

Words are searched in all texts of a run. Several terms of one field widen the search (``fs:ext4 fs:xfs``:
either), tags and options narrow it, and all fields must match. In addition to `FIELDS`, every key of a
campaign file, option and setting of a run is a field, by its own name (``recordsize:8KiB``) or by that of
the property in comparisons (``"target rate":500``). `query_mistakes` and `query_remarks` explain
unknown fields, invalid dates and values that no run has.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final

from app.campaign_file.partial import TABLES
from app.domain.campaign.configuration import DiskTarget, FolderTarget, MemoryTarget, ServerTarget
from app.domain.errors import did_you_mean
from app.domain.filesystems import FILESYSTEMS
from app.domain.options.raid import Level
from app.domain.run import RunState
from app.domain.text import titled, tr
from app.library.entries import LibraryEntry


@dataclass(frozen=True, slots=True)
class QueryField:
    """A searchable field.

    Attributes:
        id: as it is typed.
        label: name in menus.
        values: of a run.
        holds: whether a value of a run (first) matches the typed one (second); both are case-folded.
        narrows: whether all of several terms must match.
    """

    id: str
    label: str
    values: Callable[[LibraryEntry], tuple[str, ...]]
    holds: Callable[[str, str], bool]
    narrows: bool = False


def _equal(value: str, typed: str) -> bool:
    return value == typed


def _within(value: str, typed: str) -> bool:
    return typed in value


def _same_words(value: str, typed: str) -> bool:
    """Match with or without blanks: ``8KiB`` is ``8 KiB``."""
    return value.replace(" ", "") == typed.replace(" ", "")


def _is_version(value: str, typed: str) -> bool:
    return value == typed or value.startswith(f"{typed}.")


def _is_option(value: str, typed: str) -> bool:
    return value == typed or value.partition("=")[0] == typed


def _moment(entry: LibraryEntry) -> date | None:
    try:
        return None if entry.started is None else datetime.fromtimestamp(entry.started).astimezone().date()
    except (ValueError, OverflowError, OSError):  # a file from elsewhere may say anything
        return None


def _dates(entry: LibraryEntry) -> tuple[str, ...]:
    day = _moment(entry)
    return () if day is None else (day.isoformat(),)


def _today() -> date:
    return datetime.now().astimezone().date()


def _is_date(value: str, typed: str) -> bool:
    """Match a day with a year, month or day, with ``today``, or with a number of days back: ``7d``."""
    today = _today()
    if typed == "today":
        return value == today.isoformat()
    if typed == "yesterday":
        return value == (today - timedelta(days=1)).isoformat()
    if typed.endswith("d") and typed[:-1].isdigit():
        first = today - timedelta(days=min(int(typed[:-1]), 36_500) - 1)
        return first.isoformat() <= value <= today.isoformat()
    return value == typed or value.startswith(f"{typed}-")


def _one(value: str | None) -> tuple[str, ...]:
    return (value,) if value else ()


FIELDS: Final = {
    field.id: field
    for field in (
        QueryField("fs", titled(tr("filesystem")), lambda entry: _one(entry.filesystem), _equal),
        QueryField("raid", tr("RAID level"), lambda entry: _one(entry.raid), _equal),
        QueryField("option", titled(tr("option")), lambda entry: entry.options, _is_option, narrows=True),
        QueryField("workload", tr("Workload"), lambda entry: entry.keys, _is_option, narrows=True),
        QueryField("transactions", titled(tr("transactions")), lambda entry: _one(entry.workload), _equal),
        QueryField("scale", titled(tr("scale")), lambda entry: _one(str(entry.scale or "")), _equal),
        QueryField("clients", titled(tr("clients")), lambda entry: _one(str(entry.clients or "")), _equal),
        QueryField("pg", "PostgreSQL", lambda entry: _one(entry.postgresql), _is_version),
        QueryField("machine", titled(tr("machine")), lambda entry: _one(entry.machine), _within),
        QueryField("kernel", titled(tr("kernel")), lambda entry: _one(entry.kernel), _within),
        QueryField("date", tr("Date"), _dates, _is_date),
        QueryField("tag", tr("Tag"), lambda entry: entry.tags, _equal, narrows=True),
        QueryField("target", tr("Data location"), lambda entry: _one(entry.target), _equal),
        QueryField("state", tr("State"), lambda entry: (entry.state,), _equal),
        QueryField("mark", tr("Mark"), lambda entry: entry.marks, _equal),
        QueryField("campaign", tr("Campaign"), lambda entry: _one(entry.campaign), _within),
        QueryField(
            "configuration", titled(tr("configuration")), lambda entry: _one(entry.configuration), _within
        ),
        QueryField("name", titled(tr("name")), lambda entry: _one(entry.name), _within),
    )
}

_OTHER_NAMES: Final = {
    "filesystem": "fs",
    "postgresql": "pg",
    **{
        each.fact.casefold(): each.name
        for fields in TABLES.values()
        for each in fields
        if each.fact and each.name not in FIELDS
    },
    **{f"{spec.label} {each.label}".casefold(): each.id for spec in FILESYSTEMS for each in spec.options},
}
"""Names of fields by the names of properties in tables and charts."""
_FIELD: Final = re.compile(r"[a-z_][a-z0-9_.]*")


def find_field(name: str) -> QueryField:
    """Return a field: one of `FIELDS`, else that of a key, an option or a setting."""

    def values(entry: LibraryEntry) -> tuple[str, ...]:
        return tuple(str(value) for key, value in dimensions(entry).items() if key.casefold() == name)

    return FIELDS.get(name) or QueryField(name, name, values, _same_words)


DIMENSIONS: Final = {
    "configuration": "configuration",
    "filesystem": "filesystem",
    "raid": "raid",
    "transactions": "workload",
    "scale": "scale",
    "clients": "clients",
    "postgresql": "postgresql",
    "machine": "machine",
    "kernel": "kernel",
}
"""Usual dimensions of a run, each with its attribute of an entry."""


def dimensions(entry: LibraryEntry) -> dict[str, str | int | None]:
    """Return the conditions and factors of a run by name: columns of a table, and fields of a query."""
    words = (word.partition("=") for word in (*entry.keys, *entry.options))
    found = {name: getattr(entry, attribute) for name, attribute in DIMENSIONS.items()}
    return {**found, **{key: value if equals else "on" for key, equals, value in words}, **found}


@dataclass(frozen=True, slots=True)
class Term:
    """A part of a query.

    Attributes:
        field: id of a field, see `find_field`; empty for any text.
        text: the searched text, case-folded.
        excluded: whether matching runs are excluded.
    """

    field: str
    text: str
    excluded: bool = False


def parse_query(typed: str) -> tuple[Term, ...]:
    """Parse a query; never raises, an open quote is closed at the end."""
    try:
        words = _words(typed)
    except ValueError:  # a quote is open
        words = _words(f'{typed}"')
    return tuple(term for word in words if (term := _term(word)) is not None)


def _words(typed: str) -> list[str]:
    lexer = shlex.shlex(typed, posix=True)
    lexer.whitespace_split, lexer.commenters, lexer.escape, lexer.quotes = True, "", "", '"'
    return list(lexer)


def _term(word: str) -> Term | None:
    excluded = word.startswith("-") and len(word) > 1
    word = word[1:] if excluded else word
    typed, colon, text = word.partition(":")
    name = _OTHER_NAMES.get(typed.casefold(), typed.casefold())
    if colon and _FIELD.fullmatch(name):
        return Term(name, text.strip().casefold(), excluded) if text.strip() else None
    return Term("", word.strip().casefold(), excluded) if word.strip() else None


def write_term(field: str, value: str) -> str:
    """Return a term as a user would type it."""
    value = value.replace('"', " ").strip()
    return f'{field}:"{value}"' if " " in value else f"{field}:{value}"


def haystack(entry: LibraryEntry) -> str:
    """Return all searchable text of a run, case-folded."""
    parts: Iterable[str | None] = (
        entry.name,
        entry.campaign,
        entry.path.rsplit("/", 1)[-1],
        entry.filesystem,
        entry.raid,
        entry.target,
        entry.workload,
        entry.postgresql,
        entry.machine,
        entry.state,
        entry.note,
        entry.problem,
        *entry.options,
        *entry.keys,
        *entry.tags,
        *entry.marks,
        *_dates(entry),
    )
    return "\n".join(part for part in parts if part).casefold()


def _holds(term: Term, entry: LibraryEntry, words: str) -> bool:
    if not term.field:
        return term.text in words
    field = find_field(term.field)
    if any(field.holds(value.casefold(), term.text) for value in field.values(entry)):
        return True
    return term.field not in FIELDS and f"{term.field}:{term.text}" in words  # such as an address


def matches(terms: tuple[Term, ...], entry: LibraryEntry, words: str) -> bool:
    """Return whether a run matches.

    Args:
        terms: of the query; none matches every run.
        entry: the run.
        words: its `haystack`, computed once.
    """
    wanted: dict[str, list[bool]] = {}
    for term in terms:
        held = _holds(term, entry, words)
        if term.excluded:
            if held:
                return False
        else:
            wanted.setdefault(term.field, []).append(held)
    return all(
        any(held) if name and not find_field(name).narrows else all(held) for name, held in wanted.items()
    )


def count_values(field: QueryField, entries: Iterable[LibraryEntry]) -> list[tuple[str, int]]:
    """Return the values of a field and their number of runs, the most frequent first."""
    counts: dict[str, int] = {}
    for entry in entries:
        for value in field.values(entry):
            counts[value] = counts.get(value, 0) + 1
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def write_query(terms: Iterable[Term]) -> str:
    """Return terms as a user would type them."""
    return " ".join(
        ("-" if term.excluded else "")
        + (write_term(term.field, term.text) if term.field else _quoted(term.text))
        for term in terms
    )


def _quoted(text: str) -> str:
    return f'"{text}"' if " " in text else text


_DATE: Final = re.compile(r"today|yesterday|\d+d|\d{4}(-\d\d){0,2}")
_SHOWN: Final = 8
"""Maximum number of values listed in a message."""
_MORE_SHOWN: Final = 20
"""Maximum number of keys listed in a message in addition to `FIELDS`."""
_MOST_SHOWN: Final = 80
"""Maximum number of characters of a term in a message."""

_KNOWN: Final[dict[str, tuple[str, ...]]] = {
    "fs": tuple(spec.id for spec in FILESYSTEMS),
    "raid": tuple(level.value for level in Level),
    "target": (FolderTarget.kind, MemoryTarget.kind, DiskTarget.kind, ServerTarget.kind),
    "state": (*(state.value for state in RunState), "unreadable"),
}
"""Possible values, even without a run that has them."""


def query_mistakes(terms: Sequence[Term], entries: Sequence[LibraryEntry]) -> Iterator[str]:
    """Yield a sentence for each term that no run can match: an unknown field, an invalid date."""
    for term in terms:
        if term.field == "date" and not _DATE.fullmatch(term.text):
            message = tr(
                "“{term}” is not a date: give a year, month or day such as 2026-11-24, today, yesterday, "
                "or 7d for 7 days back."
            )
            near = did_you_mean(term.text[:_MOST_SHOWN], ("today", "yesterday"))
            yield _with(message.format(term=_written(term)), near)
        if not term.field or term.field in FIELDS:
            continue
        text = f"{term.field}:{term.text}"
        if not any(find_field(term.field).values(each) or text in haystack(each) for each in entries):
            message = tr("“{name}:” is not a field of a run; fields are {fields}.")
            keys = {word.partition("=")[0] for each in entries for word in (*each.keys, *each.options)}
            known = [f"{field}:" for field in (*FIELDS, *sorted(keys - FIELDS.keys()))]
            near = did_you_mean(f"{term.field[:_MOST_SHOWN]}:", known)
            fields = " ".join(known[: len(FIELDS) + _MORE_SHOWN])
            yield _with(message.format(name=term.field[:_MOST_SHOWN], fields=fields), near)


def query_remarks(terms: Sequence[Term], entries: Sequence[LibraryEntry]) -> Iterator[str]:
    """Yield a sentence for each field of a query with a value that no run of the library has."""
    for term in terms:
        if not term.field or not entries:
            continue
        if any(matches((_wanted(term),), each, haystack(each)) for each in entries):
            continue
        here = [value for value, _ in count_values(find_field(term.field), entries)]
        known = [*here, *_KNOWN.get(term.field, ())]
        message = tr("No run here has {term}; runs here have {values}.")
        if not here:
            message = tr("No run here has {term}; no run records “{field}:”.")
        values = ", ".join(here[:_SHOWN]) + (" …" if len(here) > _SHOWN else "")
        near = "" if term.text in known else did_you_mean(term.text[:_MOST_SHOWN], known)
        yield _with(message.format(term=_written(term), values=values, field=term.field), near)


def _wanted(term: Term) -> Term:
    return Term(term.field, term.text)


def _written(term: Term) -> str:
    return write_term(term.field, term.text)[:_MOST_SHOWN]


def _with(sentence: str, another: str) -> str:
    return f"{sentence} {another}".rstrip()
