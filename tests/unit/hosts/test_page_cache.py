"""What is forgotten of a data directory: its files, and nothing that they lead to."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from app.domain.errors import ServerError
from app.hosts.folders.descriptors import FileIdentity
from app.hosts.folders.private_folder import PrivateFolder
from app.hosts.folders.run_folders import RunFolders, empty_page_cache
from app.process.starter import current_account
from tests.unit.hosts.conftest import Records

ANY = FileIdentity(0, 0, 0)


def folders_of(data: Path, wal: Path | None = None) -> RunFolders:
    return RunFolders(
        root=str(data.parent),
        data_directory=str(data),
        socket_directory="",
        private=PrivateFolder("", ANY, current_account()),
        limit_bytes=None,
        identity=ANY,
        wal_directory=str(wal or ""),
    )


@pytest.fixture
def forgotten(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the files that the kernel was told to forget; whether it did depends on their filesystem."""
    names: list[str] = []

    def fadvise(file: int, start: int, length: int, advice: int) -> None:
        assert (start, length, advice) == (0, 0, os.POSIX_FADV_DONTNEED)
        names.append(str(Path(f"/proc/self/fd/{file}").readlink()))

    monkeypatch.setattr(os, "posix_fadvise", fadvise)
    return names


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def test_dirty_data_flushed_then_files_dropped(
    tmp_path: Path, forgotten: list[str], records: Records
) -> None:
    data, wal = tmp_path / "data", tmp_path / "wal"
    for folder in (data / "base/5", wal):
        folder.mkdir(parents=True)
    for file in (
        data / "PG_VERSION",
        data / "base/5/16384",
        data / "base/5/16384.1",
        wal / "000000010000000000000001",
    ):
        file.write_text("x")
    (data / "pg_wal").symlink_to(wal)
    looks: list[int] = []
    empty_page_cache(folders_of(data, wal), records, lambda: looks.append(len(records)))
    assert [outcome.argv for outcome in records] == [("sync", "--file-system", str(data), str(wal))]
    assert sorted(forgotten) == sorted(str(path) for path in tmp_path.rglob("*") if path.is_file())
    assert looks == [1] * 4, "nothing is forgotten before it is written, and a stop is heard at every file"


def test_neither_links_nor_pipes_are_opened(tmp_path: Path, forgotten: list[str], records: Records) -> None:
    data, elsewhere = tmp_path / "data", tmp_path / "elsewhere"
    data.mkdir()
    elsewhere.mkdir()
    (elsewhere / "secret").write_text("x")
    (data / "folder").symlink_to(elsewhere)
    (data / "file").symlink_to(elsewhere / "secret")
    (data / "nowhere").symlink_to(tmp_path / "missing")
    os.mkfifo(data / "pipe")
    empty_page_cache(folders_of(data), records, lambda: None)
    assert forgotten == []


def test_cancelled_drop_leaves_no_file_open(tmp_path: Path, records: Records) -> None:
    for number in range(3):
        (tmp_path / str(number)).write_text("x")
    before = open_files()

    def stop() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        empty_page_cache(folders_of(tmp_path), records, stop)
    assert open_files() == before


def test_missing_folder_is_an_error(tmp_path: Path, forgotten: list[str], records: Records) -> None:
    with pytest.raises(ServerError, match="Dirty data could not be written"):
        empty_page_cache(folders_of(tmp_path / "gone"), records, lambda: None)
    assert forgotten == []


def test_file_without_fadvise_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, records: Records
) -> None:
    def refuse(*_: int) -> None:
        raise OSError(5, "Input/output error")

    (tmp_path / "one").write_text("x")
    monkeypatch.setattr(os, "posix_fadvise", refuse)
    with pytest.raises(ServerError, match="cannot be read: Input/output error"):
        empty_page_cache(folders_of(tmp_path), records, lambda: None)
