"""Find the disks of a plan on this machine: by device number, or by the maker's identifiers."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from app.dbus.service import MethodError
from app.domain.disk import DiskIdentity
from app.helper.storage.journal import JournalEntry
from app.storage.layout.partitions import PlannedDevice
from app.storage.spare.rules_disk import is_loop
from app.storage.spare.spare import SpareDisks

_NUMBER: Final = re.compile(r"[0-9]{1,4}:[0-9]{1,7}")


def node_of(number: str) -> str:
    """Return the node of a device number.

    Raises:
        OSError: no such device.
    """
    # SECURITY: it becomes part of a path.
    if not _NUMBER.fullmatch(number):
        raise FileNotFoundError(2, "no device number", number)
    return f"/dev/{(Path('/sys/dev/block') / number).resolve(strict=True).name}"


def find_device(disks: SpareDisks, chosen: DiskIdentity) -> PlannedDevice:
    """Return the device of a disk; reads sysfs and udev's database, and never the disk.

    Raises:
        MethodError: DiskRefused: the disk is absent, or another one has its number.
    """
    try:
        node = node_of(chosen.device_number)
        # SECURITY: only root may inspect the file of a loop device, and its filesystem may never answer.
        if is_loop(node.rpartition("/")[2]) and not disks.policy.accept_loop_devices:
            raise MethodError("DiskRefused", f"{chosen.device_number} D01 loop device")
        changed = chosen.differs_from(disks.identify(node))
    except OSError:
        raise MethodError("DiskRefused", f"{_shown(chosen.device_number)} D15 not here") from None
    if changed:
        raise MethodError("DiskRefused", f"{chosen.device_number} D15 {' '.join(changed)}")
    return PlannedDevice(node, _block_bytes(node))


@dataclass(frozen=True, slots=True)
class FoundAgain:
    """The disks of a journal entry on this machine.

    Attributes:
        devices: by `DiskIdentity.key`.
        chosen: identity by node.
        since: nodes of those that reappeared, or changed their size, since they were chosen.
    """

    devices: Mapping[str, PlannedDevice]
    chosen: Mapping[str, DiskIdentity]
    since: frozenset[str]


def find_again(entry: JournalEntry, disks: SpareDisks) -> FoundAgain:
    """Return the disks of an entry, regardless of their current names.

    A disk that is absent, or exists twice, gets a node that does not exist, so that every step that would
    write to it fails, and all others are executed. One with another size is found, and is another disk to
    every step.
    """
    now: dict[tuple[str, str | None, str], list[tuple[str, DiskIdentity]]] = defaultdict(list)
    for node in _nodes():
        with suppress(OSError):
            identity = disks.identify(node)
            now[identity.serial, identity.wwn, identity.model].append((node, identity))
    devices: dict[str, PlannedDevice] = {}
    chosen: dict[str, DiskIdentity] = {}
    since: set[str] = set()
    for number, (_, disk) in enumerate(entry.plan.members()):
        known = entry.devices[disk.key()]
        found = now[disk.serial, disk.wwn, disk.model]
        node, identity = found[0] if len(found) == 1 else (f"/dev/gone{number}", disk)
        devices[disk.key()] = PlannedDevice(node, known.logical_block_bytes)
        chosen[node] = replace(identity, size_bytes=disk.size_bytes)
        if disk.differs_from(identity):
            since.add(node)
    return FoundAgain(devices, chosen, frozenset(since))


def _nodes() -> Iterable[str]:
    return [f"/dev/{path.name}" for path in sorted(Path("/sys/block").iterdir())]


def _block_bytes(node: str) -> int:
    path = Path("/sys/block", Path(node).name, "queue/logical_block_size")
    return int(path.read_text(encoding="ascii"))


def _shown(text: str) -> str:
    return "".join(letter if letter.isalnum() or letter == ":" else "?" for letter in text[:20])
