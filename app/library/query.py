"""Search the library: words, and fields such as ``fs:ext4 scale:250 tag:baseline -state:failed``.

A query is compiled to SQL for the tables of `app.library.index`. All text is compared case-folded. Pure.

Words are searched in all texts of a run. Several terms of one field widen the search (``fs:ext4 fs:xfs``:
either), tags and options narrow it, and all fields must match. In addition to `FIELDS`, every key of a
campaign file, option and setting of a run is a field, by its own name (``recordsize:8KiB``) or by that of
the property in comparisons (``"target rate":500``). `query_mistakes` and `query_remarks` explain
unknown fields, invalid dates and values that no run has.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import Enum, auto
from typing import Final

from app.campaign_file.partial import TABLES
from app.domain.filesystems import FILESYSTEMS
from app.domain.text import titled, tr
from app.library.entries import LibraryEntry


class Part(Enum):
    """Where the values of a field are stored."""

    SETUP = auto()
    """With what repeats share."""
    RUN = auto()


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition of a run, in SQL.

    Attributes:
        sql: never NULL.
        values: of its placeholders.
    """

    sql: str
    values: tuple[object, ...] = ()

    def and_also(self, other: Condition) -> Condition:
        """Return the condition that both hold."""
        return _joined(" AND ", (self, other))


def _joined(word: str, conditions: Sequence[Condition]) -> Condition:
    sql = word.join(f"({each.sql})" for each in conditions)
    return Condition(sql, tuple(value for each in conditions for value in each.values))


@dataclass(frozen=True, slots=True)
class QueryField:
    """A searchable field.

    Attributes:
        id: as it is typed.
        label: name in menus.
        values: of a run.
        holds: the condition of a word, its value case-folded as `folded`, for a typed text.
        part: where the values are stored.
        narrows: whether all of several terms must match.
    """

    id: str
    label: str
    values: Callable[[LibraryEntry], tuple[str, ...]]
    holds: Callable[[str], Condition]
    part: Part = Part.SETUP
    narrows: bool = False


EVERY: Final = Condition("1 = 1")


def _equal(typed: str) -> Condition:
    return Condition("folded = ?", (typed,))


def _within(typed: str) -> Condition:
    return Condition("instr(folded, ?) > 0", (typed,))


def _begins(start: str) -> Condition:
    return Condition("substr(folded, 1, ?) = ?", (len(start), start))


def _is_version(typed: str) -> Condition:
    return _joined(" OR ", (_equal(typed), _begins(f"{typed}.")))


def _is_option(typed: str) -> Condition:
    return _equal(typed) if "=" in typed else _joined(" OR ", (_equal(typed), _begins(f"{typed}=")))


def _moment(entry: LibraryEntry) -> date | None:
    try:
        return None if entry.started is None else datetime.fromtimestamp(entry.started).astimezone().date()
    except (ValueError, OverflowError, OSError):  # a file from elsewhere may say anything
        return None


def dates(entry: LibraryEntry) -> tuple[str, ...]:
    """Return the day of a run, if it is known."""
    day = _moment(entry)
    return () if day is None else (day.isoformat(),)


def _today() -> date:
    return datetime.now().astimezone().date()


def _is_date(typed: str) -> Condition:
    """Match a day with a year, month or day, with ``today``, or with a number of days back: ``7d``."""
    today = _today()
    if typed == "today":
        return _equal(today.isoformat())
    if typed == "yesterday":
        return _equal((today - timedelta(days=1)).isoformat())
    if typed.endswith("d") and typed[:-1].isdecimal():
        first = today - timedelta(days=min(int(typed[:-1][:_DIGITS]), _MOST_DAYS) - 1)
        return Condition("folded >= ? AND folded <= ?", (first.isoformat(), today.isoformat()))
    return _joined(" OR ", (_equal(typed), _begins(f"{typed}-")))


def _one(value: str | None) -> tuple[str, ...]:
    return (value,) if value else ()


_DIGITS: Final = 6
_MOST_DAYS: Final = 36_500

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
        QueryField("date", tr("Date"), dates, _is_date, Part.RUN),
        QueryField("tag", tr("Tag"), lambda entry: entry.tags, _equal, Part.RUN, narrows=True),
        QueryField("target", tr("Data location"), lambda entry: _one(entry.target), _equal),
        QueryField("state", tr("State"), lambda entry: (entry.state,), _equal, Part.RUN),
        QueryField("mark", tr("Mark"), lambda entry: entry.marks, _equal, Part.RUN),
        QueryField("campaign", tr("Campaign"), lambda entry: _one(entry.campaign), _within),
        QueryField(
            "configuration", titled(tr("configuration")), lambda entry: _one(entry.configuration), _within
        ),
        QueryField("name", titled(tr("name")), lambda entry: _one(entry.name), _within, Part.RUN),
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

    def holds(typed: str) -> Condition:
        """Match with or without blanks: ``8KiB`` is ``8 KiB``."""
        bare, start = typed.replace(" ", ""), f"{name}="
        same = Condition("replace(folded, ' ', '') = ?", (f"{start}{bare}",)).and_also(_begins(start))
        return _joined(" OR ", (same, _equal(name))) if bare == "on" else same

    return FIELDS.get(name) or QueryField(name, name, lambda _entry: (), holds)


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


