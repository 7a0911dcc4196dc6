from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from app.domain.errors import ProgramError
from app.probes.base.backing_devices import (
    Backing,
    BackingDevice,
    Mount,
    Resolver,
    device_number,
    merged,
    parse_zpool_status,
)
from app.probes.base.probe import ProbeUnavailable
from tests.unit.probes.fakes import write

STATUS = Path(__file__).parents[2] / "data" / "zpool_status"
ZPOOL_RECORDED = (STATUS / "stripe.txt").read_text()
ZPOOL_SECTIONS = (STATUS / "sections.txt").read_text()


def mount(device: str, filesystem: str = "ext4", source: str = "/dev/x", *super_options: str) -> Mount:
    return Mount(1, device, "/", "/data", ("rw",), filesystem, source, super_options)


class Machine:
    """A folder like sysfs that grows device by device."""

    def __init__(self, root: Path) -> None:
        self.sys = root / "sys"
        self.numbers: dict[str, str] = {}
        self.mounts: dict[str, Mount] = {}
        self.answers: dict[str, str] = {}

    def disk(self, name: str, number: str, *slaves: str, kind: str = "") -> None:
        folder = self.sys / "devices" / "virtual" / name
        write(folder / "stat", "0")
        write(folder / "dev", f"{number}\n")
        (folder / "slaves").mkdir()
        for slave in slaves:
            target = next(
                path.parent for path in (self.sys / "devices").rglob("dev") if path.parent.name == slave
            )
            (folder / "slaves" / slave).symlink_to(target)
        if kind:
            (folder / kind).mkdir()
        self._link(name, number, folder)

    def partition(self, name: str, number: str, disk: str) -> None:
        folder = self.sys / "devices" / "virtual" / disk / name
        write(folder / "stat", "0")
        write(folder / "dev", f"{number}\n")
        write(folder / "partition", "1\n")
        self._link(name, number, folder)

    def _link(self, name: str, number: str, folder: Path) -> None:
        link = self.sys / "dev" / "block" / number
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(folder)
        self.numbers[f"/dev/{name}"] = number

    def loop_file(self, name: str, path: str) -> None:
        write(self.sys / "devices" / "virtual" / name / "loop" / "backing_file", f"{path}\n")

    def ask(self, argv: Sequence[str]) -> str:
        if argv[0] not in self.answers:
            raise ProgramError(f"{argv[0]} is not installed")
        return self.answers[argv[0]]

    def find_mount(self, path: str) -> Mount:
        if path not in self.mounts:
            raise FileNotFoundError(2, "No such file or directory", path)
        return self.mounts[path]

    def backing(self, path: str) -> Backing:
        resolver = Resolver("/proc", str(self.sys), self.ask, self.numbers.get, self.find_mount)
        return resolver.resolve(path)

    def resolve(self, path: str) -> list[tuple[str, str, bool]]:
        return [(each.name, each.kind, each.is_leaf) for each in self.backing(path).devices]

    def counted(self, *paths: str) -> list[str]:
        return sorted(each.name for each in merged(map(self.backing, paths)) if each.is_counted)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    found = Machine(tmp_path)
    for letter, minor in (("a", 0), ("b", 16), ("c", 32)):
        found.disk(f"sd{letter}", f"8:{minor}")
        found.partition(f"sd{letter}1", f"8:{minor + 1}", f"sd{letter}")
    return found


def test_a_partition_lies_on_its_disk(machine: Machine) -> None:
    machine.mounts["/data"] = mount("8:1")
    assert machine.resolve("/data") == [("sda", "disk", True)]


def test_a_whole_disk_is_its_own_backing(machine: Machine) -> None:
    machine.mounts["/data"] = mount("8:16")
    assert machine.resolve("/data") == [("sdb", "disk", True)]


def test_array_of_partitions(machine: Machine) -> None:
    machine.disk("md0", "9:0", "sda1", "sdb1", kind="md")
    machine.mounts["/data"] = mount("9:0")
    assert machine.resolve("/data") == [("md0", "md", False), ("sda", "disk", True), ("sdb", "disk", True)]


def test_encryption_over_array(machine: Machine) -> None:
    machine.disk("md0", "9:0", "sda1", "sdb1", kind="md")
    machine.disk("dm-0", "253:0", "md0", kind="dm")
    machine.mounts["/data"] = mount("253:0", "xfs")
    assert machine.resolve("/data") == [
        ("dm-0", "dm", False),
        ("md0", "md", False),
        ("sda", "disk", True),
        ("sdb", "disk", True),
    ]


