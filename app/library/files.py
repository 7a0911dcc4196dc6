"""Change the files of a library: copy, trash and restore them, and their names, tags and notes.

FreeDesktop.org Trash specification 1.0: the home trash for files of its filesystem, else a trash at the top
of the file's own filesystem. Files are only renamed, never copied or deleted.
"""

from __future__ import annotations

import json
import os
import sqlite3
import stat
from collections.abc import Iterable
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Final
from urllib.parse import quote

from app.domain.errors import FootingError, RunFileError, UsageError
from app.domain.json_value import Json
from app.domain.run import RunState
from app.domain.text import titled, tr
from app.library.entries import effective_state, is_live, run_paths
from app.runfile.bounds import check_regular
from app.runfile.metadata.run_metadata import RunMetadata
from app.runfile.metadata.typed_json import NotKnown, known, values_of
from app.runfile.output_file import slug
from app.runfile.reader import RunFile
from app.runfile.writer import SUFFIX, strange_part


@dataclass(slots=True)
class CopiedFiles:
    """Result of copying files.

    Attributes:
        copies: the new files.
        known: files whose run is in the library already.
        problems: a sentence for each file that could not be copied.
    """

    copies: list[Path] = field(default_factory=list)
    known: list[Path] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def copy_into_library(paths: Iterable[Path], library: Path) -> CopiedFiles:
    """Copy runs into a library, each into the folder of its campaign; replace nothing."""
    result = CopiedFiles()
    ids = {name: path for path in run_paths(library) if (name := _id_of(path))}
    for path in paths:
        try:
            name = _id_of(path)
            if name and name in ids:
                result.known.append(path)
                continue
            copy = _copy(path, library)
        except FootingError as error:
            result.problems.append(error.message)
        else:
            result.copies.append(copy)
            ids[name] = copy
    return result


def _id_of(path: Path) -> str:
    try:
        with RunFile(path) as run:
            return known(run.metadata.id, "")
    except FootingError:
        return ""


def _copy(path: Path, library: Path) -> Path:
    """Copy one run file and return the copy.

    Raises:
        RunFileError: it is not a run file, is being measured, or the library cannot be written.
    """
    with RunFile(path) as run:
        if run.state is RunState.RUNNING and is_live(path.parent):
            message = tr("{name} is still being measured. Wait until it has ended, or stop it.")
            raise RunFileError(message.format(name=path.name))
        metadata = run.metadata
        campaign = known(metadata.campaign_folder, "") or known(metadata.campaign, "")
    folder = library / (slug(campaign, 80) if campaign else "from-elsewhere")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        part = folder / f".{path.stem}.{os.getpid()}.part"
        try:
            _copy_pages(path, part)
            return _give_name(part, folder, path.stem)
        finally:
            part.unlink(missing_ok=True)
    except (OSError, sqlite3.Error) as error:
        message = tr("{name} could not be copied to {folder}: {reason}.")
        raise RunFileError(message.format(name=path.name, folder=folder, reason=error)) from error


def _copy_pages(source: Path, target: Path) -> None:
    """Copy a database including its journal into a file without one."""
    uri = f"{Path(os.path.realpath(source)).as_uri()}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True)) as old, closing(sqlite3.connect(target)) as new:
        old.backup(new)
        new.execute("PRAGMA journal_mode=DELETE").fetchall()


def _give_name(part: Path, folder: Path, stem: str) -> Path:
    for number in range(1, 10_000):
        name = folder / (f"{stem}{SUFFIX}" if number == 1 else f"{stem}.{number}{SUFFIX}")
        if not name.exists():
            part.rename(name)
            return name
    raise RunFileError(tr("{folder} contains too many files with the same name.").format(folder=folder))


_TRIES: Final = 1000


class TrashError(FootingError):
    """A file cannot be moved to the trash or back; it is unchanged."""

    code = "trash"


@dataclass(frozen=True, slots=True)
class TrashedFile:
    """A file in the trash.

    Attributes:
        original: where it was.
        file: where it is.
        info: its record in the trash.
    """

    original: Path
    file: Path
    info: Path


def move_to_trash(path: Path) -> TrashedFile:
    """Move a run file to the trash.

    Raises:
        TrashError: it is being measured, or there is no trash for its filesystem; it is unchanged.
    """
    _refuse_running(path)
    try:
        _fold_journal(path)
        return _move(path.absolute())
    except OSError as error:
        message = tr("{name} could not be moved to the trash: {reason}. It is where it was.")
        raise TrashError(message.format(name=path.name, reason=error.strerror or error)) from error


def restore(trashed: Iterable[TrashedFile]) -> None:
    """Move files back to their original paths.

    Raises:
        TrashError: one is no longer in the trash, or another file has its path; the others are restored.
    """
    problems = []
    for each in trashed:
        try:
            each.original.parent.mkdir(parents=True, exist_ok=True)
            if each.original.exists():
                message = tr("{path} exists again; the other one stays in the trash")
                problems.append(message.format(path=each.original))
                continue
            each.file.rename(each.original)
            each.info.unlink(missing_ok=True)
        except OSError as error:
            problems.append(
                tr("{path} could not be restored ({reason})").format(
                    path=each.original, reason=error.strerror
                )
            )
    if problems:
        raise TrashError(". ".join(problems) + ".")


