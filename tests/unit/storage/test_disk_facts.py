"""What sysfs and udev say of one disk: who it is, what it is, and by what is seen that nobody wrote to it."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Mapping
from pathlib import Path

import pytest

from app.storage.inspect.disk import read_disk
from app.storage.inspect.snapshot import DuplicateMarks, Hardware, Policy, SourceKnowledge
from app.storage.inspect.sources import SourceFolders
from app.storage.spare.disks import bus_of
from app.storage.spare.inspect import inspect_machine
from app.storage.spare.rules import decide
from tests.unit.storage.fake_machine import add_scsi_disk, write

BOOT = "0b5c2b1e-6f0f-4d57-8f39-6b1f2e0a9c11"


def add_disk(places: SourceFolders, name: str, number: str, subsystem: str, files: Mapping[str, str]) -> None:
    """Add a disk that is none of SCSI: `files` below its folder."""
    add_scsi_disk(places.sys, name, number, "", "")
    folder = places.sys / "block" / name
    shutil.rmtree(folder / "device")
    write(folder, dict(files))
    (folder / "device").mkdir(exist_ok=True)
    (folder / "device/subsystem").symlink_to(f"/sys/class/{subsystem}")


# --- marks


@pytest.mark.parametrize(
    ("counts", "boot", "sequence", "appearance"),
    [
        ("1", BOOT, "16", f"{BOOT} 16"),
        ("1", BOOT, "0", f"{BOOT} 0"),
        ("0", BOOT, "16", ""),
        ("", BOOT, "16", ""),
        ("1", "", "16", ""),
        ("1", BOOT, "", ""),
    ],
    ids=["all", "the first disk", "no counting", "no such file", "no boot", "no number of disks"],
)
def test_marks_need_diskseq_and_write_count(
    places: SourceFolders, counts: str, boot: str, sequence: str, appearance: str
) -> None:
    """Counters that stand still because nobody counts would say that a disk is as it was left."""
    folder = places.sys / "block/sdb"
    write(places.proc, {"sys/kernel/random/boot_id": boot})
    write(folder, {"stat": "5 0 40 1 2 3 40 5 0 1 1 6 7 80 9 0 0", "diskseq": sequence})
    if counts:
        write(folder, {"queue/iostats": counts})
    facts = read_disk(places, "sdb")
    assert facts.marks == DuplicateMarks(appearance, 2 + 3 + 6 + 7, (40 + 80) * 512)
    assert facts.identity.state is SourceKnowledge.READ


def test_no_appearance_without_identity(places: SourceFolders) -> None:
    write(places.proc, {"sys/kernel/random/boot_id": BOOT})
    write(places.sys / "block/sdb", {"queue/iostats": "1", "diskseq": "none"})
    assert not read_disk(places, "sdb").marks.appearance


def test_no_diskseq_before_linux_5_15(places: SourceFolders) -> None:
    (places.sys / "block/sdb/diskseq").unlink()
    identity = read_disk(places, "sdb").identity.value
    assert identity is not None
    assert identity.diskseq is None


# --- what it is


def test_scsi_type_and_hidden_disks(places: SourceFolders) -> None:
    add_disk(places, "vda", "254:0", "virtio", {})
    add_disk(places, "nvme0c0n1", "259:0", "nvme", {"hidden": "1"})
    add_disk(places, "dm-0", "253:0", "none", {})
    (places.sys / "block/dm-0/device/subsystem").unlink()
    (places.sys / "block/sdb/hidden").unlink()  # it came with Linux 4.15
    found = {
        name: read_disk(places, name).hardware.value for name in ("sda", "sdb", "vda", "nvme0c0n1", "dm-0")
    }
    assert found == {
        "sda": Hardware("scsi", hidden=False, scsi_type=0),
        "sdb": Hardware("scsi", hidden=False, scsi_type=0),
        "vda": Hardware("virtio", hidden=False),
        "nvme0c0n1": Hardware("nvme", hidden=True),
        "dm-0": Hardware("", hidden=False),
    }


@pytest.mark.parametrize(("turning", "rotates"), [("1", True), ("0", False), ("", None)])
def test_whether_a_disk_rotates_may_be_unknown(
    places: SourceFolders,
    turning: str,
    rotates: bool | None,  # noqa: FBT001
) -> None:
    queue = places.sys / "block/sdb/queue"
    (queue / "rotational").unlink()
    (queue / "zoned").unlink()
    if turning:
        write(queue, {"rotational": turning, "zoned": "host-managed", "discard_max_bytes": "4096"})
    medium = read_disk(places, "sdb").medium.value
    assert medium is not None
    assert medium.rotational is rotates
    assert (medium.zoned, medium.discards) == (("host-managed", True) if turning else ("", False))


@pytest.mark.parametrize(
    ("file", "rule"),
    [
        ("hidden", "D01"),
        ("queue/zoned", "D02"),
        ("queue/rotational", "D02"),
        ("queue/discard_max_bytes", "D02"),
    ],
)
def test_unreadable_kernel_attribute_refuses(places: SourceFolders, file: str, rule: str) -> None:
    """ENXIO, as opening a socket gives it, is "none" of identifiers alone."""
    path = places.sys / "block/sdb" / file
    path.unlink(missing_ok=True)
    os.mknod(path, stat.S_IFSOCK | 0o600)
    facts = read_disk(places, "sdb")
    reading = facts.hardware if rule == "D01" else facts.medium
    assert (reading.state, reading.value) == (SourceKnowledge.UNREADABLE, None)
    refusals = decide(inspect_machine(Policy(), places), "sdb", Policy()).refusals
    assert rule in {refusal.rule for refusal in refusals}


# --- who it is


def serial_of(places: SourceFolders, name: str) -> str:
    identity = read_disk(places, name).identity.value
    assert identity is not None
    return identity.serial


def test_serial_of_disk_bridge_udev(places: SourceFolders) -> None:
    """A USB stick whose page of the serial number is empty: as its files go, the next source is taken."""
    folder = places.sys / "block/sdb"
    bridge = places.sys / "devices/usb1/1-2"
    device = bridge / "1-2:1.0/host4/target4:0:0/4:0:0:0"
    device.parent.mkdir(parents=True)
    (folder / "device").rename(device)
    (folder / "device").symlink_to(device)
    write(bridge, {"idVendor": "0781", "serial": "BRIDGE"})
    write(places.run, {"udev/data/b8:16": "E:ID_SERIAL_SHORT=UDEV"})
    page = device / "vpd_pg80"
    write(device, {"serial": "DEVICE"})
    write(folder, {"serial": ""})
    assert serial_of(places, "sdb") == "QM00002"
    page.write_bytes(b"\0\x80\0\x04 \0 \0")
    assert serial_of(places, "sdb") == "DEVICE"
    write(folder, {"serial": "DISK"})
    assert serial_of(places, "sdb") == "DISK"
    page.unlink()
    assert serial_of(places, "sdb") == "DISK"
    (folder / "serial").unlink()
    (device / "serial").unlink()
    assert serial_of(places, "sdb") == "BRIDGE"
    (bridge / "serial").unlink()
    assert not serial_of(places, "sdb"), "what udev noted of a bridge without one is the bridge's"
    (bridge / "idVendor").unlink()
    assert serial_of(places, "sdb") == "UDEV"
    (places.run / "udev/data/b8:16").unlink()
    assert not serial_of(places, "sdb")


def test_loop_device_identity_is_its_file(places: SourceFolders, tmp_path: Path) -> None:
    add_disk(places, "loop3", "7:3", "none", {"loop/backing_file": f"{tmp_path}/image", "serial": "NONE"})
    assert not serial_of(places, "loop3"), "the file is nowhere in sight of this namespace"
    (tmp_path / "image").touch()
    status = (tmp_path / "image").stat()
    assert serial_of(places, "loop3") == f"file-{status.st_dev:x}-{status.st_ino:x}"


@pytest.mark.parametrize(
    ("files", "model"),
    [
        ({"device/vendor": "0x1af4"}, "Virtio Block Device"),
        ({"device/vendor": "0x1B36", "device/model": "QEMU NVMe Ctrl"}, "QEMU NVMe Ctrl"),
        ({"device/vendor": "0xide", "device/model": "Disk"}, "0xide Disk"),
        ({"device/model": "Samsung SSD 990 PRO 2TB"}, "Samsung SSD 990 PRO 2TB"),
        ({"device/vendor": "ATA     ", "device/model": "ST4000NM0035"}, "ST4000NM0035"),
        ({"device/vendor": "NVMe    ", "device/model": "INTEL SSDPE2KX0"}, "INTEL SSDPE2KX0"),
        ({"device/vendor": "DELL    ", "device/model": "PERC H730 Mini"}, "DELL PERC H730 Mini"),
        ({"device/vendor": "SanDisk "}, "SanDisk"),
        ({"loop/backing_file": "/srv/image", "device/model": "none"}, "Loop device"),
        ({}, ""),
    ],
)
def test_model_with_vendor(places: SourceFolders, files: dict[str, str], model: str) -> None:
    add_disk(places, "vda", "254:0", "virtio", files)
    identity = read_disk(places, "vda").identity.value
    assert identity is not None
    assert identity.model == model


@pytest.mark.parametrize(
    ("name", "device", "attached"),
    [
        ("loop3", "pci0000:00/0000:00:1f.2/ata3", "loop"),
        ("nvme0n1", "virtual/nvme-subsystem/nvme-subsys0", "nvme"),
        ("nvme1n1", "pci0000:00/0000:00:14.0/usb1/nvme/nvme1", "nvme"),
        ("vda", "pci0000:00/0000:00:04.0/virtio1", "virtio"),
        ("sdx", "pci0000:00/0000:00:10.0/host2/target2:0:0/2:0:0:0", "virtio"),
        ("sdy", "", ""),
    ],
)
def test_bus_from_name(places: SourceFolders, name: str, device: str, attached: str) -> None:
    folder = places.sys / "block" / name
    folder.mkdir()
    if device:
        place = places.sys / "devices" / device
        place.mkdir(parents=True)
        (place / "subsystem").symlink_to("/sys/bus/virtio")
        (folder / "device").symlink_to(place)
    assert bus_of(places, name) == attached
