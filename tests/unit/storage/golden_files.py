"""The golden files of the storage commands: every filesystem x level x preset, making and unmaking.

Written anew by ``python -m tests.unit.storage.golden_files`` in the project's folder, looked through with
``git diff`` before they are committed, and compared byte for byte by `test_commands_golden`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from app.domain.filesystems import FILESYSTEMS
from app.domain.options.filesystem_spec import FilesystemSpec
from app.domain.options.raid import Level
from app.domain.storage_plan.plan import Bitmap, Group, InitialSync, StoragePlan
from app.domain.text import GIB, KIB
from app.storage.layout.commands import build_steps
from app.storage.layout.steps import Step, describe, undo_of
from tests.unit.storage.plans import FOLDER, NAMES, devices, disk, disks, plan_of

GOLDEN = Path(__file__).parent / "golden"


def golden_texts() -> Iterator[tuple[str, str]]:
    """Yield name and content of every golden file."""
    for spec in FILESYSTEMS:
        for level in spec.levels:
            yield f"{spec.id}-{level.value}.txt", "\n".join(_sections(spec, level))
    yield "more.txt", "\n".join(section(title, plan) for title, plan in _more())


def _sections(spec: FilesystemSpec, level: Level) -> Iterator[str]:
    for preset in spec.presets:
        yield section(f"{spec.id}, {level.value}, {preset.id}", plan_of(spec, level, preset.options))


def _more() -> Iterator[tuple[str, StoragePlan]]:
    """Yield plans that no preset has."""
    yield "odd raid10: nothing to align", StoragePlan(Group(disks(5), Level.RAID10, "xfs"))
    yield (
        "mirror, said to be clean, without bitmap, small partitions",
        StoragePlan(
            Group(
                disks(2),
                Level.MIRROR,
                "ext4",
                partition_bytes=16 * GIB,
                bitmap=Bitmap.NONE,
                initial_sync=InitialSync.ASSUME_CLEAN,
            )
        ),
    )
    yield (
        "chunk of 64 KiB, own block size",
        StoragePlan(Group(disks(4), Level.RAID5, "ext4", (("block_size", 2048),), chunk_bytes=64 * KIB)),
    )
    yield (
        "btrfs mirror with three copies",
        StoragePlan(Group(disks(3), Level.MIRROR, "btrfs", (("mirror_copies", "3"),))),
    )
    yield (
        "stripes of a controller",
        StoragePlan(Group(disks(1), Level.SINGLE, "xfs", (("su", 64 * KIB), ("sw", 4)))),
    )
    yield (
        "WAL on disks of its own",
        StoragePlan(
            Group(disks(4), Level.RAID10, "ext4"),
            wal=Group((disk(5), disk(6)), Level.MIRROR, "xfs", (("atime", "noatime"),)),
        ),
    )
    yield (
        "pool with a mirrored log device",
        StoragePlan(Group(disks(3), Level.RAID5, "zfs"), zfs_log=(disk(4), disk(5))),
    )
    yield (
        "two pools",
        StoragePlan(
            Group(disks(1), Level.SINGLE, "zfs"),
            wal=Group((disk(2),), Level.SINGLE, "zfs"),
            zfs_log=(disk(3),),
        ),
    )


def section(title: str, plan: StoragePlan) -> str:
    """Return one plan as its steps and their reverse."""
    found = devices(plan)
    make = build_steps(plan, found, NAMES, FOLDER)
    lines = [f"== {title}", "-- make", *map(_line, make), "-- unmake", *map(_line, undo_of(make))]
    return "\n".join(lines) + "\n"


def _line(step: Step) -> str:
    return describe(step)


def main() -> None:
    """Write all files and remove those of plans that are no more."""
    GOLDEN.mkdir(exist_ok=True)
    texts = dict(golden_texts())
    for path in GOLDEN.glob("*.txt"):
        if path.name not in texts:
            path.unlink()
    for name, text in texts.items():
        (GOLDEN / name).write_text(text, encoding="utf-8")
    sys.stdout.write(f"{len(texts)} files in {GOLDEN}\n")


if __name__ == "__main__":
    main()
