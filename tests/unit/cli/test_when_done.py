"""The command when done runs as the caller, is told, and never changes what became of a campaign."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from app.cli.commands.when_done import EndedCampaign, run_when_done

ENDED = (EndedCampaign("one", "all runs are done", Path("/lib/one")), EndedCampaign("two", "did not start"))


def test_runs_as_caller_with_status_and_folders(tmp_path: Path) -> None:
    out = tmp_path / "out"
    found = run_when_done(
        f"sh -c 'echo $(id -u) $PGFOOTING_STATUS $PGFOOTING_FOLDERS $MINE > {out}'",
        ENDED,
        3,
        {"MINE": "mine", "PATH": os.environ["PATH"]},
    )
    assert out.read_text() == f"{os.geteuid()} 3 /lib/one mine\n"
    assert "succeeded" in found


@pytest.mark.parametrize("command", ["", "  "])
def test_no_command_runs_nothing_silently(command: str) -> None:
    assert run_when_done(command, ENDED, 0) == ""


def test_there_is_no_shell(tmp_path: Path) -> None:
    assert "succeeded" in run_when_done(f"echo x > {tmp_path}/out; touch {tmp_path}/out", ENDED, 0)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("/nowhere/at-all", "could not be started"),
        ("sh -c 'echo no >&2; exit 7'", "failed with exit status 7"),
        ("sh -c 'kill -9 $$'", "SIGKILL"),
        ("echo 'open", "is not run"),
    ],
)
def test_what_fails_is_a_sentence(command: str, words: str) -> None:
    assert words in run_when_done(command, ENDED, 0)


def test_hanging_command_killed() -> None:
    assert "did not finish" in run_when_done("sleep 600", ENDED, 0, timeout_s=0.2)
