"""What the service ends, and when: sessions, readings, and itself when nobody needs it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, cast

import pytest

from app.dbus.service import Call
from app.domain.storage_plan.reader import IDENTITY, identity_to_wire
from app.helper.service import IDLE_S, LOOK_S
from app.helper.session.session import LIFETIME_S, WARNING_S
from app.helper.storage.pending_plans import describe_plans
from tests.unit.helper.test_service_access import BERT, INSPECT, MINE, OTHERS, PLAN, ROOTS, WIRE, World
from tests.unit.helper.test_who_may_ask import LIMIT_S
from tests.unit.storage.plans import devices, disk


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    return World(monkeypatch)


# --- who leaves


def test_session_ends_with_its_owner_only(world: World) -> None:
    session, _ = world.begin()
    world.ask(OTHERS, "Version")
    session.owner = "the process"
    world.leave(OTHERS)
    assert (session.done, session.owner) == (["start"], "the process")
    world.leave(MINE)
    assert session.done == ["start", ("release", None)]
    assert cast("object", session.owner) is None


def read(world: World, sender: str, number: int = 1) -> tuple[list[Any], Callable[[], bool], threading.Event]:
    answers = world.ask(sender, "Read", f"({IDENTITY})", identity_to_wire(disk(number)))
    world.bus.answer(authorized=True)
    is_cancelled, go_on = world.work.get(timeout=LIMIT_S)
    return answers, is_cancelled, go_on


def test_reading_ends_with_caller_or_session(world: World) -> None:
    mine, is_mine_over, go_on = read(world, MINE)
    others, is_others_over, others_go_on = read(world, OTHERS)
    roots, is_roots_over, roots_go_on = read(world, ROOTS, 2)
    assert (is_mine_over(), is_others_over(), is_roots_over()) == (False, False, False)
    world.leave(MINE)
    assert (is_mine_over(), is_others_over(), is_roots_over()) == (True, False, False)
    go_on.set()
    world.bus.turn()
    assert mine == ["Unknown Unknown"]
    taken, _ = describe_plans(OTHERS, BERT, [(PLAN, devices(PLAN))])
    world.helper._begin(Call(OTHERS, "Execute", None, interactive=True), cast("Any", None), taken, BERT, None)
    assert (is_others_over(), is_roots_over()) == (True, False)
    for each in (others_go_on, roots_go_on):
        each.set()
        world.bus.turn()
    assert (others, roots) == ([("called off",)], [("read",)])


# --- how long it lives


def test_unused_session_warned_once_then_ends(world: World) -> None:
    session, handle = world.begin()
    world.clock.now_s += LIFETIME_S - WARNING_S - 1
    world.look()
    assert world.bus.emitted == []
    world.clock.now_s += 2
    for _ in range(2):
        world.look()
    assert world.bus.emitted == [(MINE, "Expiring", handle, int(WARNING_S - 1))]
    assert session.done == ["start"]
    world.clock.now_s += WARNING_S
    world.look()
    assert session.done == ["start", ("release", "expired")]


@pytest.mark.parametrize(
    ("method", "signature", "values", "renews"),
    [("Make", "(su)", (0,), True), ("Renew", "(s)", (), True), ("Limit", "(st)", (7,), False)],
)
def test_only_use_extends_a_session(
    world: World, method: str, signature: str, values: tuple[object, ...], *, renews: bool
) -> None:
    session, handle = world.begin()
    world.clock.now_s += LIFETIME_S - 10
    world.ask(MINE, method, signature, handle, *values)
    world.clock.now_s += 20
    world.look()
    assert (("release", "expired") in session.done) is not renews


def test_session_does_not_age_at_work(world: World) -> None:
    session, _ = world.begin()
    session.is_working = True
    world.clock.now_s += LIFETIME_S + 1
    world.look()
    session.is_working = False
    world.clock.now_s += WARNING_S
    world.look()
    assert session.done == ["start"]


def test_idle_helper_ends(world: World) -> None:
    world.ask(MINE, "Version")
    world.clock.now_s += IDLE_S - 1
    world.look()
    assert world.bus.timers.pop()[0] == LOOK_S
    world.clock.now_s += 1
    world.look()
    _, action = world.bus.timers.pop()
    action()
    assert world.bus.is_stopped


def test_late_caller_keeps_the_helper(world: World) -> None:
    world.clock.now_s += IDLE_S
    world.look()
    _, action = world.bus.timers.pop()
    world.ask(MINE, "Missing")
    action()
    assert not world.bus.is_stopped
    assert world.bus.timers.pop()[0] == LOOK_S


@pytest.mark.parametrize("busy", ["session", "question", "unknown caller", "waiting", "worker", "plan"])
def test_busy_helper_stays(world: World, busy: str) -> None:
    go_on: threading.Event | None = None
    match busy:
        case "session":
            world.begin()
        case "question":
            world.ask(MINE, "Inspect", INSPECT, [WIRE])
        case "unknown caller":
            world.helper._callers._waiting[MINE] = []
        case "waiting":
            world.bus.has_waiting = True
        case "worker":
            *_, go_on = read(world, MINE)
        case _:
            world.describe(MINE)
    world.clock.now_s += IDLE_S
    world.look()
    assert world.bus.timers.pop()[0] == LOOK_S
    assert not world.helper._is_idle(), "it begins to wait anew"
    if go_on is not None:
        go_on.set()
        world.bus.turn()


def test_a_flood_of_refusals_leaves_few_lines(world: World, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "pgfooting.audit")
    for _ in range(30):
        world.ask(MINE, "Missing")
    assert len(caplog.messages) == 20
    world.clock.now_s += 60
    world.look()
    assert caplog.messages[-1] == "refused: Missing by user None 10 times more"
