"""Who gets what of the service: each method for whom it is, one session for one caller."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from queue import SimpleQueue
from types import SimpleNamespace
from typing import Any, cast

import pytest

from app.dbus.service import Call, MethodError, Reply, load_gio
from app.domain.errors import FootingError
from app.domain.filesystems import filesystem
from app.domain.options.raid import Level
from app.domain.storage_plan.reader import IDENTITY, identity_to_wire
from app.helper import service as service_module
from app.helper.service import METHODS, Access, Helper
from app.helper.storage.pending_plans import MOST_FOR_ONE, DescribedPlans, describe_plans
from app.storage.inspect.snapshot import Policy
from tests.hand_clock import Clock
from tests.unit.helper.test_who_may_ask import LIMIT_S, Bus
from tests.unit.storage.plans import devices, disk, plan_of

gi = pytest.importorskip("gi")
ANNA, BERT, ROOT = 1000, 1001, 0
MINE, OTHERS, ROOTS = ":1.1", ":1.2", ":1.3"
USERS = {MINE: ANNA, OTHERS: BERT, ROOTS: ROOT}
PLAN = plan_of(filesystem("xfs"), Level.SINGLE, {})


class ServiceBus(Bus):
    """Stands for the bus that the helper serves on."""

    def __init__(self) -> None:
        super().__init__()
        self.emitted: list[tuple[Any, ...]] = []
        self.timers: list[tuple[float, Callable[[], None]]] = []
        self.has_waiting = self.is_stopped = False

    def emit(self, receiver: str, signal: str, *values: object) -> None:
        self.emitted.append((receiver, signal, *values))

    def later(self, delay_s: float, action: Callable[[], None]) -> None:
        self.timers.append((delay_s, action))

    def when_quiet(self, action: Callable[[], None]) -> None:
        self.timers.append((0, action))

    def stop(self) -> None:
        self.is_stopped = True


class SessionStandIn:
    """What a session is told."""

    def __init__(self, taken: DescribedPlans, user: int, _leftovers: object, teller: Any) -> None:  # noqa: ANN401
        self.taken, self.user, self.teller = taken, user, teller
        self.owner: object = None
        self.is_working = False
        self.answer: MethodError | None = None
        self.done: list[object] = []

    def start(self) -> None:
        self.done.append("start")

    def join(self) -> None:
        self.done.append("join")

    def release(self, why: FootingError | None = None) -> None:
        self.done.append(("release", why.code if why else None))

    def make(self, number: int) -> None:
        self.done.append(("make", number))

    def unmake(self) -> None:
        self.done.append("unmake")

    def check_goes_on(self) -> None:
        self.done.append("check")

    def limit(self, done: Callable[[object], None], memory_bytes: int) -> None:
        self.done.append(("limit", memory_bytes))
        done(self.answer)

    def drop_caches(self, done: Callable[[object], None]) -> None:
        self.done.append("drop")
        done(None)


class World:
    """The helper, and everything around it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bus, self.clock = ServiceBus(), Clock()
        self.sessions: list[SessionStandIn] = []
        self.work: SimpleQueue[Any] = SimpleQueue()
        monkeypatch.setattr(service_module, "BusService", self._bus_of)
        monkeypatch.setattr(service_module, "Session", self._session)
        monkeypatch.setattr(service_module, "time", self.clock)
        monkeypatch.setattr(service_module, "described", self._described)
        monkeypatch.setattr(service_module, "inspected", lambda wire, *_: (wire[4], "spare"))
        monkeypatch.setattr(service_module, "read_whole", self._read)
        self.released: list[tuple[str, str, int]] = []
        monkeypatch.setattr(service_module, "inspect_kept", lambda wire, _left: (wire[4], "digest"))
        monkeypatch.setattr(service_module, "check_kept", lambda wire, _left: f"MODEL {wire[0]}")
        monkeypatch.setattr(service_module, "release_kept", self._release)
        monkeypatch.setattr("pwd.getpwuid", {0: "root", ANNA: "anna", BERT: "bert"}.__getitem__)
        monkeypatch.setattr("app.dbus.polkit._has_account", {ANNA, BERT}.__contains__)
        self.helper = Helper(
            cast("Any", SimpleNamespace(disks=SimpleNamespace(policy=Policy()), is_at_work=False))
        )

    def _bus_of(self, *_: object) -> Any:  # noqa: ANN401
        return self.bus

    def _session(self, *arguments: Any) -> SessionStandIn:  # noqa: ANN401
        self.sessions.append(SessionStandIn(*arguments))
        return self.sessions[-1]

    def _described(
        self, call: Call, user: int, _disks: object
    ) -> tuple[DescribedPlans, list[tuple[str, ...]]]:
        return describe_plans(call.sender, user, [(PLAN, devices(PLAN))])

    def _release(self, wire: Any, digest: str, user: int, _left: object) -> tuple[str]:  # noqa: ANN401
        self.released.append((wire[4], digest, user))
        return ("wiped",)

    def _read(self, _wire: object, _left: object, _tell: object, is_cancelled: Callable[[], bool]) -> object:
        go_on = threading.Event()
        self.work.put((is_cancelled, go_on))
        assert go_on.wait(LIMIT_S)
        return "called off" if is_cancelled() else "read"

    def ask(
        self, sender: str, method: str, signature: str = "()", *values: object, interactive: bool = True
    ) -> list[Any]:
        """Call a method; what is answered comes into the list that is returned."""
        answers: list[Any] = []
        invocation = SimpleNamespace(
            get_method_name=lambda: method,
            get_interface_name=lambda: "i",
            return_value=answers.append,
            return_dbus_error=lambda error, text: answers.append(f"{error.rpartition('.')[2]} {text}"),
        )
        glib = SimpleNamespace(Variant=lambda _signature, given: given, idle_add=lambda *_: None)
        call = Call(sender, method, load_gio()[1].Variant(signature, values), interactive)
        answer = Reply(
            invocation, cast("Any", glib), "()", lambda refusal: self.helper._refused(call, refusal)
        )
        answer.settle(lambda: self.helper(call, answer))
        if sender in self.bus.asked:
            self.bus.asked.pop(sender)({"UnixUserID": USERS[sender], "ProcessID": 1})
            if USERS[sender] != ROOT:
                self.bus.turn()
        return answers

    def describe(self, sender: str) -> tuple[str, str]:
        answers = self.ask(sender, "Describe", "()")
        self.bus.turn()
        ((plan, _, digest),) = answers
        return plan, digest

    def execute(self, sender: str, user: int, *, plan: tuple[str, str] | None = None) -> list[Any]:
        return self.ask(sender, "Execute", "(ssu)", *(plan or self.describe(sender)), user)

    def begin(self) -> tuple[SessionStandIn, str]:
        """Let Anna's session begin; return it with its handle."""
        answers = self.execute(MINE, ANNA)
        self.bus.answer(authorized=True)
        session = self.sessions[-1]
        session.teller.claimed()
        while not answers:
            self.bus.turn()
        ((handle,),) = answers
        return session, handle

    def look(self) -> None:
        """Let the time come at which the helper looks whether it is needed."""
        self.helper._look()

    def leave(self, name: str) -> None:
        self.bus.watched[name]()


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    return World(monkeypatch)


