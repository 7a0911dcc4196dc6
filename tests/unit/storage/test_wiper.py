"""In what order a wipe asks before it comes to a signature, and what ends it there; no disk is touched."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from app.domain.errors import RefusedError
from app.domain.messages.message import message_to_json
from app.domain.storage_plan.plan import PARTITION_TYPE
from app.domain.text import GIB, MIB
from app.storage.checks.disk_checks import ConditionResult, User
from app.storage.layout.conditions import (
    ArrayRuns,
    Condition,
    NotMounted,
    OwnPartition,
    SessionPartition,
    SignatureIs,
    array_place,
)
from app.storage.layout.steps import Mark, Wipe, mark_fact, written_fact
from app.storage.system import state
from app.storage.system.programs import TimeBudget
from app.storage.wiping import wipe
from app.storage.wiping.wipe import InUseError, KeptError, Wiper

DISK, NODE, OTHER, OTHER_NODE, ARRAY = "/dev/sdb", "/dev/sdb1", "/dev/sdc", "/dev/sdc1", "/dev/md127"
UUID = "6f1d5a52-0a0c-4c1c-9b1e-00000000000"
PARTITION = SessionPartition(DISK, NODE, f"{UUID}a", f"{UUID}b", PARTITION_TYPE, MIB, GIB)
SECOND = SessionPartition(OTHER, OTHER_NODE, f"{UUID}c", f"{UUID}d", PARTITION_TYPE, MIB, GIB)
STEP = Wipe(NODE, "partition 1", SignatureIs(NODE, "ext4", f"{UUID}1"), (PARTITION,), "ours is wiped")
RUNS = ArrayRuns("/dev/md/x", f"{UUID}2", (NODE, OTHER_NODE))
IN_ARRAY = Wipe(
    "/dev/md/x",
    "array x",
    SignatureIs("/dev/md/x", "xfs", f"{UUID}3"),
    (PARTITION, SECOND),
    "ours is wiped",
    array=RUNS,
)
BUSY = NotMounted("/run/x")


@dataclass
class World:
    """What root would see, and what a wipe asked of it."""

    sizes: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys((DISK, NODE, OTHER, OTHER_NODE, ARRAY, "/dev/md/x"), GIB)
    )
    changed: set[str] = field(default_factory=set)
    ours: set[str] = field(default_factory=lambda: {PARTITION.table_place, SECOND.table_place})
    place: tuple[int, int] = (MIB, GIB)
    facts: dict[str, str] = field(
        default_factory=lambda: {
            mark_fact(place): Mark.MADE.value
            for place in (PARTITION.table_place, SECOND.table_place, STEP.place, IN_ARRAY.place)
        }
    )
    answers: Mapping[object, ConditionResult] = field(default_factory=dict)
    users: Mapping[str, Sequence[User]] = field(default_factory=dict)
    patience: TimeBudget = field(default_factory=lambda: TimeBudget(0.0))
    readers_leave_after: int = 1000
    asked_users: list[str] = field(default_factory=list)
    locked: list[str] = field(default_factory=list)
    opened: list[str] = field(default_factory=list)

    def mark(self, place: str, mark: Mark | None) -> None:
        self.facts.pop(mark_fact(place), None)
        if mark is not None:
            self.facts[mark_fact(place)] = mark.value

    def wipe(self, step: Wipe) -> str:
        def users(node: str, _identity: object) -> Sequence[User]:
            self.asked_users.append(node)
            gone = len(self.asked_users) > self.readers_leave_after
            return () if gone else self.users.get(node, ())

        def check(condition: Condition) -> ConditionResult:
            is_changed = isinstance(condition, OwnPartition) and condition.disk in self.changed
            found = ConditionResult(holds=not is_changed, evidence="as it is", renamed="")
            return self.answers.get(condition, found)

        unused = cast("Any", None)
        hooks = cast("Any", SimpleNamespace(patience=self.patience, users=users))
        functions = unused, unused, unused, check
        named = cast("Any", SimpleNamespace(typed_name=lambda: "serial number"))
        wiper = Wiper({DISK: named, OTHER: named}, hooks, self.facts, *functions, self.ours)
        return wiper.wipe(step)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    made = World()

    def locked(node: str, *_: object) -> nullcontext[None]:
        made.locked.append(node)
        return nullcontext()

    @contextmanager
    def exclusive(node: str, *_: object) -> Iterator[SimpleNamespace]:
        made.opened.append(node)
        yield SimpleNamespace(node=node, part=lambda part, *_: SimpleNamespace(node=part))

    monkeypatch.setattr(wipe, "locked", locked)
    monkeypatch.setattr(wipe, "exclusive", exclusive)
    monkeypatch.setattr(Wiper, "_wipe_content", lambda _self, _step, device, *_: f"came to {device.node}")
    monkeypatch.setattr(state, "size_bytes", lambda node: made.sizes.get(node, 0))
    monkeypatch.setattr(state, "partition_place", lambda _node: made.place)
    monkeypatch.setattr(state, "device_number", lambda _node: "8:17")
    return made


def test_partition_as_journaled_is_locked_and_checked(world: World) -> None:
    assert world.wipe(STEP) == f"came to {NODE}"
    assert (world.locked, world.asked_users, world.opened) == ([DISK], [DISK], [DISK])


def test_array_found_under_current_name_disks_locked(world: World) -> None:
    assert world.wipe(IN_ARRAY) == "came to /dev/md/x"
    world.answers = {RUNS: ConditionResult(holds=True, evidence="", renamed=ARRAY)}
    assert world.wipe(IN_ARRAY) == f"came to {ARRAY}"
    assert world.asked_users == ["/dev/md/x", ARRAY]
    assert world.locked == [DISK, OTHER] * 2


def test_foreign_array_left_with_evidence(world: World) -> None:
    world.answers = {RUNS: ConditionResult(holds=False, evidence="another array")}
    for mark in (Mark.BEGUN, Mark.MADE, Mark.WIPING):
        world.mark(IN_ARRAY.place, mark)
        with pytest.raises(KeptError, match="does not run"):
            world.wipe(IN_ARRAY)
    for left_out in (Mark.WIPED, None):
        world.mark(IN_ARRAY.place, left_out)
        assert world.wipe(IN_ARRAY) == "another array"
    world.mark(IN_ARRAY.place, Mark.MADE)
    world.changed = {DISK}
    world.ours = {PARTITION.table_place}
    assert world.wipe(IN_ARRAY) == "another array", "each is kept or offered by itself"
    assert (world.locked, world.opened) == ([], [])


@pytest.mark.parametrize("mark", [None, Mark.WIPED, Mark.RELEASED])
def test_no_look_without_a_table_of_ours(world: World, mark: Mark | None) -> None:
    world.mark(PARTITION.table_place, mark)
    assert "came" not in world.wipe(STEP)
    assert (world.locked, world.opened) == ([], [])


def test_absent_or_released_disk_takes_no_part(world: World) -> None:
    world.sizes[DISK] = 0
    assert DISK in world.wipe(STEP)
    assert world.wipe(IN_ARRAY) == "came to /dev/md/x"
    assert world.locked == [OTHER]
    world.mark(SECOND.table_place, Mark.RELEASED)
    assert "came" not in world.wipe(IN_ARRAY)
    assert world.locked == [OTHER]


def test_changed_table(world: World) -> None:
    world.changed = {DISK}
    with pytest.raises(KeptError, match="byte for byte") as caught:
        world.wipe(STEP)
    assert "Nothing was written to it." in caught.value.message
    assert world.opened == []
    assert world.wipe(IN_ARRAY) == "came to /dev/md/x", "what it holds is looked at all the same"


@pytest.mark.parametrize("step", [STEP, IN_ARRAY])
def test_found_unmounted(world: World, step: Wipe) -> None:
    world.ours = {SECOND.table_place}
    assert "a person has to decide" in world.wipe(step)
    assert (world.locked, world.opened) == ([], [])


@pytest.mark.parametrize("mark", [Mark.WIPING, Mark.WIPED])
def test_more_is_not_written(world: World, mark: Mark) -> None:
    world.changed = {DISK}
    world.mark(PARTITION.place, mark)
    with pytest.raises(KeptError) as caught:
        world.wipe(STEP)
    assert "Nothing more is written to it." in caught.value.message
    assert "Nothing was written" not in caught.value.message
    world.mark(PARTITION.place, None)
    world.mark(array_place("of it"), mark)
    with pytest.raises(KeptError, match="Nothing more is written"):
        world.wipe(STEP)


def test_written_by_a_program(world: World) -> None:
    world.changed = {DISK}
    world.facts[written_fact(SECOND.place)] = ""
    with pytest.raises(KeptError, match="Nothing was written to it"):
        world.wipe(STEP)
    world.facts[written_fact(PARTITION.place)] = ""
    with pytest.raises(KeptError, match="Nothing more is written"):
        world.wipe(STEP)


def test_moved_partition_is_kept(world: World) -> None:
    world.place = (2 * MIB, GIB)
    with pytest.raises(KeptError, match="is not where pgFooting created it") as caught:
        world.wipe(STEP)
    assert "Nothing was written" in str(caught.value)
    world.sizes[NODE] = 0  # the kernel does not know it at all
    assert world.wipe(STEP) == f"came to {NODE}"


@pytest.mark.parametrize(("step", "node"), [(STEP, DISK), (IN_ARRAY, "/dev/md/x")])
def test_used_disk_is_named_and_unopened(world: World, step: Wipe, node: str) -> None:
    world.users = {node: [User("a program writes", "pid 7", "End it.", only_reads=False)]}
    with pytest.raises(InUseError, match="pid 7"):
        world.wipe(step)
    assert world.opened == []


def test_many_users_are_counted(world: World) -> None:
    many = [User("It is mounted.", f"namespace {number}", f"umount {number}") for number in range(5_000)]
    world.users = {DISK: many}
    with pytest.raises(InUseError) as kept:
        world.wipe(STEP)
    said = kept.value.message
    assert "namespace 0;" in said
    assert f"+ {5_000 - wipe.MOST_USERS_NAMED}" in said
    # journal and bus have to hold it, for each disk of a session
    assert len(json.dumps(message_to_json(said))) + len(kept.value.hint) < 16_384


def test_unmet_condition_refuses(world: World) -> None:
    world.answers = {BUSY: ConditionResult(holds=False, evidence="it is mounted on /srv")}
    with pytest.raises(RefusedError, match="mounted on /srv"):
        world.wipe(replace(STEP, before=(BUSY,)))
    assert world.opened == []


@pytest.mark.parametrize(("mark", "is_needed"), [(None, False), (Mark.WIPED, False), (Mark.MADE, True)])
def test_inactive_array_keeps_its_disks(
    world: World,
    mark: Mark | None,
    is_needed: bool,  # noqa: FBT001
) -> None:
    world.sizes["/dev/md/x"] = 0
    world.mark(IN_ARRAY.place, mark)

    def outcome(action: Callable[[], str]) -> str:
        try:
            return action()
        except KeptError as error:
            return str(error)

    found = outcome(lambda: world.wipe(IN_ARRAY))
    assert ("does not run" in found) is is_needed
    assert (world.opened == []) is is_needed


READER = User("a program reads", "pid 8", "End it.", only_reads=True)
WRITER = User("a program writes", "pid 9", "End it.")


def test_reader_waited_for_writer_not(world: World) -> None:
    world.patience, world.readers_leave_after = TimeBudget(), 2
    world.users = {DISK: [READER]}
    assert world.wipe(STEP) == f"came to {NODE}"
    assert world.asked_users == [DISK] * 3
    world.asked_users.clear()
    world.users = {DISK: [READER, WRITER]}
    with pytest.raises(InUseError, match="pid 9"):
        world.wipe(STEP)
    assert world.asked_users == [DISK]


@pytest.mark.parametrize(("limit_s", "patience_s"), [(0.0, float("inf")), (float("inf"), 0.0)])
def test_wait_ends_with_its_limits(
    world: World, monkeypatch: pytest.MonkeyPatch, limit_s: float, patience_s: float
) -> None:
    monkeypatch.setattr(wipe, "READERS_S", limit_s)
    monkeypatch.setattr(wipe, "_AGAIN_S", 0.001)
    world.patience = TimeBudget(patience_s)
    world.users = {DISK: [READER]}
    with pytest.raises(InUseError, match="pid 8"):
        world.wipe(STEP)
    world.sizes["/dev/md/x"] = 0
    with pytest.raises(KeptError, match="does not run"):
        world.wipe(IN_ARRAY)
