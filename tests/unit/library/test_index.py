"""The index of a library: never wrong, and gone without a loss."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from app import TOP
from app.domain.run import RunState
from app.library import index as library_index
from app.library import scan as library_scan
from app.library.entries import LibraryEntry
from app.library.files import Annotations, annotate
from app.library.index import LibraryIndex, ListedRun, Read, index_path
from app.library.query import FIELDS, Term, parse_query
from app.library.scan import LibraryScan, read_listed
from tests.fix_window import Trial, begin_trial, write_bad_files, write_campaign, write_trial


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the files that were opened."""
    names: list[str] = []

    def counted(path: Path) -> ListedRun:
        names.append(path.name)
        return read_listed(path)

    monkeypatch.setattr(library_scan, "read_listed", counted)
    return names


def scan(library: Path, index: Path) -> list[ListedRun]:
    """Read a library as a new start of the program does."""
    return LibraryScan(library, index=LibraryIndex(index)).read()


def test_unchanged_files_not_opened(tmp_path: Path, read: list[str]) -> None:
    library, index = tmp_path / "library", tmp_path / "cache" / "index.sqlite"
    write_campaign(library)
    write_bad_files(library / "bad")
    first = scan(library, index)
    assert len(read) == len(first)
    read.clear()
    assert scan(library, index) == first
    assert read == ["left.footing"], "only the one whose runner died: its file may be finished any time"


def test_changed_new_and_removed_files_are_noticed(tmp_path: Path, read: list[str]) -> None:
    library, index = tmp_path / "library", tmp_path / "index.sqlite"
    paths = [write_trial(library / name, Trial(name)) for name in ("a.footing", "b.footing", "c.footing")]
    scan(library, index)
    read.clear()
    annotate(paths[0], Annotations(tags=("new",)))
    paths[1].unlink()
    write_trial(library / "d.footing", Trial("d"))
    found = {Path(run.entry.path).name: run.entry for run in scan(library, index)}
    assert sorted(found) == ["a.footing", "c.footing", "d.footing"]
    assert found["a.footing"].tags == ("new",)
    assert read == ["a.footing", "d.footing"]
    assert LibraryIndex(index).count() == 3


def test_unsettled_run_read_each_time(tmp_path: Path, read: list[str]) -> None:
    library, index = tmp_path / "library", tmp_path / "index.sqlite"
    begin_trial(library / "dead.footing", Trial(state=RunState.RUNNING)).close()
    scan(library, index)
    scan(library, index)
    assert read == ["dead.footing", "dead.footing"]


@pytest.mark.parametrize("damage", ["bytes", "rows", "version", "fields"])
def test_damaged_or_older_index_rebuilt(
    tmp_path: Path, read: list[str], monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    library, index = tmp_path / "library", tmp_path / "index.sqlite"
    write_campaign(library)
    first = scan(library, index)
    if damage == "bytes":
        index.write_bytes(b"\0" * 4096)
    elif damage == "fields":
        monkeypatch.setattr(library_index, "VERSION", "another")
    else:
        with closing(sqlite3.connect(index)) as connection, connection:
            rows = "UPDATE run SET marks = '['"
            connection.execute(rows if damage == "rows" else "PRAGMA user_version = 1")
    read.clear()
    assert scan(library, index) == first
    assert len(read) == len(first)
    read.clear()
    assert scan(library, index) == first
    assert read == []


def test_index_of_before_rebuilt(tmp_path: Path) -> None:
    library, index = tmp_path / "library", tmp_path / "index.sqlite"
    write_campaign(library)
    with closing(sqlite3.connect(index)) as connection, connection:
        connection.execute("CREATE TABLE run (path BLOB PRIMARY KEY, told TEXT) WITHOUT ROWID")
        connection.execute("INSERT INTO run VALUES ('/gone', '{}')")
        connection.execute("PRAGMA user_version = 77")
    assert len(scan(library, index)) == 6
    assert LibraryIndex(index).count() == 6


def test_index_lost_while_open_filled_again(tmp_path: Path) -> None:
    library, path = tmp_path / "library", tmp_path / "index.sqlite"
    write_campaign(library)
    index = LibraryScan(library, index=LibraryIndex(path)).updated_index()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DROP TABLE run")
    assert index.count() == 6
    path.write_bytes(b"x" * 100_000)
    assert len(index.paths(())) == 6


FILLED = """
import sys
from collections import deque
from pathlib import Path
from app.library import scan
from app.library.index import LibraryIndex
scan.BATCH_S = 0.0
made = scan.LibraryScan(Path(sys.argv[1]), index=LibraryIndex(Path(sys.argv[2])))
print("begun", flush=True)
print(len(made.read()), flush=True)
"""


def begin_scan(library: Path, index: Path) -> subprocess.Popen[str]:
    """Begin to read a library in another process, a file a write."""
    argv = [sys.executable, "-c", FILLED, str(library), str(index)]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, cwd=TOP)


