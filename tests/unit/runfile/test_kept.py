"""What was read of a run file is kept as long as the file stays as it is."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.analysis.facts import kept_run_facts
from app.domain.run import RunState
from app.library.entries import CampaignLock
from app.runfile.reader import RunFile
from app.runfile.series import FileCache, signature_of
from tests.fix_window import Trial, begin_trial, write_trial


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Read:
    text: str


@dataclass
class Reader:
    """Counts how often it reads."""

    count: int = 0

    def __call__(self, path: Path) -> Read:
        self.count += 1
        return Read(path.read_text())


def is_final(value: Read) -> bool:
    return value.text != "running"


def test_running_file_read_each_time(tmp_path: Path) -> None:
    path, reader = tmp_path / "a.footing", Reader()
    kept = FileCache(reader, most=5, is_final=is_final)
    path.write_text("running")
    held = kept(path)
    assert kept(path) == held
    assert reader.count == 2


def test_killed_runner_noticed_in_unchanged_file(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.footing"
    begin_trial(path, Trial(state=RunState.RUNNING)).close()
    lock = CampaignLock(tmp_path)
    kept_run_facts(path)  # reading makes the files of a journal
    before = signature_of(path)
    assert kept_run_facts(path).state == RunState.RUNNING.value
    lock.release()
    assert signature_of(path) == before
    assert kept_run_facts(path).state == RunState.INCOMPLETE.value


def test_read_once_until_file_or_journal_written(tmp_path: Path) -> None:
    path, reader = tmp_path / "a.footing", Reader()
    kept = FileCache(reader, most=5, is_final=is_final)
    path.write_text("one")
    first = kept(path)
    assert kept(path) is first
    assert reader.count == 1
    path.write_text("another")
    assert kept(path) == Read("another")
    (tmp_path / "a.footing-wal").write_text("edited")
    kept(path)
    assert reader.count == 3
    replaced = tmp_path / "b.footing"
    replaced.write_text("samelen")
    os.utime(replaced, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
    replaced.rename(path)
    assert kept(path) == Read("samelen"), "another file of the same length and time"


def test_missing_or_unreadable_read_each_time(tmp_path: Path) -> None:
    path, reader = tmp_path / "a.footing", Reader()
    kept = FileCache(reader, most=5, is_final=is_final)
    path.write_text("one")
    held = kept(path)
    path.unlink()
    for _ in range(2):
        with pytest.raises(FileNotFoundError):
            kept(path)
    assert reader.count == 3
    path.write_text("two")
    assert kept(path) == Read("two")
    assert held == Read("one")


def test_newest_and_held_stay(tmp_path: Path) -> None:
    reader = Reader()
    kept = FileCache(reader, most=2, is_final=is_final)
    paths = [tmp_path / f"{number}.footing" for number in range(4)]
    for path in paths:
        path.write_text(path.name)
    held = kept(paths[0])
    for path in paths[1:]:
        kept(path)
    assert reader.count == 4
    assert kept(paths[0]) is held
    kept(paths[3])
    assert reader.count == 4
    kept(paths[1])
    assert reader.count == 5, "nobody held it, and three newer ones came"


def test_finished_run_parsed_once(tmp_path: Path) -> None:
    path = tmp_path / "a.footing"
    writer = begin_trial(path, Trial(state=RunState.RUNNING))
    with RunFile(path) as run:
        assert run.metadata is not run.metadata
    writer.close()
    with RunFile(write_trial(tmp_path / "b.footing", Trial())) as run:
        assert run.metadata is run.metadata
        assert run.environment is run.environment
        assert run.facts("before") is run.facts("before")


def test_common_facts_parsed_once(tmp_path: Path) -> None:
    paths = [write_trial(tmp_path / name, Trial()) for name in ("a.footing", "b.footing")]
    with RunFile(paths[0]) as first, RunFile(paths[1]) as second:
        assert first.facts("before")["storage"] is second.facts("before")["storage"]
