"""A campaign held against this machine: installation, settings, scale and space, checked before the start.

Nothing is written here. What cannot work is an error now, with the field of the campaign to change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.configuration import Campaign, Configuration
from app.hosts.targets import CheckedTarget, check_target
from app.postgres.installation import Installation
from app.postgres.installations import choose_installation, find_installations
from app.postgres.known_settings import check_settings
from app.postgres.machine import Machine, read_machine
from app.postgres.pgbench_argv import resolve_threads
from app.postgres.scale import ScaleChoice, resolve_scale
from app.postgres.settings import Setting, bytes_needed, server_settings, unsafe_settings
from app.process import Account, Recorder


@dataclass(frozen=True, slots=True)
class ResolvedConfiguration:
    """A configuration with everything decided that depends on this machine.

    Attributes:
        configuration: as the campaign states it.
        target: where the data directory will lie, checked.
        installation: whose programs run.
        settings: of the server, complete.
        scale: of the data set.
        threads: of pgbench.
        need_bytes: free space that the target should have.
        unsafe: (setting, value, what it risks) of settings that trade safety away.
    """

    configuration: Configuration
    target: CheckedTarget
    installation: Installation
    settings: tuple[Setting, ...]
    scale: ScaleChoice
    threads: int
    need_bytes: int
    unsafe: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class ResolvedCampaign:
    """A campaign that can be run on this machine.

    Attributes:
        campaign: as stated.
        machine: memory and CPUs that the decisions came from.
        configurations: by the configuration's name.
    """

    campaign: Campaign
    machine: Machine
    configurations: dict[str, ResolvedConfiguration]


def _installations(campaign: Campaign, account: Account, record: Recorder) -> dict[str, Installation]:
    choices = {item.postgresql.installation for item in campaign.configurations}
    folders = sorted(choice for choice in choices if choice.startswith("/"))
    found = find_installations(account, folders, record=record)
    return {choice: choose_installation(choice, found) for choice in choices}


def resolve_campaign(campaign: Campaign, account: Account, record: Recorder) -> ResolvedCampaign:
    """Decide and check everything about a campaign.

    All configurations get settings that fit the smallest target, because a difference in max_wal_size
    would be measured as a difference of the targets.

    Raises:
        InstallationError: no PostgreSQL that can be used.
        CampaignError: a value that this machine cannot serve.
        SettingError: a setting that this server does not take.
        TargetError: a target that cannot hold the data; names what is wrong with it.
    """
    machine = read_machine()
    installations = _installations(campaign, account, record)
    scales = {
        item.name: resolve_scale(item.workload, machine.usable_ram_bytes) for item in campaign.configurations
    }
    # The data alone must fit; with the settings known, data and WAL are checked below.
    targets = {
        item.name: check_target(item.target, account, scales[item.name].data_bytes)
        for item in campaign.configurations
    }
    smallest_bytes = min(target.free_bytes for target in targets.values())
    resolved: dict[str, ResolvedConfiguration] = {}
    checked: set[tuple[str, tuple[Setting, ...]]] = set()
    for item in campaign.configurations:
        installation = installations[item.postgresql.installation]
        scale = scales[item.name]
        settings = server_settings(
            item.postgresql,
            machine,
            item.workload,
            target_free_bytes=smallest_bytes,
            data_bytes=max(choice.data_bytes for choice in scales.values()),
        )
        if (installation.bin_directory, settings) not in checked:
            check_settings(settings, installation, account, record)
            checked.add((installation.bin_directory, settings))
        need_bytes = bytes_needed(scale.data_bytes, settings)
        target = check_target(item.target, account, need_bytes)
        threads = resolve_threads(item.workload, machine.cpus)
        unsafe = unsafe_settings([(setting.name, setting.value) for setting in settings])
        resolved[item.name] = ResolvedConfiguration(
            item, target, installation, settings, scale, threads, need_bytes, unsafe
        )
    return ResolvedCampaign(campaign, machine, resolved)


def planned_seconds(campaign: Campaign, names: Sequence[str]) -> float | None:
    """Return seconds of warm-up and measurement of the runs of these configurations; None where open."""
    total = 0.0
    for item in campaign.configurations:
        if item.workload.duration_s is None:
            return None
        total += names.count(item.name) * (item.workload.duration_s + item.workload.warmup_s)
    return total
