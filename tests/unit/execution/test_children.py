"""What pgbench may take where a server of others answers it."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from app.domain.errors import ServerError
from app.domain.text import GIB
from app.execution import children
from app.execution.children import PgbenchBounds
from app.hosts.folders.descriptors import FileIdentity
from app.hosts.folders.private_folder import PrivateFolder
from app.hosts.server_under_test import PgbenchPlace
from app.process.starter import current_account


@pytest.fixture
def folder(tmp_path: Path) -> PrivateFolder:
    return PrivateFolder(str(tmp_path), FileIdentity(0, 0, 0), current_account())


def bounds(
    folder: PrivateFolder, *, memory_bytes: int | None = 1024 * GIB, due_s: float | None
) -> PgbenchBounds:
    place = PgbenchPlace(folder, memory_bytes=memory_bytes, late_s=60)
    return PgbenchBounds(place, Path(folder.path) / "measure.stderr", due_s)


def test_child_within_bounds_continues(folder: PrivateFolder) -> None:
    for due_s in (None, time.monotonic() - 30, time.monotonic() + 3600):
        bounds(folder, due_s=due_s).check(os.getpid())


def test_overlong_child_killed(folder: PrivateFolder) -> None:
    with pytest.raises(ServerError, match="should have finished 01:00 ago") as caught:
        bounds(folder, due_s=time.monotonic() - 61).check(os.getpid())
    assert "kept" in caught.value.hint


def test_child_over_memory_limit_killed(folder: PrivateFolder) -> None:
    with pytest.raises(ServerError, match="The server sent too much data"):
        bounds(folder, memory_bytes=1 << 20, due_s=None).check(os.getpid())


def test_child_with_endless_messages_killed(folder: PrivateFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    found = bounds(folder, due_s=None)
    found.words.write_bytes(bytes(2000))
    found.check(os.getpid())
    monkeypatch.setattr(children, "MOST_WORDS_BYTES", 1000)
    with pytest.raises(ServerError, match="The server sent too many messages"):
        found.check(os.getpid())


def test_ended_child_not_killed(folder: PrivateFolder) -> None:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    bounds(folder, memory_bytes=1 << 20, due_s=None).check(child)


def test_own_server_unbounded(folder: PrivateFolder) -> None:
    bounds(folder, memory_bytes=None, due_s=0.0).check(os.getpid())


@pytest.mark.parametrize(
    "said", ["out of memory for query result", "cannot allocate memory for input buffer"]
)
def test_endless_answers_reported_after_child_exit(folder: PrivateFolder, said: str) -> None:
    with pytest.raises(ServerError, match="The server sent too much data"):
        bounds(folder, due_s=None).check_failed(f"pgbench: error: client 0 aborted in command 5: {said}\n")


def test_endless_messages_reported_after_child_exit(
    folder: PrivateFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = bounds(folder, due_s=None)
    found.words.write_bytes(bytes(2000))
    found.check_failed("pgbench: error: client 0 aborted\n")
    monkeypatch.setattr(children, "MOST_WORDS_BYTES", 1000)
    with pytest.raises(ServerError, match="The server sent too many messages"):
        found.check_failed("pgbench: error: client 0 aborted\n")


def test_own_or_exhausted_server_not_blamed(folder: PrivateFolder) -> None:
    bounds(folder, due_s=None).check_failed("pgbench: error: client 0 aborted: ERROR:  out of memory\n")
    bounds(folder, memory_bytes=None, due_s=None).check_failed("out of memory for query result\n")
