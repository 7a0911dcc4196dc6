"""The mirror of UDisks2 over a real bus: fetched, followed, and given up in time."""

from __future__ import annotations

import queue
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from app.dbus.udisks import UdisksFollower, UdisksUnavailable, fetch_objects, fetch_wear
from app.domain.disk_answers import DriveWear
from app.storage.inspect.udisks_objects import Objects, properties, text_of_bytes

pytestmark = pytest.mark.bus

BLOCKS = "/org/freedesktop/UDisks2/block_devices"
LIMIT_S = 30


class StandIn:
    """The service process."""

    def __init__(self, behaviour: str) -> None:
        argv = [sys.executable, "-m", "tests.bus.udisks_stand_in", behaviour]
        self._process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"

    def send(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.fixture
def stand_in(bus: object) -> Iterator[Callable[[str], StandIn]]:
    with ExitStack() as stack:

        def start(behaviour: str) -> StandIn:
            service = StandIn(behaviour)
            stack.callback(service.end)
            return service

        yield start


def test_objects_are_fetched_with_their_values_unpacked(stand_in: Callable[[str], StandIn]) -> None:
    stand_in("answer")
    objects = fetch_objects(LIMIT_S)
    block = properties(objects, f"{BLOCKS}/sdb", "Block")
    assert text_of_bytes(block["Device"]) == f"{BLOCKS}/sdb"
    assert properties(objects, f"{BLOCKS}/sdb", "Filesystem") == {}
    assert properties(objects, "/nowhere", "Block") == {}


def test_only_nvme_drives_report_wear(stand_in: Callable[[str], StandIn]) -> None:
    stand_in("answer")
    assert fetch_wear(LIMIT_S) == {"259:0": DriveWear(12 * 10**12, 4)}


def test_missing_service_explained_and_not_started(bus: object) -> None:
    with pytest.raises(UdisksUnavailable, match="is not running"):
        fetch_objects(LIMIT_S)


def test_without_a_bus_a_reason_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", f"unix:path={tmp_path / 'none'}")
    with pytest.raises(UdisksUnavailable, match="no system bus"):
        fetch_objects(LIMIT_S)


def test_silent_service_times_out(stand_in: Callable[[str], StandIn]) -> None:
    stand_in("silent")
    with pytest.raises(UdisksUnavailable, match="does not answer"):
        fetch_objects(0.5)


def test_silent_bus_times_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "deaf"))
        listener.listen()
        monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", f"unix:path={tmp_path / 'deaf'}")
        with pytest.raises(UdisksUnavailable):
            fetch_objects(0.5)


class Listener:
    """What the follower told, in order."""

    def __init__(self) -> None:
        self.received: queue.Queue[Objects | None] = queue.Queue()
        self.threads: set[str] = set()

    def __call__(self, objects: Objects | None) -> None:
        self.threads.add(threading.current_thread().name)
        self.received.put(objects)

    def until(self, holds: Callable[[Objects | None], bool]) -> Objects | None:
        deadline = time.monotonic() + LIMIT_S
        while True:
            objects = self.received.get(timeout=max(0.0, deadline - time.monotonic()))
            if holds(objects):
                return objects


@pytest.fixture
def following(bus: object) -> Iterator[Listener]:
    listener = Listener()
    follower = UdisksFollower(listener)
    follower.start()
    yield listener
    follower.stop()


def kind_of(objects: Objects | None, name: str = "sdb") -> object:
    return properties(objects or {}, f"{BLOCKS}/{name}", "Block").get("IdType")


def test_changes_followed_in_own_thread(stand_in: Callable[[str], StandIn], following: Listener) -> None:
    service = stand_in("answer")
    following.until(lambda objects: kind_of(objects) == "")
    service.send(f"change {BLOCKS}/sdb IdType ext4")
    following.until(lambda objects: kind_of(objects) == "ext4")
    service.send(f"invalidate {BLOCKS}/sdb IdType xfs")
    following.until(lambda objects: kind_of(objects) == "xfs")
    service.send(f"add {BLOCKS}/sdc")
    following.until(lambda objects: kind_of(objects, "sdc") == "")
    service.send(f"remove {BLOCKS}/sdb")
    following.until(lambda objects: objects is not None and kind_of(objects) is None)
    assert following.threads == {"udisks"}


def test_restarted_service_followed_again(stand_in: Callable[[str], StandIn], following: Listener) -> None:
    first = stand_in("answer")
    following.until(lambda objects: kind_of(objects) == "")
    first.end()
    following.until(lambda objects: objects is None)
    second = stand_in("answer")
    following.until(lambda objects: kind_of(objects) == "")
    second.send(f"change {BLOCKS}/sdb IdType ext4")
    following.until(lambda objects: kind_of(objects) == "ext4")


def test_service_end_reported(stand_in: Callable[[str], StandIn]) -> None:
    service = stand_in("answer")
    listener = Listener()
    follower = UdisksFollower(listener)
    follower.start()
    listener.until(lambda objects: kind_of(objects) == "")
    service.end()
    listener.until(lambda objects: objects is None)
    follower.stop()
    assert follower.reason == "UDisks2 is not running"


def test_listener_snapshot_immutable(stand_in: Callable[[str], StandIn], following: Listener) -> None:
    service = stand_in("answer")
    kept = following.until(lambda objects: kind_of(objects) == "")
    service.send(f"change {BLOCKS}/sdb IdType ext4")
    following.until(lambda objects: kind_of(objects) == "ext4")
    assert kind_of(kept) == ""


def test_nothing_is_told_after_the_end(stand_in: Callable[[str], StandIn]) -> None:
    service = stand_in("answer")
    listener = Listener()
    follower = UdisksFollower(listener)
    follower.start()
    listener.until(lambda objects: kind_of(objects) == "")
    follower.stop()
    service.send(f"add {BLOCKS}/sdc")
    assert fetch_objects(LIMIT_S)
    assert listener.received.empty()
