"""What is true of disks now: partition tables as sfdisk writes them, mountinfo as the kernel does."""

from __future__ import annotations

import json
import os
import shutil
import stat
import struct
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.errors import RefusedError
from app.domain.options.raid import Level
from app.domain.storage_plan.plan import PARTITION_TYPE, Group, StoragePlan
from app.storage.layout.commands import build_steps
from app.storage.layout.conditions import OwnTable
from app.storage.layout.steps import Command, WipeTable, undo_of
from app.storage.system import state
from app.storage.system.state import parse_mountinfo
from tests.unit.storage.plans import FOLDER, NAMES, devices, disk

MIB = 1024**2


@pytest.fixture
def image(tmp_path: Path) -> Path:
    path = tmp_path / "image"
    with path.open("wb") as file:
        file.truncate(100 * MIB)
    return path


@pytest.mark.skipif(shutil.which("sfdisk", path="/usr/sbin:/sbin") is None, reason="sfdisk is not installed")
def test_table_of_our_script(image: Path) -> None:
    plan = StoragePlan(Group((disk(1, 100 * MIB),), Level.SINGLE, "ext4"))
    steps = build_steps(plan, devices(plan), NAMES, FOLDER)
    command = next(step for step in steps if isinstance(step, Command))
    argv = ("/usr/sbin/sfdisk", *command.argv[1:-1], str(image))
    subprocess.run(argv, input=command.input, text=True, check=True, capture_output=True)
    (ours,) = (step.partition for step in undo_of(steps) if isinstance(step, WipeTable))
    assert command.after == (OwnTable("/dev/sda", ours.table_uuid),)
    dump = json.loads(
        subprocess.run(("/usr/sbin/sfdisk", "--json", str(image)), check=True, capture_output=True).stdout
    )["partitiontable"]
    assert dump["id"].lower() == ours.table_uuid
    (found,) = dump["partitions"]
    assert (found["type"].lower(), found["uuid"].lower()) == (PARTITION_TYPE, ours.partition_uuid)
    assert (found["name"], found["start"] * 512) == ("pgfooting-data", ours.start_bytes)


def test_mountinfo_lines_and_names_with_spaces() -> None:
    text = (
        "36 35 98:0 /mnt1 /mnt\\0402 rw,noatime master:1 - ext3 /dev/root rw,errors=continue\n"
        "77 27 0:39 / /run/a rw,nosuid - btrfs /dev/sda1 rw,nodatacow,subvol=/\n"
        "a line of another form\n"
    )
    first, second = parse_mountinfo(text)
    assert (first.mount_id, first.folder, first.filesystem, first.source) == (
        36,
        "/mnt 2",
        "ext3",
        "/dev/root",
    )
    assert first.options == ("rw", "noatime", "rw", "errors=continue")
    assert second.options == ("rw", "nosuid", "rw", "nodatacow", "subvol=/")


def test_datasets_by_whole_pool_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "self").mkdir()
    (tmp_path / "self/mountinfo").write_text(
        "77 27 0:39 / /run/a rw - zfs pgfooting-1 rw,xattr\n"
        "78 27 0:39 / /srv/b rw - zfs pgfooting-1/inner rw,xattr\n"
        "79 27 0:40 / /srv/c rw - zfs pgfooting-12 rw,xattr\n"
        "80 27 0:41 / /srv/d rw - ext4 pgfooting-1 rw\n"
    )
    monkeypatch.setattr(state, "PROC", tmp_path)
    assert [each.folder for each in state.pool_mounts("pgfooting-1")] == ["/run/a", "/srv/b"]


@given(st.text())
def test_no_text_makes_reading_mountinfo_fail(text: str) -> None:
    assert len(list(parse_mountinfo(text))) <= len(text.splitlines())


def test_what_is_no_block_device_is_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RefusedError, match="is not a block device"):
        state.device_number(str(tmp_path / "file"))
    with pytest.raises(RefusedError):
        state.device_number("/dev/null")
    assert state.size_bytes(str(tmp_path / "none")) == 0
    assert state.array_uuid(str(tmp_path / "file")) is None
    assert state.holders(str(tmp_path / "none")) == ()


