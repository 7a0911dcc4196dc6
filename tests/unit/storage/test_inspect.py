"""Reading the machine: what each source yields, and what becomes of one that is missing, denied or broken."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.domain.disk import DiskIdentity
from app.storage.inspect import processes as inspect_processes
from app.storage.inspect import uses as inspect_references
from app.storage.inspect import uses as inspect_uses
from app.storage.inspect.disk import parse_udev, read_disk
from app.storage.inspect.snapshot import DeviceUse, Policy, Reading, Reference, SourceKnowledge
from app.storage.inspect.sources import SourceFolders
from app.storage.inspect.uses import parse_mdstat, parse_pools, unescape
from app.storage.spare import release_ledger
from app.storage.spare.disks import bus_of
from app.storage.spare.inspect import inspect_machine
from app.storage.spare.rules import decide
from tests.unit.storage.fake_machine import (
    MOUNTINFO,
    add_partition,
    add_process,
    add_scsi_disk,
    as_user,
    block_nodes,
    write,
)

POLICY = Policy()


def test_the_identity_comes_from_sysfs_alone(places: SourceFolders) -> None:
    shutil.rmtree(places.run)
    facts = read_disk(places, "sdb")
    assert facts.identity.value == DiskIdentity(
        "QM00002", "naa.5000000000000002", "QEMU HARDDISK", 4 * 1024**3, "8:16", 16
    )
    assert facts.udev.state is SourceKnowledge.ABSENT


@pytest.mark.parametrize("answer", [errno.ENXIO, errno.EINVAL])
def test_disk_without_wwn_is_no_gap(
    places: SourceFolders, monkeypatch: pytest.MonkeyPatch, answer: int
) -> None:
    """Seen on the rig: for `wwid` the kernel answers ENXIO of a USB stick, EINVAL of QEMU's SCSI disks."""
    real = Path.read_text

    def read_text(self: Path, *arguments: Any, **named: Any) -> str:  # noqa: ANN401
        if self.name == "wwid":
            raise OSError(answer, os.strerror(answer), str(self))
        return real(self, *arguments, **named)

    monkeypatch.setattr(Path, "read_text", read_text)
    identity = read_disk(places, "sdb").identity
    assert identity.state is SourceKnowledge.READ
    assert identity.value is not None
    assert (identity.value.serial, identity.value.wwn) == ("QM00002", None)


def test_loop_file_without_permission(places: SourceFolders, monkeypatch: pytest.MonkeyPatch) -> None:
    add_scsi_disk(places.sys, "loop3", "7:3", "", "")
    write(places.sys, {"block/loop3/loop/backing_file": "/private/file"})
    real = os.stat

    def stat(path: Any, **named: Any) -> os.stat_result:  # noqa: ANN401
        if str(path) == "/private/file":
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return real(path, **named)

    monkeypatch.setattr(os, "stat", stat)
    assert read_disk(as_user(places), "loop3").identity.state is SourceKnowledge.NEEDS_ROOT
    assert read_disk(places, "loop3").identity.state is SourceKnowledge.UNREADABLE


def test_partitions_and_holders_of_both_are_found(places: SourceFolders) -> None:
    add_partition(places.sys, "sdb", "sdb1", "8:17")
    (places.sys / "block/sdb/sdb1/holders/md127").symlink_to("/nowhere")
    facts = read_disk(places, "sdb")
    assert facts.names == ("sdb", "sdb1")
    assert facts.numbers == {"8:16", "8:17"}
    assert facts.holders.value == (DeviceUse("8:17", "md127", "sdb1"),)


def test_blank_disk_lacks_only_real_device_facts(places: SourceFolders) -> None:
    """There are no device nodes here: everything else is read, and speaks for the second disk alone."""
    snapshot = inspect_machine(POLICY, places)
    assert [facts.name for facts in snapshot.disks] == ["sda", "sdb"]
    refused = {
        name: {each.rule for each in decide(snapshot, name, POLICY).refusals} for name in ("sda", "sdb")
    }
    assert refused["sdb"] == {"D14"}
    assert refused["sda"] == {"D05", "D08", "D12", "D14"}


