"""What may be asked of a session in each of its states, and what becomes of what was asked before its end."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from types import SimpleNamespace
from typing import Any, cast

import pytest

from app.dbus.service import MethodError
from app.domain.disk import UnreleasedItem
from app.domain.errors import CancelledError, FootingError
from app.helper.session import session
from app.helper.session.session import MOST_WAITING, Session, SessionState
from app.helper.storage.leftovers import Leftovers

LIMIT_S = 30.0


class World:
    """What the stand-ins of a session do, and what they were asked for, in order."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.signals: SimpleQueue[tuple[str, tuple[Any, ...]]] = SimpleQueue()
        self.fails: dict[str, Exception] = {}
        self.left: dict[str, tuple[UnreleasedItem, ...]] = {}
        self.gates: dict[str, threading.Event] = {}
        self.begun: SimpleQueue[str] = SimpleQueue()

    def do(self, name: str) -> None:
        """Do something, as slowly and as well as the test says."""
        self.done.append(name)
        self.begun.put(name)
        if name in self.gates:
            assert self.gates[name].wait(LIMIT_S)
        if name in self.fails:
            raise self.fails[name]

    def hold(self, name: str) -> Callable[[], None]:
        """Let something not end before what is returned is called."""
        self.gates[name] = threading.Event()
        return self.gates[name].set

    def await_begin(self, name: str) -> None:
        while self.begun.get(timeout=LIMIT_S) != name:
            pass

    def hear(self, *names: str) -> tuple[Any, ...]:
        """Return the values of the next that the owner is told, which has one of these names."""
        name, values = self.signals.get(timeout=LIMIT_S)
        assert name in names
        return values

    # --- what stands for the parts of a session

    def claim(self, *_: object) -> Any:  # noqa: ANN401
        return SimpleNamespace(
            held={},
            take=lambda: self.do("take"),
            keep=lambda: self.do("keep"),
            release_for_programs=lambda: self.do("release_for_programs"),
            drop=lambda: self.do("drop"),
        )

    def made(self, layout: Any, *_: object) -> Any:  # noqa: ANN401
        (node,) = layout.disks()
        return SimpleNamespace(
            layout=layout,
            make=lambda: self.do(f"make {node}"),
            unmake=lambda _spared: self.do(f"unmake {node}"),
            places=lambda: (node,),
            left=lambda: self.left.get(node, ()),
            group=SimpleNamespace(limit=lambda number: self.do(f"limit {number}")),
        )

    def __getattr__(self, name: str) -> Callable[..., None]:
        """Be told as the owner."""
        return lambda *values: self.signals.put((name, values))


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    world = World()
    monkeypatch.setattr(session, "DiskLocks", world.claim)
    monkeypatch.setattr(session, "ProvisionedStorage", world.made)
    return world


@pytest.fixture
def leftovers() -> Leftovers:
    disks = SimpleNamespace(identify=None, refusals=None, release=print, users=None, places=None)
    return Leftovers(cast("Any", None), cast("Any", disks))


@pytest.fixture
def tried(world: World, leftovers: Leftovers) -> Iterator[Session]:
    """A session of three layouts, of one disk, another, and both; it has not begun."""
    layouts = tuple(
        SimpleNamespace(id=uuid.uuid4(), disks=lambda nodes=nodes: dict.fromkeys(nodes), written_ends=tuple)
        for nodes in (("/dev/a",), ("/dev/b",), ("/dev/a", "/dev/b"))
    )
    described = SimpleNamespace(layouts=layouts, disks=dict)
    tried = Session(cast("Any", described), 1000, leftovers, cast("Any", world))
    yield tried
    for gate in world.gates.values():
        gate.set()
    tried.release()
    if tried._thread.is_alive():
        tried.join()


@pytest.fixture
def idle(world: World, tried: Session) -> Session:
    tried.start()
    world.hear("claimed")
    return tried


@pytest.fixture
def ready(world: World, idle: Session) -> Session:
    idle.make(0)
    assert world.hear("ready") == ("/dev/a",)
    return idle


def now(session: Session) -> SessionState:
    return session.state


def refused(action: Callable[[], object]) -> str:
    with pytest.raises(MethodError) as caught:
        action()
    return caught.value.code


# --- what may be asked when


def test_what_was_not_described_is_not_made(idle: Session) -> None:
    assert refused(lambda: idle.make(3)) == "Unknown"
    assert now(idle) is SessionState.IDLE


def test_nothing_made_before_the_claim(world: World, tried: Session) -> None:
    go_on = world.hold("take")
    tried.start()
    world.await_begin("take")
    assert (now(tried), tried.is_working) == (SessionState.CLAIMING, True)
    assert refused(lambda: tried.make(0)) == "Busy"
    assert refused(tried.unmake) == "Busy"
    assert refused(lambda: tried.limit(print, 1)) == "Busy"
    go_on()
    world.hear("claimed")
    assert (now(tried), tried.is_working) == (SessionState.IDLE, False)
    tried.check_goes_on()


