"""What is to be told of a query: unknown fields, dates that are none, values that no run has. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from app.domain.campaign.configuration import DiskTarget, FolderTarget, MemoryTarget, ServerTarget
from app.domain.errors import did_you_mean
from app.domain.filesystems import FILESYSTEMS
from app.domain.options.raid import Level
from app.domain.text import tr
from app.library.entries import LibraryEntry
from app.library.query import FIELDS, Term, count_values, haystack, matches, write_term
from app.runfile.writer import RunState

_DATE: Final = re.compile(r"today|yesterday|\d+d|\d{4}(-\d\d){0,2}")
_FIELD: Final = re.compile(r"(?P<name>[a-z_]+):.*")
_SHOWN: Final = 8
"""Values of a field that are told."""
_TOLD: Final = 80
"""Characters of a term that are told."""

_KNOWN: Final[dict[str, tuple[str, ...]]] = {
    "fs": tuple(spec.id for spec in FILESYSTEMS),
    "raid": tuple(level.value for level in Level),
    "target": (FolderTarget.kind, MemoryTarget.kind, DiskTarget.kind, ServerTarget.kind),
    "state": (*(state.value for state in RunState), "unreadable"),
}
"""Values that there are, whether or not a run has them."""


def query_mistakes(terms: Sequence[Term], entries: Sequence[LibraryEntry]) -> Iterator[str]:
    """Yield a sentence for each term that no run can have: an unknown field, a date that is none."""
    for term in terms:
        if term.field == "date" and not _DATE.fullmatch(term.text):
            message = tr(
                "“{term}” is no date: a year, month or day such as 2026-11-24, today, yesterday, or days "
                "back such as 7d."
            )
            near = did_you_mean(term.text[:_TOLD], ("today", "yesterday"))
            yield _with(message.format(term=_written(term)), near)
        named = None if term.field else _FIELD.fullmatch(term.text)
        if named is not None and not any(term.text in haystack(entry) for entry in entries):
            message = tr("“{name}:” is no field of a run; fields are {fields}.")
            known = " ".join(f"{field}:" for field in FIELDS)
            near = did_you_mean(f"{named['name'][:_TOLD]}:", [f"{field}:" for field in FIELDS])
            yield _with(message.format(name=named["name"][:_TOLD], fields=known), near)


def query_remarks(terms: Sequence[Term], entries: Sequence[LibraryEntry]) -> Iterator[str]:
    """Yield a sentence for each field of a query with a value that no run of the library has."""
    for term in terms:
        if not term.field or not entries or any(matches((_wanted(term),), entry, "") for entry in entries):
            continue
        here = [value for value, _ in count_values(FIELDS[term.field], entries)]
        known = [*here, *_KNOWN.get(term.field, ())]
        message = tr("No run here has {term}; runs here have {values}.")
        if not here:
            message = tr("No run here has {term}; none says anything of “{field}:”.")
        values = ", ".join(here[:_SHOWN]) + (" …" if len(here) > _SHOWN else "")
        near = "" if term.text in known else did_you_mean(term.text[:_TOLD], known)
        yield _with(message.format(term=_written(term), values=values, field=term.field), near)


def _wanted(term: Term) -> Term:
    return Term(term.field, term.text)


def _written(term: Term) -> str:
    return write_term(term.field, term.text)[:_TOLD]


def _with(sentence: str, another: str) -> str:
    return f"{sentence} {another}".rstrip()