def test_two_disks_with_one_wwn_are_doubles(places: SourceFolders) -> None:
    add_scsi_disk(places.sys, "sdc", "8:32", "OTHER", "naa.5000000000000002")
    refusals = decide(inspect_machine(POLICY, places), "sdb", POLICY).refusals
    assert "D10" in {refusal.rule for refusal in refusals}


def test_unreadable_identity_could_be_the_double(places: SourceFolders) -> None:
    (places.sys / "block/sda/size").write_text("not a number\n")
    reading = inspect_machine(POLICY, places).machine.identities
    assert reading.state is SourceKnowledge.UNREADABLE
    assert "sda" in reading.reason


SOURCES: dict[str, tuple[Callable[[SourceFolders], Reading[Any]], Callable[[SourceFolders], Path]]] = {
    "swaps": (inspect_uses.read_swaps, lambda places: places.proc / "swaps"),
    "arrays": (inspect_uses.read_arrays, lambda places: places.proc / "mdstat"),
    "hibernation": (inspect_uses.read_hibernation, lambda places: places.sys / "power/resume"),
    "btrfs": (inspect_uses.read_btrfs, lambda places: places.sys / "fs/btrfs"),
    "targets": (inspect_uses.read_targets, lambda places: places.sys / "kernel/config"),
    "fstab": (inspect_references.read_fstab, lambda places: places.etc / "fstab"),
    "crypttab": (inspect_references.read_crypttab, lambda places: places.etc / "crypttab"),
    "zpool_cache": (inspect_references.read_zpool_cache, lambda places: places.etc / "zfs/zpool.cache"),
    "cmdline": (inspect_references.read_cmdline, lambda places: places.proc / "cmdline"),
    "released": (release_ledger.read_released, lambda places: places.released),
}


@pytest.mark.parametrize("source", SOURCES)
def test_source_read_or_absent(places: SourceFolders, source: str) -> None:
    reader, where = SOURCES[source]
    assert reader(places).state is SourceKnowledge.READ
    path = where(places)
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
    assert reader(places).state is SourceKnowledge.ABSENT


FILES: dict[str, tuple[Callable[[SourceFolders], Reading[Any]], str]] = {
    "mounts": (inspect_processes.read_mounts, "proc/self/mountinfo"),
    "openers": (inspect_processes.read_openers, "proc/1/maps"),
    "swaps": (inspect_uses.read_swaps, "proc/swaps"),
    "arrays": (inspect_uses.read_arrays, "proc/mdstat"),
    "hibernation": (inspect_uses.read_hibernation, "sys/power/resume"),
    "fstab": (inspect_references.read_fstab, "etc/fstab"),
    "crypttab": (inspect_references.read_crypttab, "etc/crypttab"),
    "mdadm": (inspect_references.read_mdadm, "etc/mdadm/mdadm.conf"),
    "lvm": (inspect_references.read_lvm, "etc/lvm/devices/system.devices"),
    "zpool_cache": (inspect_references.read_zpool_cache, "etc/zfs/zpool.cache"),
    "units": (inspect_references.read_units, "etc/systemd/system/srv.mount"),
    "cmdline": (inspect_references.read_cmdline, "proc/cmdline"),
    "medium": (lambda places: read_disk(places, "sdb").medium, "sys/block/sdb/size"),
    "hardware": (lambda places: read_disk(places, "sdb").hardware, "sys/block/sdb/device/type"),
    "identity": (lambda places: read_disk(places, "sdb").identity, "sys/block/sdb/diskseq"),
    "udev": (lambda places: read_disk(places, "sda").udev, "run/udev/data/b8:0"),
}


