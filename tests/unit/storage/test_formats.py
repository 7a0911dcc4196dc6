"""Formats that more than one magic tells: the kinds of ext, members of md, labels of ZFS."""

from __future__ import annotations

import struct

import pytest

from app.domain.text import GIB, KIB, MIB
from app.storage.inspect.signatures import recognise
from app.storage.inspect.snapshot import Signature

SIZE = GIB + 300 * KIB  # no multiple of what the places are rounded to
END = MIB
START = SIZE - END
UBERBLOCK = 0x00BAB10C


def with_data(data: bytes, offset: int, length: int = END) -> bytes:
    return bytes(offset) + data + bytes(length - offset - len(data))


@pytest.mark.parametrize(
    ("features", "name"),
    [
        ((0, 0, 0), "ext2"),
        ((0, 0x2, 0x1), "ext2"),  # filetype, sparse_super
        ((0x4, 0x2, 0x1), "ext3"),  # has_journal
        ((0x4, 0x6, 0x3), "ext3"),  # and recover: it was not unmounted
        ((0x4, 0x42, 0x1), "ext4"),  # extents
        ((0x4, 0x2, 0x9), "ext4"),  # huge_file
        ((0, 0x42, 0x79), "ext4"),  # without a journal
        ((0, 0x8, 0), "jbd"),  # an external journal
    ],
)
def test_ext_versions_by_features(features: tuple[int, int, int], name: str) -> None:
    block = b"\x53\xef".ljust(0x45C - 0x438, b"\0") + struct.pack("<III", *features)
    assert recognise(with_data(block, 0x438), bytes(END), SIZE) == (Signature(name, "filesystem", 0x438),)


@pytest.mark.parametrize("magic", [b"\xfc\x4e\x2b\xa9", b"\xa9\x2b\x4e\xfc"])
@pytest.mark.parametrize("before_end", [8 * KIB, 108 * KIB])
def test_md_member_in_both_byte_orders(magic: bytes, before_end: int) -> None:
    """Version 1.0 lies 8 KiB before the end, 0.90 at the last multiple of 64 KiB that leaves 64 KiB."""
    offset = SIZE - before_end
    found = recognise(bytes(END), with_data(magic, offset - START), SIZE)
    assert found == (Signature("linux_raid_member", "raid", offset),)


LABELS = (0, 256 * KIB, GIB - 256 * KIB, GIB)


@pytest.mark.parametrize("order", ["<Q", ">Q"])
@pytest.mark.parametrize("label", LABELS)
def test_zfs_uberblock_in_each_label(label: int, order: str) -> None:
    offset = label + 128 * KIB + 7 * KIB
    block = struct.pack(order, UBERBLOCK)
    head = with_data(block, offset) if offset < END else bytes(END)
    tail = with_data(block, offset - START) if offset >= START else bytes(END)
    assert recognise(head, tail, SIZE) == (Signature("zfs_member", "volume", offset),)


@pytest.mark.parametrize("data", [b"DPTM", b"\xfc\x4e\x2b\xa9", struct.pack("<Q", UBERBLOCK)])
def test_format_beyond_a_short_end(data: bytes) -> None:
    assert recognise(bytes(100), data.ljust(100, b"\0"), SIZE) == ()
