"""How much memory there is for a data directory."""

from __future__ import annotations

from pathlib import Path

from app.hosts.folders.targets import filesystem_type, lies_in_memory, read_memory

GIB = 1024**3

MEMINFO = """MemTotal:       16777216 kB
MemFree:         1048576 kB
MemAvailable:    8388608 kB
HugePages_Total:       0
"""

MOUNTINFO = """\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 22 0:26 / /dev/shm rw,nosuid,nodev shared:4 master:2 - tmpfs tmpfs rw,size=8192k
31 22 0:27 / /mnt/with\\040space rw,relatime - btrfs /dev/sdb rw
"""


def machine(tmp_path: Path, cgroup: str) -> tuple[Path, Path]:
    """Lay out /proc and /sys/fs/cgroup as the kernel does."""
    proc, cgroups = tmp_path / "proc", tmp_path / "cgroup"
    (proc / "self").mkdir(parents=True)
    cgroups.mkdir()
    (proc / "meminfo").write_text(MEMINFO, encoding="ascii")
    (proc / "self/cgroup").write_text(cgroup, encoding="ascii")
    return proc, cgroups


def group(folder: Path, names: tuple[str, str], limit: str, used: int, stat: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / names[0]).write_text(f"{limit}\n", encoding="ascii")
    (folder / names[1]).write_text(f"{used}\n", encoding="ascii")
    (folder / "memory.stat").write_text(stat, encoding="ascii")


V1 = ("memory.limit_in_bytes", "memory.usage_in_bytes")
V2 = ("memory.max", "memory.current")


def test_without_a_limit_the_machine_counts(tmp_path: Path) -> None:
    proc, cgroups = machine(tmp_path, "0::/user.slice\n")
    group(cgroups / "user.slice", V2, "max", GIB, "inactive_file 0\n")
    found = read_memory(proc, cgroups)
    assert (found.total_bytes, found.available_bytes, found.limit) == (16 * GIB, 8 * GIB, None)


def test_narrowest_limit_on_the_way(tmp_path: Path) -> None:
    proc, cgroups = machine(tmp_path, "0::/a/b\n")
    group(cgroups / "a", V2, str(4 * GIB), 3 * GIB, f"anon 5\ninactive_file {GIB}\n")
    group(cgroups / "a/b", V2, str(6 * GIB), GIB, "inactive_file 0\n")
    found = read_memory(proc, cgroups)
    assert (found.total_bytes, found.available_bytes) == (4 * GIB, 2 * GIB)
    assert found.limit == str(cgroups / "a/memory.max")


def test_container_limit_at_cgroup_root(tmp_path: Path) -> None:
    proc, cgroups = machine(tmp_path, "0::/\n")
    group(cgroups, V2, str(2 * GIB), 3 * GIB, "inactive_file 0\n")
    found = read_memory(proc, cgroups)
    assert (found.total_bytes, found.available_bytes) == (2 * GIB, 0)


def test_cgroup_v1_path_outside_of_container(tmp_path: Path) -> None:
    proc, cgroups = machine(tmp_path, "9:name=systemd:/x\n4:cpu,memory:/docker/12ab\n0::/\n")
    group(cgroups / "memory", V1, str(3 * GIB), GIB, f"total_inactive_file {GIB // 2}\n")
    found = read_memory(proc, cgroups)
    assert (found.total_bytes, found.available_bytes) == (3 * GIB, 2 * GIB + GIB // 2)


def test_cgroup_v1_without_a_limit(tmp_path: Path) -> None:
    proc, cgroups = machine(tmp_path, "4:memory:/\n")
    group(cgroups / "memory", V1, "9223372036854771712", GIB, "total_inactive_file 0\n")
    assert read_memory(proc, cgroups).limit is None


def test_this_machine_has_memory() -> None:
    found = read_memory()
    assert 0 < found.available_bytes <= found.total_bytes


def test_filesystem_type_by_device_number(tmp_path: Path) -> None:
    table = tmp_path / "mountinfo"
    table.write_text(MOUNTINFO, encoding="ascii")
    assert filesystem_type(254 << 8, table) == "ext4"
    assert filesystem_type(26, table) == "tmpfs"
    assert filesystem_type(99, table) is None


def test_proc_does_not_count_as_memory() -> None:
    assert not lies_in_memory(Path("/proc").stat().st_dev)
