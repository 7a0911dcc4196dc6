"""Helper and owner die at every step of making and unmaking: nothing is left, no other disk is touched."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from typing_extensions import override

from app.domain.options.raid import Level
from app.domain.storage_plan.plan import FURTHER_ROLES, StoragePlan
from app.domain.storage_plan.reader import identity_to_wire
from app.domain.text import GIB, KIB, MIB
from app.helper.storage import journal
from app.helper.storage.leftovers import Leftovers
from tests.bus.client import RemoteError
from tests.disks.helper_owner import SPARE, Owner, client, plan_of
from tests.disks.layout_proof import digest, fill, leftovers
from tests.disks.test_disk_settings import show
from tests.fix_helper import Running, journaled, wait_until

pytestmark = [
    pytest.mark.disks,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can start the helper"),
    pytest.mark.timeout(1200),  # a helper or two for each step
]

RUN = Path("/run/pgfooting")
NOTHING_LEFT = ["/run/pgfooting/lock"]


class Scene:
    """Disks of a session, and one beside them that must stay as it is.

    Attributes:
        stride: from one step at which somebody dies to the next.
    """

    stride = 1

    def __init__(self, make_loop: Callable[..., str], count: int = 2) -> None:
        self.disks = [make_loop(1 * GIB, partscan=True) for _ in range(count)]
        self.sentinel = make_loop(64 * MIB)
        self.before = fill(self.sentinel)

    def plan(self) -> StoragePlan:
        return plan_of(*self.disks, level=Level.STRIPE, filesystem="btrfs")

    def is_recovered(self) -> bool:
        """Whether nothing is left; else it is offered to a person, who releases it."""
        entries = journaled()
        if entries:
            chosen = {disk: SPARE.identify(disk) for disk in self.disks}
            left = Leftovers(journal.Journal(), SPARE)
            held = [disk for disk, identity in chosen.items() if left.offered(identity)]
            assert held
            assert all(any(each.rule == "D18" for each in left.refusals(chosen)[disk]) for disk in held)
            assert digest(self.sentinel) == self.before
            left.release({chosen[disk]: seen.digest for disk in held if (seen := left.offered(chosen[disk]))})
        self.is_clean()
        return not entries

    def is_clean(self) -> None:
        assert journaled() == []
        assert leftovers(self.disks, RUN) == NOTHING_LEFT
        assert digest(self.sentinel) == self.before


class GroupsScene(Scene):
    """Every group that a plan can have, each on a disk of its own with a read-ahead of the session's.

    The groups are made by the same steps, one after the other; the matrix kills at each write of each.
    """

    stride = 5

    def __init__(self, make_loop: Callable[..., str]) -> None:
        super().__init__(make_loop, 1 + len(FURTHER_ROLES))
        self.settings = [show(disk) for disk in self.disks]
        assert all(read_ahead != "512" for _, read_ahead in self.settings)

    @override
    def is_clean(self) -> None:
        super().is_clean()
        assert [show(disk) for disk in self.disks] == self.settings

    @override
    def plan(self) -> StoragePlan:
        kinds = cycle(("ext4", "btrfs", "xfs"))
        made = [
            replace(plan_of(disk, filesystem=next(kinds)).data, read_ahead_bytes=512 * KIB)
            for disk in self.disks
        ]
        further: dict[str, Any] = dict(zip(map(str, FURTHER_ROLES), made[1:], strict=True))
        return StoragePlan(made[0], **further)


@pytest.fixture
def scene(make_loop: Callable[..., str], request: pytest.FixtureRequest) -> Scene:
    return getattr(request, "param", Scene)(make_loop)


EVERY_SCENE = pytest.mark.parametrize(
    "scene", [pytest.param(Scene, id="stripe"), pytest.param(GroupsScene, id="groups")], indirect=True
)


def until_step(owner: Owner, number: int) -> bool:
    """Wait for a step; return whether there is one of that number."""
    while True:
        name, *content = owner.wait_for("Progress", "Ready", "Unmade")
        if name != "Progress":
            return False
        if content[2] >= number:
            return True


@EVERY_SCENE
def test_helper_killed_at_any_step_of_making(
    installed_helper: None, scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    number, killed, clean, there_is = 1, 0, 0, True
    while there_is:
        running = Running()
        with client() as connection:
            owner = Owner(connection)
            owner.execute(scene.plan())
            owner.call("Make", "u", 0)
            there_is = until_step(owner, number)
            running.kill()
        Running().end()
        clean += scene.is_recovered()
        killed += 1
        number += scene.stride
    with capsys.disabled():
        print(f"\n  killed at {killed} steps of making, {clean} recovered, the others offered")  # noqa: T201
    assert number > 10
    assert clean > 1, "before anything was made, and where all is mounted"


@EVERY_SCENE
def test_helper_killed_at_any_step_of_unmaking(
    installed_helper: None, scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    number, killed, clean, there_is = 1, 0, 0, True
    while there_is:
        running = Running()
        with client() as connection:
            owner = Owner(connection)
            owner.execute(scene.plan())
            owner.make()
            owner.call("Unmake")
            there_is = until_step(owner, number)
            running.kill()
        Running().end()
        clean += scene.is_recovered()
        killed += 1
        number += scene.stride
    with capsys.disabled():
        print(f"\n  killed at {killed} steps of unmaking, {clean} recovered, the others offered")  # noqa: T201
    assert number > 5
    assert clean > 1, "before it was unmounted, and where nothing is left"


def test_recovery_while_old_commands_run(installed_helper: None, scene: Scene) -> None:
    running = Running()
    with client() as connection:
        owner = Owner(connection)
        owner.execute(scene.plan())
        owner.make()
        running.kill()
    (storage,) = RUN.glob("*/storage")
    with subprocess.Popen(["sleep", "1"], cwd=storage):
        Running().end()
    scene.is_clean()


@EVERY_SCENE
def test_owner_vanishing_at_any_step(
    helper: Running, scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    number, vanished, there_is = 1, 0, True
    while there_is:
        with client() as connection:
            owner = Owner(connection)
            owner.execute(scene.plan())
            owner.call("Make", "u", 0)
            there_is = until_step(owner, number)
        wait_until(lambda: can_begin(scene))
        scene.is_clean()
        vanished += 1
        number += scene.stride
    with capsys.disabled():
        print(f"\n  the owner vanished at {vanished} steps of making")  # noqa: T201
    assert number > 10


def test_an_owner_that_vanishes_between_leaves_nothing(helper: Running, scene: Scene) -> None:
    plan = scene.plan()
    with client() as connection:
        Owner(connection).describe(plan)
    with client() as connection:
        owner = Owner(connection)
        plan_id, _, described = owner.describe(plan)
        connection.begin("Execute", "(ssu)", plan_id, described, 65534)
        connection.connection.flush_sync(None)
    wait_until(lambda: can_begin(scene))
    for after in ("Execute", "Unmake", "Unmade", "Release"):
        with client() as connection:
            owner = Owner(connection)
            owner.execute(plan)
            if after != "Execute":
                owner.make()
                owner.call("Release" if after == "Release" else "Unmake")
            if after == "Unmade":
                owner.wait_for("Unmade")
        wait_until(lambda: can_begin(scene))
        scene.is_clean()


def can_begin(scene: Scene) -> bool:
    """Whether a session can be had again: the one before is over."""
    with client() as connection:
        owner = Owner(connection)
        try:
            owner.execute(plan_of(scene.disks[0]))
        except RemoteError as err:
            if not err.name.endswith(".Busy"):
                raise
            return False
        owner.release()
    return True


def test_terminated_helper_unmakes_first(installed_helper: None, scene: Scene) -> None:
    running = Running()
    with client() as connection:
        owner = Owner(connection)
        owner.execute(scene.plan())
        owner.make()
        running.end()
    scene.is_clean()


def test_successive_sessions_on_same_disks(helper: Running, scene: Scene) -> None:
    for filesystem in ("ext4", "xfs"):
        with ExitStack() as stack:
            owner = Owner(stack.enter_context(client()))
            owner.execute(plan_of(scene.disks[0], filesystem=filesystem))
            owner.make()
            assert owner.release()[2] == ""
        scene.is_clean()


@pytest.mark.parametrize(
    "damage", [b"[" * 100_000, b'{"schema": Infinity}', b""], ids=["deep", "infinite", "empty"]
)
def test_damaged_journal_refuses_its_disks_only(
    installed_helper: None, scene: Scene, make_loop: Callable[..., str], damage: bytes
) -> None:
    running = Running()
    with client() as connection:
        owner = Owner(connection)
        owner.execute(scene.plan())
        owner.make()
        running.kill()
    (entry,) = journaled()
    good = entry.read_bytes()
    entry.write_bytes(damage)
    running = Running()
    assert running.said(f"{entry} is kept and not acted upon")
    with client() as connection:
        wires = [identity_to_wire(SPARE.identify(disk)) for disk in scene.disks]
        (answers,) = connection.call("Inspect", "(a(ssstst))", wires)
        for answer in answers:
            assert answer[1] == "not spare"
            assert any(rule == "D18" and entry.name in evidence for rule, _, evidence, _ in answer[2]), answer
        other = Owner(connection)
        other.execute(plan_of(make_loop(1 * GIB, partscan=True)))
        assert other.release()[2:] == ("", "", "", [])
    running.end()
    assert entry.read_bytes() == damage
    entry.write_bytes(good)
    Running().end()
    scene.is_clean()
