"""Dialogs for a password: one of each user, the first that is answered gets the session, all are served."""

from __future__ import annotations

import json
import os
import pwd
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import astuple
from functools import partial
from pathlib import Path

import pytest

from app.domain.text import GIB
from tests.bus.client import RemoteError
from tests.disks.helper_owner import NAME, NOBODY, SPARE, Owner, client, plan_of
from tests.disks.terminal_agent import PASSWORD, TerminalAgent, set_password
from tests.fix_helper import LIMIT_S, PROJECT, Running, error_of, journaled, wait_until

pytestmark = [
    pytest.mark.disks,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can start the helper"),
]

GAMES = pwd.getpwnam("games").pw_uid
ASKING = """
import json, os, sys
from app.domain.disk import DiskIdentity
from tests.disks.helper_owner import Owner, client, plan_over
disk = DiskIdentity(*json.loads(sys.argv[1]))
with client() as connection:
    print("ready", flush=True)
    while input() == "ask":
        plan_id, _, told = Owner(connection).describe(plan_over(disk))
        try:
            found = connection.call("Execute", "(ssu)", plan_id, told, os.getuid(), interactive=True)
            print("session", *found, flush=True)
        except Exception as err:
            print(err, flush=True)
"""


class Asking:
    """A user of the machine who asks to erase a disk, and the agent of that user."""

    def __init__(self, disk: str, user: int) -> None:
        self.process = subprocess.Popen(
            [
                *("setpriv", f"--reuid={user}", "--clear-groups", sys.executable, "-c", ASKING),
                json.dumps(astuple(SPARE.identify(disk))),
            ],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=PROJECT,
        )  # fmt: skip
        assert self.said() == "ready"
        self.agent = TerminalAgent(self.process.pid)

    def ask(self) -> None:
        """Ask, and go on at once."""
        assert self.process.stdin is not None
        self.process.stdin.write("ask\n")
        self.process.stdin.flush()

    def said(self) -> str:
        """What was answered."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def end(self) -> None:
        self.agent.close()
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def asking(helper: Running) -> Iterator[Callable[..., Asking]]:
    """A function that has somebody ask to erase a disk, and waits for the dialog."""
    set_password()
    opened: list[Asking] = []

    def ask(disk: str, user: int = NOBODY) -> Asking:
        opened.append(Asking(disk, user))
        opened[-1].ask()
        opened[-1].agent.wait_for_prompt()
        return opened[-1]

    yield ask
    for each in opened:
        each.end()
    wait_until(lambda: not journaled())


@pytest.fixture
def disks(make_loop: Callable[..., str]) -> list[str]:
    return [make_loop(2 * GIB, partscan=True) for _ in range(2)]


def answers_version(seconds: list[float]) -> None:
    """Ask for the version and note how long it took."""
    with client() as other:
        started_s = time.perf_counter()
        other.call("Version")
        seconds.append(time.perf_counter() - started_s)


def test_open_dialog_blocks_no_caller(
    asking: Callable[..., Asking], disks: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    stranger = asking(disks[0])
    assert "erase" in stranger.agent.shown
    seconds: list[float] = []
    answers_version(seconds)
    with client() as second:
        owner = Owner(second)
        owner.execute(plan_of(disks[1]))
        assert "Busy: overtaken" in stranger.said()
        stranger.agent.type(PASSWORD)  # the terminal agent waits for it and cannot be interrupted
        stranger.ask()
        assert stranger.said().endswith("Busy: Busy"), "root's session is still there"
        owner.make()
        assert owner.release()[2:] == ("", "", "", [])
    with capsys.disabled():
        print(f"\n  while the dialog is open: Version in {1000 * seconds[0]:.1f} ms")  # noqa: T201


def test_two_dialogs_first_answer_wins(
    asking: Callable[..., Asking], disks: list[str], helper: Running
) -> None:
    first, second = asking(disks[0]), asking(disks[1], GAMES)
    second.agent.type(PASSWORD)
    assert second.said().startswith("session ")
    assert "Busy: overtaken" in first.said()
    first.agent.type(PASSWORD)
    first.ask()
    assert first.said().endswith("Busy: Busy"), "no dialog is opened while there is a session"
    second.process.kill()
    wait_until(lambda: helper.said("ended as asked"))
    wait_until(lambda: not journaled())
    again = asking(disks[0])  # the terminal agent that was cancelled takes no other question
    again.agent.type(PASSWORD)
    assert again.said().startswith("session ")


def test_simultaneous_root_calls_one_wins(helper: Running, disks: list[str]) -> None:
    with client() as first, client() as second:
        owners = [Owner(first), Owner(second)]
        described = [owner.describe(plan_of(disk)) for owner, disk in zip(owners, disks, strict=True)]
        calls = [
            owner.client.begin("Execute", "(ssu)", plan_id, texts, NOBODY)
            for owner, (plan_id, _, texts) in zip(owners, described, strict=True)
        ]
        errors = []
        for owner, wait in zip(owners, calls, strict=True):
            try:
                (owner.session,) = wait()
            except RemoteError as err:
                errors.append((err.name, err.text))
        assert errors in ([(f"{NAME}.Error.Busy", "Busy")], [(f"{NAME}.Error.Busy", "overtaken")])
        (winner,) = [owner for owner in owners if owner.session]
        assert winner.release()[2:] == ("", "", "", [])
    assert helper.log.read_text().count("session of") == 1


def test_wrong_password_keeps_other_dialog(
    asking: Callable[..., Asking], disks: list[str], helper: Running
) -> None:
    first, second = asking(disks[0]), asking(disks[1], GAMES)
    first.agent.type("wrong")
    assert "NotAuthorized: failed" in first.said()
    assert not helper.said("session of")
    second.agent.type(PASSWORD)
    assert second.said().startswith("session ")


def test_one_dialog_per_user(asking: Callable[..., Asking], disks: list[str]) -> None:
    first = asking(disks[0])
    other = Asking(disks[1], NOBODY)
    other.ask()
    try:
        assert "Busy: asked" in other.said()
    finally:
        other.end()
    first.agent.type(PASSWORD)
    assert first.said().startswith("session ")
    with client() as third:
        described = Owner(third).describe(plan_of(disks[1]))
        call = partial(third.call, "Execute", "(ssu)", described[0], described[2], NOBODY)
        assert error_of(call) == ("Busy", "Busy")


def test_leaving_during_dialog_frees_place(
    asking: Callable[..., Asking], disks: list[str], helper: Running
) -> None:
    gone = asking(disks[0])
    gone.process.kill()
    gone.process.wait()
    next_one = asking(disks[0])
    gone.agent.type(PASSWORD)
    assert not helper.said("session of")
    next_one.agent.type(PASSWORD)
    assert next_one.said().startswith("session ")
    assert helper.log.read_text().count("session of") == 1


def test_a_wrong_password_gives_no_session(
    asking: Callable[..., Asking], helper: Running, disks: list[str]
) -> None:
    stranger = asking(disks[0])
    stranger.agent.type("wrong")
    assert "NotAuthorized: failed" in stranger.said()
    assert not helper.said("session of")


CALLING = """
import sys
from tests.disks.helper_owner import client
with client() as connection:
    print("ready", flush=True)
    input()
    for method, signature, values in (("Version", "()", ()), ("Inspect", "(a(ssstst))", ([],)),
                                      ("Execute", "(ssu)", ("a", "b", 4711))):
        try:
            print(connection.call(method, signature, *values, interactive=True))
        except Exception as err:
            print(err)
"""


def test_uid_without_account_refused(helper: Running) -> None:
    accounts = Path("/etc/passwd")
    before = accounts.read_text()
    accounts.write_text(f"{before}leaver:x:4711:4711::/:/bin/false\n")
    try:
        with subprocess.Popen(
            ["setpriv", "--reuid=4711", "--clear-groups", sys.executable, "-c", CALLING],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=PROJECT,
        ) as process:  # fmt: skip
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            accounts.write_text(before)
            out, _ = process.communicate("go\n", timeout=LIMIT_S)
    finally:
        accounts.write_text(before)
    assert out.splitlines() == ["org.pgfooting.Helper1.Error.NotAuthorized: no-account"] * 3
