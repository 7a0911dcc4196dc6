"""Metadata of a run file: configuration, target, installation, marks. Pure."""

from __future__ import annotations

from dataclasses import fields, replace
from enum import StrEnum
from typing import Any, Final

from app.campaign_file.fields import PHASES
from app.domain.campaign.configuration import (
    Configuration,
    DiskTarget,
    FolderTarget,
    MemoryTarget,
    PlannedRun,
    ServerTarget,
    Target,
    Workload,
)
from app.domain.campaign.disk_target import NOT_READ_BACK, plan_of_target, unsafe_choices, unseen_choices
from app.domain.campaign.phases import own_workload
from app.domain.disk import DiskIdentity
from app.domain.options.raid import Level
from app.domain.storage_plan.plan import StoragePlan
from app.domain.text import format_size, tr
from app.execution.resolve import ResolvedConfiguration
from app.hosts.server_under_test import ServerSetup
from app.postgres.installations.installation import newer_than_tested
from app.postgres.settings import Origin, Setting
from app.runfile.metadata.run_metadata import (
    EXISTING_SERVER,
    InstallationMetadata,
    PostgresqlMetadata,
    RunMetadata,
    ScriptMetadata,
    ServerOptionMetadata,
    TargetMetadata,
    WorkloadMetadata,
)
from app.runfile.metadata.safety import FULL_PAGE_WRITES
from app.runfile.metadata.typed_json import NOT_KNOWN
from app.storage.layout.disk_target import is_test_device

TEST_DEVICES = "test-devices"


def describe_run(
    planned: PlannedRun, resolved: ResolvedConfiguration, setup: ServerSetup | None
) -> RunMetadata:
    """Return the metadata that follow from the plan; without installation and settings if `setup` is None."""
    configuration = planned.configuration
    metadata = RunMetadata(
        configuration=configuration.name,
        number=planned.number,
        repeat=planned.repeat,
        attempt=planned.attempt,
        seed=planned.seed,
        target=_describe_target(resolved),
        scale=resolved.scale.scale,
        data_bytes=resolved.scale.data_bytes,
        workload=replace(describe_whole_workload(configuration.workload), threads=resolved.threads),
    )
    if setup is None:
        if isinstance(
            configuration.target, ServerTarget
        ):  # of pgFooting's database alone; no others were set
            return replace(metadata, settings=_of_user(configuration.postgresql.settings))
        return metadata
    installation = setup.installation
    return replace(
        metadata,
        installation=InstallationMetadata(
            version=installation.version,
            folder=installation.bin_directory,
            origin=installation.origin,
            configure=installation.configure,
            block_size=installation.block_size,
        ),
        postgresql=PostgresqlMetadata(preset=setup.preset, checksums=setup.checksums),
        settings=setup.settings,
    )


def describe_configuration(configuration: Configuration) -> RunMetadata:
    """Return a configuration's metadata as stated, before it is resolved on a machine."""
    target, chosen, workload = configuration.target, configuration.postgresql, configuration.workload
    plan = _stated_plan(target) if isinstance(target, DiskTarget) else None
    described = describe_target(target, plan)
    if isinstance(target, FolderTarget):
        described = replace(described, path=target.path or tr("default folder"))
    return RunMetadata(
        configuration=configuration.name,
        target=described,
        workload=describe_whole_workload(workload),
        scale=workload.scale,
        installation=InstallationMetadata(folder=chosen.installation),
        postgresql=PostgresqlMetadata(preset=chosen.preset, checksums=chosen.checksums),
        settings=_of_user(chosen.settings),
    )


def _of_user(settings: tuple[tuple[str, str], ...]) -> tuple[Setting, ...]:
    return tuple(Setting(name, value, origin=Origin.USER) for name, value in settings)


def _stated_plan(target: DiskTarget) -> StoragePlan:
    """Return the plan of a target with disks that were not looked up; 0 bytes: as many as the data needs."""
    return plan_of_target(
        target,
        lambda name: DiskIdentity(name, None, "", 0, ""),
        lambda group, _: None if group.whole_disk else group.partition_bytes or 0,
    )


def _describe_target(resolved: ResolvedConfiguration) -> TargetMetadata:
    target, plan = resolved.configuration.target, resolved.target.plan
    options = tuple(
        ServerOptionMetadata(
            key=each.key, setting=each.name, value=each.text, fate=each.fate.value, note=each.note
        )
        for each in resolved.server_options
    )
    found = replace(
        describe_target(target, plan), path=resolved.target.path if plan is None else resolved.target.given
    )
    return replace(found, server_options=options) if options else found


