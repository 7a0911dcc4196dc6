"""Partition tables: others, ours with something else in it, ours moved and resized."""

from __future__ import annotations

from functools import partial
from typing import Final

from app.domain.storage_plan.plan import PARTITION_TYPE
from app.domain.text import KIB, MIB
from tests.disks.matrix.disks import (
    DISK_BYTES,
    PARTITION_BYTES,
    PARTITION_START,
    Disk,
    Range,
    run,
    settle,
    write,
    zero,
)
from tests.disks.matrix.images import FORMATS
from tests.disks.matrix.stage import Certainty, Foreign, Given, Kind, Stage

_EXT4: Final = next(form for form in FORMATS if form.name == "ext4")
_LINUX: Final = "0FC63DAF-8483-4772-8E79-3D69D8477DE4"
_TABLE: Final = (0, PARTITION_START)
_FREE: Final = 560 * MIB
"""Where there is room behind our partition."""
_WORDS: Final = ("gpt", "dos", "partition", "table")


def _sfdisk(disk: Disk, script: str, *options: str, values: tuple[str, ...] = ()) -> None:
    """Change a table as an administrator does who knows better, and tell the kernel."""
    quiet = ("--quiet", "--force", "--no-reread", "--no-tell-kernel")
    run("sfdisk", *quiet, *options, disk.node, *values, text=script)
    run("partx", "--update", disk.node, check=False)
    settle()


def _fill(stage: Stage, start: int, size: int) -> Range:
    """Put an ext4 where a partition begins; return its range."""
    disk = stage.subject
    zero(disk.node, start, size)
    write(disk.node, *((start + at, data) for at, data in stage.images.of(_EXT4, size)))
    return start, start + size


def _end(disk: Disk) -> None:
    disk.zero()
    settle()


def _new(stage: Stage, script: str, *, filled: bool = True) -> Foreign:
    """A new table with a filesystem in each of its partitions."""
    stage.free()
    disk = stage.subject
    run("partx", "--delete", disk.node, check=False)
    zero(disk.node, 0, disk.size_bytes)
    _sfdisk(disk, script.format(table=stage.table_uuid))
    if filled:
        _fill(stage, 1 * MIB, 200 * MIB)
    return Foreign(Certainty.ALWAYS, disk, words=_WORDS, end=partial(_end, disk))


def _deleted(stage: Stage, *, another: bool) -> Foreign:
    """Our partition is deleted; sfdisk and fdisk keep the identifier of the table."""
    stage.free()
    disk = stage.subject
    run("partx", "--delete", disk.node, check=False)
    _sfdisk(disk, "", "--delete")
    if not another:
        return Foreign(Certainty.ALWAYS, disk, words=_WORDS, end=partial(_end, disk))
    _sfdisk(disk, f"start=1MiB, size=200MiB, type={_LINUX}\n", "--append")
    _fill(stage, 1 * MIB, 200 * MIB)
    return Foreign(Certainty.ALWAYS, disk, words=_WORDS, end=partial(_end, disk))


def _beside(stage: Stage, *, filled: bool) -> Foreign:
    """A second partition in the free space behind ours; ours stays as it is, mounted or not."""
    disk = stage.subject
    run("partx", "--add", disk.node, check=False)
    script = f"start={_FREE // MIB}MiB, size=200MiB, type={_LINUX}\n"
    _sfdisk(disk, script, "--append")
    place = _FREE, _FREE + 200 * MIB
    if filled:
        _fill(stage, _FREE, 200 * MIB)
    else:
        write(disk.node, (_FREE, b"\x77" * MIB))
    # our own filesystem may go: what is foreign is the table and the other partition
    return Foreign(Certainty.ALWAYS, disk, (_TABLE, place), _WORDS, partial(_end, disk))


def _changed(stage: Stage, option: str, value: str) -> Foreign:
    """Type or identifier of our partition is another: it is somebody's now."""
    stage.free()
    stage.target()
    disk = stage.subject
    _sfdisk(disk, "", option, values=("1", value))
    return Foreign(Certainty.ALWAYS, disk, words=_WORDS, end=partial(_end, disk))


def _resized(
    stage: Stage, start: int, size: int, certainty: Certainty, *, filled: tuple[int, int] | None = None
) -> Foreign:
    """Our partition begins or ends elsewhere, with type and identifier as they were, if there was one."""
    stage.free()
    disk = stage.subject
    run("partx", "--delete", disk.node, check=False)
    of_table, of_partition = "", ""
    if stage.table_uuid:
        of_table, of_partition = f"label-id: {stage.table_uuid}\n", f"uuid={stage.partition_uuid}, "
    script = (
        f"label: gpt\n{of_table}start={start // MIB}MiB, size={size // MIB}MiB, "
        f'type={PARTITION_TYPE}, {of_partition}name="pgfooting-data"\n'
    )
    if filled and filled[0] != start:
        script += f"start={filled[0] // MIB}MiB, size={filled[1] // MIB}MiB, type={_LINUX}\n"
    _sfdisk(disk, script)
    if filled:
        _fill(stage, *filled)
    return Foreign(certainty, disk, words=(*_WORDS, "ext4"), end=partial(_end, disk))


def _half_table(stage: Stage, start: int, length: int) -> Foreign:
    """The table, or its copy at the end of the disk, is zero; the other one is left."""
    stage.free()
    disk = stage.subject
    zero(disk.node, start if start >= 0 else disk.size_bytes + start, length)
    return Foreign(Certainty.ALWAYS, disk, words=_WORDS, end=partial(_end, disk))


