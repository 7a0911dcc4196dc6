"""Find the files below the user's paths, and the folders with runs.

Names that are not UTF-8 become text that can be stored and printed everywhere.
"""

from __future__ import annotations

import glob
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Final

from app.domain.errors import FootingError, ForeignDataError, UsageError
from app.domain.json_value import Json
from app.domain.text import tr
from app.importers.files.members import ForeignFile, file_member, list_members
from app.importers.formats.file_types import FileType, kind_of
from app.importers.formats.outputs import PgbenchOutput
from app.importers.formats.transaction_logs import LogSurvey, survey_log
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
        raise UsageError(f"{path} " + tr("does not exist") + ".")
    is_folder = os.path.isdir(absolute)  # noqa: PTH112 - Path.is_dir raises where a folder may not be entered
    tree = ScanResult(absolute if is_folder else absolute.parent)
    for number, (file, folder) in enumerate(_files(absolute, tree.left, is_folder=is_folder)):
        if number >= MOST_FILES:
            message = tr("There are more than {count} files below {path}: name the folders of the runs.")
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
            reason = tr("more than {count} folders deep: import it separately").format(count=DEEPEST)
            left.append(SkippedFile(folder, reason, is_problem=True))
            folders.clear()
        for name in sorted(names):
            yield Path(folder) / name, descriptor


def _add(tree: ScanResult, file: Path, folder: int | None) -> None:
    try:
        mode = os.stat(file if folder is None else file.name, dir_fd=folder, follow_symlinks=False).st_mode
        if not stat.S_ISREG(mode):
            reason = tr("is not a regular file")
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


# Match outputs and logs of one folder that belong to the same run; ambiguous ones stay separate.
#
# pgbench names its logs PREFIX.PID and PREFIX.PID.THREAD, and prints its pid nowhere else. One output and one
# log match. With several, a log belongs to the output with its number of transactions, or with its name; one
# that fits none or several stays alone.


_NUMBERED: Final = re.compile(r"(.+?)\.(\d+)(?:\.(\d+))?")
_ALIKE: Final = 0.02
"""Greatest relative difference of the clients' counters in a sampled log from the summary's transactions."""


@dataclass(frozen=True, slots=True)
class ThreadLogs:
    """The logs of one pgbench.

    Attributes:
        name: without the number of the thread.
        stem: of the name, without pid and ending.
        members: one per thread, in order.
        is_aggregated: lines of intervals instead of transactions.
    """

    name: str
    stem: str
    members: tuple[ForeignFile, ...]
    is_aggregated: bool

    def survey(self) -> LogSurvey | None:
        """Return the facts from the ends; None for an aggregated log or one without a whole line."""
        return None if self.is_aggregated else survey_log(self.members)


@dataclass(frozen=True, slots=True)
class OutputWithLogs:
    """An output, a log, or both, of one run."""

    output: PgbenchOutput | None
    log: ThreadLogs | None


def group_logs(members: Iterable[ForeignFile], *, is_aggregated: bool) -> list[ThreadLogs]:
    """Return the logs of each pgbench, in order of their names."""
    by_name = {
        (member.disk.parent, member.inner.rpartition("/")[0], member.name): member for member in members
    }
    groups: dict[tuple[object, ...], dict[int, ForeignFile]] = {}
    for (folder, inside, name), member in by_name.items():
        match = _NUMBERED.fullmatch(name)
        base, thread = name, 0
        if match and match[3]:
            base, thread = f"{match[1]}.{match[2]}", int(match[3])
        elif match and (folder, inside, match[1]) in by_name:
            base, thread = match[1], int(match[2])
        groups.setdefault((folder, inside, base), {})[thread] = member
    return [
        ThreadLogs(
            str(key[2]), _stem(str(key[2])), tuple(group[thread] for thread in sorted(group)), is_aggregated
        )
        for key, group in sorted(groups.items(), key=lambda item: str(item[0]))
    ]


def _stem(name: str) -> str:
    match = re.fullmatch(r"(.+)\.\d+", name)
    return (match[1] if match else name).removesuffix(".log")


def join_outputs(outputs: Sequence[PgbenchOutput]) -> list[PgbenchOutput]:
    """Return the outputs, with separate stdout and stderr of the same run joined."""
    summaries = [each for each in outputs if each.summary and not each.progress]
    streams = [each for each in outputs if not each.summary and not each.problem]
    joined: list[PgbenchOutput] = [each for each in outputs if each not in summaries and each not in streams]
    for summary in summaries:
        near = [each for each in streams if _name_stem(each.file) == _name_stem(summary.file)]
        if len(summaries) == len(streams) == 1:
            near = list(streams)
        if len(near) == 1:
            streams.remove(near[0])
            joined.append(summary.joined(near[0]))
        else:
            joined.append(summary)
    return [*joined, *streams]


def _name_stem(file: str) -> str:
    name = file.rpartition("/")[2]
    return name.rpartition(".")[0] or name


def pair_up(
    outputs: Sequence[PgbenchOutput], logs: Sequence[ThreadLogs], left: list[SkippedFile]
) -> list[OutputWithLogs]:
    """Return the matches of one folder, with every output and log once."""
    if len(outputs) <= 1 and len(logs) <= 1:
        return [OutputWithLogs(outputs[0] if outputs else None, logs[0] if logs else None)]
    free = list(outputs)
    pairs: list[OutputWithLogs] = []
    for log in logs:
        fitting = [each for each in free if _name_stem(each.file) == log.stem] or _alike(log, free)
        if len(fitting) == 1:
            free.remove(fitting[0])
            pairs.append(OutputWithLogs(fitting[0], log))
        else:
            pairs.append(OutputWithLogs(None, log))
            if free:
                reason = tr("several outputs ({count}) could belong to it: imported alone")
                left.append(SkippedFile(log.members[0].shown_path, reason.format(count=len(free))))
    return [*pairs, *(OutputWithLogs(output, None) for output in free)]


def _alike(log: ThreadLogs, outputs: Sequence[PgbenchOutput]) -> list[PgbenchOutput]:
    survey = log.survey()
    if survey is None:
        return []
    return [
        each
        for each in outputs
        if each.summary
        and each.summary.transactions
        and abs(survey.counted / (each.summary.transactions + (each.summary.failed or 0)) - 1) < _ALIKE
    ]
