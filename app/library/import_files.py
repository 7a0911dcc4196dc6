"""Copying run files from elsewhere into a library: from a memory stick, a colleague, a mail."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from app.domain.errors import FootingError, RunFileError
from app.domain.text import tr
from app.library.entries import is_live, run_paths
from app.runfile.filenames import slug
from app.runfile.metadata.typed_json import known
from app.runfile.reader import RunFile
from app.runfile.writer import SUFFIX, RunState


@dataclass(slots=True)
class CopiedFiles:
    """What became of files that were to be copied.

    Attributes:
        copies: the new files.
        known: files whose run is in the library already.
        problems: a sentence for each that could not be copied.
    """

    copies: list[Path] = field(default_factory=list)
    known: list[Path] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def copy_into_library(paths: Iterable[Path], library: Path) -> CopiedFiles:
    """Copy runs into a library, each into the folder of its campaign; nothing there is replaced."""
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
    """Return the copy of one run file.

    Raises:
        RunFileError: it is no run file, is being measured, or the library cannot be written.
    """
    with RunFile(path) as run:
        if run.state is RunState.RUNNING and is_live(path.parent):
            message = tr("{name} is still being measured; copy it when it has ended.")
            raise RunFileError(message.format(name=path.name))
        told = run.metadata
        campaign = known(told.campaign_folder, "") or known(told.campaign, "")
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
    """Copy a database with what stands in its journal, into a file without one."""
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
    raise RunFileError(tr("{folder} holds too many files of one name.").format(folder=folder))
