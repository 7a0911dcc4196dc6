"""Typed facts of a run's environment: filesystem, devices, processor, memory, kernel. Pure; foreign values.

`app.probes.facts.environment` collects them, importers add known ones; missing ones are empty or None.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from app.domain.disk_answers import cloud_of, may_have_burst_credit, played_by
from app.domain.json_value import Json
from app.domain.storage_plan.plan import FURTHER_ROLES
from app.domain.text import format_size, titled, tr
from app.probes.base.backing_devices import LOOP
from app.probes.base.probe import MEMORY_LIMIT
from app.runfile.writer import SERVER_DEFAULTS

MOST_CHARACTERS: Final = 2000
"""Limit of one shown value, in characters: a run file may come from any source."""

MOST_CHARACTERS_OF_NAME: Final = 40
"""Limit of a single word, in characters."""


REPORTED: Final = ("made_with", "format_version", "compression", "check")
"""Facts about a filesystem from tools of other systems; see `app.probes.remote.facts`."""

_OWNERS_SOURCES: Final = frozenset({"configuration file", "command line", "environment variable", "global"})
"""Values of pg_settings.source for settings by the owner of a server (guc.h)."""

DATA_CHECKSUMS: Final = "data_checksums"
_OF_THE_CLUSTER: Final = frozenset({DATA_CHECKSUMS})

MOST_NAMED: Final = 4
"""Number of devices named in little space."""


@dataclass(frozen=True, slots=True)
class DeviceFacts:
    """A block device below the data or the WAL.

    Attributes:
        name: of the kernel.
        words: kind, model, size, scheduler and write cache.
        kind: see `app.probes.base.backing_devices.BackingDevice`; empty if unknown.
        played_by: maker of a virtual disk, see `app.domain.disk_answers`; empty for hardware.
        is_counted: whether its requests are among those of the series ``storage.*``.
        may_burst: whether it may have burst credit, which no device reports.
    """

    name: str
    words: str
    kind: str
    played_by: str
    is_counted: bool
    may_burst: bool = False

    @property
    def is_played(self) -> bool:
        """Whether it is a loop device or a virtual disk instead of hardware."""
        return self.kind == LOOP or bool(self.played_by)

    @property
    def short_words(self) -> str:
        """Its name, and its kind if it is not hardware."""
        if self.kind == LOOP:
            return tr("{name} (loop device)").format(name=self.name)
        return tr("{name} (virtual disk)").format(name=self.name) if self.played_by else self.name

    @property
    def played_words(self) -> str:
        """Its name, and the maker of a virtual disk."""
        return f"{self.name} ({self.played_by})" if self.played_by else self.name


@dataclass(frozen=True, slots=True)
class RemoteAccess:
    """How the machine was examined.

    Attributes:
        over: "ssh"; empty for the machine of pgbench.
        system: its operating system; empty if unknown.
        is_tried: pgFooting was tested on this system.
        reason: why it could not be examined; empty if it could.
    """

    over: str = ""
    system: str = ""
    is_tried: bool = True
    reason: str = ""

    @property
    def words(self) -> str:
        """How it was examined, in a few words without changing values; empty for this machine."""
        if not self.over:
            return ""
        if self.reason:
            return tr("{over}, failed: {reason}").format(over=self.over, reason=self.reason)
        parts = [self.over, self.system]
        if not self.is_tried:
            parts.append(tr("not tried on a real system"))
        return ", ".join(filter(None, parts))


_HERE: Final = RemoteAccess()


@dataclass(frozen=True, slots=True)
class EnvironmentFacts:
    """Environment of a run.

    Attributes:
        filesystem: of the data; empty if unknown.
        in_memory: whether that is not on a device.
        mount_options: of mount and superblock, each once, in their order.
        dataset: properties of a ZFS dataset by name.
        devices: below the data, and below the WAL if that has its own filesystem.
        name: of the machine, given by users.
        storage: its description by users.
        processor: model.
        cpus: list of the allowed ones, else of those online.
        online_cpus: their number; None if unknown.
        allowed_cpus: number that the runner may use; None if unknown.
        governor: of the processor's frequency.
        memory_bytes: of the machine, or of the control group if that is less; None if unknown.
        kernel: release.
        distribution: of the system.
        virtual_machine: its kind; empty if unknown, “none” on hardware.
        is_virtual: whether it is one, as far as known: also for an unknown kind.
        page_bytes: page size of the server; None if unknown.
        machine_id: unique for the installed system; empty if unknown.
        arc_max_bytes: largest size of ZFS's cache (zfs_arc_max), 0 if ZFS decides; None if data and WAL are
            on something else, or if unknown.
        reached: how it was examined.
        reported: by the tools of a filesystem that pgFooting does not create: by the words of `REPORTED`.
        server_version: the server's own description of its version and build.
        server_settings: set by its owner or initdb, by name; without empty ones and those of sessions.
        settings_in_effect: all known ones, by name, in lower case.
    """

    filesystem: str
    in_memory: bool
    mount_options: tuple[str, ...]
    dataset: Mapping[str, Json]
    devices: tuple[DeviceFacts, ...]
    name: str
    storage: str
    processor: str
    cpus: str
    online_cpus: int | None
    allowed_cpus: int | None
    governor: str
    memory_bytes: int | float | None
    kernel: str
    distribution: str
    virtual_machine: str
    is_virtual: bool
    page_bytes: int | None = None
    machine_id: str = ""
    arc_max_bytes: int | None = None
    reached: RemoteAccess = _HERE
    reported: Mapping[str, str] = field(default_factory=dict)
    server_version: str = ""
    server_settings: Mapping[str, str] = field(default_factory=dict)
    settings_in_effect: Mapping[str, str] = field(default_factory=dict)


def _dict(value: Json | None) -> Mapping[str, Json]:
    return value if isinstance(value, dict) or isinstance(value, Mapping) else {}  # noqa: SIM101 - quicker


def _texts(value: Json | None) -> tuple[str, ...]:
    return tuple(each for each in value if isinstance(each, str) and each) if isinstance(value, list) else ()


def _text(value: Json | None) -> str:
    return value[:MOST_CHARACTERS] if isinstance(value, str) else ""


def _number(value: Json | None) -> int | float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _whole(value: Json | None) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def read_environment_facts(facts: Mapping[str, Json]) -> EnvironmentFacts:
    """Return the facts from before a run.

    Args:
        facts: by name, from `app.runfile.reader.RunFile.facts`.
    """
    storage, processor, kernel = (_dict(facts.get(name)) for name in ("storage", "processor", "kernel"))
    storages = (storage, *(_dict(facts.get(f"{role.value}_storage")) for role in FURTHER_ROLES))
    mount, machine = _dict(storage.get("mount")), _dict(facts.get("machine"))
    online, settings = processor.get("online"), _dict(_dict(facts.get("server")).get("settings"))
    page = _dict(settings.get("block_size")).get("value")
    virtualisation = _dict(facts.get("virtualisation"))
    kind = _text(virtualisation.get("machine"))
    options = (*_texts(mount.get("options")), *_texts(mount.get("super_options")))
    return EnvironmentFacts(
        filesystem=_text(mount.get("filesystem")),
        in_memory=bool(mount.get("in_memory")),
        mount_options=tuple(dict.fromkeys(options)),
        dataset=_dict(_dict(storage.get("filesystem")).get("dataset")),
        devices=_devices(_cloud(facts), *storages),
        name=_text(machine.get("name")),
        storage=_text(machine.get("storage")),
        processor=_text(_dict(processor.get("info")).get("model_name")),
        cpus=_cpus(processor.get("allowed")) or _cpus(online),
        online_cpus=_whole(online),
        allowed_cpus=_whole(_dict(processor).get("allowed")),
        governor=governor_of(facts),
        memory_bytes=_memory_bytes(facts),
        kernel=_text(kernel.get("release")),
        distribution=_text(kernel.get("distribution")),
        virtual_machine=kind,
        is_virtual=kind != "none" if kind else virtualisation.get("hypervisor_flag") is True,
        page_bytes=int(page) if isinstance(page, str) and page.isdecimal() and len(page) < 7 else None,
        machine_id=_text(_dict(facts.get("identity")).get("machine_id")),
        arc_max_bytes=_arc_max_bytes(*storages),
        reached=_reached(_dict(facts.get("reached"))),
        reported=_reported(_dict(storage.get("filesystem"))),
        server_version=_text(_dict(facts.get("server")).get("version")),
        server_settings=_set_by_its_owner(settings),
        settings_in_effect=_in_effect(dict(_dict(facts.get(SERVER_DEFAULTS))), settings),
    )


def governor_of(facts: Mapping[str, Json]) -> str:
    """Return how the kernel chose the clock of the processor; empty if unknown."""
    return _text(_dict(facts.get("processor")).get("governor"))


def _memory_bytes(facts: Mapping[str, Json]) -> int | float | None:
    """Return the memory available to programs, including page cache."""
    findings = facts.get("preflight")
    limits = [
        _number(_dict(_dict(each).get("evidence")).get("bytes"))
        for each in (findings if isinstance(findings, list) else ())
        if _dict(each).get("code") == MEMORY_LIMIT
    ]
    found = (_number(_dict(_dict(facts.get("memory")).get("info")).get("MemTotal")), *limits)
    return min((each for each in found if each is not None and each > 0), default=None)


def _set_by_its_owner(settings: Mapping[str, Json]) -> Mapping[str, str]:
    """Return the settings by a server's owner, and those fixed by initdb."""
    found = {
        name: _text(value.get("value"))
        for name, value in settings.items()
        if isinstance(value, dict)
        and (name in _OF_THE_CLUSTER or _text(value.get("source")) in _OWNERS_SOURCES)
    }
    return {name: text for name, text in found.items() if text}


