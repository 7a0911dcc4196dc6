"""Find the problems of a storage plan before any disk is touched.

Rules: storage reference, sections 1.8 (C29, C30) and 2; mdadm(8). Checks that depend on the machine
(versions, whether a disk is spare) are elsewhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

from app.domain.formats import FORMATS, format_of
from app.domain.options.format_spec import FormatSpec
from app.domain.options.kinds import OptionValue
from app.domain.options.raid import Assembler, Level, layout
from app.domain.options.refusals import option_problems
from app.domain.problem import Problem
from app.domain.storage_plan.plan import (
    LARGEST_CHUNK_BYTES,
    MOST_READ_AHEAD_BYTES,
    READ_AHEAD_UNIT_BYTES,
    SMALLEST_CHUNK_BYTES,
    TABLE_MARGIN_BYTES,
    Group,
    InitialSync,
    StoragePlan,
)
from app.domain.text import tr
from app.domain.units import MIB, format_size

MOST_DISKS: Final = 64
MOST_OPTIONS: Final = 200
"""Per filesystem: none has so many, and each unknown one is compared with all known ones."""
_STRIPED: Final = frozenset({Level.STRIPE, Level.RAID10, Level.RAID5, Level.RAID6})
_SOUND_WHEN_ASSUMED_CLEAN: Final = frozenset({Level.MIRROR, Level.RAID10})


OptionProblems = Callable[[FormatSpec, tuple[tuple[str, OptionValue], ...], Level], tuple[Problem, ...]]


def plan_problems(plan: StoragePlan, of_options: OptionProblems = option_problems) -> tuple[Problem, ...]:
    """Return all problems of a plan, each with the field.

    Args:
        plan: the plan.
        of_options: finds those of options; users read more (`app.domain.filesystems.explained_problems`).
    """
    return tuple(_problems(plan, of_options))


def _problems(plan: StoragePlan, of_options: OptionProblems) -> Iterator[Problem]:
    yield from _disk_problems(plan)
    for role, group in plan.by_role.items():
        yield from _group_problems(role.value, group, of_options)
    pools = {spec.id for spec in FORMATS if spec.several is Assembler.ZFS}
    if plan.zfs_log and plan.data.filesystem not in pools:
        yield Problem(
            "zfs_log", tr("Only a ZFS pool has log devices, not {name}.").format(name=plan.data.filesystem)
        )


def _disk_problems(plan: StoragePlan) -> Iterator[Problem]:
    fields = {f"{role.value}.disks": group.disks for role, group in plan.by_role.items()}
    fields["zfs_log"] = plan.zfs_log
    uses = Counter(disk.key() for _, disk in plan.members())
    numbers = Counter(disk.device_number for _, disk in plan.members())
    for field, disks in fields.items():
        if len(disks) > MOST_DISKS:
            yield Problem(
                field,
                tr("{count} disks are too many.").format(count=len(disks)),
                tr("at most {count}").format(count=MOST_DISKS),
            )
        for number, disk in enumerate(disks):
            place = f"{field}[{number}]"
            if not disk.key():
                yield Problem(
                    place,
                    tr("The disk {number} has neither serial number nor WWN.").format(
                        number=disk.device_number
                    ),
                )
            elif uses[disk.key()] > 1 or numbers[disk.device_number] > 1:
                yield Problem(place, tr("The disk {key} is chosen twice.").format(key=disk.key()))


def _group_problems(name: str, group: Group, of_options: OptionProblems) -> Iterator[Problem]:
    try:
        spec = format_of(group.filesystem)
    except KeyError:
        known = ", ".join(item.id for item in FORMATS if item.levels)
        yield Problem(
            f"{name}.filesystem",
            tr("There is no filesystem {name}.").format(name=repr(group.filesystem)[:40]),
            known,
        )
        return
    if group.level not in spec.levels:
        allowed = ", ".join(spec.levels) or tr("none: it lies in memory")
        yield Problem(
            f"{name}.level",
            tr("{label} has no level {level}.").format(label=spec.label, level=group.level),
            allowed,
        )
        return
    message = layout(group.level, spec.assembler(group.level)).problem(len(group.disks))
    if message:
        yield Problem(f"{name}.disks", message)
    for problem in of_options(spec, group.options, group.level):
        yield Problem(f"{name}.options.{problem.path}", problem.message, problem.hint)
    yield from _partition_problems(name, group, spec)
    yield from _array_problems(name, group, spec.assembler(group.level))
    yield from _read_ahead_problems(name, group, spec)


def _partition_problems(name: str, group: Group, spec: FormatSpec) -> Iterator[Problem]:
    field = f"{name}.partition_bytes"
    size = group.partition_bytes
    most = min((disk.size_bytes for disk in group.disks), default=0) - 2 * TABLE_MARGIN_BYTES
    if size is None:
        if group.disks and most < spec.minimum_bytes:
            yield Problem(
                f"{name}.disks",
                tr("The smallest disk leaves {size} for {label}.").format(
                    size=format_size(most), label=spec.label
                ),
                tr("at least {size}").format(size=format_size(spec.minimum_bytes)),
            )
        return
    allowed = tr("{minimum} to {maximum}, whole MiB").format(
        minimum=format_size(spec.minimum_bytes), maximum=format_size(max(0, most))
    )
    if not spec.minimum_bytes <= size <= most or size % MIB:
        yield Problem(field, tr("{size} bytes is no size for these partitions.").format(size=size), allowed)


def _array_problems(name: str, group: Group, assembler: Assembler) -> Iterator[Problem]:
    on_md = assembler is Assembler.MD
    chunk = group.chunk_bytes
    if chunk is not None:
        if not on_md or group.level not in _STRIPED:
            yield Problem(
                f"{name}.chunk_bytes", tr("Only md arrays with stripes have a chunk."), tr("nothing")
            )
        elif not SMALLEST_CHUNK_BYTES <= chunk <= LARGEST_CHUNK_BYTES or chunk.bit_count() != 1:
            allowed = tr("a power of two from {minimum} to {maximum}").format(
                minimum=format_size(SMALLEST_CHUNK_BYTES), maximum=format_size(LARGEST_CHUNK_BYTES)
            )
            yield Problem(f"{name}.chunk_bytes", tr("{size} bytes is no chunk.").format(size=chunk), allowed)
    redundant = on_md and group.level is not Level.STRIPE
    if group.bitmap is not None and not redundant:
        yield Problem(f"{name}.bitmap", tr("Only md arrays with redundancy have a bitmap."), tr("nothing"))
    if group.initial_sync is None:
        return
    if not redundant:
        yield Problem(
            f"{name}.initial_sync", tr("Only md arrays with redundancy synchronise."), tr("nothing")
        )
    elif group.initial_sync is InitialSync.ASSUME_CLEAN and group.level not in _SOUND_WHEN_ASSUMED_CLEAN:
        yield Problem(
            f"{name}.initial_sync",
            tr("Parity of unwritten blocks would be wrong: {level} has to be synchronised.").format(
                level=group.level.label
            ),
            InitialSync.WAIT.value,
        )


def _read_ahead_problems(name: str, group: Group, spec: FormatSpec) -> Iterator[Problem]:
    size = group.read_ahead_bytes
    if size is None:
        return
    field = f"{name}.read_ahead_bytes"
    if spec.several is Assembler.ZFS:
        message = tr("{label} reads ahead by itself: the read-ahead of its disks changes nothing.")
        yield Problem(field, message.format(label=spec.label), tr("nothing"))
    elif not 0 <= size <= MOST_READ_AHEAD_BYTES or size % READ_AHEAD_UNIT_BYTES:
        allowed = tr("a multiple of {unit}, at most {maximum}").format(
            unit=format_size(READ_AHEAD_UNIT_BYTES), maximum=format_size(MOST_READ_AHEAD_BYTES)
        )
        yield Problem(field, tr("{size} bytes is no read-ahead.").format(size=size), allowed)
