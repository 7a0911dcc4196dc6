"""How much memory this process may use, by /proc and by the control groups of both versions."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.domain.text import GIB
from app.process.memory import Memory, memory_limits, parse_meminfo, read_memory

MEMINFO = """MemTotal:       16777216 kB
MemFree:         1048576 kB
MemAvailable:    8388608 kB
HugePages_Total:       0
"""
UNLIMITED = "9223372036854771712"
V1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
V2 = ("memory.max", "memory.current", "inactive_file")
HIGH = ("memory.high", *V2[1:])


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/meminfo").write_text(MEMINFO, encoding="ascii")
    return tmp_path


def group(root: Path, names: tuple[str, str, str], path: str, limit: str, used: int, cache: int) -> None:
    folder = root / "sys/fs/cgroup" / path
    folder.mkdir(parents=True, exist_ok=True)
    (folder / names[0]).write_text(f"{limit}\n", encoding="ascii")
    (folder / names[1]).write_text(f"{used}\n", encoding="ascii")
    (folder / "memory.stat").write_text(f"anon 5\n{names[2]} {cache}\n", encoding="ascii")


def memory(root: Path, cgroup: str) -> Memory:
    (root / "proc/self/cgroup").write_text(cgroup, encoding="ascii")
    return read_memory(root / "proc", root / "sys")


def test_no_limit_is_the_machine(root: Path) -> None:
    group(root, V2, "user.slice", "max", GIB, 0)
    assert memory(root, "0::/user.slice\n") == Memory(16 * GIB, 8 * GIB)


def test_narrowest_limit_on_the_way(root: Path) -> None:
    group(root, V2, "a", str(4 * GIB), 3 * GIB, GIB)
    group(root, V2, "a/b", str(6 * GIB), GIB, 0)
    file = root / "sys/fs/cgroup/a/memory.max"
    assert memory(root, "0::/a/b\n") == Memory(4 * GIB, 2 * GIB, str(file))


def test_memory_that_is_taken_back_is_limited(root: Path) -> None:
    group(root, V2, "a", "max", GIB, 0)
    group(root, HIGH, "a", str(4 * GIB), GIB, 0)
    file = root / "sys/fs/cgroup/a/memory.high"
    assert memory(root, "0::/a\n") == Memory(4 * GIB, 3 * GIB, str(file))


def test_overused_limit_leaves_nothing(root: Path) -> None:
    group(root, V2, "", str(2 * GIB), 3 * GIB, 0)
    found = memory(root, "0::/\n")
    assert (found.total_bytes, found.available_bytes) == (2 * GIB, 0)


def test_unknown_use_leaves_the_limit(root: Path) -> None:
    group(root, V2, "", str(2 * GIB), 3 * GIB, 0)
    (root / "sys/fs/cgroup/memory.stat").unlink()
    assert memory(root, "0::/\n").available_bytes == 2 * GIB


def test_limit_above_ram_changes_nothing(root: Path) -> None:
    group(root, V2, "", str(2**40), GIB, 0)
    assert memory(root, "0::/\n") == Memory(16 * GIB, 8 * GIB)


def test_version_1_path_outside_of_container(root: Path) -> None:
    group(root, V1, "memory", str(3 * GIB), GIB, GIB // 2)
    found = memory(root, "9:name=systemd:/x\n4:cpu,memory:/docker/1:2ab\n0::/\n")
    assert (found.total_bytes, found.available_bytes) == (3 * GIB, 2 * GIB + GIB // 2)


def test_version_1_unlimited_is_no_limit(root: Path) -> None:
    group(root, V1, "memory/outer", UNLIMITED, GIB, 0)
    group(root, V1, "memory", str(2 * GIB), GIB, 0)
    assert memory(root, "4:memory:/outer\n").total_bytes == 2 * GIB
    group(root, V1, "memory", UNLIMITED, GIB, 0)
    assert memory(root, "4:memory:/outer\n").limit is None


def test_group_outside_of_mount(root: Path) -> None:
    assert memory(root, "0::/../../elsewhere\n") == Memory(16 * GIB, 8 * GIB)


def test_hidden_groups_have_no_limit(root: Path) -> None:
    assert memory_limits(root / "proc", root / "sys", "77") == ()


def test_this_machine_has_memory() -> None:
    found = read_memory()
    assert 0 < found.available_bytes <= found.total_bytes


def test_unknown_meminfo_lines_ignored() -> None:
    assert parse_meminfo(b"A: 1 kB\nB: x kB\nC:\nno colon\nD: 5\n") == {"A": 1024, "D": 5}