@pytest.mark.parametrize("source", FILES)
def test_unreadable_source_is_not_absent(places: SourceFolders, tmp_path: Path, source: str) -> None:
    """A folder in the place of a file gives EISDIR, also to root."""
    reader, name = FILES[source]
    file = tmp_path / name
    file.unlink()
    file.mkdir()
    reading = reader(places)
    assert reading.state is SourceKnowledge.UNREADABLE
    assert reading.reason


@pytest.mark.parametrize("source", FILES)
def test_denied_source_needs_root(
    places: SourceFolders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    reader, name = FILES[source]
    denied = tmp_path / name
    real_text, real_bytes = Path.read_text, Path.read_bytes

    def deny(self: Path) -> None:
        if self == denied:
            raise PermissionError(errno.EACCES, "Permission denied", str(self))

    def read_text(self: Path, *arguments: Any, **named: Any) -> str:  # noqa: ANN401
        deny(self)
        return real_text(self, *arguments, **named)

    def read_bytes(self: Path) -> bytes:
        deny(self)
        return real_bytes(self)

    monkeypatch.setattr(Path, "read_text", read_text)
    monkeypatch.setattr(Path, "read_bytes", read_bytes)
    assert reader(places).state is SourceKnowledge.UNREADABLE
    assert reader(as_user(places)).state is SourceKnowledge.NEEDS_ROOT


def test_mount_namespaces_and_ended_process(places: SourceFolders) -> None:
    other = MOUNTINFO + "99 28 8:16 / /data\\040two rw - xfs /dev/sdb rw\n"
    add_process(places.proc, "8", "mnt:[4026532999]", other)
    (add_process(places.proc, "9") / "ns/mnt").unlink()
    reading = inspect_processes.read_mounts(places)
    assert reading.state is SourceKnowledge.READ
    assert DeviceUse("8:16", "/data two", "xfs, mnt:[4026532999]") in reading.known(())


def test_unknown_mountinfo_line_is_a_gap(places: SourceFolders) -> None:
    (places.proc / "1/mountinfo").write_text("1 2 3\n")
    (places.proc / "1/ns/mnt").unlink()
    (places.proc / "1/ns/mnt").symlink_to("mnt:[1]")
    assert inspect_processes.read_mounts(places).state is SourceKnowledge.UNREADABLE


def test_container_knows_of_hidden_processes(places: SourceFolders) -> None:
    assert inspect_processes.read_sees_all(places) == Reading(SourceKnowledge.READ, value=True)
    (places.proc / "self/ns/pid").unlink()
    (places.proc / "self/ns/pid").symlink_to("pid:[4026532101]")
    assert inspect_processes.read_sees_all(places) == Reading(SourceKnowledge.READ, value=False)
    (places.proc / "self/ns/pid").unlink()
    assert inspect_processes.read_sees_all(places).state is SourceKnowledge.UNREADABLE


def test_udevd_is_no_user(places: SourceFolders, monkeypatch: pytest.MonkeyPatch) -> None:
    (places.proc / "7/fd/3").symlink_to("/dev/sdb")
    real = os.stat

    def stat(path: Any, **named: Any) -> Any:  # noqa: ANN401
        if str(path).endswith("/7/fd/3"):
            return type("Status", (), {"st_mode": 0o60660, "st_rdev": os.makedev(8, 16)})
        return real(path, **named)

    monkeypatch.setattr(os, "stat", stat)
    link = str(places.proc / "7/fd/3")
    used = (DeviceUse("8:16", "program7 (process 7)", link),)
    (places.proc / "7/fdinfo").mkdir()

    def openers(program: str, flags: str) -> tuple[DeviceUse, ...] | None:
        (places.proc / "7/exe").unlink(missing_ok=True)
        (places.proc / "7/exe").symlink_to(program)
        (places.proc / "7/fdinfo/3").write_text(f"pos:\t0\n{flags}mnt_id:\t26\n")
        return inspect_processes.read_openers(places).value

    assert openers("/usr/bin/udevadm", "flags:\t02100000\n") == ()
    assert openers("/usr/bin/qemu-system-x86_64", "flags:\t02100000\n") == used
    assert openers("/home/somebody/udevadm", "flags:\t02100000\n") == used
    assert openers("/usr/bin/udevadm", "flags:\t02100002\n") == used
    assert openers("/usr/bin/udevadm", "flags:\tnone\n") == used
    assert openers("/usr/bin/udevadm", "") == used


def test_other_open_files_are_no_devices(places: SourceFolders, tmp_path: Path) -> None:
    folder = places.proc / "7/fd"
    (folder / "0").symlink_to("/dev/null")
    (folder / "1").symlink_to("socket:[1]")
    (folder / "2").symlink_to(tmp_path / "gone")
    assert inspect_processes.read_openers(places) == Reading(SourceKnowledge.READ, ())


def test_network_files_are_not_queried(places: SourceFolders, monkeypatch: pytest.MonkeyPatch) -> None:
    (places.proc / "7/fd/3").symlink_to("/srv/with space/file")
    asked: list[str] = []
    real = os.stat

    def listening(path: Any, **named: Any) -> os.stat_result:  # noqa: ANN401
        asked.append(str(path))
        return real(path, **named)

    monkeypatch.setattr(os, "stat", listening)
    inspect_processes.read_openers(places)
    assert not [path for path in asked if "/7/fd/" in path]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("/dev/sdb1 /srv ext4 defaults 0 2", ["/dev/sdb1"]),
        ('UUID="0a1b-2c" / ext4', ["UUID=0a1b-2c"]),
        ("# /dev/sdb1 commented", []),
        ("; /dev/sdb1 commented", []),
        ("DEVICE /dev/sd[bc]1 /dev/hd*", []),
        ("ARRAY /dev/md0 devices=/dev/sdb1,/dev/sdc1", ["/dev/md0", "/dev/sdb1", "/dev/sdc1"]),
        ("IDTYPE=sys_wwid IDNAME=naa.5000 DEVNAME=/dev/sda PVID=x", ["IDNAME=naa.5000", "/dev/sda"]),
        (
            "root=PARTUUID=12-34 resume=/dev/disk/by-id/x rd.luks.uuid=y",
            ["PARTUUID=12-34", "/dev/disk/by-id/x"],
        ),
        ("What=/dev/disk/by-label/a\\x20b", ["/dev/disk/by-label/a\\x20b"]),
        ("home UUID=1-2 /dev/sdk1:/key luks", ["UUID=1-2", "/dev/sdk1:/key"]),
    ],
)
def test_devices_in_every_configuration(text: str, found: list[str]) -> None:
    assert list(inspect_references.devices_in(text)) == found


