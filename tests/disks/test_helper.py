"""The helper as root, on a real bus, with a real polkit and loop devices: what it does and refuses."""

from __future__ import annotations

import hashlib
import os
import pwd
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from app.dbus.introspection import load_gio
from app.domain.option_kinds import OptionValue
from app.domain.plan import Group, StoragePlan
from app.domain.plan_wire import PLAN, identity_to_wire, plan_to_wire
from app.domain.raid import Level
from app.domain.units import GIB, MIB
from app.helper.service import NAME, PATH
from app.storage.snapshot import Policy
from app.storage.spare import SpareDisks
from tests.bus.client import Client, RemoteError
from tests.disks.layout_proof import digest, leftovers

pytestmark = [
    pytest.mark.disks,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can start the helper"),
]

PROJECT = Path(__file__).parents[2]
SYSTEM = PROJECT / "packaging" / "system"
ACTIONS = Path("/usr/share/polkit-1/actions")
SPARE = SpareDisks(Policy(accept_loop_devices=True))
LIMIT_S = 120


@pytest.fixture(scope="module")
def installed(system_daemons: None) -> Iterator[None]:
    """Policies where bus and polkit look for them, loop devices allowed; gone with the namespace."""
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(ACTIONS)], check=True)
    copy(SYSTEM / "org.pgfooting.helper.policy", ACTIONS)
    copy(SYSTEM / "org.pgfooting.Helper1.conf", Path("/etc/dbus-1/system.d"))
    Path("/etc/pgfooting").mkdir(mode=0o755)
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
    """One helper process."""

    def __init__(self) -> None:
        self.log = Path(f"/run/helper-{time.monotonic_ns()}.log")
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.disks.helper_here"], cwd=PROJECT, stderr=log
            )
        with Client("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus") as bus:
            wait_until(
                lambda: self.process.poll() is not None or bus.call("NameHasOwner", "(s)", NAME) == (True,)
            )
        assert self.process.poll() is None, self.log.read_text()

    def end(self) -> None:
        self.process.terminate()
        assert self.process.wait(LIMIT_S) == 0, self.log.read_text()


@pytest.fixture
def helper(installed: None) -> Iterator[Running]:
    running = Running()
    yield running
    if running.process.poll() is None:
        running.end()
    assert list(Path("/var/lib/pgfooting/journal").glob("*.json")) == [], running.log.read_text()


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

    def describe(self, plan: StoragePlan) -> tuple[str, list[str], str]:
        found: tuple[str, list[str], str] = self.client.call("Describe", f"({PLAN})", *wired(plan))
        return found

    def execute(self, plan: StoragePlan, uid: int) -> None:
        plan_id, _, told = self.describe(plan)
        (self.session,) = self.client.call("Execute", "(ssu)", plan_id, told, uid)

    def ready(self) -> str:
        """Wait until the storage is there; return its folder."""
        found = self.wait_for("Ready", "Ended")
        assert found[0] == "Ready", "\n".join(map(str, [*self.signals]))
        return str(found[2])

    def wait_for(self, *names: str) -> tuple[Any, ...]:
        while True:
            for name, content in self.signals:
                if name in names:
                    return (name, *content)
            self.client.context.iteration(True)  # noqa: FBT003

    def release(self) -> tuple[Any, ...]:
        self.client.call("Release", "(s)", self.session)
        return self.wait_for("Ended")


NOBODY = pwd.getpwnam("nobody").pw_uid


def as_user(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["setpriv", f"--reuid={NOBODY}", "--clear-groups", sys.executable, "-c", code, *arguments],
        capture_output=True, text=True, check=False, cwd=PROJECT, timeout=LIMIT_S,
    )  # fmt: skip


