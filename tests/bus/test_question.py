"""What polkit is asked: about the connection of the caller, never about a process id."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("gi")

from app.dbus.polkit import Authorization, AuthorizationRequest


class Authority:
    """Stands for the connection to the bus: keeps what it is asked, and answers when told."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Any]] = []
        self.finish: list[Callable[[Any, Any], None]] = []

    def call(self, *values: Any) -> None:  # noqa: ANN401 - as Gio's
        _, _, _, method, arguments, *_, done = values
        self.asked.append((method, arguments.unpack()))
        self.finish.append(done)

    def call_finish(self, result: Any) -> Any:  # noqa: ANN401
        return result


class Answer:
    def __init__(self, *, authorized: bool, challenge: bool) -> None:
        self._values: tuple[bool, bool, dict[str, str]] = (authorized, challenge, {})

    def unpack(self) -> tuple[tuple[bool, bool, dict[str, str]]]:
        return (self._values,)


def test_polkit_subject_and_first_without_dialog() -> None:
    bus, answers = Authority(), list[Authorization]()
    AuthorizationRequest(bus, answers.append).ask(":1.7", "an.action", {"disks": "S1"}, interactive=True)
    bus.finish[0](bus, Answer(authorized=False, challenge=True))
    bus.finish[1](bus, Answer(authorized=True, challenge=False))
    assert answers == [Authorization.AUTHORIZED]
    assert [method for method, _ in bus.asked] == ["CheckAuthorization"] * 2
    subjects = [arguments[0] for _, arguments in bus.asked]
    assert subjects == [("system-bus-name", {"name": ":1.7"})] * 2
    assert [arguments[3] for _, arguments in bus.asked] == [0, 1], "AllowUserInteraction, at last"


def test_forbidden_dialog_not_requested() -> None:
    bus, answers = Authority(), list[Authorization]()
    AuthorizationRequest(bus, answers.append).ask(":1.7", "an.action", {}, interactive=False)
    bus.finish[0](bus, Answer(authorized=False, challenge=True))
    assert (answers, len(bus.asked)) == ([Authorization.CHALLENGE], 1)
