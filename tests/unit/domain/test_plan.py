"""Storage plans: what is wrong is named with its field, what is right survives being written and read."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.disk import DiskIdentity
from app.domain.errors import Problem
from app.domain.filesystems import FILESYSTEMS
from app.domain.options.raid import Assembler, Level, layout
from app.domain.storage_plan.plan import (
    FURTHER_ROLES,
    Bitmap,
    Group,
    InitialSync,
    Scheduler,
    StoragePlan,
    plan_as_mapping,
)
from app.domain.storage_plan.reader import PlanError, parse_plan, plan_problems
from app.domain.text import GIB, KIB, MIB
from tests.cases import each_case
from tests.unit.storage.plans import disk, disks, plan_of

PAIR = Group(disks(2), Level.MIRROR, "ext4")
ONE = Group(disks(1), Level.SINGLE, "ext4")


def fields(plan: StoragePlan) -> set[str]:
    return {problem.path for problem in plan_problems(plan)}


@each_case("spec level", [(spec, level) for spec in FILESYSTEMS for level in spec.levels])
def test_levels_need_minimum_disks(spec: object, level: Level) -> None:
    plan = plan_of(spec, level, {})  # type: ignore[arg-type]
    assert plan_problems(plan) == ()
    fewer = StoragePlan(replace(plan.data, disks=plan.data.disks[:-1]))
    assert fields(fewer) == {"data.disks"}


@pytest.mark.parametrize(
    ("plan", "field"),
    [
        (StoragePlan(replace(ONE, filesystem="jfs")), "data.filesystem"),
        (StoragePlan(replace(ONE, filesystem="tmpfs")), "data.level"),
        (StoragePlan(replace(ONE, level=Level.RAIDZ3)), "data.level"),
        (StoragePlan(replace(PAIR, level=Level.SINGLE)), "data.disks"),
        (StoragePlan(Group(disks(5), Level.RAID10, "zfs")), "data.disks"),
        (StoragePlan(replace(PAIR, chunk_bytes=64 * KIB)), "data.chunk_bytes"),
        (StoragePlan(replace(PAIR, level=Level.STRIPE, chunk_bytes=96 * KIB)), "data.chunk_bytes"),
        (StoragePlan(replace(PAIR, level=Level.STRIPE, chunk_bytes=2 * KIB)), "data.chunk_bytes"),
        (StoragePlan(replace(PAIR, level=Level.STRIPE, bitmap=Bitmap.INTERNAL)), "data.bitmap"),
        (StoragePlan(replace(ONE, bitmap=Bitmap.NONE)), "data.bitmap"),
        (StoragePlan(replace(PAIR, filesystem="btrfs", bitmap=Bitmap.NONE)), "data.bitmap"),
        (StoragePlan(replace(ONE, initial_sync=InitialSync.WAIT)), "data.initial_sync"),
        (
            StoragePlan(Group(disks(3), Level.RAID5, "xfs", initial_sync=InitialSync.ASSUME_CLEAN)),
            "data.initial_sync",
        ),
        (StoragePlan(replace(ONE, read_ahead_bytes=KIB)), "data.read_ahead_bytes"),
        (StoragePlan(replace(ONE, read_ahead_bytes=2 * GIB)), "data.read_ahead_bytes"),
        (StoragePlan(replace(PAIR, filesystem="zfs", read_ahead_bytes=0)), "data.read_ahead_bytes"),
        (StoragePlan(replace(ONE, partition_bytes=GIB + 1)), "data.partition_bytes"),
        (StoragePlan(replace(ONE, partition_bytes=1 << 60)), "data.partition_bytes"),
        (StoragePlan(replace(ONE, partition_bytes=0)), "data.partition_bytes"),
        (StoragePlan(replace(ONE, filesystem="xfs", partition_bytes=MIB)), "data.partition_bytes"),
        (StoragePlan(Group((disk(1, MIB),), Level.SINGLE, "ext4")), "data.disks"),
        (StoragePlan(ONE, wal=replace(PAIR, disks=(disk(3),))), "wal.disks"),
        (StoragePlan(ONE, zfs_log=(disk(3),)), "zfs_log"),
        (StoragePlan(replace(ONE, options=(("no_such_option", True),))), "data.options.no_such_option"),
        (StoragePlan(replace(ONE, options=(("atime", "noatime,dev"),))), "data.options.atime"),
    ],
)
def test_invalid_plan_names_field(plan: StoragePlan, field: str) -> None:
    assert fields(plan) == {field}


@pytest.mark.parametrize("name", [role.value for role in FURTHER_ROLES])
def test_disk_in_two_roles(name: str) -> None:
    groups = {name: ONE}
    plan = StoragePlan(ONE, wal=groups.get("wal"), tables=groups.get("tables"), indexes=groups.get("indexes"))
    assert fields(plan) == {"data.disks[0]", f"{name}.disks[0]"}


def test_further_groups_checked_like_data() -> None:
    bad = replace(PAIR, disks=(disk(3),))
    plans = (StoragePlan(ONE, wal=bad), StoragePlan(ONE, tables=bad), StoragePlan(ONE, indexes=bad))
    for role, plan in zip(FURTHER_ROLES, plans, strict=True):
        assert fields(plan) == {f"{role.value}.disks"}


def test_same_device_number_is_one_disk() -> None:
    twin = replace(disk(2), device_number=disk(1).device_number)
    assert fields(StoragePlan(replace(PAIR, disks=(disk(1), twin)))) == {"data.disks[0]", "data.disks[1]"}


def test_a_disk_without_identity_is_refused() -> None:
    nobody = replace(disk(1), serial="", wwn=None)
    assert fields(StoragePlan(replace(ONE, disks=(nobody,)))) == {"data.disks[0]"}


def test_a_plan_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        ONE.level = Level.MIRROR  # type: ignore[misc]


identities = st.builds(
    DiskIdentity,
    serial=st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=20),
    wwn=st.none() | st.integers(0, 1 << 64).map(hex),
    model=st.text(st.characters(codec="utf-8", categories=["L", "N", "P"]), max_size=20),
    size_bytes=st.integers(GIB, 1 << 50),
    device_number=st.tuples(st.integers(1, 511), st.integers(0, 1 << 20)).map(lambda it: f"{it[0]}:{it[1]}"),
    diskseq=st.none() | st.integers(1, 1 << 40),
)


@st.composite
def good_plans(draw: st.DrawFn) -> StoragePlan:
    spec = draw(st.sampled_from([spec for spec in FILESYSTEMS if spec.levels]))
    level = draw(st.sampled_from(spec.levels))
    assembler = spec.assembler(level)
    made = layout(level, assembler)
    count = made.minimum_disks
    unique = st.lists(
        identities,
        min_size=count + 1,
        max_size=count + 1,
        unique_by=(DiskIdentity.key, lambda it: it.device_number),
    )
    found = tuple(draw(unique))
    redundant = assembler is Assembler.MD and level is not Level.STRIPE
    group = Group(
        found[:count],
        level,
        spec.id,
        tuple(draw(st.sampled_from(spec.presets)).options.items()),
        draw(st.sampled_from([None, 512 * MIB])),
        bitmap=draw(st.sampled_from([None, Bitmap.NONE])) if redundant else None,
        initial_sync=draw(st.sampled_from([None, InitialSync.WAIT])) if redundant else None,
        scheduler=draw(st.none() | st.sampled_from(Scheduler)),
        read_ahead_bytes=draw(st.sampled_from([None, 0, 128 * KIB])) if spec.id != "zfs" else None,
    )
    return StoragePlan(group, zfs_log=found[count:] if spec.id == "zfs" else ())


@given(good_plans())
def test_a_plan_survives_being_written_and_read(plan: StoragePlan) -> None:
    assert parse_plan(json.loads(json.dumps(plan_as_mapping(plan)))) == plan


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=8,
)


def problems_of(values: object) -> tuple[Problem, ...]:
    try:
        parse_plan(values)
    except PlanError as err:
        return err.problems
    return ()


@given(good_plans(), st.data())
def test_junk_field_read_or_refused(plan: StoragePlan, data: st.DataObject) -> None:
    values = json.loads(json.dumps(plan_as_mapping(plan)))
    table = data.draw(st.sampled_from([values, values["data"], values["data"]["disks"][0]]))
    table[data.draw(st.sampled_from([*table, "else"]))] = data.draw(junk)
    problems = problems_of(values)
    assert all(problem.path and problem.message for problem in problems)


@given(junk)
def test_junk_is_no_plan(values: object) -> None:
    with pytest.raises(PlanError):
        parse_plan(values)


@pytest.mark.parametrize("schema", [None, 0, 2, "1", True])
def test_a_plan_of_another_version_is_refused(schema: object) -> None:
    with pytest.raises(PlanError) as caught:
        parse_plan({**plan_as_mapping(StoragePlan(ONE)), "schema": schema})
    assert caught.value.field == "schema"


def test_every_problem_is_told_at_once() -> None:
    values = json.loads(json.dumps(plan_as_mapping(StoragePlan(PAIR))))
    values["data"].update(level="raid7", chunk_bytes="64K", colour="red")
    values["data"]["disks"][1]["size_bytes"] = -1
    with pytest.raises(PlanError) as caught:
        parse_plan(values)
    assert {problem.path for problem in caught.value.problems} == {
        "data.level",
        "data.chunk_bytes",
        "data.colour",
        "data.disks[1].size_bytes",
    }