WIRE = identity_to_wire(disk(1))
INSPECT = f"(a{IDENTITY})"


# --- each method for whom it is


@pytest.mark.parametrize("method", ["", "Missing", "version"])
def test_unknown_method_refused_before_asking(world: World, method: str) -> None:
    assert world.ask(MINE, method) == ["NotAuthorized denied"]
    assert world.bus.asked == {}


def test_version_for_anyone_without_asking(world: World) -> None:
    assert [len(answer) for answer in world.ask(MINE, "Version")] == [3]
    assert world.bus.calls == []


@pytest.mark.parametrize("interactive", [True, False])
def test_only_authorised_learn_what_disks_hold(world: World, *, interactive: bool) -> None:
    denied = world.ask(MINE, "Inspect", INSPECT, [WIRE], interactive=interactive)
    assert [call[1][1] for call in world.bus.calls] == [Access.INSPECT]
    assert world.bus.calls[0][1][0] == ("system-bus-name", {"name": MINE})
    world.bus.answer()
    assert denied == ["NotAuthorized denied"]
    asked = world.ask(MINE, "Inspect", INSPECT, [WIRE], interactive=interactive)
    world.bus.answer(challenge=True)
    assert len(world.bus.calls) == (3 if interactive else 2)
    if interactive:
        world.bus.answer(authorized=True)
        world.bus.turn()
        assert asked == [([("8:16", "spare")],)]
    else:
        assert asked == ["NotAuthorized challenge"]


