"""Find the files below the user's paths, and the folders with runs.

Names that are not UTF-8 become text that can be stored and printed everywhere.
"""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Final

from app.domain.errors import FootingError, ForeignDataError, UsageError
from app.domain.json_value import Json
from app.domain.text import tr
from app.importers.files.members import ForeignFile, file_member, list_members
from app.importers.formats.file_types import FileType, kind_of
from app.importers.runs.foreign_run import ForeignEvent, ForeignRun
from app.runfile.metadata.run_metadata import read_metadata
from app.runfile.metadata.typed_json import values_of

MOST_FILES: Final = 200_000
DEEPEST: Final = 100
"""Greatest depth below a path: each level of the walk needs a descriptor and a frame."""
RUN_KINDS: Final = frozenset(
    {FileType.TRANSACTIONS, FileType.AGGREGATES, FileType.OUTPUT, FileType.STATISTICS, FileType.TIME_TABLE}
)
"""Types of files that make a folder a run's."""
_LOG_KINDS: Final = frozenset({FileType.TRANSACTIONS, FileType.AGGREGATES, FileType.EMPTY})


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """A file that was not used.

    Attributes:
        path: of the file.
        reason: why.
        is_problem: it looks like a result and could not be read; False for other files.
    """

    path: str
    reason: str
    is_problem: bool = False


def unread(path: object, error: OSError | FootingError) -> SkippedFile:
    """Return a file that could not be read, with the reason."""
    reason = f"{error.message} {error.hint}".strip() if isinstance(error, FootingError) else ""
    if isinstance(error, OSError):
        reason = tr("cannot be read: {reason}").format(reason=error.strerror)
    return SkippedFile(str(path), reason, is_problem=True)


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file and its type."""

    member: ForeignFile
    kind: FileType


@dataclass(slots=True)
class ScanResult:
    """Everything below one path.

    Attributes:
        root: the path, or the folder of a single file.
        folders: files by folder, folders in order.
        left: unreadable files and folders.
    """

    root: Path
    folders: dict[Path, list[FoundFile]] = field(default_factory=dict)
    left: list[SkippedFile] = field(default_factory=list)

    def context(self, folder: Path, kind: FileType) -> list[FoundFile]:
        """Return the files of a kind in the nearest folder that has any, from `folder` up to the root."""
        for place in (folder, *folder.parents):
            found = [each for each in self.folders.get(place, ()) if each.kind is kind]
            if found or place == self.root:
                return found
        return []

    def all_context(self, folder: Path, kind: FileType) -> Iterator[FoundFile]:
        """Yield the files of a kind in every folder from `folder` up to the root, the nearest first."""
        for place in (folder, *folder.parents):
            yield from (each for each in self.folders.get(place, ()) if each.kind is kind)
            if place == self.root:
                return

    def run_folders(self) -> list[Path]:
        """Return the folders with a run."""
        return [
            folder for folder, files in self.folders.items() if any(each.kind in RUN_KINDS for each in files)
        ]


def look_at(path: Path, progress: Callable[[str], None]) -> ScanResult:
    """Return the files below a path: a folder, an archive, or a log with those of its other threads.

    Raises:
        UsageError: there is nothing at this path, or too much below it.
    """
    absolute = Path(os.path.abspath(path))  # noqa: PTH100 - a link in the path stays as it was named
    if not os.path.lexists(absolute):
        raise UsageError(tr("There is no {path}.").format(path=path))
    is_folder = os.path.isdir(absolute)  # noqa: PTH112 - Path.is_dir raises where a folder may not be entered
    tree = ScanResult(absolute if is_folder else absolute.parent)
    for number, (file, folder) in enumerate(_files(absolute, tree.left, is_folder=is_folder)):
        if number >= MOST_FILES:
            message = tr("Below {path} are more than {count} files: name the folders of the runs.")
            raise UsageError(message.format(path=path, count=MOST_FILES))
        progress(str(file))
        _add(tree, file, folder)
    return tree


def _files(path: Path, left: list[SkippedFile], *, is_folder: bool) -> Iterator[tuple[Path, int | None]]:
    """Yield each file with the descriptor of its folder, to prevent its replacement by a link."""
    if not is_folder:
        yield path, None
        threads = (
            each for each in path.parent.glob(f"{glob.escape(path.name)}.*") if each.suffix[1:].isdigit()
        )
        yield from ((each, None) for each in sorted(threads))
        return

    for folder, folders, names, descriptor in os.fwalk(
        path, onerror=lambda error: left.append(unread(error.filename, error))
    ):
        folders.sort()
        if folders and len(Path(folder).parts) - len(path.parts) >= DEEPEST:
            reason = tr("more than {count} folders deep: import it by itself").format(count=DEEPEST)
            left.append(SkippedFile(folder, reason, is_problem=True))
            folders.clear()
        for name in sorted(names):
            yield Path(folder) / name, descriptor


def _add(tree: ScanResult, file: Path, folder: int | None) -> None:
    try:
        mode = os.stat(file if folder is None else file.name, dir_fd=folder, follow_symlinks=False).st_mode
        if not stat.S_ISREG(mode):
            reason = tr("a link") if stat.S_ISLNK(mode) else tr("no regular file")
            tree.left.append(SkippedFile(str(file), reason))
            return
        member = file_member(file, folder)
    except OSError as error:
        tree.left.append(unread(file, error))
        return
    kind = kind_of(member)
    if kind not in _LOG_KINDS:
        member = member.trimmed()
    if kind is FileType.ARCHIVE:
        _add_archive(tree, file, member)
    else:
        tree.folders.setdefault(file.parent, []).append(FoundFile(member, kind))


def _add_archive(tree: ScanResult, file: Path, looked_at: ForeignFile) -> None:
    try:
        members = list_members(file, looked_at.identity)
        found = [FoundFile(member, kind_of(member)) for member in members]
    except ForeignDataError as error:
        tree.left.append(unread(file, error))
        return
    # Packed logs belong to the folder of the archive, in whatever folder they were packed.
    only_logs = all(each.kind in _LOG_KINDS for each in found)
    for each in found:
        inside = PurePosixPath() if only_logs else PurePosixPath(each.member.inner).parent
        tree.folders.setdefault(file.parent / inside, []).append(each)


def members_of(found: Sequence[FoundFile], kind: FileType) -> list[ForeignFile]:
    """Return the members of a kind."""
    return [each.member for each in found if each.kind is kind]


def shown(text: str) -> str:
    r"""Return a text with each byte that is not UTF-8 written as four characters, such as ``\xff``."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def shown_json(value: Json) -> Json:
    """Return a JSON value with `shown` applied to all its texts."""
    if isinstance(value, str):
        return shown(value)
    if isinstance(value, Mapping):
        return {shown(key): shown_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [shown_json(item) for item in value]
    return value


def shown_run(run: ForeignRun) -> ForeignRun:
    """Return a run with `shown` applied to all its texts."""
    return replace(
        run,
        name=shown(run.name),
        campaign=shown(run.campaign),
        folder=shown(run.folder),
        metadata=read_metadata({key: shown_json(value) for key, value in values_of(run.metadata).items()}),
        facts={key: shown_json(value) for key, value in run.facts.items()},
        events=[ForeignEvent(each.t_s, each.kind, shown(each.message), each.data) for each in run.events],
        outputs={name: shown(text) for name, text in run.outputs.items()},
        marks=[(kind, shown(reason)) for kind, reason in run.marks],
        missing=[(source, shown(reason)) for source, reason in run.missing],
        notes=[shown(note) for note in run.notes],
    )
