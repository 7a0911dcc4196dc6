"""`pgfooting unfinished` lists what was interrupted, for people and for programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.cli.main import main
from app.domain.errors import ExitStatus
from app.domain.run import RunState
from app.library.campaign_end import CampaignEnd, write_end
from tests.unit.execution.test_unfinished import campaign_in


def unfinished(library: Path, *words: str) -> int:
    return main(["unfinished", "--library", str(library), *words])


def test_it_names_the_command_that_goes_on(
    tmp_path: Path, own_state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = campaign_in(tmp_path, "1", RunState.DONE)
    write_end(campaign_in(tmp_path, "2", RunState.DONE), CampaignEnd.STOPPED)
    assert unfinished(tmp_path) == ExitStatus.DONE
    shown = capsys.readouterr().out
    assert "was interrupted: 1 of 2 runs are done" in shown
    assert shown.count("pgfooting run --resume") == 1
    assert f"pgfooting run --resume {folder}" in shown
    assert unfinished(tmp_path, "--json") == ExitStatus.DONE
    assert json.loads(capsys.readouterr().out) == [
        {"name": "Two", "folder": str(folder), "done": 1, "runs": 2}
    ]


def test_where_nothing_waits_it_says_so(
    tmp_path: Path, own_state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert unfinished(tmp_path) == ExitStatus.DONE
    assert "No campaign" in capsys.readouterr().out
    assert unfinished(tmp_path, "--json") == ExitStatus.DONE
    assert json.loads(capsys.readouterr().out) == []
