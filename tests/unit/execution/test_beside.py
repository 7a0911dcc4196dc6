"""Work beside a phase: again and again as long as it lasts, ended with it, and never lost in silence."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from typing import cast

import pytest

from app.domain.campaign.configuration import WorkloadPhase
from app.domain.campaign.phases import PG_BASEBACKUP, SCRUB, SNAPSHOTS, Background
from app.domain.errors import FootingError, ServerError, StorageError
from app.domain.maintenance import MaintenanceEnd, WorkEnd
from app.execution import measured_phases as beside_module
from app.execution.measured_phases import BackgroundJob
from app.hosts.server_under_test import ServerUnderTest

LIMIT_S = 30.0
DONE = MaintenanceEnd("done", "", 0.1)


class Server:
    """Does what a test says, each time it is asked."""

    def __init__(self, *answers: Callable[[], MaintenanceEnd]) -> None:
        self.answers = list(answers)
        self.asked: SimpleQueue[str] = SimpleQueue()
        self.called_off = threading.Event()
        self.is_cancelled: Callable[[], bool] = lambda: False

    def _answer(self, name: str) -> MaintenanceEnd:
        self.asked.put(name)
        return self.answers.pop(0)() if self.answers else self.until_called_off()

    def until_called_off(self) -> MaintenanceEnd:
        while not (self.called_off.wait(0.01) or self.is_cancelled()):
            pass
        return MaintenanceEnd("ended", "", 1.0)

    def maintain_storage(self, name: str) -> MaintenanceEnd:
        return self._answer(name)

    def back_up(self, max_rate_bytes: int | None, is_cancelled: Callable[[], bool]) -> MaintenanceEnd:
        self.is_cancelled = is_cancelled
        return self._answer(f"backup {max_rate_bytes}")

    def end_maintenance(self) -> None:
        self.called_off.set()


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(beside_module, "PAUSE_S", 0.0)
    before = threading.active_count()
    yield
    assert threading.active_count() == before


def start(
    work: Background, server: Server, *, every_s: int | None = None, rate: int | None = None
) -> BackgroundJob:
    phase = WorkloadPhase("a", background=work.name, every_s=every_s, max_rate_bytes=rate)
    found = BackgroundJob(work, phase, cast("ServerUnderTest", server), ["btrfs"])
    found.start()
    return found


def hows(found: BackgroundJob) -> list[WorkEnd]:
    return [turn.how for turn in found.turns]


@pytest.mark.parametrize(
    ("work", "asked"), [(SCRUB, "btrfs-scrub"), (PG_BASEBACKUP, "backup 65536")], ids=["scrub", "backup"]
)
def test_repeated_until_phase_ends(work: Background, asked: str) -> None:
    server = Server(lambda: DONE, lambda: DONE)
    found = start(work, server, rate=65536)
    assert [server.asked.get(timeout=LIMIT_S) for _ in range(3)] == [asked] * 3
    found.look()
    looks: list[int] = []
    found.end(lambda: looks.append(1))
    found.look()
    assert hows(found) == [WorkEnd.DONE, WorkEnd.DONE, WorkEnd.ENDED]
    assert looks
    assert server.called_off.is_set() == (work is SCRUB)
    times = [moment for turn in found.turns for moment in (turn.started_s, turn.ended_s)]
    assert times == sorted(times)


def test_interval_waits_without_delaying_phase_end() -> None:
    server = Server(lambda: DONE)
    found = start(SNAPSHOTS, server, every_s=3600)
    assert server.asked.get(timeout=LIMIT_S) == "snapshot"
    found.end()
    found.look()
    assert hows(found) == [WorkEnd.DONE]
    assert server.asked.empty()


def refuses() -> MaintenanceEnd:
    raise ServerError("it is not ours")


def breaks() -> MaintenanceEnd:
    raise ValueError


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda: MaintenanceEnd("failed", "its time was up", 5.0), "failed: its time was up"),
        (lambda: MaintenanceEnd("ended", "", 5.0), "failed: another process ended it"),
        (refuses, "it is not ours"),
        (breaks, "ValueError"),
    ],
)
def test_failure_reported_once_not_retried(answer: Callable[[], MaintenanceEnd], words: str) -> None:
    server = Server(lambda: DONE, answer)
    found = start(SCRUB, server)
    while len(found.turns) < 2:
        threading.Event().wait(0.01)
    found.end()
    with pytest.raises(FootingError) as caught:
        found.look()
    assert words in f"{caught.value.message} {caught.value.hint} {caught.value.__cause__!r}"
    assert hows(found)[0] is WorkEnd.DONE
    assert len(found.turns) == 2


def test_hanging_activity_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside_module, "END_S", 0.0)
    let_go = threading.Event()

    def hangs() -> MaintenanceEnd:
        let_go.wait(LIMIT_S)
        return MaintenanceEnd("ended", "", 1.0)

    server = Server(hangs)
    found = start(SCRUB, server)
    server.asked.get(timeout=LIMIT_S)
    with pytest.raises(StorageError, match="did not finish in time"):
        found.end()
    let_go.set()
    monkeypatch.undo()
    found.end()
