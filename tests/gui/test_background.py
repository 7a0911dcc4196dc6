from __future__ import annotations

import logging
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot
from shiboken6 import delete

from app.domain.errors import FootingError, InternalError
from ui.background import BackgroundOp, finish_background


def unwanted(value: object) -> None:
    raise AssertionError(value)


def test_result_arrives_in_gui_thread(qtbot: QtBot) -> None:
    worked: list[threading.Thread] = []
    arrived: list[tuple[int, threading.Thread]] = []

    def work() -> int:
        worked.append(threading.current_thread())
        return 42

    BackgroundOp(work, lambda value: arrived.append((value, threading.current_thread())), unwanted).start()
    qtbot.waitUntil(lambda: bool(arrived))
    assert arrived == [(42, threading.main_thread())]
    assert worked[0] is not threading.main_thread()
    assert worked[0].daemon


def test_error_of_work_arrives_unchanged(qtbot: QtBot) -> None:
    errors: list[FootingError] = []
    error = FootingError("It failed.", hint="Do this.")

    def work() -> None:
        raise error

    BackgroundOp(work, unwanted, errors.append).start()
    qtbot.waitUntil(lambda: bool(errors))
    assert errors == [error]


def test_unexpected_error_becomes_sentence(qtbot: QtBot, caplog: pytest.LogCaptureFixture) -> None:
    errors: list[FootingError] = []
    with caplog.at_level(logging.DEBUG, "ui.background"):
        BackgroundOp(lambda: 1 / 0, unwanted, errors.append).start()
        qtbot.waitUntil(lambda: bool(errors))
    assert isinstance(errors[0], InternalError)
    assert "ZeroDivisionError" in errors[0].message
    assert caplog.records[-1].exc_info is not None


def test_a_cancelled_result_is_not_delivered(qtbot: QtBot) -> None:
    go_on = threading.Event()
    seen: list[bool] = []
    arrived: list[int] = []
    op = BackgroundOp(lambda: go_on.wait(60), unwanted, unwanted)
    op.start()
    op.cancel()
    go_on.set()
    BackgroundOp(lambda: seen.append(op.is_cancelled), lambda _none: arrived.append(1), unwanted).start()
    qtbot.waitUntil(lambda: bool(arrived))
    assert finish_background(60)
    assert seen == [True]


class Page(QObject):
    """Waits for a piece of work, and counts what arrives."""

    def __init__(self, arrived: list[object]) -> None:
        super().__init__()
        self.arrived = arrived

    def take(self, result: object) -> None:
        assert self.children() == []
        self.arrived.append(result)


@pytest.mark.parametrize("work", [lambda: 1, lambda: 1 / 0])
def test_deleted_page_stops_waiting(qtbot: QtBot, work: Callable[[], object]) -> None:
    arrived: list[object] = []
    page = Page(arrived)
    BackgroundOp(work, page.take, page.take).start()
    delete(page)
    after: list[int] = []
    assert finish_background(60)
    BackgroundOp(lambda: 2, after.append, unwanted).start()
    qtbot.waitUntil(lambda: bool(after))
    assert arrived == []


def test_work_cancelled_before_start_never_runs(qtbot: QtBot) -> None:
    go_on = threading.Event()
    done: list[int] = []
    blockers = [BackgroundOp(lambda: go_on.wait(60), lambda _: done.append(0), unwanted) for _ in range(8)]
    for blocker in blockers:
        blocker.start()
    late = BackgroundOp(lambda: done.append(99), unwanted, unwanted)
    late.start()
    late.cancel()
    go_on.set()
    qtbot.waitUntil(lambda: len(done) == len(blockers))
    assert finish_background(60)
    assert 99 not in done


def test_many_jobs_share_few_threads(qtbot: QtBot) -> None:
    names: set[str] = set()
    count: list[int] = []

    def work() -> int:
        names.add(threading.current_thread().name)
        return 1

    for _ in range(200):
        BackgroundOp(work, count.append, unwanted).start()
    qtbot.waitUntil(lambda: len(count) == 200)
    assert len(names) <= 4
    assert all(name.startswith("background-") for name in names)


def test_waiting_for_hung_work_times_out(qtbot: QtBot) -> None:
    go_on = threading.Event()
    arrived: list[bool] = []
    BackgroundOp(lambda: go_on.wait(60), arrived.append, unwanted).start()
    assert not finish_background(0.05)
    go_on.set()
    qtbot.waitUntil(lambda: bool(arrived))
    assert finish_background(60)


ENDED_BEFORE_ITS_WORK = """
import threading
from PySide6.QtCore import QCoreApplication
from shiboken6 import delete
from ui.background import BackgroundOp, _delivery, finish_background

application = QCoreApplication([])
go_on = threading.Event()
BackgroundOp(lambda: go_on.wait(60), print, print).start()
delete(_delivery())  # as the end of the program does with all of Qt's objects
go_on.set()
assert finish_background(60)
"""


def test_work_ending_after_program_is_silent() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ENDED_BEFORE_ITS_WORK],
        cwd=Path(__file__).resolve().parents[2],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


class Held:
    """Tells in which thread it goes."""

    def __init__(self, went: list[threading.Thread]) -> None:
        self._went = went

    def __del__(self) -> None:
        self._went.append(threading.current_thread())


def test_closures_released_in_gui_thread(qtbot: QtBot) -> None:
    went: list[threading.Thread] = []
    count: list[int] = []

    def hold() -> None:
        held = Held(went)

        def work() -> int:
            return id(held)

        BackgroundOp(
            work, lambda _number: count.append(id(held)), lambda _error: count.append(id(held))
        ).start()

    for _ in range(300):
        hold()
    qtbot.waitUntil(lambda: len(count) == 300)
    assert finish_background(60)
    qtbot.waitUntil(lambda: len(went) == 300)
    assert set(went) == {threading.main_thread()}


def test_garbage_collected_in_gui_thread(qtbot: QtBot) -> None:
    went: list[threading.Thread] = []
    arrived: list[int] = []
    BackgroundOp(lambda: 1, arrived.append, unwanted).start()
    qtbot.waitUntil(lambda: bool(arrived))

    def make_garbage() -> None:
        for _ in range(20_000):
            circle: list[object] = [Held(went)]
            circle.append(circle)

    thread = threading.Thread(target=make_garbage)  # such as the watch of the disks: no work of the window
    thread.start()
    thread.join()
    assert went == []
    qtbot.waitUntil(lambda: len(went) > 10_000)
    assert set(went) == {threading.main_thread()}
