"""Follow a library by reading it repeatedly: only changed files are opened.

A scan may be used by one thread at a time.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.domain.errors import FootingError
from app.domain.run import Phase, RunState
from app.library.entries import LibraryEntry, read_entry, run_paths
from app.library.index import IndexedRun, LibraryIndex
from app.runfile.file_cache import Signature, signature_of
from app.runfile.reader import RunFile

SPARK_POINTS: Final = 60
"""Maximum number of points in the spark line of a list row."""

_UNSETTLED: Final = frozenset({RunState.RUNNING, RunState.INCOMPLETE})
_STORE_EVERY: Final = 200
"""New entries per write to the index: a long first scan may be interrupted."""


@dataclass(frozen=True, slots=True)
class ListedRun:
    """A run in the library panel.

    Attributes:
        entry: of the library.
        spark: TPS over the measured phase in at most SPARK_POINTS means; empty if there are none.
    """

    entry: LibraryEntry
    spark: tuple[float, ...] = ()


def thin_out(values: NDArray[np.float64], points: int = SPARK_POINTS) -> tuple[float, ...]:
    """Return the means of at most `points` equal parts; NaN are ignored."""
    known = values[np.isfinite(values)]
    if len(known) <= points:
        return tuple(known.tolist())
    return tuple(float(part.mean()) for part in np.array_split(known, points))


def _read_spark(path: Path) -> tuple[float, ...]:
    with RunFile(path) as run:
        measured = run.phase(Phase.MEASURE)
        if measured is None:
            return ()
        t_ms, tps = run.samples("pgbench.tps", after_ms=measured.started_ms)
        if measured.ended_ms is not None:
            tps = tps[t_ms <= measured.ended_ms]
    return thin_out(tps)


def read_listed(path: Path) -> ListedRun:
    """Read one run file for the panel; return an entry with the problem if it is unreadable."""
    entry = read_entry(path)
    if entry.problem is not None:
        return ListedRun(entry)
    try:
        return ListedRun(entry, _read_spark(path))
    except FootingError:  # damaged where the list does not look, or deleted meanwhile
        return ListedRun(entry)


class LibraryScan:
    """The runs of a library, and of files opened from elsewhere.

    Attributes:
        library: its folder.
        extra: run files outside it that are listed as well.
    """

    def __init__(self, library: Path, extra: Iterable[Path] = (), index: LibraryIndex | None = None) -> None:
        """Prepare a scan without reading anything.

        Args:
            library: its folder.
            extra: run files outside it.
            index: cache of the entries; None for none.
        """
        self.library = library
        self.extra = tuple(extra)
        self._index = index
        self._loaded = False
        self._known: dict[Path, tuple[Signature, ListedRun]] = {}

    def paths(self) -> list[Path]:
        """Return all existing run files."""
        inside = list(run_paths(self.library))
        if not self.extra:
            return inside
        known = {os.path.realpath(path) for path in inside}
        return inside + [
            path for path in self.extra if os.path.realpath(path) not in known and path.is_file()
        ]

    def read(self) -> Iterator[ListedRun]:
        """Yield every run; read only new and changed files, and those whose runner may have died."""
        self._load()
        paths = self.paths()
        gone = self._known.keys() - set(paths)
        for path in gone:
            del self._known[path]
        changed: dict[str, IndexedRun] = {}
        for path in paths:
            signature = signature_of(path)
            before = self._known.get(path)
            if before is None or before[0] != signature or before[1].entry.state in _UNSETTLED:
                before = (signature, read_listed(path))
                self._known[path] = before
                if before[1].entry.state not in _UNSETTLED:
                    changed[str(path)] = IndexedRun(signature, before[1].entry, before[1].spark)
            if len(changed) >= _STORE_EVERY:
                self._store(changed, ())
                changed = {}
            yield before[1]
        self._store(changed, map(str, gone))

    def _load(self) -> None:
        if self._loaded or self._index is None:
            return
        self._loaded = True
        for path, run in self._index.load().items():
            self._known.setdefault(Path(path), (run.signature, ListedRun(run.entry, run.spark)))

    def _store(self, changed: dict[str, IndexedRun], gone: Iterable[str]) -> None:
        if self._index is not None:
            self._index.store(changed, gone)


def folder_of(run: ListedRun) -> str:
    """Return the folder of a run's file; without a Path, which would be slow for a thousand runs."""
    return run.entry.path.rpartition("/")[0]


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
