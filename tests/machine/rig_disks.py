"""Disks of a guest: what is asked for, and the QEMU options that attach it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

_UNITS = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4}


class Kind(StrEnum):
    """How a disk is attached."""

    VIRTIO = "virtio"
    SATA = "sata"
    SCSI = "scsi"
    NVME = "nvme"
    USB = "usb"


@dataclass(frozen=True, slots=True)
class RigDisk:
    """One disk of a guest.

    Attributes:
        kind: its bus.
        size_bytes: of the sparse file behind it.
        serial: what the guest sees; None for a disk without one (virtio and USB only).
        rpm: rotations a minute that a SATA or SCSI disk tells (1: it does not rotate); None: nothing is told.
        wwn: World Wide Name that a SATA or SCSI disk tells; None for a disk without one.
        block_bytes: logical and physical block size.
        read_only: the guest cannot write it (virtio and SCSI).
    """

    kind: Kind
    size_bytes: int
    serial: str | None
    rpm: int | None = None
    wwn: int | None = None
    block_bytes: int = 512
    read_only: bool = False


def parse_disk(text: str, number: int) -> RigDisk:
    """Return the disk that `text` asks for, the `number`-th (from 1) of its guest.

    ``KIND:SIZE[:RPM][,serial=TEXT][,wwn=HEX][,block=BYTES][,readonly]``, for example ``sata:2G:7200`` or
    ``virtio:1G,serial=TWIN``. Without a serial the disk gets ``RIG<KIND><number>`` (RIGVIRTIO1, RIGNVME7);
    an empty one (``serial=``) takes it away.

    Raises:
        ValueError: with what is allowed.
    """
    main, *extras = text.split(",")
    match = re.fullmatch(rf"({'|'.join(Kind)}):(\d+)([KMGT]?)(?::(\d+))?", main)
    if match is None:
        raise ValueError(f"{text!r} is no disk: KIND:SIZE[:RPM] with KIND one of {', '.join(Kind)}")
    kind = Kind(match[1])
    found: dict[str, str] = dict(part.partition("=")[::2] for part in extras)
    unknown = found.keys() - {"serial", "wwn", "block", "readonly"}
    if unknown:
        raise ValueError(f"{text!r}: {', '.join(sorted(unknown))} is none of serial, wwn, block, readonly")
    return RigDisk(
        kind=kind,
        size_bytes=int(match[2]) * _UNITS[match[3]],
        serial=found.get("serial", f"RIG{kind.upper()}{number}") or None,
        rpm=int(match[4]) if match[4] else None,
        wwn=int(found["wwn"], 16) if "wwn" in found else None,
        block_bytes=int(found.get("block", "512")),
        read_only="readonly" in found,
    )


def _frontend(disk: RigDisk, number: int) -> dict[str, object]:
    """The device that the guest sees: QEMU's properties of it."""
    blocks = {"logical_block_size": disk.block_bytes, "physical_block_size": disk.block_bytes}
    serial = {} if disk.serial is None else {"serial": disk.serial}
    rpm = {} if disk.rpm is None else {"rotation_rate": disk.rpm}
    wwn = {} if disk.wwn is None else {"wwn": f"0x{disk.wwn:x}"}
    common = {"drive": f"drive{number}", "id": f"disk{number}", **serial, **blocks}
    match disk.kind:
        case Kind.VIRTIO:
            return {"driver": "virtio-blk-pci", "bus": f"port{number}", **common}
        case Kind.NVME:
            return {"driver": "nvme", "bus": f"port{number}", "serial": f"NVME{number}", **common}
        case Kind.SATA:
            return {
                "driver": "ide-hd",
                "bus": f"ahci{number}.0",
                "model": "RIG SATA DISK",
                **common,
                **rpm,
                **wwn,
            }
        case Kind.SCSI:
            names = {"vendor": "RIG", "product": "SCSI DISK"}
            return {"driver": "scsi-hd", "bus": f"scsi{number}.0", **names, **common, **rpm, **wwn}
        case Kind.USB:
            return {"driver": "usb-storage", "bus": "usb.0", "removable": "on", **common}


def _controller(disk: RigDisk, number: int) -> list[str]:
    """A controller of its own for each disk, so that removing one disturbs no other."""
    match disk.kind:
        case Kind.VIRTIO | Kind.NVME:
            return ["-device", f"pcie-root-port,id=port{number},chassis={number},slot={number}"]
        case Kind.SATA:
            return ["-device", f"ich9-ahci,id=ahci{number}"]
        case Kind.SCSI:
            return ["-device", f"virtio-scsi-pci,id=scsi{number}"]
        case Kind.USB:
            return []


def disk_options(disks: list[RigDisk], files: list[Path]) -> list[str]:
    """Return QEMU's command line options that attach `disks`, each over its file, as ``disk1``, ``disk2`` ...

    Flushes of the guest end in the host's page cache (cache=unsafe): a guest whose power is cut keeps what it
    wrote, and no test waits for the host's disk.
    """
    options = ["-device", "qemu-xhci,id=usb"] if any(disk.kind is Kind.USB for disk in disks) else []
    for number, (disk, file) in enumerate(zip(disks, files, strict=True), start=1):
        read_only = ",read-only=on" if disk.read_only else ""
        path = str(file).replace(",", ",,")
        options += _controller(disk, number)
        options += [
            "-drive",
            f"if=none,id=drive{number},file={path},format=raw,discard=unmap,cache=unsafe{read_only}",
        ]
        properties = _frontend(disk, number)
        device = ",".join(
            [str(properties.pop("driver")), *(f"{key}={value}" for key, value in properties.items())]
        )
        options += ["-device", device]
    return options
