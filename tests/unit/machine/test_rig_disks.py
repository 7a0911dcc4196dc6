"""Which disks a guest gets, and QEMU's options for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.machine.rig_disks import Kind, RigDisk, disk_options, parse_disk


@pytest.mark.parametrize(
    ("text", "disk"),
    [
        ("virtio:1G", RigDisk(Kind.VIRTIO, 1024**3, "RIGVIRTIO3")),
        ("sata:2G:7200", RigDisk(Kind.SATA, 2 * 1024**3, "RIGSATA3", rpm=7200)),
        ("scsi:512M:1,wwn=5000c5", RigDisk(Kind.SCSI, 512 * 1024**2, "RIGSCSI3", rpm=1, wwn=0x5000C5)),
        ("nvme:4096K,block=4096", RigDisk(Kind.NVME, 4096 * 1024, "RIGNVME3", block_bytes=4096)),
        ("usb:1G,serial=", RigDisk(Kind.USB, 1024**3, None)),
        ("virtio:7,serial=TWIN,readonly", RigDisk(Kind.VIRTIO, 7, "TWIN", read_only=True)),
    ],
)
def test_a_disk_is_read(text: str, disk: RigDisk) -> None:
    assert parse_disk(text, 3) == disk


@pytest.mark.parametrize(
    "text",
    [
        "",
        "virtio",
        "floppy:1G",
        "virtio:-1G",
        "virtio:1G:x",
        "virtio:1G,size=2",
        "sata:1G,wwn=xyz",
        "scsi:1G,block=x",
    ],
)
def test_non_disk_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"no disk|none of|invalid literal"):
        parse_disk(text, 1)


def test_disks_have_own_file_and_id() -> None:
    kinds = [f"{kind}:1G" for kind in Kind] * 2
    disks = [parse_disk(text, number) for number, text in enumerate(kinds, 1)]
    files = [Path(f"/folder/disk{number}.img") for number in range(1, len(disks) + 1)]
    options = disk_options(disks, files)
    drives = [option for option in options if option.startswith("if=none")]
    assert [f"file={file}," in drive for file, drive in zip(files, drives, strict=True)] == [True] * len(
        disks
    )
    named = [part for option in options for part in option.split(",") if part.startswith("id=")]
    assert len(named) == len(set(named))


def test_qemu_doubles_comma_in_path() -> None:
    options = disk_options([parse_disk("virtio:1G", 1)], [Path("/a, b/disk1.img")])
    assert "file=/a,, b/disk1.img," in " ".join(options)
