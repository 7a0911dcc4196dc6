"""A session's thread ends in order also where the helper itself makes a mistake."""

from __future__ import annotations

import errno
import os
import time
import uuid
from types import SimpleNamespace
from typing import Any, ClassVar, cast

import pytest
from typing_extensions import override

from app.domain.disk import UnreleasedItem
from app.domain.errors import FootingError
from app.helper.session import session
from app.helper.session.session import Session, SessionState
from app.helper.storage.leftovers import Leftovers


class Claimed:
    """Stands for the locks on the disks."""

    def __init__(self, *_: object) -> None:
        self.held: dict[str, int] = {}
        self.done: list[str] = []

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return lambda: self.done.append(name)


class SignalRecorder:
    """Keeps what the owner is told."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, Any]] = []

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return lambda *values: self.heard.append((name, values))


class Storage:
    """Stands for what is made of a plan: disks in `stuck` cannot be unmade."""

    stuck: ClassVar[set[str]] = set()
    tried: ClassVar[list[str]] = []

    def __init__(self, layout: Any, *_: object) -> None:  # noqa: ANN401
        self.layout = layout

    def make(self) -> None:
        """Nothing goes wrong."""

    def places(self) -> tuple[str, ...]:
        return tuple(self.layout.disks())

    def unmake(self, _spared: object) -> None:
        for node in self.layout.disks():
            Storage.tried.append(node)
            if node in Storage.stuck:
                raise FootingError(f"{node} is not itself")

    def left(self) -> tuple[UnreleasedItem, ...]:
        return tuple(UnreleasedItem(node) for node in self.layout.disks() if node in Storage.stuck)


def test_unmakeable_disk_frees_others_and_stays_unwritten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "DiskLocks", Claimed)
    monkeypatch.setattr(session, "ProvisionedStorage", Storage)
    monkeypatch.setattr(Storage, "stuck", {"/dev/a"})
    monkeypatch.setattr(Storage, "tried", [])
    layouts = tuple(
        SimpleNamespace(id=uuid.uuid4(), disks=lambda node=node: {node: None}, written_ends=tuple)
        for node in ("/dev/a", "/dev/b")
    )
    described = SimpleNamespace(layouts=layouts, disks=dict)
    disks = SimpleNamespace(identify=None, refusals=None, release=print, users=None, places=None)
    signals = SignalRecorder()
    tried = Session(
        cast("Any", described), 1000, Leftovers(cast("Any", None), cast("Any", disks)), cast("Any", signals)
    )

    def until(name: str) -> tuple[Any, ...]:
        while not signals.heard or signals.heard[-1][0] != name:
            time.sleep(0.001)
        values: tuple[Any, ...] = signals.heard.pop()[1]
        return values

    tried.start()
    until("claimed")
    tried.make(0)
    assert until("ready") == ("/dev/a",)
    tried.unmake()
    error, left = until("unmade")
    assert (error.message, left) == ("/dev/a is not itself", (UnreleasedItem("/dev/a"),))
    tried.make(1)
    assert until("ready") == ("/dev/b",), "other disks go on"
    tried.unmake()
    assert until("unmade") == (None, ())
    tried.make(0)
    error, left = until("unmade")
    assert (error.message, left) == ("/dev/a is not itself", (UnreleasedItem("/dev/a"),)), (
        "nothing is made over it"
    )
    tried.make(1)
    assert until("ready") == ("/dev/b",)
    tried.release()
    error, left = until("ended")
    tried.join()
    assert (error.message, left) == ("/dev/a is not itself", (UnreleasedItem("/dev/a"),))
    assert Storage.tried.count("/dev/a") == 5, "it is tried again each time"


@pytest.mark.expects_log
@pytest.mark.parametrize("number", [errno.EROFS, errno.ENOSPC])
def test_what_the_kernel_refuses_is_no_mistake(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    class Full(Storage):
        @override
        def unmake(self, *_: object) -> None:
            raise OSError(number, os.strerror(number), "/var/lib/pgfooting/journal/x")

    monkeypatch.setattr(session, "DiskLocks", Claimed)
    monkeypatch.setattr(session, "ProvisionedStorage", Full)
    monkeypatch.setattr(Storage, "stuck", {"/dev/a"})
    layout = SimpleNamespace(id=uuid.uuid4(), disks=lambda: {"/dev/a": None}, written_ends=tuple)
    described = SimpleNamespace(layouts=(layout,), disks=dict)
    disks = SimpleNamespace(identify=None, refusals=None, release=print, users=None, places=None)
    signals = SignalRecorder()
    leftovers = Leftovers(cast("Any", None), cast("Any", disks))
    tried = Session(cast("Any", described), 1000, leftovers, cast("Any", signals))
    tried.start()
    while ("claimed", ()) not in signals.heard:
        time.sleep(0.001)
    tried.make(0)
    while not any(name == "ready" for name, _ in signals.heard):
        time.sleep(0.001)
    tried.release()
    tried.join()
    error = signals.heard[-1][1][0]
    assert os.strerror(number) in error.message
    assert "/var/lib/pgfooting/journal/x" in error.message
    assert "mistake" not in error.message


@pytest.mark.expects_log
def test_programming_error_releases_the_disks(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(session, "DiskLocks", Claimed)
    monkeypatch.setattr(session, "ProvisionedStorage", fail)
    described = SimpleNamespace(layouts=(SimpleNamespace(id=uuid.uuid4()),), disks=dict)
    disks = SimpleNamespace(identify=None, refusals=None, release=None, users=None, places=None)
    leftovers = Leftovers(cast("Any", None), cast("Any", disks))
    signals = SignalRecorder()
    tried = Session(cast("Any", described), 1000, leftovers, cast("Any", signals))
    tried.start()
    while ("claimed", ()) not in signals.heard:
        assert tried.state is not SessionState.ENDING
    tried.make(0)
    tried.join()
    (name, (error, left)) = signals.heard[-1]
    assert (name, left) == ("ended", ())
    assert isinstance(error, FootingError)
    assert cast("Claimed", tried._claim).done == ["take", "drop"]
    assert tried.state is SessionState.ENDING
