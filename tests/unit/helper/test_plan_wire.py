"""Plans cross the bus and come out as they went in; what is none is refused with its field."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from app.domain.disk import DiskIdentity
from app.domain.errors import Problem
from app.domain.options.raid import Level
from app.domain.storage_plan.plan import (
    FURTHER_ROLES,
    Bitmap,
    Group,
    InitialSync,
    Scheduler,
    StoragePlan,
    plan_as_mapping,
)
from app.domain.storage_plan.reader import (
    PlanError,
    identity_from_wire,
    identity_to_wire,
    plan_from_wire,
    plan_problems,
    plan_to_wire,
)
from app.domain.text import GIB, KIB, MIB

DISKS = tuple(
    DiskIdentity(
        f"SERIAL{number}", f"eui.{number}" if number % 2 else None, "Model X", 10**12, f"8:{16 * number}", 7
    )
    for number in range(1, 6)
)
PLANS = [
    StoragePlan(Group(DISKS[:1], Level.SINGLE, "ext4", (("data", "writeback"), ("barrier", False)))),
    StoragePlan(
        Group(DISKS[:2], Level.MIRROR, "xfs", partition_bytes=2**34), Group(DISKS[2:3], Level.SINGLE, "ext4")
    ),
    StoragePlan(Group(DISKS[:3], Level.RAID5, "zfs", (("recordsize", 8192),)), zfs_log=DISKS[3:5]),
    StoragePlan(
        Group(DISKS[:1], Level.SINGLE, "ext4", scheduler=Scheduler.NONE, read_ahead_bytes=0),
        Group(DISKS[2:3], Level.SINGLE, "btrfs", scheduler=Scheduler.BFQ, read_ahead_bytes=4 * MIB),
    ),
    StoragePlan(
        Group(DISKS[:1], Level.SINGLE, "ext4"),
        tables=Group(DISKS[1:3], Level.MIRROR, "xfs"),
        indexes=Group(DISKS[3:4], Level.SINGLE, "btrfs"),
    ),
]


@pytest.mark.parametrize("plan", PLANS)
def test_plan_round_trip(plan: StoragePlan) -> None:
    assert plan_from_wire(*plan_to_wire(plan)) == plan


@pytest.mark.parametrize("disk", [DISKS[0], DISKS[1], replace(DISKS[0], diskseq=None)])
def test_identity_round_trip(disk: DiskIdentity) -> None:
    assert identity_from_wire(identity_to_wire(disk)) == disk


def test_plan_fields_follow_the_interface() -> None:
    first, second = (DiskIdentity(name, None, "MODEL", GIB, f"8:{name}") for name in "12")
    third = DiskIdentity("", "0x5", "", 2 * GIB, "8:3", 7)
    mirror = Group(
        (first, second),
        Level.MIRROR,
        "xfs",
        (("atime", "noatime"),),
        512 * MIB,
        None,
        Bitmap.NONE,
        InitialSync.WAIT,
        Scheduler.KYBER,
        128 * KIB,
    )
    plan = StoragePlan(Group((third,), Level.SINGLE, "ext4"), mirror)
    assert plan_to_wire(plan) == (
        ([("", "0x5", "", 2 * GIB, "8:3", 7)], "single", "ext4", {}, 0, 0, "", "", "", -1),
        [
            (
                "wal",
                (
                    [("1", "", "MODEL", GIB, "8:1", 0), ("2", "", "MODEL", GIB, "8:2", 0)],
                    "mirror",
                    "xfs",
                    {"atime": "noatime"},
                    512 * MIB,
                    0,
                    "none",
                    "wait",
                    "kyber",
                    128 * KIB,
                ),
            )
        ],
        [],
    )
    assert plan_as_mapping(plan)["data"] == {
        "disks": [
            {
                "serial": "",
                "wwn": "0x5",
                "model": "",
                "size_bytes": 2 * GIB,
                "device_number": "8:3",
                "diskseq": 7,
            }
        ],
        "level": "single",
        "filesystem": "ext4",
        "options": {},
    }


FURTHER = [role.value for role in FURTHER_ROLES]


@pytest.mark.parametrize("name", FURTHER)
def test_second_group_of_a_role_refused(name: str) -> None:
    data, further, log = plan_to_wire(PLANS[1])
    group = further[0][1]
    for count in (2, 3):
        with pytest.raises(PlanError) as refused:
            plan_from_wire(data, [(name, group)] * count, log)
        assert refused.value.problems[0].path == name


@pytest.mark.parametrize(
    "name", ["data", "log", "zfs_log", "", "WAL", "wal ", "../wal", "storage", "private"]
)
def test_a_group_for_something_else_is_refused(name: str) -> None:
    """Its word is part of the mount point, of names on disk and of the journal."""
    data, further, log = plan_to_wire(PLANS[1])
    with pytest.raises(PlanError) as refused:
        plan_from_wire(data, [(name, further[0][1])], log)
    assert refused.value.problems[0].path == "further"


@pytest.mark.parametrize("first", ["data", *FURTHER])
@pytest.mark.parametrize("second", FURTHER)
def test_disk_in_two_groups_refused(first: str, second: str) -> None:
    if first == second:
        return
    (disks, *rest), further, log = plan_to_wire(PLANS[1])
    stolen = further[0][1]
    data = (stolen[0], *rest) if first == "data" else (disks, *rest)
    groups = [(name, stolen) for name in (first, second) if name != "data"]
    with pytest.raises(PlanError) as refused:
        plan_from_wire(data, groups, log)
    assert {each.path.partition(".")[0] for each in refused.value.problems} == {first, second}


def test_disk_by_two_numbers_in_two_groups() -> None:
    """Two devices of one serial number: a second path to a disk, or a copy of it."""
    data, further, log = plan_to_wire(PLANS[1])
    (serial, wwn, model, size, _, diskseq), *others = data[0]
    twin = (serial, wwn, model, size, "259:77", diskseq + 1)
    name, (disks, *rest) = further[0]
    with pytest.raises(PlanError) as refused:
        plan_from_wire(data, [(name, ([twin, *disks[1:]], *rest))], log)
    assert {each.path.partition(".")[0] for each in refused.value.problems} == {"data", name}
    assert len(others) == len(data[0]) - 1


HOSTILE = ("rw,suid,dev", "x -o suid", "always\n", "", "/etc/passwd", -1, 1 << 60)


@pytest.mark.parametrize("value", HOSTILE, ids=repr)
@pytest.mark.parametrize("option", ["data", "barrier", "suid", "-F"])
def test_unknown_option_or_value_refused(option: str, value: object) -> None:
    (disks, level, filesystem, _, *rest), wal, log = plan_to_wire(PLANS[0])
    with pytest.raises(PlanError) as refused:
        plan_from_wire((disks, level, filesystem, {option: value}, *rest), wal, log)
    assert refused.value.problems[0].path == f"data.options.{option}"


TEXT = st.text(max_size=30)
NUMBER = st.integers(0, 2**64 - 1)
IDENTITIES = st.lists(st.tuples(TEXT, TEXT, TEXT, NUMBER, TEXT, NUMBER), max_size=4)
VALUES = st.one_of(st.booleans(), st.integers(-(2**63), 2**63 - 1), TEXT, st.lists(TEXT, max_size=2))
GROUPS = st.tuples(
    IDENTITIES, TEXT | st.sampled_from(list(Level)), TEXT | st.sampled_from(["ext4", "zfs"]),
    st.dictionaries(TEXT | st.sampled_from(["data", "recordsize"]), VALUES, max_size=3),
    NUMBER, NUMBER, TEXT, TEXT, TEXT | st.sampled_from(list(Scheduler)), st.integers(-(2**63), 2**63 - 1),
)  # fmt: skip


@settings(deadline=None)
@given(GROUPS, st.lists(st.tuples(TEXT | st.sampled_from(FURTHER), GROUPS), max_size=4), IDENTITIES)
def test_any_signature_match_is_plan_or_refused(
    data: Any,  # noqa: ANN401
    wal: Any,  # noqa: ANN401
    log: Any,  # noqa: ANN401
) -> None:
    problems: tuple[Problem, ...] = ()
    try:
        plan = plan_from_wire(data, wal, log)
        assert plan_from_wire(*plan_to_wire(plan)) == plan
        assert plan_problems(plan) == ()
    except PlanError as err:
        problems = err.problems
        event(f"{len(problems)} problems")
    assert all(problem.path and problem.message for problem in problems)


@pytest.mark.parametrize(
    ("scheduler", "read_ahead", "place"),
    [
        ("deadline", -1, "data.scheduler"),
        ("bfq\n", -1, "data.scheduler"),
        ("../../power/control", -1, "data.scheduler"),
        ("[none]", -1, "data.scheduler"),
        ("", -2, "data.read_ahead_bytes"),
        ("", -(2**63), "data.read_ahead_bytes"),
        ("", 1, "data.read_ahead_bytes"),
        ("", 6 * KIB, "data.read_ahead_bytes"),
        ("", GIB + 4 * KIB, "data.read_ahead_bytes"),
    ],
)
def test_unknown_disk_setting_refused(scheduler: str, read_ahead: int, place: str) -> None:
    (*rest, _, _), wal, log = plan_to_wire(PLANS[0])
    with pytest.raises(PlanError) as refused:
        plan_from_wire((*rest, scheduler, read_ahead), wal, log)
    assert [problem.path for problem in refused.value.problems] == [place]


def test_zfs_takes_scheduler_without_read_ahead() -> None:
    (*rest, _, _), wal, log = plan_to_wire(PLANS[2])
    assert plan_from_wire((*rest, "none", -1), wal, log).data.scheduler is Scheduler.NONE
    with pytest.raises(PlanError, match="reads ahead by itself"):
        plan_from_wire((*rest, "", 128 * KIB), wal, log)
