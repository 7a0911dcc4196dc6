"""Extract from UDisks2's objects more about the hardware of a snapshot's disks, and reasons against them.

Pure. UDisks2 speaks only against a disk, never for it, and root never asks it: its "blank" means that it
recognised nothing, and its HintSystem says nothing about use. Source: org.freedesktop.UDisks2.xml.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from app.domain.messages.message import say
from app.storage.inspect.snapshot import DiskFacts, Snapshot, read

PREFIX: Final = "org.freedesktop.UDisks2."
_NOTHING: Final[Mapping[str, Any]] = {}
_MEMBER_USAGE: Final = frozenset({"raid", "crypto"})
_NO_OBJECT: Final = "/"

Objects = Mapping[str, Mapping[str, Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class Drive:
    """Details of a disk from UDisks2, for showing: empty or None if it does not know them."""

    model: str = ""
    bus: str = ""
    firmware: str = ""
    rotation_rpm: int | None = None


def properties(objects: Objects, path: str, interface: str) -> Mapping[str, Any]:
    """Return the properties of an object's interface; empty if it does not exist."""
    return objects.get(path, {}).get(PREFIX + interface, _NOTHING)


def text_of_bytes(value: Sequence[int] | bytes | str) -> str:
    """Return a D-Bus ``ay`` as text: pydbus gives a list of numbers with a zero at the end."""
    if isinstance(value, str):
        return value
    return bytes(value).rstrip(b"\0").decode("utf-8", errors="surrogateescape")


def _number(block: Mapping[str, Any]) -> str:
    device = int(block.get("DeviceNumber", 0))
    return f"{os.major(device)}:{os.minor(device)}"


def _path_of(objects: Objects, number: str) -> str:
    for path in objects:
        if _number(properties(objects, path, "Block")) == number:
            return path
    return ""


def drive_of(objects: Objects, facts: DiskFacts) -> Drive:
    """Return UDisks2's details about a disk's hardware."""
    block = properties(objects, _path_of(objects, facts.number), "Block")
    drive = properties(objects, str(block.get("Drive", "")), "Drive")
    turns = drive.get("RotationRate")
    return Drive(
        model=" ".join(str(drive.get(name, "")).strip() for name in ("Vendor", "Model")).strip(),
        bus=str(drive.get("ConnectionBus", "")),
        firmware=str(drive.get("Revision", "")),
        rotation_rpm=turns if isinstance(turns, int) and turns > 0 else None,
    )


def with_udisks(snapshot: Snapshot, objects: Objects) -> Snapshot:
    """Return the snapshot with UDisks2's reasons against each disk."""
    disks = tuple(
        dataclasses.replace(facts, udisks=read(tuple(_against(objects, facts)))) for facts in snapshot.disks
    )
    return dataclasses.replace(snapshot, disks=disks)


def _against(objects: Objects, facts: DiskFacts) -> Iterator[tuple[str, str]]:
    disk = _path_of(objects, facts.number)
    own = [disk, *(path for path in objects if properties(objects, path, "Partition").get("Table") == disk)]
    for path in own:
        block = properties(objects, path, "Block")
        device = text_of_bytes(block.get("Device", ""))
        yield from (
            (rule, say("of-udisks", what=say("of-source", source=device, what=text)))
            for rule, text in _against_block(block)
        )
    drive = str(properties(objects, disk, "Block").get("Drive", ""))
    if properties(objects, drive, "Drive.Ata").get("SmartFailing"):
        yield "D16", say("udisks-smart-failing")
    for warning in properties(objects, drive, "NVMe.Controller").get("SmartCriticalWarning", ()):
        yield "D16", say("of-udisks", what=warning)


def _against_block(block: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if block.get("HintIgnore"):
        yield "D17", "HintIgnore"
    usage, kind = block.get("IdUsage", ""), block.get("IdType", "")
    if usage in _MEMBER_USAGE or kind in {"swap", "swsuspend"}:
        yield "D09", kind or usage
    elif usage:
        yield "D08", kind or usage
    if block.get("MDRaidMember", _NO_OBJECT) != _NO_OBJECT:
        yield "D09", "MDRaidMember"
    for kind, details in block.get("Configuration", ()):
        name = text_of_bytes(details.get("dir", details.get("name", b"")))
        yield "D11", f"{kind} {name}".strip()
