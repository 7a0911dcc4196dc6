"""Resolve a campaign on this machine before the start: installation, settings, scale and space.

Writes nothing. Impossible values are errors that name the campaign's field to change.
"""

from __future__ import annotations

import os
import resource
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from app.dbus.udisks import UdisksUnavailable, fetch_wear
from app.domain.campaign.configuration import (
    Caches,
    Campaign,
    Configuration,
    DiskTarget,
    ServerTarget,
    Target,
)
from app.domain.campaign.disk_target import ServerOption, refused_with, safe_without, server_options
from app.domain.campaign.phases import (
    all_scripts,
    measured_seconds,
    most_clients,
    own_workload,
    wants_backup,
    workload_of,
)
from app.domain.disk_answers import DriveWear
from app.domain.errors import CampaignError, TargetError
from app.domain.filesystems import filesystem
from app.domain.text import format_size, tr
from app.hosts.folders.folder_access import FolderFacts, Obstacle
from app.hosts.folders.targets import CheckedTarget, check_target, examine_as
from app.hosts.server_under_test import ServerSetup
from app.postgres.base_backup import PROGRAM, TARGETS_MAJOR
from app.postgres.installations.installation import Installation, choose_installation, find_installations
from app.postgres.pgbench.argv import resolve_threads
from app.postgres.pgbench.scale import ScaleChoice, resolve_scale
from app.postgres.pgbench.script_demands import wants_superuser
from app.postgres.presets import DATA_GROWTH
from app.postgres.settings import (
    Machine,
    Origin,
    Setting,
    bytes_needed,
    check_settings,
    read_machine,
    server_settings,
    unsafe_settings,
    user_settings,
)
from app.probes.base.backing_devices import mount_of
from app.process.starter import Account, Recorder
from app.storage.layout.disk_target import check_support, read_support

# Compare the limit of ZFS's cache that a campaign needs with the machine's: read, never set.
#
# zfs_arc_max is a parameter of the whole machine: it applies to every pool, does not go back to 0 while the
# module is loaded, and reducing it does not shrink the cache at once (OpenZFS, zfs(4), zfs_arc_max).


_ZFS: Final = "zfs"


def is_on_zfs(campaign: Campaign, folders: Iterable[str] = ()) -> bool:
    """Return whether any part of a campaign is on ZFS: on disks that become a pool, or in a folder.

    Args:
        campaign: with filesystems that exist.
        folders: of its other targets.
    """
    groups = (
        group.filesystem
        for each in campaign.configurations
        if isinstance(each.target, DiskTarget)
        for _, group in each.target.groups
    )
    return _ZFS in groups or any(map(_is_folder_on_zfs, filter(None, folders)))


def _is_folder_on_zfs(path: str) -> bool:
    try:
        return mount_of(path).filesystem == _ZFS
    except LookupError:
        return False


def check_arc_max(campaign: Campaign, folders: Iterable[str], root: Path = Path("/")) -> None:
    """Refuse a campaign that needs another zfs_arc_max than this machine has; no check without ZFS.

    Args:
        campaign: with its `zfs_arc_max_bytes`.
        folders: of data that is not on spare disks.
        root: of the machine's files.

    Raises:
        CampaignError: the value differs, or cannot be read; the hint has an administrator's commands.
    """
    wanted = campaign.zfs_arc_max_bytes
    if wanted is None or not is_on_zfs(campaign, folders):
        return
    parameter = root / filesystem(_ZFS).cache_limit
    there = _read(parameter)
    if there == wanted:
        return
    if there is None:
        message = tr("The campaign needs zfs_arc_max = {wanted}, but {parameter} cannot be read.")
        loading = tr("Load ZFS with: modprobe zfs")
        words = message.format(wanted=_words(wanted), parameter=parameter)
        raise CampaignError(words, field="zfs_arc_max", hint=f"{loading}\n{_commands(wanted, parameter)}")
    message = tr(
        "The campaign needs zfs_arc_max = {wanted}; this machine has {there}. pgFooting never sets this "
        "parameter, because it affects the whole machine."
    )
    sentence = message.format(wanted=_words(wanted), there=_words(there))
    raise CampaignError(sentence, field="zfs_arc_max", hint=_commands(wanted, parameter))


