"""A disk that hangs keeps only those waiting that want just that disk, and it is named."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.domain.storage_plan.reader import IDENTITY, identity_to_wire
from app.domain.text import GIB
from tests.disks.helper_owner import SPARE, Owner, client, plan_of
from tests.disks.stalling import StallingDisk, is_waiting, stalling_disk
from tests.fix_helper import Running, error_of, journaled, wait_until

pytestmark = [
    pytest.mark.disks,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can start the helper"),
    pytest.mark.skipif(not Path("/dev/fuse").exists(), reason="this kernel has no FUSE"),
]

FAST_S = 20.0
"""What takes a second takes less even on a loaded machine; what waits for a disk takes more."""


@pytest.fixture
def bad(system_daemons: None) -> Iterator[StallingDisk]:
    folder = Path(os.environ["PGFOOTING_DEVICE_TESTS"])
    with stalling_disk(folder, GIB, "--partscan") as disk:
        yield disk


def seconds(action: Callable[[], object]) -> float:
    began_s = time.monotonic()
    action()
    return time.monotonic() - began_s


def make_and_release(*disks: str, **options: str) -> None:
    with client() as connection:
        owner = Owner(connection)
        owner.execute(plan_of(*disks, **options))  # type: ignore[arg-type]
        owner.make()
        owner.release()


def inspect(disk: str) -> tuple[str, str]:
    wire = identity_to_wire(SPARE.identify(disk))
    with client() as connection:
        ((_, answer, reasons, _),) = connection.call("Inspect", f"(a{IDENTITY})", [wire])[0]
    return answer, " ".join(" ".join(each) for each in reasons)


@pytest.mark.parametrize(
    ("filesystem", "level"), [("ext4", "single"), ("xfs", "single"), ("btrfs", "mirror")]
)
def test_a_disk_that_was_not_chosen(
    installed_helper: None,
    bad: StallingDisk,
    make_loop: Callable[..., str],
    filesystem: str,
    level: str,
) -> None:
    good = [make_loop(1 * GIB, partscan=True) for _ in range(1 if level == "single" else 2)]
    running = Running()
    options = {"filesystem": filesystem, "level": level}
    without_s = seconds(lambda: make_and_release(*good, **options))
    bad.stall()
    subprocess.run(["udevadm", "trigger", "--action=change", bad.node], check=True)
    beside_s = seconds(lambda: make_and_release(*good, **options))
    assert beside_s < 3 * without_s + FAST_S / 2, (without_s, beside_s)
    answer, reasons = inspect(bad.node)
    assert answer == "not spare"
    assert "has not answered" in reasons
    assert seconds(lambda: inspect(good[0])) < FAST_S
    assert seconds(lambda: inspect(bad.node)) < FAST_S, "a second child does not wait for it"
    bad.go_on()
    running.end()


def test_a_session_on_it_that_died(
    installed_helper: None, bad: StallingDisk, make_loop: Callable[..., str]
) -> None:
    good = make_loop(1 * GIB, partscan=True)
    running = Running()
    with client() as connection:
        owner = Owner(connection)
        owner.execute(plan_of(bad.node))
        Path(owner.make(), "some").write_bytes(bytes(1000))
        bad.stall()
        running.kill()
    assert seconds(lambda: Running(waits=False)) < FAST_S
    with client() as connection:
        assert connection.call("Version")[0]
    make_and_release(good)
    with client() as connection:
        refused = error_of(lambda: Owner(connection).execute(plan_of(bad.node)))
    assert refused[0] == "DiskRefused"
    assert "D18" in refused[1]
    assert "has not answered" in refused[1]
    assert Running.last is not None
    running = Running.last
    running.process.terminate()
    running.process.wait(FAST_S)
    bad.go_on()
    running = Running()
    inspect(bad.node)
    wait_until(lambda: not _mounts(bad.node))
    running.end()
    for path in journaled():
        path.unlink()  # what is offered for release is another test's
    subprocess.run(["wipefs", "--quiet", "--all", bad.node], check=True)


def test_it_hangs_while_it_is_unmounted(installed_helper: None, bad: StallingDisk) -> None:
    running = Running(environment={"TEST_STOP_S": "3"})
    with client() as connection:
        owner = Owner(connection)
        owner.execute(plan_of(bad.node))
        Path(owner.make(), "some").write_bytes(bytes(1000))
        bad.stall()
        owner.call("Unmake")
        wait_until(lambda: bool(_children_that_wait(running.process.pid)))
        assert connection.call("Version")[0]
        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(FAST_S) == 0
    assert running.said("is not unmade: the journal keeps it")
    bad.go_on()
    running = Running()
    wait_until(lambda: not _mounts(bad.node))
    running.end()
    for path in journaled():
        path.unlink()


def test_sigterm_while_a_thread_hangs(installed_helper: None, bad: StallingDisk) -> None:
    """The process stays until the disk answers; bus name and lock do not."""
    bad.stall()
    running = Running(environment={"TEST_READS": bad.node})
    wait_until(lambda: is_waiting(running.process.pid))
    running.process.terminate()
    wait_until(_is_lock_free)
    Running.last = None
    began_s = time.monotonic()
    later = Running(waits=False)
    assert time.monotonic() - began_s < FAST_S
    with client() as connection:
        assert connection.call("Version")[0]
    assert running.process.poll() is None
    bad.go_on()
    running.process.wait(FAST_S)
    later.end()


def _is_lock_free() -> bool:
    with Path("/run/pgfooting/lock").open("rb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def _mounts(disk: str) -> list[str]:
    return [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if f" {disk}p1 " in line]


def _children_that_wait(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    threads = [each.read_text() for each in Path(f"/proc/{pid}/task").glob("*/children")]
    return [each for each in map(int, " ".join([text, *threads]).split()) if is_waiting(each)]
