"""What a rate of flushes says of a drive, and what it does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.domain.io_baseline import (
    FIO_JOBS,
    FLUSH_WORDS,
    PLANNED_SECONDS,
    BaselineDevice,
    DeviceRates,
    FlushVerdict,
    IoBaseline,
    JobId,
    JobResult,
    SyncMethod,
    flush_verdict,
)
from app.draft.review import MAKING_S

FLASH = BaselineDevice(name="nvme0n1", kind="disk", is_rotating=False, write_cache="write back")
ROTATING = BaselineDevice(name="sda", kind="disk", is_rotating=True, write_cache="write back")


def asked(rate: float, *devices: BaselineDevice, machine: str = "") -> FlushVerdict:
    methods = (SyncMethod(method="open_sync", per_s=1e6), SyncMethod(method="fdatasync", per_s=rate))
    return flush_verdict(IoBaseline(sync_methods=methods, devices=devices, virtual_machine=machine))


def test_published_drives_are_judged_as_they_are() -> None:
    assert asked(609, FLASH) is FlushVerdict.AS_EXPECTED  # Samsung 990 Pro (tanelpoder.com, 2025)
    assert asked(2230, FLASH) is FlushVerdict.AS_EXPECTED  # Crucial T500 (smalldatum, 2026)
    assert asked(17_000, FLASH) is FlushVerdict.PROTECTED_OR_NOT_FLUSHING
    assert asked(118, ROTATING) is FlushVerdict.AS_EXPECTED  # a turn of 7,200 a minute
    assert asked(2000, ROTATING) is FlushVerdict.PROTECTED_OR_NOT_FLUSHING


def test_write_through_drive_no_volatile_cache() -> None:
    optane = replace(FLASH, write_cache="write through")
    assert asked(60_000, optane, optane) is FlushVerdict.NO_VOLATILE_CACHE
    assert asked(60_000, optane, FLASH) is FlushVerdict.PROTECTED_OR_NOT_FLUSHING


def test_virtual_and_loop_not_judged() -> None:
    loop = BaselineDevice(name="loop0", kind="loop", is_rotating=False)
    for rate in (10, 1_000_000):
        assert asked(rate, replace(FLASH, played_by="virtio")) is FlushVerdict.VIRTUAL
        assert asked(rate, FLASH, machine="kvm") is FlushVerdict.VIRTUAL
        assert asked(rate, loop, machine="kvm") is FlushVerdict.LOOP


def test_slowest_kind_decides() -> None:
    assert asked(1000, FLASH, ROTATING) is FlushVerdict.PROTECTED_OR_NOT_FLUSHING


def test_what_nobody_knows_is_not_judged() -> None:
    assert asked(1e6) is FlushVerdict.UNKNOWN
    assert asked(1e6, replace(FLASH, is_rotating=None)) is FlushVerdict.UNKNOWN
    assert flush_verdict(IoBaseline(devices=(FLASH,))) is FlushVerdict.UNKNOWN


def test_every_flush_verdict_has_words() -> None:
    assert set(FLUSH_WORDS) == set(FlushVerdict)
    assert "or if they ignore flushes" in FLUSH_WORDS[FlushVerdict.PROTECTED_OR_NOT_FLUSHING]


@pytest.mark.parametrize(("read", "share"), [(100.0, 1.0), (10.0, 0.1), (None, None)])
def test_share_read_from_devices(read: float | None, share: float | None) -> None:
    rates = DeviceRates(read_bytes=read)
    assert JobResult(job="random-read", bytes_per_s=100.0, device=rates).from_devices == share
    assert JobResult(job="random-write", bytes_per_s=100.0, device=rates).from_devices is None


def test_four_disks_within_two_minutes() -> None:
    assert 4 * (PLANNED_SECONDS + MAKING_S) <= 120
    assert FIO_JOBS[0].id is JobId.SEQUENTIAL_WRITE  # the others read what it wrote