def test_nothing_unmade_or_used_before_made(idle: Session) -> None:
    assert refused(idle.unmake) == "Unknown"
    assert refused(lambda: idle.limit(print, 1)) == "Unknown"


def test_one_make_at_a_time(world: World, idle: Session) -> None:
    go_on = world.hold("make /dev/a")
    idle.make(0)
    assert now(idle) is SessionState.MAKING
    assert refused(lambda: idle.make(1)) == "Busy"
    assert refused(lambda: idle.limit(print, 1)) == "Busy"
    go_on()
    world.hear("ready")
    assert now(idle) is SessionState.READY
    assert refused(lambda: idle.make(1)) == "Busy"
    assert "make /dev/b" not in world.done


def test_ending_session_takes_no_requests(world: World, ready: Session) -> None:
    go_on = world.hold("unmake /dev/a")
    ready.release()
    world.await_begin("unmake /dev/a")
    assert (now(ready), ready.is_working) == (SessionState.ENDING, True)
    for action in (
        lambda: ready.make(0),
        ready.unmake,
        ready.check_goes_on,
        lambda: ready.health(print),
        lambda: ready.limit(print, 1),
    ):
        assert refused(action) == "Busy"
    go_on()
    assert world.hear("ended") == (None, ())


def test_no_more_waits_than_a_session_takes(world: World, ready: Session) -> None:
    answers: SimpleQueue[Any] = SimpleQueue()
    go_on = world.hold("limit 0")
    ready.limit(answers.put, 0)
    world.await_begin("limit 0")
    for number in range(MOST_WAITING):
        ready.limit(answers.put, number + 1)
    assert refused(lambda: ready.limit(answers.put, 99)) == "TooMany"
    go_on()
    assert [answers.get(timeout=LIMIT_S) for _ in range(MOST_WAITING + 1)] == [None] * (MOST_WAITING + 1)


def test_storage_requests_dropped_before_unmake(world: World, ready: Session) -> None:
    answers: SimpleQueue[Any] = SimpleQueue()
    go_on = world.hold("limit 1")
    ready.limit(answers.put, 1)
    world.await_begin("limit 1")
    ready.limit(answers.put, 2)
    ready.unmake()
    go_on()
    assert answers.get(timeout=LIMIT_S) is None
    assert answers.get(timeout=LIMIT_S).code == "Busy"
    assert "limit 2" not in world.done
    world.hear("unmade")


@pytest.mark.expects_log
@pytest.mark.parametrize(
    ("error", "code"),
    [
        (MethodError("Unavailable"), "Unavailable"),
        (CancelledError("x"), "Busy"),
        (ZeroDivisionError(), "Failed"),
    ],
)
def test_error_is_answered_and_session_continues(
    world: World, ready: Session, error: Exception, code: str
) -> None:
    answers: SimpleQueue[Any] = SimpleQueue()
    world.fails["limit 1"] = error
    ready.limit(answers.put, 1)
    assert answers.get(timeout=LIMIT_S).code == code
    ready.limit(answers.put, 2)
    assert answers.get(timeout=LIMIT_S) is None


# --- disks that cannot be had


@pytest.mark.expects_log
@pytest.mark.parametrize(
    ("error", "code"), [(MethodError("DiskRefused", "8:16 D05"), "DiskRefused"), (OSError(), "Failed")]
)
def test_without_its_disks_a_session_is_over(
    world: World, tried: Session, leftovers: Leftovers, error: Exception, code: str
) -> None:
    world.fails["take"] = error
    assert len(leftovers.live) == 3
    tried.start()
    (refusal,) = world.hear("refused")
    assert refusal.code == code
    tried.join()
    assert leftovers.live == set()
    assert world.done == ["take"]


def test_release_while_claiming(world: World, tried: Session) -> None:
    go_on = world.hold("take")
    tried.start()
    world.await_begin("take")
    tried.release()
    go_on()
    world.hear("claimed")
    assert world.hear("ended") == (None, ())
    assert now(tried) is SessionState.ENDING
    assert world.done == ["take", "drop"]


# --- making


def test_stop_while_making(world: World, idle: Session) -> None:
    go_on = world.hold("make /dev/a")
    idle.make(0)
    world.await_begin("make /dev/a")
    idle.unmake()
    assert now(idle) is SessionState.UNMAKING
    unmade = world.hold("unmake /dev/a")
    go_on()
    world.hear("ready")
    assert now(idle) is SessionState.UNMAKING
    unmade()
    assert world.hear("unmade") == (None, ())
    assert now(idle) is SessionState.IDLE
    assert world.done[-2:] == ["unmake /dev/a", "keep"]


def test_cancelled_make_is_reported_once(world: World, idle: Session) -> None:
    go_on = world.hold("make /dev/a")
    world.fails["make /dev/a"] = CancelledError("stopped")
    idle.make(0)
    world.await_begin("make /dev/a")
    idle.unmake()
    go_on()
    error, left = world.hear("unmade")
    assert (error.message, left) == ("stopped", ())
    idle.release()
    assert world.hear("ended") == (None, ())
    assert "unmake /dev/a" not in world.done