def test_two_volumes_on_one_disk_share_it(machine: Machine) -> None:
    machine.disk("dm-0", "253:0", "sda", kind="dm")
    machine.disk("dm-1", "253:1", "sda", kind="dm")
    for number in ("253:0", "253:1"):
        link = machine.sys / "fs/btrfs/0-1/devices" / number
        write(link / "dev", f"{number}\n")
    machine.mounts["/data"] = mount("0:44", "btrfs", "/dev/dm-0")
    assert machine.resolve("/data") == [("dm-0", "dm", False), ("dm-1", "dm", False), ("sda", "disk", True)]


def test_btrfs_devices(machine: Machine) -> None:
    for uuid, names in (("aa-bb", ("sda1", "sdb1")), ("cc-dd", ("sdc1",))):
        for name in names:
            folder = machine.sys / "fs" / "btrfs" / uuid / "devices" / name
            write(folder / "dev", f"{machine.numbers[f'/dev/{name}']}\n")
    machine.mounts["/data"] = mount("0:44", "btrfs", "/dev/sdb1")
    assert machine.resolve("/data") == [("sda", "disk", True), ("sdb", "disk", True)]


def test_btrfs_without_sysfs_folder(machine: Machine) -> None:
    machine.mounts["/data"] = mount("0:44", "btrfs", "/dev/sdb1")
    assert machine.resolve("/data") == [("sdb", "disk", True)]


def test_pool_disks_from_status(machine: Machine) -> None:
    machine.mounts["/data"] = mount("0:50", "zfs", "tank/pg/data")
    machine.answers["zpool"] = ZPOOL_SECTIONS
    assert machine.resolve("/data") == [("sda", "disk", True), ("sdb", "disk", True), ("sdc", "disk", True)]


def test_pool_status_with_short_names(machine: Machine) -> None:
    machine.mounts["/data"] = mount("0:50", "zfs", "zfs_raid")
    machine.answers["zpool"] = ZPOOL_RECORDED
    assert machine.resolve("/data") == [("sda", "disk", True), ("sdb", "disk", True)]


def test_pool_without_zpool(machine: Machine) -> None:
    machine.mounts["/data"] = mount("0:50", "zfs", "tank")
    with pytest.raises(ProbeUnavailable, match="zpool is not installed"):
        machine.resolve("/data")


def test_pool_names_without_spares_and_headings() -> None:
    assert parse_zpool_status(ZPOOL_SECTIONS) == (
        "raidz1-0", "/dev/sda1", "/dev/sdb1", "/dev/nvme0n1p1", "/dev/nvme1n1p1", "/dev/sdc1",
    )  # fmt: skip
    assert parse_zpool_status(ZPOOL_RECORDED) == ("sda", "sdb")
    assert parse_zpool_status("no pools available\n") == ()


def test_xfs_with_external_log(machine: Machine) -> None:
    machine.mounts["/data"] = mount("8:1", "xfs", "/dev/sda1", "rw", "logdev=/dev/sdc1")
    assert machine.resolve("/data") == [("sda", "disk", True), ("sdc", "disk", True)]


def test_bcachefs_names_its_devices_itself(machine: Machine) -> None:
    machine.mounts["/data"] = mount("0:60", "bcachefs", "/dev/sda1:/dev/sdb1")
    assert machine.resolve("/data") == [("sda", "disk", True), ("sdb", "disk", True)]


def test_loop_file_on_disk_of_filesystem(machine: Machine) -> None:
    machine.disk("loop0", "7:0")
    machine.loop_file("loop0", "/images/one")
    machine.mounts["/data"] = mount("7:0")
    machine.mounts["/images/one"] = mount("8:1")
    assert machine.resolve("/data") == [("loop0", "loop", False), ("sda", "disk", True)]


def test_only_chosen_disks_counted(machine: Machine) -> None:
    machine.disk("md0", "9:0", "sda1", "sdb1", kind="md")
    machine.disk("dm-0", "253:0", "md0", kind="dm")
    machine.mounts["/array"] = mount("253:0", "xfs")
    assert machine.counted("/array") == ["sda", "sdb"]
    machine.disk("loop0", "7:0")
    machine.loop_file("loop0", "/images/one")
    machine.mounts["/data"], machine.mounts["/images/one"] = mount("7:0"), mount("8:33")
    assert machine.counted("/data") == ["loop0"]
    assert [each.name for each in machine.backing("/data").counted] == ["loop0"]
    assert [each.name for each in machine.backing("/data").leaves] == ["sdc"]


