"""packaging/devices.sh: tests may touch devices only where a mistake has nothing to destroy."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.packaging.conftest import Scripts


class Machine:
    """Made-up /proc and /sys/class/block."""

    def __init__(self, folder: Path) -> None:
        self.proc = folder / "proc"
        self.sysfs = folder / "sys"
        self.blocks = self.sysfs / "class" / "block"
        self.proc.mkdir()
        self.blocks.mkdir(parents=True)

    def disk(self, name: str, *partitions: str) -> None:
        device = self.sysfs / "devices" / name
        device.mkdir(parents=True)
        (self.blocks / name).symlink_to(device)
        for number, partition in enumerate(partitions, start=1):
            (device / partition).mkdir()
            (device / partition / "partition").write_text(f"{number}\n")
            (self.blocks / partition).symlink_to(device / partition)

    def made_of(self, name: str, *members: str) -> None:
        for member in members:
            slave = self.sysfs / "devices" / name / "slaves" / member
            slave.parent.mkdir(exist_ok=True)
            slave.symlink_to(self.blocks / member)

    def loop(self, name: str, backing: str | None) -> None:
        self.disk(name)
        if backing is not None:
            (self.blocks / name / "loop").mkdir()
            (self.blocks / name / "loop" / "backing_file").write_text(f"{backing}\n")

    def process(self, number: int, name: str) -> None:
        (self.proc / str(number)).mkdir()
        (self.proc / str(number) / "comm").write_text(f"{name}\n")


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def refusals(scripts: Scripts, machine: Machine, *, root: str = "vda1", user: int = 0) -> list[str]:
    code = f"PROC={machine.proc} SYSFS={machine.sysfs}\nrefusals_of_device_tests '{root}' /cache/loops {user}"
    outcome = scripts.call(code)
    assert outcome.returncode == 0, outcome.stderr
    return outcome.stdout.splitlines()


def test_root_disk_and_test_loops_allowed(scripts: Scripts, machine: Machine) -> None:
    machine.disk("vda", "vda1", "vda2")
    machine.loop("loop0", None)
    machine.loop("loop1", "/cache/loops/disk.img")
    machine.process(1, "systemd")
    assert refusals(scripts, machine) == []


def test_a_root_without_partition_is_no_reason(scripts: Scripts, machine: Machine) -> None:
    machine.disk("vda")
    assert refusals(scripts, machine, root="vda") == []


def test_disks_below_encrypted_root_allowed(scripts: Scripts, machine: Machine) -> None:
    machine.disk("nvme0n1", "nvme0n1p1", "nvme0n1p2")
    machine.disk("dm-0")
    machine.made_of("dm-0", "nvme0n1p2")
    machine.disk("dm-1")
    machine.made_of("dm-1", "dm-0")
    assert refusals(scripts, machine, root="dm-1") == []


@pytest.mark.parametrize("name", ["sda", "nvme0n1", "md0", "sr0", "ram0", "zram0", "vdab"])
def test_any_other_device_refuses(scripts: Scripts, machine: Machine, name: str) -> None:
    machine.disk("vda", "vda1")
    machine.disk(name)
    assert refusals(scripts, machine) == [
        f"/dev/{name} exists and is neither the root disk nor a loop device of a test"
    ]


@pytest.mark.parametrize(("size", "reasons"), [("0", 0), ("8", 1)])
def test_an_unused_zram_is_no_reason(scripts: Scripts, machine: Machine, size: str, reasons: int) -> None:
    machine.disk("vda", "vda1")
    machine.disk("zram0")
    (machine.blocks / "zram0" / "size").write_text(f"{size}\n")
    assert len(refusals(scripts, machine)) == reasons


def test_a_partition_of_another_disk_refuses(scripts: Scripts, machine: Machine) -> None:
    machine.disk("vda", "vda1")
    machine.disk("sda", "sda1")
    assert len(refusals(scripts, machine)) == 2


@pytest.mark.parametrize(
    "backing", ["/var/lib/snapd/snaps/core.snap", "/cache/loops-of-another/x", "/cache/loops"]
)
def test_a_loop_device_of_someone_else_refuses(scripts: Scripts, machine: Machine, backing: str) -> None:
    machine.disk("vda", "vda1")
    machine.loop("loop0", backing)
    assert refusals(scripts, machine) == [f"/dev/loop0 is a loop device of {backing}, which is not a test's"]


@pytest.mark.parametrize("name", ["systemd-udevd", "udevd", "eudev", "(udev-worker)", "udisksd"])
def test_a_daemon_that_reacts_to_devices_refuses(scripts: Scripts, machine: Machine, name: str) -> None:
    machine.disk("vda", "vda1")
    machine.process(1, "systemd")
    machine.process(77, name)
    assert refusals(scripts, machine) == [
        f"{name} is running (process 77) and would react to devices that tests make"
    ]


def test_an_ordinary_user_is_refused(scripts: Scripts, machine: Machine) -> None:
    machine.disk("vda", "vda1")
    assert refusals(scripts, machine, user=1000) == ["only root can make loop devices and mount"]


def test_root_without_disk_makes_disks_foreign(scripts: Scripts, machine: Machine) -> None:
    machine.disk("sda", "sda1")
    assert len(refusals(scripts, machine, root="")) == 2


def test_what_cannot_be_read_refuses(scripts: Scripts, machine: Machine) -> None:
    machine.blocks.rmdir()
    assert refusals(scripts, machine) == [f"{machine.blocks} cannot be read, so the disks here are not known"]
