"""A hostile client of the helper: nothing runs, nothing leaks, it lives and goes on answering."""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import astuple
from functools import partial
from pathlib import Path

import pytest

from app.domain.text import GIB, MIB
from app.helper.service import METHODS, Access
from tests.disks.helper_owner import NOBODY, SPARE, Owner, client, plan_of
from tests.disks.hostile_client import METHODS as SIGNATURES
from tests.disks.hostile_client import Generator
from tests.disks.layout_proof import digest as digest_of_disk
from tests.disks.layout_proof import fill
from tests.fix_helper import (
    LIMIT_S,
    PROJECT,
    Running,
    as_user,
    error_of,
    journaled,
    restart_polkit,
    wait_until,
)

pytestmark = [
    pytest.mark.disks,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can start the helper"),
]

CALLS = 6000
SEED = 20261121
LONG = 20_000
"""Bytes of a text, up to 200 of which are in a message."""
HUGE = 200_000
RUN = Path("/run/pgfooting")
RULES = Path("/etc/polkit-1/rules.d/00-inspector.rules")
RULE = """polkit.addRule(function(action, subject) {
  if (action.id == "org.pgfooting.helper.inspect" && subject.user == "nobody") return polkit.Result.YES;
});
"""
OWNED = [each.name for each in METHODS if each.access is Access.OWNER]
LEAKS = re.compile(
    r"Traceback|\.py\b|File \"|/usr/|/var/|/root|/home|/proc/|/sys/|/run/|0x[0-9a-f]{6,}|object at"
)
SENT = re.compile(r"/etc/(shadow|passwd)|/dev/sda|\.\./")
COMMAND_RAN = re.compile(r"pgfooting-helper: .*: (done|-?\d+) in \d+\.\d+ s")


@pytest.fixture(scope="module")
def inspector(installed_helper: None) -> Iterator[None]:
    """Nobody may look, and may not erase."""
    RULES.write_text(RULE)
    restart_polkit()
    yield
    RULES.unlink()
    restart_polkit()


