"""What a disk says of its own health: the registers of ATA, and disks that say nothing."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from app.storage.inspect.snapshot import SourceKnowledge
from app.storage.spare.content import ata_status, read_health
from tests.unit.storage.fake_machine import add_scsi_disk, as_user, fake_machine, write


def sense(middle: int, high: int, kind: int = 0x72, descriptor: int = 0x09) -> bytes:
    """Return sense data in descriptor format with an ATA Status Return descriptor (SAT-4, 12.2.2.7)."""
    header = bytes((kind, 0x01, 0x00, 0x1D, 0, 0, 0, 14))
    registers = bytes((descriptor, 12, 0, 0, 0, 0, 0, 0, 0, middle, 0, high, 0, 0x50))
    return (header + registers).ljust(32, b"\0")


def test_healthy_disk_returns_registers_unchanged() -> None:
    assert ata_status(sense(0x4F, 0xC2)) == ()


def test_failing_disk_returns_registers_changed() -> None:
    (warning,) = ata_status(sense(0xF4, 0x2C))
    assert "predicts that it will fail" in warning


@pytest.mark.parametrize(
    "answer", [bytes(32), sense(0x4F, 0xC2, kind=0x70), sense(0x4F, 0xC2, descriptor=0x00), sense(0x00, 0x00)]
)
def test_another_answer_is_no_status(answer: bytes) -> None:
    with pytest.raises(OSError, match="SMART status"):
        ata_status(answer)


def test_other_transport_and_denied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places = fake_machine(tmp_path)
    assert read_health(places, "vda", "254:0").state is SourceKnowledge.ABSENT
    add_scsi_disk(places.sys, "sdc", "8:32", "S", "")
    write(places.sys, {"block/sdc/device/vendor": "DELL    "})
    assert read_health(places, "sdc", "8:32").state is SourceKnowledge.ABSENT

    def deny(*_: object) -> None:
        raise PermissionError(13, "Permission denied", "/dev/sdb")

    monkeypatch.setattr("app.storage.spare.content.opened_disk", deny)
    for name, number in (("sdb", "8:16"), ("nvme0n1", "259:0")):
        assert read_health(places, name, number).state is SourceKnowledge.UNREADABLE
        assert read_health(as_user(places), name, number).state is SourceKnowledge.NEEDS_ROOT


@pytest.mark.parametrize(
    ("number", "state"),
    [(errno.ENOTTY, SourceKnowledge.ABSENT), (errno.EIO, SourceKnowledge.UNREADABLE)],
)
def test_no_status_and_failed_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, state: SourceKnowledge
) -> None:
    def fail(*_: object) -> None:
        raise OSError(number, os.strerror(number), "/dev/sdb")

    monkeypatch.setattr("app.storage.spare.content.opened_disk", fail)
    assert read_health(fake_machine(tmp_path), "sdb", "8:16").state is state


def test_disk_that_cannot_be_opened(tmp_path: Path) -> None:
    assert read_health(fake_machine(tmp_path), "sdb", "8:16").state is SourceKnowledge.UNREADABLE
