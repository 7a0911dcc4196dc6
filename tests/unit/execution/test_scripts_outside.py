"""Scripts that were chosen or lie beside the file are not asked about where a campaign is kept elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.campaign_file.reader import CampaignFile, read_campaign_file
from app.campaign_file.trust import check_trust, find_concerns
from app.campaign_file.writer import format_campaign
from app.domain.campaign.configuration import with_drawn_order
from app.domain.errors import RefusedError, refuse
from app.execution import campaign as campaigns
from app.execution import launch
from app.execution.resume.begun import new_folder
from app.library.entries import CAMPAIGN_NAME
from app.library.trusted_campaigns import is_trusted


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CampaignFile:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "own.sql").write_text("SELECT 1;\n")
    path = tmp_path / "mine" / "mine.toml"
    path.write_text('name = "x"\ntarget.memory = {}\nworkload.script = {file = "own.sql"}\n')
    return read_campaign_file(path)


def check(path: Path) -> None:
    check_trust(read_campaign_file(path), refuse, is_trusted=is_trusted)


def test_kept_scripts_not_asked_about(tmp_path: Path, file: CampaignFile) -> None:
    campaign = with_drawn_order(file.campaign)
    kept = new_folder(tmp_path / "library", campaign)
    assert find_concerns(read_campaign_file(kept / CAMPAIGN_NAME).campaign)
    campaigns._keep_trust(file, kept, campaign)
    check(kept / CAMPAIGN_NAME)
    (tmp_path / "mine" / "own.sql").write_text("SELECT 2;\n")
    with pytest.raises(RefusedError):
        check(kept / CAMPAIGN_NAME)


def test_scripts_chosen_in_window_not_asked(tmp_path: Path, file: CampaignFile) -> None:
    text = format_campaign(file.campaign)
    (tmp_path / "launched").mkdir()
    path = tmp_path / "launched" / "campaign.toml"
    path.write_text(text)
    with pytest.raises(RefusedError):
        check(path)
    launch._keep_choice(text)
    check(path)


def test_chosen_script_running_programs_asked(tmp_path: Path, file: CampaignFile) -> None:
    (tmp_path / "mine" / "own.sql").write_text("\\shell x\n")
    text = format_campaign(file.campaign)
    path = tmp_path / "campaign.toml"
    path.write_text(text)
    launch._keep_choice(text)
    with pytest.raises(RefusedError):
        check(path)
