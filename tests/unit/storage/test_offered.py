"""What is told of a disk that a session left: superblocks of real filesystems, and what is ours."""

from __future__ import annotations

import shutil
import struct
import subprocess
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest

from app.domain.text import MIB
from app.storage.layout.conditions import SignatureIs
from app.storage.layout.steps import ends_fact, look_fact, table_fact
from app.storage.system.device import content_digest, ends_digest, table_digest
from app.storage.wiping.found import FilesystemUse, data_of, look_through, use_of
from tests.unit.storage.file_disk import OURS, PARTITION, PARTITION_BYTES, FileDevice, made_disk

BYTES = 400 * MIB


def made(folder: Path, *argv: str, size_bytes: int = BYTES) -> FileDevice:
    if shutil.which(argv[0]) is None:
        pytest.skip(f"{argv[0]} is not installed")
    file = folder / argv[0]
    with file.open("wb") as new:
        new.truncate(size_bytes)
    subprocess.run((*argv, str(file)), check=True, capture_output=True)
    return FileDevice(file, size_bytes=size_bytes)


MAKERS = (
    ("mke2fs", "-q", "-F", "-t", "ext4", "-b", "4096", "-M", "/srv/customers"),
    ("mkfs.xfs", "-q"),
    ("mkfs.btrfs", "-q"),
)


@pytest.mark.parametrize("argv", MAKERS, ids=lambda argv: argv[0])
def test_use_of_superblock(argv: tuple[str, ...], tmp_path: Path) -> None:
    found = use_of(made(tmp_path, *argv))
    assert found is not None
    assert 0.8 * BYTES <= found.size_bytes <= BYTES
    assert 0 < found.used_bytes < 0.3 * BYTES
    assert found.mounted_at == ("/srv/customers" if argv[0] == "mke2fs" else "")
    assert (found.mounted_s > 0) == (argv[0] == "mke2fs")


def test_use_of_other_bytes(tmp_path: Path) -> None:
    file = tmp_path / "zeros"
    file.write_bytes(bytes(MIB))
    assert use_of(FileDevice(file, size_bytes=MIB)) is None
    assert use_of(FileDevice(file, size_bytes=4096)) is None


def test_use_of_hostile_superblock(tmp_path: Path) -> None:
    device = made(tmp_path, *MAKERS[0])
    device.put(1024 + 24, b"\xff" * 4)  # a block of 2^(10 + 2^32 - 1) bytes
    device.put(1024 + 136, b"\x1b[31m\xff" + b"x" * 58)
    found = use_of(device)
    assert isinstance(found, FilesystemUse)
    assert found.mounted_at.startswith("?[31m")


def test_look_through(tmp_path: Path) -> None:
    found = made_disk(tmp_path)
    run = found.run
    part = found.part(PARTITION.node, MIB, PARTITION_BYTES)
    facts = {
        table_fact(PARTITION.table_place): table_digest(found),
        look_fact(PARTITION.place): content_digest(part),
    }
    first = look_through(found, PARTITION, OURS, facts, run)
    assert (first.is_ours, first.is_as_left) == (True, True)
    assert [each.type for each in first.inside] == ["ext4"]

    subprocess.run(
        ("tune2fs", "-L", "CUSTOMERS", f"{found.file}?offset={MIB}"), check=True, capture_output=True
    )
    labelled = look_through(found, PARTITION, OURS, facts, run)
    assert (labelled.is_ours, labelled.is_as_left) == (True, False)
    assert labelled.inside[0].label == "CUSTOMERS"
    assert labelled.digest != first.digest

    found.put(512 + 100, b"x")  # one byte behind the header of the table
    changed = look_through(found, PARTITION, OURS, facts, run)
    assert (changed.is_our_table, changed.is_ours, changed.is_as_left) == (False, False, False)
    other = look_through(found, PARTITION, replace(OURS, uuid=PARTITION.table_uuid), facts, run)
    assert not other.is_our_content


ARRAY = UUID("6f1d5a52-0a0c-4c1c-9b1e-00000000000d")
DATA = MIB  # of a member, where the data begins


