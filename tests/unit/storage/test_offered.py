"""What is told of a disk that a session left: superblocks of real filesystems, and what is ours."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from typing_extensions import override

from app.domain.storage_plan.plan import PARTITION_TYPE
from app.domain.units import MIB
from app.storage.layout.conditions import SessionPartition, SignatureIs
from app.storage.layout.steps import look_fact, table_fact
from app.storage.system.programs import CompletedProgram
from app.storage.wiping.device import OpenDevice
from app.storage.wiping.digests import content_digest, table_digest
from app.storage.wiping.found import Run
from app.storage.wiping.offered import FilesystemUse, look_through, use_of

UUID = "6f1d5a52-0a0c-4c1c-9b1e-00000000000a"
BYTES = 400 * MIB


@dataclass
class FileDevice(OpenDevice):
    """A file in the place of a device."""

    file: Path
    node: str = "/dev/no-such-disk"
    whole: str = "/dev/no-such-disk"
    start: int = 0
    size_bytes: int = BYTES
    block_bytes: int = 512

    @override
    def read(self, offset: int, length: int) -> bytes:
        with self.file.open("rb") as file:
            file.seek(self.start + offset)
            return file.read(max(0, min(length, self.size_bytes - offset)))


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
    with device.file.open("r+b") as file:
        file.seek(1024 + 24)
        file.write(b"\xff" * 4)  # a block of 2^(10 + 2^32 - 1) bytes
        file.seek(1024 + 136)
        file.write(b"\x1b[31m\xff" + b"x" * 58)
    found = use_of(device)
    assert isinstance(found, FilesystemUse)
    assert found.mounted_at.startswith("?[31m")


PARTITION = SessionPartition(
    "/dev/no-such-disk", "/dev/no-such-disk1", UUID, UUID, PARTITION_TYPE, MIB, BYTES
)
OURS = SignatureIs(PARTITION.node, "ext4", "11111111-2222-3333-4444-555555555555")


def disk(tmp_path: Path) -> FileDevice:
    content = made(tmp_path, "mke2fs", "-q", "-F", "-t", "ext4", "-U", OURS.uuid)
    with (tmp_path / "disk").open("wb") as whole:
        whole.truncate(BYTES + 2 * MIB)
        whole.seek(MIB)
        whole.write(content.file.read_bytes())
    return FileDevice(tmp_path / "disk", size_bytes=BYTES + 2 * MIB)


def over(file: Path) -> Run:
    """Run programs on the file of the disk."""

    def run(argv: Sequence[str]) -> CompletedProgram:
        words = tuple(str(file) if word == PARTITION.disk else word for word in argv)
        ended = subprocess.run(words, capture_output=True, text=True, check=False)
        return CompletedProgram(words, ended.returncode, ended.stdout, ended.stderr, 0.0)

    return run


def test_look_through(tmp_path: Path) -> None:
    found = disk(tmp_path)
    run = over(found.file)
    part = found.part(PARTITION.node, MIB, BYTES)
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

    with found.file.open("r+b") as file:  # one byte behind the header of the table
        file.seek(512 + 100)
        file.write(b"x")
    changed = look_through(found, PARTITION, OURS, facts, run)
    assert (changed.is_our_table, changed.is_ours, changed.is_as_left) == (False, False, False)
    other = look_through(found, PARTITION, SignatureIs(PARTITION.node, "ext4", UUID), facts, run)
    assert not other.is_our_content
