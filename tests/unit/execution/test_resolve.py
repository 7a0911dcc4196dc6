from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace

import pytest

from app.domain.campaign.configuration import (
    Caches,
    Campaign,
    Configuration,
    MemoryTarget,
    PostgresChoice,
    Workload,
)
from app.domain.errors import CampaignError, InstallationError, TargetError
from app.domain.text import GIB
from app.execution import resolve
from app.execution.resolve import planned_seconds, resolve_campaign
from app.hosts.folders.targets import CheckedTarget
from app.postgres.presets import PRESETS
from app.postgres.settings import read_machine
from app.probes.base.backing_devices import Mount
from app.process.starter import Account, CommandOutcome, current_account

SMALL = Workload(scale=1, size=None, clients=2, duration_s=60, warmup_s=10)
CHOICE = PostgresChoice(preset="defaults", settings=(("shared_buffers", "32MB"),))


def campaign(*configurations: Configuration) -> Campaign:
    return Campaign("Trial", configurations, repeats=2)


def configuration(name: str, workload: Workload = SMALL, choice: PostgresChoice = CHOICE) -> Configuration:
    return Configuration(name, MemoryTarget(), choice, workload)


def nothing(_outcome: CommandOutcome) -> None:
    pass


def test_planned_time_counts_warm_up_and_measurement() -> None:
    both = campaign(configuration("a"), configuration("b", replace(SMALL, duration_s=5, warmup_s=0)))
    assert planned_seconds(both, ["a", "b", "a"]) == 145


def test_transaction_count_has_unknown_duration() -> None:
    open_end = replace(SMALL, duration_s=None, transactions=1000)
    assert planned_seconds(campaign(configuration("a", open_end)), ["a"]) is None


def test_missing_installation_refused() -> None:
    missing = replace(CHOICE, installation="/nonexistent")
    with pytest.raises(InstallationError, match="/nonexistent"):
        resolve_campaign(campaign(configuration("a", choice=missing)), current_account(), nothing)


@pytest.mark.postgres
def test_target_too_small_refused_before_writing(database_account: Account) -> None:
    huge = replace(SMALL, scale=50_000_000)
    with pytest.raises(TargetError, match="memory"):
        resolve_campaign(campaign(configuration("a", huge)), database_account, nothing)


@pytest.mark.postgres
def test_clients_above_max_connections_refused(database_account: Account) -> None:
    few = replace(CHOICE, settings=(("max_connections", "10"),))
    with pytest.raises(CampaignError, match="max_connections"):
        resolve_campaign(
            campaign(configuration("a", replace(SMALL, clients=50), few)), database_account, nothing
        )


@pytest.mark.parametrize(("limit", "is_refused"), [(300, True), (512, False), (-1, False)])
def test_f19_hard_limit(monkeypatch: pytest.MonkeyPatch, limit: int, *, is_refused: bool) -> None:
    monkeypatch.setattr("resource.getrlimit", lambda _which: (256, limit))
    item = configuration("a", replace(SMALL, clients=300, threads=4))
    with pytest.raises(CampaignError, match="320 open files") if is_refused else nullcontext():
        resolve._check_open_files(item, read_machine())


@pytest.mark.postgres
def test_same_settings_for_all_scales(database_account: Account) -> None:
    choice = PostgresChoice(preset="machine", settings=(("shared_buffers", "32MB"),))
    resolved = resolve_campaign(
        campaign(configuration("a", choice=choice), configuration("b", replace(SMALL, scale=20), choice)),
        database_account,
        nothing,
    ).configurations
    assert resolved["a"].settings == resolved["b"].settings
    assert resolved["a"].scale.data_bytes < resolved["b"].scale.data_bytes < GIB
    assert resolved["a"].need_bytes < resolved["b"].need_bytes


@pytest.mark.postgres
@pytest.mark.parametrize("preset", PRESETS)
def test_memory_limit_has_room_for_presets(database_account: Account, preset: str) -> None:
    choice = PostgresChoice(preset=preset, settings=(("shared_buffers", "32MB"),))
    limited = replace(configuration("a", choice=choice), target=MemoryTarget(size_bytes=2 * GIB))
    resolved = resolve_campaign(campaign(limited), database_account, nothing).configurations["a"]
    assert resolved.target.free_bytes >= resolved.target.room_bytes == 2 * GIB
    assert resolved.need_bytes <= 2 * GIB


@pytest.mark.parametrize(
    ("filesystem", "words"),
    [
        ("tmpfs", r"a: /srv is in memory \(tmpfs\), where data is always cached"),
        ("zfs", "a: /srv is on ZFS, whose own cache only root can shrink"),
    ],
)
def test_cold_caches_refused_where_not_evictable(
    monkeypatch: pytest.MonkeyPatch, filesystem: str, words: str
) -> None:
    def lies_on(name: str) -> None:
        mount = Mount(1, "0:1", "/", "/srv", (), name, "x", ())
        monkeypatch.setattr(resolve, "mount_of", lambda _path: mount)

    folder = CheckedTarget("/srv", "/srv", GIB)
    warm = configuration("a", replace(SMALL, warmup_s=0))
    cold = replace(warm, workload=replace(warm.workload, caches=Caches.COLD))
    lies_on(filesystem)
    resolve._check_cold(warm, folder)
    with pytest.raises(TargetError, match=words):
        resolve._check_cold(cold, folder)
    lies_on("ext4")
    resolve._check_cold(cold, folder)
