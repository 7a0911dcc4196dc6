"""The probe of btrfs over a real one on loop devices."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from app.domain.text import MIB
from app.probes.base.probe import ProbeContext, ServerSources
from app.probes.sources.block_devices import BtrfsProbe
from app.storage.inspect.snapshot import Policy
from tests.disks.workshop import Workshop, attach, images
from tests.unit.probes.fakes import HandClock, values

pytestmark = [
    pytest.mark.disks,
    pytest.mark.skipif(os.geteuid() != 0, reason="loop devices need root"),
]


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Workshop]:
    with ExitStack() as devices, ExitStack() as state:
        files = images(tmp_path, 640 * MIB)
        path = attach(devices, next(files))
        yield Workshop(path, tmp_path, lambda: attach(devices, next(files)), Policy(), state)


def test_btrfs_commits_and_device_errors(shop: Workshop) -> None:
    shop.run("mkfs.btrfs", "--quiet", "--data", "raid1", "--metadata", "raid1", shop.path, shop.another())
    folder = shop.mount(shop.path)
    clock = HandClock()
    probe = BtrfsProbe(clock=clock)
    probe.open(ProbeContext(ServerSources(data_directory=str(folder))))
    assert probe.omissions == ()
    assert probe.read() == []
    (folder / "file").write_bytes(os.urandom(MIB))
    os.sync()
    clock.advance(1)
    found = values(probe.read())
    assert found["btrfs.commits"] >= 1
    assert set(found) == {"btrfs.commits", "btrfs.commit_time"}
    probe.close()