def test_inspections_at_once_are_limited(world: World) -> None:
    for count, refused in ((64, False), (65, True)):
        answers = world.ask(MINE, "Inspect", INSPECT, [WIRE] * count)
        world.bus.answer(authorized=True)
        if not refused:
            world.bus.turn()
        assert (answers == ["TooMany TooMany"]) is refused


def test_session_handle_bits(world: World) -> None:
    _, handle = world.begin()
    assert re.fullmatch("[0-9a-f]{32}", handle), "128 bits"
    assert len(set(handle)) > 4


@pytest.mark.parametrize("method", [each.name for each in METHODS if each.access is Access.OWNER])
def test_session_belongs_to_its_caller(world: World, method: str) -> None:
    assert world.ask(MINE, method, "(s)", "") == ["Unknown Unknown"], "there is none"
    session, handle = world.begin()
    before = list(session.done)
    assert world.ask(MINE, method, "(s)", handle[:-1]) == ["Unknown Unknown"]
    assert world.ask(MINE, method, "(s)", "\N{SNOWMAN}") == ["Unknown Unknown"]
    assert world.ask(OTHERS, method, "(s)", handle) == ["Unknown Unknown"]
    assert world.ask(ROOTS, method, "(s)", handle) == ["Unknown Unknown"]
    assert session.done == before


def test_the_owner_is_served(world: World) -> None:
    session, handle = world.begin()
    for method, signature, values, done in (
        ("Make", "(su)", (1,), ("make", 1)),
        ("Renew", "(s)", (), "check"),
        ("Unmake", "(s)", (), "unmake"),
        ("Limit", "(st)", (7,), ("limit", 7)),
        ("Release", "(s)", (), ("release", None)),
    ):
        answers = world.ask(MINE, method, signature, handle, *values)
        world.bus.turn()
        assert (answers, session.done[-1]) == ([()], done)


def test_what_cannot_be_done_is_the_answer(world: World) -> None:
    session, handle = world.begin()
    session.answer = MethodError("Unavailable", "no-controller")
    answers = world.ask(MINE, "Limit", "(st)", handle, 7)
    world.bus.turn()
    assert answers == ["Unavailable no-controller"]


def test_cache_drops_are_rate_limited_for_all(world: World) -> None:
    session, handle = world.begin()
    assert world.ask(MINE, "DropCaches", "(s)", handle) == []
    world.bus.turn()
    world.clock.now_s += 7.5
    assert world.ask(MINE, "DropCaches", "(s)", handle) == ["TooSoon 3"]
    world.clock.now_s += 2.5
    assert world.ask(MINE, "DropCaches", "(s)", handle) == []
    assert session.done.count("drop") == 2
    for _ in range(2):
        assert world.ask(MINE, "Limit", "(st)", handle, 7) == [], "what has no pace is done at once"


def test_who_may_inspect_sees_a_kept_disk(world: World) -> None:
    denied = world.ask(MINE, "InspectKept", f"({IDENTITY})", WIRE)
    assert [call[1][1] for call in world.bus.calls] == [Access.INSPECT]
    world.bus.answer()
    assert denied == ["NotAuthorized denied"]
    shown = world.ask(MINE, "InspectKept", f"({IDENTITY})", WIRE)
    world.bus.answer(authorized=True)
    world.bus.turn()
    assert shown == [("8:16", "digest")]


# --- who may erase


@pytest.mark.parametrize("may", [True, False])
def test_kept_disk_released_after_authorisation(world: World, *, may: bool) -> None:
    answers = world.ask(MINE, "ReleaseKept", f"({IDENTITY}s)", WIRE, "seen")
    world.bus.turn()
    _, (_, action, details, *_), *_ = world.bus.calls[-1]
    assert (action, details["disks"]) == (Access.ERASE, "MODEL SERIAL1")
    assert "release $(disks)" in details["polkit.message"]
    assert (answers, world.released) == ([], []), "nothing before the answer"
    world.bus.answer(authorized=may)
    if may:
        world.bus.turn()
    assert answers == ([("wiped",)] if may else ["NotAuthorized denied"])
    assert world.released == ([("8:16", "seen", ANNA)] if may else [])


def test_one_erase_dialog_per_user(world: World) -> None:
    world.ask(MINE, "ReleaseKept", f"({IDENTITY}s)", WIRE, "seen")
    world.bus.turn()
    assert world.execute(MINE, ANNA) == ["Busy asked"]


