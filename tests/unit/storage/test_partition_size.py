"""How large the partitions are, and over how many disks a stripe lies."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.filesystems import filesystem
from app.domain.options.format_spec import Creation, StripeGeometry
from app.domain.options.raid import Assembler, Level, layout
from app.domain.storage_plan.plan import Group
from app.domain.text import GIB, KIB, MIB, TIB
from app.storage.layout.disk_target import default_partition_bytes
from app.storage.layout.partitions import (
    alignment_of,
    planned_bytes,
    whole_disk_bytes,
)
from tests.unit.storage.plans import disk, disks


@pytest.mark.parametrize(
    ("data_set", "data_disks", "sizes", "expected"),
    [
        (GIB, 1, [TIB], 16 * GIB),
        (4 * GIB, 1, [TIB], 16 * GIB),
        (10 * GIB, 1, [TIB], 40 * GIB),
        (10 * GIB, 4, [TIB] * 4, 16 * GIB),
        (100 * GIB, 3, [TIB] * 4, 136534 * MIB),
        (TIB, 1, [TIB], TIB - 2 * MIB),
        (GIB, 1, [8 * GIB + 12345], 8 * GIB - 2 * MIB),
        (0, 0, [TIB], 16 * GIB),
    ],
)
def test_partitions_sized_for_the_run(
    data_set: int, data_disks: int, sizes: list[int], expected: int
) -> None:
    assert default_partition_bytes(data_set, data_disks, sizes) == expected


@given(st.lists(st.integers(0, 1 << 50), min_size=1), st.integers(0, 1 << 50), st.integers(1, 64))
def test_whole_mebibytes_with_room_for_tables(sizes: list[int], data_set: int, data_disks: int) -> None:
    for size in (whole_disk_bytes(sizes), default_partition_bytes(data_set, data_disks, sizes)):
        assert size % MIB == 0
        assert size == 0 or size + 2 * MIB <= min(sizes)


def test_stated_size_or_smallest_disk() -> None:
    group = Group((disk(1, 8 * GIB), disk(2, 9 * GIB)), Level.MIRROR, "xfs")
    assert planned_bytes(replace(group, partition_bytes=3 * GIB)) == 3 * GIB
    assert planned_bytes(group) == 8 * GIB - 2 * MIB
    assert planned_bytes(replace(group, disks=(disk(1, MIB),))) == 0


@pytest.mark.parametrize(
    ("name", "expected", "shown"),
    [
        (
            "ext4",
            {("-E", "stride=128"), ("-E", "stripe_width=384")},
            ("RAID stride: 128", "RAID stripe width: 384"),
        ),
        ("xfs", {("-d", "su=524288"), ("-d", "sw=3")}, ("data.sunit=128", "data.swidth=384")),
    ],
)
def test_alignment_in_units_of_each_tool(
    name: str, expected: set[tuple[str, str]], shown: tuple[str, ...]
) -> None:
    spec = filesystem(name)
    made = Creation({}, (), "uuid", layout(Level.RAID5, Assembler.MD), StripeGeometry(512 * KIB, 3))
    assert spec.mkfs_arguments
    assert spec.expected
    assert expected <= set(spec.mkfs_arguments(made))
    assert [each.token.present for each in spec.expected(made)] == [shown]
    unstriped = replace(made, geometry=None)
    assert not expected & set(spec.mkfs_arguments(unstriped))
    assert spec.expected(unstriped) == ()


def test_alignment_only_on_even_md_stripes() -> None:
    striped = Group(disks(4), Level.RAID5, "xfs")
    assert alignment_of(striped, Assembler.MD) == StripeGeometry(512 * KIB, 3)
    assert alignment_of(striped, Assembler.ZFS) is None
    assert alignment_of(Group(disks(5), Level.RAID10, "xfs"), Assembler.MD) is None
    own = Group(disks(1), Level.SINGLE, "xfs", (("su", 64 * KIB), ("sw", 4)))
    assert alignment_of(own, Assembler.RAW) == StripeGeometry(64 * KIB, 4)
