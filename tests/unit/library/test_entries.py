from __future__ import annotations

import os
from pathlib import Path

import pytest

from app.domain.errors import BusyError, UsageError
from app.domain.run import RunState
from app.library import entries as library
from app.library.entries import (
    CAMPAIGN_NAME,
    LOCK_NAME,
    CampaignLock,
    default_library,
    is_live,
    read_entry,
    why_not_writable,
)
from app.library.scan import find_run, list_runs
from app.runfile.reader import RunFile
from tests.fix_runs import change_run
from tests.made_runs import finished_run, write_run


def test_an_entry_says_what_a_list_needs(tmp_path: Path) -> None:
    entry = read_entry(finished_run(tmp_path / "a.footing"))
    assert (entry.id, entry.name, entry.state) == ("ab12cd34ef56ab12", "ext4 #1", "done")
    assert (entry.target, entry.filesystem, entry.raid) == ("folder", "ext4", None)
    assert (entry.scale, entry.workload, entry.clients) == (13, "tpcb-like", 8)
    assert (entry.tps, entry.duration_s, entry.started) == (200.0, 3.0, 1.7e9)
    assert entry.marks == ("unsafe",)
    assert entry.problem is None


def test_good_runs_beside_bad_files(tmp_path: Path) -> None:
    good = finished_run(tmp_path / "good.footing")
    whole = good.read_bytes()
    (tmp_path / "cut.footing").write_bytes(whole[:5000])
    (tmp_path / "text.footing").write_text("hello")
    (tmp_path / "empty.footing").touch()
    (tmp_path / "newer.footing").write_bytes(whole[:60] + (99).to_bytes(4, "big") + whole[64:])
    (tmp_path / "foreign.footing").write_bytes(whole[:68] + bytes(4) + whole[72:])
    (tmp_path / "dangling.footing").symlink_to("/nowhere")
    os.mkfifo(tmp_path / "fifo.footing")
    listed = {Path(entry.path).stem: entry for entry in list_runs(tmp_path)}
    assert listed.pop("good").state == "done"
    assert {entry.state for entry in listed.values()} == {"unreadable"}
    problems = {name: entry.problem or "" for name, entry in listed.items()}
    assert "truncated" in problems["cut"]
    assert "not a pgFooting run file" in problems["text"]
    assert "not a pgFooting run file" in problems["empty"]
    assert "format 99" in problems["newer"]
    assert "not a pgFooting run file" in problems["foreign"]
    assert "No such file" in problems["dangling"]
    assert "is not a regular file" in problems["fifo"]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE run SET value = '{' WHERE key = 'target'",
        "UPDATE run SET value = '\"gone\"' WHERE key = 'state'",
        "DELETE FROM run",
        "INSERT OR REPLACE INTO summary VALUES ('tps', 'many')",
        "INSERT OR REPLACE INTO run VALUES ('target', replace(hex(zeroblob(50000)), '00', '['))",
    ],
)
def test_strange_content_hides_no_others(tmp_path: Path, statement: str) -> None:
    finished_run(tmp_path / "good.footing")
    change_run(finished_run(tmp_path / "strange.footing"), statement)
    listed = {Path(entry.path).stem: entry for entry in list_runs(tmp_path)}
    assert listed["good"].state == "done"
    assert listed["strange"].state == "unreadable"
    assert "damaged" in (listed["strange"].problem or "")


def test_values_of_the_wrong_type_are_unknown(tmp_path: Path) -> None:
    path = tmp_path / "a.footing"
    strange = {"scale": True, "id": 7, "started_epoch_s": float("inf"), "target": "x", "workload": [1]}
    write_run(path, values=strange).close()  # type: ignore[arg-type]
    entry = read_entry(path)
    assert (entry.scale, entry.id, entry.started, entry.target, entry.clients) == (None,) * 5


def test_dead_runner_incomplete_with_figures(tmp_path: Path) -> None:
    write_run(tmp_path / "a.footing").close()
    entry = read_entry(tmp_path / "a.footing")
    assert entry.state == "incomplete"
    assert entry.tps == pytest.approx(200.0)


def test_a_run_whose_runner_lives_is_running(tmp_path: Path) -> None:
    write_run(tmp_path / "a.footing").close()
    lock = CampaignLock(tmp_path)
    assert is_live(tmp_path)
    assert read_entry(tmp_path / "a.footing").state == "running"
    with pytest.raises(BusyError, match="is running"):
        CampaignLock(tmp_path)
    lock.release()
    assert not is_live(tmp_path)


def test_folder_without_runs_removed(tmp_path: Path) -> None:
    folder = tmp_path / "20260101-000000-trial"
    folder.mkdir()
    (folder / CAMPAIGN_NAME).write_text("name = 'x'")
    CampaignLock(folder).release()
    assert not folder.exists()


def test_a_folder_with_anything_else_is_kept(tmp_path: Path) -> None:
    finished_run(tmp_path / "a.footing")
    (tmp_path / CAMPAIGN_NAME).write_text("name = 'x'")
    CampaignLock(tmp_path).release()
    assert {path.name for path in tmp_path.iterdir()} == {"a.footing", CAMPAIGN_NAME, LOCK_NAME}


def test_lock_in_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be written"):
        CampaignLock(tmp_path / "missing")


def test_find_run_by_path_and_id(tmp_path: Path) -> None:
    path = finished_run(tmp_path / "a.footing")
    assert find_run(str(path), tmp_path) == path
    assert find_run("ab12", tmp_path) == path
    finished_run(tmp_path / "b.footing")
    with pytest.raises(UsageError, match="several"):
        find_run("ab12", tmp_path)
    with pytest.raises(UsageError, match="ff is neither"):
        find_run("ff", tmp_path)
    for missing in ("~nobody-here/x.footing", str(tmp_path / "no.footing"), "no/such"):
        with pytest.raises(UsageError, match="does not exist"):
            find_run(missing, tmp_path)


def test_the_library_follows_the_xdg_specification(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", "/somewhere")
    assert default_library() == Path("/somewhere/pgfooting/runs")
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    monkeypatch.setenv("HOME", "/home/jo")
    assert default_library() == Path("/home/jo/.local/share/pgfooting/runs")


def test_no_home_names_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000_123)
    with pytest.raises(UsageError, match="no home folder") as caught:
        default_library()
    assert "--library" in caught.value.hint


def test_run_finished_before_lock_not_incomplete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.footing"
    write_run(path).close()
    with RunFile(path) as run:
        assert run.state is RunState.RUNNING

    def finish(_folder: Path) -> bool:
        # As `finish_run_file` does; it would then wait until the reader of this very thread closes the file.
        state, tps = "UPDATE run SET value = '\"done\"' WHERE key = 'state'", "('tps', 1000.0)"
        change_run(path, state, f"INSERT OR REPLACE INTO summary VALUES {tps}")
        return False

    monkeypatch.setattr(library, "is_live", finish)
    entry = read_entry(path)
    assert entry.state == "done"
    assert entry.tps == 1000.0


def test_why_not_writable(tmp_path: Path) -> None:
    assert why_not_writable(tmp_path) == why_not_writable(tmp_path / "new" / "runs") == ""
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").touch()
    (tmp_path / "lost").symlink_to(tmp_path / "nowhere")
    assert f"{tmp_path}/file is not a folder" in why_not_writable(tmp_path / "file" / "runs")
    assert f"{tmp_path}/lost is not a folder" in why_not_writable(tmp_path / "lost")
    assert "is not writable" in why_not_writable(Path("/proc/1/runs"))
