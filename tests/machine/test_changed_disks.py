"""What happened to a disk meanwhile, with what only the guest's kernel has: md, ZFS, F2FS, the device mapper.

The matrix of `tests.disks.matrix` on loop devices of the guest, where a combination takes a minute or more.
Whole (`--machine=matrix`) each kind comes on one of md, ZFS and F2FS, at each moment at which the helper
lives and at some of its deaths; the short form has three of each.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.disks.matrix import trial
from tests.disks.matrix.__main__ import Combination, paired
from tests.disks.matrix.helper import be_first_namespace
from tests.disks.matrix.images import Images
from tests.disks.matrix.kinds import kinds
from tests.disks.matrix.moments import ALIVE, Moment, moments
from tests.disks.matrix.stage import Given, Kind
from tests.disks.matrix.trial import GUEST_LAYOUTS, Layout

pytestmark = [pytest.mark.machine, pytest.mark.inside("virtio:16M", group="matrix")]

PARTS = 12
"""Tests that one layout is divided into: what runs in a guest has a limit of time."""

Note = Callable[[str, object], None]


@pytest.fixture(scope="module")
def images() -> Iterator[Images]:
    be_first_namespace()
    folder = Path(tempfile.mkdtemp(prefix="matrix-", dir="/dev/shm"))
    yield Images(folder)
    shutil.rmtree(folder)


_MOMENTS: dict[str, tuple[Moment, ...]] = {}
"""Every moment of a layout, by its title: it takes one and a half minutes to count them."""


def moments_of(layout: Layout, images: Images) -> tuple[Moment, ...]:
    """Return every moment of a layout, counted once."""
    if layout.title not in _MOMENTS:
        _MOMENTS[layout.title] = moments(trial.count(layout, images))
    return _MOMENTS[layout.title]


def share_of(layout: Layout) -> list[Kind]:
    """Return the kinds that happen on a layout: each is of one layout that has the disks for it."""
    found = []
    for number, kind in enumerate(kinds()):
        able = [each for each in GUEST_LAYOUTS if each.disks > 1 or Given.NEIGHBOUR not in kind.needs]
        if able[number % len(able)] == layout:
            found.append(kind)
    return found


def chosen(layout: Layout, images: Images) -> list[Combination]:
    """Return the kinds of a layout, at the moments at which the helper lives and at some of its deaths.

    All deaths come on loop devices, in a fiftieth of the time.
    """
    deaths = [each for each in moments_of(layout, images) if each not in ALIVE]
    times = [*ALIVE, *deaths[GUEST_LAYOUTS.index(layout) :: 4 * len(GUEST_LAYOUTS)]]
    share = share_of(layout)
    return paired(layout, times, deque(share), share)


def play(combinations: list[Combination], images: Images, note: Note) -> None:
    """Play combinations; fail with the names of the red ones."""
    red, ran = [], 0
    for each in combinations:
        outcome = trial.play(each.layout, each.kind, each.moment, images, also_later=each.also_later)
        ran += outcome.applies
        if outcome.faults:
            red.append(f"{each.name}: {'; '.join(outcome.faults)}")
    note("matrix", ran)
    assert not red, "\n".join(red)


@pytest.mark.matrix
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("layout", GUEST_LAYOUTS, ids=lambda layout: layout.title)
def test_a_part_of_the_matrix(layout: Layout, part: int, images: Images, record_property: Note) -> None:
    play(chosen(layout, images)[part::PARTS], images, record_property)


WANTED = ("format: xfs", "table: an ext4 partition beside ours", "process: writes into the partition")
WHEN = ("while ready, before Unmake", "between two runs", "killed while ready")


# Where the host has loop devices, more combinations are played on them in less time.
SHORT = [] if "PGFOOTING_MATRIX" in os.environ else [pytest.mark.short]


@pytest.mark.parametrize(
    "number",
    [pytest.param(number, id=each.title, marks=SHORT) for number, each in enumerate(GUEST_LAYOUTS)],
)
def test_three_kinds_at_three_moments(number: int, images: Images, record_property: Note) -> None:
    layout = GUEST_LAYOUTS[number]
    times = [each for each in moments_of(layout, images) if each.title in WHEN]
    wanted = deque(each for each in kinds() if each.title in WANTED)
    wanted.rotate(number)
    combinations = paired(layout, times, wanted)
    assert len(combinations) == len(WHEN)
    play(combinations, images, record_property)
