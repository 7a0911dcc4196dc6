"""Follow the library: read it in the background, in slices, again whenever files change."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QFileSystemWatcher, QObject, QTimer, Signal

from app.domain.errors import FootingError
from app.domain.run import RunState
from app.library.scan import LibraryIndex, LibraryScan, ListedRun, index_path
from ui.background import BackgroundOp

if TYPE_CHECKING:
    from app.analysis.facts import RunFacts
    from app.runfile.series import RunData


SLICE_S: Final = 0.15
"""Duration of a slice, after which the list is updated."""
_SETTLE_MS: Final = 300
_LIVE_MS: Final = 3_000
_QUIET_MS: Final = 30_000
"""Maximum delay without a file watcher, as on network filesystems."""


class LibraryReader(QObject):
    """Reads one library and files from elsewhere.

    Signals:
        read: the runs so far, and whether these are all.
        failed: the library cannot be read; a sentence.
    """

    read = Signal(list, bool)
    failed = Signal(str)

    def __init__(self, library: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.library = library
        self._scan = LibraryScan(library, index=LibraryIndex(index_path(library)))
        self._iterator: Iterator[ListedRun] = iter(())
        self._found: list[ListedRun] = []
        self._shown: list[ListedRun] = []
        self._reading = False
        self._again = False
        self._stopped = False
        self._op: BackgroundOp[tuple[list[ListedRun], bool]] | None = None
        self._watcher = QFileSystemWatcher(self)
        self._settle = QTimer(self, singleShot=True, interval=_SETTLE_MS)
        self._next = QTimer(self, singleShot=True)
        self._watcher.directoryChanged.connect(lambda _path: self._settle.start())
        self._settle.timeout.connect(self.refresh)
        self._next.timeout.connect(self.refresh)

    @property
    def extra(self) -> tuple[Path, ...]:
        """Files outside the library that are listed as well."""
        return self._scan.extra

    def add_files(self, paths: Iterable[Path]) -> None:
        """List these files as well, from anywhere."""
        known = dict.fromkeys((*self._scan.extra, *(path.absolute() for path in paths)))
        self._scan.extra = tuple(known)
        self.refresh()

    def forget(self, paths: Iterable[Path]) -> None:
        """Remove these files from elsewhere from the list."""
        gone = {path.absolute() for path in paths}
        self._scan.extra = tuple(path for path in self._scan.extra if path not in gone)
        self.refresh()

    def refresh(self) -> None:
        """Read what changed."""
        if self._stopped:
            return
        if self._reading:
            self._again = True
            return
        self._reading, self._again = True, False
        self._settle.stop()
        self._next.stop()
        self._iterator = self._scan.read()
        self._found = []
        self._read_slice()

    def stop(self) -> None:
        """Stop reading."""
        self._stopped = True
        self._settle.stop()
        self._next.stop()
        self._again = False
        if self._op is not None:
            self._op.cancel()

    def _read_slice(self) -> None:
        iterator = self._iterator
        self._op = BackgroundOp(lambda: _take_slice(iterator, SLICE_S), self._take, self._fail).start()

    def _take(self, slice_: tuple[list[ListedRun], bool]) -> None:
        found, complete = slice_
        self._found += found
        # While a list that is known is read again, what was shown stays until all is read.
        if complete or len(self._found) > len(self._shown):
            self._shown = list(self._found)
            self.read.emit(self._shown, complete)
        if complete:
            self._finish()
        else:
            self._read_slice()

    def _finish(self) -> None:
        self._reading = False
        self._watch()
        live = any(run.entry.state == RunState.RUNNING for run in self._shown)
        self._next.start(_LIVE_MS if live else _QUIET_MS)
        if self._again:
            self.refresh()

    def _fail(self, error: FootingError) -> None:
        self._reading = False
        self._next.start(_QUIET_MS)
        self.failed.emit(error.message)

    def _watch(self) -> None:
        """Watch the library and every folder with runs; a missing library through its nearest parent."""
        folders = {str(Path(run.entry.path).parent) for run in self._shown}
        there = next(path for path in (self.library, *self.library.parents) if path.is_dir())
        folders.add(str(there))
        watched = set(self._watcher.directories())
        if watched - folders:
            self._watcher.removePaths(sorted(watched - folders))
        if folders - watched:
            self._watcher.addPaths(sorted(folders - watched))


def _take_slice(iterator: Iterator[ListedRun], seconds: float) -> tuple[list[ListedRun], bool]:
    """Return the next runs within a time limit, at least one, and whether these were the last."""
    found: list[ListedRun] = []
    deadline_s = time.monotonic() + seconds
    for run in iterator:
        found.append(run)
        if time.monotonic() >= deadline_s:
            return found, False
    return found, True


# Load the data of the chosen runs for charts and facts panel, in the background, and cache it.


@dataclass(frozen=True, slots=True)
class LoadedRun:
    """A run with all displayed data, or the reason why it cannot be shown."""

    listed: ListedRun
    data: RunData | None
    facts: RunFacts | None
    problem: str = ""


def load_run(listed: ListedRun, charts: Iterable[str], shown: int) -> LoadedRun:
    """Read a run file for these charts and the facts; never raises for a bad or missing file.

    Args:
        listed: the run.
        charts: ids of its charts.
        shown: number of configurations in them.
    """
    from app.analysis.facts import kept_run_facts  # noqa: PLC0415 - the window is on the screen before
    from app.runfile.series import kept_run_data  # noqa: PLC0415
    from ui.charts.data.curves import needed  # noqa: PLC0415
    from ui.charts.data.registry import CHARTS  # noqa: PLC0415

    path = Path(listed.entry.path)
    try:
        series = needed((CHARTS[chart] for chart in charts if chart in CHARTS), shown)
        return LoadedRun(listed, kept_run_data(path).load(*series), kept_run_facts(path))
    except FootingError as error:
        return LoadedRun(listed, None, None, error.message)


class RunLoader(QObject):
    """Delivers loaded runs; only the newest request is answered.

    Signals:
        loaded: path and `LoadedRun` of every requested run.
    """

    loaded = Signal(dict)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._kept: dict[str, LoadedRun] = {}
        self._op: BackgroundOp[list[LoadedRun]] | None = None

    def load(self, wanted: Mapping[str, ListedRun], charts: tuple[str, ...], shown: int) -> None:
        """Load these runs with this number of configurations; unchanged ones are not read again."""
        if self._op is not None:
            self._op.cancel()
        self._kept = {path: run for path, run in self._kept.items() if wanted.get(path) == run.listed}
        missing = [listed for path, listed in wanted.items() if path not in self._kept]
        if not missing:
            self.loaded.emit(dict(self._kept))
            return
        self._op = BackgroundOp(
            lambda: [load_run(listed, charts, shown) for listed in missing],
            self._take,
            lambda error: self._fail(missing, error),
        )
        self._op.start()

    def stop(self) -> None:
        """Stop delivering."""
        if self._op is not None:
            self._op.cancel()

    def _take(self, runs: list[LoadedRun]) -> None:
        self._kept |= {run.listed.entry.path: run for run in runs}
        self.loaded.emit(dict(self._kept))

    def _fail(self, missing: list[ListedRun], error: FootingError) -> None:
        self._take([LoadedRun(listed, None, None, error.message) for listed in missing])
