"""What md arrays really hold at each level, on disks of the rig."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from app.domain.options.raid import LAYOUTS, ArrayLayout, Assembler, Level, layout
from tests.disks.option_facts import must
from tests.disks.raid_facts import assert_holds, md_bytes
from tests.machine.conftest import RigBlockDevice

# The disks of test_matrix, so that no other guest has to be started.
pytestmark = [pytest.mark.machine, pytest.mark.inside(*["virtio:768M"] * 6, "virtio:16M")]

MD = [item for item in LAYOUTS if item.assembler is Assembler.MD]


@pytest.fixture
def disks(rig_disks: list[RigBlockDevice]) -> Iterator[list[RigBlockDevice]]:
    large = rig_disks[:6]
    for disk in large:
        must("wipefs", "--all", "--quiet", disk.path)
    yield large
    for disk in large:
        must("wipefs", "--all", "--quiet", disk.path)


@pytest.mark.covers("facts md sizes")
@pytest.mark.parametrize("made", MD, ids=lambda item: item.level.value)
def test_smallest_array_capacity_as_declared(made: ArrayLayout, disks: list[RigBlockDevice]) -> None:
    chosen = disks[: made.minimum_disks]
    assert_holds(made, [disk.size_bytes for disk in chosen], md_bytes(made, [disk.path for disk in chosen]))


def test_md_raid10_of_odd_disks(disks: list[RigBlockDevice]) -> None:
    made, chosen = layout(Level.RAID10, Assembler.MD), disks[:5]
    assert_holds(made, [disk.size_bytes for disk in chosen], md_bytes(made, [disk.path for disk in chosen]))
