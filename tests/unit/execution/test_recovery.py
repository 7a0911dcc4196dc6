from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.domain.errors import RunFileError
from app.domain.run import RunState
from app.execution.control import SOCKET_NAME
from app.execution.recovery import LOST_NOTE, _on_abandoned, begin_live_file, finish_abandoned
from app.hosts.folders.descriptors import own_name
from app.hosts.folders.own_folders import check_private
from app.hosts.recovery.cleanup import CleanupAction, SweepEvent, sweep
from app.hosts.recovery.resource_journal import Owner, ResourceJournal, ResourceKind
from app.library.entries import CampaignLock
from app.process.starter import current_account
from app.runfile.reader import RunFile
from tests.made_runs import finished_run, write_run


@pytest.fixture
def library(tmp_path: Path) -> Path:
    folder = tmp_path / "library" / "20260101-000000-trial"
    folder.mkdir(parents=True)
    return folder


def test_running_file_becomes_incomplete_with_figures(library: Path) -> None:
    write_run(library / "a.footing").close()
    (library / SOCKET_NAME).touch()
    finish_abandoned(library)
    with RunFile(library / "a.footing") as run:
        assert run.state is RunState.INCOMPLETE
        assert run.summary()["tps"] == pytest.approx(200.0)
    assert [path.name for path in library.iterdir()] == ["a.footing"]
    before = (library / "a.footing").read_bytes()
    finish_abandoned(library)
    assert (library / "a.footing").read_bytes() == before


def test_live_campaign_untouched(library: Path) -> None:
    write_run(library / "a.footing").close()
    lock = CampaignLock(library)
    finish_abandoned(library)
    lock.release()
    with RunFile(library / "a.footing") as run:
        assert run.state is RunState.RUNNING


def test_file_lost_in_memory_leaves_note(library: Path) -> None:
    begin_live_file(library / "a.footing", library / "gone")
    finish_abandoned(library)
    (note,) = library.iterdir()
    assert note.name == "a.footing" + LOST_NOTE
    assert "was lost" in note.read_text()


def test_damaged_file_does_not_block_others(library: Path) -> None:
    (library / "a.footing").write_bytes(finished_run(library / "b.footing").read_bytes()[:3000])
    write_run(library / "c.footing").close()
    with pytest.raises(RunFileError, match="truncated"):
        finish_abandoned(library)
    with RunFile(library / "c.footing") as run:
        assert run.state is RunState.INCOMPLETE


def abandon(tmp_path: Path, library: Path) -> Path:
    """A dead campaign whose run file grows in memory; returns its folder there."""
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    check_private(state)
    memory = Path("/dev/shm") / own_name()
    with ResourceJournal.create(str(library), "Trial", current_account(), state_folder=state) as resources:
        resources.make_folder(str(memory), ResourceKind.FOLDER, lambda _outcome: None, owner=Owner.RUNNER)
    write_run(begin_live_file(library / "a.footing", memory).live).close()
    return memory


def swept(tmp_path: Path) -> list[SweepEvent]:
    return list(sweep(_on_abandoned, state_folder=tmp_path / "state"))


def test_file_in_memory_finished_and_moved(tmp_path: Path, library: Path) -> None:
    memory = abandon(tmp_path, library)
    assert {event.action for event in swept(tmp_path)} == {CleanupAction.FINISHED, CleanupAction.REMOVED}
    assert not memory.exists()
    assert not (library / "a.footing").is_symlink()
    with RunFile(library / "a.footing") as run:
        assert run.state is RunState.INCOMPLETE
    assert swept(tmp_path) == []


def test_file_in_memory_outlasts_unmounted_library(tmp_path: Path, library: Path) -> None:
    memory = abandon(tmp_path, library)
    elsewhere = library.rename(tmp_path / "unmounted")
    (event,) = swept(tmp_path)
    assert event.action is CleanupAction.KEPT
    assert str(memory / "a.footing") in event.text
    assert (memory / "a.footing").exists()
    elsewhere.rename(library)
    swept(tmp_path)
    assert not memory.exists()
    with RunFile(library / "a.footing") as run:
        assert json.dumps(run.values["name"]) == '"ext4 #1"'
