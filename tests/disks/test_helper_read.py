"""Every byte of a disk is read by the real helper: what it records, how long that holds, and what ends it."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.domain.disk import DiskIdentity, looked_from_wire
from app.domain.disk_answers import looked_words
from app.domain.storage_plan.reader import IDENTITY, identity_to_wire
from app.domain.text import GIB, KIB, MIB
from app.storage.inspect.sampling import revealing_places
from tests.disks.helper_owner import SPARE, Owner, client, plan_of, readable
from tests.disks.layout_proof import leftovers
from tests.fix_helper import Running, error_of, wait_until

pytestmark = [
    pytest.mark.disks,
    pytest.mark.skipif(os.geteuid() != 0, reason="loop devices need root"),
]

RUN = Path("/run/pgfooting")
RECORDS = Path("/var/lib/pgfooting/read")
LARGE_BYTES = 400 * GIB
"""A sparse file that takes minutes to read."""


@pytest.fixture(autouse=True)
def no_records(helper: Running) -> None:
    """Remove records of earlier tests, whose files had the same inodes and so the same serial numbers."""
    for record in RECORDS.glob("*.json"):
        record.unlink()


def identity(disk: str) -> DiskIdentity:
    return SPARE.identify(disk)


def inspect(connection: Any, disk: str) -> tuple[str, list[Any], Any]:  # noqa: ANN401
    ((answer,),) = connection.call("Inspect", f"(a{IDENTITY})", [identity_to_wire(identity(disk))])
    return answer[1], answer[2], looked_from_wire(answer[3])


def read(connection: Any, disk: str) -> tuple[str, list[Any], Any]:  # noqa: ANN401
    (answer,) = connection.call("Read", f"({IDENTITY})", identity_to_wire(identity(disk)))
    return answer[1], answer[2], looked_from_wire(answer[3])


def between_places(size_bytes: int) -> int:
    """Return an offset that nothing but chance would look at."""
    places = sorted(revealing_places(size_bytes))
    return next(low + 2 * MIB for low, high in itertools.pairwise(places) if high - low > 8 * MIB)


def put(disk: str, offset: int, data: bytes) -> None:
    with open(disk, "r+b", buffering=0) as file:  # noqa: PTH123 - a device
        os.pwrite(file.fileno(), data, offset)
        os.fsync(file.fileno())


def held_open(disk: str, pid: int) -> bool:
    number = Path(disk).stat().st_rdev
    for each in Path(f"/proc/{pid}/fd").iterdir():
        try:
            if each.stat().st_rdev == number:
                return True
        except OSError:
            continue
    return False


def test_zeroed_disk_blank_until_written(helper: Running, make_loop: Callable[..., str]) -> None:
    disk = make_loop(2 * GIB, partscan=True)
    with client() as connection:
        began_s = time.time()
        answer, reasons, looked = read(connection, disk)
        assert (answer, reasons) == ("spare", [])
        assert began_s - 1 <= looked.read_s <= time.time()
        assert "Every byte was read" in looked_words(looked)
        assert inspect(connection, disk)[2].read_s == looked.read_s, "the record holds"
        put(disk, GIB, bytes(4096))
        answer, _, looked = inspect(connection, disk)
        assert (answer, looked.read_s) == ("spare", 0), "the kernel has counted a write: of zeros, as may be"
    record = RECORDS / f"{identity(disk).key()}.json"
    assert record.stat().st_uid == 0
    assert record.stat().st_mode & 0o077 == 0


def test_hidden_bytes_found_and_remembered(helper: Running, make_loop: Callable[..., str]) -> None:
    disk = make_loop(100 * GIB, partscan=True)
    offset = between_places(100 * GIB)
    put(disk, offset, b"x")
    with client() as connection:
        assert inspect(connection, disk)[0] == "spare", "one byte of 100 GiB; by chance once in 4,000 times"
        answer, reasons, _ = read(connection, disk)
        assert answer == "not spare"
        assert f"byte {offset} is not zero" in reasons[0][2]
        answer, reasons, _ = inspect(connection, disk)
        assert answer == "not spare"
        assert f"byte {offset} is not zero (seen when every byte was read)" in reasons[0][2]
        owner = Owner(connection)
        name, text = error_of(lambda: owner.execute(plan_of(disk)))
        assert (name, text.split()[1]) == ("DiskRefused", "D08b")
        put(disk, offset, b"\0")
        assert inspect(connection, disk)[0] == "spare", "it was written since: places decide again"


def test_used_disk_not_read(helper: Running, make_loop: Callable[..., str]) -> None:
    disk = make_loop(2 * GIB, partscan=True)
    subprocess.run(["mkfs.ext4", "-q", disk], check=True)
    with client() as connection:
        answer, reasons, looked = read(connection, disk)
    assert answer == "not spare"
    assert "D08" in {reason[0] for reason in reasons}
    assert looked is None
    assert not (RECORDS / f"{identity(disk).key()}.json").exists()


def test_progress_while_other_calls_answered(helper: Running, make_loop: Callable[..., str]) -> None:
    disk, other = make_loop(LARGE_BYTES, partscan=True), make_loop(2 * GIB, partscan=True)
    with client() as reading, client() as asking:
        signals = reading.signals()
        reading.begin("Read", f"({IDENTITY})", identity_to_wire(identity(disk)))
        number = identity(disk).device_number
        while not any(name == "Looking" and content[2] == LARGE_BYTES for name, content in signals):
            reading.context.iteration(True)  # noqa: FBT003
        assert {content[0] for name, content in signals if name == "Looking"} == {number}
        began_s = time.monotonic()
        assert inspect(asking, other)[0] == "spare"
        assert asking.call("Version")
        assert time.monotonic() - began_s < 10
        assert held_open(disk, helper.process.pid)
    wait_until(lambda: not held_open(disk, helper.process.pid))
    assert not (RECORDS / f"{identity(disk).key()}.json").exists(), "who leaves ends it, and nothing is known"


def test_session_claim_ends_reading(helper: Running, make_loop: Callable[..., str]) -> None:
    disk = make_loop(LARGE_BYTES, partscan=True)
    with client() as reading, client() as connection:
        signals = reading.signals()
        called = reading.begin("Read", f"({IDENTITY})", identity_to_wire(identity(disk)))
        while not any(content[2] == LARGE_BYTES for _, content in signals):
            reading.context.iteration(True)  # noqa: FBT003
        owner = Owner(connection)
        owner.execute(plan_of(disk))
        name, text = error_of(called)
        assert (name, text) == ("Busy", "called-off")
        owner.release()
    assert leftovers([disk], RUN) == ["/run/pgfooting/lock"]


def test_disk_written_during_read_not_recorded(helper: Running, make_loop: Callable[..., str]) -> None:
    disk = make_loop(20 * GIB, partscan=True)
    with client() as connection:
        signals = connection.signals()
        called = connection.begin("Read", f"({IDENTITY})", identity_to_wire(identity(disk)))
        while not any(content[2] == 20 * GIB for _, content in signals):
            connection.context.iteration(True)  # noqa: FBT003
        put(disk, 64 * KIB, b"\0")
        (answer,) = readable(called())
    assert answer[1] == "not spare"
    assert "It was written to while it was read." in [reason[1] for reason in answer[2]]
    assert not (RECORDS / f"{identity(disk).key()}.json").exists()


def test_nothing_read_without_kernel_counters(helper: Running, make_loop: Callable[..., str]) -> None:
    disk = make_loop(2 * GIB, partscan=True)
    counting = Path("/sys/block", Path(disk).name, "queue/iostats")
    counting.write_text("0")
    try:
        with client() as connection:
            assert error_of(lambda: read(connection, disk)) == ("Unavailable", "not-counted")
    finally:
        counting.write_text("1")


def test_command_reads_disk_and_reports(helper: Running, make_loop: Callable[..., str]) -> None:
    disk = make_loop(2 * GIB, partscan=True)
    command = [sys.executable, "-m", "app", "disks", "--read", identity(disk).serial]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done
    assert all(" % read" in line for line in done.stderr.splitlines())
    assert "Every byte was read on" in done.stdout
    put(disk, between_places(2 * GIB), b"x")
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, check=False)
    assert done.returncode == 3, done
    (described,) = json.loads(done.stdout)["disks"]
    assert (described["answer"], described["refusals"][0]["rule"]) == ("not spare", "D08b")
    missing = subprocess.run([*command[:-1], "NOBODY"], capture_output=True, text=True, check=False)
    assert missing.returncode == 2
    assert "No disk of this machine has the serial number or WWN NOBODY" in missing.stderr
