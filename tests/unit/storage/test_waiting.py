"""Waiting for locks, nodes and arrays: as long as it makes sense, and never without an end."""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from app.domain.errors import CancelledError, StorageError
from app.storage.system import programs, state
from app.storage.system.programs import NODE_S, CompletedProgram, TimeBudget, await_node, await_sync, lock
from tests.hand_clock import Clock

NODE = "/dev/sdb1"
SECTORS = 4096


def never() -> bool:
    return False


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(programs, "time", clock)
    return clock


def test_udevd_is_there_where_it_listens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "_UDEV_CONTROL", tmp_path / "control")
    assert not programs.udevd_runs()
    (tmp_path / "control").touch()
    assert programs.udevd_runs()


@pytest.mark.parametrize(("kind", "others"), [(fcntl.LOCK_EX, fcntl.LOCK_SH), (fcntl.LOCK_SH, fcntl.LOCK_EX)])
def test_lock_released_or_time_up(clock: Clock, tmp_path: Path, kind: int, others: int) -> None:
    disk = tmp_path / "disk"
    disk.touch()
    with disk.open() as mine, disk.open() as other:
        fcntl.flock(other, others)
        with pytest.raises(StorageError, match=f"{NODE}.* 5 s"):
            lock(mine.fileno(), NODE, 5.0, kind)
        assert clock.now_s == pytest.approx(1005, abs=0.1)
        clock.happens = lambda: fcntl.flock(other, fcntl.LOCK_UN)
        lock(mine.fileno(), NODE, 5.0, kind)
        with pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_locks_that_only_look_are_taken_together(clock: Clock, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.touch()
    with disk.open() as mine, disk.open() as other:
        fcntl.flock(other, fcntl.LOCK_SH)
        lock(mine.fileno(), NODE, 0.0, fcntl.LOCK_SH)
    assert clock.now_s == 1000


@pytest.fixture
def sizes(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """What the device has at each look; the last one stays."""
    found = [0]
    monkeypatch.setattr(state, "size_bytes", lambda _node: found.pop(0) if len(found) > 1 else found[0])
    return found


@pytest.mark.parametrize(("wanted", "looks"), [(0, [0, 0, 1]), (512, [0, 511, 512]), (512, [1024])])
def test_device_ready_once_it_has_size(sizes: list[int], wanted: int, looks: list[int]) -> None:
    sizes[:] = looks
    await_node(NODE, wanted, never)
    assert sizes == looks[-1:]


def test_device_that_never_appears(clock: Clock, sizes: list[int]) -> None:
    sizes[:] = [511]
    with pytest.raises(StorageError, match=f"{NODE}.*511.*512"):
        await_node(NODE, 512, never)
    assert clock.now_s == pytest.approx(1000 + NODE_S, abs=0.1)
    with pytest.raises(CancelledError, match=NODE):
        await_node(NODE, 512, lambda: True)
    assert clock.now_s == pytest.approx(1000 + NODE_S, abs=0.1)


# --- arrays


class Array:
    """The files of an array in sysfs."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "md"
        (self._folder / "dev-sdb1").mkdir(parents=True)
        self.states: Iterator[dict[str, str]] = iter(())
        self.reports: list[tuple[str, float | None, float | None]] = []
        self.becomes({"dev-sdb1/state": "in_sync"})

    def becomes(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            (self._folder / name).write_text(f"{text}\n", encoding="ascii")

    def goes_on(self) -> None:
        self.becomes(next(self.states))

    def report(self, text: str, part: float | None, left_s: float | None) -> None:
        self.reports.append((text, part, left_s))


IDLE = {"sync_action": "idle", "degraded": "0", "resync_start": "none", "sync_completed": "none"}
RESYNC = {
    "sync_action": "resync",
    "degraded": "0",
    "resync_start": "0",
    "sync_completed": f"1024 / {SECTORS}",
}


@pytest.fixture
def array(clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Array:
    array = Array(tmp_path)
    clock.happens = array.goes_on
    monkeypatch.setattr(state, "sysfs_folder", lambda _node: tmp_path)
    return array


def test_array_without_redundancy_is_complete(clock: Clock, array: Array) -> None:
    array.becomes({"sync_action": "idle"})
    await_sync("/dev/md/x", array.report, never)
    array.becomes(IDLE)
    await_sync("/dev/md/x", array.report, never)
    assert (array.reports, clock.now_s) == ([], 1000)


@pytest.mark.parametrize(
    "incomplete",
    [RESYNC, {"sync_action": "recover"}, {"degraded": "1"}, {"resync_start": "2048"}, {"sync_action": ""}],
    ids=lambda files: " ".join(f"{name}={text}" for name, text in files.items()),
)
def test_array_waits_for_idle_whole_in_sync(array: Array, incomplete: dict[str, str]) -> None:
    array.becomes({**IDLE, **incomplete})
    array.states = iter(({}, IDLE))
    await_sync("/dev/md/x", array.report, never)
    assert len(array.reports) == 2


@pytest.mark.parametrize(
    ("completed", "speed", "part", "left_s"),
    [
        (f"1024 / {SECTORS}", "512", 0.25, 3.0),
        (f"1024 / {SECTORS}", "0", 0.25, None),
        (f"1024 / {SECTORS}", "none", 0.25, None),
        ("0 / 0", "512", None, None),
        ("none", "512", None, None),
        ("delayed", "512", None, None),
        (f"x / {SECTORS}", "512", None, None),
        ("1024 / x", "512", None, None),
    ],
)
def test_array_progress_from_kernel(
    array: Array, completed: str, speed: str, part: float | None, left_s: float | None
) -> None:
    array.becomes({**RESYNC, "sync_completed": completed, "sync_speed": speed})
    array.states = iter((IDLE,))
    await_sync("/dev/md/x", array.report, never)
    ((text, *texts),) = array.reports
    assert "resync" in text
    assert texts == [part, left_s]


def test_failed_member_ends_the_wait(array: Array) -> None:
    array.becomes(RESYNC)
    array.states = iter(({"dev-sdb1/state": "faulty,write_error"},))
    with pytest.raises(StorageError, match=r"/dev/md/x.*sdb1"):
        await_sync("/dev/md/x", array.report, never)


@pytest.mark.long
def test_array_may_wait_while_it_advances(clock: Clock, array: Array) -> None:
    steps = int(20 * NODE_S)
    array.becomes(RESYNC)
    array.states = iter(
        (*({"sync_completed": f"{number} / {SECTORS}"} for number in range(steps)), *[{}] * steps)
    )
    with pytest.raises(StorageError, match=r"/dev/md/x"):
        await_sync("/dev/md/x", array.report, never)
    assert clock.now_s == pytest.approx(1000 + steps * 0.5 + 5 * NODE_S, abs=1.1)


def test_nobody_has_to_wait_for_an_array(clock: Clock, array: Array) -> None:
    array.becomes(RESYNC)
    with pytest.raises(CancelledError, match=r"/dev/md/x"):
        await_sync("/dev/md/x", array.report, lambda: True)
    assert clock.now_s == 1000


# --- patience


def test_no_wait_without_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr("time.sleep", slept.append)
    patience = TimeBudget(1.5)
    assert [patience.pause(1.0), patience.pause(1.0), patience.pause(1.0)] == [True, True, False]
    assert slept == [1.0, 0.5]
    assert patience.limit(5.0) == 0


# --- udevd


def udevadm(code: int, asked: list[tuple[str, ...]]) -> Callable[[Sequence[str]], CompletedProgram]:
    def run(argv: Sequence[str]) -> CompletedProgram:
        asked.append(tuple(argv))
        return CompletedProgram(tuple(argv), code, "", "", 0.0)

    return run


def test_udevd_waits_for_our_devices_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sizes = {"/dev/sda": 7, "/dev/sda1": 7}
    monkeypatch.setattr(state, "size_bytes", lambda node: sizes.get(node, 0))
    monkeypatch.setattr(programs, "_UDEV_CONTROL", tmp_path)
    asked: list[tuple[str, ...]] = []
    nodes = ("/dev/sda", "/dev/sda1", "/dev/gone")
    assert programs.await_udevd(nodes, udevadm(0, asked)) is not None
    assert asked == [
        ("udevadm", "control", "--ping"),
        ("udevadm", "trigger", "--action=change", "--settle", "/dev/sda", "/dev/sda1"),
    ]
    assert not any("settle" in argv for argv in asked), "which waits for every device"
    asked.clear()
    failed = programs.await_udevd(nodes, udevadm(1, asked))
    assert failed is not None
    assert (failed.exit_code, len(asked)) == (1, 1)
    assert programs.await_udevd(("/dev/gone",), udevadm(0, asked)) is None
    monkeypatch.setattr(programs, "_UDEV_CONTROL", tmp_path / "none")
    assert programs.await_udevd(nodes, udevadm(0, asked)) is None
    assert len(asked) == 1
