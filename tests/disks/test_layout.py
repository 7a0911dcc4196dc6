"""Layouts made and unmade by the real tools on loop devices: every level and preset that this kernel has."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.domain.disk import DiskIdentity
from app.domain.errors import StorageError
from app.domain.filesystems import FILESYSTEMS
from app.domain.messages.message import say
from app.domain.options.checks import preset_problems
from app.domain.options.filesystem_spec import FilesystemPreset, FilesystemSpec
from app.domain.options.option_spec import KERNEL, parse_version
from app.domain.options.raid import Assembler, Level, layout
from app.domain.storage_plan.plan import Group, StoragePlan
from app.domain.text import MIB
from app.storage.checks.disk_checks import ExecutionReport
from app.storage.checks.readback import ReadBackError
from app.storage.spare.spare import SpareDisks
from tests.disks.covered import record_covered, words_of
from tests.disks.layout_loops import SENTINEL_BYTES, MakeLoop, loops, spare_loops
from tests.disks.layout_proof import digest, fill, leftovers, make_and_unmake

pytestmark = [
    pytest.mark.disks,
    pytest.mark.skipif(os.geteuid() != 0, reason="loop devices need root"),
]

RUNNING = {KERNEL: parse_version(os.uname().release) or ()}


@pytest.fixture
def make_loop(tmp_path: Path) -> Iterator[MakeLoop]:
    with loops(tmp_path) as make:
        yield make


@pytest.fixture
def spare(tmp_path: Path) -> SpareDisks:
    return spare_loops(tmp_path)


def identities(spare: SpareDisks, nodes: list[str]) -> tuple[DiskIdentity, ...]:
    return tuple(spare.identify(node) for node in nodes)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "session"
    path.mkdir()
    return path


def cases() -> Iterator[tuple[FilesystemSpec, Level, FilesystemPreset]]:
    """Yield every preset on one disk and every level with defaults, where neither md nor ZFS is needed."""
    for spec in FILESYSTEMS:
        for level in spec.levels:
            if spec.assembler(level) in {Assembler.RAW, Assembler.BTRFS}:
                presets = spec.presets if level is Level.SINGLE else spec.presets[:1]
                yield from ((spec, level, preset) for preset in presets)


def need(spec: FilesystemSpec) -> None:
    missing = [program.name for program in spec.programs if shutil.which(program.name) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    kinds = Path("/proc/filesystems").read_text().split()
    if spec.id not in kinds:
        pytest.skip(f"this kernel has no {spec.id}")


@pytest.mark.parametrize(
    ("spec", "level", "preset"),
    [pytest.param(*case, id=f"{case[0].id}-{case[1].value}-{case[2].id}") for case in cases()],
)
def test_a_layout_is_made_and_unmade(
    make_loop: MakeLoop,
    folder: Path,
    spare: SpareDisks,
    spec: FilesystemSpec,
    level: Level,
    preset: FilesystemPreset,
) -> None:
    need(spec)
    count = layout(level, spec.assembler(level)).minimum_disks
    nodes, other = [make_loop() for _ in range(count)], make_loop(SENTINEL_BYTES)
    before = fill(other)
    plan = StoragePlan(Group(identities(spare, nodes), level, spec.id, tuple(preset.options.items())))
    is_refused = bool(preset_problems(spec, preset, RUNNING))
    # What a second time finds depends on what was left, not on the options of a preset.
    for _ in range(2 if is_refused or preset is spec.presets[0] else 1):
        if is_refused:
            with pytest.raises(StorageError, match="^mount ") as caught:
                make_and_unmake(plan, nodes, folder, spare)
            assert say("was-undone") in caught.value.hint
            assert leftovers(nodes, folder) == []
        else:
            make_and_unmake(plan, nodes, folder, spare)
    assert digest(other) == before
    if not is_refused:  # a guest has another kernel, which may take what this one refuses
        record_covered(words_of(spec, level, preset))


@pytest.mark.parametrize("copies", ["3", "4"])
def test_btrfs_mirror_copies(make_loop: MakeLoop, folder: Path, spare: SpareDisks, copies: str) -> None:
    need(next(spec for spec in FILESYSTEMS if spec.id == "btrfs"))
    nodes = [make_loop() for _ in range(int(copies))]
    plan = StoragePlan(Group(identities(spare, nodes), Level.MIRROR, "btrfs", (("mirror_copies", copies),)))
    make_and_unmake(plan, nodes, folder, spare)


def test_wal_has_own_disks_and_filesystem(make_loop: MakeLoop, folder: Path, spare: SpareDisks) -> None:
    for name in ("xfs", "btrfs"):
        need(next(spec for spec in FILESYSTEMS if spec.id == name))
    nodes, other = [make_loop() for _ in range(3)], make_loop(SENTINEL_BYTES)
    before = fill(other)
    data = Group(identities(spare, nodes[:2]), Level.MIRROR, "btrfs", partition_bytes=400 * MIB)
    plan = StoragePlan(
        data, wal=Group(identities(spare, nodes[2:]), Level.SINGLE, "xfs", (("atime", "noatime"),))
    )
    for _ in range(2):
        make_and_unmake(plan, nodes, folder, spare)
    assert digest(other) == before


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("ext4", (("block_size", 2048), ("bigalloc", True), ("cluster_bytes", 32768), ("fast_commit", True))),
        ("ext4", (("journal", False), ("reserved_percent", 0), ("mkfs_discard", False), ("lazytime", True))),
        ("ext4", (("data", "journal"), ("auto_da_alloc", False), ("max_batch_time", 0))),
        ("ext4", (("stride", 16), ("stripe_width", 64), ("journal_bytes", 16 * MIB))),
        ("xfs", (("su", 65536), ("sw", 4), ("reflink", False), ("rmapbt", False), ("mkfs_discard", False))),
        ("xfs", (("logbsize", 262144), ("allocsize", 1 << 20), ("agcount", 4), ("lazytime", True))),
        ("btrfs", (("checksum", "xxhash"), ("nodesize", 32768), ("mkfs_discard", False), ("datasum", False))),
        ("btrfs", (("compress", "zstd:3"), ("metadata_profile", "single"), ("nocow_attribute", False))),
        ("btrfs", (("nocow_attribute", True), ("atime", "strictatime"))),
    ],
)
def test_options_read_back(
    make_loop: MakeLoop,
    folder: Path,
    spare: SpareDisks,
    name: str,
    options: tuple[tuple[str, bool | int | str], ...],
) -> None:
    need(next(spec for spec in FILESYSTEMS if spec.id == name))
    nodes = [make_loop()]
    plan = StoragePlan(Group(identities(spare, nodes), Level.SINGLE, name, options))
    make_and_unmake(plan, nodes, folder, spare)


@pytest.mark.parametrize(
    ("name", "options", "named"),
    [
        # btrfs(5): the last of both wins, the kernel drops the other one without a word
        ("btrfs", (("datacow", False), ("compress", "zstd:3")), {"datacow"}),
        ("btrfs", (("compress", "lzo"), ("compress_force", "zstd:3")), {"compress"}),
    ],
)
def test_silently_dropped_option_is_error(
    make_loop: MakeLoop,
    folder: Path,
    spare: SpareDisks,
    name: str,
    options: tuple[tuple[str, bool | int | str], ...],
    named: set[str],
) -> None:
    need(next(spec for spec in FILESYSTEMS if spec.id == name))
    nodes = [make_loop()]
    plan = StoragePlan(Group(identities(spare, nodes), Level.SINGLE, name, options))
    with pytest.raises(ReadBackError) as caught:
        make_and_unmake(plan, nodes, folder, spare)
    assert {difference.option for difference in caught.value.differences} == named
    assert say("was-undone") in caught.value.hint
    assert leftovers(nodes, folder) == []


def own_seconds(report: ExecutionReport) -> float:
    """Time in neither programs nor the kernel's work that is waited for."""
    return report.seconds - sum(step.program_seconds for step in report.steps)


def test_own_overhead_under_a_second(make_loop: MakeLoop, folder: Path, spare: SpareDisks) -> None:
    """CPU time of this process: what the tools take is theirs, what others take of the machine nobody's."""
    need(next(spec for spec in FILESYSTEMS if spec.id == "btrfs"))
    nodes = [make_loop() for _ in range(4)]
    plan = StoragePlan(Group(identities(spare, nodes), Level.RAID10, "btrfs"))
    began_s = time.process_time()
    trial = make_and_unmake(plan, nodes, folder, spare)
    ours_s = time.process_time() - began_s
    sys.stdout.write(
        f"ours {own_seconds(trial.made):.3f} {own_seconds(trial.unmade):.3f}, CPU {ours_s:.3f} s\n"
    )
    assert ours_s < 2.0
