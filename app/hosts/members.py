"""Whether the disks below a run are still those that were chosen and do not fail. Reads only.

Sources: /sys/dev/block/MAJOR:MINOR of the whole disk, which everybody may read (Linux
Documentation/ABI/stable/sysfs-block, testing/sysfs-block: ``size`` in sectors of 512 bytes, ``diskseq``;
SCSI and NVMe: ``device/state``; Documentation/admin-guide/md.rst: ``dev-NAME/state``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.domain.disk import DiskIdentity
from app.domain.text import tr
from app.domain.units import format_size
from app.storage.system.kernel_log import naming_pattern

_SECTOR_BYTES: Final = 512
_GONE_STATES: Final = frozenset(
    {"offline", "transport-offline", "cancel", "deleted", "deleting", "deleting (no IO)", "dead"}
)
"""Of SCSI (scsi_sysfs.c) and of NVMe controllers (nvme/host/core.c): nothing reaches the disk any more."""
_BAD_LINE: Final = re.compile(
    r"\berror\b|\berrs:|\bfail(ed|ure|ing)\b|capacity change|\boffline\b|\btimeout\b|\bmedium\b|"
    r"\bcorrupt|\bshut(ting)? ?down\b|\bunrecovered\b|\bremoved\b|\bremounting filesystem read-only\b",
    re.IGNORECASE,
)
"""Lines of the kernel that tell of a disk that fails; those of mounting and unmounting say none of it."""
_NO_HARM: Final = re.compile(r"operation not supported|\(DISCARD\)|\(WRITE_ZEROES\)")
"""Disks that cannot forget blocks say so with an error, and everybody goes on without."""


@dataclass(frozen=True, slots=True)
class MemberFault:
    """A disk that is not as it was.

    Attributes:
        disk: which one.
        text: what is with it, one sentence with its node and serial number.
    """

    disk: DiskIdentity
    text: str


class Members:
    """Looks after the disks of one run."""

    def __init__(self, disks: Sequence[DiskIdentity], sys: Path = Path("/sys")) -> None:
        self._disks = disks
        self._sys = sys
        self._nodes = {disk.device_number: self._node(disk) for disk in disks}

    def troubles(self) -> Iterator[MemberFault]:
        """Yield each disk that is gone, changed or was given up by its array, once a look."""
        for disk in self._disks:
            found = self._trouble(disk)
            if found:
                yield MemberFault(disk, f"{self._name(disk)}: {found}")

    def told_by_kernel(self, lines: Sequence[str]) -> Iterator[MemberFault]:
        """Yield each disk of which a line of the kernel tells that it fails, with the first such line."""
        for disk in self._disks:
            node = self._nodes[disk.device_number]
            line = next((line for line in lines if _names(node, line) and _is_bad(line)), "")
            if line:
                words = tr("{disk}: the kernel reports: {line}.")
                yield MemberFault(disk, words.format(disk=self._name(disk), line=line.rstrip(".")))

    def _folder(self, disk: DiskIdentity) -> Path:
        return self._sys / "dev" / "block" / disk.device_number

    def _node(self, disk: DiskIdentity) -> str:
        try:
            return self._folder(disk).resolve(strict=True).name
        except OSError:
            return disk.device_number

    def _name(self, disk: DiskIdentity) -> str:
        node = self._nodes[disk.device_number]
        name = node if ":" in node else f"/dev/{node}"
        words = tr("{name} (serial number {serial})")
        return words.format(name=name, serial=disk.serial) if disk.serial else name

    def _trouble(self, disk: DiskIdentity) -> str:
        folder = self._folder(disk)
        size = _read(folder / "size")
        if not size.isdigit():
            return tr("the disk is gone.")
        sequence = _read(folder / "diskseq")
        if disk.diskseq is not None and sequence.isdigit() and int(sequence) != disk.diskseq:
            return tr("the disk was away, or another one is in its place.")
        size_bytes = int(size) * _SECTOR_BYTES
        if size_bytes != disk.size_bytes:
            words = tr("its size changed from {before} to {after} ({bytes} bytes).")
            before, after = format_size(disk.size_bytes), format_size(size_bytes)
            return words.format(before=before, after=after, bytes=f"{size_bytes:,}")
        state = _read(folder / "device" / "state")
        if state in _GONE_STATES:
            return tr("the kernel has given the disk up (state “{state}”).").format(state=state)
        for path in folder.glob("*/holders/md*/md/dev-*/state"):
            partition = path.parents[4].name
            if path.parent.name == f"dev-{partition}" and "faulty" in _read(path).split(","):
                return tr("the array {array} has given the disk up as faulty.").format(
                    array=path.parents[2].name
                )
        return ""


def _is_bad(line: str) -> bool:
    return _BAD_LINE.search(line) is not None and _NO_HARM.search(line) is None


def _names(node: str, line: str) -> bool:
    return naming_pattern(node).search(line) is not None


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""