def _refuse_running(path: Path) -> None:
    with suppress(RunFileError), RunFile(path) as run:
        if run.state is RunState.RUNNING and is_live(path.parent):
            message = tr("{name} is still being measured. Wait until it has ended, or stop it.")
            raise TrashError(message.format(name=path.name))


def _fold_journal(path: Path) -> None:
    """Merge the journal into the file, because only one file is moved."""
    if path.is_symlink() or not path.with_name(path.name + "-wal").exists():
        return
    try:
        check_regular(path)
    except RunFileError as error:
        raise TrashError(error.message) from error
    try:
        with closing(sqlite3.connect(path, timeout=2, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode=DELETE").fetchall()
    except sqlite3.Error as error:
        message = tr("{name} could not be moved to the trash: {reason}. It is where it was.")
        raise TrashError(message.format(name=path.name, reason=error)) from error


def _move(path: Path) -> TrashedFile:
    trash, kept_path = _trash_for(path)
    for folder in ("files", "info"):
        (trash / folder).mkdir(mode=0o700, parents=True, exist_ok=True)
    stem, suffix = path.stem, path.suffix
    for number in range(1, _TRIES):
        name = path.name if number == 1 else f"{stem}.{number}{suffix}"
        info, file = trash / "info" / f"{name}.trashinfo", trash / "files" / name
        try:
            descriptor = os.open(info, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            continue
        with os.fdopen(descriptor, "w", encoding="utf-8") as record:
            record.write(_record(kept_path))
        if file.exists():  # left by a program that lost its record
            info.unlink()
            continue
        try:
            path.rename(file)
        except OSError:
            info.unlink()
            raise
        return TrashedFile(path, file, info)
    raise TrashError(tr("The trash contains too many files called {name}.").format(name=path.name))


def _record(path: str) -> str:
    moment = datetime.now().astimezone().strftime("%Y-%m-%dT%H:%M:%S")
    return f"[Trash Info]\nPath={quote(path)}\nDeletionDate={moment}\n"


def _trash_for(path: Path) -> tuple[Path, str]:
    """Return the trash for a file's filesystem, and the file's path for its records.

    Raises:
        OSError: there is none, and none can be created.
    """
    base = os.environ.get("XDG_DATA_HOME", "")
    home = (Path(base) if base.startswith("/") else Path.home() / ".local" / "share") / "Trash"
    device = path.lstat().st_dev
    if _existing(home).stat().st_dev == device:
        return home, str(path)
    top = path.parent
    while not os.path.ismount(top):
        top = top.parent
    relative = str(path.relative_to(top))
    shared = top / ".Trash"
    with suppress(OSError):
        mode = shared.lstat().st_mode
        if stat.S_ISDIR(mode) and mode & stat.S_ISVTX:
            return shared / str(os.getuid()), relative
    return top / f".Trash-{os.getuid()}", relative


def _existing(path: Path) -> Path:
    """Return a folder, or its nearest existing parent."""
    return next(each for each in (path, *path.parents) if each.exists())


# Texts that users add to a finished run file: another name, tags, a note.
#
# They are stored in the file itself, and so move with it. Measured data is never changed.


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
        raise UsageError(tr("A name needs at least one character."))
    if len(name) > NAME_LIMIT:
        raise _too_long(titled(tr("name")), NAME_LIMIT, len(name))
    return name


def read_tags(text: str) -> tuple[str, ...]:
    """Parse comma-separated tags; remove repeated ones.

    Raises:
        UsageError: there are too many, or one is too long.
    """
    tags = tuple(dict.fromkeys(tag for part in text.split(",") if (tag := _one_line(part).lstrip("#"))))
    if len(tags) > TAGS_LIMIT:
        message = tr("A run can have at most {limit} tags, but {count} were given.")
        raise UsageError(message.format(limit=TAGS_LIMIT, count=len(tags)))
    for tag in tags:
        if len(tag) > TAG_LIMIT:
            raise _too_long(tag, TAG_LIMIT, len(tag))
    return tags


def clean_note(text: str) -> str:
    """Return a note without control characters except line breaks.

    Raises:
        UsageError: it is too long.
    """
    note = "\n".join(line.rstrip() for line in text.splitlines()).strip()
    note = "".join(c for c in note if c == "\n" or c.isprintable())
    if len(note) > NOTE_LIMIT:
        raise _too_long(tr("Note"), NOTE_LIMIT, len(note))
    return note


def _too_long(what: str, limit: int, count: int) -> UsageError:
    message = tr("{what}: at most {limit:,} characters are allowed, not {count:,}.")
    return UsageError(message.format(what=what, limit=limit, count=count))


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
            message = tr("{name} is still being measured. Wait until it has ended, or stop it.")
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
                message = tr("{path} is not a valid pgFooting run file: {what}. It was not changed.")
                raise RunFileError(message.format(path=path.name, what=strange))
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                connection.executemany("INSERT OR REPLACE INTO run VALUES (?, ?)", rows)
                connection.executemany("INSERT OR IGNORE INTO mark VALUES (?, ?)", marks)
    except (OSError, sqlite3.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        message = tr("{path} cannot be written: {reason}. Nothing there was changed.")
        hint = tr("If it is read-only, copy it into the library first.")
        raise RunFileError(message.format(path=path, reason=reason), hint=hint) from error