def _read(parameter: Path) -> int | None:
    try:
        return int(parameter.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def _words(size_bytes: int) -> str:
    if not size_bytes:
        return tr("0 (ZFS chooses)")
    return f"{size_bytes} ({format_size(size_bytes)})"


def _commands(wanted: int, parameter: Path) -> str:
    """Return root's commands, for now and for after the next start."""
    if not wanted:
        return tr(
            "It cannot return to 0 while ZFS is loaded: remove zfs_arc_max from /etc/modprobe.d and reboot."
        )
    return tr(
        "Run as root, until the next boot:\n  echo {wanted} > {parameter}\nFor later boots, in "
        "/etc/modprobe.d/zfs.conf:\n  options zfs zfs_arc_max={wanted}\nA larger cache shrinks only under "
        "memory pressure or on reboot."
    ).format(wanted=wanted, parameter=parameter)


def arc_max_sentence(campaign: Campaign, folders: Iterable[str]) -> str:
    """Return a sentence about a campaign's zfs_arc_max before its start; empty if it has none."""
    if campaign.zfs_arc_max_bytes is None:
        return ""
    if not is_on_zfs(campaign, folders):
        return tr("zfs_arc_max has no effect here: no configuration is on ZFS.")
    sentence = tr("On this machine zfs_arc_max is {wanted}, as the campaign needs it.")
    return sentence.format(wanted=_words(campaign.zfs_arc_max_bytes))


@dataclass(frozen=True, slots=True)
class ResolvedConfiguration:
    """A configuration with all decisions that depend on this machine.

    Attributes:
        configuration: as stated in the campaign.
        target: location of the data directory, checked.
        installation: provides the programs.
        settings: of the server, complete.
        scale: of the data set.
        threads: of pgbench.
        need_bytes: free space that the target should have.
        unsafe: (setting, value, its risk) of settings that trade safety away.
        server_options: the target's filesystem options that are server settings, and whether each applies.
        phase_threads: of pgbench in each phase of a workload with several, by its name; `threads` is then
            that of the phase that gives the run's figures.
    """

    configuration: Configuration
    target: CheckedTarget
    installation: Installation
    settings: tuple[Setting, ...]
    scale: ScaleChoice
    threads: int
    need_bytes: int
    unsafe: tuple[tuple[str, str, str], ...]
    server_options: tuple[ServerOption, ...] = ()
    phase_threads: Mapping[str, int] = field(default_factory=dict)

    @property
    def setup(self) -> ServerSetup:
        """Setup of a server of our own."""
        chosen = self.configuration.postgresql
        backups = wants_backup(self.configuration.workload)
        return ServerSetup(self.installation, self.settings, chosen.preset, chosen.checksums, backups)


@dataclass(frozen=True, slots=True)
class ResolvedCampaign:
    """A campaign that can run on this machine.

    Attributes:
        campaign: as stated.
        machine: memory and CPUs that the decisions are based on.
        configurations: by the configuration's name.
        wear: of the spare disks' drives that report it, by device number.
    """

    campaign: Campaign
    machine: Machine
    configurations: dict[str, ResolvedConfiguration]
    wear: Mapping[str, DriveWear] = field(default_factory=dict)


def _within_limits(machine: Machine, campaign: Campaign) -> Machine:
    """Return the machine with the smallest memory limit of any target as its own.

    "Sized for this machine" and the classes of data sets then respect it, equally for all configurations.
    """
    limits = [
        item.target.memory_limit_bytes
        for item in campaign.configurations
        if isinstance(item.target, DiskTarget) and item.target.memory_limit_bytes is not None
    ]
    if not limits:
        return machine
    own = () if machine.memory_limit_bytes is None else (machine.memory_limit_bytes,)
    return replace(machine, memory_limit_bytes=min(*limits, *own, machine.ram_bytes))


def _check_cache(item: Configuration, root: Path = Path("/")) -> None:
    """Refuse a memory limit with a filesystem that may have a larger cache, which no control group counts.

    Raises:
        TargetError: it may.
    """
    target = item.target
    if not isinstance(target, DiskTarget) or target.memory_limit_bytes is None:
        return
    specs = (filesystem(group.filesystem) for _, group in target.groups)
    for spec in specs:
        parameter = root / spec.cache_limit
        try:
            most = int(parameter.read_text()) if spec.cache_limit else 1
        except (OSError, ValueError):
            most = 0
        if 0 < most <= target.memory_limit_bytes:
            continue
        message = tr("{name}: a memory limit does not cover the cache of {label}, which may be larger.")
        hint = tr("Remove memory_limit, or have an administrator set {parameter} to at most {limit}.")
        words = hint.format(limit=target.memory_limit_bytes, parameter=parameter)
        raise TargetError(message.format(name=item.name, label=spec.label), hint=words)


def _check_storage(campaign: Campaign) -> None:
    """Check early whether this machine can create the requested storage on spare disks.

    Raises:
        PlanError: kernel or programs cannot.
        TargetError: a memory limit would have no effect.
    """
    on_disks = [item for item in campaign.configurations if isinstance(item.target, DiskTarget)]
    support = read_support() if on_disks else None
    for item in on_disks:
        if support is not None and isinstance(item.target, DiskTarget):
            check_support(item.target, support)
        _check_cache(item)


def _installations(campaign: Campaign, account: Account, record: Recorder) -> dict[str, Installation]:
    choices = {item.postgresql.installation for item in campaign.configurations}
    folders = sorted(choice for choice in choices if choice.startswith("/"))
    found = find_installations(account, folders, record=record)
    return {choice: choose_installation(choice, found) for choice in choices}


@dataclass(frozen=True, slots=True)
class _TargetChecks:
    """Checks each target once for each size: most configurations of a matrix share one.

    Attributes:
        account: server and pgbench run as it.
    """

    account: Account
    _known: dict[tuple[str, int], CheckedTarget] = field(default_factory=dict)
    _examined: dict[str, FolderFacts | Obstacle] = field(default_factory=dict)

    def check(self, target: Target, need_bytes: int) -> CheckedTarget:
        """Return the checked target.

        Raises:
            TargetError: it cannot contain the data.
        """
        asked = (repr(target), need_bytes)  # equal targets can differ in text: one may have 1, the other true
        if asked not in self._known:
            self._known[asked] = check_target(target, self.account, need_bytes, self._examine)
        return self._known[asked]

    def _examine(self, path: str, account: Account) -> FolderFacts | Obstacle:
        if path not in self._examined:
            self._examined[path] = examine_as(path, account)
        return self._examined[path]


def resolve_campaign(campaign: Campaign, account: Account, record: Recorder) -> ResolvedCampaign:
    """Decide and check everything about a campaign.

    All configurations get settings that fit the smallest target, because a difference in max_wal_size would
    be measured as a difference of the targets.

    Raises:
        InstallationError: no usable PostgreSQL.
        CampaignError: a value that this machine cannot provide.
        SettingError: a setting that this server does not accept.
        TargetError: a target that cannot contain the data; carries the reason.
    """
    _check_storage(campaign)
    machine = _within_limits(read_machine(), campaign)
    installations = _installations(campaign, account, record)
    scales = {
        item.name: resolve_scale(
            item.workload,
            machine.usable_ram_bytes,
            installations[item.postgresql.installation].page_bytes,
        )
        for item in campaign.configurations
    }
    # The data alone must fit; with the settings known, data and WAL are checked below.
    checks = _TargetChecks(account)
    targets = {
        item.name: checks.check(item.target, scales[item.name].data_bytes) for item in campaign.configurations
    }
    check_arc_max(campaign, {target.path for target in targets.values()})
    here = [item.name for item in campaign.configurations if not isinstance(item.target, ServerTarget)]
    smallest_bytes = min((targets[name].room_bytes for name in here), default=0)
    largest_bytes = max(choice.data_bytes for choice in scales.values())
    resolved: dict[str, ResolvedConfiguration] = {}
    checked: set[tuple[str, tuple[Setting, ...]]] = set()
    tried: set[tuple[Caches, str]] = set()
    for item in campaign.configurations:
        _check_open_files(item, machine)
        installation = installations[item.postgresql.installation]
        scale = scales[item.name]
        if isinstance(item.target, ServerTarget):
            resolved[item.name] = _on_server(item, targets[item.name], installation, scale, machine)
            continue
        _check_pages(item, installation)
        _check_backups(item, installation)
        options = chosen_server_options(item)
        settings = server_settings(
            item.postgresql,
            machine,
            item.workload,
            target_free_bytes=smallest_bytes,
            data_bytes=largest_bytes,
            filesystem=options,
        )
        if (installation.bin_directory, settings) not in checked:
            check_settings(settings, installation, account, record)
            checked.add((installation.bin_directory, settings))
        if (item.workload.caches, targets[item.name].path) not in tried:  # most of a matrix are the same
            _check_cold(item, targets[item.name])
            tried.add((item.workload.caches, targets[item.name].path))
        need_bytes = bytes_needed(scale.data_bytes, settings)
        target = _with_room(targets[item.name], item, checks, need_bytes)
        threads, phase_threads = _threads(item, machine)
        unsafe = _unsafe(item, settings, installation.page_bytes)
        resolved[item.name] = ResolvedConfiguration(
            item, target, installation, settings, scale, threads, need_bytes, unsafe, options, phase_threads
        )
    has_disks = any(target.plan is not None for target in targets.values())
    return ResolvedCampaign(campaign, machine, resolved, _wear() if has_disks else {})


def _threads(item: Configuration, machine: Machine) -> tuple[int, Mapping[str, int]]:
    """Return the threads of pgbench, and those of each phase by its name."""
    return resolve_threads(own_workload(item.workload), machine.cpus), {
        phase.name: resolve_threads(workload_of(item.workload, phase), machine.cpus)
        for phase in item.workload.phases
    }


def _on_server(
    item: Configuration,
    target: CheckedTarget,
    installation: Installation,
    scale: ScaleChoice,
    machine: Machine,
) -> ResolvedConfiguration:
    """Return a configuration on an existing server: only pgbench runs on this machine.

    The server itself is examined when the campaign starts (`app.execution.servers`).

    Raises:
        CampaignError: scripts need a superuser, or base backups are requested.
    """
    chosen = user_settings(item.postgresql)
    if wants_superuser(all_scripts(item.workload)):
        message = tr("The scripts need a superuser, which pgFooting never uses on an existing server.")
        raise CampaignError(f"{item.name}: {message}", field="workload.script")
    if wants_backup(item.workload):
        message = tr("pgFooting makes no base backups of an existing server.")
        raise CampaignError(f"{item.name}: {message}", field="workload.phase")
    threads, phase_threads = _threads(item, machine)
    need_bytes = round(DATA_GROWTH * scale.data_bytes)
    unsafe = unsafe_settings(chosen.items())
    return ResolvedConfiguration(
        item, target, installation, (), scale, threads, need_bytes, unsafe, phase_threads=phase_threads
    )


def _wear() -> Mapping[str, DriveWear]:
    """Return the wear of drives; empty if udisks is not available, which the plan reports."""
    try:
        return fetch_wear()
    except UdisksUnavailable:
        return {}


def chosen_server_options(item: Configuration) -> tuple[ServerOption, ...]:
    """Return the options of a configuration's filesystems that are server settings."""
    if not isinstance(item.target, DiskTarget):
        return ()
    return server_options(item.target, {name.lower(): value for name, value in item.postgresql.settings})


def _check_open_files(item: Configuration, machine: Machine) -> None:
    """Check that pgbench may open a connection for each client; its soft limit is raised at its start.

    Raises:
        CampaignError: the hard limit does not allow it.
    """
    clients = most_clients(item.workload)
    threads, phase_threads = _threads(item, machine)
    needed = clients + max(threads, *phase_threads.values(), 0) + _OTHER_FILES
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard == resource.RLIM_INFINITY or needed <= hard:
        return
    message = tr("{name}: {clients} clients need {needed} open files, but this account's limit is {limit}.")
    raise CampaignError(
        message.format(name=item.name, clients=clients, needed=needed, limit=hard),
        field="workload.clients",
        hint=tr("Use fewer clients, or raise the hard limit (`ulimit -Hn`, /etc/security/limits.conf)."),
    )


_OTHER_FILES: Final = 16
"""pgbench's open files in addition to connections and a log for each thread."""


def _check_pages(item: Configuration, installation: Installation) -> None:
    """Repeat the rules about disks and settings with the now known size of a data page.

    Raises:
        CampaignError: a combination that is valid with other page sizes is not with this one.
    """
    if not isinstance(item.target, DiskTarget):
        return
    own = {name.lower(): value for name, value in item.postgresql.settings}
    page_bytes = installation.page_bytes
    for finding in refused_with(item.target, own, page_bytes):
        message = tr("{name}: {reason} The page size of this server is {size}.")
        raise CampaignError(
            message.format(name=item.name, reason=finding.message, size=format_size(page_bytes)),
            field=f"target.{DiskTarget.kind}.options.{finding.field}",
        )


def _check_backups(item: Configuration, installation: Installation) -> None:
    """Check that base backups are possible.

    Raises:
        CampaignError: this installation lacks the program, or its version cannot handle tablespaces.
    """
    if not wants_backup(item.workload):
        return
    program = installation.program(PROGRAM)
    if not os.access(program, os.X_OK):
        message = tr("{name}: base backups during a phase need {program}, which is not installed.")
        raise CampaignError(message.format(name=item.name, program=program), field="workload.phase")
    has_tablespaces = isinstance(item.target, DiskTarget) and len(item.target.of_relations) > 1
    if has_tablespaces and installation.major < TARGETS_MAJOR:
        message = tr(
            "{name}: with tables or indexes on separate disks, base backups during a phase need PostgreSQL "
            "{major} or newer, not {version}."
        )
        raise CampaignError(
            message.format(name=item.name, major=TARGETS_MAJOR, version=installation.version),
            field="workload.phase",
        )


def _check_cold(item: Configuration, target: CheckedTarget) -> None:
    """Refuse cold caches if the data is in memory, or in a folder with a cache that only root can empty.

    Raises:
        TargetError: it is.
    """
    if item.workload.caches is not Caches.COLD or target.plan is not None:
        return
    try:
        mount = mount_of(target.path)
    except LookupError:
        return  # the run reads back how much is cached
    if mount.in_memory:
        message = tr("{name}: {path} is in memory ({filesystem}), where data is always cached.")
    elif mount.filesystem == "zfs":
        message = tr("{name}: {path} is on ZFS, whose own cache only root can shrink.")
    else:
        return
    words = message.format(name=item.name, path=target.path, filesystem=mount.filesystem)
    raise TargetError(words, hint=tr('Choose caches = "warm", another folder, or spare disks.'))


def _unsafe(
    item: Configuration, settings: Sequence[Setting], page_bytes: int
) -> tuple[tuple[str, str, str], ...]:
    """Return the settings that trade safety away on this target.

    Those that come from a filesystem's option are reported with that option
    (`app.domain.campaign.disk_target.unsafe_choices`).
    """
    target = item.target
    pairs = [(setting.name, setting.value) for setting in settings if setting.origin is not Origin.FILESYSTEM]
    return tuple(
        each
        for each in unsafe_settings(pairs)
        if not (isinstance(target, DiskTarget) and safe_without(target, each[0], page_bytes))
    )


def _with_room(
    target: CheckedTarget, item: Configuration, checks: _TargetChecks, need_bytes: int
) -> CheckedTarget:
    """Return the target checked for data and WAL together; partitions keep the size chosen for the data.

    Raises:
        TargetError: there is no room.
    """
    if target.plan is None:
        return checks.check(item.target, need_bytes)
    if target.free_bytes < need_bytes:
        message = tr("The disks of {name} have {free} free; the run needs {need}.")
        hint = tr("Choose larger partitions (partition_size), more disks, or less data.")
        free, need = format_size(target.free_bytes), format_size(need_bytes)
        raise TargetError(message.format(name=item.name, free=free, need=need), hint=hint)
    return target


def planned_seconds(campaign: Campaign, names: Sequence[str]) -> float | None:
    """Return seconds of warm-up and measurement of these configurations' runs; None if not known."""
    total, counts = 0.0, Counter(names)
    for item in campaign.configurations:
        measured_s = measured_seconds(item.workload)
        if measured_s is None:
            return None
        total += counts[item.name] * (measured_s + item.workload.warmup_s)
    return total