def test_array_uuid_from_its_superblock(tmp_path: Path) -> None:
    member = tmp_path / "member"
    uuid = bytes.fromhex("f27070c7bcb15ceb92aa69806215d133")
    with member.open("wb") as file:  # md_p.h: magic, version 1, feature map, padding, then the set's UUID
        file.seek(4096)
        file.write(bytes.fromhex("fc4e2ba9") + (1).to_bytes(4, "little") + bytes(8) + uuid)
    assert state.array_uuid(str(member)) == "f27070c7-bcb1-5ceb-92aa-69806215d133"


OURS, FOREIGN = "f27070c7-bcb1-5ceb-92aa-69806215d133", "6f1d5a52-0a0c-4c1c-9b1e-000000000001"


@pytest.mark.parametrize(
    ("slaves", "version", "is_ours"),
    [
        ({"sdb1": OURS, "sdc1": OURS}, "1.2", True),
        ({"sdb1": OURS}, "1.2", True),  # a disk was pulled
        ({"sdb1": OURS, "sdc1": None}, "1.2", True),  # a disk has failed
        ({"sdb1": None}, "1.2", False),
        ({}, "1.2", False),
        ({"sdb1": FOREIGN}, "1.2", False),
        ({"sdb1": OURS, "sdc1": FOREIGN}, "1.2", False),
        ({"sdb1": OURS, "sdz1": OURS}, "1.2", False),  # a disk that is none of ours
        ({"sdb1": OURS, "sdc1": OURS}, "1.0", False),  # our superblock lies in its data
        ({"sdb1": OURS, "sdc1": OURS}, "external:imsm", False),
    ],
)
def test_array_of_members(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    slaves: dict[str, str | None],
    version: str,
    is_ours: bool,  # noqa: FBT001
) -> None:
    folder = tmp_path / "class/block/md127"
    for name in slaves:
        (folder / "slaves" / name).mkdir(parents=True)
    (folder / "slaves").mkdir(parents=True, exist_ok=True)
    monkeypatch.setattr(state, "SYSFS", tmp_path)
    monkeypatch.setattr(state, "array_uuid", lambda node: slaves[node.removeprefix("/dev/")])
    members = ("/dev/sdb1", "/dev/sdc1")
    assert not state.is_array_of("/dev/md127", OURS, members), "it has just been stopped"
    (folder / "md").mkdir()
    (folder / "md/metadata_version").write_text(f"{version}\n")
    assert state.is_array_of("/dev/md127", OURS, members) is is_ours


def test_number_of_a_mount() -> None:
    assert state.mount_of("/proc") == state.mount_of("/proc")
    assert state.mount_of("/proc") not in {"", state.mount_of("/sys")}
    assert state.mount_of("/proc/self") == "", "nothing is mounted there"


def test_number_of_a_mount_old_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    (entry,) = state.mounts_on("/proc")[-1:]
    monkeypatch.setattr(state, "_LIBC", SimpleNamespace(statx=lambda *_: 0))  # which knows no such number
    assert state.mount_of("/proc") == f"mountinfo {entry.mount_id}"


def test_array_superblock_without_magic(tmp_path: Path) -> None:
    path = tmp_path / "member"
    path.write_bytes(bytes(4096) + struct.pack("<I", 0xA92B4EFD) + bytes(60))
    assert state.array_uuid(str(path)) is None


@pytest.mark.parametrize(
    "line",
    [
        "36 35 98:0 /a /b - ext4 /dev/sda rw",
        "36 35 98:0 /a /b rw shared:1 - ext4 /dev/sda",
        "x 35 98:0 /a /b rw shared:1 - ext4 /dev/sda rw",
        "",
    ],
)
def test_incomplete_mountinfo_line_is_skipped(line: str) -> None:
    good = "36 35 98:0 /a /b rw shared:1 - ext4 /dev/sda rw"
    assert [it.source for it in parse_mountinfo(f"{line}\n{good}\n")] == ["/dev/sda"]


def test_number_of_block_devices_only(tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="null"):
        state.device_number("/dev/null")
    os.mkfifo(tmp_path / "pipe")
    assert state.array_uuid(str(tmp_path / "pipe")) is None


def test_number_is_major_and_minor(monkeypatch: pytest.MonkeyPatch) -> None:
    status = SimpleNamespace(st_mode=stat.S_IFBLK, st_rdev=os.makedev(8, 17))
    monkeypatch.setattr(state, "Path", lambda _node: SimpleNamespace(stat=lambda: status))
    assert state.device_number("/dev/sdb1") == "8:17"
