"""The helper as root, on a real bus, with a real polkit and loop devices: what it does and refuses."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import astuple, replace
from functools import partial
from pathlib import Path

import pytest

from app.dbus.helper_errors import rule_of
from app.dbus.service import MethodError
from app.domain.options.raid import Level
from app.domain.storage_plan.reader import PLANS, identity_to_wire
from app.domain.text import GIB, MIB
from app.helper.storage.devices import find_device
from app.helper.storage.ownership import Process, end_users
from app.storage.spare.spare import SpareDisks
from tests.disks.helper_owner import NOBODY, SPARE, Owner, client, plan_of, wired
from tests.disks.layout_proof import digest, leftovers
from tests.fix_helper import (
    LIMIT_S,
    PROJECT,
    Running,
    as_user,
    error_of,
    journaled,
    restart_polkit,
    standing_in,
    wait_until,
)

pytestmark = [
    pytest.mark.disks,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can start the helper"),
]

RUN = Path("/run/pgfooting")


def test_plans_repeated_in_and_across_sessions(helper: Running, make_loop: Callable[..., str]) -> None:
    disks = [make_loop(2 * GIB, partscan=True), make_loop(2 * GIB, partscan=True)]
    plans = [
        plan_of(*disks, level=Level.STRIPE, filesystem="btrfs"),
        plan_of(disks[0], filesystem="ext4"),
        plan_of(disks[1], filesystem="xfs"),
    ]
    for order in ((0, 1, 0), (2,)):
        with client() as connection:
            owner = Owner(connection)
            owner.execute(*plans)
            assert leftovers(disks, RUN) == ["/run/pgfooting/lock"], "nothing is made before it is asked for"
            for number in order:
                owner.call("Make", "u", number)
                _, session, storage, further, private = owner.wait_for("Ready", "Unmade")
                assert (session, further) == (owner.session, {})
                write = (
                    "import pathlib, sys; [pathlib.Path(each, 'x').write_text('y') for each in sys.argv[1:]]"
                )
                assert as_user(write, storage, private).returncode == 0
                mounts = Path("/proc/self/mountinfo").read_text().splitlines()
                ours = [line for line in mounts if str(Path(storage).parent) in line]
                assert sum("nosuid,nodev" in line for line in ours) == 2
                assert oct(Path(storage).stat().st_mode & 0o777) == "0o700"
                assert owner.unmake() == ("Unmade", owner.session, "", "", "", [])
                assert leftovers(disks, RUN) == ["/run/pgfooting/lock"]
            assert owner.release() == ("Ended", owner.session, "", "", "", [])


def test_session_disks_reserved_while_unmade(helper: Running, make_loop: Callable[..., str]) -> None:
    disk = make_loop(2 * GIB, partscan=True)
    with client() as connection:
        owner = Owner(connection)
        owner.execute(plan_of(disk))
        for _ in range(2):
            taken = subprocess.run(["mkfs.ext4", "-q", disk], capture_output=True, text=True, check=False)
            assert "in use" in taken.stderr
            locked = ["flock", "--exclusive", "--nonblock", disk, "true"]
            assert subprocess.run(locked, check=False).returncode == 1
            owner.make()
            owner.unmake()
        owner.release()
    # udevd, too, locks a disk for as long as it looks at it, and at this one it looks anew now
    subprocess.run(["flock", "--exclusive", "--timeout", "60", disk, "true"], check=True)
    subprocess.run(["mkfs.ext4", "-q", disk], check=True)


def test_calls_out_of_order_refused(helper: Running, make_loop: Callable[..., str]) -> None:
    disk = make_loop(2 * GIB, partscan=True)
    with client() as connection:
        owner = Owner(connection)
        owner.execute(plan_of(disk))
        for method, signature, *values in (
            ("Unmake", ""), ("Make", "u", 1), ("Make", "u", 2**32 - 1), ("Limit", "t", 0),
            ("Maintain", "s", "fstrim"), ("EndMaintenance", ""),
            ("Adopt", "su", "server", os.getpid()), ("DropCaches", ""),
        ):  # fmt: skip
            assert error_of(partial(owner.call, method, signature, *values))[0] == "Unknown", method
        owner.make()
        assert error_of(lambda: owner.call("Make", "u", 0))[0] == "Busy"
        assert error_of(lambda: owner.call("Adopt", "su", "other", os.getpid()))[0] == "Unknown"
        owner.call("Release")
        for method, signature, *values in (
            ("Make", "u", 0),
            ("Unmake", ""),
            ("Maintain", "s", "fstrim"),
            ("Health", ""),
        ):
            assert error_of(partial(owner.call, method, signature, *values))[0] in {"Busy", "Unknown"}
        owner.wait_for("Ended")
        assert error_of(lambda: owner.call("Release"))[0] == "Unknown"


def test_stopped_make_undone_and_session_continues(helper: Running, make_loop: Callable[..., str]) -> None:
    disk = make_loop(2 * GIB, partscan=True)
    with client() as connection:
        owner = Owner(connection)
        owner.execute(plan_of(disk))
        owner.call("Make", "u", 0)
        owner.wait_for("Progress")
        assert owner.unmake()[2] in {"cancelled", ""}
        assert leftovers([disk], RUN) == ["/run/pgfooting/lock"]
        owner.make()
        assert owner.release()[2:] == ("", "", "", [])


def test_what_is_executed_is_what_was_described(helper: Running, make_loop: Callable[..., str]) -> None:
    disk = make_loop(2 * GIB, partscan=True)
    with client() as connection:
        owner = Owner(connection)
        plan_id, texts, described = owner.describe(plan_of(disk, filesystem="xfs"), plan_of(disk))
        lines = [line for text in texts for line in text]
        assert described == hashlib.sha256("\n".join(lines).encode()).hexdigest()
        assert [next(line.split()[0] for line in text if "mkfs" in line) for text in texts] == [
            "mkfs.xfs",
            "mkfs.ext4",
        ]
        (owner.session,) = connection.call("Execute", "(ssu)", plan_id, described, NOBODY)
        for number, text in enumerate(texts):
            owner.call("Make", "u", number)
            done = []
            while (found := owner.wait_for("Executed", "Ready", "Unmade"))[0] == "Executed":
                done.append(found[2])
            assert (found[0], done) == ("Ready", text)
            owner.unmake()
        owner.release()


def test_executed_commands_reported_after_failure(helper: Running, make_loop: Callable[..., str]) -> None:
    disk = make_loop(2 * GIB, partscan=True)
    with client() as connection, standing_in("mkfs.xfs", "echo half a filesystem; echo no more >&2; exit 7"):
        owner = Owner(connection)
        owner.execute(plan_of(disk, filesystem="xfs"))
        owner.call("Make", "u", 0)
        done = []
        while (found := owner.wait_for("Executed", "Ready", "Unmade"))[0] == "Executed":
            done.append(found[2:])
        assert found[0] == "Unmade"
        assert "status 7" in found[3]
        codes = [(text.split()[0], code) for text, code, _, _ in done if not text.startswith("#")]
        middle = codes.index(("mkfs.xfs", 7))
        assert ("sfdisk", 0) in codes[:middle]
        assert ("mount", 0) in codes[:middle], "of the private folder"
        assert codes[-1] == ("umount", 0)
        texts = [text for text, *_ in done]
        assert any("our partition table is removed" in text for text in texts), "what undoes it is told too"
        assert [output for text, code, _, output in done if code == 7] == ["half a filesystem\nno more\n"]
        assert len({text for text, *_ in done}) == len(done), "and nothing twice"
        assert owner.release()[2:] == ("", "", "", [])
    assert leftovers([disk], RUN) == ["/run/pgfooting/lock"]


def test_departed_owner_storage_and_processes_ended(helper: Running, make_loop: Callable[..., str]) -> None:
    disk = make_loop(2 * GIB, partscan=True)
    with client() as connection:
        owner = Owner(connection)
        owner.execute(plan_of(disk))
        storage = owner.make()
        stays = subprocess.Popen(
            ["setpriv", f"--reuid={NOBODY}", "--clear-groups", "sleep", "1000"], cwd=storage
        )
        elsewhere = subprocess.Popen(["setpriv", f"--reuid={NOBODY}", "--clear-groups", "sleep", "1000"])
    try:
        assert stays.wait(120) == -signal.SIGQUIT
        wait_until(lambda: not journaled())
        assert leftovers([disk], RUN) == ["/run/pgfooting/lock"]
        assert elsewhere.poll() is None
    finally:
        elsewhere.kill()
        elsewhere.wait()


def test_memory_stays_small_over_many_makes(
    helper: Running, make_loop: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    began_bytes, most_bytes = helper.resident_bytes(), 0
    with client() as connection:
        owner = Owner(connection)
        owner.execute(plan_of(make_loop(2 * GIB, partscan=True)))
        for _ in range(8):
            owner.make()
            owner.call("Health")
            most_bytes = max(most_bytes, helper.resident_bytes())
            owner.unmake()
        owner.release()
    with capsys.disabled():
        print(f"\n  8 times made: {began_bytes / 1e6:.1f} MB, at most {most_bytes / 1e6:.1f} MB")  # noqa: T201
    assert most_bytes < 48 * MIB


OWNING = """
import json, os, subprocess, sys, time
from app.domain.disk import DiskIdentity
from tests.disks.helper_owner import Owner, client, plan_over
connection = client()
owner = Owner(connection)
owner.execute(plan_over(DiskIdentity(*json.loads(sys.argv[1]))), uid=os.getuid())
storage = owner.make()
held = open(f"{storage}/x", "w")
if sys.argv[2] == "stays":
    other = subprocess.Popen(["sleep", "1000"], cwd=storage)
    print(json.dumps([os.getpid(), owner.unmake()[2:], other.wait()]), flush=True)
    held.close()
    print(json.dumps(owner.unmake()[2:]), flush=True)
    print(json.dumps(owner.release()[2:]), flush=True)
    connection.connection.close_sync(None)
