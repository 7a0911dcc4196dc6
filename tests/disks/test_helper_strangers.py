"""Strangers who ask as much as they can: root and another user are answered all the same."""

from __future__ import annotations

import json
import os
import pwd
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import astuple
from pathlib import Path

import pytest

from app.domain.text import GIB
from tests.disks.helper_owner import NOBODY, SPARE
from tests.disks.terminal_agent import TerminalAgent, set_password
from tests.fix_helper import LIMIT_S, PROJECT, Running, restart_polkit

pytestmark = [
    pytest.mark.disks,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can start the helper"),
]

ROUNDS = 3
RULES = Path("/etc/polkit-1/rules.d/00-strangers.rules")
RULE = """polkit.addRule(function(action, subject) {
  if (action.id == "org.pgfooting.helper.inspect" && subject.user == "daemon") return polkit.Result.YES;
  if (action.id.indexOf("org.pgfooting.helper.") == 0 && subject.user == "games") return polkit.Result.YES;
});
"""
VICTIM = """
import json, sys, time
from app.domain.disk import DiskIdentity
from app.domain.storage_plan.reader import identity_to_wire
from tests.bus.client import Client
from tests.disks.helper_owner import Owner, client, plan_over

disk, user = DiskIdentity(*json.loads(sys.argv[1])), int(sys.argv[2])
seconds = {}

def timed(name, action):
    started_s = time.perf_counter()
    found = action()
    seconds[name] = time.perf_counter() - started_s
    return found

with client() as connection:
    owner = Owner(connection)
    bus = Client("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus")
    timed("the bus itself", lambda: bus.call("GetId"))
    timed("Version", lambda: connection.call("Version"))
    plan_id, _, told = timed("Describe", lambda: owner.describe(plan_over(disk)))
    wires = [identity_to_wire(disk)]
    ((answer,),) = timed("Inspect", lambda: connection.call("Inspect", "(a(ssstst))", wires))
    assert answer[1] == "spare", answer
    (owner.session,) = timed("Execute", lambda: connection.call("Execute", "(ssu)", plan_id, told, user))
    assert owner.release()[2:] == ("", "", "", [])
print(json.dumps(seconds))
"""


@pytest.fixture
def rules(installed_helper: None) -> Iterator[None]:
    """The user daemon may inspect; games may inspect and erase; nobody would have to know the password."""
    RULES.write_text(RULE)
    restart_polkit()
    yield
    RULES.unlink()
    restart_polkit()


def as_user(user: int, *arguments: str) -> list[str]:
    return ["setpriv", f"--reuid={user}", "--clear-groups", sys.executable, *arguments]


def test_users_answered_during_stranger_flood(
    helper: Running, rules: None, make_loop: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    set_password()
    theirs, wanted = (make_loop(2 * GIB, partscan=True) for _ in range(2))
    games, daemon = (pwd.getpwnam(name).pw_uid for name in ("games", "daemon"))
    strangers: list[subprocess.Popen[str]] = []
    with ExitStack() as stack:
        for user in (NOBODY, daemon):
            stranger = subprocess.Popen(
                as_user(user, "-m", "tests.disks.stranger", json.dumps(astuple(SPARE.identify(theirs)))),
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=PROJECT,
            )  # fmt: skip
            strangers.append(stranger)
            stack.callback(stranger.communicate)
            stack.callback(stranger.kill)
            stack.callback(TerminalAgent(stranger.pid).close)
        for stranger in strangers:
            assert stranger.stdin is not None
            assert stranger.stdout is not None
            stranger.stdin.write("go\n")
            stranger.stdin.flush()
            assert stranger.stdout.readline() == "ready\n"
        described = [answered(wanted, user) for user in (0, games) * ROUNDS]
        assert all(stranger.poll() is None for stranger in strangers)
        heard = [json.loads(stranger.communicate("over\n", timeout=LIMIT_S)[0]) for stranger in strangers]
    slowest = {name: max(each[name] for each in described) for name in described[0]}
    with capsys.disabled():
        words = ", ".join(f"{name} {1000 * value:.0f} ms" for name, value in slowest.items())
        memory = f"memory {helper.resident_bytes() / 1e6:.1f} MB"
        print(f"\n  slowest of {len(described)}: {words}; {memory}\n  strangers: {heard}")  # noqa: T201
    assert sorted(slowest) == ["Describe", "Execute", "Inspect", "Version", "the bus itself"]
    assert "Traceback" not in helper.log.read_text()
    assert any(name.startswith("TooMany") for name in heard[0])


def answered(disk: str, user: int) -> dict[str, float]:
    """Have a user ask one thing after the other; return how long each answer took."""
    handed_to = NOBODY if user == 0 else user
    identity = json.dumps(astuple(SPARE.identify(disk)))
    asked = subprocess.run(
        as_user(user, "-c", VICTIM, identity, str(handed_to)),
        capture_output=True, text=True, cwd=PROJECT, timeout=LIMIT_S, check=False,
    )  # fmt: skip
    assert asked.returncode == 0, asked.stderr
    seconds: dict[str, float] = json.loads(asked.stdout)
    return seconds
