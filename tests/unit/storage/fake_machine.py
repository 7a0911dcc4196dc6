"""A small machine as folders: a system disk with a partition, and one blank disk."""

from __future__ import annotations

import dataclasses
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from app.storage.inspect.sources import SourceFolders

FSTAB = "# <file system> ...\nUUID=0a1b / ext4 errors=remount-ro 0 1\n/dev/sda2 none swap sw 0 0\n"
MOUNTINFO = """\
22 28 0:21 / /proc rw,relatime shared:13 - proc proc rw
28 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro
91 28 0:45 / /srv/with\\040space rw - nfs4 host:/export rw
"""
RECORD = (
    '{"serial": "", "wwn": null, "size_bytes": 5, "digest": "", "released_s": 1, "places": [],'
    ' "discards": false, "is_complete": false,'
    ' "marks": {"appearance": "", "requests": 0, "written_bytes": 0}}'
)
SWAPS = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"


def write(root: Path, files: dict[str, str | bytes]) -> None:
    """Write files with their folders."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else f"{content}\n".encode())


def add_scsi_disk(sys: Path, name: str, number: str, serial: str, wwid: str, sectors: int = 8388608) -> None:
    """Add a SATA disk as sysfs of Linux 6.1 shows it."""
    folder = sys / "block" / name
    write(
        folder,
        {
            "dev": number,
            "stat": "5 0 40 1 0 0 0 0 0 1 1 0 0 0 0 0 0",
            "size": str(sectors),
            "ro": "0",
            "removable": "0",
            "hidden": "0",
            "diskseq": number.partition(":")[2],
            "queue/zoned": "none",
            "queue/rotational": "1",
            "queue/logical_block_size": "512",
            "queue/physical_block_size": "4096",
            "device/type": "0",
            "device/vendor": "ATA     ",
            "device/model": "QEMU HARDDISK   ",
            "device/rev": "2.5+",
            "device/wwid": wwid,
            "device/vpd_pg80": b"\x00\x80\x00\x14" + serial.rjust(20).encode(),
        },
    )
    (folder / "holders").mkdir()
    (folder / "slaves").mkdir()
    (folder / "device/subsystem").symlink_to("/sys/bus/scsi")
    _add_to_class(sys, folder)


def _add_to_class(sys: Path, folder: Path) -> None:
    link = sys / "class/block" / folder.name
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(folder)


def add_partition(sys: Path, disk: str, name: str, number: str) -> None:
    """Add a partition of 1 GiB behind the first MiB."""
    folder = sys / "block" / disk / name
    write(folder, {"dev": number, "partition": "1", "start": "2048", "size": "2097152"})
    (folder / "holders").mkdir()
    _add_to_class(sys, folder)


def add_process(
    proc: Path, pid: str, namespace: str = "mnt:[4026531841]", mountinfo: str = MOUNTINFO
) -> Path:
    """Add a process without open files; return its folder."""
    folder = proc / pid
    write(folder, {"mountinfo": mountinfo.rstrip("\n"), "comm": f"program{pid}", "maps": ""})
    (folder / "fd").mkdir()
    (folder / "ns").mkdir()
    (folder / "ns/mnt").symlink_to(namespace)
    (folder / "ns/pid").symlink_to("pid:[4026531836]")
    (folder / "root").symlink_to("/")
    return folder


def fake_machine(root: Path, *, as_root: bool = True) -> SourceFolders:
    """Make the folders and return where they are."""
    places = SourceFolders(
        **{name: root / name for name in ("sys", "proc", "etc", "run", "dev", "lib")},
        released=root / "var/disks",
        as_root=as_root,
    )
    add_scsi_disk(places.sys, "sda", "8:0", "QM00001", "naa.5000000000000001")
    add_partition(places.sys, "sda", "sda1", "8:1")
    add_scsi_disk(places.sys, "sdb", "8:16", "QM00002", "naa.5000000000000002")
    for folder in ("fs/btrfs/features", "kernel/config", "power", "module"):
        (places.sys / folder).mkdir(parents=True)
    for pid in ("self", "1", "7"):
        add_process(places.proc, pid)
    write(
        root,
        {
            "proc/swaps": SWAPS.rstrip("\n"),
            "proc/mdstat": "Personalities : \nunused devices: <none>",
            "proc/cmdline": "root=UUID=0a1b ro quiet",
            "sys/power/resume": "0:0",
            "etc/fstab": FSTAB,
            "etc/crypttab": "# nothing",
            "etc/mdadm/mdadm.conf": "HOMEHOST <system>\nDEVICE /dev/sd*",
            "etc/lvm/devices/system.devices": "VERSION=1.1.1",
            "etc/zfs/zpool.cache": b"\x01\x01\0\0",
            "etc/systemd/system/srv.mount": "[Mount]\nWhat=/dev/sdq1",
            "run/udev/data/b8:0": "S:disk/by-id/ata-QEMU_HARDDISK_QM00001\nE:ID_SERIAL_SHORT=QM00001",
            "var/disks/x.json": RECORD,
        },
    )
    places.dev.mkdir()
    places.lib.mkdir()
    return places


def as_user(places: SourceFolders) -> SourceFolders:
    """Return the same places for somebody who is not root."""
    return dataclasses.replace(places, as_root=False)


def block_nodes(monkeypatch: pytest.MonkeyPatch, numbers: Mapping[str, str]) -> list[str]:
    """Let paths lead to block devices of such numbers; return the paths asked for from then on."""
    real, asked = os.stat, []

    def answer(path: Any, **named: Any) -> os.stat_result:  # noqa: ANN401
        asked.append(str(path))
        if str(path) not in numbers:
            return real(path, **named)
        major, _, minor = numbers[str(path)].partition(":")
        values = (stat.S_IFBLK | 0o660, *(0,) * 9)
        return os.stat_result(values, {"st_rdev": os.makedev(int(major), int(minor))})

    monkeypatch.setattr(os, "stat", answer)
    return asked
