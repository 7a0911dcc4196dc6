"""Whether a service of the system bus is there, asked of a real bus without starting anything."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from app.dbus.bus_thread import service_presence
from app.draft.fields.state import HELPER, look_for_helper
from tests.fix_bus import Serving, next_line

pytestmark = pytest.mark.bus


def test_running_and_unknown_services(bus: Serving, serve: Callable[..., Serving]) -> None:
    assert next_line(serve("tests.bus.login_stand_in", "grant")) == "ready"
    assert service_presence("org.freedesktop.login1").there
    missing = service_presence(HELPER)
    assert (missing.there, missing.reason) == (False, "")


def test_wizard_advises_helper_installation(bus: Serving) -> None:
    state = look_for_helper()
    assert state is not None
    assert "The root helper, which formats the disks, is not installed" in state.message
    assert state.hint.endswith("sudo packaging/helper install")


def test_without_a_bus_the_reason_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", f"unix:path={tmp_path / 'nothing'}")
    found = service_presence(HELPER)
    assert not found.there
    assert found.reason.startswith("There is no system bus")
    state = look_for_helper()
    assert state is not None
    assert "A root helper, reached over the system bus, formats the disks" in state.message
