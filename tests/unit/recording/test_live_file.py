from __future__ import annotations

from pathlib import Path

import pytest

from app.domain.errors import RunFileError
from app.execution.recovery import begin_live_file, discard_live_file, move_to_library
from app.runfile.reader import RunFile
from tests.made_runs import finished_run, write_run


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    folder = tmp_path / "memory"
    folder.mkdir()
    return folder


@pytest.fixture
def final(tmp_path: Path) -> Path:
    folder = tmp_path / "library"
    folder.mkdir()
    return folder / "a.footing"


def test_no_memory_file_grows_in_place(final: Path) -> None:
    file = begin_live_file(final, None)
    assert not file.in_memory
    finished_run(file.live)
    move_to_library(file)
    assert final.is_file()


def test_memory_file_linked_then_replaced(final: Path, memory: Path) -> None:
    file = begin_live_file(final, memory)
    finished_run(file.live)
    with RunFile(final) as run:
        assert run.values["name"] == "ext4 #1"
    move_to_library(file)
    assert final.is_file()
    assert not final.is_symlink()
    assert final.stat().st_mode & 0o777 == 0o600
    assert [*memory.iterdir(), *final.parent.iterdir()] == [final]


def test_missing_library_keeps_file_in_memory(final: Path, memory: Path) -> None:
    file = begin_live_file(final, memory)
    finished_run(file.live)
    final.unlink()
    final.parent.rmdir()
    with pytest.raises(RunFileError, match="could not be moved") as caught:
        move_to_library(file)
    assert str(file.live) in caught.value.message
    assert "pgfooting list" in caught.value.hint
    with RunFile(file.live) as run:
        run.check()


def test_unwritable_library_reported_at_start(tmp_path: Path, memory: Path) -> None:
    with pytest.raises(RunFileError, match="cannot be written"):
        begin_live_file(tmp_path / "missing" / "a.footing", memory)


def test_discarding_removes_the_file_and_its_companions(final: Path, memory: Path) -> None:
    file = begin_live_file(final, memory)
    writer = write_run(file.live)
    assert len(list(memory.iterdir())) > 1
    discard_live_file(file)
    writer.close()
    assert [*memory.iterdir(), *final.parent.iterdir()] == []
    discard_live_file(file)


def test_undiscardable_file_reported(final: Path) -> None:
    final.mkdir()
    with pytest.raises(RunFileError, match="could not be removed"):
        discard_live_file(begin_live_file(final, None))