def test_storage_is_made_handed_over_used_and_released_twice_on_the_same_disks(
    helper: Running, make_loop: Callable[..., str]
) -> None:
    disks = [make_loop(2 * GIB, partscan=True), make_loop(2 * GIB, partscan=True)]
    for _ in range(2):
        with client() as connection:
            owner = Owner(connection)
            owner.execute(plan_of(*disks, level=Level.STRIPE, filesystem="btrfs"), NOBODY)
            storage = owner.ready()
            _, session, _, wal, private = owner.wait_for("Ready")
            assert (session, wal) == (owner.session, "")
            write = "import pathlib, sys; [pathlib.Path(each, 'x').write_text('y') for each in sys.argv[1:]]"
            assert as_user(write, storage, private).returncode == 0
            mounts = Path("/proc/self/mountinfo").read_text()
            assert (
                sum("nosuid,nodev" in line for line in mounts.splitlines() if session_of(storage) in line)
                == 2
            )
            assert oct(Path(storage).stat().st_mode & 0o777) == "0o700"
            assert owner.release() == ("Ended", owner.session, "", "", "", [])
    assert leftovers(disks, Path("/run/pgfooting")) == ["/run/pgfooting/lock"]


def session_of(storage: str) -> str:
    return str(Path(storage).parent)


def test_what_is_executed_is_what_was_described(helper: Running, make_loop: Callable[..., str]) -> None:
    with client() as connection:
        owner = Owner(connection)
        plan_id, text, told = owner.describe(plan_of(make_loop(2 * GIB, partscan=True), filesystem="xfs"))
        assert told == hashlib.sha256("\n".join(text).encode()).hexdigest()
        assert any(line.startswith("mkfs.xfs ") for line in text)
        (owner.session,) = connection.call("Execute", "(ssu)", plan_id, told, NOBODY)
        owner.ready()
        owner.release()
        done = [content[1] for name, content in owner.signals if name == "Executed"]
        assert done[: len(text)] == text


def test_an_owner_that_leaves_has_its_storage_unmade_and_its_processes_ended(
    helper: Running, make_loop: Callable[..., str]
) -> None:
    disk = make_loop(2 * GIB, partscan=True)
    with client() as connection:
        owner = Owner(connection)
        owner.execute(plan_of(disk), NOBODY)
        storage = owner.ready()
        stays = subprocess.Popen(
            ["setpriv", f"--reuid={NOBODY}", "--clear-groups", "sleep", "1000"], cwd=storage
        )
        elsewhere = subprocess.Popen(["setpriv", f"--reuid={NOBODY}", "--clear-groups", "sleep", "1000"])
    try:
        assert stays.wait(LIMIT_S) != 0
        wait_until(lambda: not list(Path("/var/lib/pgfooting/journal").glob("*.json")))
        assert leftovers([disk], Path("/run/pgfooting")) == ["/run/pgfooting/lock"]
        assert elsewhere.poll() is None
    finally:
        elsewhere.kill()
        elsewhere.wait()


def test_a_helper_that_is_killed_is_recovered_from_by_the_next(
    installed: None, make_loop: Callable[..., str]
) -> None:
    disk = make_loop(2 * GIB, partscan=True)
    first = Running()
    with client() as connection:
        owner = Owner(connection)
        owner.execute(plan_of(disk), NOBODY)
        owner.ready()
        first.process.kill()
        first.process.wait()
    assert len(list(Path("/var/lib/pgfooting/journal").glob("*.json"))) == 1
    second = Running()
    assert leftovers([disk], Path("/run/pgfooting")) == ["/run/pgfooting/lock"]
    assert list(Path("/var/lib/pgfooting/journal").glob("*.json")) == []
    second.end()