else:
    connection.connection.close_sync(None)
    time.sleep(1000)
"""


@pytest.fixture
def allowed() -> Iterator[None]:
    """Nobody may erase disks without being asked."""
    rules = Path("/etc/polkit-1/rules.d/00-eraser.rules")
    rules.write_text(rule_of("nobody"))
    restart_polkit()
    yield
    rules.unlink()
    restart_polkit()


def test_owner_with_open_file_not_ended(
    helper: Running, allowed: None, make_loop: Callable[..., str]
) -> None:
    disk = make_loop(2 * GIB, partscan=True)
    ended = as_user(OWNING, json.dumps(astuple(SPARE.identify(disk))), "stays")
    assert ended.returncode == 0, ended.stderr
    first, second, last = map(json.loads, ended.stdout.splitlines())
    pid, (code, message, hint, left), other = first
    assert other == -signal.SIGQUIT, "whoever else works there"
    assert code == "storage"
    assert "umount" in message
    assert f"These processes use it: {pid} (python" in hint
    assert any(kept[0].endswith("/storage") for kept in left)
    assert second == last == ["", "", "", []]
    assert leftovers([disk], RUN) == ["/run/pgfooting/lock"]


def test_owner_off_bus_is_ended(helper: Running, allowed: None, make_loop: Callable[..., str]) -> None:
    disk = make_loop(2 * GIB, partscan=True)
    ended = as_user(OWNING, json.dumps(astuple(SPARE.identify(disk))), "leaves")
    assert ended.returncode == -signal.SIGQUIT, ended.stderr
    wait_until(lambda: not journaled())
    assert leftovers([disk], RUN) == ["/run/pgfooting/lock"]


def test_reused_pid_not_spared(system_daemons: None) -> None:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir="/run")))
        folder.chmod(0o755)
        subprocess.run(["mount", "-t", "tmpfs", "none", str(folder)], check=True)
        stack.callback(subprocess.run, ["umount", str(folder)], check=True)
        works = subprocess.Popen(
            ["setpriv", f"--reuid={NOBODY}", "--clear-groups", "sleep", "1000"], cwd=folder
        )
        stack.callback(works.wait)
        stack.callback(works.kill)
        wait_until(lambda: Path(f"/proc/{works.pid}").stat().st_uid == NOBODY)
        found = Process.of(works.pid)
        assert found is not None
        assert end_users([str(folder)], NOBODY, found) == [works.pid]
        assert works.poll() is None
        assert end_users([str(folder)], NOBODY, replace(found, started="1")) == []
        assert works.wait(LIMIT_S) == -signal.SIGQUIT


def test_health_and_caches_are_answered_with_values(helper: Running, make_loop: Callable[..., str]) -> None:
    disk = make_loop(2 * GIB, partscan=True)
    number = SPARE.identify(disk).device_number
    with client() as connection:
        owner = Owner(connection)
        owner.execute(plan_of(disk))
        assert owner.call("Health") == ([(number, {"status": "none", "warnings": ""})],)
        owner.make()
        owner.call("DropCaches")
        assert error_of(partial(owner.call, "DropCaches"))[0] == "TooSoon", "it slows the whole machine"
        assert owner.call("Health")[0][0][0] == number
        owner.release()


def test_kernel_lines_of_own_disks_once(helper: Running, make_loop: Callable[..., str]) -> None:
    disk, other = make_loop(2 * GIB, partscan=True), make_loop(2 * GIB)
    kernel = Path("/dev/kmsg")
    name = Path(disk).name
    kernel.write_text(f"test: {name}: said before the session\n")
    with client() as connection:
        owner = Owner(connection)
        owner.execute(plan_of(disk))
        assert not any("before the session" in line for line in owner.call("KernelLog")[0])
        for line in (
            f"I/O error, dev {name}, sector 1",
            f"{name}p1: two",
            f"{Path(other).name}: other",
            "none",
        ):
            kernel.write_text(f"test: {line}\n")
        described = [line for line in owner.call("KernelLog")[0] if line.startswith("test: ")]
        assert described == [f"test: I/O error, dev {name}, sector 1", f"test: {name}p1: two"]
        assert not any(line.startswith("test: ") for line in owner.call("KernelLog")[0])
        owner.release()


def test_killed_helper_recovered_by_next(installed_helper: None, make_loop: Callable[..., str]) -> None:
    disk = make_loop(2 * GIB, partscan=True)
    first = Running()
    with client() as connection:
        owner = Owner(connection)
        owner.execute(plan_of(disk))
        owner.make()
        first.kill()
    assert len(journaled()) == 1
    second = Running()
    assert leftovers([disk], RUN) == ["/run/pgfooting/lock"]
    assert journaled() == []
    second.end()


def test_two_helpers_never_recover_each_other(helper: Running) -> None:
    other = subprocess.run(
        [sys.executable, "-m", "tests.disks.helper_here", "--recover"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert other.returncode == 1
    assert helper.process.poll() is None


def test_disk_with_data_refused_untouched(helper: Running, make_loop: Callable[..., str]) -> None:
    disk = make_loop(2 * GIB, partscan=True)
    subprocess.run(["mkfs.ext4", "-q", disk], check=True)
    before = digest(disk)
    record = Path("/var/lib/pgfooting/disks", f"{SPARE.identify(disk).key()}.json")
    record.unlink(missing_ok=True)  # of an earlier test, whose file had the same inode
    with client() as connection:
        owner = Owner(connection)
        name, text = error_of(lambda: owner.execute(plan_of(disk)))
        assert name == "DiskRefused"  # also for who looks at it just then
        assert [SPARE.identify(disk).device_number, "D08"] in [line.split()[:2] for line in text.splitlines()]
        (answers,) = connection.call("Inspect", "(a(ssstst))", [identity_to_wire(SPARE.identify(disk))])
        assert answers[0][1] == "not spare"
    assert digest(disk) == before
    assert not record.exists()


def test_absent_disk_refused(helper: Running, make_loop: Callable[..., str]) -> None:
    plan = plan_of(make_loop(2 * GIB, partscan=True))
    (data, wal, log) = wired(plan)
    for number in ("254:999", "../../etc", "7:0/..", "", "9" * 400, "7:\n0"):
        (serial, wwn, model, size, _, sequence) = data[0][0]
        other = ([(serial, wwn, model, size, number, sequence)], *data[1:])
        with client() as connection:
            name, _ = error_of(partial(connection.call, "Describe", f"({PLANS})", [(other, wal, log)]))
            assert name in {"DiskRefused", "BadPlan"}


def test_plan_bound_to_caller_text_and_use(helper: Running, make_loop: Callable[..., str]) -> None:
    plan = plan_of(make_loop(2 * GIB, partscan=True))
    with client() as connection, client() as thief:
        owner = Owner(connection)
        plan_id, _, described = owner.describe(plan)
        for wrong in ((plan_id, "0" * 64), ("0" * 32, described), ("", ""), (plan_id, "\N{SNOWMAN}")):
            assert error_of(partial(connection.call, "Execute", "(ssu)", *wrong, NOBODY)) == (
                "Unknown",
                "Unknown",
            )
        assert error_of(lambda: thief.call("Execute", "(ssu)", plan_id, described, NOBODY))[0] == "Unknown"
        (owner.session,) = connection.call("Execute", "(ssu)", plan_id, described, NOBODY)
        owner.make()
        assert error_of(lambda: thief.call("Release", "(s)", owner.session))[0] == "Unknown"
        assert error_of(lambda: connection.call("Release", "(s)", "0" * 32))[0] == "Unknown"
        other_id, _, other_digest = Owner(thief).describe(plan)
        assert error_of(lambda: thief.call("Execute", "(ssu)", other_id, other_digest, NOBODY))[0] == "Busy"
        owner.release()
        assert (
            error_of(lambda: connection.call("Execute", "(ssu)", plan_id, described, NOBODY))[0] == "Unknown"
        )


@pytest.mark.parametrize("uid", [0, 4_000_000_000])
def test_storage_never_given_to_root_or_unknown(
    helper: Running, make_loop: Callable[..., str], uid: int
) -> None:
    with client() as connection:
        plan_id, _, described = Owner(connection).describe(plan_of(make_loop(2 * GIB, partscan=True)))
        assert error_of(lambda: connection.call("Execute", "(ssu)", plan_id, described, uid))[0] == "BadUser"


def test_bad_options_are_refused_with_their_field(helper: Running, make_loop: Callable[..., str]) -> None:
    disk = make_loop(2 * GIB, partscan=True)
    with client() as connection:
        for options in ({"recordsize": 8192}, {"data": "journal,exec"}, {"commit": -1}, {"data": True}):
            name, text = error_of(partial(Owner(connection).describe, plan_of(disk, **options)))
            assert name == "BadPlan"
            assert next(iter(options)) in text


DESCRIBING = """
import sys
from app.dbus.service import Call
from app.dbus.service import load_gio
from app.domain.storage_plan.reader import PLANS
from app.helper.service import described
from tests.disks.helper_owner import SPARE, plan_of, wired