def hostile(seed: int, count: int, longest: int) -> subprocess.Popen[str]:
    """Start a client of nobody's."""
    return subprocess.Popen(
        ["setpriv", f"--reuid={NOBODY}", "--clear-groups", sys.executable, "-m", "tests.disks.hostile_client",
         str(seed), str(count), str(longest)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=PROJECT,
    )  # fmt: skip


class Watch:
    """Asks for the version again and again, in a thread, and keeps how long it took."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        with client() as connection:
            while not self._over.is_set():
                started_s = time.perf_counter()
                connection.call("Version")
                self.seconds.append(time.perf_counter() - started_s)
                time.sleep(0.02)

    def summary(self) -> str:
        """The times in words."""
        ms = sorted(1000 * each for each in self.seconds)
        return (
            f"{len(ms)} answers, median {statistics.median(ms):.1f} ms, p99 {ms[int(len(ms) * 0.99)]:.1f} ms"
        )


def own_leaks(texts: list[str]) -> list[str]:
    """Texts with something of the machine in them that the client did not send itself."""
    return [text for text in texts if LEAKS.search(SENT.sub("", text))]


def test_generated_calls_do_and_learn_nothing(
    helper: Running, inspector: None, make_loop: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    sentinel = make_loop(600 * MIB)
    before = fill(sentinel)
    began_bytes = helper.resident_bytes()
    with Watch() as watch:
        out, errors = hostile(SEED, CALLS, LONG).communicate(timeout=10 * LIMIT_S)
    assert errors == ""
    found = json.loads(out)
    log = helper.log.read_text()
    assert sum(found["names"].values()) == CALLS
    assert own_leaks(found["texts"]) == []
    assert not COMMAND_RAN.search(log)
    assert "Traceback" not in log, log[-4000:]
    assert "org.pgfooting.Helper1.Error.Failed" not in found["names"]
    assert (journaled(), digest_of_disk(sentinel) == before) == ([], True)
    assert sorted(path.name for path in RUN.iterdir()) == ["lock"]
    for method in ("Execute", *OWNED):
        assert f"refused: {method} by" in log
    described = f"{began_bytes / 1e6:.1f} MB, then {helper.resident_bytes() / 1e6:.1f} MB"
    with capsys.disabled():
        print(f"\n  {found['names']}\n  meanwhile {watch.summary()}; memory {described}")  # noqa: T201
    assert helper.resident_bytes() < 48 * MIB


def test_huge_messages_keep_helper_small(
    helper: Running, inspector: None, capsys: pytest.CaptureFixture[str]
) -> None:
    began_bytes = helper.resident_bytes()
    out, _ = hostile(SEED, CALLS // 3, HUGE).communicate(timeout=10 * LIMIT_S)
    assert json.loads(out)["names"]["org.pgfooting.Helper1.Error.TooMany"] > 0
    described = f"{began_bytes / 1e6:.1f} MB, then {helper.resident_bytes() / 1e6:.1f} MB"
    with capsys.disabled():
        print(f"\n  messages of up to 16 MB: memory {described}")  # noqa: T201
    assert helper.resident_bytes() < began_bytes + 8 * MIB


FILLING = """
import sys
from app.dbus.service import load_gio
from tests.bus.client import RemoteError
from tests.disks.helper_owner import client
with client() as connection:
    content = load_gio()[1].Variant("(ssu)", ("x" * 31_000_000, "", 0))
    waiting = [connection.send("Execute", content) for _ in range(20)]
    for wait in [*waiting, connection.begin("Version")]:
        try:
            wait()
            print("answered")
        except RemoteError as err:
            print(err.name.rpartition(".")[2])
"""


def test_many_huge_calls_all_answered(helper: Running) -> None:
    done = as_user(FILLING)
    assert done.stdout.split() == [*["TooMany"] * 20, "answered"], done.stderr
    assert helper.process.poll() is None


def test_foreign_session_calls_refused(helper: Running, make_loop: Callable[..., str]) -> None:
    disk = make_loop(2 * GIB, partscan=True)
    generator = Generator(SEED)
    with client() as connection, client() as thief:
        owner = Owner(connection)
        owner.execute(plan_of(disk))
        owner.make()
        guesses = [
            owner.session,
            owner.session[:-1] + "g",
            owner.session.upper(),
            "",
            "0" * 32,
            "a" * 100_000,
        ]
        guesses += [path.name for path in RUN.iterdir()]
        names = [path.stem for path in journaled()]
        assert names, "the session's name on disk"
        guesses += names
        for method in OWNED:
            rest = generator.values(SIGNATURES[method][1:])
            for guess in guesses:
                call = partial(thief.call, method, f"({SIGNATURES[method]})", guess, *rest)
                assert error_of(call) == ("Unknown", "Unknown"), (method, guess[:40])
            for guess in guesses[1:]:
                call = partial(connection.call, method, f"({SIGNATURES[method]})", guess, *rest)
                assert error_of(call) == ("Unknown", "Unknown"), (method, guess[:40])
        assert owner.signals == [], "nothing happened to the session"
        assert owner.release()[2:] == ("", "", "", [])
        for method in OWNED:
            call = partial(connection.call, method, f"({SIGNATURES[method]})", owner.session,
                           *generator.values(SIGNATURES[method][1:]))  # fmt: skip
            assert error_of(call) == ("Unknown", "Unknown"), "it is over"
    assert not helper.said("Traceback")


def test_signals_are_the_owners_and_nobody_elses(helper: Running, make_loop: Callable[..., str]) -> None:
    with client() as connection, client() as listener:
        heard = listener.signals()
        owner = Owner(connection)
        owner.execute(plan_of(make_loop(2 * GIB, partscan=True)))
        owner.make()
        owner.release()
        listener.call("Version")
        assert heard == []


def test_pending_plans_limited(helper: Running, make_loop: Callable[..., str]) -> None:
    plan = plan_of(make_loop(2 * GIB, partscan=True))
    with ExitStack() as stack:
        owners = [Owner(stack.enter_context(client())) for _ in range(6)]
        assert error_of(partial(owners[4].describe, *[plan] * 17))[0] == "BadPlan"
        assert error_of(partial(owners[4].describe))[0] == "BadPlan"
        for owner in owners[:4]:
            for _ in range(8):
                owner.describe(*[plan] * 16)
            assert error_of(partial(owner.describe, plan)) == ("TooMany", "TooMany")
        assert error_of(partial(owners[4].describe, plan)) == ("TooMany", "TooMany")
        owners[0].client.connection.close_sync(None)
        wait_until(lambda: can(partial(owners[5].describe, plan)))
    assert helper.resident_bytes() < 60 * MIB


FLOOD = """
import json, sys
from contextlib import ExitStack
from app.dbus.service import load_gio
from app.domain.disk import DiskIdentity
from app.domain.storage_plan.reader import PLANS
from tests.bus.client import RemoteError
from tests.disks.helper_owner import client, plan_over, wired

disk = json.loads(sys.argv[1])
many = [("", "", "", 0, disk[4], 0)] * 2400
pack = lambda plans: load_gio()[1].Variant(f"({PLANS})", (plans,))
bad = pack([((many, "", "", {}, 0, 0, "", "", "", -1), [], [])])
good = pack([wired(plan_over(DiskIdentity(*disk)))] * 16)
assert 100_000 < bad.get_size() < 128 * 1024
names = {}
with ExitStack() as stack:
    clients = [stack.enter_context(client()) for _ in range(20)]
    print("ready", flush=True)
    for content in [bad] * 5 + [good] * 5:
        calls = [each.send("Describe", content) for each in clients for _ in range(2)]
        for wait in calls:
            try:
                wait()
                name = "answered"
            except RemoteError as err:
                name = err.name.rpartition(".")[2]
            names[name] = names.get(name, 0) + 1
    print(json.dumps(names), flush=True)
    input()
"""


def test_description_flood_blocks_no_caller(
    helper: Running, make_loop: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    disk = make_loop(2 * GIB, partscan=True)
    argv = ["setpriv", f"--reuid={NOBODY}", "--clear-groups", sys.executable, "-c", FLOOD]
    seconds: list[float] = []
    with subprocess.Popen(
        [*argv, json.dumps(astuple(SPARE.identify(disk)))],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=PROJECT,
    ) as flood:  # fmt: skip
        assert error_output(flood) == "ready"
        with Watch() as watch:
            names: list[str] = []
            reader = threading.Thread(target=lambda: names.append(error_output(flood)))
            reader.start()
            while not names:
                with client() as other:
                    started_s = time.perf_counter()
                    Owner(other).describe(plan_of(disk))
                    seconds.append(time.perf_counter() - started_s)
            reader.join()
        with client() as other:
            assert Owner(other).describe(plan_of(disk)), (
                "there is room for others although that of nobody is full"
            )
        found = json.loads(names[0])
        assert found.pop("answered") == 8, "of all connections of a user together"
        assert set(found) <= {"BadPlan", "TooMany"}
        go_on(flood)
    with capsys.disabled():
        slowest = f"{len(seconds)} descriptions of another user, slowest {1000 * max(seconds):.0f} ms"
        print(f"\n  {found}; meanwhile {watch.summary()}; {slowest}")  # noqa: T201


def can(action: Callable[[], object]) -> bool:
    try:
        action()
    except Exception:  # noqa: BLE001 - not yet
        return False
    return True


def test_a_hundred_clients_at_once_are_served(
    helper: Running, inspector: None, capsys: pytest.CaptureFixture[str]
) -> None:
    with ExitStack() as stack:
        clients = [stack.enter_context(client()) for _ in range(100)]
        with Watch() as watch:
            waiting = [each.begin("Version") for each in clients for _ in range(20)]
            waiting += [each.begin("Inspect", "(a(ssstst))", []) for each in clients]
            for wait in waiting:
                can(wait)
    with capsys.disabled():
        print(f"\n  2,100 calls of 100 clients: {watch.summary()}; {helper.resident_bytes() / 1e6:.1f} MB")  # noqa: T201
    assert client_can_ask()


def client_can_ask() -> bool:
    with client() as connection:
        return bool(connection.call("Version"))


def error_output(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def go_on(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()
