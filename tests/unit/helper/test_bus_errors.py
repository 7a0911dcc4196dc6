"""What goes wrong on the bus keeps its words, and what was answered is freed once."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from typing_extensions import override

from app.dbus.desktop import InhibitorUnavailable
from app.dbus.helper_client import HelperClient, HelperVersion
from app.dbus.helper_errors import PREFIX, HelperLostError, TooSoonError, UnavailableError, error_of, lost
from app.dbus.service import drop_forgotten_reference


def test_errors_keep_their_words() -> None:
    assert str(InhibitorUnavailable("no bus")) == "no bus"
    assert UnavailableError("It cannot.", reason="no-maintenance").message == "It cannot."
    assert TooSoonError("Later.", wait_s=3).message == "Later."


@pytest.mark.parametrize(
    ("text", "wait_s"),
    [("3", 3), ("60", 60), ("99999", 60), ("100000", 1), ("9" * 5000, 1), ("-3", 1), ("x", 1), ("", 1)],
)
def test_wait_as_stated_but_bounded(text: str, wait_s: int) -> None:
    error = error_of(f"{PREFIX}TooSoon", text, "anna")
    assert isinstance(error, TooSoonError)
    assert error.wait_s == wait_s


def test_reason_for_a_lost_helper() -> None:
    assert lost().message.endswith("no longer answers.")
    assert lost("the connection is closed").message.endswith("no longer answers. (the connection is closed)")
    name = "org.freedesktop.DBus.Error.ServiceUnknown"
    for error, has_reason in (
        (error_of(name, "no such name", "anna", met=True), False),
        (error_of("", "the connection is closed", "anna", met=True), True),
    ):
        assert isinstance(error, HelperLostError)
        assert ("(" in error.message) is has_reason


def test_only_signals_of_its_own_session() -> None:
    client = HelperClient(None, None, ":1.1", HelperVersion("0", 3, test_devices=False))  # type: ignore[arg-type]

    def hear(handle: str) -> bool:
        content = SimpleNamespace(unpack=lambda: (handle, "mkfs"))
        client._on_signal(None, ":1.1", "", "", "Executed", content)
        event = client.next_event(0)
        assert event is None or (event.name, event.values) == ("Executed", ("mkfs",))
        return event is not None

    assert hear("before it knows its own")
    client._session = "mine"
    assert [hear(handle) for handle in ("mine", "another's", "")] == [True, False, False]


def test_busy_names_what_keeps_it() -> None:
    texts = ("", "asked", "overtaken")
    sentences = [error_of(f"{PREFIX}Busy", text, "anna").message for text in texts]
    assert ["Nothing was touched." in each for each in sentences] == [False, True, True]
    assert len(set(sentences)) == 3


@pytest.mark.parametrize(("count", "freed"), [(1, []), (2, [4711]), (3, [])])
def test_only_leaked_reference_is_released(
    monkeypatch: pytest.MonkeyPatch, count: int, freed: list[int]
) -> None:
    class Invocation:
        __grefcount__ = count

        @override
        def __hash__(self) -> int:
            return 4711

    given: list[Any] = []
    library = SimpleNamespace(g_object_unref=lambda pointer: given.append(pointer.value))
    monkeypatch.setattr("ctypes.CDLL", lambda _name: library)
    drop_forgotten_reference(Invocation())
    assert given == freed
