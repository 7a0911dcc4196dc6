"""What `pgfooting disks` tells of real disks on the rig, with UDisks2 running."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from app.dbus.udisks import fetch_objects
from app.storage.inspect.snapshot import Policy
from app.storage.spare.disks import list_disks
from tests.machine.test_refused import RIG

pytestmark = [pytest.mark.machine, pytest.mark.inside(*RIG)]


def describe_disks(*prefix: str) -> dict[str, Any]:
    """Return what the command says, by serial."""
    argv = [*prefix, "python3", "-m", "app", "disks", "--json"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    listing = json.loads(done.stdout)
    return {disk["serial"]: disk for disk in listing["disks"]} | {"as_root": listing["as_root"]}


@pytest.fixture(scope="module")
def as_root() -> dict[str, Any]:
    return describe_disks()


def test_bus_rotation_and_names_are_told() -> None:
    """UDisks2 gets the time here that it needs in an emulated processor."""
    listing = list_disks(Policy(), objects=fetch_objects(60, activate=True))
    found = {disk.identity.serial: (disk.bus, disk.rotational, disk.identity.model) for disk in listing.disks}
    assert found["RIGSATA3"] == ("sata", True, "RIG SATA DISK")
    assert found["RIGSCSI4"] == ("scsi", False, "RIG SCSI DISK")
    assert found["RIGNVME5"][:2] == ("nvme", False)
    assert found["RIGUSB6"][0] == "usb"


def test_wwn_is_key_where_present(as_root: dict[str, Any]) -> None:
    assert as_root["RIGSCSI4"]["key"] == "naa.5000c50015ea71aa"
    assert as_root["RIGVIRTIO1"]["key"] == "RIGVIRTIO1"
    assert as_root["RIGNVME5"]["key"].startswith(("eui.", "nvme.", "uuid."))


def test_root_gets_answer_user_gets_question(as_root: dict[str, Any]) -> None:
    user = describe_disks("runuser", "-u", "tester", "--")
    assert (as_root["as_root"], user["as_root"]) == (True, False)
    for serial in ("RIGVIRTIO1", "RIGSATA3", "RIGSCSI4", "RIGNVME5"):
        assert as_root[serial]["answer"] == "spare"
        assert user[serial]["answer"] == "looks spare"
        assert {question["rule"] for question in user[serial]["questions"]} >= {"D05", "D08", "D13", "D14"}
    for serial in ("RIGUSB6", "RIGVIRTIO7", "TWIN", ""):
        assert as_root[serial]["answer"] == user[serial]["answer"] == "not spare"


def test_user_sees_disk_content_from_udev(record_property: Callable[[str, object], None]) -> None:
    path = f"/dev/{describe_disks()['RIGSATA3']['name']}"
    subprocess.run(["mkfs.ext4", "-q", path], check=True)
    try:
        subprocess.run(["udevadm", "settle"], check=True)
        found = describe_disks("runuser", "-u", "tester", "--")["RIGSATA3"]
    finally:
        subprocess.run(["wipefs", "--all", path], check=True, capture_output=True)
        subprocess.run(["blkdiscard", "--zeroout", path], check=True)
        subprocess.run(["udevadm", "settle"], check=True)
    assert found["answer"] == "not spare"
    assert {refusal["rule"] for refusal in found["refusals"]} == {"D08"}
