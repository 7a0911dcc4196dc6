"""What the declarations of options say, seen on the kernel and tools of the guest: f2fs, ZFS and md too."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.domain.filesystems import FILESYSTEMS, filesystem
from app.domain.formats.zfs import parse_properties
from app.domain.options.filesystem_spec import FilesystemSpec
from app.domain.options.kinds import Stage
from app.storage.layout.disk_target import level_availability, read_support
from tests.disks.layout_loops import loops
from tests.disks.option_facts import (
    dataset_differences,
    mkfs_differences,
    mount_differences,
    mounted,
    must,
    run,
    tried_values,
)
from tests.machine.conftest import RigBlockDevice

pytestmark = [pytest.mark.machine, pytest.mark.inside("virtio:4G")]

POOL = "facts"
ON_DISK = [spec for spec in FILESYSTEMS if spec.mkfs]
SPEC = pytest.mark.parametrize(
    "spec",
    [
        pytest.param(
            spec,
            marks=pytest.mark.covers(f"facts {spec.id}"),
            id=spec.id,
        )
        for spec in ON_DISK
    ],
)


@pytest.fixture
def node(rig_disks: list[RigBlockDevice]) -> Iterator[str]:
    path = rig_disks[0].path
    must("wipefs", "--all", "--quiet", path)
    yield path
    must("wipefs", "--all", "--quiet", path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "mounted"
    path.mkdir()
    return path


@pytest.mark.covers("facts availability")
def test_declared_layouts_work_on_guest() -> None:
    support = read_support()
    assert {
        (spec.id, level): level_availability(spec, level, support).reasons
        for spec in FILESYSTEMS
        for level in spec.levels
        if not level_availability(spec, level, support).works
    } == {}


@SPEC
def test_every_mount_option_does_what_is_declared(spec: FilesystemSpec, node: str, folder: Path) -> None:
    assert spec.mkfs
    must(spec.mkfs, "-q", node)
    assert mount_differences(spec, node, folder, read_support().versions) == []


@SPEC
def test_mkfs_options_accepted_and_shown(spec: FilesystemSpec, node: str, folder: Path) -> None:
    support = read_support()
    assert mkfs_differences(spec, node, folder, support.versions, support.page_bytes) == []


@pytest.mark.covers("facts tmpfs")
def test_tmpfs_options_work_as_declared(folder: Path) -> None:
    assert mount_differences(filesystem("tmpfs"), "tmpfs", folder, read_support().versions) == []


@pytest.fixture
def pool(node: str) -> Iterator[str]:
    must("zpool", "create", "-o", "cachefile=none", "-O", "mountpoint=legacy", POOL, node)
    yield POOL
    must("zpool", "destroy", POOL)
    for path in (f"{node}1", node):
        run("zpool", "labelclear", "-f", path)


@pytest.mark.covers("facts zfs")
def test_dataset_properties_accepted_and_shown(pool: str) -> None:
    assert dataset_differences(filesystem("zfs"), pool, read_support().versions) == []


@pytest.mark.covers("facts zfs pool")
def test_pool_properties_accepted_and_shown(node: str) -> None:
    spec = filesystem("zfs")
    always = [item for item in spec.always if item.stage in {Stage.POOL, Stage.DATASET}]
    for option in spec.options:
        for value in tried_values(option) if option.stage is Stage.POOL else ():
            written, seen = option.written(value), option.seen(value)
            assert written
            assert seen
            words = ["-o", written.item]
            for item in always:
                words += ["-o" if item.stage is Stage.POOL else "-O", item.item]
            must("zpool", "create", *words, POOL, node)
            tokens: list[str] = []
            for program in ("zpool", "zfs"):
                text = must(program, "get", "-H", "-p", "-o", "property,value", "all", POOL)
                tokens += parse_properties(text)
            must("zpool", "destroy", POOL)
            for path in (f"{node}1", node):
                run("zpool", "labelclear", "-f", path)
            assert seen.contradictions(tokens) == ()
            for item in always:
                assert item.seen
                assert item.seen.contradictions(tokens) == ()


@pytest.mark.covers("facts smallest")
@pytest.mark.parametrize("name", ["f2fs", "zfs"])
def test_smallest_declared_device_suffices(name: str, tmp_path: Path) -> None:
    spec = filesystem(name)
    with loops(tmp_path) as make_loop:
        device = make_loop(spec.minimum_bytes)
        if spec.mkfs:
            must(spec.mkfs, "-q", device)
        else:
            must("zpool", "create", "-o", "cachefile=none", "-O", "mountpoint=legacy", POOL, device)
        source = device if spec.mkfs else POOL
        folder = tmp_path / "mounted"
        folder.mkdir()
        with mounted(spec, source, folder, ["nodev"]) as ended:
            assert ended.exit_code == 0
        if not spec.mkfs:
            must("zpool", "destroy", POOL)


@pytest.mark.covers("facts f2fs")
def test_f2fs_lazytime_kept_barrier_refused(node: str, folder: Path) -> None:
    """Why the first is no option and the second is never said."""
    spec = filesystem("f2fs")
    must("mkfs.f2fs", "-q", node)
    with mounted(spec, node, folder, ["nolazytime"]) as ended:
        assert ended.exit_code == 0
        assert "lazytime" in Path("/proc/self/mountinfo").read_text()
    with mounted(spec, node, folder, ["barrier"]) as ended:
        assert ended.exit_code != 0
