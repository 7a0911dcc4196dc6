"""What goes wrong on a machine with systemd while an ordinary user's campaign runs on its disks."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.domain.run import Phase
from tests.disks.layout_proof import digest, fill, output
from tests.machine.conftest import RigBlockDevice
from tests.machine.rig_campaigns import (
    SCSI,
    SENTINEL,
    Campaign,
    campaign,
    campaigns,
    erase,
    inside,
    install,
    nothing_left,
    serial_of,
    start_service,
    target,
    wait_until,
)

pytestmark = [pytest.mark.machine, pytest.mark.campaigns, inside]

Start = Callable[..., Campaign]
DURATION = "20s"


@pytest.fixture
def start(rig_disks: list[RigBlockDevice]) -> Iterator[Start]:
    before = fill(rig_disks[SENTINEL].path)
    install()
    start_service()
    yield from campaigns()
    wait_until(lambda: nothing_left(rig_disks[:SENTINEL]) == [], "something is left")
    assert digest(rig_disks[SENTINEL].path) == before


def until_it_measures(start: Start, disk: RigBlockDevice) -> Campaign:
    """Start a campaign on one disk and wait until three seconds were measured."""
    running = start(campaign(("one", target([disk], "ext4")), duration=DURATION), *erase([disk]))
    running.until_phase("measure")
    running.until_second(3)
    return running


def check_seconds_kept(running: Campaign, state: str) -> None:
    """The run file says how it ended, and has every second that was told, in their order."""
    found = [event for event in running.events if event["event"] == "second" and event["phase"] == "measure"]
    assert len(found) >= 3
    (run,) = running.run_files()
    with run:
        run.check()
        assert run.values["state"] == state
        measured = run.phase(Phase.MEASURE)
        assert measured is not None
        _, kept = run.samples("pgbench.tps", after_ms=measured.started_ms)
        left = iter(kept.tolist())  # on a machine as slow as this, not every second that is kept is told
        for event in found:
            assert any(value == pytest.approx(event["tps"]) for value in left), (kept, found)


def recover() -> None:
    """What the service does when it is started again."""
    subprocess.run(["systemctl", "stop", "pgfooting-helper.service"], check=True)
    subprocess.run(["/usr/libexec/pgfooting-helper", "--recover"], check=True, timeout=600)


def processes(program: str) -> list[int]:
    return sorted(int(line) for line in output("pgrep", "-x", program).split())


@pytest.mark.parametrize("program", ["postgres", "pgbench"])
def test_killed_server_or_pgbench_frees_disk(
    start: Start, rig_disks: list[RigBlockDevice], program: str
) -> None:
    running = until_it_measures(start, rig_disks[0])
    os.kill(processes(program)[0], signal.SIGKILL)
    assert running.end() == 1, running.said
    check_seconds_kept(running, "failed")


def test_killed_runner_leaves_nothing_on_disk(start: Start, rig_disks: list[RigBlockDevice]) -> None:
    running = until_it_measures(start, rig_disks[0])
    running.kill()
    wait_until(lambda: nothing_left(rig_disks[:SENTINEL]) == [], "something is left")
    again = start(campaign(("one", target([rig_disks[0]], "ext4"))), *erase([rig_disks[0]]))
    assert again.end() == 0, again.said


def test_killed_service_successor_frees_disk(start: Start, rig_disks: list[RigBlockDevice]) -> None:
    running = until_it_measures(start, rig_disks[0])
    subprocess.run(["systemctl", "kill", "--signal=KILL", "pgfooting-helper.service"], check=True)
    assert running.end() == 1, running.said
    recover()
    check_seconds_kept(running, "failed")


def test_logged_out_user_leaves_nothing(start: Start, rig_disks: list[RigBlockDevice]) -> None:
    running = until_it_measures(start, rig_disks[0])
    subprocess.run(["loginctl", "terminate-user", "tester"], check=True)
    running.end()
    wait_until(lambda: nothing_left(rig_disks[:SENTINEL]) == [], "something is left")


def test_disk_errors_end_run_and_disk_freed(start: Start, rig_disks: list[RigBlockDevice]) -> None:
    disk = rig_disks[SCSI]
    running = until_it_measures(start, disk)
    state = Path("/sys/block", disk.name, "device/state")
    state.write_text("offline\n")  # every request fails from now on (store_state_field of scsi_sysfs.c)
    try:
        assert running.end() == 1, running.said
        assert "Input/output error" in running.said, running.said
        left = nothing_left([disk])
    finally:
        state.write_text("running\n")
    assert left, "what could not be wiped stays in the journal"
    recover()
    check_seconds_kept(running, "failed")
    assert serial_of(disk)
