"""What the owner of a session hears of it: each step, each end, with what went wrong and what is left."""

from __future__ import annotations

from typing import Any

import pytest

from app.domain.disk import UnreleasedItem
from app.domain.errors import StorageError
from app.domain.messages.message import WireVariant, say
from app.domain.step_progress import Operation, StepProgress
from app.helper.storage.signals import SignalSender
from app.storage.execution import StepResult


class Owner:
    """Hears the signals."""

    def __init__(self) -> None:
        self.heard: list[tuple[Any, ...]] = []
        self.over = 0
        self.teller = SignalSender(self.emit, lambda: None, lambda _refusal: None, self.end)

    def emit(self, *values: object) -> None:
        self.heard.append(values)

    def end(self) -> None:
        self.over += 1


@pytest.fixture
def owner() -> Owner:
    return Owner()


KEPT = (UnreleasedItem("/dev/sdb", "S1", "xfs is there", say("end-use")),)
WIRE: list[Any] = [("/dev/sdb", "S1", ("text", {"text": WireVariant("s", "xfs is there")}), ("end-use", {}))]
NONE: Any = ("", {})


def test_end_without_error_has_no_message(owner: Owner) -> None:
    owner.teller.unmade(None, ())
    owner.teller.ended(None, KEPT)
    assert owner.heard == [("Unmade", "", NONE, NONE, []), ("Ended", "", NONE, NONE, WIRE)]


def test_error_with_code_message_and_hint(owner: Owner) -> None:
    error = StorageError(say("path-exists", path="/p"), hint=say("end-use"))
    words: Any = ("path-exists", {"path": WireVariant("s", "/p")}), ("end-use", {})
    owner.teller.unmade(error, KEPT)
    assert owner.over == 0
    owner.teller.ended(error, ())
    assert owner.over == 1
    assert owner.heard == [
        ("Unmade", error.code, *words, WIRE),
        ("Ended", error.code, *words, []),
    ]


def test_steps_with_status_without_skipped(owner: Owner) -> None:
    owner.teller.executed(StepResult("mkfs", 3, 1.5, 1.0, "x" * 20_000))
    owner.teller.executed(StepResult("# make folder", None, 0.5, 0.0))
    owner.teller.executed(StepResult("mkfs", 0, 0.0, 0.0, skipped="it is there"))
    assert owner.heard == [
        ("Executed", "mkfs", 3, 1.5, "x" * 16_000),
        ("Executed", "# make folder", -1000, 0.5, ""),
    ]


def test_progress_as_far_as_known(owner: Owner) -> None:
    owner.teller.progressed(StepProgress(Operation.COMMAND, 1, 2, "mkfs"))
    owner.teller.progressed(StepProgress(Operation.SYNCHRONISE, 2, 2, say("end-use"), 0.25, 8.0))
    assert owner.heard == [
        ("Progress", "command", 1, 2, ("text", {"text": WireVariant("s", "mkfs")}), -1.0, -1.0),
        ("Progress", "synchronise", 2, 2, ("end-use", {}), 0.25, 8.0),
    ]


def test_where_the_storage_is_is_told(owner: Owner) -> None:
    owner.teller.ready("/s", {"wal": "/w"}, "/p")
    assert owner.heard == [("Ready", "/s", {"wal": "/w"}, "/p")]
