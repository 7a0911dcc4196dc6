from __future__ import annotations

import os
from pathlib import Path

import pytest

from app.postgres.machine import parse_cgroups, parse_meminfo, read_machine

# /proc/meminfo of the reference machine (Debian 12, kernel 6.18), shortened.
MEMINFO = """\
MemTotal:       24684084 kB
MemFree:        22996128 kB
MemAvailable:   24253876 kB
SwapTotal:       1048572 kB
HugePages_Total:      12
HugePages_Free:        7
Hugepagesize:       2048 kB
"""
# /proc/self/cgroup there: version 1 beside an empty unified hierarchy.
CGROUP_V1 = "9:name=systemd:/\n5:cpu,memory:/outer/inner\n0::/\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/meminfo").write_text(MEMINFO)
    return tmp_path


def _limit(root: Path, path: str, text: str) -> None:
    file = root / "sys/fs/cgroup" / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def test_reads_memory_and_huge_pages(root: Path) -> None:
    machine = read_machine(root)
    assert machine.ram_bytes == 24684084 * 1024
    assert machine.available_bytes == 24253876 * 1024
    assert machine.swap_bytes == 1048572 * 1024
    assert (machine.huge_page_bytes, machine.huge_pages_total, machine.huge_pages_free) == (2**21, 12, 7)
    assert machine.memory_limit_bytes is None
    assert machine.usable_ram_bytes == machine.ram_bytes


def test_lowest_limit_up_the_tree(root: Path) -> None:
    (root / "proc/self/cgroup").write_text("0::/outer/inner\n")
    _limit(root, "outer/inner/memory.max", "max\n")
    _limit(root, "outer/memory.max", f"{3 * 2**30}\n")
    machine = read_machine(root)
    assert machine.memory_limit_bytes == 3 * 2**30
    assert machine.usable_ram_bytes == 3 * 2**30


def test_version_1_unlimited_is_no_limit(root: Path) -> None:
    (root / "proc/self/cgroup").write_text(CGROUP_V1)
    _limit(root, "memory/outer/inner/memory.limit_in_bytes", "9223372036854771712\n")
    assert read_machine(root).memory_limit_bytes is None
    _limit(root, "memory/memory.limit_in_bytes", "2147483648\n")
    assert read_machine(root).memory_limit_bytes == 2**31


def test_a_limit_above_the_ram_changes_nothing(root: Path) -> None:
    (root / "proc/self/cgroup").write_text("0::/\n")
    _limit(root, "memory.max", f"{2**40}\n")
    assert read_machine(root).usable_ram_bytes == 24684084 * 1024


def test_group_outside_of_mount(root: Path) -> None:
    (root / "proc/self/cgroup").write_text("0::/../../elsewhere\n")
    assert read_machine(root).memory_limit_bytes is None


def test_without_proc_the_kernel_is_asked(tmp_path: Path) -> None:
    assert read_machine(tmp_path).ram_bytes == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def test_unknown_meminfo_lines_ignored() -> None:
    assert parse_meminfo("A: 1 kB\nB: x kB\nC:\nno colon\nD: 5\n") == {"A": 1024, "D": 5}


def test_a_controller_path_may_hold_a_colon() -> None:
    assert parse_cgroups("4:memory:/a:b\n0::/c\n") == {"memory": "/a:b", "": "/c"}


def test_this_machine_is_plausible() -> None:
    machine = read_machine()
    assert 2**26 < machine.usable_ram_bytes <= machine.ram_bytes
    assert machine.cpus >= 1
    assert machine.page_bytes in {4096, 16384, 65536}
