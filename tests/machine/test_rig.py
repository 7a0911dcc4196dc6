"""The rig itself: jobs, accounts, disks and power of a guest, and a host that does not notice."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.machine.rig import (
    CHECKOUT,
    DIED,
    MACHINE,
    TIMED_OUT,
    Guest,
    GuestError,
    built_guest,
    project_files,
)

pytestmark = pytest.mark.machine

SCSI, VIRTIO, NVME = 1, 2, 3
ODD = "an odd, 'checkout'"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small checkout whose path has a space, a comma and quotes."""
    folder = tmp_path_factory.mktemp("rig") / ODD
    (folder / "sub").mkdir(parents=True)
    git = ["git", "-C", str(folder), "-c", "user.name=t", "-c", "user.email=t@t"]
    subprocess.run([*git, "init", "--quiet"], check=True)
    (folder / ".gitignore").write_text("*.pyc\n")
    (folder / "sub" / "tracked file").write_text("committed")
    (folder / "deleted").write_text("")
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "--quiet", "-m", "first"], check=True)
    (folder / "sub" / "tracked file").write_text("changed")
    (folder / "deleted").unlink()
    (folder / "new program").write_text("#!/bin/sh\nexit 5\n")
    (folder / "new program").chmod(0o755)
    (folder / "link").symlink_to("sub/tracked file")
    (folder / "cache.pyc").write_text("")
    return folder


@pytest.fixture(scope="module")
def booted(checkout: Path) -> Iterator[Guest]:
    with Guest(["scsi:256M", "virtio:256M", "nvme:256M"], folder=built_guest(), checkout=checkout) as guest:
        yield guest


@pytest.fixture
def guest(booted: Guest) -> Guest:
    """A guest that all tests here share; one that is lost is switched off and on."""
    try:
        booted.output_of("true", limit_s=60)
    except GuestError:
        booted.cut_power()
        booted.boot()
    return booted


@pytest.mark.parametrize("status", [0, 1, 77, 255])
@pytest.mark.parametrize("account", ["root", "user", "seat"])
def test_the_exit_status_is_passed_on(guest: Guest, account: str, status: int) -> None:
    assert guest.run(["bash", "-c", f"exit {status}"], account=account) == status


def test_command_words_unchanged(guest: Guest) -> None:
    words = ["two words", "'quotes\"", "$HOME", "a\nline", "", "*", "ünï"]
    assert guest.output_of("printf", r"<%s>\n", *words) == "".join(f"<{word}>\n" for word in words)


def test_output_complete_and_ordered(guest: Guest) -> None:
    lines = "print(f'{n}\\x1e{n}\\x1f', file=(sys.stdout, sys.stderr)[n % 2], flush=True)"
    script = f"import sys; [{lines} for n in range(3000)]"
    expected = "".join(f"{number}\x1e{number}\x1f\n" for number in range(3000))
    assert guest.output_of("python3", "-c", script) == expected


def test_project_copied_with_changes_without_caches(guest: Guest) -> None:
    find = guest.output_of("find", ".", "-mindepth", "1", "-not", "-name", ".gitignore")
    assert sorted(find.splitlines()) == ["./link", "./new program", "./sub", "./sub/tracked file"]
    assert guest.output_of("cat", "link") == "changed"
    assert guest.run(["./new program"]) == 5


def test_own_files_tracked_or_new() -> None:
    files = set(project_files(CHECKOUT))
    assert Path("tests/machine/run-guest") in files
    assert not [path for path in files if "__pycache__" in path.parts or path.parts[0] == ".git"]


def session_of(guest: Guest, account: str) -> dict[str, str]:
    wanted = " ".join(f"--property={name}" for name in ("Name", "Seat", "Active"))
    shown = guest.output_of(
        "bash", "-c", f'loginctl show-session "$XDG_SESSION_ID" {wanted}', account=account
    )
    return dict(line.split("=", 1) for line in shown.splitlines())


def test_local_user_has_active_session_on_seat(guest: Guest) -> None:
    session = session_of(guest, "seat")
    assert (session["Name"], session["Seat"], session["Active"]) == ("tester", "seat0", "yes")


def test_remote_user_has_session_without_seat(guest: Guest) -> None:
    session = session_of(guest, "user")
    assert (session["Name"], session["Seat"]) == ("tester", "")


def test_polkit_tells_who_is_at_the_machine(guest: Guest) -> None:
    ask = ["bash", "-c", "pkcheck --action-id org.freedesktop.udisks2.filesystem-mount --process $$"]
    assert guest.run(ask, account="seat") == 0
    assert guest.run(ask, account="user") != 0


def test_a_command_without_end_is_ended(guest: Guest) -> None:
    with pytest.raises(GuestError, match="in time") as raised:
        guest.run(["sleep", "infinity"], limit_s=1)
    assert raised.value.status == TIMED_OUT


