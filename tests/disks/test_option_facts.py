"""What the declarations of options say, seen on this machine's own kernel and tools."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.domain.filesystems import FILESYSTEMS, filesystem
from app.domain.options.filesystem_spec import FilesystemSpec
from app.domain.options.option_spec import KERNEL
from app.domain.text import GIB
from app.storage.layout.disk_target import filesystem_availability, read_support
from app.storage.system.state import mounts_on
from tests.disks.layout_loops import MakeLoop, loops
from tests.disks.option_facts import (
    REFUSED_HERE,
    mkfs_differences,
    mount_differences,
    mounted,
    must,
    run,
    superblock_tokens,
)

SUPPORT = read_support()
ON_DISK = [spec for spec in FILESYSTEMS if spec.mkfs and filesystem_availability(spec, SUPPORT).works]
SPEC = pytest.mark.parametrize("spec", ON_DISK, ids=lambda spec: spec.id)

pytestmark = [
    pytest.mark.disks,
    pytest.mark.skipif(os.geteuid() != 0, reason="loop devices need root"),
]


@pytest.fixture
def make_loop(tmp_path: Path) -> Iterator[MakeLoop]:
    with loops(tmp_path) as make:
        yield make


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "mounted"
    path.mkdir()
    return path


@pytest.fixture(autouse=True)
def quota_of_this_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    if not Path("/proc/fs/xfs/xqm").exists():  # CONFIG_XFS_QUOTA
        monkeypatch.setattr(
            "tests.disks.option_facts.REFUSED_HERE", {*REFUSED_HERE, ("xfs", "quota", "uquota")}
        )


def made(spec: FilesystemSpec, node: str, *flags: str) -> str:
    must("wipefs", "--all", "--quiet", node)
    assert spec.mkfs
    must(spec.mkfs, "-q", *flags, node)
    return node


@SPEC
def test_every_mount_option_does_what_is_declared(
    spec: FilesystemSpec, make_loop: MakeLoop, folder: Path
) -> None:
    node = made(spec, make_loop())
    assert mount_differences(spec, node, folder, SUPPORT.versions) == []


@SPEC
def test_mkfs_options_accepted_and_shown(spec: FilesystemSpec, make_loop: MakeLoop, folder: Path) -> None:
    node = make_loop(4 * GIB)  # sparse; an allocation group of XFS has to hold its log
    assert mkfs_differences(spec, node, folder, SUPPORT.versions, SUPPORT.page_bytes) == []


def test_tmpfs_options_work_as_declared(folder: Path) -> None:
    assert mount_differences(filesystem("tmpfs"), "tmpfs", folder, SUPPORT.versions) == []


@SPEC
def test_smallest_declared_device_suffices(spec: FilesystemSpec, make_loop: MakeLoop, folder: Path) -> None:
    node = made(spec, make_loop(spec.minimum_bytes))
    with mounted(spec, node, folder, ()) as ended:
        assert ended.exit_code == 0


def test_btrfs_attribute_set_and_shown(make_loop: MakeLoop, folder: Path) -> None:
    spec = filesystem("btrfs")
    option = spec.option("nocow_attribute")
    written, seen = option.written(value=True), option.seen(value=True)
    assert written
    assert seen
    with mounted(spec, made(spec, make_loop()), folder, ()):
        must("chattr", written.item, str(folder))
        shown = must("lsattr", "-d", str(folder)).split()[0].replace("-", "")
    assert seen.contradictions(list(shown)) == ()


def shown(spec: FilesystemSpec, node: str, folder: Path, options: str) -> set[str] | None:
    """Return the options that a mount shows; None where it is refused."""
    with mounted(spec, node, folder, [options]) as ended:
        return set(mounts_on(str(folder))[-1].options) if ended.exit_code == 0 else None


def test_btrfs_nocow_and_compression_last_wins(make_loop: MakeLoop, folder: Path) -> None:
    """Rules C03, C05, C06."""
    spec = filesystem("btrfs")
    node = made(spec, make_loop())
    first = shown(spec, node, folder, "compress=zstd:3,nodatacow")
    assert first is not None
    assert "nodatacow" in first
    assert "compress=zstd:3" not in first
    second = shown(spec, node, folder, "nodatacow,compress=zstd:3")
    assert second is not None
    assert "compress=zstd:3" in second
    assert "nodatacow" not in second
    third = shown(spec, node, folder, "nodatacow,datasum")
    assert third is not None
    assert not {"nodatacow", "nodatasum"} & third
    fourth = shown(spec, node, folder, "nodatacow")
    assert fourth is not None
    assert {"nodatacow", "nodatasum"} <= fourth  # C04: the one implies the other


def test_ext4_refuses_or_drops_refused_options(make_loop: MakeLoop, folder: Path) -> None:
    """Rules C12, C32."""
    spec = filesystem("ext4")
    node = made(spec, make_loop())
    assert shown(spec, node, folder, "data=journal,delalloc") is None
    assert shown(spec, node, folder, "journal_async_commit") is None
    assert shown(spec, node, folder, "journal_async_commit,data=ordered") is None
    dropped = shown(spec, node, folder, "data=journal,dioread_nolock")
    assert dropped is not None
    assert {"data=journal", "nodioread_nolock", "nodelalloc"} <= dropped


@pytest.mark.parametrize("option", ["data=ordered", "data=writeback", "commit=30", "journal_async_commit"])
def test_ext4_without_a_journal_refuses_its_options(make_loop: MakeLoop, folder: Path, option: str) -> None:
    """Rule C09."""
    spec = filesystem("ext4")
    node = made(spec, make_loop(), "-O", "^has_journal")
    assert shown(spec, node, folder, "nobarrier") is not None
    assert shown(spec, node, folder, option) is None


@pytest.mark.parametrize("option", ["delalloc", "nodelalloc", "dioread_nolock", "journal_async_commit"])
def test_ext3_refuses_the_options_of_ext4(make_loop: MakeLoop, folder: Path, option: str) -> None:
    """Rule C10."""
    spec = filesystem("ext3")
    node = made(spec, make_loop())
    assert shown(spec, node, folder, "data=writeback") is not None
    assert shown(spec, node, folder, option) is None


def test_mke2fs_accepts_odd_stripe_width(make_loop: MakeLoop) -> None:
    """Rule C14: the tool only warns."""
    ended = run("mkfs.ext4", "-q", "-E", "stride=16,stripe_width=65", make_loop())
    assert ended.exit_code == 0
    assert "not an even multiple" in ended.stderr


def test_mke2fs_wants_clusters_for_a_cluster_size(make_loop: MakeLoop) -> None:
    """Rule C11."""
    assert run("mkfs.ext4", "-q", "-C", "65536", make_loop()).exit_code != 0


def test_mkfs_xfs_needs_stripe_unit_and_width(make_loop: MakeLoop) -> None:
    """Rule C15."""
    node = make_loop()
    for item in ("su=65536", "sw=4"):
        assert run("mkfs.xfs", "-q", "-d", item, node).exit_code != 0
    assert run("mkfs.xfs", "-q", "-d", "su=65536,sw=4", node).exit_code == 0


def test_xfs_log_buffers_below_stripe_unit_refused(make_loop: MakeLoop, folder: Path) -> None:
    """Rule C17."""
    spec = filesystem("xfs")
    node = made(spec, make_loop(), "-l", "su=131072")
    assert shown(spec, node, folder, "logbsize=64k") is None
    wide = shown(spec, node, folder, "logbsize=256k")
    assert wide is not None
    assert "logbsize=256k" in wide


def test_xfs_rounds_preallocation_and_disables_dax(make_loop: MakeLoop, folder: Path) -> None:
    """Why such values are not offered."""
    spec = filesystem("xfs")
    node = made(spec, make_loop())
    rounded = shown(spec, node, folder, "allocsize=3m")
    assert rounded is not None
    assert "allocsize=1024k" in rounded


def test_xfs_large_blocks_need_linux_6_12(make_loop: MakeLoop, folder: Path) -> None:
    """Rule C13."""
    spec = filesystem("xfs")
    node = made(spec, make_loop(), "-b", f"size={4 * SUPPORT.page_bytes}")
    is_mounted = shown(spec, node, folder, "rw") is not None
    assert is_mounted is (SUPPORT.versions[KERNEL] >= (6, 12))


def test_large_block_made_but_not_mounted(make_loop: MakeLoop, folder: Path) -> None:
    """Rule C13: -F is what answers mke2fs' question here, on the test's own loop device."""
    spec = filesystem("ext4")
    node = made(spec, make_loop(), "-F", "-b", str(4 * SUPPORT.page_bytes))
    assert f"Block size: {4 * SUPPORT.page_bytes}" in superblock_tokens(spec, node)
    assert shown(spec, node, folder, "rw") is None
