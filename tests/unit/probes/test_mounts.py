from __future__ import annotations

import os
from pathlib import Path

import pytest

from app.probes.base.backing_devices import mount_of, parse_mountinfo

# recorded on Linux 6.18; the third line from proc(5), with optional fields and an escaped blank
RECORDED = """22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard,resv_strict,resuid=65534
36 35 98:0 /mnt1 /mnt\\0402 rw,noatime master:1 propagate_from:2 - ext3 /dev/root rw,errors=continue
"""


def test_lines_of_mountinfo_are_taken_apart() -> None:
    _, root, escaped = parse_mountinfo(RECORDED)
    assert (root.id, root.device, root.mount_point, root.filesystem) == (27, "254:0", "/", "ext4")
    assert root.source == "/dev/vda"
    assert root.super_option("resuid") == "65534"
    assert root.super_option("discard") is None
    assert "discard" in root.super_options
    assert (escaped.mount_point, escaped.root) == ("/mnt 2", "/mnt1")
    assert escaped.super_options == ("rw", "errors=continue")


def test_lines_of_another_form_are_left_out() -> None:
    assert parse_mountinfo("\nnonsense\n1 2 3 - ext4\n") == ()


def test_kinds_of_filesystems_are_known() -> None:
    proc, root, _ = parse_mountinfo(RECORDED)
    assert not proc.in_memory
    assert not root.on_network


def test_mount_device_matches_stat(tmp_path: Path) -> None:
    mount = mount_of(str(tmp_path))
    assert str(tmp_path).startswith(mount.mount_point.rstrip("/"))
    if not mount.device.startswith("0:"):
        device = tmp_path.stat().st_dev
        assert mount.device == f"{os.major(device)}:{os.minor(device)}"


def test_proc_is_its_own_mount() -> None:
    assert mount_of("/proc/self").filesystem == "proc"


def test_path_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        mount_of(str(tmp_path / "nothing"))
