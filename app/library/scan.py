"""Follow a library by reading it repeatedly: only changed files are opened, also after a new start.

What is known of a file is valid as long as its signature is unchanged. A scan may be used by one thread at a
time, its index by several.
"""

from __future__ import annotations

import json
import os
import time
from array import array
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.domain.errors import FootingError, UsageError, did_you_mean
from app.domain.run import Phase, RunState
from app.domain.text import tr
from app.library.entries import LibraryEntry, read_entry
from app.library.index import BY_START, SPARK_TYPE, LibraryIndex, ListedRun, Read, index_path
from app.library.query import Term
from app.runfile.reader import RunFile
from app.runfile.series import signature_of
from app.runfile.writer import SUFFIX

SPARK_POINTS: Final = 60
"""Maximum number of points in the spark line of a list row."""

_UNSETTLED: Final = frozenset({RunState.RUNNING, RunState.INCOMPLETE})
_MOST_READ: Final = 200
"""New files per write to the index: a long first scan may be interrupted."""
BATCH_S: Final = 0.15
"""How long files are read before what is known of them is shown."""
_TRIES: Final = 3


def thin_out(values: NDArray[np.float64], points: int = SPARK_POINTS) -> tuple[float, ...]:
    """Return the means of at most `points` equal parts; NaN are ignored."""
    known = values[np.isfinite(values)]
    if len(known) <= points:
        return tuple(known.tolist())
    return tuple(float(part.mean()) for part in np.array_split(known, points))


def _read_spark(run: RunFile) -> tuple[float, ...]:
    measured = run.phase(Phase.MEASURE)
    if measured is None:
        return ()
    t_ms, tps = run.samples("pgbench.tps", after_ms=measured.started_ms)
    line = thin_out(tps if measured.ended_ms is None else tps[t_ms <= measured.ended_ms])
    return tuple(array(SPARK_TYPE, line))


def read_listed(path: Path) -> ListedRun:
    """Read one run file for the panel; return an entry with the problem if it is unreadable."""
    spark: tuple[float, ...] = ()

    def also(run: RunFile) -> None:
        nonlocal spark
        with suppress(FootingError):  # damaged where the list does not look
            spark = _read_spark(run)

    return ListedRun(read_entry(path, also), spark)


class LibraryScan:
    """The runs of a library, and of files opened from elsewhere.

    Attributes:
        library: its folder.
        index: what is known of its runs.
    """

    def __init__(self, library: Path, extra: Iterable[Path] = (), index: LibraryIndex | None = None) -> None:
        """Prepare a scan without reading anything.

        Args:
            library: its folder.
            extra: run files outside it that are listed as well.
            index: of this library; None for one in memory.
        """
        self.library = library
        self.index = index if index is not None else LibraryIndex()
        self.index.outside = tuple(extra)

    def read(self) -> list[ListedRun]:
        """Return every run; the newest campaign first, unreadable files last."""
        return self.updated_index().runs()

    def updated_index(self) -> LibraryIndex:
        """Return the index, up to date; it fills itself again should it be lost."""

        def fill() -> None:
            deque(self.update(), maxlen=0)

        self.index.refill = fill
        fill()
        return self.index

    def update(self) -> Iterator[int]:
        """Bring the index up to date; yield how many files were read so far, after each batch of them.

        Only new and changed files are read, and those whose runner may have died.
        """
        for _ in range(_TRIES):
            before = self.index.generation
            yield from self._update()
            if self.index.generation == before:  # else it was lost on the way
                return

    def _update(self) -> Iterator[int]:
        batch: list[Read] = []
        count, began_s = 0, time.monotonic()
        for read in self._changed():
            batch.append(read)
            if len(batch) >= _MOST_READ or time.monotonic() - began_s >= BATCH_S:
                self.index.put(batch)
                count += len(batch)
                yield count
                batch, began_s = [], time.monotonic()
        if batch:
            self.index.put(batch)
            yield count + len(batch)
        self.index.tidy()

    def _changed(self) -> Iterator[Read]:
        """Read what changed, and delete what is gone from the index."""
        seen = set()
        for folder, paths in _folders(self.library):
            known = self.index.known_in(folder)
            seen.add(folder)
            yield from self._read_changed(paths, known, inside=True)
            self._delete(known.keys() - set(paths))
        for folder in self.index.folders() - seen:
            self._delete(self.index.known_in(folder))
        yield from self._changed_outside()

    def _read_changed(
        self, paths: Iterable[str], known: Mapping[str, tuple[str, str]], *, inside: bool
    ) -> Iterator[Read]:
        for path in paths:
            signature, before = json.dumps(signature_of(Path(path))), known.get(path)
            if before is not None and before[0] == signature and before[1] not in _UNSETTLED:
                continue
            run = read_listed(Path(path))
            if before is None or before[0] != signature or self.index.run_at(path) != run:
                yield Read(run, signature, inside)

    def _delete(self, paths: Iterable[str]) -> None:
        """Delete the runs without a file from the index.

        A file may be there although this scan has not seen it: another process has added it since.
        """
        gone = (path for path in paths if not os.path.lexists(path) or os.path.isdir(path))  # noqa: PTH112
        self.index.delete(gone)

    def _changed_outside(self) -> Iterator[Read]:
        """Read the files from elsewhere, and delete those without a file that any process had listed."""
        self._delete(self.index.outside_paths())
        top = os.path.join(os.path.realpath(self.library), "")  # noqa: PTH118
        for path in map(str, self.index.outside):
            if os.path.isfile(path) and not os.path.realpath(path).startswith(top):  # noqa: PTH113
                yield from self._read_changed([path], self.index.known_in(folder_name(path)), inside=False)


