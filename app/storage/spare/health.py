"""Read a disk's own health: NVMe critical warning and sanitize status, ATA SMART status. Root only.

Sources: NVM Express Base Specification 2.0, 5.16.1.3 and 5.16.1.22; ACS-4, SMART RETURN STATUS, READ LOG EXT,
General Statistics (log 04h); SAT-4, ATA PASS-THROUGH (16); linux/nvme_ioctl.h, scsi/sg.h.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import struct
from typing import Final

from app.domain.messages.message import error_text, say
from app.storage.inspect.snapshot import Reading, SourceKnowledge, absent, read, unreadable
from app.storage.inspect.sources import SourceFolders, text_of
from app.storage.spare.content import opened_disk

_NVME_ADMIN: Final = 0xC0484E41
_GET_LOG_PAGE: Final = 0x02
_SMART_LOG: Final = 0x02
_SANITIZE_LOG: Final = 0x81
_LOG_BYTES: Final = 512
_ALL_NAMESPACES: Final = 0xFFFFFFFF
_SG_IO: Final = 0x2285
_NO_DATA: Final = -1
_FROM_DISK: Final = -3
_SENSE_BYTES: Final = 32
_TIMEOUT_MS: Final = 5000
_NOT_SUPPORTED: Final = frozenset({errno.ENOTTY, errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS})

NVME_WARNINGS: Final = (
    say("health-spare"),
    say("health-temperature"),
    say("health-reliability"),
    say("health-read-only"),
    say("health-backup"),
    say("health-persistent-memory"),
)
"""Texts for the bits of the critical warning, from bit 0."""


def read_health(places: SourceFolders, name: str, number: str) -> Reading[tuple[str, ...]]:
    """Return the warnings of a disk; absent for kinds that give none (virtio, loop, most USB and SAS)."""
    is_nvme, is_ata = name.startswith("nvme"), _is_ata(places, name)
    if not is_nvme and not is_ata:
        return absent(say("health-no-status"))
    try:
        with opened_disk(places, name, number) as fd:
            return read(_nvme_warnings(fd) if is_nvme else _ata_warnings(fd))
    except PermissionError as err:
        return places.denied(error_text(err))
    except OSError as err:
        if err.errno in _NOT_SUPPORTED:
            return absent(error_text(err))
        return unreadable(error_text(err))


def read_values(places: SourceFolders, name: str, number: str) -> dict[str, str]:
    """Return a disk's health values, by the keys of ``Health`` in app/helper/interface.xml."""
    reading = read_health(places, name, number)
    if reading.value is None:
        return {"status": "none" if reading.state is SourceKnowledge.ABSENT else "unreadable", "warnings": ""}
    found = {"status": "warning" if reading.value else "ok", "warnings": "; ".join(reading.value)}
    try:
        with opened_disk(places, name, number) as fd:
            if name.startswith("nvme"):
                return found | nvme_values(_nvme_log(fd, _SMART_LOG) or b"")
            return found | ata_values(_ata_statistics(fd))
    except OSError:
        return found  # only its status is available


def nvme_values(log: bytes) -> dict[str, str]:
    """Return the counters of the SMART log (02h): bytes by hosts in units of 1000 x 512, rounded up."""
    if len(log) < _LOG_BYTES:
        return {}
    return {
        "temperature_celsius": str(int.from_bytes(log[1:3], "little") - 273),
        "percentage_used": str(log[5]),
        "bytes_written": str(int.from_bytes(log[48:64], "little") * 512_000),
        "power_on_hours": str(int.from_bytes(log[128:144], "little")),
        "media_errors": str(int.from_bytes(log[160:176], "little")),
    }


def ata_values(page: bytes) -> dict[str, str]:
    """Return the counters of the General Statistics (log 04h, page 1) that the disk supports and knows."""
    if len(page) < _LOG_BYTES or page[2] != 1:
        return {}

    def counter(at: int) -> int | None:
        flags, value = page[at + 7], int.from_bytes(page[at : at + 6], "little")
        return value if flags & 0xC0 == 0xC0 else None  # supported, and valid

    hours, sectors = counter(16), counter(24)
    found = {} if hours is None else {"power_on_hours": str(hours & 0xFFFFFFFF)}
    return found if sectors is None else found | {"bytes_written": str(sectors * 512)}


