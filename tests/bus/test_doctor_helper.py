"""What the doctor says of the helper."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from app.dbus.bus_thread import Presence
from app.doctor import checks
from app.doctor.checks import helper_check
from tests.fix_bus import Serving, next_line

pytestmark = pytest.mark.bus


def test_working_helper_version_and_disk_rules(
    bus: Serving, serve: Callable[..., Serving], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "service_presence", lambda name: Presence(there=True))
    process = serve("tests.bus.helper_stand_in", "works")
    assert next_line(process) == "ready"
    check = helper_check()
    assert (check.topic, check.works) == ("disks", True)
    assert "Helper 0.0 is running" in check.message
    assert "TEST DEVICES" in check.message


def test_helper_without_polkit_unusable(bus: Serving, serve: Callable[..., Serving]) -> None:
    process = serve("tests.bus.helper_stand_in", "works")
    assert next_line(process) == "ready"
    check = helper_check()
    assert check.works is False
    assert "polkit is missing" in check.message


def test_missing_helper_installation_advice(bus: Serving) -> None:
    check = helper_check()
    assert check.works is False
    assert check.message.endswith("not installed on this machine.")
    assert "packaging/helper install" in check.hint
