"""What is true of disks now: partition tables as sfdisk writes them, mountinfo as the kernel does."""

from __future__ import annotations

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
from app.storage.layout.conditions import OwnPartition, OwnTable
from app.storage.layout.steps import Command, WipeTable, undo_of
from app.storage.system import state
from app.storage.system.state import PartitionTable, parse_mountinfo, parse_table, table_of
from app.storage.wiping.decision import differs
from tests.unit.storage.plans import FOLDER, NAMES, devices, disk

MIB = 1024**2


def table_in(image: Path) -> PartitionTable | None:
    fd = os.open(image, os.O_RDONLY)
    try:
        return table_of(fd, 512)
    finally:
        os.close(fd)


@pytest.fixture
def image(tmp_path: Path) -> Path:
    path = tmp_path / "image"
    with path.open("wb") as file:
        file.truncate(100 * MIB)
    return path


@pytest.mark.skipif(shutil.which("sfdisk", path="/usr/sbin:/sbin") is None, reason="sfdisk is not installed")
def test_the_table_that_sfdisk_makes_of_our_script_is_the_one_that_the_steps_look_for(image: Path) -> None:
    plan = StoragePlan(Group((disk(1, 100 * MIB),), Level.SINGLE, "ext4"))
    steps = build_steps(plan, devices(plan), NAMES, FOLDER)
    command = next(step for step in steps if isinstance(step, Command))
    argv = ("/usr/sbin/sfdisk", *command.argv[1:-1], str(image))
    subprocess.run(argv, input=command.input, text=True, check=True, capture_output=True)
    table = table_in(image)
    assert table is not None
    (found,) = table.partitions
    assert (found.type, found.name) == (PARTITION_TYPE, "pgfooting-data")
    assert OwnTable("/dev/sda", table.uuid) in command.after
    assert OwnPartition("/dev/sda", found.uuid) in command.after
    (ours,) = (step.partition for step in undo_of(steps) if isinstance(step, WipeTable))
    assert differs(table, ours) == ""
    with image.open("rb") as file:
        copy = parse_table(lambda at, length: os.pread(file.fileno(), length, at), 512, 100 * MIB - 512)
    assert copy == table, "its copy at the end is read as well"


def test_a_blank_disk_has_no_table(image: Path) -> None:
    assert table_in(image) is None


@given(st.binary(max_size=92), st.binary(max_size=600))
def test_a_damaged_table_is_none_and_never_an_error(header: bytes, rest: bytes) -> None:
    fd = os.memfd_create("image")
    try:
        os.pwrite(fd, b"EFI PART" + header, 512)
        os.pwrite(fd, rest, 1024)
        found = table_of(fd, 512)
        assert found is None or len(found.partitions) <= 128
    finally:
        os.close(fd)


def test_lines_of_mountinfo_are_taken_apart_and_names_with_spaces_are_whole() -> None:
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


def test_datasets_of_a_pool_are_known_by_its_whole_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    with pytest.raises(RefusedError, match="no block device"):
        state.device_number(str(tmp_path / "file"))
    with pytest.raises(RefusedError):
        state.device_number("/dev/null")
    assert state.size_bytes(str(tmp_path / "none")) == 0
    assert state.array_uuid(str(tmp_path / "file")) is None
    assert state.holders(str(tmp_path / "none")) == ()


def test_the_uuid_of_an_array_is_read_from_where_md_writes_it(tmp_path: Path) -> None:
    member = tmp_path / "member"
    uuid = bytes.fromhex("f27070c7bcb15ceb92aa69806215d133")
    with member.open("wb") as file:  # md_p.h: magic, version 1, feature map, padding, then the set's UUID
        file.seek(4096)
        file.write(bytes.fromhex("fc4e2ba9") + (1).to_bytes(4, "little") + bytes(8) + uuid)
    assert state.array_uuid(str(member)) == "f27070c7-bcb1-5ceb-92aa-69806215d133"


BLOCK = 512