def test_two_helpers_do_not_recover_from_each_other(helper: Running) -> None:
    other = subprocess.run(
        [sys.executable, "-m", "tests.disks.helper_here", "--recover"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert other.returncode == 1
    assert helper.process.poll() is None


def error_of(call: Callable[[], object]) -> tuple[str, str]:
    with pytest.raises(RemoteError) as refused:
        call()
    return refused.value.name.removeprefix(f"{NAME}.Error."), refused.value.text


def test_a_disk_with_data_is_refused_and_not_touched(helper: Running, make_loop: Callable[..., str]) -> None:
    disk = make_loop(2 * GIB, partscan=True)
    subprocess.run(["mkfs.ext4", "-q", disk], check=True)
    before = digest(disk)
    with client() as connection:
        owner = Owner(connection)
        owner.execute(plan_of(disk), NOBODY)
        name, _, code, message, _hint, left = owner.wait_for("Ready", "Ended")
        assert (name, code, left) == ("Ended", "refused", [])
        assert "D08" in message
        (answers,) = connection.call("Inspect", "(a(ssstst))", [identity_to_wire(SPARE.identify(disk))])
        assert answers[0][1] == "not spare"
    assert digest(disk) == before
    assert not Path("/var/lib/pgfooting/disks", f"{SPARE.identify(disk).key()}.json").exists()


def test_a_disk_that_is_not_here_is_refused(helper: Running, make_loop: Callable[..., str]) -> None:
    plan = plan_of(make_loop(2 * GIB, partscan=True))
    (data, wal, log) = wired(plan)
    for number in ("254:999", "../../etc", "7:0/..", "", "9" * 400, "7:\n0"):
        (serial, wwn, model, size, _, sequence) = data[0][0]
        other = ([(serial, wwn, model, size, number, sequence)], *data[1:])
        with client() as connection:
            name, _ = error_of(partial(connection.call, "Describe", f"({PLAN})", other, wal, log))
            assert name in {"DiskRefused", "BadPlan"}


def test_a_plan_is_good_for_its_caller_once_and_with_its_text(
    helper: Running, make_loop: Callable[..., str]
) -> None:
    plan = plan_of(make_loop(2 * GIB, partscan=True))
    with client() as connection, client() as thief:
        owner = Owner(connection)
        plan_id, _, told = owner.describe(plan)
        for wrong in ((plan_id, "0" * 64), ("0" * 32, told), ("", ""), (plan_id, "\N{SNOWMAN}")):
            assert error_of(partial(connection.call, "Execute", "(ssu)", *wrong, NOBODY)) == (
                "Unknown",
                "Unknown",
            )
        assert error_of(lambda: thief.call("Execute", "(ssu)", plan_id, told, NOBODY))[0] == "Unknown"
        (owner.session,) = connection.call("Execute", "(ssu)", plan_id, told, NOBODY)
        owner.ready()
        assert error_of(lambda: thief.call("Release", "(s)", owner.session))[0] == "Unknown"
        assert error_of(lambda: connection.call("Release", "(s)", "0" * 32))[0] == "Unknown"
        other_id, _, other_digest = Owner(thief).describe(plan)
        assert error_of(lambda: thief.call("Execute", "(ssu)", other_id, other_digest, NOBODY))[0] == "Busy"
        owner.release()
        assert error_of(lambda: connection.call("Execute", "(ssu)", plan_id, told, NOBODY))[0] == "Unknown"


@pytest.mark.parametrize("uid", [0, 4_000_000_000])
def test_storage_is_never_handed_to_root_or_to_nobody_known(
    helper: Running, make_loop: Callable[..., str], uid: int
) -> None:
    with client() as connection:
        plan_id, _, told = Owner(connection).describe(plan_of(make_loop(2 * GIB, partscan=True)))
        assert error_of(lambda: connection.call("Execute", "(ssu)", plan_id, told, uid))[0] == "BadUser"


def test_bad_options_are_refused_with_their_field(helper: Running, make_loop: Callable[..., str]) -> None:
    disk = make_loop(2 * GIB, partscan=True)
    with client() as connection:
        for options in ({"recordsize": 8192}, {"data": "journal,exec"}, {"commit": -1}, {"data": True}):
            name, text = error_of(partial(Owner(connection).describe, plan_of(disk, **options)))
            assert name == "BadPlan"
            assert next(iter(options)) in text


USER_CALLS = """
import sys
from tests.bus.client import Client, RemoteError
with Client("org.pgfooting.Helper1", "/org/pgfooting/Helper1", "org.pgfooting.Helper1") as caller:
    print(*caller.call("Version"))
    calls = [("Inspect", "(a(ssstst))", [[]]), ("Execute", "(ssu)", ["a", "b", 65534])]
    calls += [("Release", "(s)", ["a"])]
    for method, signature, values in calls:
        try:
            print(method, caller.call(method, signature, *values))
        except RemoteError as err:
            print(method, err.name.rpartition(".")[2], err.text)
"""


def test_a_user_without_authorisation_learns_the_version_and_nothing_else(helper: Running) -> None:
    done = as_user(USER_CALLS)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1:] == [
        "Inspect NotAuthorized challenge", "Execute Unknown Unknown", "Release Unknown Unknown",
    ]  # fmt: skip
    assert "refused: Inspect" in helper.log.read_text()
    assert "refused: Release" in helper.log.read_text()
