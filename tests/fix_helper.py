"""The helper as root on a real bus with a real polkit and loop devices: started, asked, ended."""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from app.dbus.introspection import load_gio
from app.domain.option_kinds import OptionValue
from app.domain.plan import Group, StoragePlan
from app.domain.plan_wire import PLANS, plan_to_wire
from app.domain.raid import Level
from app.domain.units import MIB
from app.storage.snapshot import Policy
from app.storage.spare import SpareDisks
from tests.bus.client import Client, RemoteError

NAME = "org.pgfooting.Helper1"
PATH = "/org/pgfooting/Helper1"
PROJECT = Path(__file__).parents[1]
SYSTEM = PROJECT / "packaging" / "system"
ACTIONS = Path("/usr/share/polkit-1/actions")
JOURNAL = Path("/var/lib/pgfooting/journal")
SPARE = SpareDisks(Policy(accept_loop_devices=True))
NOBODY = pwd.getpwnam("nobody").pw_uid
LIMIT_S = 120


@pytest.fixture(scope="session")
def installed_helper(system_daemons: None) -> Iterator[None]:
    """Policies where bus and polkit look for them, loop devices allowed; gone with the namespace."""
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(ACTIONS)], check=True)
    copy(SYSTEM / "org.pgfooting.helper.policy", ACTIONS)
    copy(SYSTEM / "org.pgfooting.Helper1.conf", Path("/etc/dbus-1/system.d"))
    Path("/etc/pgfooting").mkdir(mode=0o755, exist_ok=True)
    Path("/etc/pgfooting/helper.conf").write_text("accept_loop_devices = true\n")
    bus = "org.freedesktop.DBus"
    subprocess.run(["busctl", "--system", "call", bus, "/", bus, "ReloadConfig"], check=True)
    restart_polkit()
    yield
    subprocess.run(["umount", str(ACTIONS)], check=True)


def copy(path: Path, folder: Path) -> None:
    (folder / path.name).write_bytes(path.read_bytes())


def restart_polkit() -> None:
    """It notices changed files by itself, but not in a time that it promises."""
    status = ["busctl", "--system", "status", "org.freedesktop.PolicyKit1"]
    for line in subprocess.run(status, capture_output=True, text=True, check=False).stdout.splitlines():
        if line.startswith("PID="):
            os.kill(int(line[4:]), 15)
            wait_until(lambda pid=line[4:]: not Path(f"/proc/{pid}/exe").exists())  # type: ignore[misc]
    bus = "org.freedesktop.DBus"
    start = ["busctl", "--system", "--timeout=60", "call", bus, "/", bus, "StartServiceByName", "su"]
    subprocess.run([*start, "org.freedesktop.PolicyKit1", "0"], check=True, capture_output=True)


def wait_until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


class Running:
    """One helper process; its log is what the system's log would get."""

    def __init__(self, *arguments: str, environment: dict[str, str] | None = None) -> None:
        self.log = Path(f"/run/helper-{time.monotonic_ns()}.log")
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.disks.helper_here", *arguments],
                cwd=PROJECT,
                stderr=log,
                env={**os.environ, **(environment or {})},
            )
        with Client("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus") as bus:
            wait_until(
                lambda: self.process.poll() is not None or bus.call("NameHasOwner", "(s)", NAME) == (True,)
            )
        assert self.process.poll() is None, self.log.read_text()

    def end(self) -> None:
        self.process.terminate()
        assert self.process.wait(LIMIT_S) == 0, self.log.read_text()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def said(self, text: str) -> bool:
        return text in self.log.read_text()

    def resident_bytes(self) -> int:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) * 1024


@pytest.fixture
def helper(installed_helper: None) -> Iterator[Running]:
    """A helper that runs; when the test ends, its journal is empty."""
    running = Running()
    yield running
    if running.process.poll() is None:
        running.end()
    assert journaled() == [], running.log.read_text()


def journaled() -> list[Path]:
    return sorted(JOURNAL.glob("*.json"))


def client() -> Client:
    return Client(NAME, PATH, NAME)


def plan_of(
    *devices: str, level: Level = Level.SINGLE, filesystem: str = "ext4", **options: OptionValue
) -> StoragePlan:
    disks = tuple(SPARE.identify(device) for device in devices)
    return StoragePlan(Group(disks, level, filesystem, tuple(options.items()), partition_bytes=512 * MIB))


def wired(plan: StoragePlan) -> tuple[Any, ...]:
    """A plan with its options as variants."""
    _, glib = load_gio()
    kinds = {bool: "b", int: "x", str: "s"}

    def group(wire: tuple[Any, ...]) -> tuple[Any, ...]:
        options = {name: glib.Variant(kinds[type(value)], value) for name, value in wire[3].items()}
        return (*wire[:3], options, *wire[4:])

    data, wal, log = plan_to_wire(plan)
    return group(data), [group(each) for each in wal], log


class Owner:
    """A client that makes a session."""

    def __init__(self, connection: Client) -> None:
        self.client = connection
        self.signals = connection.signals()
        self.session = ""

    def describe(self, *plans: StoragePlan) -> tuple[str, list[list[str]], str]:
        found: tuple[str, list[list[str]], str] = self.client.call(
            "Describe", f"({PLANS})", [wired(plan) for plan in plans]
        )
        return found

    def execute(self, *plans: StoragePlan, uid: int = NOBODY) -> None:
        """Have the disks of plans claimed."""
        plan_id, _, told = self.describe(*plans)
        (self.session,) = self.client.call("Execute", "(ssu)", plan_id, told, uid)

    def make(self, number: int = 0) -> str:
        """Have a plan made; return the folder of the storage."""
        self.call("Make", "u", number)
        found = self.wait_for("Ready", "Unmade", "Ended")
        assert found[0] == "Ready", found
        return str(found[2])

    def call(self, method: str, signature: str = "", *values: object) -> Any:  # noqa: ANN401
        return self.client.call(method, f"(s{signature})", self.session, *values)

    def wait_for(self, *names: str) -> tuple[Any, ...]:
        """Wait for one of the signals; it and those before it are forgotten."""
        while True:
            for place, (name, content) in enumerate(self.signals):
                if name in names:
                    del self.signals[: place + 1]
                    return (name, *content)
            self.client.context.iteration(True)  # noqa: FBT003

    def unmake(self) -> tuple[Any, ...]:
        self.call("Unmake")
        return self.wait_for("Unmade", "Ended")

    def release(self) -> tuple[Any, ...]:
        self.call("Release")
        return self.wait_for("Ended")


def as_user(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["setpriv", f"--reuid={NOBODY}", "--clear-groups", sys.executable, "-c", code, *arguments],
        capture_output=True, text=True, check=False, cwd=PROJECT, timeout=LIMIT_S,
    )  # fmt: skip


def error_of(call: Callable[[], object]) -> tuple[str, str]:
    with pytest.raises(RemoteError) as refused:
        call()
    return refused.value.name.removeprefix(f"{NAME}.Error."), refused.value.text
