"""Foreign files are opened as the regular files that they were when they were looked at."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from app.domain.errors import ForeignDataError
from app.importers.files.members import file_member, list_members, opened, text_of
from app.importers.runs.discovery import look_at
from tests.unit.importers.imports import bring_in
from tests.unit.importers.made_logs import tar_of

LINE = b"0 1 900 0 1700000000 250000\n"


def fifo(path: Path) -> None:
    os.mkfifo(path)


def link(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(LINE)
    path.symlink_to(other)


def another(path: Path) -> None:
    path.with_name("kept").touch()  # so that no inode is used again
    path.write_bytes(LINE)


@pytest.mark.parametrize("swap", [fifo, link, another])
@pytest.mark.parametrize("name", ["log.1", "log.gz", "log.tar"])
def test_swapped_after_look(tmp_path: Path, name: str, swap: Callable[[Path], None]) -> None:
    path = tmp_path / name
    if name == "log.tar":
        tar_of(path, {"log.1": LINE}, packed=False)
        (member,) = list_members(path, file_member(path).identity)
    else:
        path.write_bytes(LINE)
        member = file_member(path)
    path.rename(tmp_path / "moved")
    swap(path)
    with pytest.raises((ForeignDataError, OSError)):
        [stream.read(10) for _, stream in opened([member])]
    with pytest.raises(ForeignDataError):
        text_of(member)


@pytest.mark.parametrize("swap", [fifo, link])
def test_swapped_before_look(tmp_path: Path, swap: Callable[[Path], None]) -> None:
    swap(tmp_path / "log.1")
    with pytest.raises(OSError, match="replaced|symbolic"):
        file_member(tmp_path / "log.1")


def test_folder_swapped_during_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside, outside = tmp_path / "tree" / "a", tmp_path / "outside"
    for folder, text in ((inside, LINE), (outside, b"secret\n")):
        folder.mkdir(parents=True)
        (folder / "log.1").write_bytes(text)

    def late(path: Path, folder: int | None = None) -> object:
        if not inside.is_symlink():
            inside.rename(tmp_path / "moved")
            inside.symlink_to(outside)
        return file_member(path, folder)

    monkeypatch.setattr("app.importers.runs.discovery.file_member", late)
    tree = look_at(tmp_path / "tree", lambda _file: None)
    assert [each.member.head for files in tree.folders.values() for each in files] == [LINE]


def test_deep_folders(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=descriptor)
        inner = os.open("d", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = inner
    os.close(descriptor)
    (tmp_path / "log.1").write_bytes(LINE)
    report = bring_in(tmp_path / "library", tmp_path)
    assert [each.reason for each in report.problems] == ["more than 100 folders deep: import it separately"]
    assert len(report.imported) == 1
    subprocess.run(["rm", "-r", str(tmp_path / "d")], check=True)  # deeper than Python's own removal reaches


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME])
def test_headers_in_a_row(tmp_path: Path, kind: bytes) -> None:
    whole = io.BytesIO()
    content = b"6 a=b\n" if kind != tarfile.GNUTYPE_LONGNAME else b"name\0"
    for _ in range(30_000):
        info = tarfile.TarInfo("pax")
        info.type, info.size = kind, len(content)
        whole.write(info.tobuf() + content.ljust(tarfile.BLOCKSIZE, b"\0"))
    (tmp_path / "pax.tar").write_bytes(whole.getvalue())
    (tmp_path / "log.1").write_bytes(LINE)
    report = bring_in(tmp_path / "library", tmp_path)
    assert ["headers are too large" in each.reason for each in report.problems] == [True]
    assert len(report.imported) == 1


def test_usual_headers(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "log.tar", "w", format=tarfile.PAX_FORMAT) as archive:
        for number in range(100):
            info = tarfile.TarInfo(f"{number:03}{'n' * 120}/log.1")
            info.size = len(LINE)
            archive.addfile(info, io.BytesIO(LINE))
    assert len(list_members(tmp_path / "log.tar")) == 100