def test_processes_fill_one_index(tmp_path: Path) -> None:
    library, index = tmp_path / "library", tmp_path / "index.sqlite"
    for name in ("one", "two", "three"):
        write_campaign(library, name)
    others = [begin_scan(library, index) for _ in range(3)]
    assert [each.communicate(timeout=60)[0].split()[-1] for each in others] == ["18"] * 3
    found = LibraryIndex(index)
    assert found.count() == len(found.paths(())) == 18
    assert found.count_values(FIELDS["fs"]) == [("ext4", 9), ("xfs", 9)]


def test_killed_process_leaves_sound_index(tmp_path: Path, read: list[str]) -> None:
    library, index = tmp_path / "library", tmp_path / "index.sqlite"
    for name in ("one", "two", "three"):
        write_campaign(library, name)
    for pause_s in (0.0, 0.01, 0.02, 0.05):
        other = begin_scan(library, index)
        assert other.stdout is not None
        assert other.stdout.readline() == "begun\n"
        time.sleep(pause_s)
        other.kill()
        other.communicate(timeout=60)
    assert len(scan(library, index)) == 18
    with closing(sqlite3.connect(index)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_file_of_another_process_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that was added after this scan had looked into its folder."""
    library, path = tmp_path / "library", tmp_path / "index.sqlite"
    write_campaign(library, repeats=1)
    one = LibraryScan(library, index=LibraryIndex(path))
    before = list(library_scan._folders(library))
    monkeypatch.setattr(library_scan, "_folders", lambda _library: iter(before))
    new = write_trial(Path(before[0][0]) / "new.footing", Trial("new"))
    LibraryIndex(path).put([Read(read_listed(new))])
    assert len(one.read()) == 3


def test_files_from_elsewhere_listed_by_one_process(tmp_path: Path) -> None:
    library, path = tmp_path / "library", tmp_path / "index.sqlite"
    write_campaign(library, repeats=1)
    outside = write_trial(tmp_path / "mail" / "his.footing", Trial("his"))
    one = LibraryScan(library, [outside], LibraryIndex(path)).updated_index()
    other = LibraryScan(library, index=LibraryIndex(path)).updated_index()
    assert (one.count(), other.count()) == (3, 2)
    assert one.paths(parse_query("his")) == {str(outside)}
    outside.unlink()
    other_scan = LibraryScan(library, index=other)
    other_scan.read()
    assert one.count() == 2


def test_hostile_texts_and_numbers_stored(tmp_path: Path) -> None:
    """Half characters, zeros and numbers that no column holds cost nobody a run."""
    strange = LibraryEntry(
        "a", "/l/a\udcff.footing", "x\ud800\0y", "done", scale=2**70, tps=float("nan"), started=float("inf")
    )
    odd = LibraryEntry(
        None, "/l/b.footing", "b", "done", options=("\ud800", "", "="), keys=("\0",), tags=("",)
    )
    index = LibraryIndex(tmp_path / "index.sqlite")
    index.put([Read(ListedRun(strange)), Read(ListedRun(odd))])
    assert index.count() == len(index.runs()) == 2
    assert index.paths((Term("", "y"),)) == {strange.path}
    assert index.paths((Term("", "x?\0y"),)) == {strange.path}
    assert index.path == tmp_path / "index.sqlite"


def test_busy_index_read_from_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library_index, "_BUSY_S", 0.1)
    library, path = tmp_path / "library", tmp_path / "index.sqlite"
    write_campaign(library)
    scan(library, path)
    with closing(sqlite3.connect(path, isolation_level=None)) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        assert len(scan(library, path)) == 6
    assert LibraryIndex(path).count() == 6


def test_unwritable_index_still_lists(tmp_path: Path) -> None:
    library = tmp_path / "library"
    write_campaign(library)
    (tmp_path / "file").touch()
    assert len(scan(library, tmp_path / "file" / "index.sqlite")) == 6


def test_index_per_library_in_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    one, two = index_path(Path("/one")), index_path(Path("/two"))
    assert one is not None
    assert one.is_relative_to(tmp_path / "pgfooting")
    assert one != two


@pytest.mark.parametrize("name", library_index._READERS)
def test_code_that_the_index_depends_on(name: str) -> None:
    assert (TOP / "app" / name).is_file()