def _in_effect(defaults: dict[str, Json], settings: Mapping[str, Json]) -> Mapping[str, str]:
    """Return the values of all settings that a server reported."""
    found = defaults | {
        name: value.get("value") for name, value in settings.items() if isinstance(value, dict)
    }
    return {name.lower(): text for name, each in found.items() if (text := _text(each))}


def _reported(facts: Mapping[str, Json]) -> Mapping[str, str]:
    found = {name: _text(facts.get(name)) for name in REPORTED}
    return {name: text for name, text in found.items() if text}


def _reached(facts: Mapping[str, Json]) -> RemoteAccess:
    return RemoteAccess(
        over=_text(facts.get("over"))[:MOST_CHARACTERS_OF_NAME],
        system=_text(facts.get("system"))[:MOST_CHARACTERS_OF_NAME],
        is_tried=facts.get("tried") is not False,
        reason=_text(facts.get("unreadable")),
    )


def _arc_max_bytes(*storages: Mapping[str, Json]) -> int | None:
    """Return zfs_arc_max from the first of the storages that is on ZFS."""
    for storage in storages:
        parameters = _dict(_dict(storage.get("filesystem")).get("parameters"))
        if (found := _whole(parameters.get("zfs_arc_max"))) is not None:
            return found
    return None


def _cpus(value: Json | None) -> str:
    """Return a list of CPUs, or their number."""
    if isinstance(value, list):
        return ", ".join(text for each in value if (text := _cpus(each)))
    number = _number(value)
    return _text(value) if number is None else f"{number:g}"