def test_who_leaves_releases_nothing(world: World) -> None:
    world.ask(MINE, "ReleaseKept", f"({IDENTITY}s)", WIRE, "seen")
    world.bus.turn()
    world.leave(MINE)
    assert world.released == []


def test_the_disks_are_named_to_whoever_authorises(world: World) -> None:
    world.execute(MINE, ANNA)
    _, (_, action, details, *_), *_ = world.bus.calls[-1]
    assert action == Access.ERASE
    assert "SERIAL1" in details["disks"]
    assert "$(disks)" in details["polkit.message"]


def test_unauthorised_plan_is_spent(world: World) -> None:
    plan = world.describe(MINE)
    answers = world.execute(MINE, ANNA, plan=plan)
    world.bus.answer()
    assert answers == ["NotAuthorized denied"]
    assert world.sessions == []
    assert world.execute(MINE, ANNA, plan=plan) == ["Unknown Unknown"]


@pytest.mark.parametrize(
    ("sender", "user", "may"),
    [
        (MINE, ANNA, True),
        (MINE, BERT, False),
        (MINE, ROOT, False),
        (ROOTS, ANNA, True),
        (ROOTS, ROOT, False),
        (ROOTS, 4711, False),
    ],
)
def test_storage_owner_is_caller_unless_root(world: World, sender: str, user: int, *, may: bool) -> None:
    answers = world.execute(sender, user)
    assert (answers == []) is may
    assert (len(world.bus.calls) == 1) is may
    if may:
        world.bus.answer(authorized=True)
        assert world.sessions[-1].user == user
    else:
        assert answers == ["BadUser BadUser"]


def test_plan_executed_as_described(world: World) -> None:
    plan, digest = world.describe(MINE)
    assert world.execute(OTHERS, BERT, plan=(plan, digest)) == ["Unknown Unknown"]
    assert world.execute(MINE, ANNA, plan=(plan, digest[:-1])) == ["Unknown Unknown"]
    assert world.execute(MINE, ANNA, plan=("", digest)) == ["Unknown Unknown"]
    assert world.execute(MINE, ANNA, plan=(plan, digest)) == []


def test_plans_that_wait_are_few(world: World) -> None:
    for _ in range(MOST_FOR_ONE):
        world.describe(MINE)
    assert world.ask(MINE, "Describe") == ["TooMany TooMany"]
    world.leave(MINE)
    world.describe(MINE)


def test_one_session_at_a_time(world: World) -> None:
    plan = world.describe(ROOTS)
    late = world.execute(OTHERS, BERT)
    dialog = world.bus.calls[-1][3]
    session, _ = world.begin()
    assert late == ["Busy overtaken"]
    assert dialog is not None
    dialog(world.bus, ((True, False, {}),))
    assert len(world.sessions) == 1
    assert world.execute(ROOTS, ANNA, plan=plan) == ["Busy Busy"]
    session.teller.ended(None, ())
    for _ in range(2):
        world.bus.turn()
    assert session.done == ["start", "join"]
    assert world.execute(ROOTS, ANNA, plan=plan) == [], "and the plan was not spent"


def test_authorised_after_another_session_began(world: World) -> None:
    world.begin()
    call = Call(OTHERS, "Execute", None, interactive=True)
    taken = world.sessions[-1].taken
    with pytest.raises(MethodError) as caught:
        world.helper._begin(call, cast("Any", None), taken, BERT, None)
    assert (caught.value.code, caught.value.text) == ("Busy", "overtaken")
    assert len(world.sessions) == 1


def test_authorised_after_caller_left(world: World) -> None:
    taken, _ = describe_plans(MINE, ANNA, [(PLAN, devices(PLAN))])
    with pytest.raises(MethodError) as caught:
        world.helper._begin(
            Call(MINE, "Execute", None, interactive=True), cast("Any", None), taken, ANNA, None
        )
    assert (caught.value.code, world.sessions) == ("Unknown", [])


def test_unavailable_disks_free_the_place(world: World) -> None:
    answers = world.execute(MINE, ANNA)
    world.bus.answer(authorized=True)
    world.sessions[-1].teller.refused(MethodError("DiskRefused", "8:16 D05"))
    for _ in range(2):
        world.bus.turn()
    assert answers == ["DiskRefused 8:16 D05"]
    world.begin()
