"""Filesystem and RAID from what tools printed: mount, mkfs, btrfs, zfs, zpool, mdadm.

Every function takes a text and returns facts, or nothing where the text says nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from app.domain import filesystems

_MOUNT: Final = re.compile(r"^(\S+) on (\S+) type (\w+) \(([^)]*)\)", re.MULTILINE)
_PROPERTY: Final = re.compile(
    r"^(\S+)\s+([a-z_:]+)\s+(\S.*?)\s+(-|local|default|received|inherited.*|temporary)$", re.MULTILINE
)
_BTRFS_PROFILE: Final = re.compile(
    r"^\s*(Data|Metadata)[,:]\s*(?:.*?\s)??(single|dup|raid\d+c?\d?)\b", re.IGNORECASE | re.MULTILINE
)
_BTRFS_DEVICES: Final = re.compile(r"^(?:Number of devices:\s+|\s*Total devices )(\d+)", re.MULTILINE)
_MDSTAT: Final = re.compile(r"^md\w+ : active (?:\([^)]*\) )?(raid\d+|linear) (.+)$", re.MULTILINE)
_MDADM: Final = re.compile(r"^\s*Raid Level : (\S+)\s*$", re.MULTILINE)
_MDADM_DISKS: Final = re.compile(r"^\s*Raid Devices : (\d+)\s*$", re.MULTILINE)
_VDEV: Final = re.compile(r"^\t( *)(\S+)", re.MULTILINE)
_TOP: Final = 2
"""Blanks before a group or disk right below the pool."""
_GROUP: Final = re.compile(r"(mirror|raidz[123]?|draid\S*)(?:-\d+)?")

_RECORD_SIZE: Final = "recordsize"
"""Told whatever it is: it decides whether full_page_writes=off is safe."""

LEVELS: Final = {
    "raid0": "stripe",
    "stripe": "stripe",
    "striping": "stripe",
    "raid1": "mirror",
    "mirror": "mirror",
    "raid10": "raid10",
    "raid4": "raid4",
    "raid5": "raid5",
    "raid6": "raid6",
    "raidz": "raidz1",
    "raidz1": "raidz1",
    "raidz2": "raidz2",
    "raidz3": "raidz3",
    "single": "single",
}
"""What tools and people call a level, as this program does."""
MD_NUMBERS: Final = {"0": "stripe", "1": "mirror", "10": "raid10", "4": "raid4", "5": "raid5", "6": "raid6"}
NAMES: Final = frozenset(
    {"ext2", "jfs", "bcachefs", "nilfs2", "ufs", *(spec.id for spec in filesystems.FILESYSTEMS)}
)
"""Filesystems that published results have: those that can be made here, and others."""


@dataclass(frozen=True, slots=True)
class StorageInfo:
    """What one text says.

    Attributes:
        filesystem: empty where it does not.
        options: mount options.
        properties: of a ZFS dataset, those that are no default, and the size of its records.
        level: as `LEVELS` has it.
        assembler: md, btrfs or zfs.
        devices: how many.
        detail: such as profiles of btrfs.
    """

    filesystem: str = ""
    options: tuple[str, ...] = ()
    properties: tuple[tuple[str, str], ...] = ()
    level: str = ""
    assembler: str = ""
    devices: int | None = None
    detail: str = ""


def read_storage(text: str) -> StorageInfo | None:
    """Return what a text of any of these tools says; None where it is of none of them."""
    for reader in (_zpool, _zfs, _btrfs, _mdadm, _mdstat, _mount):
        told = reader(text)
        if told is not None:
            return told
    return None


def _mount(text: str) -> StorageInfo | None:
    """Return what ``mount`` printed of a filesystem that can hold data; None for several of them."""
    found = [match for match in _MOUNT.finditer(text) if match[3] in NAMES]
    if len(found) != 1:
        return None
    return StorageInfo(found[0][3], tuple(found[0][4].split(",")))


def _zfs(text: str) -> StorageInfo | None:
    if not text.startswith("NAME"):
        return None
    found = [
        (match[2], match[3])
        for match in _PROPERTY.finditer(text)
        if match[4] not in {"-", "default"} or match[2] == _RECORD_SIZE
    ]
    return StorageInfo("zfs", properties=tuple(found))


def _zpool(text: str) -> StorageInfo | None:
    if not re.match(r"\s*pool: \S+", text):
        return None
    groups, disks, pool = [], 0, ""
    once = text.split("\n  pool:", maxsplit=1)[0]  # some keep the status before and after in one file
    for match in _VDEV.finditer(once.partition("\tNAME")[2]):
        depth, name = len(match[1]), match[2]
        if depth == 0:
            if pool:  # logs, cache, spares ...: no data there
                break
            pool = name
        elif depth == _TOP:
            group = _GROUP.fullmatch(name)
            groups.append(LEVELS.get(group[1], group[1]) if group else "")
            disks += not group
        else:
            disks += 1
    kinds = set(groups)
    level = groups[0] if len(kinds) == 1 else ""
    if kinds == {""}:
        level = "stripe" if len(groups) > 1 else "single"
    elif kinds == {"mirror"} and len(groups) > 1:
        level = "raid10"
    return StorageInfo("zfs", level=level, assembler="zfs", devices=disks or None)


def _btrfs(text: str) -> StorageInfo | None:
    profiles = {match[1].lower(): match[2].lower() for match in _BTRFS_PROFILE.finditer(text)}
    count = _BTRFS_DEVICES.search(text)
    if "data" not in profiles:
        return None
    detail = ", ".join(f"{kind} {profile}" for kind, profile in profiles.items())
    devices = int(count[1]) if count else None
    return StorageInfo(
        "btrfs", level=LEVELS.get(profiles["data"], ""), assembler="btrfs", devices=devices, detail=detail
    )


def _mdadm(text: str) -> StorageInfo | None:
    level, disks = _MDADM.search(text), _MDADM_DISKS.search(text)
    if level is None:
        return None
    return StorageInfo(
        level=LEVELS.get(level[1], ""), assembler="md", devices=int(disks[1]) if disks else None
    )


def _mdstat(text: str) -> StorageInfo | None:
    found = list(_MDSTAT.finditer(text))
    if "Personalities" not in text or len(found) != 1:
        return None
    return StorageInfo(level=LEVELS.get(found[0][1], ""), assembler="md", devices=len(found[0][2].split()))
