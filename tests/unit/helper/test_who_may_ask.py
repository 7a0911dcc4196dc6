"""Who calls, how much they may ask at a time, what polkit's answers mean; a fake bus answers when told to."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from queue import SimpleQueue
from types import SimpleNamespace
from typing import Any, cast

import pytest

from app.dbus import polkit as callers_module
from app.dbus.polkit import (
    MOST_WAITING,
    Authorization,
    AuthorizationRequest,
    Caller,
    Callers,
    OpenQuestions,
    QuestionLimit,
    parse_answer,
)
from app.dbus.service import Call, MethodError, Reply, load_gio
from app.dbus.worker import MOST, MOST_OF_ONE_USER, Worker

gi = pytest.importorskip("gi")
LIMIT_S = 30.0
ANNA, BERT = 1000, 1001


class Bus:
    """Stands for `BusService`, and for its connection: what is asked is answered by the test."""

    def __init__(self) -> None:
        self.watched: dict[str, Callable[[], None]] = {}
        self.asked: dict[str, Callable[[Mapping[str, Any]], None]] = {}
        self.actions: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self.calls: list[tuple[str, Any, int, Callable[[Any, Any], None] | None]] = []
        self.connection = self

    def watch(self, name: str, vanished: Callable[[], None]) -> None:
        self.watched[name] = vanished

    def unwatch(self, name: str) -> None:
        del self.watched[name]

    def ask_credentials(self, name: str, done: Callable[[Mapping[str, Any]], None]) -> None:
        self.asked[name] = done

    def soon(self, action: Callable[[], None]) -> None:
        self.actions.put(action)

    def turn(self) -> None:
        """Do what the main loop was asked to do next."""
        self.actions.get(timeout=LIMIT_S)()

    def call(self, *arguments: Any) -> None:  # noqa: ANN401
        _, _, _, method, content, _, _, timeout_ms, _, done = arguments
        self.calls.append((method, content.unpack(), timeout_ms, done))

    def call_finish(self, result: Any) -> Any:  # noqa: ANN401
        if isinstance(result, Exception):
            raise result
        return SimpleNamespace(unpack=lambda: result)

    def answer(self, *, authorized: bool = False, challenge: bool = False, dismissed: bool = False) -> None:
        """Let polkit answer what it was asked last."""
        details = {"polkit.dismissed": "true"} if dismissed else {}
        self.fail(((authorized, challenge, details),))

    def fail(self, result: Any) -> None:  # noqa: ANN401
        done = self.calls[-1][3]
        assert done is not None
        done(self, result)


class Asked:
    """One call, and how it was answered."""

    def __init__(self, name: str = ":1.1") -> None:
        self.answers: list[str] = []
        invocation = SimpleNamespace(
            get_method_name=lambda: "Describe",
            get_interface_name=lambda: "i",
            return_value=lambda value: self.answers.append(f"value {value}"),
            return_dbus_error=lambda error, text: self.answers.append(f"{error.rpartition('.')[2]} {text}"),
        )
        glib = SimpleNamespace(Variant=lambda _signature, values: values[0], idle_add=lambda *_: None)
        self.answer = Reply(invocation, cast("Any", glib), "(s)", lambda _refusal: None)
        self.call = Call(name, "Describe", None, interactive=False)

    def answer_with(self, text: str) -> Callable[..., None]:
        return lambda *_: self.answer.give(text)


@pytest.fixture
def made_bus() -> Bus:
    return Bus()


@pytest.fixture
def left() -> list[str]:
    return []


@pytest.fixture
def callers(made_bus: Bus, left: list[str], monkeypatch: pytest.MonkeyPatch) -> Callers:
    monkeypatch.setattr(callers_module, "_has_account", {ANNA, BERT}.__contains__)
    return Callers(cast("Any", made_bus), left.append)


def refused(action: Callable[[], object]) -> str:
    with pytest.raises(MethodError) as caught:
        action()
    return caught.value.code


# --- who calls


def test_connection_identified_once_calls_wait(made_bus: Bus, callers: Callers) -> None:
    first, second, third = Asked(), Asked(), Asked()
    met: list[Caller] = []
    for each in (first, second):
        callers.meet(each.call, each.answer, met.append)
    assert (callers.is_busy, callers.has(":1.1"), callers.user_of(":1.1")) == (True, False, None)
    assert list(made_bus.asked) == [":1.1"]
    made_bus.asked.pop(":1.1")({"UnixUserID": ANNA, "ProcessID": 77})
    assert met == []
    made_bus.turn()
    assert met == [Caller(":1.1", ANNA, 77)] * 2
    assert (callers.is_busy, callers.has(":1.1"), callers.user_of(":1.1")) == (False, True, ANNA)
    callers.meet(third.call, third.answer, third.answer_with("known"))
    assert (made_bus.asked, third.answers) == ({}, ["value known"])


def test_root_is_not_looked_up(made_bus: Bus, callers: Callers) -> None:
    asked = Asked()
    callers.meet(asked.call, asked.answer, asked.answer_with("you are root"))
    made_bus.asked[":1.1"]({"UnixUserID": 0})
    assert asked.answers == ["value you are root"]
    assert callers.user_of(":1.1") == 0


@pytest.mark.parametrize("credentials", [{"UnixUserID": 4711}, {"ProcessID": 77}, {}])
def test_no_account_or_nobody_is_refused(
    made_bus: Bus, callers: Callers, credentials: Mapping[str, int]
) -> None:
    asked = Asked()
    callers.meet(asked.call, asked.answer, asked.answer_with("never"))
    made_bus.asked[":1.1"](credentials)
    if "UnixUserID" in credentials:
        made_bus.turn()
    assert asked.answers == ["NotAuthorized no-account"]
    assert (callers.has(":1.1"), callers.is_busy) == (False, False)


def test_calls_awaiting_identification_are_limited(made_bus: Bus, callers: Callers) -> None:
    waiting = [Asked() for _ in range(MOST_WAITING)]
    for each in waiting:
        callers.meet(each.call, each.answer, each.answer_with("answered"))
    late, other = Asked(), Asked(":1.2")
    assert refused(lambda: callers.meet(late.call, late.answer, late.answer_with("never"))) == "TooMany"
    callers.meet(other.call, other.answer, other.answer_with("answered"))
    made_bus.asked[":1.1"]({"UnixUserID": ANNA})
    made_bus.turn()
    assert {answer for each in waiting for answer in each.answers} == {"value answered"}
    assert (len(waiting), late.answers, other.answers) == (MOST_WAITING, [], [])


def test_departed_caller_is_forgotten(made_bus: Bus, callers: Callers, left: list[str]) -> None:
    asked = Asked()
    callers.meet(asked.call, asked.answer, asked.answer_with("never"))
    made_bus.asked[":1.1"]({"UnixUserID": ANNA})
    made_bus.watched[":1.1"]()
    assert (asked.answers, left) == (["Unknown Unknown"], [":1.1"])
    made_bus.turn()
    assert not callers.has(":1.1")
    other = Asked(":1.2")
    callers.meet(other.call, other.answer, other.answer_with("met"))
    made_bus.asked[":1.2"]({"UnixUserID": 0})
    made_bus.watched[":1.2"]()
    assert (callers.user_of(":1.2"), left) == (None, [":1.1", ":1.2"])


def test_accounts_are_those_of_the_machine() -> None:
    assert callers_module._has_account(0)
    assert not callers_module._has_account(2**31 - 7)


# --- what is worked on


class Task:
    """Work that ends when the test says so."""

    def __init__(self, asked: Asked, error: Exception | None = None) -> None:
        self.begun = threading.Event()
        self.go_on = threading.Event()
        self._asked, self._error = asked, error

    def __call__(self) -> Callable[[], None]:
        self.begun.set()
        assert self.go_on.wait(LIMIT_S)
        if self._error:
            raise self._error
        return self._asked.answer_with("done")

    def end(self, made_bus: Bus) -> None:
        assert self.begun.wait(LIMIT_S)
        self.go_on.set()
        made_bus.turn()


def add(worker: Worker, user: int, number: int, error: Exception | None = None) -> tuple[Asked, Task]:
    asked = Asked(f":{user}.{number}")
    task = Task(asked, error)
    worker.add(Caller(asked.call.sender, user, 1), asked.answer, task)
    return asked, task


def test_one_call_per_user_at_a_time(made_bus: Bus) -> None:
    worker = Worker(cast("Any", made_bus), "tried")
    first, one = add(worker, ANNA, 1)
    second, two = add(worker, ANNA, 2)
    other, three = add(worker, BERT, 1)
    three.end(made_bus)
    assert (other.answers, two.begun.is_set()) == (["value done"], False)
    one.end(made_bus)
    assert (first.answers, second.answers) == (["value done"], [])
    assert worker.is_busy
    two.end(made_bus)
    assert (second.answers, worker.is_busy) == (["value done"], False)


def test_calls_limited_by_connection_and_user(made_bus: Bus) -> None:
    worker = Worker(cast("Any", made_bus), "tried")
    tasks = [add(worker, ANNA, number)[1] for number in range(MOST_OF_ONE_USER)]
    assert refused(lambda: add(worker, ANNA, 0)) == "TooMany"
    assert refused(lambda: add(worker, ANNA, 99)) == "TooMany"
    _, own = add(worker, BERT, 1)
    assert refused(lambda: add(worker, BERT, 1)) == "TooMany"
    for task in (own, *tasks):
        task.end(made_bus)
    _, again = add(worker, ANNA, 0)
    again.end(made_bus)


def test_total_calls_limited_root_has_its_own(made_bus: Bus) -> None:
    worker = Worker(cast("Any", made_bus), "tried")
    tasks = [add(worker, 2000 + number, 1)[1] for number in range(MOST)]
    assert refused(lambda: add(worker, ANNA, 1)) == "TooMany"
    asked, own = add(worker, 0, 1)
    own.end(made_bus)
    assert asked.answers == ["value done"]
    for task in tasks:
        task.begun.wait(LIMIT_S)
        task.go_on.set()
    for _ in tasks:
        made_bus.turn()


def test_departed_caller_begins_nothing_keeps_place(made_bus: Bus) -> None:
    worker = Worker(cast("Any", made_bus), "tried")
    first, one = add(worker, ANNA, 1)
    second, two = add(worker, ANNA, 2)
    for number in (1, 2):
        worker.forget(f":{ANNA}.{number}")
    third, three = add(worker, ANNA, 3)
    fourth, four = add(worker, ANNA, 4)
    assert refused(lambda: add(worker, ANNA, 5)) == "TooMany"
    one.end(made_bus)
    made_bus.turn()
    assert (first.answers, second.answers, two.begun.is_set()) == (["Unknown Unknown"],) * 2 + (False,)
    assert (third.answers, four.begun.is_set()) == ([], False)
    three.end(made_bus)
    four.end(made_bus)
    assert (third.answers, fourth.answers) == (["value done"], ["value done"])


@pytest.mark.expects_log
@pytest.mark.parametrize(
    ("error", "answer"),
    [(MethodError("DiskRefused", "8:16"), "DiskRefused 8:16"), (OSError(), "Failed Failed")],
)
def test_what_goes_wrong_is_answered(made_bus: Bus, error: Exception, answer: str) -> None:
    worker = Worker(cast("Any", made_bus), "tried")
    asked, task = add(worker, ANNA, 1, error)
    task.end(made_bus)
    assert asked.answers == [answer]
    assert not worker.is_busy


# --- what polkit says


def test_only_a_clear_yes_is_one() -> None:
    assert parse_answer(True, False, {}) is Authorization.AUTHORIZED  # noqa: FBT003
    for authorized in (False, None, 1, "true", [True]):
        assert parse_answer(authorized, False, {}) is Authorization.DENIED  # noqa: FBT003
        assert parse_answer(authorized, 1, {}) is Authorization.DENIED
    assert parse_answer(False, True, {}) is Authorization.CHALLENGE  # noqa: FBT003
    assert parse_answer(False, True, {"polkit.dismissed": "true"}) is Authorization.CHALLENGE  # noqa: FBT003
    assert parse_answer(False, False, {"polkit.dismissed": "true"}) is Authorization.DISMISSED  # noqa: FBT003


def ask(made_bus: Bus, *, interactive: bool) -> list[Authorization]:
    said: list[Authorization] = []
    AuthorizationRequest(made_bus, said.append).ask(
        ":1.1", "erase", {"disks": "A"}, interactive=interactive, timeout_s=2
    )
    return said


def test_asking_only_where_a_person_can_help(made_bus: Bus) -> None:
    said = ask(made_bus, interactive=True)
    subject = ("system-bus-name", {"name": ":1.1"})
    assert made_bus.calls[-1][:3] == ("CheckAuthorization", (subject, "erase", {"disks": "A"}, 0, ""), 2000)
    made_bus.answer(challenge=True)
    assert said == []
    method, content, *_ = made_bus.calls[-1]
    assert (len(made_bus.calls), method, content[:4]) == (
        2,
        "CheckAuthorization",
        (subject, "erase", {"disks": "A"}, 1),
    )
    assert len(content[4]) == 32, "by which the dialog can be closed"
    made_bus.answer(authorized=True)
    assert said == [Authorization.AUTHORIZED]
    forbidden = ask(made_bus, interactive=False)
    made_bus.answer(challenge=True)
    assert (forbidden, len(made_bus.calls)) == ([Authorization.CHALLENGE], 3)


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [
        ({"authorized": True}, None, Authorization.AUTHORIZED),
        ({}, None, Authorization.DENIED),
        ({"challenge": True}, {}, Authorization.FAILED),
        ({"challenge": True}, {"dismissed": True}, Authorization.DISMISSED),
        ({"challenge": True}, {"challenge": True}, Authorization.CHALLENGE),
    ],
)
def test_rule_no_differs_from_wrong_password(
    made_bus: Bus, first: dict[str, bool], second: dict[str, bool] | None, verdict: Authorization
) -> None:
    said = ask(made_bus, interactive=True)
    made_bus.answer(**first)
    if second is not None:
        made_bus.answer(**second)
    assert said == [verdict]


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("org.freedesktop.PolicyKit1.Error.Cancelled", Authorization.CANCELLED),
        ("org.freedesktop.PolicyKit1.Error.NotAuthorized", Authorization.DENIED),
        ("org.freedesktop.PolicyKit1.Error.Failed", Authorization.UNAVAILABLE),
        ("org.freedesktop.DBus.Error.ServiceUnknown", Authorization.UNAVAILABLE),
    ],
)
def test_an_error_is_never_a_yes(made_bus: Bus, name: str, verdict: Authorization) -> None:
    gio, _ = load_gio()
    said = ask(made_bus, interactive=True)
    made_bus.fail(gio.DBusError.new_for_dbus_error(name, "x"))
    assert said == [verdict]
    assert len(made_bus.calls) == 1


def test_a_dialog_that_nobody_answers_is_closed(made_bus: Bus) -> None:
    gio, glib = load_gio()
    said = ask(made_bus, interactive=True)
    made_bus.answer(challenge=True)
    cookie = made_bus.calls[-1][1][4]
    late = made_bus.calls[-1][3]
    made_bus.fail(glib.Error.new_literal(gio.io_error_quark(), "late", gio.IOErrorEnum.TIMED_OUT))
    assert said == [Authorization.TIMED_OUT]
    assert made_bus.calls[-1][:2] == ("CancelCheckAuthorization", (cookie,))
    assert late is not None
    late(made_bus, ((True, False, {}),))
    assert said == [Authorization.TIMED_OUT], "what comes after that is nobody's"


def test_cancelled_question_asks_no_more(made_bus: Bus) -> None:
    said: list[Authorization] = []
    question = AuthorizationRequest(made_bus, said.append)
    question.ask(":1.1", "erase", {}, interactive=True)
    first = made_bus.calls[-1][3]
    question.cancel()
    assert (said, made_bus.calls[-1][0]) == ([Authorization.CANCELLED], "CancelCheckAuthorization")
    assert first is not None
    first(made_bus, ((False, True, {}),))
    question.cancel()
    assert (said, len(made_bus.calls)) == ([Authorization.CANCELLED], 2)


PLACES = {
    "erase": QuestionLimit(2, 3, MethodError("Busy", "dialogs")),
    "inspect": QuestionLimit(1, 1, MethodError("TooMany")),
}


def put(questions: OpenQuestions, user: int, number: int, action: str = "erase") -> list[Any]:
    said: list[Any] = []
    caller = Caller(f":{user}.{number}", user, 1)
    questions.ask(caller, action, {}, said.append, interactive=True)
    return said


def test_open_questions_limited_by_kind_and_user(made_bus: Bus) -> None:
    questions = OpenQuestions(cast("Any", made_bus), PLACES)
    assert not questions.are_open
    first = put(questions, ANNA, 1)
    put(questions, ANNA, 2)
    assert refused(lambda: put(questions, ANNA, 3)) == "Busy"
    put(questions, BERT, 1)
    assert refused(lambda: put(questions, 1002, 1)) == "Busy"
    put(questions, ANNA, 3, "inspect")
    put(questions, 0, 1)
    assert len(made_bus.calls) == 5
    done = made_bus.calls[0][3]
    assert done is not None
    done(made_bus, ((True, False, {}),))
    assert first == [Authorization.AUTHORIZED]
    put(questions, 1002, 1)
    assert questions.are_open


def test_dialogs_of_departed_caller_closed_once(made_bus: Bus) -> None:
    questions = OpenQuestions(cast("Any", made_bus), PLACES)
    mine, others = put(questions, ANNA, 1), put(questions, BERT, 1)
    late = made_bus.calls[0][3]
    questions.forget(f":{ANNA}.1")
    assert made_bus.calls[-1][0] == "CancelCheckAuthorization"
    assert mine == []
    made_bus.turn()
    assert (mine, others) == ([Authorization.CANCELLED], [])
    assert late is not None
    late(made_bus, ((True, False, {}),))
    assert mine == [Authorization.CANCELLED]
    assert made_bus.actions.empty()
    assert questions.are_open


def test_cancelled_with_reason_other_actions_open(made_bus: Bus) -> None:
    questions = OpenQuestions(cast("Any", made_bus), PLACES)
    erase, inspect = put(questions, ANNA, 1), put(questions, BERT, 1, "inspect")
    why = MethodError("Busy", "somebody was faster")
    questions.call_off("erase", why)
    made_bus.turn()
    assert (erase, inspect) == ([why], [])
    assert made_bus.actions.empty()
