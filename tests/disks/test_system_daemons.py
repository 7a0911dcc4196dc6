"""The daemons that tests of disks may count on, and that the host does not notice them."""

from __future__ import annotations

import os
import subprocess
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.disks,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can make namespaces"),
]

IN_NAMESPACE = Path(__file__).parents[1] / "system" / "in-namespace"
UDISKS = "org.freedesktop.UDisks2"
MIB = 1024**2
LIMIT_S = 60


def run(*argv: str) -> str:
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()


def wait_for_property(device: str, name: str, wanted: str) -> None:
    """Wait until UDisks2 says so: it hears of a change after udevd has settled, nothing tells when.

    udevd itself misses some changes: a program that closes the device while udevd still looks at it because
    of an earlier change goes unnoticed. So it is asked to look again.
    """
    path = f"/org/freedesktop/UDisks2/block_devices/{Path(device).name}"
    ask = ("busctl", "--system", "get-property", UDISKS, path, f"{UDISKS}.Block", name)
    run("udevadm", "trigger", "--action=change", "--settle", device)
    deadline = time.monotonic() + LIMIT_S
    answer = ""
    while answer != wanted:
        assert time.monotonic() < deadline, f"{name} of {device} is {answer} and never {wanted}"
        time.sleep(0.02)
        answer = subprocess.run(ask, capture_output=True, text=True, check=False).stdout.strip()


@pytest.mark.parametrize("made", ["ext4", "xfs", "btrfs"])
def test_udisks_sees_loop_device_changes(
    system_daemons: None, make_loop: Callable[..., str], made: str
) -> None:
    device = make_loop(400 * MIB)
    wait_for_property(device, "IdType", 's ""')
    run(f"mkfs.{made}", "-q", device)
    wait_for_property(device, "IdType", f's "{made}"')
    run("wipefs", "--all", device)
    wait_for_property(device, "IdType", 's ""')


def test_loop_device_read_only_and_large_blocks(make_loop: Callable[..., str]) -> None:
    assert run("blockdev", "--getro", make_loop(MIB, read_only=True)) == "1"
    assert run("blockdev", "--getss", make_loop(MIB, block_bytes=4096)) == "4096"


def test_polkit_follows_test_rule(system_daemons: None) -> None:
    action = "org.freedesktop.udisks2.modify-device"
    ask = f"pkcheck --action-id {action} --process $$"
    check = ("setpriv", "--reuid=nobody", "--clear-groups", "bash", "-c", ask)
    assert subprocess.run(check, capture_output=True, check=False).returncode != 0
    rule = Path("/etc/polkit-1/rules.d/00-test.rules")
    rule.write_text(
        "polkit.addRule(function(action, subject) {"
        f'  if (action.id == "{action}" && subject.user == "nobody") return polkit.Result.YES; }});\n'
    )
    deadline = time.monotonic() + LIMIT_S
    while subprocess.run(check, capture_output=True, check=False).returncode != 0:
        assert time.monotonic() < deadline, "polkitd does not follow the rule"
        time.sleep(0.05)
    rule.unlink()


def host_as_it_is(own: Path) -> dict[str, object]:
    """Mounts, loop devices of files in `own`, and files that the daemons would make."""
    folders = ("/run", "/var/lib", "/etc")
    return {
        "mounts": Path("/proc/self/mountinfo").read_text().splitlines(),
        "loops": [line for line in run("losetup", "--list", "--noheadings").splitlines() if str(own) in line],
        "files": {folder: sorted(map(str, Path(folder).iterdir())) for folder in folders},
        "fstab": Path("/etc/fstab").read_bytes() if Path("/etc/fstab").exists() else None,
    }


def test_campaigns_of_the_host_are_not_seen() -> None:
    state = Path("/var/lib/pgfooting/state")
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    record = state / f"campaign-{uuid.uuid4().hex[:16]}.trial"
    record.touch()
    try:
        namespaces = ("unshare", "--mount", "--pid", "--fork", "--mount-proc", "--propagation", "private")
        assert (
            run(
                *namespaces, str(IN_NAMESPACE), "--inside", "find", "/var/lib/pgfooting", "-name", record.name
            )
            == ""
        )
        assert record.exists()
    finally:
        record.unlink()


@pytest.mark.parametrize("end", ["exit 3", "kill -KILL $$"])
def test_the_host_stays_as_it_was(end: str, tmp_path: Path) -> None:
    disk, link, process = (
        tmp_path / "disk",
        Path(f"/dev/disk/by-uuid/{uuid.uuid4()}"),
        f"sleep {time.time_ns()}",
    )
    disk.touch()
    os.truncate(disk, 64 * MIB)
    script = (
        f"set -e; {IN_NAMESPACE.parent}/start-daemons; touch /etc/made /var/lib/made; echo made >/etc/fstab\n"
        f"mkfs.ext4 -q -U {link.name} {disk}; mkdir /mnt/made; mount {disk} /mnt/made\n"
        f"udevadm trigger --settle --subsystem-match=block; ls -d {link}; {process} & {end}"
    )
    before = host_as_it_is(tmp_path)
    status = subprocess.run(
        [str(IN_NAMESPACE), "bash", "-c", script], capture_output=True, text=True, check=False, timeout=120
    )
    assert status.returncode == (3 if end == "exit 3" else 137), status.stderr
    assert str(link) in status.stdout
    # The kernel lets go of a namespace's mounts, and then of their loop devices, in its own time.
    deadline = time.monotonic() + LIMIT_S
    while host_as_it_is(tmp_path) != before and time.monotonic() < deadline:
        time.sleep(0.02)
    assert host_as_it_is(tmp_path) == before
    assert not link.is_symlink()
    assert process not in run("ps", "-eo", "args")
