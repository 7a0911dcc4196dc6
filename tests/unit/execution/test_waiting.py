"""A runner that waits for the end of another campaign, and what ends its waiting."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.domain.errors import ExitStatus
from app.execution.launch import LaunchedCampaign, LaunchError, start_campaign
from app.hosts.machine_lock import MachineLock, acquire_machine_lock
from tests.launched import wait_for_end, wait_for_folder

PATIENCE_S = 60.0
NO_FOLDER = 'name = "Trial"\n[target.folder]\npath = "/proc/none"\n'


@pytest.fixture
def other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MachineLock]:
    """Another campaign of this user, in folders of this test."""
    if os.geteuid() == 0:
        pytest.skip("the state of root is one for the machine")
    (tmp_path / "state").mkdir(mode=0o700)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with acquire_machine_lock("/runs/1", "first", shared=tmp_path / "lock") as lock:
        yield lock


def waiting(tmp_path: Path) -> LaunchedCampaign:
    launched = start_campaign(NO_FOLDER, tmp_path / "library", wait=True)
    end_s = time.monotonic() + PATIENCE_S
    while not launched.waiting:
        assert launched.poll() is None
        assert time.monotonic() < end_s
        time.sleep(0.05)
    return launched


def interrupt(launched: LaunchedCampaign) -> None:
    os.kill(launched.pid, signal.SIGINT)


@pytest.mark.long
@pytest.mark.parametrize("end", [interrupt, LaunchedCampaign.stop])
def test_waiting_is_stopped(
    other: MachineLock, tmp_path: Path, end: Callable[[LaunchedCampaign], None]
) -> None:
    launched = waiting(tmp_path)
    assert "“first” in /runs/1" in launched.waiting
    end(launched)
    assert wait_for_end(launched, PATIENCE_S) == ExitStatus.CANCELLED
    with pytest.raises(LaunchError, match="nothing was measured"):
        launched.poll()
    assert not (tmp_path / "library").exists()
    assert sorted(path.name for path in (tmp_path / "state/pgfooting").iterdir()) == [
        "launches",
        "machine.lock",
    ]


@pytest.mark.long
def test_waiting_ends_with_the_other(other: MachineLock, tmp_path: Path) -> None:
    launched = waiting(tmp_path)
    other.close()
    with pytest.raises(LaunchError, match="/proc/none") as caught:
        wait_for_folder(launched, PATIENCE_S)
    assert caught.value.status not in {0, ExitStatus.CANCELLED}