def describe_target(target: Target, plan: StoragePlan | None) -> TargetMetadata:
    """Return a target's metadata, without those that depend on the machine.

    Args:
        target: as stated in the campaign.
        plan: of the storage; None if none is created.
    """
    if isinstance(target, DiskTarget) and plan is not None:
        level = plan.data.level
        return TargetMetadata(
            kind=target.kind,
            raid=None if level is Level.SINGLE else level.value,
            filesystem=plan.data.filesystem,
            plan=plan,
            preset=target.data.preset,
            wal_preset=target.wal.preset if target.wal else None,
            memory_limit_bytes=target.memory_limit_bytes,
        )
    found = TargetMetadata(kind=target.kind, raid=None, plan=None, memory_limit_bytes=None)
    if isinstance(target, ServerTarget):
        return replace(found, path="")
    if isinstance(target, FolderTarget):
        return replace(found, given=target.path)
    return replace(found, size_bytes=target.size_bytes) if isinstance(target, MemoryTarget) else found


def describe_workload(workload: Workload) -> WorkloadMetadata:
    """Return the metadata of pgbench's workload, without those that depend on the machine."""
    names = {each.name for each in fields(WorkloadMetadata)} & {each.name for each in fields(Workload)}
    stated: dict[str, Any] = {name: getattr(workload, name) for name in names - {"scripts", "phases"}}
    words = {name: value.value for name, value in stated.items() if isinstance(value, StrEnum)}
    metadata = WorkloadMetadata(**(stated | words))
    return replace(
        metadata,
        label=workload.label,
        scripts=tuple(
            ScriptMetadata(label=each.label, weight=each.weight, path=each.path, text=each.text)
            for each in workload.scripts
        ),
        threads=NOT_KNOWN if workload.threads is None else workload.threads,
        size=None if workload.size is None else str(workload.size),
    )


def describe_whole_workload(workload: Workload) -> WorkloadMetadata:
    """Return the metadata of the phase that gives the run's figures, and the list of phases."""
    metadata = describe_workload(own_workload(workload))
    return replace(metadata, phases=PHASES.words(workload.phases)) if workload.phases else metadata


UNVERIFIED: Final = tr("{what} cannot be verified ({reason})")


def _storage_marks(resolved: ResolvedConfiguration) -> list[tuple[str, str]]:
    """Return the labels of storage that is created for a run."""
    target, plan = resolved.configuration.target, resolved.target.plan
    if not isinstance(target, DiskTarget) or plan is None:
        return []
    marks = [
        ("unsafe", f"{name} = {value}: {reason}")
        for name, value, reason in unsafe_choices(target, resolved.installation.page_bytes)
    ]
    marks += [
        (NOT_READ_BACK, UNVERIFIED.format(what=f"{name} = {value}", reason=reason))
        for name, value, reason in unseen_choices(target)
    ]
    if target.memory_limit_bytes is not None:
        reason = tr("PostgreSQL, pgbench and their page cache were limited to {size} of memory together")
        marks.append(("memory-limited", reason.format(size=format_size(target.memory_limit_bytes))))
    if any(is_test_device(disk) for _, disk in plan.members()):
        marks.append((TEST_DEVICES, tr("loop devices: the figures are those of files on another disk")))
    return marks


def marks_before(resolved: ResolvedConfiguration) -> list[tuple[str, str]]:
    """Return the (kind, reason) labels that are known before the run."""
    marks = [
        ("unsafe", f"{name} = {value}: {reason}")
        for name, value, reason in resolved.unsafe
        if name != FULL_PAGE_WRITES or resolved.target.plan is not None  # for folders the run file decides
    ]
    marks += _storage_marks(resolved)
    target = resolved.configuration.target
    if isinstance(target, ServerTarget):
        sentence = tr("existing server: its disks, filesystem, caches and CPUs are unknown")
        asked = tr(
            "existing server: disks, filesystem and CPUs as its machine reports them over ssh (its caches "
            "are unknown)"
        )
        marks.append((EXISTING_SERVER, asked if target.ssh else sentence))
    newer = newer_than_tested(resolved.installation.version, resolved.installation.major)
    if newer:
        marks.append(("newer-than-tested", newer))
    if resolved.scale.is_contended:
        marks.append(
            (
                "contended",
                tr("scale factor lower than number of clients: they wait for each other's row locks"),
            )
        )
    return marks
