"""What NVMe and SATA disks answer when their health is asked for, by the commands that Linux passes on."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.storage.inspect.snapshot import Reading, SourceKnowledge
from app.storage.inspect.sources import SourceFolders
from app.storage.spare import content
from app.storage.spare.content import NVME_WARNINGS, read_health, read_values
from tests.unit.storage.fake_machine import fake_machine
from tests.unit.storage.test_health import sense

SMART, SANITIZE = 0x02, 0x81
NVME_ADMIN, SG_IO = 0xC0484E41, 0x2285
NO_SUCH_LOG = 0x4109


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SourceFolders:
    @contextmanager
    def opened(*_: object) -> Iterator[int]:
        yield 7

    monkeypatch.setattr(content, "opened_disk", opened)
    return fake_machine(tmp_path)


def smart_log(warning: int = 0) -> bytes:
    """Return a SMART log (NVM Express Base Specification 2.0, figure 207): 300 K, 5 % used."""
    return bytes((warning, 300 % 256, 300 // 256, 100, 10, 5)).ljust(512, b"\0")


def sanitize_log(status: int) -> bytes:
    """Return a sanitize status log (figure 291)."""
    return struct.pack("<HH", 0x8000, status).ljust(512, b"\0")


def nvme(monkeypatch: pytest.MonkeyPatch, logs: Mapping[int, bytes]) -> None:
    """Let there be a controller that has these pages."""

    def ioctl(_fd: int, request: int, command: bytearray) -> int:
        address, _, length, asked = struct.unpack_from("<QIII", command, 24)
        assert (request, command[0], length, asked >> 16) == (NVME_ADMIN, 0x02, 512, 512 // 4 - 1)
        if asked & 0xFF not in logs:
            return NO_SUCH_LOG
        ctypes.memmove(address, logs[asked & 0xFF], length)
        return 0

    monkeypatch.setattr(fcntl, "ioctl", ioctl)


def health_of(places: SourceFolders, name: str = "nvme0n1") -> Reading[tuple[str, ...]]:
    return read_health(places, name, "259:0")


def test_each_critical_warning_bit(places: SourceFolders, monkeypatch: pytest.MonkeyPatch) -> None:
    for bit, text in enumerate(NVME_WARNINGS):
        nvme(monkeypatch, {SMART: smart_log(1 << bit)})
        assert health_of(places).value == (text,)
    nvme(monkeypatch, {SMART: smart_log()})
    assert health_of(places) == Reading(SourceKnowledge.READ, ())


@pytest.mark.parametrize(("status", "warns"), [(0, 0), (1, 0), (2, 1), (3, 0), (0x102, 1)])
def test_a_disk_that_is_being_sanitized_warns(
    places: SourceFolders, monkeypatch: pytest.MonkeyPatch, status: int, warns: int
) -> None:
    """Of the status only the lowest three bits tell the state: 2 is in progress, 1 and 3 are over."""
    nvme(monkeypatch, {SMART: smart_log(), SANITIZE: sanitize_log(status)})
    assert len(health_of(places).known(("unknown",) * 2)) == warns


def test_controller_without_the_log(places: SourceFolders, monkeypatch: pytest.MonkeyPatch) -> None:
    nvme(monkeypatch, {SANITIZE: sanitize_log(2)})
    assert health_of(places).state is SourceKnowledge.ABSENT
    assert read_values(places, "nvme0n1", "259:0") == {"status": "none", "warnings": ""}


def test_nvme_status_and_counters(places: SourceFolders, monkeypatch: pytest.MonkeyPatch) -> None:
    nvme(monkeypatch, {SMART: smart_log(0b11)})
    values = read_values(places, "nvme0n1", "259:0")
    assert (values["status"], values["warnings"]) == ("warning", "; ".join(NVME_WARNINGS[:2]))
    assert (values["temperature_celsius"], values["percentage_used"]) == ("27", "5")


def ata(monkeypatch: pytest.MonkeyPatch, statistics: bytes | None) -> None:
    """Let there be a healthy SATA disk with this page of statistics, or one that refuses to give it."""

    def ioctl(_fd: int, request: int, header: bytearray) -> None:
        direction, length, to, command, answer = struct.unpack_from("@4xi4xIPPP", header)
        words = ctypes.string_at(command, 16)
        assert (request, words[0]) == (SG_IO, 0x85)
        if words[14] == 0xB0:  # SMART
            assert (words[4], direction, length) == (0xDA, -1, 0)
            ctypes.memmove(answer, sense(0x4F, 0xC2), 32)
        elif statistics is None:
            raise OSError(errno.EIO, "refused")
        else:
            assert (words[14], words[8], words[10], direction, length) == (0x2F, 4, 1, -3, 512)
            ctypes.memmove(to, statistics, length)

    monkeypatch.setattr(fcntl, "ioctl", ioctl)


def test_sata_status_and_optional_counters(places: SourceFolders, monkeypatch: pytest.MonkeyPatch) -> None:
    page = bytearray(512)
    page[2] = 1
    page[16:24] = struct.pack("<Q", 0xC0 << 56 | 4711)
    ata(monkeypatch, bytes(page))
    assert health_of(places, "sdb") == Reading(SourceKnowledge.READ, ())
    values = {"status": "ok", "warnings": ""}
    assert read_values(places, "sdb", "8:16") == values | {"power_on_hours": "4711"}
    ata(monkeypatch, None)
    assert read_values(places, "sdb", "8:16") == values


def test_unreadable_status_is_not_absent_status(
    places: SourceFolders, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(fcntl, "ioctl", fail)
    assert read_values(places, "sdb", "8:16") == {"status": "unreadable", "warnings": ""}
    assert read_values(places, "vda", "254:0") == {"status": "none", "warnings": ""}
