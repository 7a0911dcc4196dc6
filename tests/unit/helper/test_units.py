"""The units of root's code: hardened alike, and what `systemd-analyze security` still tells has a reason."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import pytest

from app.helper.__main__ import BOOT_IN_ALL_S
from app.helper.service import STOP_S
from app.helper.storage.leftovers import BOOT_S

SYSTEM = Path(__file__).parents[3] / "packaging" / "system"
HELPER, RECOVER = (SYSTEM / f"pgfooting-{name}.service" for name in ("helper", "recover"))
ITS_OWN: Final = frozenset({"Type", "BusName", "ExecStart", "Restart", "RestartSec", "KillMode"})
"""What the two units may have differently, besides time limits."""
MOST: Final = 5.1
"""The aim is 4.0; what is above it is told by `STAYS`, mount namespaces alone being 2.2."""

_NAMESPACE = "a mount namespace of its own, in which what is mounted is seen by the helper alone"
STAYS: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        (
            *("PrivateDevices=", "PrivateMounts=", "PrivateTmp=", "ProtectSystem=", "ProtectHome="),
            *("ProtectProc=", "ProcSubset=", "ProtectControlGroups=", "ProtectKernelLogs="),
            *("ProtectKernelModules=", "ProtectKernelTunables=", "RootDirectory=/RootImage="),
        ),
        _NAMESPACE,
    ),
    "PrivateNetwork=": "udevd's answers come over netlink, which does not cross network namespaces",
    "PrivateUsers=": "storage is handed to a user of the machine",
    "User=/DynamicUser=": "disks are root's",
    "DeviceAllow=": "which disks there will be, and which modules bring them, is not known before",
    "ProtectClock=": "it brings a DeviceAllow=; @clock and CAP_SYS_TIME are out",
    "RestrictNamespaces=~mnt": "mkfs gets an empty list of the other disks (programs.py, _show_disks)",
    "RestrictAddressFamilies=~AF_NETLINK": "udevd's answers",
    "RestrictAddressFamilies=~AF_UNIX": "the bus",
    "SystemCallFilter=~@mount": "mount and umount",
    "SystemCallFilter=~@privileged": "it has chown and the calls of @mount",
    "SystemCallFilter=~@resources": "whole disks are read at the lowest priority",
    "CapabilityBoundingSet=~CAP_SYS_ADMIN": "mount",
    "CapabilityBoundingSet=~CAP_(DAC_*|FOWNER|IPC_OWNER)": "who has a disk open, snapshots for a user",
    "CapabilityBoundingSet=~CAP_(CHOWN|FSETID|SETFCAP)": "CAP_CHOWN: storage is handed to its user",
    "CapabilityBoundingSet=~CAP_KILL": "processes of the user on the storage are ended",
    "CapabilityBoundingSet=~CAP_MKNOD": "mdadm opens arrays through nodes of its own (lib.c, dev_open)",
    "CapabilityBoundingSet=~CAP_SYS_PTRACE": "who has a disk open",
    "CapabilityBoundingSet=~CAP_SYS_RAWIO": "the health of ATA disks (SG_IO, ATA PASS-THROUGH)",
    "CapabilityBoundingSet=~CAP_SYSLOG": "what the kernel says of the disks, where dmesg is restricted",
}


def directives(unit: Path) -> Mapping[str, Sequence[str]]:
    found: dict[str, list[str]] = {}
    for line in unit.read_text().partition("[Service]")[2].partition("\n[")[0].splitlines():
        name, separator, value = line.partition("=")
        if separator and not line.startswith("#"):
            found.setdefault(name, []).append(value)
    return found


def test_units_are_hardened_alike() -> None:
    helper, recover = (
        {
            name: value
            for name, value in directives(unit).items()
            if name not in ITS_OWN and "Timeout" not in name
        }
        for unit in (HELPER, RECOVER)
    )
    assert helper == recover
    for name in ("SystemCallFilter", "MemoryDenyWriteExecute", "LimitCORE", "TasksMax", "MemoryMax"):
        assert name in helper


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
@pytest.mark.parametrize("unit", [HELPER, RECOVER], ids=lambda unit: unit.stem)
def test_exposure_of_units(unit: Path) -> None:
    analysed = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--no-pager", str(unit)],
        capture_output=True, text=True, check=False, env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
    )  # fmt: skip
    if "Overall exposure" not in analysed.stdout:
        pytest.skip(f"this systemd-analyze cannot look at a file: {analysed.stderr[:200]}")
    (level,) = re.findall(r"Overall exposure level .*: ([\d.]+)", analysed.stdout)
    assert float(level) <= MOST
    open_lines = {
        line.split()[1]
        for line in analysed.stdout.splitlines()
        if line.startswith("✗") and line.split()[-1] != "✗"
    }
    assert open_lines - STAYS.keys() == set(), "each has its reason"


def test_time_limits_of_units_and_code() -> None:
    assert f"waits for others for {BOOT_S:g} seconds" in RECOVER.read_text()
    assert f"ends after {BOOT_IN_ALL_S:g} seconds" in RECOVER.read_text()
    assert BOOT_S < BOOT_IN_ALL_S < int(directives(RECOVER)["TimeoutStartSec"][0])
    assert int(directives(HELPER)["TimeoutStopSec"][0]) > STOP_S
