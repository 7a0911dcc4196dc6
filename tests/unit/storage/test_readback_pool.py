"""Of what ZFS pools consist, from recordings (data/readback/record-arrays.sh), held to what was asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from app.domain.errors import StorageError
from app.domain.options.raid import Level
from app.domain.storage_plan.plan import Group, StoragePlan
from app.storage.checks.readback import ReadBackError, parse_vdevs, read_back_pool
from app.storage.layout.commands import build_steps
from app.storage.layout.steps import Command, ReadBack, ReadBackPool
from app.storage.system.programs import CompletedProgram
from tests.unit.storage.plans import FOLDER, NAMES, devices, disk, disks

RECORDED = Path(__file__).parents[2] / "data" / "readback"


def plan(level: Level, count: int, logs: int = 0) -> StoragePlan:
    return StoragePlan(
        Group(disks(count), level, "zfs"), zfs_log=tuple(disk(count + 1 + number) for number in range(logs))
    )


PLANS = {
    "single": plan(Level.SINGLE, 1),
    "stripe": plan(Level.STRIPE, 2),
    "mirror": plan(Level.MIRROR, 2),
    "raid10": plan(Level.RAID10, 4),
    "raidz1-log": plan(Level.RAID5, 3, 1),
    "raidz2-logs": plan(Level.RAID6, 4, 2),
}
"""What each recording was asked to be."""

PROPERTIES = {
    "single": ["data=disk"],
    "stripe": ["data=disk,disk"],
    "mirror": ["data=mirror*2"],
    "raid10": ["data=mirror*2,mirror*2"],
    "raidz1-log": ["data=raidz1*3", "logs=disk"],
    "raidz2-logs": ["data=raidz2*4", "logs=mirror*2"],
}


def recorded(name: str) -> str:
    return (RECORDED / f"zpool-{name}-2.1.11.txt").read_text()


def saying(text: str, code: int = 0, error: str = "") -> Callable[[Sequence[str]], CompletedProgram]:
    def run(argv: Sequence[str]) -> CompletedProgram:
        assert list(argv[:5]) == ["zpool", "list", "-v", "-H", "-P"]
        return CompletedProgram(tuple(argv), code, text, error, 0.0)

    return run


def step_of(plan: StoragePlan) -> ReadBackPool:
    (found,) = (
        each for each in build_steps(plan, devices(plan), NAMES, FOLDER) if isinstance(each, ReadBackPool)
    )
    return found


def differences(plan: StoragePlan, text: str) -> dict[str, tuple[str, str]]:
    try:
        read_back_pool(step_of(plan), saying(text))
    except ReadBackError as error:
        return {each.option: (each.asked, each.found) for each in error.differences}
    return {}


@pytest.mark.parametrize("name", PLANS)
def test_vdevs_of_pool_as_requested(name: str) -> None:
    assert list(parse_vdevs(recorded(name))) == PROPERTIES[name]
    assert differences(PLANS[name], recorded(name)) == {}


@pytest.mark.parametrize("name", PLANS)
def test_empty_lines_of_the_program_mean_nothing(name: str) -> None:
    spaced = recorded(name).replace("\n", "\n\n\t\n")
    assert list(parse_vdevs(f"\n{spaced}")) == PROPERTIES[name]


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("other", PLANS)
def test_every_other_pool_is_a_difference(name: str, other: str) -> None:
    assert bool(differences(PLANS[name], recorded(other))) == (name != other)


@pytest.mark.parametrize(
    ("asked", "shown", "found"),
    [
        (replace(PLANS["raidz1-log"], zfs_log=()), "raidz1-log", {"zfs_log": ("none of logs=", "logs=disk")}),
        (PLANS["raidz1-log"], "raidz1-log without", {"zfs_log": ("logs=disk", "nothing")}),
        (PLANS["stripe"], "mirror", {"level": ("data=disk,disk", "data=mirror*2")}),
    ],
)
def test_what_differs_is_named_with_both_values(
    asked: StoragePlan, shown: str, found: dict[str, tuple[str, str]]
) -> None:
    name, _, without = shown.partition(" ")
    text = recorded(name)
    if without:
        text = text.partition("logs")[0]
    assert differences(asked, text) == found


@pytest.mark.parametrize("text", ["", "\n", "no pools available\n", "x\t1\t2\n", "\0\n"])
def test_a_tool_that_shows_nothing_proves_nothing(text: str) -> None:
    with pytest.raises(StorageError, match="cannot parse the output of zpool list -v -H -P"):
        read_back_pool(step_of(PLANS["mirror"]), saying(text))


def test_a_tool_that_fails_is_named() -> None:
    with pytest.raises(StorageError, match=r"zpool list.*status 1.*no such pool"):
        read_back_pool(step_of(PLANS["mirror"]), saying("", 1, "cannot open: no such pool"))


def test_pool_read_back_before_mounting() -> None:
    kept = PLANS["mirror"]
    steps = build_steps(kept, devices(kept), NAMES, FOLDER)
    at = [type(each) for each in steps].index(ReadBackPool)
    mounted = next(
        number for number, each in enumerate(steps) if isinstance(each, Command) and each.argv[0] == "mount"
    )
    made = next(
        number for number, each in enumerate(steps) if isinstance(each, Command) and "create" in each.argv
    )
    assert made < at < mounted < [type(each) for each in steps].index(ReadBack)
