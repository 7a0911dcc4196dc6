"""A campaign that waits for another one, in the window: what is said, what ends it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import QMessageBox
from pytestqt.qtbot import QtBot

from app.domain.campaign.configuration import Campaign, Configuration, MemoryTarget
from app.execution.resolve import ResolvedCampaign
from app.hosts.machine_lock import MachineLock, acquire_machine_lock
from app.live.campaign_follower import CampaignStatus
from app.postgres.settings import Machine
from ui.theme import Scheme, Theme
from ui.window.main_window import MainWindow
from ui.wizard.pages import review_page
from ui.wizard.pages.review_page import Disturbances

pytestmark = pytest.mark.postgres

OpenWindow = Callable[..., MainWindow]
PATIENCE_MS = 60_000
MACHINE = Machine(8 << 30, None, 4)
CAMPAIGN = Campaign("Trial", (Configuration("a", MemoryTarget()),))
OTHER = "A campaign of user visitor is running on this machine (process 4711)."


@pytest.fixture
def other(own_state: Path, tmp_path: Path) -> Iterator[MachineLock]:
    """Another campaign, in folders of this test."""
    with acquire_machine_lock("/runs/1", "first", shared=tmp_path / "lock") as lock:
        yield lock


@pytest.fixture
def window(qtbot: QtBot, open_window: OpenWindow, other: MachineLock, tmp_path: Path) -> MainWindow:
    """A window whose runner waits."""
    made = open_window(tmp_path / "library", begin=False)
    made.campaigns.start(CAMPAIGN, wait=True)
    qtbot.waitUntil(lambda: bool(made.campaigns.starter.waiting), timeout=PATIENCE_MS)
    return made


def ended(qtbot: QtBot, window: MainWindow) -> None:
    qtbot.waitUntil(lambda: not window.campaigns.starter.is_busy, timeout=PATIENCE_MS)


def test_stop_ends_waiting(qtbot: QtBot, window: MainWindow) -> None:
    line = window.campaign_line
    assert line.isVisible()
    assert line.words.text().startswith("“Trial”: The campaign “first” in /runs/1 is running")
    assert line.show_button.isHidden()
    line.stop_button.click()
    ended(qtbot, window)
    assert not line.isVisible()
    assert not window.campaigns.running


def test_running_refuses_others(open_window: OpenWindow, tmp_path: Path) -> None:
    pages = open_window(tmp_path / "library", begin=False).campaigns
    lines: list[str] = []
    pages.notified.connect(lines.append)
    pages.take_live((CampaignStatus("first", tmp_path, live=True, runs=()),))
    pages.start(CAMPAIGN)
    pages.go_on(tmp_path)
    pages.again(tmp_path)
    assert lines == ["“first” is still being measured."] * 3
    assert pages.load_consent is None
    assert not pages.starter.is_busy
    pages.open_wizard()
    wizard = pages.wizard
    assert wizard is not None
    assert wizard._running == "first"
    pages.take_live(())
    assert wizard._running == ""
    wizard.reject()


@pytest.mark.parametrize(("button", "goes_on"), [("keep it", True), ("Stop waiting", False)])
def test_closing_asks(qtbot: QtBot, window: MainWindow, button: str, *, goes_on: bool) -> None:
    launched = window.campaigns.starter._launched
    assert launched is not None
    window.close()
    box = window.findChild(QMessageBox)
    assert box is not None
    assert "first" in box.text()
    next(each for each in box.buttons() if button in each.text()).click()
    assert not window.isVisible()
    if goes_on:
        assert launched.poll() is None
        launched.stop()
    qtbot.waitUntil(launched._reap, timeout=PATIENCE_MS)
    assert launched.exit_status == 130


@pytest.mark.parametrize("is_root", [True, False])
@pytest.mark.parametrize("other_campaign", [OTHER, ""])
def test_review_names_other_campaign(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, other_campaign: str, *, is_root: bool
) -> None:
    monkeypatch.setattr(review_page, "find_disturbances", lambda *_: ())
    monkeypatch.setattr(review_page, "find_other_campaign", lambda: other_campaign)
    monkeypatch.setattr(review_page, "may_measure_beside", lambda: is_root)
    box = Disturbances(Theme(Scheme.LIGHT))
    qtbot.addWidget(box)
    box.look(ResolvedCampaign(CAMPAIGN, MACHINE, {}))
    qtbot.waitUntil(lambda: box.notes.text() != "Checking …", timeout=PATIENCE_MS)
    assert OTHER in box.other.text() if other_campaign else box.other.isHidden()
    assert box.wait.isHidden() is not (is_root and bool(other_campaign))
    assert box.wait.isChecked()
    assert ("Yours starts" in box.other.text()) is (bool(other_campaign) and not is_root)