MOST_TERMS: Final = 100
"""Terms of a query: SQL has limits of its own."""


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
    """Parse a query; never raises: open quotes are closed, terms above `MOST_TERMS` ignored."""
    try:
        words = _words(typed)
    except ValueError:  # a quote is open
        words = _words(f'{typed}"')
    return tuple(term for word in words[:MOST_TERMS] if (term := _term(word)) is not None)


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


def own_text(entry: LibraryEntry) -> str:
    """Return the searchable text that a run has beside its setup, case-folded."""
    parts: Iterable[str | None] = (
        entry.name,
        entry.path.rsplit("/", 1)[-1],
        entry.state,
        entry.note,
        entry.problem,
        *entry.tags,
        *entry.marks,
        *dates(entry),
    )
    return "\n".join(part for part in parts if part).casefold().replace("\0", " ")


_SETTINGS: Final = "word.field IN ('option', 'workload')"
_SPOKEN: Final = "word.field NOT IN ('configuration', 'kernel', 'scale', 'clients')"
"""Words of a setup that are found without their field."""


def compile_query(terms: Iterable[Term]) -> Condition:
    """Return the condition of the runs that a query finds; without terms all runs."""
    wanted: dict[str, list[Condition]] = {}
    every: list[Condition] = []
    for term in terms:
        held = compile_term(term)
        if term.excluded:
            every.append(Condition(f"NOT ({held.sql})", held.values))
        elif term.field and not find_field(term.field).narrows:
            wanted.setdefault(term.field, []).append(held)
        else:
            every.append(held)
    every += [_joined(" OR ", each) for each in wanted.values()]
    return _joined(" AND ", every) if every else EVERY


def compile_term(term: Term) -> Condition:
    """Return the condition that a run matches a term, whether the term excludes it or not."""
    if not term.field:
        return _has_text(term.text)
    field = find_field(term.field)
    if term.field in FIELDS:
        return _has_word(field.part, Condition("word.field = ?", (field.id,)), field.holds(term.text))
    held = _has_word(Part.SETUP, Condition(_SETTINGS), field.holds(term.text))
    return _joined(" OR ", (held, _has_text(f"{term.field}:{term.text}")))  # such as an address


def knows_field(term: Term) -> Condition:
    """Return the condition that a run has a setting of the name in a term, or its text."""
    held = _has_word(Part.SETUP, Condition(_SETTINGS), _is_option(term.field))
    return _joined(" OR ", (held, _has_text(f"{term.field}:{term.text}")))


def _has_word(part: Part, *conditions: Condition) -> Condition:
    where = _joined(" AND ", conditions)
    own, column = ("setup", "run.setup") if part is Part.SETUP else ("run", "run.number")
    words = f"SELECT number FROM word WHERE {where.sql}"  # first: they are few, and each is on many runs
    return Condition(f"{column} IN (SELECT {own} FROM {own}_word WHERE word IN ({words}))", where.values)


def _has_text(text: str) -> Condition:
    words = _has_word(Part.SETUP, Condition(_SPOKEN), _within(text))
    return _joined(" OR ", (words, _in_words(text.replace("\0", " "))))


def _in_words(text: str) -> Condition:
    """Search names, tags and notes of runs: FTS5 knows every three characters; others are compared."""
    if not _INDEXED <= len(text) <= _LONGEST:
        return Condition("run.number IN (SELECT rowid FROM run_text WHERE instr(text, ?) > 0)", (text,))
    phrase = '"' + text.replace('"', '""') + '"'
    return Condition("run.number IN (SELECT rowid FROM run_text WHERE run_text MATCH ?)", (phrase,))


_INDEXED: Final = 3
_LONGEST: Final = 200


def write_query(terms: Iterable[Term]) -> str:
    """Return terms as a user would type them."""
    return " ".join(
        ("-" if term.excluded else "")
        + (write_term(term.field, term.text) if term.field else _quoted(term.text))
        for term in terms
    )


def _quoted(text: str) -> str:
    return f'"{text}"' if " " in text else text
