"""A run of which everything is known, and every declared field of it changed alone; generated, not listed."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from app.domain.campaign.configuration import DiskTarget, GroupChoice, Script, Workload, WorkloadPhase
from app.domain.disk import DiskIdentity
from app.domain.filesystems import FILESYSTEMS
from app.domain.metrics import Sample
from app.domain.options.kinds import Choice, OptionValue, Toggle
from app.domain.options.option_spec import OptionSpec
from app.domain.options.raid import Level
from app.domain.run import Phase, RunState
from app.domain.storage_plan.plan import Bitmap, Group, InitialSync, Scheduler, StoragePlan
from app.domain.text import GIB, KIB, MIB
from app.execution.run_description import describe_target, describe_whole_workload, describe_workload
from app.postgres.settings import Setting
from app.runfile.finalize import finish_run_file
from app.runfile.metadata.run_metadata import InstallationMetadata, PostgresqlMetadata, RunMetadata
from app.runfile.metadata.typed_json import values_of
from app.runfile.writer import RunFileWriter
from tests.quiet_machine import write_quiet

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from app.domain.json_value import Json

DISKS: Final = tuple(
    DiskIdentity(f"SERIAL{number}", None, "MODEL", 8 * GIB, f"8:{number}") for number in range(9)
)

FACTS: Final[dict[str, Json]] = {
    "storage": {"mount": {"filesystem": "ext4", "options": ["rw", "noatime"]}},
    "processor": {"info": {"model_name": "A processor"}, "online": 2, "allowed": 2},
    "memory": {"info": {"MemTotal": 8 * GIB}},
    "kernel": {"release": "6.1.0"},
}

DATA: Final = Group(
    DISKS[:4],
    Level.RAID10,
    "ext4",
    (("block_size", 4096),),
    partition_bytes=2 * GIB,
    chunk_bytes=64 * KIB,
    bitmap=Bitmap.INTERNAL,
    initial_sync=InitialSync.WAIT,
    scheduler=Scheduler.NONE,
    read_ahead_bytes=128 * KIB,
)
WAL: Final = replace(
    DATA, disks=DISKS[4:6], level=Level.MIRROR, filesystem="xfs", options=(), chunk_bytes=None
)
PLAN: Final = StoragePlan(DATA, WAL)
TARGET: Final = DiskTarget(
    GroupChoice(("SERIAL0",), Level.SINGLE, "ext4"),
    GroupChoice(("SERIAL4",), Level.SINGLE, "xfs"),
    memory_limit_bytes=4 * GIB,
)
WORKLOAD: Final = Workload(threads=2, rate_tps=100.0, latency_limit_ms=20.0)

WHOLE: Final = RunMetadata(
    id="0123456789abcdef",
    name="whole #1",
    campaign="Trial",
    campaign_folder="/library/trial",
    configuration="whole",
    number=1,
    repeat=0,
    repeats=3,
    seed=1,
    state=RunState.DONE.value,
    started_epoch_s=1.8e9,
    program_version="1",
    target=replace(describe_target(TARGET, PLAN), path="SERIAL0"),
    workload=replace(describe_workload(WORKLOAD), threads=2),
    scale=10,
    data_bytes=150 * MIB,
    installation=InstallationMetadata(
        version="16.3",
        folder="/usr/bin",
        origin="PATH",
        configure="--with-ssl",
        block_size=8192,
        sha256="ab" * 32,
    ),
    postgresql=PostgresqlMetadata(preset="machine", checksums=True),
    settings=(Setting(name="work_mem", value="4MB", origin="user"),),
)
"""Everything that somebody chose is known."""


@dataclass(frozen=True, slots=True)
class Change:
    """One thing changed.

    Attributes:
        name: of what was changed.
        run: the whole run, changed.
        before: what it is compared with.
    """

    name: str
    run: RunMetadata
    before: RunMetadata = WHOLE


def _another(value: object) -> object:
    """Return another value of the same kind."""
    match value:
        case bool():
            return not value
        case Enum():
            return next(each for each in type(value) if each is not value)
        case int() | float():
            return 2 * value + 2
        case str():
            return f"x{value}"
        case _:
            return 1000


def _with(part: DataclassInstance, name: str, value: object) -> Any:  # noqa: ANN401 - the same class
    return dataclasses.replace(part, **{name: value})


_OTHER_WAYS: Final[dict[str, object]] = {
    "scripts": (replace(Script(), weight=2),),
    "label": "select-only",
    "disks": DISKS[1:5],
    "level": Level.RAID6,
    "filesystem": "xfs",
    "options": (("block_size", 1024),),
    "chunk_bytes": 1 * MIB,
    "wal": None,
    "tables": Group(DISKS[6:7], Level.SINGLE, "btrfs"),
    "indexes": Group(DISKS[7:8], Level.SINGLE, "ext4"),
    "zfs_log": (DISKS[8],),
    "size": None,
    "phases": (WorkloadPhase("a", times=2),),
}
"""Values that have to make sense together, by field."""


def _changed(part: DataclassInstance, name: str) -> object:
    return _OTHER_WAYS[name] if name in _OTHER_WAYS else _another(getattr(part, name))


def _plan_change(name: str, plan: StoragePlan, before: RunMetadata = WHOLE) -> Change:
    sentence = describe_target(TARGET, plan)
    return Change(name, replace(before, target=replace(sentence, path="SERIAL0")), before)


def plan_changes() -> Iterator[Change]:
    """Yield each field of the plan and of its groups."""
    for field in fields(StoragePlan):
        if field.name != "data":
            yield _plan_change(f"plan.{field.name}", _with(PLAN, field.name, _changed(PLAN, field.name)))
    for role in ("data", "wal"):
        group = getattr(PLAN, role)
        for field in fields(Group):
            if role == "wal" and field.name in {"chunk_bytes", "level", "filesystem", "options"}:
                value: object = {
                    "chunk_bytes": 64 * KIB,
                    "level": Level.STRIPE,
                    "filesystem": "ext4",
                    "options": (("block_size", 1024),),
                }[field.name]
            else:
                value = _changed(group, field.name)
            plan = _with(PLAN, role, _with(group, field.name, value))
            yield _plan_change(f"{role}.{field.name}", plan)


def _other_value(option: OptionSpec) -> OptionValue:
    """Return a value of an option that is not its default."""
    kind = option.kind
    if isinstance(kind, Toggle):
        return not option.default
    if isinstance(kind, Choice):
        return next(each for each in kind.ids if each != option.default)
    return next(each for each in (kind.minimum, kind.maximum, *kind.also) if each != option.default)


def option_changes() -> Iterator[Change]:
    """Yield each option of each filesystem, chosen and not chosen."""
    for spec in FILESYSTEMS:
        group = Group(DISKS[:1], Level.SINGLE, spec.id, partition_bytes=2 * GIB)
        before = _plan_change("", StoragePlan(group)).run
        for option in spec.options:
            plan = StoragePlan(replace(group, options=((option.id, _other_value(option)),)))
            yield _plan_change(f"{spec.id}.{option.id}", plan, before)


def part_changes() -> Iterator[Change]:
    """Yield each field of workload, installation and server, and what the target says beside its plan."""
    for field in fields(Workload):
        if field.name == "scale":
            yield Change("scale", replace(WHOLE, scale=11))
            continue
        changed = _with(WORKLOAD, field.name, _changed(WORKLOAD, field.name))
        workload = describe_whole_workload(changed)
        yield Change(f"workload.{field.name}", replace(WHOLE, workload=workload))
    for name in ("installation", "postgresql"):
        part = getattr(WHOLE, name)
        for field in fields(part):
            yield Change(
                f"{name}.{field.name}",
                _with(WHOLE, name, _with(part, field.name, _changed(part, field.name))),
            )
    for name in ("kind", "path", "raid", "preset", "wal_preset", "memory_limit_bytes", "size_bytes"):
        value = 1000 if name == "size_bytes" else _another(getattr(WHOLE.target, name))
        yield Change(f"target.{name}", replace(WHOLE, target=_with(WHOLE.target, name, value)))
    yield Change("settings", replace(WHOLE, settings=(Setting(name="work_mem", value="8MB", origin="user"),)))
    more = (
        Setting(name="work_mem", value="4MB", origin="user"),
        Setting(name="fsync", value="off"),
    )
    yield Change("a setting", replace(WHOLE, settings=more))
    yield Change("data_bytes", replace(WHOLE, data_bytes=MIB))


def all_changes() -> list[Change]:
    """Return every change."""
    return [*plan_changes(), *option_changes(), *part_changes()]


def write_two_campaigns(folder: Path) -> list[Path]:
    """Write two campaigns with a reference: ext4 in one, btrfs in another that is 10 % slower, xfs in both.

    All that was chosen is known. btrfs is 20 % slower than ext4.
    """
    closed = replace(WHOLE.workload, rate_tps=None, latency_limit_ms=None)
    paths: list[Path] = []
    speeds = {"one": {"ext4": 1000.0, "xfs": 1100.0}, "two": {"xfs": 990.0, "btrfs": 720.0}}
    for campaign, configurations in speeds.items():
        for repeat in range(3):
            for name, tps in configurations.items():
                run = replace(
                    WHOLE,
                    id=f"{len(paths):016x}",
                    name=f"{name} #{repeat + 1}",
                    configuration=name,
                    repeat=repeat,
                    campaign=campaign,
                    campaign_folder=campaign,
                    workload=closed,
                )
                facts = FACTS | {"storage": {"mount": {"filesystem": name, "options": ["rw", "noatime"]}}}
                path = folder / campaign / f"{repeat}-{name}.footing"
                path.parent.mkdir(parents=True, exist_ok=True)
                paths.append(write_known(path, run, facts, tps=tps + 2 * repeat))
    return paths


def write_known(
    path: Path, run: RunMetadata, facts: dict[str, Json] | None = None, tps: float = 101.0
) -> Path:
    """Write a finished run file that says this of its run."""
    writer = RunFileWriter(path, started_monotonic_s=0.0, is_durable=False)
    with writer.transaction():
        write_quiet(writer)
        writer.set_run(values_of(replace(run, state=RunState.RUNNING.value)))
        writer.add_facts("before", FACTS if facts is None else facts)
        writer.begin_phase(Phase.MEASURE, 0)
    for number in range(20):
        with writer.transaction():
            t_ms = 1000 * (number + 1)
            sample = (t_ms, Sample("pgbench.tps", 100.0 + number % 3))
            writer.add_tick(number, t_ms, lateness_us=0, missed=0, samples=[sample])
    with writer.transaction():
        writer.end_phase(20_000)
    writer.close()
    finish_run_file(path, RunState.DONE, {"tps": tps, "duration_s": 20.0}, [], is_durable=False)
    return path
