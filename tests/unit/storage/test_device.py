"""Reading and zeroing bytes of a device or of a part of one: exactly these, at every border."""

from __future__ import annotations

import errno
import mmap
import os
from collections.abc import Iterator
from itertools import product

import pytest

from app.storage.system import device as module
from app.storage.system.device import OpenDevice

BLOCK = 512
BYTES = 8 * BLOCK
START = 2 * BLOCK


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenDevice]:
    """A file in memory in the place of a device; pieces of one KiB."""
    monkeypatch.setattr(module, "_PIECE", 1024)
    fd = os.memfd_create("device")
    os.pwrite(fd, bytes(range(1, 251)) * 20, 0)
    os.truncate(fd, BYTES)
    opened = OpenDevice.__new__(OpenDevice)
    opened.node = opened.whole = "/dev/no-such-disk"
    opened._fd, opened.start, opened.block_bytes, opened.size_bytes = fd, 0, BLOCK, BYTES
    opened._buffer = mmap.mmap(-1, 1024)
    yield opened
    opened.close()


def content(device: OpenDevice) -> bytes:
    return os.pread(device._fd, 2 * BYTES, 0)


PLACES = sorted(
    {*(at * BLOCK + by for at in (0, 1, 2, 3, 6) for by in (-1, 0, 1, 100) if at * BLOCK + by >= 0)}
)


@pytest.mark.parametrize("is_part", [False, True])
def test_read_and_zero(device: OpenDevice, *, is_part: bool) -> None:
    size = 4 * BLOCK if is_part else BYTES
    part = device.part("/dev/no-such-disk1", START, size) if is_part else device
    before = content(device)
    start = START if is_part else 0
    for offset, length in product(PLACES, (0, 1, 511, 512, 513, 1024, 1600, BYTES)):
        expected = before[start + offset : min(start + offset + length, start + size)]
        if offset > size:
            expected = b""
        assert part.read(offset, length) == expected, (offset, length)
        if offset + length > size:
            with pytest.raises(OSError, match="No space"):
                part.zero(offset, length)
            assert content(device) == before
            continue
        part.zero(offset, length)
        zeroed = bytearray(before)
        zeroed[start + offset : start + offset + length] = bytes(length)
        assert content(device) == bytes(zeroed), (offset, length)
        os.pwrite(device._fd, before, 0)


def test_zero_before_the_beginning(device: OpenDevice) -> None:
    part = device.part("/dev/no-such-disk1", START, 4 * BLOCK)
    before = content(device)
    with pytest.raises(OSError, match="No space"):
        part.zero(-1, 1)
    assert content(device) == before
    assert part.read(-3, 5) == part.read(0, 5)


@pytest.mark.parametrize(
    ("found", "forgotten"), [(0, True), (errno.ENXIO, True), (errno.EBUSY, False), (errno.EPERM, None)]
)
def test_forget_partition(
    device: OpenDevice, monkeypatch: pytest.MonkeyPatch, found: int, *, forgotten: bool | None
) -> None:
    asked: list[tuple[int, int]] = []

    def ioctl(_fd: int, number: int, argument: bytes) -> None:
        asked.append((number, int.from_bytes(argument[:4], "little")))
        if found:
            raise OSError(found, os.strerror(found))

    monkeypatch.setattr("fcntl.ioctl", ioctl)
    if forgotten is None:
        with pytest.raises(OSError, match="not permitted"):
            device.forget_partition(1)
    else:
        assert device.forget_partition(1) is forgotten
    assert asked == [(0x1269, 2)]
