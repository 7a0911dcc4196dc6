"""Read the facts of one disk from sysfs and udev's database, without touching the disk.

Sources: Documentation/ABI/stable/sysfs-block, sysfs of SCSI (wwid, vpd_pg80), NVMe and virtio, udev's
/run/udev/data.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from app.domain.disk import DiskIdentity
from app.storage.inspect.snapshot import (
    DeviceUse,
    DiskFacts,
    DuplicateMarks,
    Geometry,
    Hardware,
    PartitionFacts,
    Reading,
    SourceKnowledge,
    UdevProperties,
    absent,
)
from app.storage.inspect.sources import SourceFolders, text_of

_SECTOR_BYTES: Final = 512
# Errors of a SCSI disk without such an identifier (scsi_vpd_lun_id): ENXIO without page 83 (most USB sticks),
# EINVAL if that page has only words of the vendor (seen with QEMU's disks).
_NO_VALUE: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ENXIO, errno.EINVAL})
_VPD_HEADER_BYTES: Final = 4
_WORLD_WIDE: Final = re.compile(r"(?:naa|eui|nvme|uuid)\..+")
_NUMBER: Final = re.compile(r"0x[0-9a-fA-F]+")
_VIRTIO_MODEL: Final = "Virtio Block Device"
_LOOP_MODEL: Final = "Loop device"


def read_disk(places: SourceFolders, name: str) -> DiskFacts:
    """Return the facts of a disk in sysfs; content, health and exclusiveness are not read yet.

    Raises:
        OSError: the disk is gone.
    """
    folder = places.sys / "block" / name
    number = text_of(folder / "dev")
    partitions = places.attempt(folder, lambda: tuple(_partitions(folder)))
    numbers = (number, *(part.number for part in partitions.known(())))
    left: Reading[str] = Reading(SourceKnowledge.PASSED_OVER)
    stat = text_of(folder / "stat")
    identity = places.attempt(folder, lambda: _identity(places, folder, number))
    return DiskFacts(
        name=name,
        number=number,
        written=_written(stat),
        hardware=places.attempt(folder, lambda: _hardware(folder)),
        medium=places.attempt(folder, lambda: _medium(folder)),
        identity=identity,
        partitions=partitions,
        holders=places.attempt(folder, lambda: tuple(_holders(folder, partitions.known(())))),
        udev=_udev(places, numbers),
        udisks=absent("UDisks2 was not asked"),
        exclusive=left,
        content=Reading(SourceKnowledge.PASSED_OVER),
        health=Reading(SourceKnowledge.PASSED_OVER),
        marks=_marks(places, folder, stat, identity.known(None)),
    )


def _written(stat: str) -> tuple[int, ...]:
    """Return the counters of writes and discards (Documentation/block/stat.rst)."""
    fields = [int(word) for word in stat.split()]
    return (*fields[4:7], *fields[11:14])


def _marks(places: SourceFolders, folder: Path, stat: str, identity: DiskIdentity | None) -> DuplicateMarks:
    """Return the marks of a disk; no appearance if the kernel does not count, or numbers no disks."""
    boot = ""
    with suppress(OSError):
        if text_of(folder / "queue/iostats").strip() == "1":
            boot = text_of(places.proc / "sys/kernel/random/boot_id").strip()
    writes, merged, sectors, discards, merged_discards, discarded = _written(stat)
    sequence = identity.diskseq if identity else None
    return DuplicateMarks(
        f"{boot} {sequence}" if boot and sequence is not None else "",
        writes + merged + discards + merged_discards,
        (sectors + discarded) * _SECTOR_BYTES,
    )


def _hardware(folder: Path) -> Hardware:
    subsystem = ""
    with suppress(FileNotFoundError):
        subsystem = (folder / "device/subsystem").readlink().name
    scsi_type = int(text_of(folder / "device/type")) if subsystem == "scsi" else None
    # /sys/block/X/hidden came with Linux 4.15; before it nothing was hidden
    hidden = _stated(folder / "hidden") == "1"
    return Hardware(subsystem, hidden, scsi_type)


def _medium(folder: Path) -> Geometry:
    queue = folder / "queue"
    turning = _stated(queue / "rotational")
    return Geometry(
        size_bytes=int(text_of(folder / "size")) * _SECTOR_BYTES,
        read_only=text_of(folder / "ro").strip() != "0",
        removable=text_of(folder / "removable").strip() != "0",
        zoned=_stated(queue / "zoned"),
        logical_block_bytes=int(text_of(queue / "logical_block_size")),
        physical_block_bytes=int(text_of(queue / "physical_block_size")),
        rotational=None if not turning else turning == "1",
        discards=_stated(queue / "discard_max_bytes") not in {"", "0"},
    )


def _partitions(folder: Path) -> Iterator[PartitionFacts]:
    for entry in sorted(folder.iterdir()):
        if (entry / "partition").exists():
            yield PartitionFacts(
                entry.name,
                text_of(entry / "dev"),
                int(text_of(entry / "start")) * _SECTOR_BYTES,
                int(text_of(entry / "size")) * _SECTOR_BYTES,
            )


def _holders(folder: Path, partitions: tuple[PartitionFacts, ...]) -> Iterator[DeviceUse]:
    for entry in (folder, *(folder / part.name for part in partitions)):
        for holder in sorted((entry / "holders").iterdir()):
            yield DeviceUse(text_of(entry / "dev"), holder.name, entry.name)


def _identity(places: SourceFolders, folder: Path, number: str) -> DiskIdentity:
    """Return the identity from sysfs alone: the same with and without udev."""
    wwn = _first(folder / "wwid", folder / "device/wwid")
    sequence = _first(folder / "diskseq")
    return DiskIdentity(
        serial=_serial(places, folder, number),
        wwn=wwn if _WORLD_WIDE.fullmatch(wwn) else None,
        model=_model(folder),
        size_bytes=int(text_of(folder / "size")) * _SECTOR_BYTES,
        device_number=number,
        diskseq=int(sequence) if sequence else None,
    )


def _stated(file: Path) -> str:
    """Return a sysfs value of a disk; empty only if this kernel has no such file.

    SECURITY: disks are refused for these values (D01, D02): an unreadable value is not a missing one.

    Raises:
        OSError: it exists and cannot be read.
    """
    try:
        return text_of(file).strip()
    except (FileNotFoundError, NotADirectoryError):
        return ""


def _first(*files: Path) -> str:
    """Return the first non-empty identifier of the disk."""
    for file in files:
        try:
            if text := text_of(file).strip():
                return text
        except OSError as err:
            if err.errno not in _NO_VALUE:
                raise
    return ""


def _serial(places: SourceFolders, folder: Path, number: str) -> str:
    if (folder / "loop").exists():
        return _file_serial(folder)
    with suppress(OSError):
        page = (folder / "device/vpd_pg80").read_bytes()  # Unit Serial Number, SPC-4, 7.8.17
        if serial := page[_VPD_HEADER_BYTES:].decode("ascii", errors="replace").strip(" \0"):
            return serial
    if serial := _first(folder / "serial", folder / "device/serial"):
        return serial
    for parent in (folder / "device").resolve().parents:  # a USB disk has its bridge's number
        if (parent / "idVendor").exists():
            return _first(parent / "serial")
    records = _udev(places, (number,)).known(())
    return records[0].properties.get("ID_SERIAL_SHORT", "") if records else ""


def _file_serial(folder: Path) -> str:
    """Return an identifier of a loop device's file: two devices of one file are one disk.

    Raises:
        PermissionError: this user may not inspect the file.
    """
    with suppress(FileNotFoundError, NotADirectoryError):
        status = os.stat(text_of(folder / "loop/backing_file"))  # noqa: PTH116 - may be any text
        return f"file-{status.st_dev:x}-{status.st_ino:x}"
    return ""


def _model(folder: Path) -> str:
    if (folder / "loop").exists():
        return _LOOP_MODEL
    vendor, model = _first(folder / "device/vendor"), _first(folder / "device/model")
    if _NUMBER.fullmatch(vendor):  # virtio's, which has no model
        return model or _VIRTIO_MODEL
    return model if vendor in {"ATA", "NVMe", ""} else f"{vendor} {model}".strip()


def _udev(places: SourceFolders, numbers: tuple[str, ...]) -> Reading[tuple[UdevProperties, ...]]:
    """Return udev's properties; absent if no udev runs or it has not seen the disk."""
    folder = places.run / "udev/data"

    def records() -> tuple[UdevProperties, ...]:
        present = (number for number in numbers if (folder / f"b{number}").exists())
        return tuple(parse_udev(number, text_of(folder / f"b{number}")) for number in present)

    return places.attempt(folder, records)


def parse_udev(number: str, text: str) -> UdevProperties:
    """Parse one entry of udev's database (systemd, device_read_db_internal: E properties, S links)."""
    properties, links = {}, []
    for line in text.splitlines():
        kind, _, value = line.partition(":")
        if kind == "E":
            name, _, content = value.partition("=")
            properties[name] = content
        elif kind == "S":
            links.append(value)
    return UdevProperties(number, properties, tuple(links))
