"""What is true of disks now: partition tables as sfdisk writes them, mountinfo as the kernel does."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

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
