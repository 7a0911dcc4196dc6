"""Every filesystem x level x preset on the rig's disks, through the project's own execution.

Each is made, mounted, read back option by option, written and fsynced, unmade, and all of it a second time
on the same disks (not in the short form of the tier, nor with six disks where another assembler has the
level too); afterwards nothing of it is listed anywhere, and the disk that was not chosen is equal byte for
byte.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

import pytest

from app.domain.errors import StorageError
from app.domain.filesystems import FILESYSTEMS
from app.domain.formats.common import MD_LEVELS
from app.domain.options.filesystem_spec import FilesystemPreset, FilesystemSpec
from app.domain.options.raid import Assembler, Level, layout
from app.domain.storage_plan.plan import Group, StoragePlan
from app.domain.text import MIB
from app.storage.spare.spare import SpareDisks
from tests.disks.covered import words_of
from tests.disks.layout_proof import digest, fill, leftovers, make_and_unmake, output
from tests.disks.option_facts import is_refused_here
from tests.fix_machine import SHORT
from tests.machine.conftest import RigBlockDevice

SENTINEL = "virtio:16M"
pytestmark = [pytest.mark.machine, pytest.mark.inside(*["virtio:768M"] * 6, SENTINEL)]

ROUNDS = 1 if SHORT else 2

PARTITION_BYTES = {"xfs": 320 * MIB, "btrfs": 192 * MIB}
OTHERS_BYTES = 128 * MIB
"""Small, so that arrays synchronise in seconds; XFS takes no less than 300 MiB."""

SIX = {
    Assembler.MD: dict(zip(MD_LEVELS[1:], ("ext4", "xfs", "f2fs", "ext3", "xfs"), strict=True)),
    Assembler.BTRFS: dict.fromkeys((Level.RAID10, Level.RAID6), "btrfs"),
    Assembler.ZFS: dict.fromkeys((Level.RAID10, Level.RAID5, Level.RAID6, Level.RAIDZ3), "zfs"),
}
"""With six disks: each level of md, on which filesystem; all parity of zfs, and of btrfs and zfs one mirrored
level; btrfs raid6 stands for its raid5."""

TWICE_WITH_SIX = {*((Assembler.MD, level) for level in MD_LEVELS[1:]), (Assembler.ZFS, Level.RAIDZ3)}
"""Each level once: six emulated disks take minutes, and a second time is what all have with fewer disks."""


@dataclass(frozen=True, slots=True)
class Case:
    """One cell of the table."""

    spec: FilesystemSpec
    level: Level
    preset: FilesystemPreset
    count: int
    rounds: int = ROUNDS

    def parameter(self) -> object:
        covered = pytest.mark.covers(*words_of(self.spec, self.level, self.preset), f"disks {self.count}")
        name = f"{self.spec.id}-{self.level.value}-{self.preset.id}-{self.count}"
        return pytest.param(self, id=name, marks=covered)


def cases(*, short: bool = SHORT) -> Iterator[Case]:
    """Yield every level with its fewest disks, every preset on one disk, every level with six disks.

    In the short form a filesystem's own levels have its presets in turn, which need no disk alone then.
    """
    for spec in FILESYSTEMS:
        defaults = spec.presets[0]
        for level, preset in zip(spec.levels, cycle(spec.presets), strict=False):
            made = layout(level, spec.assembler(level))
            is_turn = short and made.assembler is not Assembler.MD
            yield Case(spec, level, preset if is_turn else defaults, made.minimum_disks)
            if made.maximum_disks is None and SIX[made.assembler].get(level) == spec.id:
                twice = (made.assembler, level) in TWICE_WITH_SIX
                yield Case(spec, level, defaults, 6, ROUNDS if twice else 1)
        if spec.levels:
            yield from (Case(spec, Level.SINGLE, preset, 1) for preset in spec.presets[1:])


@pytest.fixture
def blank(rig_disks: list[RigBlockDevice], tmp_path: Path) -> Iterator[list[str]]:
    """The six disks; those that a test which failed has left in use are freed for the next one."""
    nodes = [disk.path for disk in rig_disks[:6]]
    folder = tmp_path / "session"
    folder.mkdir()
    yield nodes
    if leftovers(nodes, folder):
        for name in ("storage", "wal"):
            output("umount", str(folder / name))
        for pool in output("zpool", "list", "-H", "-o", "name").split():
            output("zpool", "destroy", pool)
        for array in Path("/sys/block").glob("md*"):
            output("mdadm", "--stop", f"/dev/{array.name}")
        for node in nodes:
            output("wipefs", "--all", f"{node}1")
            output("wipefs", "--all", node)
            output("blkdiscard", "--zeroout", node)


@pytest.mark.parametrize("case", [case.parameter() for case in cases()])
def test_layout_made_and_unmade_repeatedly(
    rig_disks: list[RigBlockDevice], blank: list[str], tmp_path: Path, case: Case
) -> None:
    folder, chosen, spec = tmp_path / "session", blank[: case.count], case.spec
    before = fill(rig_disks[-1].path)
    spare = SpareDisks()
    disks = tuple(spare.identify(node) for node in chosen)
    options = tuple(case.preset.options.items())
    size_bytes = PARTITION_BYTES.get(spec.id, OTHERS_BYTES)
    plan = StoragePlan(Group(disks, case.level, spec.id, options, size_bytes))
    for _ in range(case.rounds):
        if is_refused_here(spec, case.preset):
            with pytest.raises(StorageError, match="mount"):
                make_and_unmake(plan, chosen, folder, spare)
            assert leftovers(chosen, folder) == []
        else:
            make_and_unmake(plan, chosen, folder, spare)
    assert digest(rig_disks[-1].path) == before