def test_dying_guest_reports_last_words(guest: Guest) -> None:
    with pytest.raises(GuestError, match="sysrq triggered crash") as raised:
        guest.run(["bash", "-c", "echo c >/proc/sysrq-trigger; sleep 100"], limit_s=300)
    assert raised.value.status == DIED


@pytest.mark.parametrize(
    ("number", "serial"), [(SCSI, "RIGSCSI1"), (VIRTIO, "RIGVIRTIO2"), (NVME, "RIGNVME3")]
)
def test_a_disk_can_be_pulled(guest: Guest, number: int, serial: str) -> None:
    listing = ("lsblk", "--nodeps", "--noheadings", "--output", "SERIAL")
    if serial not in guest.output_of(*listing):
        guest.cut_power()
        guest.boot()
    assert serial in guest.output_of(*listing)
    guest.remove_disk(number)
    guest.output_of("udevadm", "settle")
    assert serial not in guest.output_of(*listing)


def test_disks_and_root_outlive_the_power(guest: Guest) -> None:
    disk = guest.output_of("lsblk", "--nodeps", "--noheadings", "--output", "PATH,SERIAL").splitlines()
    path = next((line.split()[0] for line in disk if line.endswith("RIGVIRTIO2")), None)
    if path is None:  # pulled by another test
        guest.cut_power()
        guest.boot()
        path = "/dev/disk/by-id/virtio-RIGVIRTIO2"
    identity = guest.output_of("cat", "/proc/sys/kernel/random/boot_id")
    guest.output_of(
        "bash", "-c", f"echo kept | dd of={path} conv=fsync status=none; echo kept >/kept; sync /kept"
    )
    guest.cut_power()
    guest.boot()
    assert guest.output_of("cat", "/proc/sys/kernel/random/boot_id") != identity
    assert guest.output_of("head", "--bytes=4", "/dev/disk/by-id/virtio-RIGVIRTIO2") == "kept"
    assert guest.output_of("cat", "/kept") == "kept\n"


def own_processes() -> list[str]:
    """Processes of QEMU that this test started, also those that nobody waits for any more."""
    return [
        file.parent.name
        for file in Path("/proc").glob("[0-9]*/cmdline")
        if b"name=rig\0" in _read(file)
        and f"RIG_TEST={os.getpid()}\0".encode() in _read(file.parent / "environ")
    ]


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""


def host_as_it_is() -> dict[str, object]:
    """What a guest could leave: mounts, loop devices and processes."""
    loops = subprocess.run(["losetup", "--list", "--noheadings"], capture_output=True, text=True, check=True)
    mounts = Path("/proc/self/mountinfo").read_text()
    return {
        "mounts": [line for line in mounts.splitlines() if "guest" in line or "rig" in line],
        "loops": [line for line in loops.stdout.splitlines() if "guest" in line],
        "guests": own_processes(),
    }


def run_guest(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [str(MACHINE / "run-guest"), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "RIG_TEST": str(os.getpid())},
    )


def test_run_guest_exits_with_status(checkout: Path, tmp_path: Path) -> None:
    before = host_as_it_is()
    logs = tmp_path / "the logs"
    guest = run_guest(
        "--as", "user", "--disk", "virtio:64M,serial=MINE", "--checkout", str(checkout), "--logs", str(logs),
        "--", "bash", "-c", "id --user --name; lsblk -n -o SERIAL; exit 7",
    )  # fmt: skip
    output, errors = guest.communicate()
    assert guest.returncode == 7, errors
    assert output.split() == ["tester", "RIGROOT", "MINE"]
    assert "Linux version" in (logs / "dmesg.txt").read_text()
    assert {file.name for file in logs.iterdir()} == {"dmesg.txt", "journal.txt", "console.log"}
    assert host_as_it_is() == before


def test_a_guest_ends_with_whoever_runs_it(checkout: Path) -> None:
    before = host_as_it_is()
    guest = run_guest(
        "--no-disks", "--checkout", str(checkout), "--", "bash", "-c", "echo up; sleep infinity"
    )
    assert guest.stdout is not None
    assert guest.stderr is not None
    assert guest.stdout.readline() == "up\n"
    assert own_processes() != []
    guest.send_signal(signal.SIGKILL)
    guest.wait()
    deadline = time.monotonic() + 60
    while own_processes():
        assert time.monotonic() < deadline
        time.sleep(0.1)
    guest.stdout.close()
    guest.stderr.close()
    assert host_as_it_is() == before


@pytest.mark.parametrize(
    "words", [["--disk", "floppy:1G", "--", "true"], ["--as", "nobody", "--", "true"], []]
)
def test_run_guest_bad_usage_exits_2(words: list[str]) -> None:
    guest = run_guest(*words)
    _, errors = guest.communicate()
    assert guest.returncode == 2
    assert "run-guest" in errors
