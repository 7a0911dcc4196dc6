"""Campaigns that load servers of others go on, and begin again, only once a person has typed their names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.domain.campaign.configuration import Campaign, Configuration, ServerTarget
from app.domain.errors import TargetError
from app.execution.servers import OpenServer
from app.hosts.folders import own_folders
from app.library.entries import CAMPAIGN_NAME
from tests.fix_main_window import until_read
from tests.gui.test_wizard_server import CONNECTION, EVIL, OTHER, on_server
from tests.unit.postgres.test_existing import ADDRESS
from ui.window.campaigns import campaign_pages, live_campaigns
from ui.window.campaigns.campaign_pages import CampaignPages, LoadDialog
from ui.window.main_window import MainWindow

PATIENCE_MS = 60_000
CAMPAIGN = """
name = "There"
[[configuration]]
name = "a"
[configuration.target.server]
connection = "host=db user=bench"
[[configuration]]
name = "b"
[configuration.target.server]
connection = "host=other user=bench"
ssh = "machine"
"""


@dataclass
class Started:
    """What was launched, in order, and what was asked."""

    launched: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    looked_at: list[Mapping[str, str]] = field(default_factory=list)


@pytest.fixture(autouse=True)
def _state_of_root(own_state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root's state lies elsewhere, here it is the test's as well."""
    monkeypatch.setattr(own_folders, "ROOT_FOLDER", str(tmp_path / "root"))


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Started:
    """Servers are found without a network, and no runner is started."""
    made = Started()

    def look(servers: Mapping[str, str]) -> tuple[tuple[str, OpenServer], ...]:
        made.looked_at.append(servers)
        other = replace(ADDRESS, parameters={**ADDRESS.parameters, "host": "other"})
        found = {CONNECTION: OpenServer(ADDRESS, EVIL), OTHER: OpenServer(other, EVIL)}
        return tuple((each, found[each]) for each in servers)

    def launch(name: str) -> Callable[..., None]:
        def note(*values: object, **_: object) -> None:
            made.launched.append((name, tuple(values[-1])))  # type: ignore[arg-type]
            raise TargetError("nothing is started here")

        return note

    monkeypatch.setattr(campaign_pages, "look_at_servers", look)
    for name in ("launch", "launch_again", "launch_going_on"):
        monkeypatch.setattr(live_campaigns, name, launch(name))
    return made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "library" / "begun"
    made.mkdir(parents=True)
    (made / CAMPAIGN_NAME).write_text(CAMPAIGN)
    return made


@pytest.fixture
def pages(
    qtbot: QtBot, open_window: Callable[..., MainWindow], folder: Path, started: Started
) -> CampaignPages:
    window = open_window(folder.parent)
    until_read(qtbot, window)
    return window.campaigns


def asked(qtbot: QtBot, pages: CampaignPages) -> LoadDialog:
    """Wait until it is asked for the servers' names."""
    qtbot.waitUntil(lambda: bool(pages.load_consent and pages.load_consent.dialog), timeout=PATIENCE_MS)
    assert pages.load_consent is not None
    dialog = pages.load_consent.dialog
    assert dialog is not None
    texts = dialog.summary.text()
    assert texts.splitlines()[1:4] == [CONNECTION, OTHER, "and queries its machine over ssh: machine"]
    assert not dialog.servers.fields
    dialog.connect_.click()
    qtbot.waitUntil(lambda: len(dialog.servers.fields) == 2, timeout=PATIENCE_MS)
    return dialog


@pytest.mark.parametrize("is_again", [False, True])
def test_starts_after_each_server_name_typed(
    qtbot: QtBot, pages: CampaignPages, folder: Path, started: Started, *, is_again: bool
) -> None:
    begin = pages.again if is_again else pages.go_on
    begin(folder)
    begin(folder)  # a second click asks no second time
    dialog = asked(qtbot, pages)
    assert started.looked_at == [{CONNECTION: "", OTHER: "machine"}]
    assert not dialog.connect_.isVisible()
    texts = "\n".join(text.text() for text in dialog.servers.texts)
    assert "Server\ndb:5432" in texts
    assert "<b>bold</b> [2J" in texts, "of a hostile name no markup and no sequence is left"
    assert not dialog.load.isEnabled()
    QTest.keyClicks(dialog.servers.fields[CONNECTION], "db:5432")
    QTest.keyClicks(dialog.servers.fields[OTHER], "other:543")
    assert not dialog.load.isEnabled()
    assert started.launched == []
    QTest.keyClicks(dialog.servers.fields[OTHER], "2")
    assert dialog.load.isEnabled()
    dialog.load.click()
    name = "launch_again" if is_again else "launch_going_on"
    qtbot.waitUntil(lambda: bool(started.launched), timeout=PATIENCE_MS)
    assert started.launched == [(name, ("db:5432", "other:5432"))]


def test_rejected_consent_starts_nothing(
    qtbot: QtBot, pages: CampaignPages, folder: Path, started: Started
) -> None:
    pages.go_on(folder)
    dialog = asked(qtbot, pages)
    for connection, name in ((CONNECTION, "db:5432"), (OTHER, "other:5432")):
        QTest.keyClicks(dialog.servers.fields[connection], name)
    dialog.reject()
    pages.go_on(folder)
    again = asked(qtbot, pages)
    assert again is not dialog
    assert all(not each.text() for each in again.servers.fields.values())
    assert not again.load.isEnabled()
    again.reject()
    assert started.launched == []


def test_no_connection_before_consent(
    qtbot: QtBot, pages: CampaignPages, folder: Path, started: Started
) -> None:
    pages.again(folder)
    qtbot.waitUntil(lambda: bool(pages.load_consent and pages.load_consent.dialog), timeout=PATIENCE_MS)
    assert pages.load_consent is not None
    dialog = pages.load_consent.dialog
    assert dialog is not None
    assert CONNECTION in dialog.summary.text()
    assert "PGPASSWORD" in dialog.summary.text()
    dialog.reject()
    assert started.looked_at == []


def test_unreachable_server_reported_and_nothing_started(
    qtbot: QtBot, pages: CampaignPages, folder: Path, started: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look(_servers: Mapping[str, str]) -> tuple[tuple[str, OpenServer], ...]:
        raise TargetError("The server cannot be reached: no.", hint="check its spelling")

    monkeypatch.setattr(campaign_pages, "look_at_servers", look)
    pages.go_on(folder)
    qtbot.waitUntil(lambda: bool(pages.load_consent and pages.load_consent.dialog), timeout=PATIENCE_MS)
    assert pages.load_consent is not None
    dialog = pages.load_consent.dialog
    assert dialog is not None
    dialog.connect_.click()
    qtbot.waitUntil(lambda: "cannot be reached" in dialog.summary.text(), timeout=PATIENCE_MS)
    assert "spelling" in dialog.summary.text()
    assert not dialog.load.isEnabled()
    dialog.reject()
    assert started.launched == []


def test_wizard_consent_used_once(
    qtbot: QtBot, pages: CampaignPages, started: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    draft = on_server()
    draft.parts.loaded[CONNECTION] = "db:5432"
    monkeypatch.setattr(type(draft), "agreed_servers", lambda _draft: ("db:5432",))
    pages._draft = draft
    pages._on_accepted(Campaign("x", (Configuration("a", ServerTarget(CONNECTION)),)))
    qtbot.waitUntil(lambda: bool(started.launched), timeout=PATIENCE_MS)
    assert started.launched == [("launch", ("db:5432",))]
    pages._forget_confirmations()
    assert draft.parts.loaded == {}
