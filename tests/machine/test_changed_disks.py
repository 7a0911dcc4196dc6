"""What happened to a disk meanwhile, with what only the guest's kernel has: md, ZFS, F2FS, the device mapper.

The matrix of `tests.disks.matrix` on loop devices of the guest. Whole (`--machine=matrix`) each kind comes at
three moments at least, one on md, one on ZFS and one on F2FS, and each moment with three kinds at least; the
short form has three of each.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.disks.matrix import trial
from tests.disks.matrix.__main__ import Combination
from tests.disks.matrix.helper import be_first_namespace
from tests.disks.matrix.images import Images
from tests.disks.matrix.kinds import kinds
from tests.disks.matrix.moments import ALIVE, moments
from tests.disks.matrix.trial import GUEST_LAYOUTS, Layout

pytestmark = [pytest.mark.machine, pytest.mark.inside("virtio:16M", group="matrix")]

PARTS = 6
"""Tests that one layout is divided into: what runs in a guest has a limit of time."""

Note = Callable[[str, object], None]


@pytest.fixture
def images() -> Iterator[Images]:
    be_first_namespace()
    folder = Path(tempfile.mkdtemp(prefix="matrix-", dir="/dev/shm"))
    yield Images(folder)
    shutil.rmtree(folder)


def chosen(layout: Layout, images: Images) -> list[Combination]:
    """Return combinations of a layout: each kind and each moment, together in another way on each layout.

    With three layouts each kind comes at three moments, and each moment with three kinds at least.
    """
    times, known = moments(trial.count(layout, images)), kinds()
    shift = GUEST_LAYOUTS.index(layout) * len(known) // len(GUEST_LAYOUTS)
    return [
        Combination(layout, known[(number + shift) % len(known)], times[number % len(times)])
        for number in range(max(len(times), len(known)))
    ]


ALWAYS = ("raw: the beginning of the disk", "format: ext4", "table: another GPT without partitions")
"""Kinds that can happen at any moment."""


def played_instead(each: Combination, number: int) -> tuple[Combination, ...]:
    """Return what is played where one cannot happen: its kind where all is made, its moment with another."""
    known = {kind.title: kind for kind in kinds()}
    return (
        replace(each, moment=ALIVE[number % len(ALIVE)]),
        replace(each, kind=known[ALWAYS[number % len(ALWAYS)]]),
    )


def play(combinations: list[Combination], images: Images, note: Note) -> None:
    """Play combinations; fail with the names of the red ones."""
    red, ran = [], 0
    left = deque(enumerate(combinations))
    while left:
        number, each = left.popleft()
        outcome = trial.play(each.layout, each.kind, each.moment, images, also_later=each.also_later)
        ran += outcome.applies
        if outcome.faults:
            red.append(f"{each.name}: {'; '.join(outcome.faults)}")
        if not outcome.applies and each in combinations:
            left.extend((number, other) for other in played_instead(each, number))
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
    times = {each.title: each for each in moments(trial.count(layout, images))}
    known = {each.title: each for each in kinds()}
    combinations = [
        Combination(layout, known[title], times[WHEN[(number + turn) % len(WHEN)]])
        for turn, title in enumerate(WANTED)
    ]
    play(combinations, images, record_property)
