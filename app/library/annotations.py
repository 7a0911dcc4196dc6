"""Texts that users add to a finished run file: another name, tags, a note.

They are stored in the file itself, and so move with it. Measured data is never changed.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from app.domain.errors import RunFileError, UsageError
from app.domain.json_value import Json
from app.domain.run import RunState
from app.domain.text import number_text, tr
from app.library.entries import effective_state
from app.runfile.metadata.run_metadata import RunMetadata
from app.runfile.metadata.typed_json import NotKnown, known, values_of
from app.runfile.reader import RunFile
from app.runfile.writer import strange_part

NAME_LIMIT: Final = 200
TAG_LIMIT: Final = 40
TAGS_LIMIT: Final = 20
NOTE_LIMIT: Final = 10_000
"""Limits in characters; longer texts cannot be displayed."""


@dataclass(frozen=True, slots=True)
class Annotations:
    """New annotations of a run file; None keeps the current one.

    Attributes:
        name: of the run.
        campaign: name of its campaign.
        tags: all of them.
        note: the whole text.
    """

    name: str | None = None
    campaign: str | None = None
    tags: tuple[str, ...] | None = None
    note: str | None = None


def clean_name(text: str) -> str:
    """Return a name in one line.

    Raises:
        UsageError: it is empty or too long.
    """
    name = _one_line(text)
    if not name:
        raise UsageError(tr("A name has at least one character."))
    if len(name) > NAME_LIMIT:
        message = tr("A name has at most {limit} characters; this one has {count}.")
        raise UsageError(message.format(limit=NAME_LIMIT, count=len(name)))
    return name


def read_tags(text: str) -> tuple[str, ...]:
    """Parse comma-separated tags; remove repeated ones.

    Raises:
        UsageError: there are too many, or one is too long.
    """
    tags = tuple(dict.fromkeys(tag for part in text.split(",") if (tag := _one_line(part).lstrip("#"))))
    if len(tags) > TAGS_LIMIT:
        message = tr("A run has at most {limit} tags; these are {count}.")
        raise UsageError(message.format(limit=TAGS_LIMIT, count=len(tags)))
    for tag in tags:
        if len(tag) > TAG_LIMIT:
            message = tr("A tag has at most {limit} characters: “{tag}” is longer.")
            raise UsageError(message.format(limit=TAG_LIMIT, tag=tag))
    return tags


def clean_note(text: str) -> str:
    """Return a note without control characters except line breaks.

    Raises:
        UsageError: it is too long.
    """
    note = "\n".join(line.rstrip() for line in text.splitlines()).strip()
    note = "".join(c for c in note if c == "\n" or c.isprintable())
    if len(note) > NOTE_LIMIT:
        message = tr("A note has at most {limit} characters; this one has {count}.")
        raise UsageError(
            message.format(limit=number_text(NOTE_LIMIT, ","), count=number_text(len(note), ","))
        )
    return note


def _one_line(text: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def annotate(path: Path, annotations: Annotations) -> None:
    """Write annotations into a finished run file.

    Raises:
        RunFileError: it cannot be read or written, or is still being measured; nothing was changed.
    """
    with RunFile(path) as run:  # refuses what is no run file, is damaged, or newer
        before = run.metadata
        if effective_state(path, run.state) is RunState.RUNNING:
            message = tr("{name} is still being measured; its file is not changed before it has ended.")
            raise RunFileError(message.format(name=path.name))
    values = _changes(before, annotations)
    if values != RunMetadata():
        _write(path, values_of(values))


def mark_ended_run(path: Path, kind: str, reason: str) -> None:
    """Add a mark to a finished run.

    Raises:
        RunFileError: its file cannot be read or written; nothing was changed.
    """
    with RunFile(path) as run:
        run.marks()  # refuses what is no run file, is damaged, or newer
    _write(path, {}, ((kind, reason),))


def _changes(before: RunMetadata, annotations: Annotations) -> RunMetadata:
    """Return the values to write; the first change of a name also stores the original one."""
    wanted = RunMetadata()
    if annotations.name is not None and annotations.name != before.name:
        first = before.name if isinstance(before.measured_name, NotKnown) else before.measured_name
        wanted = replace(wanted, name=annotations.name, measured_name=first)
    if annotations.campaign is not None and annotations.campaign != before.campaign:
        first = (
            before.campaign if isinstance(before.measured_campaign, NotKnown) else before.measured_campaign
        )
        wanted = replace(wanted, campaign=annotations.campaign, measured_campaign=first)
    if annotations.tags is not None and annotations.tags != known(before.tags, ()):
        wanted = replace(wanted, tags=annotations.tags)
    if annotations.note is not None and annotations.note != known(before.note, ""):
        wanted = replace(wanted, note=annotations.note)
    return wanted


def _write(path: Path, values: dict[str, Json], marks: Iterable[tuple[str, str]] = ()) -> None:
    rows: Iterable[tuple[str, str]] = [
        (key, json.dumps(value, ensure_ascii=False)) for key, value in values.items()
    ]
    try:
        with path.open("r+b"):  # SQLite would open it read-only and fail later, with a worse message
            pass
        with closing(sqlite3.connect(path, isolation_level=None, timeout=5)) as connection:
            connection.execute("PRAGMA trusted_schema=OFF")
            if strange := strange_part(connection):  # a trigger would write as well
                message = tr("{name} is no run file as pgFooting writes them: {what}. It is not changed.")
                raise RunFileError(message.format(name=path.name, what=strange))
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                connection.executemany("INSERT OR REPLACE INTO run VALUES (?, ?)", rows)
                connection.executemany("INSERT OR IGNORE INTO mark VALUES (?, ?)", marks)
    except (OSError, sqlite3.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        message = tr("{path} cannot be changed: {reason}. Nothing was changed in it.")
        hint = tr("Where it lies on a read-only medium, copy it into the library first.")
        raise RunFileError(message.format(path=path, reason=reason), hint=hint) from error