def _sgdisk(
    stage: Stage, *options: str, place: Range | None = None, code: tuple[int, int] | None = None
) -> Foreign:
    """Our table is changed by somebody who looks at our partition as theirs; that is mounted or not.

    Args:
        options: of sgdisk(8).
        place: where a partition that is made so gets an ext4.
        code: where a boot loader of so many bytes is put.
    """
    disk = stage.subject
    run("sgdisk", *options, disk.node)
    ranges = [_TABLE, (disk.size_bytes - PARTITION_START, disk.size_bytes)]
    if place:
        ranges.append(_fill(stage, *place))
    if code:
        write(disk.node, (code[0], b"\x4c" * code[1]))
    settle()
    return Foreign(Certainty.ALWAYS, disk, tuple(ranges), (*_WORDS, "made"), partial(_end, disk))


_ONE: Final = f"label: gpt\nstart=1MiB, size=200MiB, type={_LINUX}\n"
_TWO: Final = f"{_ONE}start=300MiB, size=200MiB, type={_LINUX}\n"
_GROWN: Final = (DISK_BYTES - 2 * MIB - PARTITION_START) // MIB * MIB

TABLES: Final = (
    Kind(
        "table: another GPT without partitions", "tables", partial(_new, script="label: gpt\n", filled=False)
    ),
    Kind("table: another GPT with ext4", "tables", partial(_new, script=_ONE)),
    Kind("table: MBR with ext4", "tables", partial(_new, script="label: dos\nstart=1MiB, size=200MiB\n")),
    Kind(
        "table: our disk GUID with two other partitions",
        "tables",
        partial(_new, script=_TWO.replace("gpt\n", "gpt\nlabel-id: {table}\n", 1)),
        Given.TABLE,
    ),
    Kind("table: our partition deleted", "tables", partial(_deleted, another=False), Given.TABLE),
    Kind(
        "table: our partition deleted, another made with ext4",
        "tables",
        partial(_deleted, another=True),
        Given.TABLE,
    ),
    Kind("table: an ext4 partition beside ours", "tables", partial(_beside, filled=True), Given.TABLE),
    Kind("table: a raw partition beside ours", "tables", partial(_beside, filled=False), Given.TABLE),
    Kind(
        "table: our partition has another type",
        "tables",
        partial(_changed, option="--part-type", value=_LINUX),
        Given.TABLE,
    ),
    Kind(
        "table: our partition has another UUID",
        "tables",
        partial(_changed, option="--part-uuid", value="5C1A9E60-0000-4000-8000-000000000001"),
        Given.TABLE,
    ),
    Kind(
        "table: our partition moved onto an ext4",
        "tables",
        partial(
            _resized,
            start=200 * MIB,
            size=300 * MIB,
            certainty=Certainty.ALWAYS,
            filled=(200 * MIB, 300 * MIB),
        ),
    ),
    Kind(
        "table: our partition shrunk, ext4 behind it",
        "tables",
        partial(
            _resized, start=MIB, size=200 * MIB, certainty=Certainty.ALWAYS, filled=(300 * MIB, 200 * MIB)
        ),
    ),
    Kind(
        "table: our partition shrunk",
        "tables",
        partial(_resized, start=MIB, size=PARTITION_BYTES - 100 * MIB, certainty=Certainty.ALWAYS),
        Given.TABLE,
    ),
    Kind(
        "table: our partition grown",
        "tables",
        partial(_resized, start=MIB, size=_GROWN, certainty=Certainty.ALWAYS),
        Given.TABLE,
    ),
    Kind(
        "table: only its copy at the end is left",
        "tables",
        partial(_half_table, start=0, length=PARTITION_START),
        Given.TABLE,
    ),
    Kind(
        "table: its copy at the end is gone",
        "tables",
        partial(_half_table, start=-MIB, length=MIB),
        Given.TABLE,
    ),
    Kind("table: of 256 entries", "tables", lambda stage: _sgdisk(stage, "-S", "256"), Given.TABLE),
    Kind(
        "table: of 256 entries, an ext4 in the 150th",
        "tables",
        lambda stage: _sgdisk(
            stage,
            *("-S", "256", "-n", f"150:{_FREE // 512}:+200M", "-c", "150:customers"),
            place=(_FREE, 200 * MIB),
        ),
        Given.TABLE,
    ),
    Kind(
        "table: of 56 entries, a boot loader behind them",
        "tables",
        lambda stage: _sgdisk(stage, "-S", "56", code=(8 * KIB, 4 * KIB)),
        Given.TABLE,
    ),
    Kind(
        "table: moved, a boot loader in its place",
        "tables",
        lambda stage: _sgdisk(stage, "-j", "512", code=(1 * KIB, 4 * KIB)),
        Given.TABLE,
    ),
    Kind(
        "table: our partition renamed",
        "tables",
        lambda stage: _sgdisk(stage, "-c", "1:customer-data"),
        Given.TABLE,
    ),
    Kind(
        "table: our partition marked as required",
        "tables",
        lambda stage: _sgdisk(stage, "-A", "1:set:0"),
        Given.TABLE,
    ),
    Kind(
        "table: a byte behind its header",
        "tables",
        lambda stage: _sgdisk(stage, "-p", code=(512 + 400, 1)),
        Given.TABLE,
    ),
    Kind(
        "table: a boot loader in the first sector",
        "tables",
        lambda stage: _sgdisk(stage, "-p", code=(0, 90)),
        Given.TABLE,
    ),
)
