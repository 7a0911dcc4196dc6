"""Configurations on spare disks on a machine: room, memory limits, marks, what the run file says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from app.analysis.labels import mark_words
from app.domain.campaign.configuration import (
    Campaign,
    Configuration,
    DiskTarget,
    FolderTarget,
    GroupChoice,
    MemoryTarget,
    PlannedRun,
    PostgresChoice,
    Workload,
    WorkloadPhase,
)
from app.domain.disk import DiskIdentity
from app.domain.errors import CampaignError, TargetError
from app.domain.options.raid import Level
from app.domain.storage_plan.plan import InitialSync, StoragePlan
from app.domain.storage_plan.reader import parse_plan
from app.domain.text import GIB
from app.execution import campaign as disturbances
from app.execution.resolve import (
    ResolvedCampaign,
    ResolvedConfiguration,
    _check_backups,
    _check_cache,
    _check_pages,
    _TargetChecks,
    _unsafe,
    _with_room,
    _within_limits,
    chosen_server_options,
)
from app.execution.run_description import describe_run, marks_before
from app.hosts.folders.targets import CheckedTarget
from app.postgres.installations.installation import Installation
from app.postgres.pgbench.scale import ScaleChoice
from app.postgres.settings import Machine, server_settings
from app.probes.preflight.checks import PreflightRequest
from app.process.starter import current_account
from app.runfile.metadata.typed_json import NotKnown, values_of
from app.storage.layout.disk_target import storage_plan
from tests.unit.storage.test_disk_target import machine

MACHINE = Machine(64 * GIB, None, 8)
ONE = GroupChoice(("SERIAL1",), Level.SINGLE, "ext4")
PAIR = GroupChoice(("SERIAL1", "SERIAL2"), Level.MIRROR, "ext4")


def configuration(target: DiskTarget | MemoryTarget, name: str = "a") -> Configuration:
    return Configuration(name, target)


def resolved(target: DiskTarget, plan: StoragePlan | None = None) -> ResolvedConfiguration:
    plan = plan or storage_plan(target, machine(1 << 40, 1 << 40), GIB)
    checked = CheckedTarget("", ", ".join(target.names), 100 * GIB, plan=plan)
    installation = Installation("/usr/lib/postgresql/15/bin", "15.1", 15, block_size=8192)
    return ResolvedConfiguration(
        configuration(target), checked, installation, (), ScaleChoice(1, GIB, ""), 1, GIB, ()
    )


def test_smallest_memory_limit_for_all() -> None:
    limited = [DiskTarget(ONE, memory_limit_bytes=size * GIB) for size in (8, 4)]
    parts = (configuration(MemoryTarget()), *map(configuration, limited))
    campaign = Campaign("x", parts)
    assert _within_limits(MACHINE, campaign).usable_ram_bytes == 4 * GIB
    assert _within_limits(replace(MACHINE, memory_limit_bytes=GIB), campaign).usable_ram_bytes == GIB
    assert _within_limits(MACHINE, Campaign("x", (configuration(DiskTarget(ONE)),))) == MACHINE
    more = Campaign("x", (configuration(DiskTarget(ONE, memory_limit_bytes=100 * GIB)),))
    assert _within_limits(MACHINE, more).usable_ram_bytes == 64 * GIB


@pytest.mark.parametrize(("value", "words"), [(4 * GIB, ""), (4 * GIB + 1, str(4 * GIB)), (0, str(4 * GIB))])
def test_zfs_memory_limit_needs_smaller_arc(tmp_path: Path, value: int, words: str) -> None:
    parameter = tmp_path / "sys/module/zfs/parameters/zfs_arc_max"
    parameter.parent.mkdir(parents=True)
    parameter.write_text(f"{value}\n")
    target = DiskTarget(replace(ONE, filesystem="zfs"), memory_limit_bytes=4 * GIB)
    if not words:
        _check_cache(configuration(target), tmp_path)
        return
    with pytest.raises(TargetError) as caught:
        _check_cache(configuration(target), tmp_path)
    assert words in caught.value.hint


def test_unknown_arc_refuses_limit_on_zfs(tmp_path: Path) -> None:
    absent = tmp_path / "none"
    limited = DiskTarget(ONE, memory_limit_bytes=4 * GIB)
    _check_cache(configuration(limited), absent)
    _check_cache(configuration(DiskTarget(replace(ONE, filesystem="zfs"))), absent)
    with pytest.raises(TargetError):
        _check_cache(configuration(replace(limited, wal=replace(ONE, filesystem="zfs"))), absent)


def test_disks_too_small_for_data_and_wal() -> None:
    target = DiskTarget(ONE)
    checked = resolved(target).target
    part = configuration(target)
    assert _with_room(checked, part, _TargetChecks(current_account()), 100 * GIB) is checked
    with pytest.raises(TargetError, match="100 GiB free; the run needs 101 GiB"):
        _with_room(checked, part, _TargetChecks(current_account()), 101 * GIB)


def test_run_marked_for_safety_tradeoffs() -> None:
    risky = replace(ONE, options=(("barrier", False),))
    marks = marks_before(resolved(DiskTarget(risky, memory_limit_bytes=4 * GIB)))
    assert [kind for kind, _ in marks] == ["unsafe", "memory-limited"]
    assert marks[0][1].startswith("barrier = false: ")
    assert "4 GiB" in marks[1][1]
    assert marks_before(resolved(DiskTarget(ONE))) == []


def test_unreadable_choices_noted_in_run() -> None:
    chosen = replace(ONE, options=(("reserved_percent", 1), ("mkfs_discard", False), ("atime", "noatime")))
    marks = [words for kind, words in marks_before(resolved(DiskTarget(chosen))) if kind == "not-read-back"]
    assert [words.partition(" cannot be verified (")[0] for words in marks] == [
        "reserved_percent = 1",
        "mkfs_discard = false",
    ]
    mirror = replace(
        ONE, disks=("SERIAL1", "SERIAL2"), level=Level.MIRROR, initial_sync=InitialSync.ASSUME_CLEAN
    )
    marks = [words for kind, words in marks_before(resolved(DiskTarget(mirror))) if kind == "not-read-back"]
    assert [words.partition(" cannot")[0] for words in marks] == ["initial_sync = assume-clean"]
    assert mark_words("not-read-back") == "not verified"


def test_loop_device_run_marked() -> None:
    loop = DiskIdentity("file-1", None, "Loop device", 1 << 40, "7:3", 5)
    target = DiskTarget(ONE)
    plan = storage_plan(target, machine(1 << 40), GIB)
    on_loop = replace(plan, data=replace(plan.data, disks=(loop,)))
    assert [kind for kind, _ in marks_before(resolved(target, on_loop))] == ["test-devices"]


def test_run_file_holds_plan_and_level() -> None:
    one = resolved(DiskTarget(PAIR))
    described = describe_run(PlannedRun(1, one.configuration, 0, 1), one, one.setup).target
    assert (described.kind, described.raid, described.filesystem) == ("disks", "mirror", "ext4")
    assert described.path == "SERIAL1, SERIAL2"
    assert described.plan == one.target.plan
    written = values_of(described)["plan"]
    assert parse_plan(written) == one.target.plan


def with_settings(
    target: DiskTarget, *own: tuple[str, str], preset: str = "defaults", page_bytes: int = 8192
) -> ResolvedConfiguration:
    """Return a configuration as `resolve_campaign` makes it, as far as settings go."""
    item = Configuration("a", target, PostgresChoice(preset=preset, settings=own))
    options = chosen_server_options(item)
    settings = server_settings(item.postgresql, MACHINE, item.workload, filesystem=options)
    base = resolved(target)
    base = replace(base, installation=replace(base.installation, block_size=page_bytes))
    return replace(
        base,
        configuration=item,
        settings=settings,
        unsafe=_unsafe(item, settings, page_bytes),
        server_options=options,
    )


ZFS = replace(ONE, filesystem="zfs", preset="recommended")


def test_zfs_safe_options_are_not_marked() -> None:
    for one in (
        with_settings(DiskTarget(ZFS)),
        with_settings(DiskTarget(replace(ZFS, preset="defaults")), ("full_page_writes", "off")),
        with_settings(DiskTarget(replace(ZFS, preset="defaults")), preset="seeds-zfs"),
    ):
        assert {each.name: each.value for each in one.settings}["full_page_writes"] == "off"
        assert marks_before(one) == []
    coarse = with_settings(DiskTarget(replace(ZFS, preset="2022-tuned")), page_bytes=16384)
    assert "recordsize = 8192" in {words.partition(":")[0] for _, words in marks_before(coarse)}
    fine = with_settings(
        DiskTarget(replace(ZFS, options=(("recordsize", 4096),))),
        ("full_page_writes", "off"),
        page_bytes=4096,
    )
    assert marks_before(fine) == [], "records of a page of 4 kB"
    small = replace(ZFS, preset="defaults", options=(("recordsize", 4096),))
    for target, name in ((small, "full_page_writes"), (ONE, "full_page_writes"), (ZFS, "fsync")):
        marks = marks_before(with_settings(DiskTarget(target), (name, "off")))
        assert any(kind == "unsafe" and words.startswith(f"{name} = off: ") for kind, words in marks)
    btrfs = replace(ONE, filesystem="btrfs", options=(("full_page_writes", False),))
    (mark,) = marks_before(with_settings(DiskTarget(btrfs)))
    assert mark[1].startswith("full_page_writes = false: "), "told once, as the option that it is"


@pytest.mark.parametrize(
    ("page_bytes", "record_bytes", "refused"),
    [(4096, 4096, False), (4096, 2048, True), (8192, 4096, True), (16384, 8192, True), (32768, 32768, False)],
)
def test_full_page_writes_off_with_page_records(page_bytes: int, record_bytes: int, *, refused: bool) -> None:
    options = (("recordsize", record_bytes), ("full_page_writes", False))
    item = configuration(DiskTarget(replace(ONE, filesystem="zfs", options=options)))
    installation = Installation("/opt/pg/bin", "15.1", 15, block_size=page_bytes)
    if not refused:
        _check_pages(item, installation)
        return
    with pytest.raises(CampaignError, match=f"is {page_bytes // 1024} KiB") as caught:
        _check_pages(item, installation)
    assert caught.value.field == "target.disks.options.full_page_writes"


@pytest.mark.parametrize(
    ("major", "apart", "refused"), [(14, True, True), (15, True, False), (14, False, False)]
)
def test_tablespace_backup_unsupported_refused_early(
    tmp_path: Path, major: int, *, apart: bool, refused: bool
) -> None:
    program = tmp_path / "pg_basebackup"
    program.touch(0o755)
    workload = Workload(phases=(WorkloadPhase("beside", background="pg_basebackup"),))
    target = DiskTarget(ONE, tables=replace(ONE, disks=("sdx",))) if apart else DiskTarget(ONE)
    item = replace(configuration(target), workload=workload)
    installation = Installation(str(tmp_path), f"{major}.9", major)
    if not refused:
        _check_backups(item, installation)
        return
    with pytest.raises(CampaignError, match=r"PostgreSQL 15 or newer, not 14\.9") as caught:
        _check_backups(item, installation)
    assert caught.value.field == "workload.phase"


def test_newer_server_than_tested_marked() -> None:
    one = resolved(DiskTarget(ONE))
    newer = replace(one, installation=replace(one.installation, version="19rc1", major=19))
    ((kind, words),) = marks_before(newer)
    assert kind == "newer-than-tested"
    assert "19rc1" in words
    assert mark_words(kind) == "newer than tested"


def test_run_states_applied_server_options() -> None:
    one = with_settings(DiskTarget(ZFS, wal=replace(ONE, disks=("SERIAL2",))), ("full_page_writes", "on"))
    metadata = describe_run(PlannedRun(1, one.configuration, 0, 1), one, one.setup).target.server_options
    assert not isinstance(metadata, NotKnown)
    assert [(each.setting, each.value, each.fate) for each in metadata] == [
        ("full_page_writes", "off", "overruled"),
        ("wal_init_zero", "off", "elsewhere"),
        ("wal_recycle", "off", "elsewhere"),
    ]
    plain = resolved(DiskTarget(ONE))
    without = describe_run(PlannedRun(1, plain.configuration, 0, 1), plain, plain.setup)
    assert "server_options" not in str(values_of(without))


def test_unfollowed_preset_advice_before_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disturbances, "run_preflight", lambda _questions: ())
    one = with_settings(DiskTarget(ZFS), ("wal_recycle", "on"))
    campaign = ResolvedCampaign(Campaign("x", (one.configuration,)), MACHINE, {"a": one})
    (finding,) = disturbances.find_disturbances(campaign, None)
    assert finding.severity is disturbances.Severity.NOTE
    assert finding.message == (
        "a: wal_recycle = off, recommended for ZFS, is not applied: your own setting is on."
    )


def test_machine_watched_once_per_place(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[PreflightRequest] = []

    def watch(questions: PreflightRequest) -> tuple[disturbances.PreflightFinding, ...]:
        asked.append(questions)
        return ()

    monkeypatch.setattr(disturbances, "run_preflight", watch)
    base = resolved(DiskTarget(ONE))

    def at(path: str, target: FolderTarget | MemoryTarget) -> ResolvedConfiguration:
        item = Configuration(path, target)
        return replace(base, configuration=item, target=CheckedTarget(path, path, GIB))

    configurations = {
        "a": at("/one", FolderTarget("/one")),
        "b": at("/one", FolderTarget("/one")),
        "c": at("/two", FolderTarget("/two")),
        "d": at("/dev/shm", MemoryTarget()),
        "e": replace(at("/dev/shm", MemoryTarget()), need_bytes=2 * GIB),
    }
    campaign = Campaign("x", tuple(each.configuration for each in configurations.values()))
    disturbances.find_disturbances(ResolvedCampaign(campaign, MACHINE, configurations), "/library")
    assert [(each.folder, each.needed_bytes) for each in asked] == [
        ("/one", 0),
        ("/two", 0),
        ("/dev/shm", GIB),
        ("/dev/shm", 2 * GIB),
    ]
