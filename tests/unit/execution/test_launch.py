"""Launching without a database: what the command itself refuses, and what becomes of its files."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import pytest

import app
from app.domain.errors import UsageError
from app.execution.launch import (
    KEPT_LAUNCHES,
    LAUNCHES,
    LaunchedCampaign,
    LaunchError,
    _sentences,
    live_campaigns,
    start_campaign,
)
from app.hosts.folders import own_folders as accounts
from app.hosts.recovery.resource_journal import ResourceJournal
from app.library.entries import CampaignLock
from app.process.starter import current_account
from tests.launched import wait_for_end, wait_for_folder

PATIENCE_S = 60.0
UNKNOWN_KEY = 'name = "Trial"\nclents = 4\n'


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep records and launches of these tests apart, also from those of root."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(accounts, "ROOT_FOLDER", str(tmp_path / "root"))


def launch(text: str, tmp_path: Path) -> LaunchedCampaign:
    return start_campaign(text, tmp_path / "library")


def test_refusal_in_command_words(tmp_path: Path) -> None:
    launched = launch(UNKNOWN_KEY, tmp_path)
    with pytest.raises(LaunchError) as caught:
        wait_for_folder(launched, PATIENCE_S)
    assert caught.value.status == 2
    assert "clents" in caught.value.hint
    assert not caught.value.message.startswith(app.COMMAND)
    assert launched.exit_status == 2
    assert launched.folder is None
    assert not (tmp_path / "library").exists()


@pytest.mark.postgres
def test_refusal_reason_with_any_consent(tmp_path: Path) -> None:
    script = tmp_path / "own.sql"
    script.write_text(("\\shell touch x" + "x" * 3000 + "\n") * 200)
    text = f'name = "Trial"\ntarget.memory = {{}}\nworkload.script = {{file = "{script}"}}\n'
    launched = launch(text, tmp_path)
    with pytest.raises(LaunchError, match="can do more than measure") as caught:
        wait_for_folder(launched, PATIENCE_S)
    assert caught.value.status == 3
    assert len(caught.value.message) < 200
    assert (launched.launch_folder / "errors.txt").stat().st_size > 200_000


def test_questions_before_first_run_reach_window(tmp_path: Path) -> None:
    progress = tmp_path / "progress.jsonl"
    sentence = "Waiting for an administrator to authorise erasing the disks."
    events = [
        {"event": "told", "kind": "waiting", "message": "x"},
        {"event": "told", "kind": "asking", "message": sentence},
    ]
    progress.write_text("".join(json.dumps(event) + "\n" for event in events))
    launched = LaunchedCampaign(os.getpid(), tmp_path)
    launched.exit_status = None
    launched._read_progress()
    assert (launched.asking, launched.waiting, launched.folder) == (sentence, "", None)


def test_poll_never_blocks_and_reports_failure(tmp_path: Path) -> None:
    launched = launch(UNKNOWN_KEY, tmp_path)
    assert launched.poll() is None
    assert wait_for_end(launched, PATIENCE_S) == 2
    with pytest.raises(LaunchError):
        launched.poll()
    with pytest.raises(LaunchError):
        launched.poll()


def test_runner_has_own_session_and_no_stdin(tmp_path: Path) -> None:
    launched = launch(UNKNOWN_KEY, tmp_path)
    assert os.getsid(launched.pid) == launched.pid
    assert Path(f"/proc/{launched.pid}/fd/0").readlink() == Path(os.devnull)
    wait_for_end(launched, PATIENCE_S)


def test_runner_killed_before_start(tmp_path: Path) -> None:
    launched = launch(UNKNOWN_KEY, tmp_path)
    os.kill(launched.pid, signal.SIGKILL)
    with pytest.raises(LaunchError, match="signal 9") as caught:
        wait_for_folder(launched, PATIENCE_S)
    assert caught.value.status == -9


def test_python_not_startable_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "none"))
    with pytest.raises(UsageError, match="could not be started"):
        launch(UNKNOWN_KEY, tmp_path)
    assert list(tmp_path.glob(f"**/{LAUNCHES}/*")) == []


def test_cleanup_keeps_newest_and_running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    running = launch(UNKNOWN_KEY, tmp_path)
    os.kill(running.pid, signal.SIGSTOP)
    monkeypatch.setattr(sys, "executable", "/bin/true")  # which ends as well, sooner
    try:
        for _ in range(KEPT_LAUNCHES + 2):
            wait_for_end(launch(UNKNOWN_KEY, tmp_path), PATIENCE_S)
        left = sorted(tmp_path.glob(f"**/{LAUNCHES}/*"))
        assert len(left) == KEPT_LAUNCHES + 2, "the last ones, the one that was just begun, the one that runs"
        assert running.launch_folder in left
    finally:
        os.kill(running.pid, signal.SIGKILL)
        wait_for_end(running, PATIENCE_S)


def test_folder_reported_at_first_run(tmp_path: Path) -> None:
    launched = launch(UNKNOWN_KEY, tmp_path)
    wait_for_end(launched, PATIENCE_S)
    folder = tmp_path / "library" / "x"
    progress = launched.launch_folder / "progress.jsonl"
    lines = [{"event": "campaign", "folder": str(folder), "runs": 1}, {"event": "told", "kind": "note"}]
    progress.write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"event": "ru')
    with pytest.raises(LaunchError):
        launched.poll()
    with progress.open("a") as file:
        file.write('n", "number": 1}\n')
    assert launched.poll() == folder


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        ("pgfooting: It failed.\n  Do this.\n  And that.\n", "It failed.", "Do this.\nAnd that."),
        ("warning of a library\npgfooting: It failed.\n", "It failed.", ""),
        ("Traceback ...\nKeyError: 1\n", "Traceback ...\nKeyError: 1", ""),
        ("", "", ""),
    ],
)
def test_stderr_split_into_message_and_hint(words: str, message: str, hint: str) -> None:
    assert _sentences(words) == (message, hint)


def test_live_campaigns_are_those_whose_runner_lives(tmp_path: Path) -> None:
    account = current_account()
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
    assert live_campaigns() == ()
    lock = CampaignLock(first)
    with (
        ResourceJournal.create(str(first), "One", account),
        ResourceJournal.create(str(second), "Two", account),
    ):
        found = live_campaigns()
        assert [(campaign.folder, campaign.name) for campaign in found] == [(first, "One")]
    lock.release()
    assert live_campaigns() == ()


def test_run_failure_reported_after_start(tmp_path: Path) -> None:
    launched = launch(UNKNOWN_KEY, tmp_path)
    wait_for_end(launched, PATIENCE_S)
    progress = launched.launch_folder / "progress.jsonl"
    full = {"error": "run-file", "message": "The run file x cannot be written: full.", "hint": "Make room."}
    lines = [
        {"event": "campaign", "folder": str(tmp_path / "x"), "runs": 2},
        {"event": "run", "number": 1},
        {"event": "finished", "number": 1, "error": None, "message": None, "hint": None},
    ]
    progress.write_text("".join(json.dumps(line) + "\n" for line in lines))
    launched.poll()
    assert launched.problem == ""
    with progress.open("a") as file:
        file.write(json.dumps({"event": "finished", "number": 2, **full}) + "\n")
    launched.poll()
    assert launched.problem == "The run file x cannot be written: full. Make room."
