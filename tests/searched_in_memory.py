"""Search one run in memory: what a query means, in Python, for the tests of its SQL."""

from __future__ import annotations

from datetime import timedelta

from app.library import query
from app.library.entries import LibraryEntry
from app.library.query import FIELDS, Term, dimensions, find_field


def haystack(entry: LibraryEntry) -> str:
    """Return all searchable text of a run, case-folded."""
    setup = (entry.campaign, entry.filesystem, entry.raid, entry.target, entry.workload)
    parts = (*setup, entry.postgresql, entry.machine, *entry.options, *entry.keys, query.own_text(entry))
    return "\n".join(part for part in parts if part).casefold()


def found_in_memory(terms: tuple[Term, ...], entry: LibraryEntry) -> bool:
    """Return whether a run matches a query."""
    wanted: dict[str, list[bool]] = {}
    for term in terms:
        held = _holds(term, entry)
        if term.excluded:
            if held:
                return False
        else:
            wanted.setdefault(term.field, []).append(held)
    return all(
        any(held) if name and not find_field(name).narrows else all(held) for name, held in wanted.items()
    )


def _holds(term: Term, entry: LibraryEntry) -> bool:
    if not term.field:
        return term.text in haystack(entry)
    if term.field in FIELDS:
        return any(_matches(term, value.casefold()) for value in FIELDS[term.field].values(entry))
    values = (
        str(value).casefold() for key, value in dimensions(entry).items() if key.casefold() == term.field
    )
    if any(value.replace(" ", "") == term.text.replace(" ", "") for value in values):
        return True
    return f"{term.field}:{term.text}" in haystack(entry)


def _matches(term: Term, value: str) -> bool:
    typed = term.text
    match term.field:
        case "machine" | "kernel" | "campaign" | "configuration" | "name":
            return typed in value
        case "option" | "workload":
            return value == typed or value.partition("=")[0] == typed
        case "pg":
            return value == typed or value.startswith(f"{typed}.")
        case "date":
            return _is_date(value, typed)
        case _:
            return value == typed


def _is_date(value: str, typed: str) -> bool:
    today = query._today()
    if typed == "today":
        return value == today.isoformat()
    if typed == "yesterday":
        return value == (today - timedelta(days=1)).isoformat()
    if typed.endswith("d") and typed[:-1].isdecimal():
        first = today - timedelta(days=min(int(typed[:-1]), 36_500) - 1)
        return first.isoformat() <= value <= today.isoformat()
    return value == typed or value.startswith(f"{typed}-")