def test_masked_or_missing_unit(places: SourceFolders) -> None:
    folder = places.etc / "systemd/system"
    (folder / "masked.mount").symlink_to("/dev/null")
    (folder / "gone.swap").symlink_to("/nowhere")
    write(places.run, {"systemd/generator/x.swap": "[Swap]\nWhat=/dev/sdr"})
    reading = inspect_references.read_units(places)
    assert reading.state is SourceKnowledge.READ
    assert {reference.text for reference in reading.known(())} == {"/dev/sdq1", "/dev/sdr"}


def test_path_in_configuration_leads_to_device(places: SourceFolders) -> None:
    (places.etc / "fstab").write_text("/dev/null /x ext4\n/dev/loop-control /y ext4\n")
    found = inspect_references.read_fstab(places).known(())
    file = str(places.etc / "fstab")
    assert found == (Reference(file, "/dev/null"), Reference(file, "/dev/loop-control"))


def test_device_named_by_content(places: SourceFolders, monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = {
        "/dev/disk/by-uuid/0a1b": "8:1",
        "/dev/disk/by-partlabel/data": "8:17",
        "/dev/mapper/a=b": "253:0",
    }
    block_nodes(monkeypatch, nodes)
    (places.etc / "fstab").write_text("UUID=0a1b / ext4\nPARTLABEL=data /d xfs\n/dev/mapper/a=b /b ext4\n")
    found = inspect_references.read_fstab(places).known(())
    assert {each.text: each.number for each in found} == {
        "UUID=0a1b": "8:1",
        "PARTLABEL=data": "8:17",
        "/dev/mapper/a=b": "253:0",
    }


def test_unread_source_explained(places: SourceFolders) -> None:
    def fail(*_: object) -> str:
        raise err

    err: OSError = FileNotFoundError(errno.ENOENT, "No such file or directory", "/sys/x")
    assert places.attempt(places.sys, fail).reason == "/sys/x: No such file or directory"
    err = OSError("a line that nobody knows")
    assert places.attempt(places.sys, fail).reason == "a line that nobody knows"


def test_missing_swap_partition_is_a_gap(places: SourceFolders) -> None:
    (places.proc / "swaps").write_text("Filename Type\n/dev/nowhere partition 1 0 -2\n/swap file 1 0 -3\n")
    assert inspect_uses.read_swaps(places).state is SourceKnowledge.UNREADABLE


def test_pools_without_zfs_or_failing_tool(places: SourceFolders) -> None:
    """Here the tool is missing, or it says that there is no such module."""
    assert inspect_uses.read_pools(places).state is SourceKnowledge.ABSENT
    (places.sys / "module/zfs").mkdir()
    assert inspect_uses.read_pools(places).state is SourceKnowledge.UNREADABLE


def test_mdstat_members_of_inactive_arrays() -> None:
    """Recorded: mdadm 4.2, Linux 6.1; the last is what assembling half an array leaves."""
    text = (
        "Personalities : [raid1] [raid0]\n"
        "md10 : active raid1 vdc1[1] vdb1[0](W)\n      1046528 blocks super 1.2 [2/2] [UU]\n\n"
        "md127 : inactive sdd[1](S)\n      1046528 blocks super 1.2\n\nunused devices: <none>\n"
    )
    assert list(parse_mdstat(text)) == [("md10", "vdc1"), ("md10", "vdb1"), ("md127", "sdd")]


def test_pools_show_every_device_that_exists() -> None:
    text = "  pool: tank\nconfig:\n\tNAME  STATE\n\ttank  ONLINE\n\t  /dev/null  ONLINE\n\t  1  UNAVAIL\n"
    assert list(parse_pools(text)) == []


def test_udev_properties_may_hold_any_sign() -> None:
    record = parse_udev("8:0", "I:1\nE:A=b=c\nS:disk/by-id/x\nE:ID_FS_LABEL=a:b\nG:systemd\n")
    assert record.properties == {"A": "b=c", "ID_FS_LABEL": "a:b"}
    assert record.links == ("disk/by-id/x",)


@pytest.mark.parametrize(
    ("device", "attached"),
    [
        ("pci0000:00/0000:00:1f.2/ata3/host2/target2:0:0/2:0:0:0", "sata"),
        ("pci0000:00/0000:00:14.0/usb1/1-2/host4/4:0:0:0", "usb"),
        ("pci0000:00/0000:00:02.0/host0/port-0:1/end_device-0:1/0:0:1:0", "sas"),
        ("platform/host5/session1/target5:0:0/5:0:0:1", "iscsi"),
    ],
)
def test_bus_from_sysfs_path(tmp_path: Path, device: str, attached: str) -> None:
    (tmp_path / "sys/devices" / device).mkdir(parents=True)
    (tmp_path / "sys/block/sdx").mkdir(parents=True)
    (tmp_path / "sys/block/sdx/device").symlink_to(tmp_path / "sys/devices" / device)
    assert bus_of(SourceFolders(sys=tmp_path / "sys"), "sdx") == attached


def test_escapes_of_mountinfo_are_undone() -> None:
    assert unescape("/a\\040b\\134c") == "/a b\\c"
