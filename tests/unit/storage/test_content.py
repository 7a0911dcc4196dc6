"""What lies on a disk, read from files that stand for disks and were written by real tools."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.storage_plan.plan import PARTITION_TYPE
from app.domain.text import KIB, MIB
from app.storage.inspect.sampling import EDGE_BYTES
from app.storage.inspect.signatures import MAGICS, Magic, recognise
from app.storage.inspect.snapshot import Content, Geometry
from app.storage.spare.content import content_of
from tests.cases import each_case

SIZE = 640 * MIB


@pytest.fixture
def image(tmp_path: Path) -> Path:
    path = tmp_path / "image"
    with path.open("wb") as file:
        file.truncate(SIZE)
    return path


def read(image: Path, block: int = 512, seed: int = 1) -> Content:
    medium = Geometry(image.stat().st_size, False, False, "none", block, block, rotational=False)  # noqa: FBT003
    fd = os.open(image, os.O_RDONLY)
    try:
        return content_of(fd, medium, random.Random(seed))  # noqa: S311 - the same samples each time
    finally:
        os.close(fd)


def put(image: Path, offset: int, data: bytes) -> None:
    with image.open("r+b") as file:
        file.seek(offset)
        file.write(data)


def partition(image: Path, script: str) -> None:
    sfdisk = shutil.which("sfdisk", path="/usr/sbin:/sbin:/usr/bin")
    if sfdisk is None:
        pytest.skip("sfdisk is not installed")
    subprocess.run([sfdisk, "--quiet", str(image)], input=script, text=True, check=True)


def test_nothing_but_zeros_is_blank(image: Path) -> None:
    content = read(image)
    assert (content.signatures, content.edges, content.samples, content.digest) == ((), (), (), "")
    assert content.sampled > 60


@pytest.mark.parametrize("offset", [0, 1, EDGE_BYTES - 1, SIZE - EDGE_BYTES, SIZE - 1, 5 * MIB + 3], ids=str)
def test_one_byte_at_the_ends(image: Path, offset: int) -> None:
    put(image, offset, b"\1")
    assert read(image).edges == (offset,)


def test_disk_smaller_than_both_ends(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.write_bytes(bytes(MIB) + b"x" + bytes(MIB))
    put(small, 2 * MIB, bytes(512))
    assert read(small).edges == (MIB,)


@pytest.mark.parametrize("offset", [64 * MIB, 128 * MIB, SIZE // 4, SIZE // 2])
def test_copies_of_superblocks_always_looked_at(image: Path, offset: int) -> None:
    put(image, offset, b"\xff")
    for seed in range(3):
        assert offset // (4 * KIB) * (4 * KIB) in read(image, seed=seed).samples


def mkfs(image: Path, offset: int, *argv: str) -> None:
    """Put a filesystem of 500 MiB, made by its own program, into a disk at an offset."""
    program = shutil.which(argv[0], path="/usr/sbin:/sbin:/usr/bin")
    if program is None:
        pytest.skip(f"{argv[0]} is not installed")
    made = image.with_name("filesystem")
    with made.open("wb") as file:
        file.truncate(500 * MIB)
    subprocess.run([program, *argv[1:], str(made)], check=True, capture_output=True)
    with made.open("rb") as source, image.open("r+b") as disk:
        while True:  # only what is not a hole
            try:
                start = os.lseek(source.fileno(), disk.tell() - offset if disk.tell() else 0, os.SEEK_DATA)
            except OSError:
                return
            end = os.lseek(source.fileno(), start, os.SEEK_HOLE)
            source.seek(start)
            disk.seek(offset + start)
            disk.write(source.read(end - start))


@pytest.mark.parametrize("start", [16 * MIB, 17 * MIB, 32 * MIB], ids=lambda start: f"{start // MIB} MiB")
@pytest.mark.parametrize(
    "argv",
    [
        ("mkfs.ext4", "-q", "-F"),
        ("mkfs.xfs", "-q"),
        ("mkfs.btrfs", "-q"),
        ("mkfs.f2fs", "-q"),
        ("mkfs.ntfs", "-Q", "-F"),
        ("mkfs.vfat",),
        ("mkswap",),
        (
            "cryptsetup",
            "luksFormat",
            "--batch-mode",
            "--key-file=/dev/zero",
            "--keyfile-size=8",
            "--pbkdf=pbkdf2",
            "--pbkdf-force-iterations=1000",
        ),
    ],
    ids=lambda argv: argv[0],
)
def test_empty_filesystem_behind_lost_table(image: Path, start: int, argv: tuple[str, ...]) -> None:
    mkfs(image, start, *argv)
    content = read(image)
    assert any(start <= offset < start + 128 * KIB for offset in content.samples)


def test_digest_covers_exactly_the_ends(image: Path) -> None:
    put(image, MIB, b"left by us")
    first = read(image).digest
    put(image, SIZE // 2 + MIB, b"old data")
    assert read(image).digest == first
    put(image, SIZE - 1, b"\1")
    assert read(image).digest not in {first, ""}


@pytest.mark.parametrize("other", [MIB + 1, 2 * MIB, SIZE - EDGE_BYTES + MIB])
def test_digest_depends_on_place(image: Path, other: int) -> None:
    put(image, MIB, b"left by us")
    first = read(image).digest
    put(image, MIB, bytes(10))
    put(image, other, b"left by us")
    assert read(image).digest not in {first, ""}


def test_disk_ends_too_early(image: Path) -> None:
    medium = Geometry(SIZE + MIB, False, False, "none", 512, 512, rotational=False)  # noqa: FBT003
    with image.open("rb") as file, pytest.raises(OSError, match="ends at byte"):
        content_of(file.fileno(), medium, random.Random(1))  # noqa: S311


OWN = f'label: gpt\nstart=1MiB, size=600MiB, type={PARTITION_TYPE}, name="pgfooting-data"\n'


def test_own_partition_is_a_table(image: Path) -> None:
    partition(image, OWN)
    assert [signature.name for signature in read(image).signatures] == ["gpt"]


@each_case("magic", MAGICS)
def test_every_magic_is_recognised_where_it_stands(magic: Magic) -> None:
    head, tail = bytearray(3 * MIB), bytearray(MIB)
    data, place = (head, magic.offset) if magic.offset >= 0 else (tail, MIB + magic.offset)
    data[place : place + len(magic.magic)] = magic.magic
    found = {signature.name: signature.offset for signature in recognise(bytes(head), bytes(tail), SIZE)}
    assert found["ext2" if magic.name == "ext" else magic.name] == magic.offset % SIZE


@given(head=st.binary(max_size=4096), tail=st.binary(max_size=4096))
def test_no_bytes_make_the_recognition_fail(head: bytes, tail: bytes) -> None:
    whole = head.ljust(64 * KIB, b"\0"), tail.rjust(64 * KIB, b"\0")
    for signature in recognise(*whole, SIZE):
        assert 0 <= signature.offset < SIZE


@given(entries=st.binary(min_size=128, max_size=512), header=st.binary(min_size=84, max_size=84))
def test_no_bytes_make_a_partition_table_fail(
    tmp_path_factory: pytest.TempPathFactory, entries: bytes, header: bytes
) -> None:
    image = tmp_path_factory.mktemp("gpt") / "image"
    image.write_bytes((bytes(512) + b"EFI PART" + header).ljust(1024, b"\0") + entries.ljust(MIB, b"\0"))
    assert read(image).signatures[0].name == "gpt"
