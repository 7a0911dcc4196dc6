"""Which filesystems are in memory."""

from __future__ import annotations

from pathlib import Path

from app.hosts.folders.targets import filesystem_type, lies_in_memory

MOUNTINFO = """\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 22 0:26 / /dev/shm rw,nosuid,nodev shared:4 master:2 - tmpfs tmpfs rw,size=8192k
31 22 0:27 / /mnt/with\\040space rw,relatime - btrfs /dev/sdb rw
"""


def test_filesystem_type_by_device_number(tmp_path: Path) -> None:
    table = tmp_path / "mountinfo"
    table.write_text(MOUNTINFO, encoding="ascii")
    assert filesystem_type(254 << 8, table) == "ext4"
    assert filesystem_type(26, table) == "tmpfs"
    assert filesystem_type(99, table) is None


def test_proc_does_not_count_as_memory() -> None:
    assert not lies_in_memory(Path("/proc").stat().st_dev)
