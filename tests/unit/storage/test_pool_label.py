"""Whether a label of a pool is whole is told by the checksums that ZFS writes into it.

Recorded in the virtual machine (OpenZFS 2.1): ``zpool create pgfooting-1a2b`` on a loop device of 256 MiB,
six ``zpool sync``, ``zpool export``; the first and the last label, with sectors of 512 and of 4,096 bytes.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.text import KIB, MIB
from app.storage.wiping.found import LABEL_BYTES, label_areas, names_pool

RECORDED = Path(__file__).parents[2] / "data" / "storage"
NAME = "pgfooting-1a2b"
GUIDS = {9: "3175082696776077647", 12: "11113606162160015341"}
PLACES = [each.offset for each in label_areas(256 * MIB + 4 * KIB)]
SMALLEST_UBERBLOCK = KIB


def recorded(shift: int, place: int) -> bytes:
    return gzip.decompress((RECORDED / f"pool-label-ashift{shift}-{place}.gz").read_bytes())


LABEL = recorded(9, 0)


def test_labels_lie_twice_at_each_end() -> None:
    assert PLACES == [0, LABEL_BYTES, 256 * MIB - 2 * LABEL_BYTES, 256 * MIB - LABEL_BYTES]


@pytest.mark.parametrize("place", [0, 3])
@pytest.mark.parametrize("shift", GUIDS)
def test_zfs_label_names_its_pool(shift: int, place: int) -> None:
    label, offset = recorded(shift, place), PLACES[place]
    assert names_pool(label, offset, NAME, GUIDS[shift])
    assert names_pool(label, offset, NAME, "")
    assert not names_pool(label, offset, "tank", GUIDS[shift])
    assert not names_pool(label, offset, NAME, "4711")
    assert not names_pool(label, PLACES[1], NAME, GUIDS[shift])


@given(st.integers(16 * KIB, 128 * KIB - 1) | st.integers(8 * KIB, 16 * KIB - 1), st.integers(1, 255))
def test_changed_label_is_not_ours(at: int, change: int) -> None:
    changed = bytearray(LABEL)
    changed[at] ^= change
    assert not names_pool(bytes(changed), 0, NAME, GUIDS[9])


@given(st.binary(max_size=8 * KIB))
def test_reserved_area_of_label_ignored(theirs: bytes) -> None:
    assert names_pool(theirs + LABEL[len(theirs) :], 0, NAME, GUIDS[9])


@given(st.integers(0, 127), st.sampled_from(["little", "big"]))
def test_uberblock_of_another_pool(slot: int, order: str) -> None:
    at = 128 * KIB + slot * SMALLEST_UBERBLOCK
    magic = 0x00BAB10C.to_bytes(8, "little" if order == "little" else "big")
    theirs = (magic + b"theirs").ljust(SMALLEST_UBERBLOCK, b"\0")
    assert not names_pool(LABEL[:at] + theirs + LABEL[at + len(theirs) :], 0, NAME, GUIDS[9])


def test_uberblocks_at_their_own_place() -> None:
    first, second = 128 * KIB + 4 * SMALLEST_UBERBLOCK, 128 * KIB + 50 * SMALLEST_UBERBLOCK
    moved = bytearray(LABEL)
    moved[second : second + SMALLEST_UBERBLOCK] = LABEL[first : first + SMALLEST_UBERBLOCK]
    assert not names_pool(bytes(moved), 0, NAME, GUIDS[9])
