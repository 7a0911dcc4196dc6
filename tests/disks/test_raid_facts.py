"""What btrfs really holds at each level, on loop devices of this machine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from app.domain.filesystems import filesystem
from app.domain.options.kinds import OptionValue
from app.domain.options.raid import LAYOUTS, ArrayLayout, Assembler, Level, layout
from app.domain.text import GIB
from app.storage.layout.disk_target import filesystem_availability, read_support
from tests.disks.layout_loops import loops
from tests.disks.raid_facts import assert_holds, btrfs_bytes

pytestmark = [
    pytest.mark.disks,
    pytest.mark.skipif(os.geteuid() != 0, reason="loop devices need root"),
    pytest.mark.skipif(
        not filesystem_availability(filesystem("btrfs"), read_support()).works,
        reason="this kernel has no btrfs",
    ),
]

CASES: list[tuple[ArrayLayout, tuple[int, ...], dict[str, OptionValue]]] = [
    *((item, (8,) * item.minimum_disks, {}) for item in LAYOUTS if item.assembler is Assembler.BTRFS),
    (layout(Level.MIRROR, Assembler.BTRFS), (8,) * 5, {}),
    (layout(Level.MIRROR, Assembler.BTRFS), (16, 8, 4), {}),
    (layout(Level.MIRROR, Assembler.BTRFS), (8,) * 4, {"mirror_copies": "3"}),
    (layout(Level.MIRROR, Assembler.BTRFS), (8,) * 4, {"mirror_copies": "4"}),
]


@pytest.mark.parametrize(
    ("made", "sizes_gib", "options"),
    CASES,
    ids=[f"{made.level}-{len(sizes)}-{number}" for number, (made, sizes, _) in enumerate(CASES)],
)
def test_btrfs_offers_about_what_is_declared(
    made: ArrayLayout, sizes_gib: tuple[int, ...], options: dict[str, OptionValue], tmp_path: Path
) -> None:
    folder = tmp_path / "mounted"
    folder.mkdir()
    sizes = [size * GIB for size in sizes_gib]  # sparse
    with loops(tmp_path) as make_loop:
        found = btrfs_bytes(made, [make_loop(size) for size in sizes], folder, options)
    copies = int(str(options["mirror_copies"])) if options else None
    assert_holds(made, sizes, found, copies)
