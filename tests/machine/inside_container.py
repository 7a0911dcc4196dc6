"""What needs a systemd, run by test_container.py in a container of the rig's root: native speed, no disks.

Not collected on the host, whose service manager it would ask.
"""

from __future__ import annotations

import os
import pwd
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.dbus.service import MethodError
from app.domain.text import GIB
from app.helper.storage.control_groups import PARTS, ControlGroup, hierarchy
from tests.fix_machine import IN_GUEST

pytestmark = [pytest.mark.machine, pytest.mark.skipif(not IN_GUEST, reason="for a container only")]

TESTER = pwd.getpwnam("tester").pw_uid if IN_GUEST else 1000
SERVICE = ("org.pgfooting.Helper1", "/org/pgfooting/Helper1", "org.pgfooting.Helper1")
PATIENCE_S = 60.0
Start = Callable[[int], subprocess.Popen[bytes]]


@pytest.fixture
def start() -> Iterator[Start]:
    """A function that starts a process of a user."""
    started: list[subprocess.Popen[bytes]] = []

    def start(uid: int) -> subprocess.Popen[bytes]:
        argv = ["setpriv", f"--reuid={uid}", "--clear-groups", "--no-new-privs", "sleep", "1000"]
        started.append(subprocess.Popen(argv, start_new_session=True))
        subprocess.run(["sleep", "0.2"], check=True)  # until setpriv has executed it
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


def output_of(*argv: str) -> str:
    """Return what a program prints; it has to succeed."""
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


def units() -> str:
    """Return the units of our own that systemd knows."""
    return output_of("systemctl", "list-units", "--all", "--plain", "--no-legend", "pgfooting-*")


def test_server_and_pgbench_scopes_end_together(start: Start) -> None:
    group = ControlGroup("0123456789abcdef", TESTER)
    processes = {part: start(TESTER) for part in PARTS}
    folders = {part: group.adopt(part, process.pid) for part, process in processes.items()}
    for part, folder in folders.items():
        assert f"pgfooting-0123456789abcdef-{part}.scope" in folder
        assert Path(folder, "cgroup.procs").read_text().split() == [str(processes[part].pid)]
        assert Path(folder, "cpu.stat").exists()
    assert len([unit for unit in units().splitlines() if unit.split()[0].endswith(".scope")]) == 2
    assert group.end()
    assert [process.wait(10) for process in processes.values()] == [-9, -9]
    assert units() == ""
    assert group.end()


def test_second_process_joins_existing_scope(start: Start) -> None:
    group = ControlGroup("00000000000000aa", TESTER)
    first, second = start(TESTER), start(TESTER)
    assert group.adopt("server", first.pid) == group.adopt("server", second.pid)
    assert group.end()
    assert (first.wait(10), second.wait(10)) == (-9, -9)


def test_immediate_next_pgbench_joins_scope(start: Start) -> None:
    group = ControlGroup("00000000000000dd", TESTER)
    for _ in range(5):
        process = start(TESTER)
        assert Path(group.adopt("pgbench", process.pid), "cgroup.procs").exists()
        process.kill()
        process.wait()
    assert group.end()
    assert units() == ""


def test_nobody_elses_process_is_adopted(start: Start) -> None:
    group = ControlGroup("00000000000000bb", TESTER)
    other = start(pwd.getpwnam("nobody").pw_uid)
    for pid in (other.pid, 1, 0, 2):
        with pytest.raises(MethodError):
            group.adopt("server", pid)
    assert group.end()
    assert other.poll() is None


def test_memory_limited_or_refused_with_reason(start: Start) -> None:
    group = ControlGroup("00000000000000cc", TESTER)
    root = hierarchy()
    assert root is not None
    if "memory" in Path(root, "cgroup.controllers").read_text().split():
        group.limit(GIB)
        folder = Path(group.adopt("server", start(TESTER).pid)).parent
        assert Path(folder, "memory.max").read_text() == f"{GIB}\n"
        group.limit(0)
        assert Path(folder, "memory.max").read_text() == "max\n"
    else:
        with pytest.raises(MethodError) as refused:
            group.limit(GIB)
        assert refused.value.args[0] == "Unavailable"
    assert group.end()


@pytest.fixture(scope="module")
def installed() -> Iterator[None]:
    """The service, installed as `packaging/helper install` does."""
    subprocess.run(["packaging/helper", "install"], check=True)
    yield
    subprocess.run(["packaging/helper", "uninstall"], check=True)


@pytest.mark.usefixtures("installed")
def test_call_starts_unit_uninstall_removes_it() -> None:
    called = output_of("busctl", "call", *SERVICE, "Version")
    assert called.startswith("su")
    shown = output_of(
        "systemctl", "show", "--property=ActiveState,NoNewPrivileges,MainPID", "pgfooting-helper"
    )
    values = dict(line.split("=", 1) for line in shown.splitlines())
    assert (values["ActiveState"], values["NoNewPrivileges"]) == ("active", "yes")
    command = Path("/proc", values["MainPID"], "cmdline").read_bytes()
    assert b"/srv/" not in command  # root's own copy, not the checkout
    subprocess.run(["systemctl", "stop", "pgfooting-helper"], check=True)
    assert "failed" not in output_of("systemctl", "show", "--property=Result,ActiveState", "pgfooting-helper")


def main_pid() -> int:
    return int(output_of("systemctl", "show", "--property=MainPID", "--value", "pgfooting-helper"))


@pytest.mark.usefixtures("installed")
def test_killed_helper_restarted_for_recovery() -> None:
    output_of("busctl", "call", *SERVICE, "Version")
    killed = main_pid()
    os.kill(killed, signal.SIGKILL)
    deadline_s = time.monotonic() + PATIENCE_S
    while main_pid() in {0, killed} and time.monotonic() < deadline_s:
        time.sleep(0.1)
    assert main_pid() not in {0, killed}
    subprocess.run(["systemctl", "stop", "pgfooting-helper"], check=True)


@pytest.mark.usefixtures("installed")
def test_boot_recovery_precedes_disk_users() -> None:
    shown = output_of("systemctl", "show", "--property=Before,WantedBy", "pgfooting-recover.service")
    values = dict(line.split("=", 1) for line in shown.splitlines())
    assert {"basic.target", "libvirtd.service", "ceph.target"} <= set(values["Before"].split())
    assert "basic.target" in values["WantedBy"]
    after = output_of("systemctl", "show", "--property=After", "--value", "multi-user.target")
    assert "basic.target" in after.split()


@pytest.mark.usefixtures("installed")
def test_boot_unit_succeeds_without_leftovers() -> None:
    subprocess.run(["systemctl", "start", "pgfooting-recover.service"], check=True)
    assert "success" in output_of("systemctl", "show", "--property=Result", "pgfooting-recover.service")


@pytest.mark.usefixtures("installed")
def test_without_a_session_inspecting_is_not_authorised() -> None:
    as_tester = ("setpriv", f"--reuid={TESTER}", "--clear-groups")
    call = ("busctl", "call", *SERVICE, "Inspect", "a(ssstst)", "0")
    asked = subprocess.run([*as_tester, *call], capture_output=True, text=True, check=False)
    assert (asked.returncode, asked.stderr) == (1, "Call failed: challenge\n")
