from __future__ import annotations

import errno
import re
from pathlib import Path

import pytest

from app.domain.metrics import METRICS
from app.probes.base.probe import ProbeUnavailable
from app.probes.remote.connection import PROGRAM
from app.probes.sources import cpu
from app.probes.sources.cpu import MemoryProbe, PressureProbe, parse_pressure
from tests.unit.probes.fakes import CONTEXT, HandClock, values, write

# recorded on Linux 6.18, shortened
MEMINFO = """MemTotal:       24684084 kB
MemFree:        24031264 kB
MemAvailable:   24283424 kB
Buffers:          220716 kB
Cached:           174392 kB
SwapTotal:          2048 kB
SwapFree:           1024 kB
Dirty:             42544 kB
Writeback:             8 kB
Shmem:              8872 kB
HugePages_Total:       3
Hugepagesize:       2048 kB
DirectMap1G:    25165824 kB
"""
PRESSURE = """some avg10=2.38 avg60=2.05 avg300=2.95 total={some}
full avg10=0.00 avg60=0.00 avg300=0.00 total={full}
"""


def test_memory_is_in_bytes(tmp_path: Path) -> None:
    probe = MemoryProbe(str(write(tmp_path / "meminfo", MEMINFO)))
    probe.open(CONTEXT)
    assert values(probe.read()) == {
        "memory.available": 24283424 * 1024,
        "memory.shared": 8872 * 1024,
        "memory.dirty": 42544 * 1024,
        "memory.writeback": 8 * 1024,
        "memory.cached": (220716 + 174392) * 1024,
        "memory.swap_used": 1024 * 1024,
    }
    probe.close()


def test_missing_field_omitted(tmp_path: Path) -> None:
    probe = MemoryProbe(str(write(tmp_path / "meminfo", "Dirty: 4 kB\nnonsense\n\nShmem:\n")))
    probe.open(CONTEXT)
    assert values(probe.read()) == {"memory.dirty": 4096}
    probe.close()


def test_without_meminfo_there_is_a_reason(tmp_path: Path) -> None:
    with pytest.raises(ProbeUnavailable, match="does not exist here"):
        MemoryProbe(str(tmp_path / "nothing")).open(CONTEXT)


def make_pressure(folder: Path, some: int, full: int) -> None:
    for name in ("cpu", "io", "memory"):
        write(folder / name, PRESSURE.format(some=some, full=full))


def test_pressure_is_the_share_of_the_interval(tmp_path: Path) -> None:
    clock = HandClock()
    make_pressure(tmp_path, 0, 0)
    probe = PressureProbe(str(tmp_path), clock)
    probe.open(CONTEXT)
    assert probe.read() == []
    clock.advance(2)
    make_pressure(tmp_path, 500_000, 200_000)
    assert values(probe.read()) == {
        "pressure.cpu_some": 25,
        "pressure.io_some": 25,
        "pressure.io_full": 10,
        "pressure.memory_some": 25,
        "pressure.memory_full": 10,
    }
    probe.close()


def test_pressure_is_never_more_than_the_whole(tmp_path: Path) -> None:
    clock = HandClock()
    make_pressure(tmp_path, 0, 0)
    probe = PressureProbe(str(tmp_path), clock)
    probe.open(CONTEXT)
    probe.read()
    clock.advance(1)
    make_pressure(tmp_path, 1_000_400, 0)
    assert values(probe.read())["pressure.io_some"] == 100
    probe.close()


def test_metrics_and_machines_elsewhere_have_same_pressures() -> None:
    read = {f"pressure.{name}_{kind}" for name, kinds in cpu.WANTED.items() for kind in kinds}
    assert read == {metric for metric in METRICS if metric.startswith("pressure.")}
    (asked,) = re.findall(
        r"for name in (.*); do\n *\[ -r \"/proc/pressure/", PROGRAM.read_text(encoding="utf-8")
    )
    assert asked.split() == list(cpu.RESOURCES)


def test_cpu_pressure_without_full() -> None:
    assert parse_pressure(b"some avg10=0.00 avg60=0.00 avg300=0.00 total=7\n") == {"some": 7}


def test_a_kernel_without_pressure_is_a_reason(tmp_path: Path) -> None:
    with pytest.raises(ProbeUnavailable, match="CONFIG_PSI"):
        PressureProbe(str(tmp_path / "nothing")).open(CONTEXT)


def test_disabled_pressure_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_path: str) -> None:
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    monkeypatch.setattr("app.probes.base.probe.RawFile", refuse)
    with pytest.raises(ProbeUnavailable, match="psi=1"):
        PressureProbe().open(CONTEXT)


def test_other_errors_stay_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_path: str) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("app.probes.base.probe.RawFile", refuse)
    with pytest.raises(PermissionError):
        PressureProbe().open(CONTEXT)
