"""Read a disk as root: its first and last 16 MiB, samples in between, and its own health.

Only reads. The answer covers only the places read: both ends, and the places between them chosen by
`app.storage.inspect.sampling`, or recorded at its release. A partition of pgFooting's own is data like any
other: its table does not show who used it since.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import hashlib
import os
import random
import stat
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

from app.domain.messages.message import error_text, joined, say
from app.storage.inspect.sampling import (
    EDGE_BYTES,
    SAMPLE_BYTES,
    ZEROS,
    PieceReader,
    Progress,
    at_each,
    first_data,
    ignore_progress,
    sampling_of,
)
from app.storage.inspect.signatures import recognise
from app.storage.inspect.snapshot import (
    NO_MARKS,
    ChangesSinceRelease,
    Content,
    DuplicateMarks,
    FullRead,
    Geometry,
    Reading,
    ReleaseComparison,
    ReleaseRecord,
    SourceKnowledge,
    absent,
    read,
    unreadable,
)
from app.storage.inspect.sources import SourceFolders, number_of, text_of
from app.storage.spare.release_ledger import compare


@contextmanager
def opened_disk(places: SourceFolders, name: str, number: str, flags: int = 0) -> Iterator[int]:
    """Open the node of a disk for reading, make sure that it is this disk's, and yield the descriptor.

    Raises:
        OSError: it cannot be opened, or the node is not the disk's.
    """
    node = places.dev / name.replace("!", "/")
    fd = os.open(node, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW | flags)
    try:
        status = os.fstat(fd)
        if not stat.S_ISBLK(status.st_mode) or number_of(status) != number:
            raise OSError(errno.ENODEV, say("node-not-of-number", number=number), str(node))
        yield fd
    finally:
        os.close(fd)


def read_exclusive(places: SourceFolders, name: str, number: str) -> Reading[str]:
    """Open the disk exclusively and close it again; empty if the kernel allows it, else the reason.

    The kernel refuses while the disk or a partition is mounted in any namespace, swap, a member, a vdev.
    """
    try:
        with opened_disk(places, name, number, os.O_EXCL):
            return read("")
    except PermissionError as err:
        return places.denied(joined(": ", (str(err.filename), err.strerror or "")))
    except OSError as err:
        if err.errno == errno.EBUSY:
            return read(say("open-exclusive-failed", path=err.filename, reason=err.strerror or ""))
        return unreadable(joined(": ", (str(err.filename), err.strerror or "")))


@dataclass(frozen=True, slots=True)
class PreviousContent:
    """Earlier knowledge of a disk.

    Attributes:
        marks: of the disk now, read before its content.
        released: the record of its release.
        full_read: the record of its full read.
        content: found by this process while it had the same marks; its ends are read again.
    """

    marks: DuplicateMarks = NO_MARKS
    released: ReleaseRecord | None = None
    full_read: FullRead | None = None
    content: Content | None = None


NOTHING_KNOWN: Final = PreviousContent()


def read_content(
    places: SourceFolders,
    name: str,
    number: str,
    medium: Geometry,
    before: PreviousContent = NOTHING_KNOWN,
    progress: Progress = ignore_progress,
) -> Reading[Content]:
    """Read the ends of a disk and samples in between.

    Args:
        places: folder of device nodes.
        name: kernel name.
        number: device number that the node must have.
        medium: size and logical block of the disk.
        before: earlier knowledge of it.
        progress: called with the number of places done and the total.
    """
    try:
        with opened_disk(places, name, number, os.O_DIRECT) as fd:
            # the samples must be unpredictable
            return read(content_of(fd, medium, random.SystemRandom(), before, progress))
    except PermissionError as err:
        return places.denied(joined(": ", (str(err.filename), err.strerror or "")))
    except (OSError, ValueError) as err:
        return unreadable(error_text(err))


def content_of(
    fd: int,
    medium: Geometry,
    choose: random.Random,
    before: PreviousContent = NOTHING_KNOWN,
    progress: Progress = ignore_progress,
) -> Content:
    """Return the content of an open disk (or a file in place of one).

    Skips the samples if the record of its release shows that the disk is as it was left.

    Raises:
        OSError: it cannot be read to its end.
    """
    content = replace(ends_of(fd, medium), full_read=_holding(before))
    if content.signatures:
        return content
    compared = _compared(fd, before, content, progress)
    if compared is not None and compared.is_as_left:
        return replace(content, comparison=compared)
    known = before.content
    if known is not None and known.sampled:
        taken = replace(
            content, samples=known.samples, sampled=known.sampled, certain_bytes=known.certain_bytes
        )
        return replace(taken, comparison=compared)
    block = medium.logical_block_bytes
    sampling = sampling_of(medium.size_bytes, block, choose)
    found = at_each(
        fd, sampling.offsets, lambda reader, offset: reader.first_data(offset, SAMPLE_BYTES), progress
    )
    return replace(
        content,
        samples=tuple(
            offset for offset, data in zip(sampling.offsets, found, strict=True) if data is not None
        ),
        sampled=len(sampling.offsets),
        certain_bytes=sampling.certain_bytes,
        comparison=compared,
    )


def _compared(
    fd: int, before: PreviousContent, content: Content, progress: Progress
) -> ReleaseComparison | None:
    """Return the comparison of the disk with the record of its release; None without a record."""
    record = before.released
    if record is None:
        return None
    known = before.content.comparison if before.content is not None else None
    if known is not None and known.places and known.released_s == record.released_s:
        is_same = content.digest == record.digest
        return known if is_same else replace(known, since=ChangesSinceRelease.ENDS)
    return compare(fd, record, before.marks, content.digest, progress)


def _holding(before: PreviousContent) -> FullRead | None:
    """Return the full read of the disk, if it cannot have been written since."""
    record = before.full_read
    if record is None or record.marks != before.marks or not before.marks.is_same_appearance(record.marks):
        return None
    return record


def ends_of(fd: int, medium: Geometry) -> Content:
    """Return the content of both ends."""
    size, block = medium.size_bytes, medium.logical_block_bytes
    edge = min(EDGE_BYTES, size // block * block)
    with PieceReader(fd) as reader:
        if reader.first_data(0, edge) is None and reader.first_data(size - edge, edge) is None:
            return Content()
        head, tail = reader.read(0, edge), reader.read(size - edge, edge)
    first, last = first_data(head), first_data(tail)
    edges = [] if first is None else [first]
    if last is not None and size - edge + last not in edges:
        edges.append(size - edge + last)
    signatures = recognise(head, tail, size) if edges else ()
    digest = _digest(head, tail) if edges and not signatures else ""
    return Content(signatures, tuple(edges), digest=digest)


def _digest(head: bytes, tail: bytes) -> str:
    """Return the SHA-256 of the pieces of both ends that are not zero, each with its place.

    A filesystem leaves mostly zeros at the ends, and comparing is far cheaper than hashing: this runs for
    every disk before each step that writes to it.
    """
    digest = hashlib.sha256()
    for number, end in enumerate((head, tail)):
        view = memoryview(end)
        for start in range(0, len(end), SAMPLE_BYTES):
            piece = view[start : start + SAMPLE_BYTES]
            if not ZEROS.startswith(piece):
                digest.update(struct.pack("<QQQ", number, start, len(piece)))
                digest.update(piece)
    return digest.hexdigest()


# Read a disk's own health: NVMe critical warning and sanitize status, ATA SMART status. Root only.
#
# Sources: NVM Express Base Specification 2.0, 5.16.1.3 and 5.16.1.22; ACS-4, SMART RETURN STATUS, READ LOG
# EXT, General Statistics (log 04h); SAT-4, ATA PASS-THROUGH (16); linux/nvme_ioctl.h, scsi/sg.h.


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