def _devices(cloud: str, *storages: Mapping[str, Json]) -> tuple[DeviceFacts, ...]:
    """Return the devices of all storages, each once."""
    found: dict[str, DeviceFacts] = {}
    for storage in storages:
        for name, facts in _dict(storage.get("devices")).items():
            if not isinstance(facts, Mapping):  # the reason why there are none
                continue
            device = _device(name[:MOST_CHARACTERS], facts, cloud)
            if name not in found or device.is_counted:
                found[name] = device
    return tuple(found.values())


def _cloud(facts: Mapping[str, Json]) -> str:
    product = _dict(_dict(facts.get("virtualisation")).get("product"))
    return cloud_of(_text(product.get("sys_vendor")), _text(product.get("product_name")))


def _device(name: str, facts: Mapping[str, Json], cloud: str) -> DeviceFacts:
    identity, size = _dict(facts.get("identity")), _number(facts.get("size_bytes"))
    cache, kind = _text(_dict(facts.get("queue")).get("write_cache")), _text(facts.get("kind"))
    model = _text(identity.get("model")).strip()
    vendor = _text(identity.get("vendor"))
    maker = played_by(name, vendor, model)
    bursts = may_have_burst_credit(name, vendor, model, cloud)
    parts = (
        tr("virtual disk ({maker})").format(maker=maker) if maker else kind,
        model,
        "" if size is None else format_size(size),
        _text(facts.get("scheduler")),
        tr("cache {mode}").format(mode=cache) if cache else "",
        tr("may have burst credits") if bursts else "",
    )
    # A file without is_counted has is_leaf: devices without another below them were counted.
    counted = facts.get("is_counted", facts.get("is_leaf"))
    words = ", ".join(part for part in parts if part)
    return DeviceFacts(name, words, kind, maker, counted is True, bursts)


def counted_devices(facts: EnvironmentFacts) -> str:
    """Return the devices of ``storage.*`` and of the costs, in a few words; empty if unknown."""
    names = [device.short_words for device in facts.devices if device.is_counted]
    if len(names) > MOST_NAMED:
        more = tr("{count} more").format(count=len(names) - MOST_NAMED + 1)
        names = [*names[: MOST_NAMED - 1], more]
    return ", ".join(names)


def machine_label(facts: EnvironmentFacts) -> str:
    """Return a short description of a machine: processor, CPUs, memory; empty if unknown."""
    parts = [" ".join(facts.processor.split())] if facts.processor else []
    if facts.online_cpus is not None:
        count = facts.online_cpus
        parts.append(f"{count} CPU{'s' * (count != 1)}")
    if isinstance(facts.memory_bytes, int):
        parts.append(format_size(facts.memory_bytes))
    return ", ".join(parts)


def machine_rows(facts: EnvironmentFacts) -> tuple[tuple[str, str], ...]:
    """Return a machine's description for the user before load starts there, as (label, value)."""
    if facts.reached.reason:
        return ((titled(tr("machine")), facts.reached.words),)
    unknown = tr("not known")
    disks = "; ".join(f"{each.name}: {each.words}" for each in facts.devices if each.is_counted)
    options = ",".join(facts.mount_options)
    rows = (
        (titled(tr("machine")), machine_label(facts) or unknown),
        (
            titled(tr("system")),
            ", ".join(each for each in (facts.distribution, facts.kernel) if each) or unknown,
        ),
        (titled(tr("virtual machine")), facts.virtual_machine),
        (titled(tr("filesystem")), " ".join(filter(None, (facts.filesystem, options))) or unknown),
        (tr("Created with"), facts.reported.get("made_with", "")),
        (tr("Compression"), facts.reported.get("compression", "")),
        (titled(tr("disks")), disks or unknown),
        (titled(tr("read via")), facts.reached.words),
    )
    return tuple((what, value) for what, value in rows if value)
