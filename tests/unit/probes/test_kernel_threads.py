from __future__ import annotations

from pathlib import Path

import pytest

from app.probes.base.probe import ProbeUnavailable
from app.probes.sources import processes
from app.probes.sources.processes import KernelThreadsProbe, family_of
from tests.unit.probes.fakes import CONTEXT, HandClock, add_process, set_children, values, write


@pytest.mark.parametrize(
    ("name", "family"),
    [
        # recorded on Linux 6.18
        ("kworker/u8:0-ext4-rsv-conversion", "kworker"),
        ("kworker/R-xfsalloc", "kworker"),
        ("jbd2/vda-8", "jbd2"),
        ("kswapd0", "kswapd"),
        ("kcompactd0", "kcompactd"),
        ("ksoftirqd/1", "ksoftirqd"),
        ("irq/24-ACPI:Ged", "irq"),
        ("khugepaged", "khugepaged"),
        ("rcu_preempt", None),
        ("kauditd", None),
        ("migration/0", None),
        # from the kernel's and OpenZFS' sources
        ("xfsaild/md0", "xfs"),
        ("btrfs-transaction", "btrfs"),
        ("txg_sync", "zfs"),
        ("z_wr_iss", "zfs"),
        ("arc_evict", "zfs"),
        ("dbuf_evict", "zfs"),
        ("md127_raid5", "md"),
        ("md0_resync", "md"),
        ("f2fs_ckpt-8:1", "f2fs"),
        ("dmcrypt_write/253:0", "dm"),
        ("loop0", "loop"),
    ],
)
def test_threads_belong_to_families(name: str, family: str | None) -> None:
    assert family_of(name) == family


def add_thread(proc: Path, pid: int, name: str, nanoseconds: int) -> None:
    add_process(proc, pid, name, 2, (0, nanoseconds // 10_000_000, 0, 0))
    write(proc / str(pid) / "schedstat", f"{nanoseconds} 0 1\n")


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    add_process(tmp_path, 2, "kthreadd", 0)
    write(tmp_path / "2" / "schedstat", "3676427 11061385 65\n")
    add_thread(tmp_path, 10, "jbd2/sda1-8", 0)
    add_thread(tmp_path, 11, "jbd2/sdb1-8", 0)
    add_thread(tmp_path, 12, "kworker/0:1-events", 0)
    add_thread(tmp_path, 13, "rcu_preempt", 0)
    set_children(tmp_path, 2, [10, 11, 12, 13])
    return tmp_path


def begin(proc: Path) -> tuple[KernelThreadsProbe, HandClock]:
    clock = HandClock()
    probe = KernelThreadsProbe(str(proc), clock)
    probe.open(CONTEXT)
    return probe, clock


def test_family_totals_without_idle(proc: Path) -> None:
    probe, clock = begin(proc)
    clock.advance(2)
    add_thread(proc, 10, "jbd2/sda1-8", 100_000_000)
    add_thread(proc, 11, "jbd2/sdb1-8", 300_000_000)
    add_thread(proc, 13, "rcu_preempt", 900_000_000)
    assert values(probe.read()) == {"kernel.cpu jbd2": 0.2}
    probe.close()


def test_kernel_without_nanoseconds(proc: Path) -> None:
    write(proc / "2" / "schedstat", "0 0 0\n")
    with pytest.raises(ProbeUnavailable, match="not counted"):
        KernelThreadsProbe(str(proc)).open(CONTEXT)


def test_new_threads_found_every_ten_seconds(proc: Path) -> None:
    probe, clock = begin(proc)
    add_thread(proc, 20, "md0_raid5", 5_000_000_000)
    set_children(proc, 2, [10, 11, 12, 13, 20])
    clock.advance(9)
    assert probe.read() == []
    clock.advance(1)
    assert probe.read() == []
    clock.advance(1)
    add_thread(proc, 20, "md0_raid5", 5_400_000_000)
    assert values(probe.read()) == {"kernel.cpu md": 0.4}
    probe.close()


def test_threads_that_ended_are_forgotten(proc: Path) -> None:
    probe, clock = begin(proc)
    set_children(proc, 2, [11])
    clock.advance(10)
    add_thread(proc, 10, "jbd2/sda1-8", 10**9)
    add_thread(proc, 11, "jbd2/sdb1-8", 10**9)
    assert values(probe.read()) == {"kernel.cpu jbd2": 0.1}
    probe.close()


def test_too_many_workers(proc: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "KEPT_FILES", 2)
    for pid in range(30, 33):
        add_thread(proc, pid, f"kworker/{pid}:0", 0)
    set_children(proc, 2, [10, 11, 30, 31, 32])
    probe, clock = begin(proc)
    clock.advance(1)
    add_thread(proc, 10, "jbd2/sda1-8", 10**9)
    add_thread(proc, 30, "kworker/30:0", 10**9)
    assert values(probe.read()) == {"kernel.cpu jbd2": 1}
    assert [(each.metric, each.instance) for each in probe.omissions] == [("kernel.cpu", "kworker")]
    assert "3 kernel workers" in probe.omissions[0].reason
    probe.close()


def test_threads_beyond_open_files(proc: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "KEPT_FILES", 1)
    probe, clock = begin(proc)
    clock.advance(1)
    add_thread(proc, 10, "jbd2/sda1-8", 10**8)
    add_thread(proc, 11, "jbd2/sdb1-8", 10**8)
    assert values(probe.read()) == {"kernel.cpu jbd2": 0.2}
    probe.close()


@pytest.mark.parametrize("name", ["bash", None])
def test_container_without_kernel_threads(tmp_path: Path, name: str | None) -> None:
    if name:
        add_process(tmp_path, 2, name, 1)
    with pytest.raises(ProbeUnavailable, match="container"):
        KernelThreadsProbe(str(tmp_path)).open(CONTEXT)
