"""Of which devices operations, bytes and flushes are: in words, wherever they are shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.analysis.facts import read_run_facts
from app.domain.disk_answers import played_by
from app.domain.json_value import Json
from app.domain.run import RunState
from app.export.runs import describe_run
from app.probes.base.backing_devices import BackingDevice
from app.probes.facts.environment import device_facts
from app.report.blocks import Text
from app.report.report import read_report
from app.runfile.finalize import finish_run_file
from app.runfile.metadata.environment import counted_devices, read_environment_facts
from app.runfile.reader import RunFile
from app.runfile.series import load_run_data
from tests.fix_runs import WARM_UP_S, Shape, add_seconds, begin_run
from tests.unit.report.test_report_content import single_blocks

LOOP = BackingDevice("loop0", "loop", is_leaf=False)
BELOW = BackingDevice("vda", "disk", is_leaf=True, beneath_loop=True)
DISK = BackingDevice("sda", "disk", is_leaf=True)


def facts_of(*devices: BackingDevice, part: str = "storage") -> dict[str, Json]:
    """Return facts as a run records them."""
    return {part: {"devices": {each.name: device_facts(each, Path("/nowhere")) for each in devices}}}


def words(facts: dict[str, Json]) -> str:
    return counted_devices(read_environment_facts(facts))


def make_run(path: Path, facts: dict[str, Json], name: str = "ext4 #1") -> Path:
    shape = Shape(seconds=20)
    writer = begin_run(path, shape, name)
    with writer.transaction():
        writer.add_facts("before", facts)
    add_seconds(writer, shape, 0, WARM_UP_S + shape.seconds)
    with writer.transaction():
        writer.end_phase(1000 * (WARM_UP_S + shape.seconds))
    writer.close()
    finish_run_file(path, RunState.DONE, {"tps": 5000.0, "device_writes": 1.5}, is_durable=False)
    return path


def test_loop_device_without_its_backing() -> None:
    assert words(facts_of(LOOP, BELOW)) == "loop0 (loop device)"
    assert words(facts_of(DISK)) == "sda"
    assert words(facts_of(BackingDevice("vda", "disk", is_leaf=True))) == "vda (virtual disk)"


def test_older_file_counted_bottom_disk() -> None:
    old: dict[str, Json] = {
        "storage": {
            "devices": {
                "loop0": {"kind": "loop", "is_leaf": False},
                "nvme0n1": {"kind": "disk", "is_leaf": True},
            }
        }
    }
    assert words(old) == "nvme0n1"


@pytest.mark.parametrize(
    "facts", [{}, {"storage": {}}, {"storage": {"devices": {"unreadable": "no device"}}}, {"storage": 3}]
)
def test_no_devices_no_words(facts: dict[str, Json]) -> None:
    assert words(facts) == ""


def test_wal_disks_named_once() -> None:
    other = BackingDevice("sdb", "disk", is_leaf=True)
    assert words(facts_of(DISK) | facts_of(DISK, other, part="wal_storage")) == "sda, sdb"
    assert words(facts_of(LOOP, BELOW) | facts_of(DISK, part="wal_storage")) == "loop0 (loop device), sda"


def test_of_many_disks_the_first_are_named() -> None:
    disks = (BackingDevice(f"sd{letter}", "disk", is_leaf=True) for letter in "abcdef")
    assert words(facts_of(*disks)) == "sda, sdb, sdc, 3 more"


@pytest.mark.parametrize(
    ("name", "vendor", "model", "maker"),
    [
        ("vda", "0x1af4", "", "virtio"),
        ("xvdf", "", "", "Xen"),
        ("sda", "QEMU", "QEMU HARDDISK", "QEMU"),
        ("nvme0n1", "", "QEMU NVMe Ctrl", "QEMU"),
        ("sda", "ATA", "VBOX HARDDISK", "VirtualBox"),
        ("sda", "VMware", "Virtual disk", "VMware"),
        ("sda", "Msft", "Virtual Disk", "Hyper-V"),
        ("nvme1n1", "", "Amazon Elastic Block Store", "Amazon EBS"),
        ("nvme1n1", "", "Amazon EC2 NVMe Instance Storage", "Amazon EC2 instance storage"),
        ("sdb", "Google  ", "PersistentDisk  ", "Google Persistent Disk"),
        ("nvme0n1", "", "nvme_card-pd", "Google Persistent Disk"),
        ("nvme0n2", "", "nvme_card", "Google Local SSD"),
        ("sdc", "Google", "EphemeralDisk", "Google Local SSD"),
        ("nvme0n1", "", "MSFT NVMe Accelerator v1.0", "Azure managed disk"),
        ("nvme1n1", "", "Microsoft NVMe Direct Disk v2", "Azure local disk"),
        ("sda", "DO", "Volume", "DigitalOcean Volume"),
        ("nvme0n1", "", "Alibaba Cloud Elastic Block Storage", "Alibaba Cloud EBS"),
        ("sda", "ORACLE", "BlockVolume", "Oracle Block Volume"),
        ("sda", "HC", "Volume", "Hetzner Cloud Volume"),
        ("vdb", "QEMU", "", "virtio"),
        ("nvme0n1", "", "Samsung SSD 990 PRO 2TB", ""),
        ("sda", "ATA", "ST4000VN008-2DR1", ""),
        ("dm-0", "", "", ""),
        ("", "", "", ""),
    ],
)
def test_virtual_disk_by_name_or_vendor(name: str, vendor: str, model: str, maker: str) -> None:
    assert played_by(name, vendor, model) == maker


def test_counted_devices_shown_everywhere(tmp_path: Path) -> None:
    paths = [
        make_run(tmp_path / "one.footing", facts_of(LOOP, BELOW), "ext4 #1"),
        make_run(tmp_path / "two.footing", facts_of(DISK), "xfs #1"),
    ]
    assert [load_run_data(path).devices for path in paths] == ["loop0 (loop device)", "sda"]
    runs = [read_run_facts(path) for path in paths]
    assert [run.devices for run in runs] == ["loop0 (loop device)", "sda"]
    with RunFile(paths[0]) as run:
        assert describe_run(run)["devices"] == "loop0 (loop device)"
    lines = [block.text for block in single_blocks(read_report(paths)) if isinstance(block, Text)]
    assert any(
        "count all I/O of ext4 #1: loop0 (loop device); xfs #1: sda, including other programs" in text
        for text in lines
    )
    lines = [block.text for block in single_blocks(read_report(paths[1:])) if isinstance(block, Text)]
    assert any("bytes and flushes count all I/O of sda, including other programs." in text for text in lines)


def test_unknown_devices_in_report(tmp_path: Path) -> None:
    path = make_run(tmp_path / "old.footing", {})
    lines = [block.text for block in single_blocks(read_report([path])) if isinstance(block, Text)]
    assert any("count all I/O of devices not named in the run file" in text for text in lines)
