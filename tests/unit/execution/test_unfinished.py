"""Which campaigns of a library are offered to go on, and what is missing of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from app.campaign_file.reader import parse_campaign
from app.campaign_file.writer import state_campaign
from app.domain.errors import FootingError
from app.domain.run import RunState
from app.execution.resume.begun import OFFERED_S, disks_of, interrupted_campaigns, look_at_campaign
from app.library.campaign_end import CampaignEnd, write_end
from app.library.entries import CAMPAIGN_NAME, CampaignLock
from tests.fix_window import Trial, write_trial

CAMPAIGN = parse_campaign(
    'name = "Two"\norder = "AB BA"\nrepeats = 2\n[target.memory]\n', base_directory="/", source_name="x"
)


def campaign_in(library: Path, name: str, *states: RunState) -> Path:
    """Write a campaign of two runs, of which so many have begun."""
    folder = library / name
    folder.mkdir(parents=True)
    (folder / CAMPAIGN_NAME).write_text(state_campaign(CAMPAIGN))
    for number, state in enumerate(states, 1):
        trial = Trial(configuration="Two", state=state)
        write_trial(folder / f"{number:02}-two-r{number}.footing", trial)
    return folder


def names(library: Path, **more: float) -> list[str]:
    return [each.folder.name for each in interrupted_campaigns(library, **more)]


def test_unfinished_offered_newest_first(tmp_path: Path) -> None:
    campaign_in(tmp_path, "1-killed", RunState.DONE, RunState.RUNNING)
    campaign_in(tmp_path, "2-before-its-first-run")
    campaign_in(tmp_path, "3-whole", RunState.DONE, RunState.DONE)
    for end in CampaignEnd:
        write_end(campaign_in(tmp_path, f"4-{end}", RunState.DONE), end)
    assert names(tmp_path) == ["2-before-its-first-run", "1-killed"]
    assert names(tmp_path / "nowhere") == []


def test_what_runs_is_not_offered(tmp_path: Path) -> None:
    folder = campaign_in(tmp_path, "1", RunState.DONE)
    lock = CampaignLock(folder)
    assert names(tmp_path) == []
    assert look_at_campaign(folder) is None
    lock.release()
    assert names(tmp_path) == ["1"]


def test_old_campaigns_not_offered(tmp_path: Path) -> None:
    folder = campaign_in(tmp_path, "1", RunState.DONE)
    began = (folder / CAMPAIGN_NAME).stat().st_mtime
    assert names(tmp_path, now_epoch_s=began + OFFERED_S - 60) == ["1"]
    assert names(tmp_path, now_epoch_s=began + OFFERED_S + 60) == []
    assert names(tmp_path, now_epoch_s=began - 3600) == ["1"], "the clock was set back"
    assert look_at_campaign(folder) is not None


def test_unreadable_folder_hides_no_other(tmp_path: Path) -> None:
    damaged = campaign_in(tmp_path, "2-damaged", RunState.DONE)
    (damaged / CAMPAIGN_NAME).write_bytes(b"\xff\x00 = [")
    os.mkfifo(campaign_in(tmp_path, "3-strange") / "01-two-r1.footing")
    campaign_in(tmp_path, "1-good", RunState.DONE)
    assert names(tmp_path) == ["3-strange", "1-good"]
    with pytest.raises(FootingError):
        look_at_campaign(damaged)


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    found = look_at_campaign(campaign_in(tmp_path, "1", RunState.DONE, RunState.FAILED))
    assert found is not None
    assert found.sentence == "“Two” was interrupted: 1 of 2 runs are done."
    write_end(found.folder, CampaignEnd.STOPPED)
    stopped = look_at_campaign(found.folder)
    assert stopped is not None
    assert stopped.sentence == "“Two” is not finished: 1 of 2 runs are done."


def test_campaign_disks_named_once() -> None:
    text = (
        'name = "x"\n[target.disks]\ndata = ["S1", "S2"]\nlevel = "mirror"\nfilesystem = "ext4"\n'
        '[[configuration]]\nname = "a"\n[[configuration]]\nname = "b"\n'
        '[configuration.target.disks]\ndata = ["S2", "S3"]\nlevel = "mirror"\nfilesystem = "ext4"\n'
        '[[configuration]]\nname = "c"\n[configuration.target.memory]\n'
    )
    assert disks_of(parse_campaign(text, base_directory="/", source_name="x")) == ("S1", "S2", "S3")
    assert disks_of(CAMPAIGN) == ()