def test_nested_loop_device_counted_alone(machine: Machine) -> None:
    for name, number, file in (("loop0", "7:0", "/outer/image"), ("loop1", "7:1", "/inner/image")):
        machine.disk(name, number)
        machine.loop_file(name, file)
    machine.mounts["/outer/image"] = mount("8:1")
    machine.mounts["/inner/image"] = mount("7:0")
    machine.mounts["/data"] = mount("7:1")
    assert machine.resolve("/data") == [
        ("loop1", "loop", False),
        ("loop0", "loop", False),
        ("sda", "disk", True),
    ]
    assert machine.counted("/data") == ["loop1"]


def test_an_array_of_loop_devices_counts_these(machine: Machine) -> None:
    for number, name in enumerate(("loop0", "loop1")):
        machine.disk(name, f"7:{number}")
        machine.loop_file(name, "/images/any")
    machine.mounts["/images/any"] = mount("8:1")
    machine.disk("md0", "9:0", "loop0", "loop1", kind="md")
    machine.mounts["/data"] = mount("9:0")
    assert machine.counted("/data") == ["loop0", "loop1"]


@pytest.mark.parametrize("paths", [("/data", "/wal"), ("/wal", "/data")])
def test_disk_used_beside_loop_file_counted(machine: Machine, paths: tuple[str, str]) -> None:
    machine.disk("loop0", "7:0")
    machine.loop_file("loop0", "/images/one")
    machine.mounts["/images/one"] = machine.mounts["/wal"] = mount("8:1")
    machine.mounts["/data"] = mount("7:0")
    assert machine.counted(*paths) == ["loop0", "sda"]


@pytest.mark.parametrize("numbers", [("7:0", "8:1"), ("8:1", "7:0")])
def test_btrfs_member_beside_loop_file_counted(machine: Machine, numbers: tuple[str, str]) -> None:
    machine.disk("loop0", "7:0")
    machine.loop_file("loop0", "/images/one")
    machine.mounts["/images/one"] = mount("8:1")
    for place, number in enumerate(numbers):
        write(machine.sys / f"fs/btrfs/aa-bb/devices/{place}" / "dev", f"{number}\n")
    machine.mounts["/data"] = mount("0:44", "btrfs", "/dev/loop0")
    assert machine.counted("/data") == ["loop0", "sda"]


@pytest.mark.parametrize("path", ["/hidden", "/images/one (deleted)"])
def test_hidden_loop_file_ends_walk(machine: Machine, path: str) -> None:
    machine.disk("loop0", "7:0")
    machine.loop_file("loop0", path)
    machine.mounts["/data"] = mount("7:0")
    assert machine.resolve("/data") == [("loop0", "loop", True)]


def test_loop_file_on_itself(machine: Machine) -> None:
    machine.disk("loop0", "7:0")
    machine.loop_file("loop0", "/data/image")
    machine.mounts["/data"] = machine.mounts["/data/image"] = mount("7:0")
    assert [name for name, _, _ in machine.resolve("/data")] == ["loop0"]


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (mount("0:27", "tmpfs", "tmpfs"), "is in memory"),
        (mount("0:30", "nfs4", "server:/export"), "another machine"),
        (mount("0:30", "9p", "host"), "another machine"),
        (mount("0:31", "overlay", "overlay", "lowerdir=/l", "upperdir=/nowhere/upper"), "as in a container"),
        (mount("0:31", "overlay", "overlay"), "as in a container"),
        (mount("0:32", "fuse.mergerfs", "a:b"), "does not report"),
    ],
)
def test_folders_without_a_block_device_say_why(machine: Machine, found: Mount, words: str) -> None:
    machine.mounts["/data"] = found
    with pytest.raises(ProbeUnavailable, match=words):
        machine.resolve("/data")


def test_overlay_follows_upper_folder(machine: Machine, tmp_path: Path) -> None:
    upper = str(tmp_path)
    machine.mounts["/data"] = mount("0:31", "overlay", "overlay", f"upperdir={upper}")
    machine.mounts[upper] = mount("8:1")
    assert machine.resolve("/data") == [("sda", "disk", True)]


def test_path_does_not_exist(machine: Machine) -> None:
    with pytest.raises(ProbeUnavailable, match="cannot be found"):
        machine.resolve("/nothing")


def test_only_block_devices_have_a_number(tmp_path: Path) -> None:
    assert device_number("/dev/null") is None
    assert device_number(str(tmp_path)) is None
    assert device_number(str(tmp_path / "nothing")) is None


def test_real_filesystem_resolves_or_explains(tmp_path: Path) -> None:
    try:
        found = Resolver().resolve(str(tmp_path))
    except ProbeUnavailable as err:
        assert err.reason  # noqa: PT017 - both are right, depending on the machine
    else:
        assert found.leaves
        assert all(isinstance(device, BackingDevice) for device in found.devices)
        assert all(os.path.exists(f"/sys/block/{device.name}/stat") for device in found.devices)  # noqa: PTH110
