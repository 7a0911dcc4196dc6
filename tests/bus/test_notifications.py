"""Notifications of the desktop on a real session bus; where there is no desktop, nothing is wrong."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app import APPLICATION_ID
from app.cli.commands.when_done import EndedCampaign, notify_desktop
from app.dbus.desktop import LONGEST_TEXT, notify
from app.preferences import Preferences
from tests.fix_bus import Serving, next_line

pytestmark = pytest.mark.bus


@pytest.fixture
def desktop(
    bus: Serving, serve: Callable[..., Serving], monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], Serving]:
    """Starts a notification service on a session bus of its own."""
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", os.environ["DBUS_SYSTEM_BUS_ADDRESS"])

    def start(behaviour: str) -> Serving:
        service = serve("tests.bus.notification_stand_in", behaviour)
        assert next_line(service) == "ready"
        return service

    return start


def received_notifications(service: Serving) -> list[Any]:
    found: list[Any] = json.loads(next_line(service))
    return found


def test_notification_follows_specification(desktop: Callable[[str], Serving]) -> None:
    service = desktop("take")
    assert notify("Campaign has ended", "All 10 runs are done.")
    name, replaces, icon, summary, body, actions, hints, expires = received_notifications(service)
    assert (name, replaces, icon) == ("pgFooting", 0, APPLICATION_ID)
    assert (summary, body, actions, expires) == ("Campaign has ended", "All 10 runs are done.", [], -1)
    assert hints["desktop-entry"] == APPLICATION_ID


def test_markup_escaped_and_long_names_cut(desktop: Callable[[str], Serving]) -> None:
    service = desktop("take")
    assert notify("x", "<b>“a” & b</b>" + "y" * 10_000)
    body = received_notifications(service)[4]
    assert body.startswith("&lt;b&gt;“a” &amp; b&lt;/b&gt;y")
    assert len(body) < 2 * LONGEST_TEXT


def test_refusing_service_is_no_error(desktop: Callable[[str], Serving]) -> None:
    service = desktop("refuse")
    assert not notify("x", "y")
    assert received_notifications(service)[3] == "x"


def test_silent_service_times_out(desktop: Callable[[str], Serving]) -> None:
    service = desktop("silent")
    assert not notify("x", "y", timeout_s=0.2)
    assert received_notifications(service)[3] == "x"


def test_bus_without_desktop_is_no_error(bus: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", os.environ["DBUS_SYSTEM_BUS_ADDRESS"])
    assert not notify("x", "y")


def test_no_bus_at_all_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", f"unix:path={tmp_path}/nothing")
    assert not notify("x", "y")
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", "nonsense")
    assert not notify("x", "y")
    monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.delenv("DISPLAY", raising=False)
    assert not notify("x", "y")


def test_silent_bus_times_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as mute:
        mute.bind(str(tmp_path / "mute"))
        mute.listen(1)
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", f"unix:path={tmp_path}/mute")
        assert not notify("x", "y", timeout_s=0.2)


def test_campaign_end_notified_when_preferred(desktop: Callable[[str], Serving]) -> None:
    service = desktop("take")
    one, two = EndedCampaign("One", "2 of 2 all runs are done"), EndedCampaign("Two", "stopped")
    assert not notify_desktop([one], Preferences(notify=False))
    assert not notify_desktop([], Preferences())
    assert notify_desktop([one], Preferences())
    assert received_notifications(service)[3:5] == ["One", "2 of 2 all runs are done"]
    assert notify_desktop([one, two], Preferences())
    assert received_notifications(service)[3:5] == [
        "2 campaigns have ended",
        "One: 2 of 2 all runs are done\nTwo: stopped",
    ]
