"""What disks say of their own health, laid out by the standards: no machine here has such disks."""

from __future__ import annotations

import struct

import pytest

from app.storage.spare.content import ata_values, nvme_values


def nvme_log(written: int) -> bytes:
    """A SMART log page as NVM Express 2.0, figure 207, lays it out."""
    log = bytearray(512)
    log[1:3] = struct.pack("<H", 311)
    log[5] = 3
    log[48:64] = written.to_bytes(16, "little")
    log[128:144] = (4711).to_bytes(16, "little")
    log[160:176] = (2).to_bytes(16, "little")
    return bytes(log)


def test_nvme_units_of_512000_bytes() -> None:
    assert nvme_values(nvme_log(1000)) == {
        "temperature_celsius": "38",
        "percentage_used": "3",
        "bytes_written": "512000000",
        "power_on_hours": "4711",
        "media_errors": "2",
    }


def test_counters_of_128_bits_are_whole() -> None:
    assert nvme_values(nvme_log(2**100))["bytes_written"] == str(2**100 * 512_000)


def statistics(flags: int, sectors: int, hours: int, page: int = 1) -> bytes:
    """A General Statistics page as ACS-4, 9.5.4, lays it out."""
    found = bytearray(512)
    found[0:3] = bytes((1, 0, page))
    found[16:24] = hours.to_bytes(6, "little") + bytes((0, flags))
    found[24:32] = sectors.to_bytes(6, "little") + bytes((0, flags))
    return bytes(found)


def test_an_ata_disk_tells_sectors_and_hours() -> None:
    assert ata_values(statistics(0xC0, 10**9, 77)) == {
        "power_on_hours": "77",
        "bytes_written": str(512 * 10**9),
    }


@pytest.mark.parametrize(
    "page", [b"", bytes(512), statistics(0x80, 1, 1), statistics(0x40, 1, 1), statistics(0xC0, 1, 1, page=3)]
)
def test_unsupported_or_invalid_values_left_out(page: bytes) -> None:
    assert ata_values(page) == {}


def test_truncated_log() -> None:
    assert nvme_values(bytes(100)) == {}