def test_unlendable_disks_are_not_written(world: World, idle: Session) -> None:
    world.fails["release_for_programs"] = FootingError("udev hangs")
    idle.make(0)
    error, left = world.hear("unmade")
    assert (error.message, left) == ("udev hangs", ())
    assert "make /dev/a" not in world.done
    assert now(idle) is SessionState.IDLE
    assert world.done[-1] == "keep"


def test_failed_undo_stays_until_done(world: World, idle: Session) -> None:
    world.fails["make /dev/a"] = FootingError("no space")
    world.left["/dev/a"] = (UnreleasedItem("/dev/a"),)
    idle.make(0)
    error, left = world.hear("unmade")
    assert (error.message, left) == ("no space", (UnreleasedItem("/dev/a"),))
    assert now(idle) is SessionState.STUCK
    assert world.done[-1] == "make /dev/a", "what holds the disks is left to it"
    world.left.clear()
    idle.unmake()
    assert world.hear("unmade") == (None, ())
    assert now(idle) is SessionState.IDLE


def test_end_while_making_unmakes(world: World, idle: Session) -> None:
    go_on = world.hold("make /dev/a")
    idle.make(0)
    world.await_begin("make /dev/a")
    idle.release()
    go_on()
    world.hear("ready")
    assert world.hear("ended") == (None, ())
    assert now(idle) is SessionState.ENDING
    assert world.done[-2:] == ["unmake /dev/a", "drop"]


# --- how it ends


def test_release_while_unmaking(world: World, ready: Session) -> None:
    go_on = world.hold("unmake /dev/a")
    ready.unmake()
    world.await_begin("unmake /dev/a")
    ready.release()
    go_on()
    assert world.hear("unmade") == (None, ())
    assert world.hear("ended") == (None, ())
    assert now(ready) is SessionState.ENDING


def test_first_reason_ends_the_session(world: World, ready: Session) -> None:
    go_on = world.hold("unmake /dev/a")
    ready.release(FootingError("twelve hours are over"))
    ready.release()
    ready.release(FootingError("the owner has left"))
    go_on()
    error, left = world.hear("ended")
    assert (error.message, left) == ("twelve hours are over", ())


def test_failed_unmake_is_the_reason(world: World, ready: Session) -> None:
    world.fails["unmake /dev/a"] = FootingError("it is busy")
    world.left["/dev/a"] = (UnreleasedItem("/dev/a"),)
    ready.release(FootingError("the owner has left"))
    error, left = world.hear("ended")
    assert (error.message, left) == ("it is busy", (UnreleasedItem("/dev/a"),))
    assert world.done[-1] == "drop", "the disks are given back to the kernel whatever happened"


def test_two_leftover_disks_kept_until_released(world: World, ready: Session) -> None:
    world.fails["unmake /dev/a"] = FootingError("a is busy")
    world.fails["unmake /dev/b"] = FootingError("b is busy")
    ready.unmake()
    world.hear("unmade")
    ready.make(1)
    world.hear("ready")
    ready.unmake()
    world.hear("unmade")
    ready.make(2)
    error, _ = world.hear("unmade")
    assert error.message == "a is busy"
    del world.fails["unmake /dev/a"]
    ready.make(2)
    error, _ = world.hear("unmade")
    assert error.message == "b is busy"
    world.done.clear()
    ready.release()
    error, _ = world.hear("ended")
    assert error.message == "b is busy"
    assert world.done == ["unmake /dev/b", "drop"], "what was given back is not touched again"


def test_later_unmade_disk_hides_no_other_error(world: World, ready: Session) -> None:
    world.fails["unmake /dev/a"] = FootingError("a is busy")
    ready.unmake()
    world.hear("unmade")
    ready.make(1)
    assert world.hear("ready") == ("/dev/b",)
    del world.fails["unmake /dev/a"]
    world.fails["unmake /dev/b"] = FootingError("b is busy")
    world.left["/dev/b"] = (UnreleasedItem("/dev/b"),)
    ready.release()
    error, left = world.hear("ended")
    assert (error.message, left) == ("b is busy", (UnreleasedItem("/dev/b"),))
    assert world.done[-3:] == ["unmake /dev/b", "unmake /dev/a", "drop"]


def test_later_unmade_disk_ends_session_well(world: World, ready: Session) -> None:
    world.fails["unmake /dev/a"] = FootingError("a is busy")
    ready.unmake()
    world.hear("unmade")
    ready.make(1)
    world.hear("ready")
    del world.fails["unmake /dev/a"]
    ready.release()
    assert world.hear("ended") == (None, ())


@pytest.mark.expects_log
def test_error_reported_despite_later_success(world: World, ready: Session) -> None:
    answers: SimpleQueue[Any] = SimpleQueue()
    go_on = world.hold("limit 1")
    ready.limit(answers.put, 1)
    world.await_begin("limit 1")
    ready._work.put(lambda: cast("None", 1 // 0))
    ready._work.put(lambda: None)
    go_on()
    error, left = world.hear("ended")
    assert isinstance(error, FootingError)
    assert left == ()
    assert now(ready) is SessionState.ENDING
