"""Counters of a Linux elsewhere become the same samples as those of this machine."""

from __future__ import annotations

import pytest

from app.domain.metrics import METRICS, Sample
from app.probes.remote.machine import LinuxSamples, LinuxUnits

FIRST = (
    "uptime=100.00",
    "cpu= 1000 0 500 9000 100 0 10 20 0 0",
    "memory= MemAvailable: 1000 Buffers: 10 Cached: 90 SwapTotal: 8 SwapFree: 8 Dirty: 4 Shmem: 2",
    "swap_in=100",
    "pressure.cpu= some total=1000000 full total=0",
    "pressure.io= some total=2000000 full total=1000000",
    "pressure.memory= some total=0 full total=0",
    "device.sda= 10 0 80 5 20 0 160 40 0 30 45 0 0 0 0 5 10",
)
SECOND = (
    "uptime=102.00",
    "cpu= 1200 0 600 9100 150 0 10 40 0 0",
    "memory= MemAvailable: 900 Buffers: 10 Cached: 190 SwapTotal: 8 SwapFree: 4 Dirty: 8 Shmem: 2",
    "swap_in=150",
    "pressure.cpu= some total=1200000 full total=0",
    "pressure.io= some total=3000000 full total=1500000",
    "pressure.memory= some total=20000 full total=0",
    "device.sda= 30 0 480 15 120 0 1760 340 0 1030 345 0 0 0 0 15 30",
)


def values(samples: list[Sample]) -> dict[tuple[str, str], float]:
    return {(sample.metric, sample.instance): sample.value for sample in samples}


def test_rates_over_far_clock() -> None:
    reader = LinuxSamples(LinuxUnits(ticks_per_s=100, page_bytes=4096))
    first = values(reader.take(FIRST))
    assert ("memory.available", "") in first
    assert not any(metric.startswith(("cpu.", "device.", "storage.", "pressure.")) for metric, _ in first)
    found = values(reader.take(SECOND))
    assert found["cpu.user", ""] == 1.0
    assert found["cpu.system", ""] == 0.5
    assert found["cpu.iowait", ""] == 0.25
    assert found["cpu.steal", ""] == 0.1
    assert found["memory.available", ""] == 900 * 1024
    assert found["memory.cached", ""] == 200 * 1024
    assert found["memory.swap_used", ""] == 4 * 1024
    assert found["memory.swap_in", ""] == 25 * 4096
    assert found["pressure.io_some", ""] == 50
    assert found["pressure.io_full", ""] == 25
    for whose, name in (("device", "sda"), ("storage", "")):
        assert found[f"{whose}.reads", name] == 10
        assert found[f"{whose}.writes", name] == 50
        assert found[f"{whose}.read_bytes", name] == 200 * 512
        assert found[f"{whose}.write_bytes", name] == 800 * 512
        assert found[f"{whose}.read_await", name] == 0.5
        assert found[f"{whose}.write_await", name] == 3.0
        assert found[f"{whose}.flushes", name] == 5
    assert found["device.utilisation", "sda"] == 50
    assert {metric for metric, _ in found} <= set(METRICS)


def test_far_ticks_and_page_size() -> None:
    reader = LinuxSamples(LinuxUnits(ticks_per_s=1000, page_bytes=65536))
    reader.take(FIRST)
    found = values(reader.take(SECOND))
    assert found["cpu.user", ""] == 0.1
    assert found["memory.swap_in", ""] == 25 * 65536


def test_decreasing_counter_makes_no_rate() -> None:
    reader = LinuxSamples(LinuxUnits())
    reader.take(SECOND)
    back = values(reader.take(("uptime=103.00", *FIRST[1:])))
    assert not any(metric.startswith(("device.", "storage.", "pressure.io")) for metric, _ in back)
    found = values(reader.take(("uptime=104.00", *SECOND[1:])))
    assert found["storage.reads", ""] == 20


def test_clock_going_backwards_makes_no_rate() -> None:
    reader = LinuxSamples(LinuxUnits())
    reader.take(SECOND)
    assert not any(
        sample.metric.startswith("device.") for sample in reader.take(("uptime=1.00", *SECOND[1:]))
    )


@pytest.mark.parametrize("number", range(len(FIRST)))
@pytest.mark.parametrize(
    "text", ["", "x", "1", "-1 -1 -1", "9" * 500, "nan inf", "1 2 3 4 5 6 7 8 9 10 11 12 x"]
)
def test_malformed_field_spares_others(number: int, text: str) -> None:
    reader = LinuxSamples(LinuxUnits())
    name = FIRST[number].partition("=")[0]
    spoiled = tuple(f"{name}={text}" if each.startswith(f"{name}=") else each for each in SECOND)
    reader.take(FIRST)
    found = values(reader.take(spoiled))
    assert all(abs(value) < 1e30 for value in found.values())
    if name not in {"uptime", "memory"}:
        assert ("memory.available", "") in found


def test_disk_sum_needs_every_disk() -> None:
    reader = LinuxSamples(LinuxUnits())
    other = "device.sdb=" + FIRST[-1].partition("=")[2]
    reader.take((*FIRST, other))
    found = values(reader.take((*SECOND, "device.sdb=broken")))
    assert ("device.reads", "sda") in found
    assert ("storage.reads", "") not in found


def test_device_count_is_limited() -> None:
    reader = LinuxSamples(LinuxUnits())
    many = tuple(f"device.d{number}=" + FIRST[-1].partition("=")[2] for number in range(500))
    reader.take(("uptime=1.0", *many))
    assert len(reader._counters) <= 64
