"""Whether a disk answers: asked by a child, which may hang in our place, and one at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from app.storage.system import programs
from app.storage.system.programs import (
    TIMED_OUT,
    CompletedProgram,
    HangingProgramError,
    NoAnswerError,
    check_answers,
    find_unanswered,
)


class Child:
    """Stands for a program that the kernel holds."""

    args = ("dd",)
    pid = 7
    code: int | None = None

    def poll(self) -> int | None:
        return self.code


@pytest.fixture
def node(tmp_path: Path) -> Iterator[str]:
    path = tmp_path / "sdx"
    path.write_bytes(bytes(4096))
    yield str(path)
    programs._waiting.clear()


def test_a_file_answers(node: str) -> None:
    check_answers(node)
    check_answers(f"{node}-gone")
    assert find_unanswered(node) is None


def test_one_child_hangs_at_a_time(node: str, monkeypatch: pytest.MonkeyPatch) -> None:
    children: list[Child] = []

    def hang(*_: object, **__: object) -> CompletedProgram:
        children.append(Child())
        raise HangingProgramError(cast("Any", children[-1]))

    monkeypatch.setattr(programs, "run_program", hang)
    for _ in range(3):
        with pytest.raises(NoAnswerError, match="has not answered"):
            check_answers(node)
    assert len(children) == 1
    assert isinstance(find_unanswered(node), NoAnswerError)
    children[0].code = -9
    assert find_unanswered(node) is None
    with pytest.raises(NoAnswerError):
        check_answers(node)
    assert len(children) == 2


def test_late_is_no_answer(node: str, monkeypatch: pytest.MonkeyPatch) -> None:
    late = CompletedProgram(("dd",), TIMED_OUT, "", "", 20.0)
    monkeypatch.setattr(programs, "run_program", lambda *_, **__: late)
    with pytest.raises(NoAnswerError):
        check_answers(node)
    failed = CompletedProgram(("dd",), 1, "", "Input/output error", 0.1)
    monkeypatch.setattr(programs, "run_program", lambda *_, **__: failed)
    check_answers(node)
