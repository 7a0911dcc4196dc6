from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from app.dbus.login import InhibitorUnavailable, inhibit_sleep

pytestmark = pytest.mark.bus

CONFIGURATION = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>custom</type><listen>unix:path={socket}</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/>
<allow user="*"/></policy></busconfig>
"""

StandIn = subprocess.Popen[str]


@pytest.fixture
def bus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A private system bus without any service."""
    program = shutil.which("dbus-daemon")
    if program is None:
        pytest.skip("dbus-daemon is not installed")
    configuration = tmp_path / "bus.conf"
    configuration.write_text(CONFIGURATION.format(socket=tmp_path / "bus"))
    daemon = subprocess.Popen(
        [program, f"--config-file={configuration}", "--nofork", "--print-address"],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert daemon.stdout is not None
    address = daemon.stdout.readline().strip()
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", address)
    yield
    daemon.terminate()
    daemon.wait()
    daemon.stdout.close()


@pytest.fixture
def stand_in(bus: None) -> Iterator[Callable[[str], StandIn]]:
    with ExitStack() as stack:

        def start(behaviour: str) -> StandIn:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.bus.login_stand_in", behaviour],
                stdout=subprocess.PIPE,
                text=True,
                cwd=Path(__file__).parents[2],
            )
            stack.callback(_end, process)
            assert _line(process) == "ready"
            return process

        yield start


def _end(process: StandIn) -> None:
    process.kill()
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


def _line(process: StandIn) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_logind_is_asked_to_block_sleep_and_idle(stand_in: Callable[[str], StandIn]) -> None:
    logind = stand_in("grant")
    with inhibit_sleep("a benchmark runs") as inhibitor:
        assert inhibitor.is_held
        assert _line(logind) == "locked | sleep:idle | pgFooting | a benchmark runs | block"
    assert not inhibitor.is_held


def test_release_closes_the_lock_and_may_be_called_twice(stand_in: Callable[[str], StandIn]) -> None:
    logind = stand_in("grant")
    inhibitor = inhibit_sleep("a benchmark runs")
    assert _line(logind).startswith("locked")
    inhibitor.release()
    assert _line(logind) == "released"
    inhibitor.release()


def test_the_lock_outlives_the_connection_to_the_bus(stand_in: Callable[[str], StandIn]) -> None:
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
    with pytest.raises(InhibitorUnavailable, match="login1"):
        inhibit_sleep("a benchmark runs")


def test_a_refusal_of_logind_is_a_reason(stand_in: Callable[[str], StandIn]) -> None:
    stand_in("refuse")
    with pytest.raises(InhibitorUnavailable, match="Permission denied"):
        inhibit_sleep("a benchmark runs")


def test_a_logind_that_does_not_answer_is_given_up(stand_in: Callable[[str], StandIn]) -> None:
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


def test_a_bus_that_accepts_and_says_nothing_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    code = "import sys, app.dbus.login; sys.exit('gi' in sys.modules)"
    assert (
        subprocess.run([sys.executable, "-c", code], check=False, cwd=Path(__file__).parents[2]).returncode
        == 0
    )
