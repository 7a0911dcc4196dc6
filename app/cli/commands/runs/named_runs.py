"""Find the runs named on a command line, and finish abandoned ones before they are read."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from app import COMMAND
from app.domain.errors import UsageError
from app.domain.text import tr
from app.execution.recovery import sweep_abandoned
from app.hosts.recovery.cleanup import CleanupAction, SweepEvent
from app.library.entries import LibraryEntry, default_library, read_entry, run_paths
from app.library.query import haystack, matches, parse_query, query_mistakes, query_remarks
from app.library.scan import find_run, list_runs
from app.terminal.plain_text import plain


def library_of(arguments: argparse.Namespace) -> Path:
    """Return the library that the command line names, or the user's."""
    chosen: Path | None = arguments.library
    return chosen if chosen is not None else default_library()


def print_left_over(events: Sequence[SweepEvent]) -> None:
    """Print on standard error the remains of dead campaigns that could not be cleaned up."""
    for event in events:
        if event.action in {CleanupAction.KEPT, CleanupAction.UNREADABLE}:
            sys.stderr.write(f"{COMMAND}: {plain(event.text)}\n")


def is_query(name: str) -> bool:
    """Return whether an argument is a query, such as ``filesystem:xfs scale:250``, and no name of runs."""
    return not os.path.lexists(name) and any(term.field for term in parse_query(name))


def entries_found(words: Sequence[str], entries: Sequence[LibraryEntry]) -> list[LibraryEntry]:
    """Return the entries that match a query; print remarks about values that none has.

    Raises:
        UsageError: the query cannot match any run.
    """
    terms = tuple(term for word in words for term in parse_query(_as_one(word)))
    if mistakes := list(query_mistakes(terms, entries)):
        raise UsageError("\n".join(mistakes))
    for remark in query_remarks(terms, entries):
        sys.stderr.write(f"{COMMAND}: {plain(remark)}\n")
    return [entry for entry in entries if matches(terms, entry, haystack(entry))]


def _as_one(word: str) -> str:
    """Return an argument as one query term unless it has several fields: the shell has split the words."""
    is_one = " " in word and '"' not in word and not all(term.field for term in parse_query(word))
    return f'"{word}"' if is_one else word


def select_runs(names: Sequence[str], library: Path) -> list[list[Path]]:
    """Return the run files of each folder, path or id; queries choose among them, or of the library.

    Raises:
        UsageError: there is no such run.
    """
    queries = [name for name in names if is_query(name)]
    named = [name for name in names if name not in queries]
    if not queries:
        return [runs_named(name, library) for name in named]
    sides = [_entries_named(name, library) for name in named] or [list_runs(library)]
    found = {entry.path for entry in entries_found(queries, [entry for side in sides for entry in side])}
    if not found:
        sentence = tr("None of {count} runs in {library} is found by: {words}")
        folders = ", ".join(named) or library
        raise UsageError(
            sentence.format(count=sum(map(len, sides)), library=folders, words=plain(" ".join(queries)))
        )
    return [sorted(Path(entry.path) for entry in side if entry.path in found) for side in sides]


def _entries_named(name: str, library: Path) -> list[LibraryEntry]:
    return list_runs(Path(name)) if Path(name).is_dir() else [read_entry(find_run(name, library))]


def runs_named(name: str, library: Path) -> list[Path]:
    """Return the run files that a name denotes: those of a folder, or one."""
    folder = Path(name)
    if folder.is_dir():
        found = sorted(run_paths(folder))
        if not found:
            raise UsageError(tr("There is no run in the folder {folder}.").format(folder=folder))
        return found
    return [find_run(name, library)]


def named_paths(arguments: argparse.Namespace) -> list[Path]:
    """Return the run files that the command line names, each once.

    Raises:
        UsageError: there is no such run.
    """
    print_left_over(sweep_abandoned())
    sides = select_runs(arguments.runs, library_of(arguments))
    return list(dict.fromkeys(path for side in sides for path in side))
