"""What a disk says of its own health: NVMe critical warning and sanitize status, ATA SMART status. Root only.

Sources: NVM Express Base Specification 2.0, 5.16.1.3 and 5.16.1.22; ACS-4, SMART RETURN STATUS; SAT-4,
ATA PASS-THROUGH (16); linux/nvme_ioctl.h, scsi/sg.h.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import struct
from typing import Final

from app.domain.text import tr
from app.storage.inspect_content import opened_disk
from app.storage.places import Places, text_of
from app.storage.snapshot import Reading, absent, read, unreadable

_NVME_ADMIN: Final = 0xC0484E41
_GET_LOG_PAGE: Final = 0x02
_SMART_LOG: Final = 0x02
_SANITIZE_LOG: Final = 0x81
_LOG_BYTES: Final = 512
_ALL_NAMESPACES: Final = 0xFFFFFFFF
_SG_IO: Final = 0x2285
_SENSE_BYTES: Final = 32
_TIMEOUT_MS: Final = 5000
_NOT_SUPPORTED: Final = frozenset({errno.ENOTTY, errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS})

NVME_WARNINGS: Final = (
    tr("available spare is below its threshold"),
    tr("temperature is out of range"),
    tr("reliability is degraded by errors"),
    tr("the medium is read-only"),
    tr("the backup of volatile memory failed"),
    tr("the persistent memory region is unreliable"),
)
"""Bits of the critical warning, from bit 0."""


def read_health(places: Places, name: str, number: str) -> Reading[tuple[str, ...]]:
    """Return the warnings of a disk; absent for kinds that give none (virtio, loop, most USB and SAS)."""
    is_nvme, is_ata = name.startswith("nvme"), _is_ata(places, name)
    if not is_nvme and not is_ata:
        return absent(tr("this kind of disk gives no status"))
    try:
        with opened_disk(places, name, number) as fd:
            return read(_nvme_warnings(fd) if is_nvme else _ata_warnings(fd))
    except PermissionError as err:
        return places.denied(str(err))
    except OSError as err:
        if err.errno in _NOT_SUPPORTED:
            return absent(str(err))
        return unreadable(str(err))


def _is_ata(places: Places, name: str) -> bool:
    try:
        return text_of(places.sys / "block" / name / "device/vendor").strip() == "ATA"
    except OSError:
        return False


def _nvme_warnings(fd: int) -> tuple[str, ...]:
    log = _nvme_log(fd, _SMART_LOG)
    if log is None:
        raise OSError(errno.EOPNOTSUPP, tr("the SMART log is refused"))
    found = [text for bit, text in enumerate(NVME_WARNINGS) if log[0] >> bit & 1]
    sanitize = _nvme_log(fd, _SANITIZE_LOG)
    if sanitize is not None and sanitize[2] & 0x7 == 2:
        found.append(tr("a sanitize operation is in progress"))
    return tuple(found)


def _nvme_log(fd: int, page: int) -> bytes | None:
    """Return 512 bytes of a log page; None where the controller does not have it."""
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
    sense = ctypes.create_string_buffer(_SENSE_BYTES)
    # ATA PASS-THROUGH (16), no data, with the registers returned; SMART (B0h) RETURN STATUS (DAh)
    command = ctypes.create_string_buffer(
        bytes((0x85, 3 << 1, 0x20, 0, 0xDA, 0, 0, 0, 0, 0, 0x4F, 0, 0xC2, 0, 0xB0, 0)), 16
    )
    header = bytearray(
        struct.pack(
            "@iiBBHIPPPIIiPBBBBHHiII",
            *(ord("S"), -1, 16, _SENSE_BYTES, 0, 0, 0, ctypes.addressof(command), ctypes.addressof(sense)),
            *(_TIMEOUT_MS, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
        )
    )
    fcntl.ioctl(fd, _SG_IO, header)
    return ata_status(bytes(sense.raw))


def ata_status(sense: bytes) -> tuple[str, ...]:
    """Return the warning in the registers of a SMART RETURN STATUS (sense data in descriptor format).

    Raises:
        OSError: the disk did not return them (SMART is off, or the bridge does not pass commands on).
    """
    if sense[0] & 0x7F != 0x72 or sense[8] != 0x09:
        raise OSError(errno.EOPNOTSUPP, tr("SMART status is not returned"))
    middle, high = sense[17], sense[19]
    if (middle, high) == (0x4F, 0xC2):
        return ()
    if (middle, high) == (0xF4, 0x2C):
        return (tr("SMART: a threshold is exceeded, the disk expects to fail"),)
    raise OSError(errno.EOPNOTSUPP, tr("SMART status is unknown: {status}").format(status=sense[16:20].hex()))
