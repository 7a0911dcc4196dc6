"""Run files in the desktop's trash, as the FreeDesktop.org specification wants it, and back."""

from __future__ import annotations

import errno
import os
import shutil
from datetime import datetime
from pathlib import Path

import pytest

from app.domain.run import RunState
from app.library import files
from app.library.entries import CampaignLock, read_entry
from app.library.files import TrashError, move_to_trash, restore
from tests.fix_window import Trial, begin_trial, write_trial


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "data" / "Trash"


def test_home_trash_record_and_restore(home: Path, tmp_path: Path) -> None:
    path = write_trial(tmp_path / "library" / "äö % one" / "a.footing", Trial())
    content = path.read_bytes()
    before = datetime.now().astimezone().replace(microsecond=0)
    trashed = move_to_trash(path)
    after = datetime.now().astimezone()
    assert not path.exists()
    assert (home / "files" / "a.footing").read_bytes() == content
    lines = (home / "info" / "a.footing.trashinfo").read_text().splitlines()
    assert lines[0] == "[Trash Info]"
    assert lines[1] == f"Path={tmp_path}/library/%C3%A4%C3%B6%20%25%20one/a.footing"
    assert before <= datetime.fromisoformat(lines[2].removeprefix("DeletionDate=")).astimezone() <= after
    path.parent.rmdir()
    restore([trashed])
    assert path.read_bytes() == content
    assert list(home.glob("*/*")) == []


def test_equal_names_numbered(home: Path, tmp_path: Path) -> None:
    paths = [write_trial(tmp_path / name / "a.footing", Trial(name)) for name in ("one", "two", "three")]
    trashed = [move_to_trash(path) for path in paths]
    assert [each.file.name for each in trashed] == ["a.footing", "a.2.footing", "a.3.footing"]
    restore(trashed)
    assert [read_entry(path).name for path in paths] == ["one", "two", "three"]


def test_file_without_record_not_replaced(home: Path, tmp_path: Path) -> None:
    (home / "files").mkdir(parents=True)
    (home / "files" / "a.footing").write_text("another program's")
    trashed = move_to_trash(write_trial(tmp_path / "a.footing", Trial()))
    assert trashed.file.name == "a.2.footing"
    assert (home / "files" / "a.footing").read_text() == "another program's"
    assert not (home / "info" / "a.footing.trashinfo").exists()


def test_restore_does_not_replace_newer(home: Path, tmp_path: Path) -> None:
    first, second = (write_trial(tmp_path / name, Trial(name)) for name in ("a.footing", "b.footing"))
    trashed = [move_to_trash(first), move_to_trash(second)]
    first.write_text("new")
    with pytest.raises(TrashError, match="exists again"):
        restore(trashed)
    assert first.read_text() == "new"
    assert trashed[0].file.exists()
    assert read_entry(second).name == "b.footing"


def test_a_run_that_is_being_measured_stays(home: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.footing"
    writer = begin_trial(path, Trial(state=RunState.RUNNING))
    lock = CampaignLock(tmp_path)
    with pytest.raises(TrashError, match="is still being measured"):
        move_to_trash(path)
    assert path.exists()
    lock.release()
    writer.close()


def test_journal_moves_with_file(home: Path, tmp_path: Path) -> None:
    path = tmp_path / "library" / "a.footing"
    writer = begin_trial(tmp_path / "x.footing", Trial(state=RunState.RUNNING, seconds=7))
    path.parent.mkdir()
    for suffix in ("", "-wal"):  # as a runner leaves them that is killed
        shutil.copy(tmp_path / f"x.footing{suffix}", path.with_name(f"a.footing{suffix}"))
    writer.close()
    assert path.with_name("a.footing-wal").stat().st_size > 0
    trashed = move_to_trash(path)
    assert list(path.parent.iterdir()) == []
    restore([trashed])
    entry = read_entry(path)
    assert (entry.state, entry.duration_s) == ("incomplete", 7.0)


def test_trash_on_other_filesystem(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = tmp_path / "disk"
    path = write_trial(disk / "runs" / "a b.footing", Trial())
    monkeypatch.setenv("XDG_DATA_HOME", "/proc/self")  # certainly another filesystem
    monkeypatch.setattr(os.path, "ismount", lambda place: Path(place) == disk)
    trashed = move_to_trash(path)
    mine = disk / f".Trash-{os.getuid()}"
    assert trashed.file == mine / "files" / "a b.footing"
    assert "Path=runs/a%20b.footing" in trashed.info.read_text()
    restore([trashed])
    shared = disk / ".Trash"
    shared.mkdir()
    assert move_to_trash(path).file.is_relative_to(mine), "a shared trash without its sticky bit is not used"
    path = write_trial(disk / "runs" / "c.footing", Trial())
    shared.chmod(0o1777)
    assert move_to_trash(path).file == shared / str(os.getuid()) / "files" / "c.footing"


def test_no_trash_file_stays(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_trial(tmp_path / "a.footing", Trial())

    def refuse(_path: Path) -> tuple[Path, str]:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(files, "_trash_for", refuse)
    with pytest.raises(TrashError, match="Permission denied"):
        move_to_trash(path)
    assert path.exists()
