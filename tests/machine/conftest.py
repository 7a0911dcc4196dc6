"""Fixtures of tests that run inside of the guest."""

from __future__ import annotations

import json
import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.fix_machine import IN_GUEST
from tests.machine.rig import SHARE

_LIMIT_S = 60


@dataclass(frozen=True, slots=True)
class RigBlockDevice:
    """A disk that the rig attached to this guest.

    Attributes:
        path: the device node now ("/dev/vdb").
        serial: its serial, by which it was found.
        size_bytes: its size.
        kind: virtio, sata, scsi, nvme or usb.
    """

    path: str
    serial: str
    size_bytes: int
    kind: str

    @property
    def name(self) -> str:
        """The kernel's name ("vdb")."""
        return Path(self.path).name


def _whole_disks() -> list[dict[str, str]]:
    subprocess.run(["udevadm", "settle"], check=True)
    listing = subprocess.run(
        ["lsblk", "--json", "--bytes", "--nodeps", "--output", "PATH,SERIAL,SIZE,TYPE"],
        capture_output=True,
        text=True,
        check=True,
    )
    return list(json.loads(listing.stdout)["blockdevices"])


def _found(wanted: dict[str, str], disks: list[dict[str, str]]) -> RigBlockDevice | None:
    matching = [
        disk
        for disk in disks
        if disk["serial"] == wanted["serial"] and int(disk["size"]) == int(wanted["size_bytes"])
    ]
    if len(matching) != 1:
        return None
    return RigBlockDevice(matching[0]["path"], wanted["serial"], int(wanted["size_bytes"]), wanted["kind"])


@pytest.fixture
def rig_disks() -> list[RigBlockDevice]:
    """The disks of this guest, in the order in which the marker `inside` names them, by serial and size.

    Disks without a serial, or with that of another, are left out. Fails outside of a guest, and where a disk
    is missing.
    """
    assert IN_GUEST, "rig_disks is for tests that run inside of a guest: mark them with `inside`"
    assert os.path.ismount(SHARE), "this is no guest of the rig"
    asked = json.loads(Path(SHARE, "disks.json").read_text())
    serials = [disk["serial"] for disk in asked]
    wanted = [disk for disk in asked if disk["serial"] and serials.count(disk["serial"]) == 1]
    deadline = time.monotonic() + _LIMIT_S
    while True:
        disks = _whole_disks()
        found = [_found(each, disks) for each in wanted]
        complete = [device for device in found if device is not None]
        if len(complete) == len(wanted):
            return complete
        assert time.monotonic() < deadline, f"not all of {wanted} are among {disks}"
        time.sleep(1)