def _folders(library: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the folders with run files of a library, each with the paths of its files."""
    if not os.path.isdir(library):  # noqa: PTH112 - Path.is_dir raises where a folder may not be entered
        return
    for folder, folders, files in os.walk(library):
        folders.sort()
        if paths := [f"{folder}/{name}" for name in sorted(files) if name.endswith(SUFFIX)]:
            yield folder, paths


def folder_of(run: ListedRun) -> str:
    """Return the folder of a run's file."""
    return folder_name(run.entry.path)


def folder_name(path: str) -> str:
    """Return the folder of a file; without a Path, which would be slow for a thousand runs."""
    return path.rpartition("/")[0]


def newest_first(runs: Iterable[ListedRun]) -> list[ListedRun]:
    """Return the runs by campaign, the newest campaign first; within a campaign in the order of its runs.

    Unreadable files come last.
    """
    groups: dict[str, list[ListedRun]] = {}
    for run in runs:
        groups.setdefault(folder_of(run), []).append(run)

    def newest(group: list[ListedRun]) -> float:
        return max(run.entry.started or 0.0 for run in group)

    ordered = sorted(groups.values(), key=newest, reverse=True)
    found = [
        run
        for group in ordered
        for run in sorted(group, key=lambda run: (run.entry.started or 0.0, run.entry.path))
    ]
    return sorted(found, key=lambda run: run.entry.problem is not None)


def read_library(library: Path) -> LibraryIndex:
    """Return the index of a library, up to date; unchanged files are not reread."""
    return LibraryScan(library, index=LibraryIndex(index_path(library))).updated_index()


def list_runs(library: Path, terms: Sequence[Term] = ()) -> list[LibraryEntry]:
    """Return the runs of a library that match a query, newest first, unreadable ones last."""
    return [run.entry for run in read_library(library).runs(terms, BY_START)]


def find_run(name: str, library: Path) -> Path:
    """Find a run file by its path, or by the beginning of an id in this library.

    Raises:
        UsageError: none or several match.
    """
    path = Path(name)
    is_file = os.path.isfile(path)  # noqa: PTH113 - Path.is_file raises where a folder may not be entered
    if is_file:
        return path
    if path.suffix == SUFFIX or "/" in name:
        raise UsageError(f"{path} " + tr("does not exist") + ".", hint=_near_file(path))
    if not name:
        raise UsageError(tr("Give the id or the path of a run."), hint=tr("`pgfooting list` shows the ids."))
    hits = [run.entry for run in read_library(library).with_id(name)]
    if len(hits) == 1:
        return Path(hits[0].path)
    if hits:
        found = ", ".join(str(entry.id) for entry in hits[:5])
        raise UsageError(
            tr("{name} is the beginning of several ids: {found}.").format(name=name, found=found)
        )
    message = tr("{name} is neither a run file nor the beginning of an id in {library}.")
    hint = tr("`pgfooting list` shows the ids.")
    raise UsageError(message.format(library=library, name=name), hint=hint)


def _near_file(path: Path) -> str:
    """Return a sentence that suggests a file with a similar name; empty if there is none."""
    try:
        return did_you_mean(path.name, [each.name for each in path.parent.glob(f"*{SUFFIX}")])
    except (OSError, RuntimeError, ValueError):
        return ""
