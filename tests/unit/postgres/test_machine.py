from __future__ import annotations

import os
from pathlib import Path

from app.postgres.settings import Machine, read_machine


def test_limit_below_ram_is_usable(tmp_path: Path) -> None:
    group = tmp_path / "sys/fs/cgroup/outer"
    for folder in (tmp_path / "proc/self", group / "inner"):
        folder.mkdir(parents=True)
    (tmp_path / "proc/meminfo").write_text("MemTotal:       24684084 kB\n")
    cpus = len(os.sched_getaffinity(0))
    assert read_machine(tmp_path) == Machine(24684084 * 1024, None, cpus)
    (tmp_path / "proc/self/cgroup").write_text("0::/outer/inner\n")
    (group / "memory.max").write_text(f"{3 * 2**30}\n")
    assert read_machine(tmp_path).usable_ram_bytes == 3 * 2**30
    (group / "memory.max").write_text(f"{2**40}\n")
    assert read_machine(tmp_path).usable_ram_bytes == 24684084 * 1024


def test_without_proc_the_kernel_is_asked(tmp_path: Path) -> None:
    assert read_machine(tmp_path).ram_bytes == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def test_this_machine_is_plausible() -> None:
    machine = read_machine()
    assert 2**26 < machine.usable_ram_bytes <= machine.ram_bytes
    assert machine.cpus >= 1