content = load_gio()[1].Variant(f"({PLANS})", ([wired(plan_of(sys.argv[1]))],))
opened = []
sys.addaudithook(lambda event, values: opened.append(values[0]) if event == "open" else None)
found, texts = described(Call(":1.1", "Describe", content, False), 65534, SPARE)
print(len(texts[0]), *(each for each in opened if not str(each).endswith((".py", ".pyc"))), sep="\\n")
"""


def test_a_description_opens_no_disk(system_daemons: None, make_loop: Callable[..., str]) -> None:
    disk = make_loop(2 * GIB, partscan=True)
    argv = [sys.executable, "-c", DESCRIBING, disk]
    done = subprocess.run(argv, cwd=PROJECT, capture_output=True, text=True, check=True)
    lines, *opened = done.stdout.splitlines()
    assert int(lines) > 10
    assert opened
    allowed = ("/sys/", "/run/udev/data/", "/proc/sys/kernel/random/boot_id")
    assert all(path.startswith(allowed) for path in opened), opened


def test_disallowed_loop_device_not_identified(make_loop: Callable[..., str]) -> None:
    identity = SPARE.identify(make_loop(2 * GIB, partscan=True))
    with pytest.raises(MethodError) as refused:
        find_device(SpareDisks(), replace(identity, serial=""))
    assert (refused.value.code, refused.value.text) == (
        "DiskRefused",
        f"{identity.device_number} D01 loop device",
    )


USER_CALLS = """
import sys
from app.domain.storage_plan.reader import PLANS
from tests.bus.client import Client, RemoteError
with Client("org.pgfooting.Helper1", "/org/pgfooting/Helper1", "org.pgfooting.Helper1") as caller:
    print(*caller.call("Version"))
    calls = [("Inspect", "(a(ssstst))", [[]]), ("Execute", "(ssu)", ["a", "b", 65534])]
    calls += [("Release", "(s)", ["a"]), ("Describe", f"({PLANS})", [[]])]
    for method, signature, values in calls:
        try:
            print(method, caller.call(method, signature, *values))
        except RemoteError as err:
            print(method, err.name.rpartition(".")[2], err.text)
"""


def test_unauthorised_user_learns_only_version(helper: Running) -> None:
    done = as_user(USER_CALLS)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1:] == [
        "Inspect NotAuthorized challenge", "Execute Unknown Unknown", "Release Unknown Unknown",
        "Describe BadPlan plans: 1 to 16",
    ]  # fmt: skip
    assert "refused: Inspect" in helper.log.read_text()
    assert "refused: Release" in helper.log.read_text()