def make_member(found: FileDevice, data: bytes) -> None:
    """Make the partition a member of a mirror, by the superblock that md_p.h describes."""
    block = bytearray(4096)
    struct.pack_into("<IIII16s32s", block, 0, 0xA92B4EFC, 1, 0, 0, ARRAY.bytes, b"pgfooting:pgf-data")
    struct.pack_into("<QiIQII", block, 64, 1, 1, 0, len(data) // 512, 0, 2)
    struct.pack_into("<QQQ", block, 128, DATA // 512, len(data) // 512, 8)
    words = struct.unpack_from("<64I", block)  # and no roles
    total = sum(words)
    struct.pack_into("<I", block, 216, ((total & 0xFFFFFFFF) + (total >> 32)) & 0xFFFFFFFF)
    found.put(MIB, bytes(MIB))
    found.put(MIB + 4096, bytes(block))
    found.put(MIB + DATA, data)


def test_look_through_member(tmp_path: Path) -> None:
    found = made_disk(tmp_path)
    filesystem = (tmp_path / "content").read_bytes()[: 32 * MIB]
    make_member(found, filesystem)
    ours = SignatureIs(PARTITION.node, "linux_raid_member", str(ARRAY))
    part = found.part(PARTITION.node, MIB, PARTITION_BYTES)
    facts = {
        table_fact(PARTITION.table_place): table_digest(found),
        look_fact(PARTITION.place): content_digest(part),
    }
    first = look_through(found, PARTITION, ours, facts, found.run)
    assert (first.is_ours, first.is_as_left) == (True, True)
    assert [(each.type, each.uuid) for each in first.inside] == [("linux_raid_member", str(ARRAY))]
    assert [(each.type, each.uuid) for each in first.held] == [("ext4", OURS.uuid)]
    assert first.use is not None
    assert first.use.size_bytes > 60 * MIB

    found.put(MIB + DATA + 1024 + 120, b"CUSTOMERS")
    labelled = look_through(found, PARTITION, ours, facts, found.run)
    assert [each.label for each in labelled.held] == ["CUSTOMERS"]
    assert (labelled.is_ours, labelled.is_as_left, labelled.digest == first.digest) == (True, False, False)

    found.put(MIB + DATA, bytes(2 * MIB))  # another disk of a stripe: nothing begins here
    unseen = look_through(found, PARTITION, ours, facts, found.run)
    assert (unseen.held, unseen.use) == ((), None)


@pytest.mark.parametrize("field", [(0, 1), (1, 0), (1 << 63, 1), (8, 1 << 60), (2048, 2048 * 63 + 1)])
def test_member_with_impossible_places(tmp_path: Path, field: tuple[int, int]) -> None:
    found = made_disk(tmp_path)
    make_member(found, bytes(MIB))
    found.put(MIB + 4096 + 128, struct.pack("<QQ", *field))
    assert data_of(found.part(PARTITION.node, MIB, PARTITION_BYTES)) is None


def test_look_through_wiped_table(tmp_path: Path) -> None:
    found = made_disk(tmp_path, filesystem=False)
    found.put(0, bytes(MIB))
    found.put(found.size_bytes - MIB, bytes(MIB))
    facts = {ends_fact(PARTITION.table_place): ends_digest(found)}
    assert look_through(found, PARTITION, OURS, facts, found.run).is_ours
    found.put(5 * MIB, b"x")
    assert not look_through(found, PARTITION, OURS, facts, found.run).is_our_table


@pytest.mark.parametrize("label", ["dos", "gpt"])
def test_table_beside_filesystem(tmp_path: Path, label: str) -> None:
    """Both are seen, through the disk, where the kernel knows no partition."""
    found = made_disk(tmp_path)
    script = f"label: {label}\nstart=2048, size=4096\n"
    table = tmp_path / "table"
    with table.open("wb") as new:
        new.truncate(PARTITION_BYTES)
    subprocess.run(("sfdisk", "--quiet", str(table)), input=script, text=True, check=True)
    found.put(MIB, table.read_bytes()[:1024])  # before the superblock
    found.put(MIB + PARTITION_BYTES - 33 * 512, table.read_bytes()[-33 * 512 :])
    facts = {table_fact(PARTITION.table_place): table_digest(found)}
    seen = look_through(found, PARTITION, OURS, facts, found.run)
    assert {each.type for each in seen.inside} == {"ext4", label}
    assert (seen.is_our_table, seen.is_ours) == (True, False)
