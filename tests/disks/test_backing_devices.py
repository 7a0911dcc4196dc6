"""Which devices back a folder, on real filesystems over loop devices that this test made."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from app.probes.base.backing_devices import Backing, Resolver, resolve_backing
from app.probes.base.probe import ProbeContext, ProbeUnavailable, ServerSources
from app.probes.facts.environment import storage_facts
from app.probes.sources.block_devices import BlockDevicesProbe
from tests.unit.probes.fakes import HandClock, values

pytestmark = [
    pytest.mark.disks,
    pytest.mark.skipif(os.geteuid() != 0, reason="loop devices need root"),
]

SIZE_BYTES = 400 * 1024**2


def run(*argv: str) -> str:
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def make_loop(tmp_path: Path) -> Iterator[Callable[[], str]]:
    """Makes loop devices over sparse files; they are detached when the test ends."""
    with ExitStack() as stack:

        def make() -> str:
            image = tmp_path / f"image{len(list(tmp_path.glob('image*')))}"
            with image.open("wb") as file:
                file.truncate(SIZE_BYTES)
            device = run("losetup", "--find", "--show", str(image))
            stack.callback(run, "losetup", "--detach", device)
            return device

        yield make


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Callable[..., Path]]:
    """Mounts a device; unmounted when the test ends, before the loop devices go."""
    with ExitStack() as stack:

        def do_mount(device: str, *options: str) -> Path:
            folder = tmp_path / "mounted"
            folder.mkdir()
            run("mount", *options, device, str(folder))
            stack.callback(run, "umount", str(folder))
            return folder

        yield do_mount


def need(program: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")


def loops_of(backing: Backing) -> list[str]:
    return sorted(f"/dev/{device.name}" for device in backing.devices if device.kind == "loop")


def test_loop_file_lies_on_disk(
    make_loop: Callable[[], str], mount: Callable[..., Path], tmp_path: Path
) -> None:
    need("mkfs.ext4")
    device = make_loop()
    run("mkfs.ext4", "-q", device)
    backing = resolve_backing(str(mount(device)))
    assert loops_of(backing) == [device]
    try:
        below = resolve_backing(str(tmp_path)).leaves
    except ProbeUnavailable:  # images in memory: the loop device is where the walk ends
        below = tuple(each for each in backing.devices if each.kind == "loop")
    assert [leaf.name for leaf in backing.leaves] == [leaf.name for leaf in below]
    assert [f"/dev/{each.name}" for each in backing.counted] == [device]


def test_btrfs_over_two_devices_has_both(make_loop: Callable[[], str], mount: Callable[..., Path]) -> None:
    need("mkfs.btrfs")
    devices = sorted([make_loop(), make_loop()])
    run("mkfs.btrfs", "-q", "-d", "raid1", "-m", "raid1", *devices)
    folder = mount(devices[0], "-o", f"device={devices[1]}")
    run("btrfs", "subvolume", "create", str(folder / "sub"))
    for path in (folder, folder / "sub"):
        assert loops_of(resolve_backing(str(path))) == devices
        assert sorted(f"/dev/{each.name}" for each in resolve_backing(str(path)).counted) == devices
    facts = json.loads(json.dumps(storage_facts(str(folder), Resolver())))
    assert facts["filesystem"]["profiles"]["data"] == ["raid1"]
    assert facts["filesystem"]["nodesize"] == 16384


def test_xfs_with_its_log_elsewhere_has_both(
    make_loop: Callable[[], str], mount: Callable[..., Path]
) -> None:
    need("mkfs.xfs")
    data, log = make_loop(), make_loop()
    run("mkfs.xfs", "-q", "-l", f"logdev={log},size=64m", data)
    folder = mount(data, "-o", f"logdev={log}")
    assert loops_of(resolve_backing(str(folder))) == sorted([data, log])
    facts = storage_facts(str(folder), Resolver())
    assert "meta-data" in str(facts["filesystem"])


@pytest.mark.parametrize("barriers", [True, False])
def test_writes_and_flushes_counted(
    make_loop: Callable[[], str], mount: Callable[..., Path], *, barriers: bool
) -> None:
    need("mkfs.ext4")
    device = make_loop()
    run("mkfs.ext4", "-q", device)
    folder = mount(device, "-o", f"barrier={int(barriers)}")
    clock = HandClock()
    probe = BlockDevicesProbe(clock=clock)
    probe.open(ProbeContext(ServerSources(data_directory=str(folder))))
    probe.read()
    for _ in range(10):
        with (folder / "written").open("ab") as file:
            file.write(b"x" * 100_000)
            file.flush()
            os.fsync(file.fileno())
    clock.advance(1)
    found = values(probe.read())
    name = Path(device).name
    assert found[f"device.write_bytes {name}"] >= 1_000_000
    assert found[f"device.writes {name}"] >= 10
    assert (found[f"device.flushes {name}"] >= 10) is barriers
    for what in ("writes", "write_bytes", "flushes"):
        assert found[f"storage.{what}"] == found[f"device.{what} {name}"]
    probe.close()
