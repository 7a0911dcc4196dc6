"""What a run file says about itself: configuration, target, installation, marks. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import cast

from app.domain.configuration import DiskTarget, FolderTarget, PlannedRun
from app.domain.disk_target import unsafe_choices
from app.domain.plan import StoragePlan, plan_as_mapping
from app.domain.raid import Level
from app.domain.text import tr
from app.domain.units import format_size
from app.probes.processes import CLIENT_BOUND_SHARE
from app.runs.plan import ResolvedConfiguration
from app.runs.runfile import Json
from app.storage.disk_target import is_test_device

TEST_DEVICES = "test-devices"
RAM_DISKS = frozenset({"tmpfs", "ramfs"})


def describe_configuration(planned: PlannedRun, resolved: ResolvedConfiguration) -> dict[str, Json]:
    """Return the keys of table `run` that follow from the plan."""
    configuration = planned.configuration
    workload = configuration.workload
    path = resolved.target.given if resolved.target.plan is not None else resolved.target.path
    target: dict[str, Json] = {"kind": configuration.target.kind, "path": path, "raid": None}
    if isinstance(configuration.target, FolderTarget):
        target["given"] = configuration.target.path
    if resolved.target.plan is not None:
        target |= describe_storage(resolved.target.plan)
    if resolved.server_options:
        target["server_options"] = [
            {
                "key": option.key,
                "setting": option.name,
                "value": option.text,
                "fate": option.fate.value,
                "note": option.note,
            }
            for option in resolved.server_options
        ]
    return {
        "configuration": configuration.name,
        "number": planned.number,
        "repeat": planned.repeat,
        "seed": planned.seed,
        "target": target,
        "scale": resolved.scale.scale,
        "data_bytes": resolved.scale.data_bytes,
        "workload": {
            "label": workload.label,
            "scripts": [
                {"label": script.label, "weight": script.weight, "path": script.path, "text": script.text}
                for script in workload.scripts
            ],
            "clients": workload.clients,
            "threads": resolved.threads,
            "duration_s": workload.duration_s,
            "transactions": workload.transactions,
            "warmup_s": workload.warmup_s,
            "protocol": workload.protocol.value,
            "rate_tps": workload.rate_tps,
            "latency_limit_ms": workload.latency_limit_ms,
            "size": str(workload.size) if workload.size is not None else None,
        },
        "installation": {
            "version": resolved.installation.version,
            "folder": resolved.installation.bin_directory,
            "origin": resolved.installation.origin,
            "configure": resolved.installation.configure,
            "block_size": resolved.installation.block_size,
        },
        "postgresql": {
            "preset": configuration.postgresql.preset,
            "checksums": configuration.postgresql.checksums,
        },
        "settings": [cast("Json", asdict(setting)) for setting in resolved.settings],
    }


def describe_storage(plan: StoragePlan) -> dict[str, Json]:
    """Return what a run file says about storage that was made for it; the plan holds disks and options."""
    level = plan.data.level
    return {
        "raid": None if level is Level.SINGLE else level.value,
        "filesystem": plan.data.filesystem,
        "plan": cast("Json", plan_as_mapping(plan)),
    }


def _storage_marks(resolved: ResolvedConfiguration) -> list[tuple[str, str]]:
    """Return the labels of storage that was made for a run."""
    target, plan = resolved.configuration.target, resolved.target.plan
    if not isinstance(target, DiskTarget) or plan is None:
        return []
    marks = [
        ("unsafe", tr("{name} = {value}: {reason}").format(name=name, value=value, reason=reason))
        for name, value, reason in unsafe_choices(target)
    ]
    if target.memory_limit_bytes is not None:
        reason = tr("PostgreSQL, pgbench and the page cache for them had {size} of memory together")
        marks.append(("memory-limited", reason.format(size=format_size(target.memory_limit_bytes))))
    if any(is_test_device(disk) for _, disk in plan.members()):
        marks.append((TEST_DEVICES, tr("loop devices: the figures are those of files on another disk")))
    return marks


def marks_before(resolved: ResolvedConfiguration) -> list[tuple[str, str]]:
    """Return the (kind, reason) labels that are known before the run."""
    marks = [
        ("unsafe", tr("{name} = {value}: {reason}").format(name=name, value=value, reason=reason))
        for name, value, reason in resolved.unsafe
    ]
    marks += _storage_marks(resolved)
    if resolved.scale.is_contended:
        marks.append(("contended", tr("fewer scale units than clients: they wait for each other's rows")))
    return marks


def marks_after(summary: Mapping[str, float | None]) -> list[tuple[str, str]]:
    """Return the labels that follow from the figures."""
    marks: list[tuple[str, str]] = []
    share = summary.get("pgbench_share")
    if share is not None and share >= 100 * CLIENT_BOUND_SHARE:
        reason = tr("pgbench used {share:.0f} % of the CPU its threads can use: it limited the run itself")
        marks.append(("client-bound", reason.format(share=share)))
    missed = summary.get("missed_ticks")
    if missed:
        marks.append(("missed-seconds", tr("{count:.0f} seconds have no samples").format(count=missed)))
    if summary.get("steady") == 0:
        marks.append(("not-steady", tr("the five parts of the run differ by more than 20 % or have a trend")))
    return marks
