"""Explain a query that finds nothing: unknown fields, invalid dates, values that no run has."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from app.domain.campaign.configuration import DiskTarget, FolderTarget, MemoryTarget, ServerTarget
from app.domain.errors import did_you_mean
from app.domain.filesystems import FILESYSTEMS
from app.domain.options.raid import Level
from app.domain.run import RunState
from app.domain.text import tr
from app.library.index import LibraryIndex
from app.library.query import FIELDS, Term, compile_term, find_field, knows_field, write_term

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


def query_mistakes(terms: Sequence[Term], index: LibraryIndex) -> Iterator[str]:
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
        if not index.has(knows_field(term)):
            message = tr("“{name}:” is not a field of a run; fields are {fields}.")
            known = [f"{field}:" for field in (*FIELDS, *sorted(index.setting_names() - FIELDS.keys()))]
            near = did_you_mean(f"{term.field[:_MOST_SHOWN]}:", known)
            fields = " ".join(known[: len(FIELDS) + _MORE_SHOWN])
            yield _with(message.format(name=term.field[:_MOST_SHOWN], fields=fields), near)


def query_remarks(terms: Sequence[Term], index: LibraryIndex) -> Iterator[str]:
    """Yield a sentence for each field of a query with a value that no run of the library has."""
    for term in terms:
        if not term.field or index.has(compile_term(term)) or not index.has():
            continue
        here = [value for value, _ in index.count_values(find_field(term.field))]
        known = [*here, *_KNOWN.get(term.field, ())]
        message = tr("No run here has {term}; runs here have {values}.")
        if not here:
            message = tr("No run here has {term}; no run records “{field}:”.")
        values = ", ".join(here[:_SHOWN]) + (" …" if len(here) > _SHOWN else "")
        near = "" if term.text in known else did_you_mean(term.text[:_MOST_SHOWN], known)
        yield _with(message.format(term=_written(term), values=values, field=term.field), near)


def _written(term: Term) -> str:
    return write_term(term.field, term.text)[:_MOST_SHOWN]


def _with(sentence: str, another: str) -> str:
    return f"{sentence} {another}".rstrip()
