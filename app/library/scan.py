"""Follow a library by reading it repeatedly: only changed files are opened, also after a new start.

Between two starts one SQLite file per library in the user's cache folder, its index, keeps the entries. It
may be deleted at any time: an entry is valid as long as its file's signature is unchanged, and a damaged
index, or one of another version, is rebuilt. A scan may be used by one thread at a time.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from app import TOP, VERSION
from app.domain.errors import FootingError, UsageError, did_you_mean
from app.domain.run import Phase, RunState
from app.domain.text import tr
from app.library.entries import LibraryEntry, read_entry, run_paths
from app.runfile.reader import RunFile
from app.runfile.series import Signature, signature_of
from app.runfile.writer import SUFFIX

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


KnownRun = tuple[Signature, ListedRun]
"""A run with the signature of its file when it was read."""


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
    return thin_out(tps if measured.ended_ms is None else tps[t_ms <= measured.ended_ms])


def read_listed(path: Path) -> ListedRun:
    """Read one run file for the panel; return an entry with the problem if it is unreadable."""
    spark: tuple[float, ...] = ()

    def also(run: RunFile) -> None:
        nonlocal spark
        with suppress(FootingError):  # damaged where the list does not look
            spark = _read_spark(run)

    return ListedRun(read_entry(path, also), spark)


_READERS: Final = (
    "domain/disturbances.py",
    "domain/run.py",
    "library/entries.py",
    "library/scan.py",
    "postgres/settings.py",
    "probes/facts/files.py",
    "runfile/bounds.py",
    "runfile/disturbance.py",
    "runfile/metadata/environment.py",
    "runfile/metadata/run_metadata.py",
    "runfile/metadata/typed_json.py",
    "runfile/reader.py",
    "runfile/summary.py",
    "runfile/writer.py",
)
_LISTS: Final = ("marks", "options", "keys", "tags")


def index_path(library: Path) -> Path | None:
    """Return the index file of a library; None if this user has no cache (XDG Base Directory)."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not base.startswith("/"):
        try:
            base = str(Path.home() / ".cache")
        except RuntimeError:
            return None
    name = hashlib.sha256(os.fsencode(library.absolute())).hexdigest()[:16]
    return Path(base) / "pgfooting" / "libraries" / f"{name}.sqlite"


def index_format() -> int:
    """Return a number that changes with the fields of an entry and with the code that reads it.

    The version alone would not do: in a checkout the code changes without a new version.
    """
    names = ",".join((VERSION, *(field.name for field in fields(LibraryEntry))))
    code = zlib.crc32(names.encode())
    for name in _READERS:
        with suppress(OSError):
            code = zlib.crc32((TOP / "app" / name).read_bytes(), code)
    return code & 0x7FFFFFFF


class LibraryIndex:
    """One index. Errors only cost time: no method raises."""

    def __init__(self, path: Path | None) -> None:
        self.path = path

    def load(self) -> dict[Path, KnownRun]:
        """Return all entries by path; empty if the index is damaged or of another version."""
        if self.path is None or not self.path.is_file():
            return {}
        try:
            with closing(self._connect()) as connection:
                if connection.execute("PRAGMA user_version").fetchone()[0] != index_format():
                    return {}
                rows = connection.execute("SELECT path, told FROM run").fetchall()
            return {Path(os.fsdecode(path)): _unfold(json.loads(stored)) for path, stored in rows}
        except (sqlite3.Error, OSError, ValueError, TypeError, KeyError):
            self._forget()
            return {}

    def store(self, changed: Mapping[Path, KnownRun], gone: Iterable[Path]) -> None:
        """Store changed entries, and delete those of missing files."""
        missing = [(os.fsencode(path),) for path in gone]
        if self.path is None or not (changed or missing):
            return
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with closing(self._connect()) as connection, connection:
                self._make(connection)
                connection.executemany("DELETE FROM run WHERE path = ?", missing)
                rows = [(os.fsencode(path), json.dumps(_fold(run))) for path, run in changed.items()]
                connection.executemany("INSERT OR REPLACE INTO run VALUES (?, ?)", rows)
        except (sqlite3.DatabaseError, OSError) as error:
            if not isinstance(error, sqlite3.OperationalError):  # damaged, and not only busy or full
                self._forget()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path or "", timeout=1)
        try:
            connection.execute("PRAGMA synchronous=OFF")
        except BaseException:  # damaged
            connection.close()
            raise
        return connection

    def _make(self, connection: sqlite3.Connection) -> None:
        if connection.execute("PRAGMA user_version").fetchone()[0] != index_format():
            connection.execute("DROP TABLE IF EXISTS run")
            connection.execute(f"PRAGMA user_version = {index_format()}")
        connection.execute("CREATE TABLE IF NOT EXISTS run (path BLOB PRIMARY KEY, told TEXT) WITHOUT ROWID")

    def _forget(self) -> None:
        if self.path is not None:
            with suppress(OSError):
                self.path.unlink()


def _fold(known: KnownRun) -> list[Any]:
    signature, run = known
    return [signature, asdict(run.entry), run.spark]


def _unfold(stored: list[Any]) -> KnownRun:
    signature, values, spark = stored
    entry = LibraryEntry(**{**values, **{name: tuple(values[name]) for name in _LISTS}})
    return tuple(tuple(map(int, part)) for part in signature), ListedRun(entry, tuple(map(float, spark)))  # type: ignore[misc]


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
        self._known: dict[Path, KnownRun] = {}

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
        changed: dict[Path, KnownRun] = {}
        for path in paths:
            signature = signature_of(path)
            before = self._known.get(path)
            if before is None or before[0] != signature or before[1].entry.state in _UNSETTLED:
                before = (signature, read_listed(path))
                self._known[path] = before
                if before[1].entry.state not in _UNSETTLED:
                    changed[path] = before
            if len(changed) >= _STORE_EVERY:
                self._store(changed, ())
                changed = {}
            yield before[1]
        self._store(changed, gone)

    def _load(self) -> None:
        if self._loaded or self._index is None:
            return
        self._loaded = True
        self._known = self._index.load() | self._known

    def _store(self, changed: dict[Path, KnownRun], gone: Iterable[Path]) -> None:
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


def list_runs(library: Path) -> list[LibraryEntry]:
    """Return all runs of a library, newest first, unreadable ones last; unchanged files are not reread."""
    runs = LibraryScan(library, index=LibraryIndex(index_path(library))).read()
    return sorted((run.entry for run in runs), key=lambda entry: -(entry.started or 0.0))


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
    hits = [entry for entry in list_runs(library) if entry.id and entry.id.startswith(name)]
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