def gpt(at: int = BLOCK, start: int = 2, count: int = 128, entry_bytes: int = 128) -> bytes:
    """Return the beginning of a disk with a GPT of one partition, its header at an offset."""
    header = bytearray(92)
    header[:8] = b"EFI PART"
    header[56:72] = bytes(range(16))
    struct.pack_into("<QII", header, 72, start, count, entry_bytes)
    entry = bytearray(128)
    entry[:32] = b"\1" * 32
    struct.pack_into("<QQ", entry, 32, 2048, 4095)
    disk = bytearray(64 * 1024)
    disk[2 * BLOCK : 2 * BLOCK + 128] = entry
    disk[at : at + 92] = header
    return bytes(disk)


def parsed(disk: bytes, header_offset: int = 0) -> PartitionTable | None:
    return parse_table(lambda offset, size: disk[offset : offset + size], BLOCK, header_offset)


def test_a_table_is_read_from_the_header_that_is_asked_for_and_only_with_its_signature() -> None:
    found = parsed(gpt())
    assert found is not None
    assert [(it.number, it.start_bytes, it.size_bytes) for it in found.partitions] == [(1, 1 << 20, 1 << 20)]
    backup = 32 * 1024
    assert parsed(gpt(at=backup)) is None
    assert parsed(gpt(at=backup), backup) == found
    disk = bytearray(gpt())
    disk[BLOCK] ^= 1
    assert parsed(bytes(disk)) is None


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ({"count": 4097}, {"count": 4096}),
        ({"start": 1 << 54}, {}),
        ({"entry_bytes": 127}, {"entry_bytes": 128}),
    ],
)
def test_a_header_whose_numbers_no_disk_has_is_no_table(wrong: dict[str, int], right: dict[str, int]) -> None:
    read: list[int] = []

    def reading(offset: int, size: int) -> bytes:
        read.append(offset)
        disk = gpt(**wrong)
        return disk[offset : offset + size]

    assert parse_table(reading, BLOCK) is None
    assert read == [BLOCK], "nothing is read where it points"
    assert parsed(gpt(**right)) is not None


@pytest.mark.parametrize(
    ("sector", "has_code"),
    [
        (b"", False),
        (bytes(450) + b"\xee", False),
        (b"\xeb", True),
        (bytes(445) + b"\1", True),
        (bytes(450) + b"\x83", True),
        (bytes(462) + b"\1", True),
        (bytes(509) + b"\1", True),
        (bytes(510) + b"\x55\xaa", False),
    ],
    ids=[
        "empty",
        "protective",
        "a jump",
        "the last of the code",
        "another type",
        "a second entry",
        "a fourth",
        "end",
    ],
)
def test_a_first_sector_that_is_more_than_a_protective_one_is_told(sector: bytes, *, has_code: bool) -> None:
    found = parsed(sector + gpt()[len(sector) :])
    assert found is not None
    assert found.has_code is has_code


def test_a_superblock_of_an_array_without_its_magic_is_none(tmp_path: Path) -> None:
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
def test_a_line_of_mountinfo_that_lacks_something_is_left_out_and_the_next_is_read(line: str) -> None:
    good = "36 35 98:0 /a /b rw shared:1 - ext4 /dev/sda rw"
    assert [it.source for it in parse_mountinfo(f"{line}\n{good}\n")] == ["/dev/sda"]


def test_only_a_block_device_has_a_number_and_nobody_waits_for_a_pipe(tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="null"):
        state.device_number("/dev/null")
    os.mkfifo(tmp_path / "pipe")
    assert state.array_uuid(str(tmp_path / "pipe")) is None


def test_the_number_of_a_block_device_is_major_and_minor(monkeypatch: pytest.MonkeyPatch) -> None:
    status = SimpleNamespace(st_mode=stat.S_IFBLK, st_rdev=os.makedev(8, 17))
    monkeypatch.setattr(state, "Path", lambda _node: SimpleNamespace(stat=lambda: status))
    assert state.device_number("/dev/sdb1") == "8:17"
