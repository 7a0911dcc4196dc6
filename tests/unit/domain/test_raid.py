from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.domain.options import option_spec
from app.domain.options.option_spec import capacity, words_of
from app.domain.options.raid import LAYOUTS, ArrayLayout, Assembler, Level, layout
from app.domain.text import GIB

untimed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
LAYOUT = pytest.mark.parametrize("item", LAYOUTS, ids=lambda item: f"{item.level}-{item.assembler}")
several = st.sampled_from(LAYOUTS)
sizes = st.lists(st.integers(1, 10**15), min_size=1, max_size=12)


def test_layouts_complete_and_unique() -> None:
    keys = [(item.level, item.assembler) for item in LAYOUTS]
    assert len(set(keys)) == len(keys)
    assert {level for level, _ in keys} == set(Level)
    for level in set(Level) - {Level.RAIDZ3, Level.SINGLE}:
        assert {assembler for found, assembler in keys if found is level} == set(Assembler) - {Assembler.RAW}


def test_level_unknown_to_assembler() -> None:
    assert layout(Level.RAID6, Assembler.ZFS).name == "raidz2"
    with pytest.raises(KeyError):
        layout(Level.RAIDZ3, Assembler.MD)


@LAYOUT
def test_layout_words_and_btrfs_metadata(item: ArrayLayout) -> None:
    assert words_of(item).endswith(".")
    assert bool(item.metadata) is (item.assembler is Assembler.BTRFS)


@LAYOUT
def test_minimum_disks_and_one_less(item: ArrayLayout) -> None:
    assert item.problem(item.minimum_disks) == ""
    refused = item.problem(item.minimum_disks - 1)
    assert str(item.minimum_disks) in refused or "one disk" in refused
    assert str(item.minimum_disks - 1) in refused


def test_single_disk_and_zfs_pairs() -> None:
    assert layout(Level.SINGLE, Assembler.RAW).problem(2) == "Single disk takes one disk, not 2."
    assert layout(Level.RAID10, Assembler.ZFS).problem(5) == (
        "Striped mirrors (RAID 10) needs at least 4 disks, an even number; 5 are selected."
    )
    assert layout(Level.RAID10, Assembler.MD).problem(5) == ""


@pytest.mark.parametrize(
    ("level", "assembler", "disks", "usable", "survives"),
    [
        (Level.SINGLE, Assembler.RAW, 1, 1, 0),
        (Level.STRIPE, Assembler.MD, 6, 6, 0),
        (Level.MIRROR, Assembler.MD, 6, 1, 5),
        (Level.MIRROR, Assembler.ZFS, 6, 1, 5),
        (Level.MIRROR, Assembler.BTRFS, 6, 3, 1),  # what Vondra 2022 reminds his readers of
        (Level.RAID10, Assembler.MD, 6, 3, 1),
        (Level.RAID10, Assembler.BTRFS, 6, 3, 1),
        (Level.RAID10, Assembler.ZFS, 6, 3, 1),
        (Level.RAID5, Assembler.MD, 6, 5, 1),
        (Level.RAID6, Assembler.ZFS, 6, 4, 2),
        (Level.RAIDZ3, Assembler.ZFS, 6, 3, 3),
    ],
)
def test_six_disks_size_and_failures(
    level: Level, assembler: Assembler, disks: int, usable: int, survives: int
) -> None:
    item = layout(level, assembler)
    assert capacity(item, [GIB] * disks) == usable * GIB
    assert option_spec.survives(item, disks) == survives


@pytest.mark.parametrize(("copies", "usable", "survives"), [(2, 6, 1), (3, 4, 2), (4, 3, 3)])
def test_btrfs_mirror_copies(copies: int, usable: int, survives: int) -> None:
    mirror = layout(Level.MIRROR, Assembler.BTRFS)
    assert capacity(mirror, [2 * GIB] * 6, copies) == usable * GIB
    assert option_spec.survives(mirror, 6, copies) == survives


@pytest.mark.parametrize(
    ("held", "usable"),
    [([10, 10], 10), ([10, 1], 1), ([10, 1, 1], 2), ([4, 3, 2], 4), ([5, 5, 1], 5)],
)
def test_btrfs_mirror_of_unequal_disks(held: list[int], usable: int) -> None:
    assert capacity(layout(Level.MIRROR, Assembler.BTRFS), held) == usable


@pytest.mark.parametrize(
    ("level", "assembler", "disks", "data_disks"),
    [
        (Level.SINGLE, Assembler.RAW, 1, None),
        (Level.MIRROR, Assembler.MD, 4, None),
        (Level.STRIPE, Assembler.MD, 4, 4),
        (Level.RAID10, Assembler.MD, 4, 2),
        (Level.RAID10, Assembler.MD, 5, None),
        (Level.RAID5, Assembler.MD, 4, 3),
        (Level.RAID6, Assembler.MD, 6, 4),
    ],
)
def test_data_disks_of_full_stripe(
    level: Level, assembler: Assembler, disks: int, data_disks: int | None
) -> None:
    assert layout(level, assembler).data_disks(disks) == data_disks


@untimed
@given(several, sizes)
def test_usable_and_survived_within_limits(item: ArrayLayout, held: list[int]) -> None:
    if item.problem(len(held)):
        return
    usable = capacity(item, held)
    assert 0 <= usable <= sum(held)
    assert 0 <= option_spec.survives(item, len(held)) < len(held)
    if option_spec.survives(item, len(held)) and item.level is not Level.MIRROR:
        assert usable < sum(held)


@untimed
@given(several, st.integers(1, 40), st.integers(1, 10**13))
def test_more_disks_never_hold_less(item: ArrayLayout, disks: int, size: int) -> None:
    more = disks + item.multiple_of
    if not item.problem(disks) and not item.problem(more):
        assert capacity(item, [size] * disks) <= capacity(item, [size] * more)
