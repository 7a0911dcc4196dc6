from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from app.dbus.desktop import InhibitorUnavailable, inhibit_sleep
from tests.fix_bus import Serving, next_line

pytestmark = pytest.mark.bus

StandIn = Serving


@pytest.fixture
def stand_in(bus: StandIn, serve: Callable[..., StandIn]) -> Callable[[str], StandIn]:
    def start(behaviour: str) -> StandIn:
        process = serve("tests.bus.login_stand_in", behaviour)
        assert _line(process) == "ready"
        return process

    return start


_line = next_line


def test_logind_blocks_sleep_and_idle(stand_in: Callable[[str], StandIn]) -> None:
    logind = stand_in("grant")
    with inhibit_sleep("a benchmark runs"):
        assert _line(logind) == "locked | sleep:idle | pgFooting | a benchmark runs | block"
    assert _line(logind) == "released"


def test_release_is_idempotent(stand_in: Callable[[str], StandIn]) -> None:
    logind = stand_in("grant")
    inhibitor = inhibit_sleep("a benchmark runs")
    assert _line(logind).startswith("locked")
    inhibitor.release()
    assert _line(logind) == "released"
    inhibitor.release()


def test_lock_outlives_bus_connection(stand_in: Callable[[str], StandIn]) -> None:
    first = stand_in("grant")
    inhibitor = inhibit_sleep("first")
    again = inhibit_sleep("second")
    assert [_line(first).split(" | ")[3], _line(first).split(" | ")[3]] == ["first", "second"]
    again.release()
    assert _line(first) == "released"
    inhibitor.release()
    assert _line(first) == "released"


def test_the_lock_is_not_inherited_by_programs(stand_in: Callable[[str], StandIn]) -> None:
    logind = stand_in("grant")
    inhibitor = inhibit_sleep("a benchmark runs")
    assert _line(logind).startswith("locked")
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, close_fds=False)
    try:
        inhibitor.release()
        assert _line(logind) == "released"
    finally:
        child.communicate(b"\n")


def test_a_bus_without_logind_is_a_reason(bus: None) -> None:
    with pytest.raises(InhibitorUnavailable, match="there is no logind"):
        inhibit_sleep("a benchmark runs")


def test_a_refusal_of_logind_is_a_reason(stand_in: Callable[[str], StandIn]) -> None:
    stand_in("refuse")
    with pytest.raises(InhibitorUnavailable, match="Permission denied"):
        inhibit_sleep("a benchmark runs")


def test_silent_logind_times_out(stand_in: Callable[[str], StandIn]) -> None:
    logind = stand_in("silent")
    with pytest.raises(InhibitorUnavailable, match="Timeout"):
        inhibit_sleep("a benchmark runs", timeout_s=0.2)
    assert _line(logind) == "asked"


def test_no_bus_at_all_is_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", f"unix:path={tmp_path / 'nothing'}")
    with pytest.raises(InhibitorUnavailable, match="No such file"):
        inhibit_sleep("a benchmark runs")


def test_a_nonsense_address_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", "no address")
    with pytest.raises(InhibitorUnavailable, match="cannot be inhibited"):
        inhibit_sleep("a benchmark runs")


def test_silent_bus_times_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "mute"))
        listening.listen()
        monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", f"unix:path={tmp_path / 'mute'}")
        with pytest.raises(InhibitorUnavailable, match="cancelled"):
            inhibit_sleep("a benchmark runs", timeout_s=0.2)
    assert not [thread for thread in threading.enumerate() if isinstance(thread, threading.Timer)]


def test_without_pygobject_there_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gi.repository", None)
    with pytest.raises(InhibitorUnavailable, match="python3-gi"):
        inhibit_sleep("a benchmark runs")


def test_the_module_is_imported_without_pygobject() -> None:
    code = "import sys, app.dbus.desktop; sys.exit('gi' in sys.modules)"
    assert (
        subprocess.run([sys.executable, "-c", code], check=False, cwd=Path(__file__).parents[2]).returncode
        == 0
    )