def _is_ata(places: SourceFolders, name: str) -> bool:
    try:
        return text_of(places.sys / "block" / name / "device/vendor").strip() == "ATA"
    except OSError:
        return False


def _nvme_warnings(fd: int) -> tuple[str, ...]:
    log = _nvme_log(fd, _SMART_LOG)
    if log is None:
        raise OSError(errno.EOPNOTSUPP, say("health-log-refused"))
    found = [text for bit, text in enumerate(NVME_WARNINGS) if log[0] >> bit & 1]
    sanitize = _nvme_log(fd, _SANITIZE_LOG)
    if sanitize is not None and sanitize[2] & 0x7 == 2:
        found.append(say("health-sanitize"))
    return tuple(found)


def _nvme_log(fd: int, page: int) -> bytes | None:
    """Return 512 bytes of a log page; None if the controller does not have it."""
    buffer = ctypes.create_string_buffer(_LOG_BYTES)
    dwords = _LOG_BYTES // 4 - 1
    command = bytearray(
        struct.pack(
            "<BBHIIIQQIIIIIIIIII",
            *(_GET_LOG_PAGE, 0, 0, _ALL_NAMESPACES, 0, 0, 0, ctypes.addressof(buffer), 0, _LOG_BYTES),
            *(page | dwords << 16, 0, 0, 0, 0, 0, _TIMEOUT_MS, 0),
        )
    )
    status = fcntl.ioctl(fd, _NVME_ADMIN, command)
    return bytes(buffer.raw) if status == 0 else None


def _ata_warnings(fd: int) -> tuple[str, ...]:
    # no data, with the registers returned; SMART (B0h) RETURN STATUS (DAh)
    sense, _ = _ata(fd, (0x85, 3 << 1, 0x20, 0, 0xDA, 0, 0, 0, 0, 0, 0x4F, 0, 0xC2, 0, 0xB0, 0), 0)
    return ata_status(sense)


def _ata_statistics(fd: int) -> bytes:
    # 48 bits, PIO data in, one block of 512 bytes; READ LOG EXT (2Fh) of log 04h, page 1
    _, page = _ata(fd, (0x85, 4 << 1 | 1, 0x0E, 0, 0, 0, 1, 0, 4, 0, 1, 0, 0, 0, 0x2F, 0), _LOG_BYTES)
    return page


def _ata(fd: int, words: tuple[int, ...], length: int) -> tuple[bytes, bytes]:
    """Send a command by ATA PASS-THROUGH (16); return sense data and the data read.

    Raises:
        OSError: the kernel or the disk refuses.
    """
    sense = ctypes.create_string_buffer(_SENSE_BYTES)
    data = ctypes.create_string_buffer(max(length, 1))
    command = ctypes.create_string_buffer(bytes(words), 16)
    direction, where = (_FROM_DISK, ctypes.addressof(data)) if length else (_NO_DATA, 0)
    header = bytearray(
        struct.pack(
            "@iiBBHIPPPIIiPBBBBHHiII",
            *(ord("S"), direction, 16, _SENSE_BYTES, 0, length, where, ctypes.addressof(command)),
            *(ctypes.addressof(sense), _TIMEOUT_MS, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
        )
    )
    fcntl.ioctl(fd, _SG_IO, header)
    return bytes(sense.raw), bytes(data.raw[:length])


def ata_status(sense: bytes) -> tuple[str, ...]:
    """Return the warning in the registers of a SMART RETURN STATUS (sense data in descriptor format).

    Raises:
        OSError: the disk did not return them (SMART is off, or the bridge does not pass commands on).
    """
    if sense[0] & 0x7F != 0x72 or sense[8] != 0x09:
        raise OSError(errno.EOPNOTSUPP, say("health-status-not-returned"))
    middle, high = sense[17], sense[19]
    if (middle, high) == (0x4F, 0xC2):
        return ()
    if (middle, high) == (0xF4, 0x2C):
        return (say("health-exceeded"),)
    raise OSError(errno.EOPNOTSUPP, say("health-status-unknown", status=sense[16:20].hex()))
