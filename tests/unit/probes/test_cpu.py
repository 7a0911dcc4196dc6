from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.probes.base.probe import ProbeUnavailable
from app.probes.sources.cpu import CpuProbe, parse_cpu_line
from tests.unit.probes.fakes import CONTEXT, HandClock, values, write

# recorded on Linux 6.18, two CPUs
RECORDED = "cpu  2158 0 1680 146093 993 0 37 7 0 0\ncpu0 309 0 386 74794 30 0 7 0 0 0\nintr 192136 0\n"


def line(*ticks: int) -> str:
    return f"cpu  {' '.join(map(str, ticks))} 0 0\n"


def test_the_first_line_is_the_whole_machine() -> None:
    assert parse_cpu_line(RECORDED.encode()) == (2158, 0, 1680, 146093, 993, 0, 37, 7)


@pytest.mark.parametrize("text", ["", "cpu0 1 2 3 4 5 6 7 8\n", "cpu 1 2 3\n"])
def test_another_text_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match=".*"):
        parse_cpu_line(text.encode())


def test_cores_over_true_interval(tmp_path: Path) -> None:
    clock = HandClock()
    path = write(tmp_path / "stat", line(0, 0, 0, 0, 0, 0, 0, 0))
    probe = CpuProbe(str(path), clock)
    probe.open(CONTEXT)
    assert probe.read() == []
    clock.advance(2)
    write(path, line(200, 100, 50, 999, 20, 4, 6, 10))
    assert values(probe.read()) == {
        "cpu.user": 1.5,
        "cpu.system": 0.25,
        "cpu.interrupt": 0.05,
        "cpu.iowait": 0.1,
        "cpu.steal": 0.05,
    }
    probe.close()


def test_decreasing_iowait(tmp_path: Path) -> None:
    clock = HandClock()
    path = write(tmp_path / "stat", line(0, 0, 0, 0, 500, 0, 0, 0))
    probe = CpuProbe(str(path), clock)
    probe.open(CONTEXT)
    probe.read()
    clock.advance(1)
    write(path, line(100, 0, 0, 0, 450, 0, 0, 0))
    first = values(probe.read())
    assert (first["cpu.user"], first["cpu.iowait"]) == (1, 0)
    clock.advance(1)
    write(path, line(200, 0, 0, 0, 530, 0, 0, 0))
    assert values(probe.read())["cpu.iowait"] == 0.3
    probe.close()


@given(st.lists(st.lists(st.integers(0, 10**12), min_size=8, max_size=8), min_size=2, max_size=8))
def test_no_content_gives_a_negative_value(rows: list[list[int]]) -> None:
    clock = HandClock()
    probe = CpuProbe("/dev/null", clock)
    probe.open(CONTEXT)
    for row in rows:
        clock.advance(1)
        probe._opened = [_Text(line(*row))]  # type: ignore[list-item]
        assert all(sample.value >= 0 for sample in probe.read())


class _Text:
    def __init__(self, text: str) -> None:
        self.text = text

    def read(self) -> bytes:
        return self.text.encode()

    def close(self) -> None:
        """Nothing is open."""


def test_without_proc_there_is_a_reason(tmp_path: Path) -> None:
    with pytest.raises(ProbeUnavailable, match="does not exist"):
        CpuProbe(str(tmp_path / "nothing")).open(CONTEXT)


def test_this_machine_can_be_read() -> None:
    clock = HandClock()
    probe = CpuProbe(clock=clock)
    probe.open(CONTEXT)
    probe.read()
    clock.advance(1)
    assert len(probe.read()) == 5
    probe.close()
    assert probe.read() == []
