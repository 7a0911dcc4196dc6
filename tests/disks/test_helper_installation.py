"""packaging/helper as root: what it puts in place works from there, and is taken away to the last file."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from app import VERSION
from app.dbus.helper_client import INTERFACE_NUMBER
from tests.bus.client import Client
from tests.disks.helper_owner import NAME, Owner, client
from tests.fix_helper import error_of, wait_until

pytestmark = [
    pytest.mark.disks,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root installs"),
]

PROGRAM = Path(__file__).parents[2] / "packaging" / "helper"
FOLDERS = [Path("/usr/lib"), Path("/usr/libexec"), Path("/usr/share")]
BUS = ("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus")
COPY = Path("/usr/lib/pgfooting/helper")


@pytest.fixture
def layers(system_daemons: None) -> Iterator[None]:
    """What is written below /usr is gone after the test."""
    for folder in FOLDERS:
        layer = Path("/run/layers", folder.name)
        for part in ("upper", "work"):
            (layer / part).mkdir(parents=True, exist_ok=True)
        options = f"lowerdir={folder},upperdir={layer}/upper,workdir={layer}/work"
        subprocess.run(["mount", "-t", "overlay", "-o", options, "overlay", str(folder)], check=True)
    yield
    for folder in FOLDERS:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
    subprocess.run(["rm", "--recursive", "--force", "/run/layers"], check=True)


def helper(command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(PROGRAM), command], capture_output=True, text=True, check=False, timeout=300)


def changed() -> list[str]:
    """Files that are there now and were not in the folders below."""
    found = []
    for folder in FOLDERS:
        upper = Path("/run/layers", folder.name, "upper")
        found += [str(folder / path.relative_to(upper)) for path in upper.rglob("*") if not path.is_dir()]
    return sorted(found)


def test_installed_helper_activated_by_bus(layers: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert helper("install").returncode == 0
    with client() as caller, Client(*BUS) as bus:
        assert caller.call("Version")[:2] == (VERSION, INTERFACE_NUMBER)
        (pid,) = bus.call("GetConnectionUnixProcessID", "(s)", NAME)
        try:
            assert error_of(Owner(caller).describe) == ("BadPlan", "plans: 1 to 16")
            program = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            assert b"/usr/libexec/pgfooting-helper" in program
            status = Path(f"/proc/{pid}/status").read_text()
        finally:
            os.kill(pid, signal.SIGTERM)
            wait_until(lambda: not Path(f"/proc/{pid}/exe").exists())
    resident_bytes = int(status.partition("VmRSS:")[2].split()[0]) * 1024
    with capsys.disabled():
        print(f"\n  as it is installed: {resident_bytes / 1e6:.1f} MB")  # noqa: T201
    assert helper("uninstall").returncode == 0


def test_uninstall_removes_every_file(layers: None) -> None:
    assert helper("status").returncode == 1
    assert helper("install").returncode == 0
    once = changed()
    assert "/usr/libexec/pgfooting-helper" in once
    assert all(Path(path).stat().st_uid == 0 and not Path(path).stat().st_mode & 0o022 for path in once)
    again = helper("install")
    assert (again.returncode, changed()) == (0, once)
    assert helper("status").returncode == 0
    assert helper("uninstall").returncode == 0
    assert changed() == []
    assert not COPY.parent.exists()


def test_bus_starts_copy_not_checkout(layers: None) -> None:
    assert helper("install").returncode == 0
    name = "org.pgfooting.Helper1"
    ask = ["busctl", "--system", "--timeout=120", "call", name, "/org/pgfooting/Helper1", name, "Version"]
    answer = subprocess.run(ask, capture_output=True, text=True, check=False)
    assert answer.stdout.split()[:1] == ["sub"], answer.stderr
    status = subprocess.run(
        ["busctl", "--system", "status", name], capture_output=True, text=True, check=True
    )
    pid = next(line[4:] for line in status.stdout.splitlines() if line.startswith("PID="))
    words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    assert b"/usr/libexec/pgfooting-helper" in words
    os.kill(int(pid), 15)
    assert helper("uninstall").returncode == 0


@pytest.mark.parametrize("path", ["/usr/libexec/pgfooting-helper", f"{COPY}/app/domain/storage_plan/plan.py"])
def test_foreign_file_neither_replaced_nor_removed(layers: None, path: str) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text("mine")
    refused = helper("install")
    assert refused.returncode == 1
    assert path in refused.stderr
    assert changed() == [path]
    assert helper("uninstall").returncode == 0
    assert Path(path).read_text() == "mine"


def test_changed_file_reported_and_kept(layers: None) -> None:
    assert helper("install").returncode == 0
    target = COPY / "app/helper/service.py"
    target.write_text("changed")
    assert str(target) in helper("status").stderr
    assert helper("install").returncode == 1
    assert str(target) in helper("uninstall").stderr
    assert changed() == [str(target)]


@pytest.mark.parametrize("count", [1, 30, 80])
@pytest.mark.parametrize("next_command", ["install", "uninstall"])
def test_killed_installation_completed_or_removed(layers: None, count: int, next_command: str) -> None:
    with subprocess.Popen([str(PROGRAM), "install"], start_new_session=True) as running:
        wait_until(lambda: len(changed()) > count)
        os.killpg(running.pid, signal.SIGKILL)
    assert running.returncode == -signal.SIGKILL
    described = helper("status")
    assert (described.returncode, "interrupted" in described.stderr) == (1, True), described.stderr
    done = helper(next_command)
    assert done.returncode == 0, done.stderr
    assert helper("status").returncode == (0 if next_command == "install" else 1)
    assert not [path for path in changed() if path.endswith(".pgfooting-part")]
    assert helper("uninstall").returncode == 0
    assert changed() == []


def test_interrupted_older_version_replaced(layers: None) -> None:
    assert helper("install").returncode == 0
    manifest, old = COPY / "MANIFEST", COPY / "app/domain/of_an_older_version.py"
    old.write_text("old")
    line = subprocess.run(["sha256sum", str(old)], capture_output=True, text=True, check=True).stdout
    manifest.rename(f"{manifest}.new")
    with Path(f"{manifest}.new").open("a") as file:
        file.write(line)
    assert helper("install").returncode == 0
    assert not old.exists()
    assert helper("status").returncode == 0


@pytest.fixture
def packaged(layers: None) -> Iterator[str]:
    """A file that dpkg knows as a package's."""
    own, status = "/usr/libexec/pgfooting-helper", Path("/var/lib/dpkg/status")
    files, before = Path("/var/lib/dpkg/info/of-the-distribution.list"), status.read_bytes()
    paragraph = "Package: of-the-distribution\nStatus: install ok installed\nMaintainer: nobody\n"
    status.write_bytes(before + f"\n{paragraph}Architecture: all\nVersion: 1\nDescription: test\n".encode())
    files.write_text(f"/.\n{own}\n")
    Path(own).write_text("packaged")
    yield own
    status.write_bytes(before)
    files.unlink()


def test_packaged_file_refused_with_name(packaged: str) -> None:
    refused = helper("install")
    assert refused.returncode == 1
    assert f"{packaged} belongs to the package of-the-distribution" in refused.stderr
    assert changed() == [packaged]


def test_file_now_packaged_not_removed(layers: None, request: pytest.FixtureRequest) -> None:
    assert helper("install").returncode == 0
    before = Path("/usr/libexec/pgfooting-helper").read_bytes()
    request.getfixturevalue("packaged")
    Path("/usr/libexec/pgfooting-helper").write_bytes(before)
    done = helper("uninstall")
    assert done.returncode == 0
    assert "Kept, because they belong to a package now: 1 files." in done.stderr
    assert changed() == ["/usr/libexec/pgfooting-helper"]


def test_a_user_changes_nothing() -> None:
    asked = ["setpriv", "--reuid=nobody", "--clear-groups", str(PROGRAM), "install"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "Only root" in done.stderr
