"""A session's thread ends in order also where the helper itself makes a mistake."""

from __future__ import annotations

import uuid
from types import SimpleNamespace
from typing import Any, cast

import pytest

from app.domain.errors import FootingError
from app.helper import session
from app.helper.leftovers import Leftovers
from app.helper.session import Session, State


class Claimed:
    """Stands for the locks on the disks."""

    def __init__(self, *_: object) -> None:
        self.held: dict[str, int] = {}
        self.done: list[str] = []

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return lambda: self.done.append(name)


class Told:
    """Keeps what the owner is told."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, Any]] = []

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return lambda *values: self.heard.append((name, values))


@pytest.mark.expects_log
def test_a_mistake_ends_the_session_and_gives_the_disks_back(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(session, "Claim", Claimed)
    monkeypatch.setattr(session, "Made", fail)
    described = SimpleNamespace(layouts=(SimpleNamespace(id=uuid.uuid4()),), disks=dict)
    disks = SimpleNamespace(identify=None, refusals=None, release=None, users=None, places=None)
    leftovers = Leftovers(cast("Any", None), cast("Any", disks))
    told = Told()
    tried = Session(cast("Any", described), 1000, leftovers, cast("Any", told))
    tried.start()
    while ("claimed", ()) not in told.heard:
        assert tried.state is not State.ENDING
    tried.make(0)
    tried.join()
    (name, (error, left)) = told.heard[-1]
    assert (name, left) == ("ended", ())
    assert isinstance(error, FootingError)
    assert cast("Claimed", tried._claim).done == ["take", "drop"]
    assert tried.state is State.ENDING
