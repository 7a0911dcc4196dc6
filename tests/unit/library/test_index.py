"""The index of a library: never wrong, and gone without a loss."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from app import TOP
from app.domain.run import RunState
from app.library import scan as library_scan
from app.library.files import Annotations, annotate
from app.library.scan import LibraryIndex, LibraryScan, ListedRun, index_path, read_listed
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
    return list(LibraryScan(library, index=LibraryIndex(index)).read())


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
    assert len(LibraryIndex(index).load()) == 3


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
        monkeypatch.setattr(library_scan, "VERSION", "another")
    else:
        with closing(sqlite3.connect(index)) as connection, connection:
            rows = "UPDATE run SET told = '[[], {}, 7]'"
            connection.execute(rows if damage == "rows" else "PRAGMA user_version = 1")
    read.clear()
    assert scan(library, index) == first
    assert len(read) == len(first)
    read.clear()
    assert scan(library, index) == first
    assert read == []


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


@pytest.mark.parametrize("name", library_scan._READERS)
def test_code_that_the_index_depends_on(name: str) -> None:
    assert (TOP / "app" / name).is_file()
