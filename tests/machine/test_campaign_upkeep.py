"""Work between and beside phases on ZFS, which only the virtual machine has: done, stored, nothing left."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from app.runfile.metadata.typed_json import known
from tests.disks.layout_proof import output
from tests.machine.conftest import RigBlockDevice
from tests.machine.rig_campaigns import (
    VIRTIO,
    Campaign,
    campaign,
    campaigns,
    erase,
    inside,
    install,
    nothing_left,
    start_service,
    target,
    wait_until,
)

pytestmark = [pytest.mark.machine, pytest.mark.campaigns, inside]

Start = Callable[..., Campaign]

PHASES = """[[configuration.workload.phase]]
name = "before"
duration = "2s"
[[configuration.workload.phase]]
name = "snapshots"
maintenance = ["checkpoint", "zpool-scrub", "snapshot", "remove-snapshots"]
background = "snapshot"
every = 2
[[configuration.workload.phase]]
name = "scrub"
background = "scrub"
[[configuration.workload.phase]]
name = "after"
duration = "2s"
"""


@pytest.fixture
def start() -> Iterator[Start]:
    install()
    start_service()
    yield from campaigns()


def test_zfs_upkeep_beside_phases(rig_disks: list[RigBlockDevice], start: Start) -> None:
    disks = rig_disks[VIRTIO][:2]
    running = start(campaign(("zfs", target(disks, "zfs", level="mirror") + PHASES)), *erase(disks))
    running.until_phase("measure")
    assert output("zfs", "list", "-H", "-t", "snapshot", "-o", "name").split() == []
    assert running.end() == 0, running.said
    (run,) = running.run_files()
    with run:
        _, snapshots, scrub, _ = known(run.metadata.phases, ())
        assert [(done.name, done.how) for done in snapshots.maintenance] == [
            (name, "done") for name in ("checkpoint", "zpool-scrub", "snapshot", "remove-snapshots")
        ]
        assert snapshots.background.done >= 2
        assert scrub.background.turns
        by_root = [each.argv for each in run.commands() if each.account == "root"]
        made = [argv for argv in by_root if argv[:2] == ("zfs", "snapshot")]
        destroyed = [argv for argv in by_root if argv[:2] == ("zfs", "destroy")]
        assert len(made) == len(destroyed) == len(snapshots.background.turns) + 1
        scrubs = [argv for argv in by_root if argv[:3] == ("zpool", "scrub", "-w")]
        assert len(scrubs) == len(scrub.background.turns) + 1
    assert nothing_left(disks) == []


def test_run_killed_during_scrub_leaves_nothing(rig_disks: list[RigBlockDevice], start: Start) -> None:
    disks = rig_disks[VIRTIO][:1]
    phases = '[[configuration.workload.phase]]\nname = "scrub"\nbackground = "scrub"\n'
    running = start(campaign(("zfs", target(disks, "zfs") + phases), duration="60s"), *erase(disks))
    running.until_second(3)
    running.kill()
    wait_until(lambda: nothing_left(disks) == [], "something is left")
    assert output("zpool", "list", "-H", "-o", "name").split() == []
