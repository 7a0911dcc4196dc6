"""The installed helper under systemd with its hardening: sessions on the rig's disks, and control groups."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.domain.options.raid import Level
from app.domain.text import MIB
from app.helper.storage.control_groups import ControlGroup
from app.storage.system.state import is_unique, mount_of
from tests.disks.helper_owner import NAME, NOBODY, Owner, client, plan_of
from tests.disks.layout_proof import leftovers, output
from tests.disks.test_helper_release import release, shown
from tests.machine.conftest import RigBlockDevice

pytestmark = [pytest.mark.machine, pytest.mark.inside("virtio:1G", "sata:1G:7200", "nvme:1G", group="helper")]

PROGRAM = Path(__file__).parents[2] / "packaging" / "helper"
ROOT = Path("/sys/fs/cgroup")
RUN = Path("/run/pgfooting")
PATIENCE_S = 300


def wait_until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.fixture
def installed() -> Iterator[None]:
    """The copy that systemd starts; uninstalled in the end."""
    for command in ("install", "status"):
        done = subprocess.run([str(PROGRAM), command], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    # The bus waits 25 s for a service that it starts, which an emulated machine may need for Python alone.
    subprocess.run(["systemctl", "start", "pgfooting-helper.service"], check=True, timeout=PATIENCE_S)
    yield
    done = subprocess.run([str(PROGRAM), "uninstall"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def process() -> Iterator[Callable[[], subprocess.Popen[bytes]]]:
    """A function that starts a process of the user which ends by force only; it forks when it is told to."""
    started: list[subprocess.Popen[bytes]] = []

    def start() -> subprocess.Popen[bytes]:
        script = 'trap "" TERM QUIT; read -r _; sleep 1000 & read -r _'
        command = ["setpriv", f"--reuid={NOBODY}", "--clear-groups", "--no-new-privs", "bash", "-c", script]
        one = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
        started.append(one)
        wait_until(lambda: f"Uid:\t{NOBODY}" in Path(f"/proc/{one.pid}/status").read_text())
        wait_until(lambda: b"bash" in Path(f"/proc/{one.pid}/cmdline").read_bytes().split(b"\0")[0])
        return one

    yield start
    for one in started:
        one.kill()
        one.communicate()


def fork(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    process.stdin.write(b"go\n")
    process.stdin.flush()


def units() -> list[str]:
    """Slices and scopes of ours that systemd knows."""
    options = ("--all", "--plain", "--no-legend")
    listing = output("systemctl", "list-units", *options, "pgfooting-*.scope", "pgfooting*.slice")
    return [line.split()[0] for line in listing.splitlines()]


def test_systemd_session_counted_limited_and_ended(
    installed: None, rig_disks: list[RigBlockDevice], process: Callable[[], subprocess.Popen[bytes]]
) -> None:
    nodes = [disk.path for disk in rig_disks]
    with client() as connection:
        owner = Owner(connection)
        owner.execute(
            plan_of(*nodes[:2], level=Level.MIRROR, filesystem="ext4"), plan_of(nodes[2], filesystem="xfs")
        )
        for number in (0, 1):
            owner.make(number)
            server, pgbench = process(), process()
            (folder,) = owner.call("Adopt", "su", "server", server.pid)
            (other,) = owner.call("Adopt", "su", "pgbench", pgbench.pid)
            slice_folder = Path(folder).parent
            assert Path(other).parent == slice_folder
            assert slice_folder.parent == ROOT / "pgfooting.slice"
            fork(server)
            wait_until(lambda: len((Path(folder) / "cgroup.procs").read_text().split()) == 2)  # noqa: B023
            assert int((Path(folder) / "cpu.stat").read_text().split()[1]) > 0
            assert (Path(folder) / "io.stat").exists()
            owner.call("Limit", "t", 256 * MIB)
            wait_until(lambda: (slice_folder / "memory.max").read_text() == f"{256 * MIB}\n")  # noqa: B023
            owner.call("Limit", "t", 0)
            wait_until(lambda: (slice_folder / "memory.max").read_text() == "max\n")  # noqa: B023
            again = process()
            assert owner.call("Adopt", "su", "server", again.pid) == (folder,)
            if number == 0:  # again only after a while
                owner.call("DropCaches")
            assert owner.call("Maintain", "s", "fstrim")[0] == "done"
            health = dict(owner.call("Health")[0])
            assert len(health) == 3
            assert any("bytes_written" in values for values in health.values()), health
            assert owner.unmake()[2:] == ("", "", "", [])
            assert [each.wait(30) for each in (server, pgbench, again)] == [-signal.SIGKILL] * 3
            wait_until(lambda: not units())
            assert not (ROOT / "pgfooting.slice").exists()
        assert owner.release()[2:] == ("", "", "", [])
    assert leftovers(nodes, RUN) == ["/run/pgfooting/lock"]


def test_killed_service_restarted_without_leftover_unit(
    installed: None, rig_disks: list[RigBlockDevice], process: Callable[[], subprocess.Popen[bytes]]
) -> None:
    nodes = [disk.path for disk in rig_disks]
    with client() as connection:
        owner = Owner(connection)
        owner.execute(plan_of(nodes[0], filesystem="xfs"))
        owner.make()
        (folder,) = RUN.glob("*/storage")
        is_proved = is_unique(mount_of(str(folder)))
        server = process()
        owner.call("Adopt", "su", "server", server.pid)
        subprocess.run(["systemctl", "kill", "--signal=KILL", "pgfooting-helper.service"], check=True)
        wait_until(connection_lost)
        recover = ["/usr/libexec/pgfooting-helper", "--recover"]
        recovered = subprocess.run(recover, check=False, timeout=PATIENCE_S)
    assert server.wait(60) == -signal.SIGKILL
    wait_until(lambda: not units())
    assert recovered.returncode == (not is_proved)
    if not is_proved:  # before Linux 6.8 another process cannot know the mount again: the disk is offered
        with client() as connection:
            _, seen = shown(connection, nodes[0])
            assert release(connection, nodes[0], seen) == ("wiped", "", "")
    assert list(Path("/var/lib/pgfooting/journal").glob("*.json")) == []
    assert leftovers(nodes, RUN) == ["/run/pgfooting/lock"]


def connection_lost() -> bool:
    ask = ["busctl", "--system", "--timeout=60", "status", NAME]
    return subprocess.run(ask, capture_output=True, check=False).returncode != 0


def test_unknown_group_ended_silently() -> None:
    assert ControlGroup("feedfeedfeedfeed", NOBODY).end()
    assert units() == []


def test_pool_upkeep_ended(installed: None, rig_disks: list[RigBlockDevice]) -> None:
    nodes = [disk.path for disk in rig_disks]
    with client() as connection:
        owner = Owner(connection)
        owner.execute(plan_of(*nodes[:2], level=Level.MIRROR, filesystem="zfs"))
        owner.make()
        pool = output("zpool", "list", "-H", "-o", "name").strip()
        assert owner.call("Maintain", "s", "zpool-trim")[0] in {"done", "failed"}, "not every disk can"
        for name in ("zpool-scrub", "snapshot"):
            how, message, _ = owner.call("Maintain", "s", name)
            assert (how, message[0]) == ("done", ""), (name, message)
        assert "scrub repaired" in output("zpool", "status", pool)
        assert output("zfs", "list", "-H", "-t", "snapshot", "-o", "name").startswith(f"{pool}@pgfooting-")
        answer = connection.begin("Maintain", "(ss)", owner.session, "zpool-scrub")
        assert owner.unmake()[2:] == ("", "", "", [])
        assert answer()[0] in {"ended", "done"}
        assert owner.release()[2:] == ("", "", "", [])
    assert leftovers(nodes, RUN) == ["/run/pgfooting/lock"]
