"""Nothing outlives the runner: servers that do not want to stop, and starters that die."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import psutil
import pytest

from tests.fix_postgres import Workbench

pytestmark = pytest.mark.postgres

ROOT = Path(__file__).parents[2]

STARTER = """
import json, sys, time
from app.postgres.installations.installation import Installation
from app.postgres.server import Server
from app.process.starter import Account
order = json.loads(sys.argv[1])
server = Server(Installation(**order["installation"]), Account(**order["account"]), order["data"],
                order["socket"], order["log"], (), lambda outcome: None, secret=order["secret"])
server.start()
print(server.pid, flush=True)
time.sleep(600)
"""


def _family(pid: int) -> list[psutil.Process]:
    parent = psutil.Process(pid)
    return [parent, *parent.children(recursive=True)]


def _ended(member: psutil.Process) -> bool:
    try:
        return bool(member.status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def test_hung_server_killed_with_children(workbench: Workbench) -> None:
    server = workbench.server()
    server.start()
    assert server.pid is not None
    family = _family(server.pid)
    family[0].send_signal(signal.SIGSTOP)
    server.stop(timeout_s=2)
    assert all(_ended(member) for member in family)
    assert workbench.outcomes[-1].exit_code == -signal.SIGKILL


def test_hung_child_does_not_delay_end(workbench: Workbench) -> None:
    server = workbench.server()
    server.start()
    assert server.pid is not None
    family = _family(server.pid)
    family[1].send_signal(signal.SIGSTOP)
    server.stop(timeout_s=4)
    assert all(_ended(member) for member in family)


def test_killed_starter_leaves_nothing(workbench: Workbench) -> None:
    server = workbench.server()
    order = {
        "installation": asdict(server.installation),
        "account": asdict(server.account),
        "data": server.data_directory,
        "socket": server.socket_directory,
        "log": server.log_path,
        "secret": server.secret,
    }
    starter = subprocess.Popen(
        [sys.executable, "-c", STARTER, json.dumps(order)], cwd=ROOT, stdout=subprocess.PIPE
    )
    try:
        assert starter.stdout is not None
        postmaster = int(starter.stdout.readline())
        family = _family(postmaster)
        assert len(family) > 3
    finally:
        starter.kill()
        starter.communicate()
    _, alive = psutil.wait_procs(family, timeout=60)
    assert [member for member in alive if not _ended(member)] == []
    assert not Path(server.data_directory, "postmaster.pid").exists()
    assert list(Path(server.socket_directory).iterdir()) == []


def test_interrupting_the_start_leaves_nothing(workbench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    server = workbench.server()
    seen: list[int] = []

    def interrupt(_folder: str, pid: int) -> bool:
        seen.append(pid)
        raise KeyboardInterrupt

    monkeypatch.setattr("app.postgres.server.reports_ready", interrupt)
    with pytest.raises(KeyboardInterrupt):
        server.start()
    assert server.pid is None
    with pytest.raises(ProcessLookupError):
        os.kill(seen[0], 0)
