"""What is told of a disk that a session left: superblocks of real filesystems, and what is ours."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from app.domain.units import MIB
from app.storage.layout.steps import ends_fact, look_fact, table_fact
from app.storage.system.digests import content_digest, ends_digest, table_digest
from app.storage.wiping.offered import FilesystemUse, look_through, use_of
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


def test_look_through_wiped_table(tmp_path: Path) -> None:
    found = made_disk(tmp_path, filesystem=False)
    found.put(0, bytes(MIB))
    found.put(found.size_bytes - MIB, bytes(MIB))
    facts = {ends_fact(PARTITION.table_place): ends_digest(found)}
    assert look_through(found, PARTITION, OURS, facts, found.run).is_ours
    found.put(5 * MIB, b"x")
    assert not look_through(found, PARTITION, OURS, facts, found.run).is_our_table
