"""The probes of arrays, ZFS and btrfs on the rig's own: real counters that move when something is written."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from app.probes.base.backing_devices import Resolver
from app.probes.base.probe import Probe, ProbeContext, ServerSources, ask_program
from app.probes.sources.block_devices import ArraysProbe, BlockDevicesProbe, BtrfsProbe, ZfsProbe
from app.storage.inspect.snapshot import Policy
from tests.disks.workshop import LIMIT_S, Workshop
from tests.machine.test_refused import BLANK, RIG, named
from tests.unit.probes.fakes import values

pytestmark = [pytest.mark.machine, pytest.mark.inside(*RIG)]


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Workshop]:
    """A workshop whose disks are blank again when the test ends."""
    nodes = [node for serial in BLANK[:3] for node in named(serial)]
    rest = iter(nodes[1:])
    with ExitStack() as state:
        shop = Workshop(nodes[0], tmp_path, lambda: next(rest), Policy(), state)
        yield shop
    shop.settle()
    for node in nodes:
        shop.run("wipefs", "--all", "--quiet", node)
        shop.run("blkdiscard", "--zeroout", node)
    shop.settle()


def measured(probe: Probe, folder: Path) -> dict[str, float]:
    """Return what a probe tells of a second in which something was written and made safe."""
    probe.open(ProbeContext(ServerSources(data_directory=str(folder))))
    try:
        probe.read()
        fd = os.open(folder / "written", os.O_WRONLY | os.O_CREAT | os.O_DSYNC, 0o600)
        for _ in range(20):
            os.write(fd, os.urandom(8192))
        os.close(fd)
        os.sync()
        time.sleep(1)  # not a limit: a rate needs an interval
        return values(probe.read())
    finally:
        probe.close()


def test_zfs_dataset_arc_and_intent_log(shop: Workshop) -> None:
    shop.run("modprobe", "zfs")
    folder = shop.folder / "pool"
    shop.run("zpool", "create", "-O", f"mountpoint={folder}", "probed", "mirror", shop.path, shop.another())
    shop.later("zpool", "destroy", "probed")
    shop.run("zfs", "create", "probed/data")
    found = measured(ZfsProbe(), folder / "data")
    assert found["zfs.writes"] > 0
    assert found["zfs.write_bytes"] > 0
    assert found["zfs.log_commits"] > 0
    assert found["zfs.log_bytes"] > 0
    assert found["zfs.log_device_bytes"] == 0
    assert found["zfs.arc_size"] > 0
    patient = Resolver(
        ask=lambda argv: ask_program(argv, LIMIT_S)
    )  # zpool takes seconds in an emulated processor
    disks = measured(BlockDevicesProbe(patient.resolve), folder / "data")
    names = [key.partition(" ")[2] for key in disks if key.startswith("device.write_bytes")]
    assert len(names) == 2
    assert all(disks[f"device.write_bytes {name}"] > 0 for name in names)


def test_btrfs_tells_of_its_commits(shop: Workshop) -> None:
    shop.run("mkfs.btrfs", "--quiet", "--data", "raid1", "--metadata", "raid1", shop.path, shop.another())
    found = measured(BtrfsProbe(), shop.mount(shop.path))
    assert found["btrfs.commits"] > 0
    assert "btrfs.device_errors 1" not in found


def test_array_sync_and_missing_member(shop: Workshop) -> None:
    other = shop.another()
    options = ("--level=1", "--raid-devices=2", "--metadata=1.2", "--bitmap=none")
    shop.run("mdadm", "--create", "/dev/md/probed", *options, shop.path, other)
    shop.stack.callback(shop.run, "mdadm", "--zero-superblock", shop.path, other)
    shop.later("mdadm", "--stop", "/dev/md/probed")
    shop.settle()
    shop.run("mkfs.ext4", "-q", "/dev/md/probed")
    folder = shop.mount("/dev/md/probed")
    name = Path(os.path.realpath("/dev/md/probed")).name
    speed = Path("/sys/block", name, "md/sync_speed_max")
    speed.write_text("1000")
    probe = ArraysProbe()
    probe.open(ProbeContext(ServerSources(data_directory=str(folder))))
    if Path("/sys/block", name, "md/sync_action").read_text().strip() == "idle":
        Path("/sys/block", name, "md/sync_action").write_text("check")
    found = values(probe.read())
    assert found[f"array.sync_remaining {name}"] > 0
    Path("/sys/block", name, "md/sync_action").write_text("idle")
    shop.run("mdadm", "/dev/md/probed", "--fail", other)
    assert values(probe.read())[f"array.missing_members {name}"] == 1
    probe.close()
