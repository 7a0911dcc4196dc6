"""Facts about the machine for the run file, read before and after a run.

Keys are stable; no root is needed; reading takes well under a second. Unreadable values have a reason (see
`app.probes.base.probe`).
"""

from __future__ import annotations

import hashlib
import hmac
import os
import platform
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from app.domain.json_value import Json
from app.domain.text import tr
from app.probes.base.backing_devices import Backing, BackingDevice, Mount, Resolver
from app.probes.base.probe import (
    Ask,
    Facts,
    ProbeUnavailable,
    ServerSources,
    ask_program,
    attempt,
    file_fact,
    folder_facts,
    parse_value,
    read_text,
    selected_fact,
    unreadable,
)
from app.probes.sources.block_devices import SECTOR_BYTES
from app.process.memory import parse_meminfo

# Facts about kernel, processors, memory and power that change PostgreSQL's speed; no root needed.


_VM_SETTINGS: Final = (
    "dirty_ratio",
    "dirty_background_ratio",
    "dirty_bytes",
    "dirty_background_bytes",
    "dirty_expire_centisecs",
    "dirty_writeback_centisecs",
    "swappiness",
    "overcommit_memory",
    "overcommit_ratio",
    "nr_hugepages",
    "nr_overcommit_hugepages",
    "zone_reclaim_mode",
    "min_free_kbytes",
    "vfs_cache_pressure",
)
_CPUINFO: Final = ("vendor_id", "model name", "microcode", "cpu cores", "siblings", "cache size")


def kernel_facts(proc: Path, sys: Path) -> Facts:
    """Return kernel, command line, distribution and page size."""
    return {
        "release": platform.release(),
        "version": platform.version(),
        "architecture": platform.machine(),
        "command_line": file_fact(proc / "cmdline"),
        "distribution": attempt(lambda: platform.freedesktop_os_release().get("PRETTY_NAME")),
        "page_size_bytes": os.sysconf("SC_PAGE_SIZE"),
        "ticks_per_s": os.sysconf("SC_CLK_TCK"),
        "clock_source": file_fact(sys / "devices/system/clocksource/clocksource0/current_clocksource"),
        "preemption": selected_fact(sys / "kernel/debug/sched/preempt"),
        "vulnerabilities": _vulnerabilities(sys),
    }


_MACHINE_ID: Final = Path("/etc/machine-id")
_APPLICATION: Final = b"org.pgfooting.Footing"


def identity_facts(machine_id: Path = _MACHINE_ID) -> Facts:
    """Return an anonymous identifier of this installation of a system.

    machine-id(5) asks programs not to reveal the id: it is used as the key of a hash over our own name.
    """
    return {"machine_id": attempt(lambda: hashed_machine_id(read_text(machine_id)))}


def hashed_machine_id(machine_id: str) -> str:
    """Return the hash of a machine-id(5).

    Raises:
        ValueError: the text is no machine id.
    """
    key = bytes.fromhex(machine_id)
    if len(key) != 16 or not any(key):
        raise ValueError(machine_id[:40])
    return hmac.new(key, _APPLICATION, hashlib.sha256).hexdigest()[:32]


def _vulnerabilities(sys: Path) -> Json:
    folder = sys / "devices/system/cpu/vulnerabilities"
    return attempt(lambda: {path.name: file_fact(path) for path in sorted(folder.iterdir())})


def processor_facts(proc: Path, sys: Path) -> Facts:
    """Return model, microcode, topology, frequency control and idle states."""
    cpu = sys / "devices/system/cpu"
    return {
        "online": os.cpu_count(),
        "allowed": len(os.sched_getaffinity(0)),
        "info": attempt(lambda: _cpuinfo(read_cpuinfo(proc))),
        "smt": folder_facts(cpu / "smt", ("active", "control")),
        "numa_nodes": attempt(lambda: len(list((sys / "devices/system/node").glob("node[0-9]*")))),
        **frequency_facts(sys),
        "idle_driver": file_fact(cpu / "cpuidle/current_driver"),
        "isolated": file_fact(cpu / "isolated"),
    }


def frequency_facts(sys: Path) -> Facts:
    """Return the settings of the CPUs' frequency: governor, driver, preference, limits, boost."""
    cpu = sys / "devices/system/cpu"
    return {
        "governor": _distinct(cpu, "cpufreq/scaling_governor"),
        "frequency_driver": _distinct(cpu, "cpufreq/scaling_driver"),
        "energy_performance_preference": _distinct(cpu, "cpufreq/energy_performance_preference"),
        "frequency_min_khz": _distinct(cpu, "cpufreq/scaling_min_freq"),
        "frequency_max_khz": _distinct(cpu, "cpufreq/scaling_max_freq"),
        "intel_no_turbo": file_fact(cpu / "intel_pstate/no_turbo"),
        "boost": file_fact(cpu / "cpufreq/boost"),
    }


def read_cpuinfo(proc: Path) -> str:
    """Return /proc/cpuinfo for the first processor; the file is long on large machines.

    Raises:
        OSError: it cannot be read.
    """
    return read_text(proc / "cpuinfo").split("\n\n", 1)[0]


def _cpuinfo(text: str) -> Facts:
    fields = {
        name.strip(): value.strip() for name, _, value in (line.partition(":") for line in text.splitlines())
    }
    return {name.replace(" ", "_"): fields.get(name) for name in _CPUINFO}


def _distinct(cpu: Path, name: str) -> Json:
    """Return the value that all processors share, or the list of values."""

    def read() -> Json:
        paths = sorted(cpu.glob(f"cpu[0-9]*/{name}"))
        if not paths:
            raise FileNotFoundError(2, "")
        texts = sorted({read_text(path) for path in paths})
        return parse_value(texts[0]) if len(texts) == 1 else [parse_value(text) for text in texts]

    return attempt(read)


def memory_facts(proc: Path, sys: Path) -> Facts:
    """Return sizes, huge pages, write-back limits and swap devices."""
    transparent = sys / "kernel/mm/transparent_hugepage"
    return {
        "info": attempt(lambda: _meminfo(proc)),
        "transparent_huge_pages": {
            name: selected_fact(transparent / name) for name in ("enabled", "defrag", "shmem_enabled")
        },
        "vm": folder_facts(proc / "sys/vm", _VM_SETTINGS),
        "swap": attempt(lambda: _lines(read_text(proc / "swaps"), skip=1)),
        "zswap": file_fact(sys / "module/zswap/parameters/enabled"),
        "ksm": file_fact(sys / "kernel/mm/ksm/run"),
    }


def _meminfo(proc: Path) -> Facts:
    fields = parse_meminfo((proc / "meminfo").read_bytes())
    wanted = ("MemTotal", "MemAvailable", "SwapTotal", "SwapFree", "HugePages_Total", "HugePages_Free")
    facts: Facts = {name: fields[name] for name in wanted if name in fields}
    facts["Hugepagesize"] = fields.get("Hugepagesize")
    return facts


def _lines(text: str, skip: int = 0) -> list[Json]:
    return [" ".join(line.split()) for line in text.splitlines()[skip:]]


def power_facts(sys: Path) -> Facts:
    """Return power supplies and profile; whether the machine runs on battery."""
    return {
        "supplies": attempt(
            lambda: {path.name: _supply(path) for path in _entries(sys / "class/power_supply")}
        ),
        "platform_profile": file_fact(sys / "firmware/acpi/platform_profile"),
        "sleep_states": file_fact(sys / "power/state"),
    }


def _entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.exists() else []


def _supply(folder: Path) -> Facts:
    return folder_facts(folder, ("type", "scope", "status", "online", "capacity"))


def on_battery(sys: Path) -> bool | None:
    """Return whether the machine discharges its battery without mains; None if unknown."""
    supplies = [_supply(path) for path in _entries(sys / "class/power_supply")]
    own = [supply for supply in supplies if supply["scope"] != "Device"]
    if not own:
        return None
    mains = any(supply["type"] in {"Mains", "USB"} and supply["online"] == 1 for supply in own)
    return not mains and any(
        supply["type"] == "Battery" and supply["status"] == "Discharging" for supply in own
    )


def virtualisation_facts(proc: Path, sys: Path, ask: Ask = ask_program) -> Facts:
    """Return the kind of virtual machine or container, and its vendor's names."""
    return {
        "machine": attempt(lambda: ask(("systemd-detect-virt", "--vm")).strip()),
        "container": attempt(lambda: ask(("systemd-detect-virt", "--container")).strip()),
        "hypervisor_flag": attempt(lambda: "hypervisor" in read_cpuinfo(proc).split()),
        "product": folder_facts(sys / "class/dmi/id", ("sys_vendor", "product_name", "bios_version")),
    }


def thermal_facts(sys: Path) -> Facts:
    """Return temperatures in degrees Celsius and counts of throttling; both change in a run."""
    throttle = "cpu/cpu[0-9]*/thermal_throttle/package_throttle_count"
    return {
        "zones": {
            f"{zone.name} {file_fact(zone / 'type')}": celsius(zone / "temp")
            for zone in sorted((sys / "class/thermal").glob("thermal_zone*"))
        },
        "sensors": {
            f"{file_fact(path.parent / 'name')} {path.name.removesuffix('_input')}": celsius(path)
            for path in sorted((sys / "class/hwmon").glob("hwmon*/temp*_input"))
        },
        "package_throttle_count": _most((sys / "devices/system").glob(throttle)),
    }


def celsius(path: Path) -> Json:
    """Return the temperature in a file of thousandths of a degree, or the reason why it is unknown."""
    return attempt(lambda: int(read_text(path)) / 1000)


def _most(paths: Iterable[Path]) -> Json:
    def read() -> Json:
        counts = [int(read_text(path)) for path in paths]
        if not counts:
            raise FileNotFoundError(2, "")
        return max(counts)

    return attempt(read)


# Facts about the storage of a folder: mount, filesystem, block devices; no root needed.
#
# Sources: mountinfo, statvfs, Documentation/ABI/stable/sysfs-block, sysfs of md, dm, loop, ext4, btrfs and
# ZFS, udev's database for serial numbers. Values that only root may read are recorded as such.


_QUEUE: Final = (
    "rotational",
    "nr_requests",
    "read_ahead_kb",
    "wbt_lat_usec",
    "nomerges",
    "rq_affinity",
    "write_cache",
    "fua",
    "iostats",
    "logical_block_size",
    "physical_block_size",
    "minimum_io_size",
    "optimal_io_size",
    "max_sectors_kb",
    "discard_granularity",
    "discard_max_bytes",
    "zoned",
)
_IDENTITY: Final = ("vendor", "model", "rev", "firmware_rev", "serial", "transport", "address", "wwid")
_UDEV: Final = (
    "ID_BUS",
    "ID_MODEL",
    "ID_REVISION",
    "ID_SERIAL_SHORT",
    "ID_SERIAL",
    "ID_WWN",
    "ID_ATA_WRITE_CACHE",
)
_MD: Final = (
    "level",
    "metadata_version",
    "raid_disks",
    "degraded",
    "chunk_size",
    "layout",
    "stripe_cache_size",
    "group_thread_cnt",
    "sync_action",
    "sync_completed",
    "consistency_policy",
    "bitmap/location",
    "bitmap/chunksize",
)
_EXT4: Final = ("lifetime_write_kbytes", "session_write_kbytes", "errors_count", "mb_stream_req")
_BTRFS: Final = ("label", "nodesize", "sectorsize", "checksum", "metadata_uuid", "bg_reclaim_threshold")


def storage_facts(path: str, resolver: Resolver) -> Facts:
    """Return facts about everything below `path`."""
    mount = attempt_mount(path, resolver)
    facts: Facts = {
        "path": path,
        "mount": attempt(lambda: _mount_facts(resolver.find_mount(path))),
        "space": attempt(lambda: _space_facts(path)),
    }
    if mount is not None:
        facts["filesystem"] = _filesystem_facts(mount, resolver)
    try:
        backing = resolver.resolve(path)
    except ProbeUnavailable as err:
        facts["devices"] = unreadable(err.reason)
    else:
        facts["devices"] = {
            device.name: device_facts(device, Path(resolver.sys)) for device in backing.devices
        }
        facts["pool"] = _pool_facts(backing, resolver.ask)
    return facts


def attempt_mount(path: str, resolver: Resolver) -> Mount | None:
    """Return the mount of a path; None if it cannot be found, in which case "mount" has the reason."""
    try:
        return resolver.find_mount(path)
    except (OSError, LookupError):
        return None


def _mount_facts(mount: Mount) -> Facts:
    return {
        "device": mount.device,
        "root": mount.root,
        "mount_point": mount.mount_point,
        "options": list(mount.options),
        "filesystem": mount.filesystem,
        "source": mount.source,
        "super_options": list(mount.super_options),
        "on_network": mount.on_network,
        "in_memory": mount.in_memory,
    }


def _space_facts(path: str) -> Facts:
    space = os.statvfs(path)
    return {
        "block_size_bytes": space.f_bsize,
        "total_bytes": space.f_blocks * space.f_frsize,
        "free_bytes": space.f_bfree * space.f_frsize,
        "available_bytes": space.f_bavail * space.f_frsize,
        "inodes_free": space.f_favail,
    }


def _filesystem_facts(mount: Mount, resolver: Resolver) -> Json:
    """Return the filesystem's facts about itself that need no root."""
    sys, name = Path(resolver.sys), Path(mount.source).name
    if mount.filesystem == "ext4":
        node = Path(os.path.realpath(mount.source)).name
        options = Path(resolver.proc, "fs/ext4", node, "options")
        return {
            **folder_facts(sys / "fs/ext4" / node, _EXT4),
            "all_options": attempt(lambda: list(read_text(options).splitlines())),
        }
    if mount.filesystem == "xfs":
        return attempt(lambda: list(resolver.ask(("xfs_info", mount.mount_point)).splitlines()))
    if mount.filesystem == "btrfs":
        folders = sorted((sys / "fs/btrfs").glob(f"*-*/devices/{name}"))
        folder = folders[0].parent.parent if folders else sys / "fs/btrfs"
        allocation = folder / "allocation"
        return {
            **folder_facts(folder, _BTRFS),
            "features": attempt(lambda: sorted(entry.name for entry in (folder / "features").iterdir())),
            "profiles": attempt(
                lambda: {
                    kind: sorted(entry.name for entry in (allocation / kind).iterdir() if entry.is_dir())
                    for kind in ("data", "metadata", "system")
                }
            ),
        }
    if mount.filesystem == "zfs":
        return _zfs_facts(mount, sys, resolver.ask)
    return {}


def _zfs_facts(mount: Mount, sys: Path, ask: Ask) -> Facts:
    module = sys / "module/zfs"
    return {
        "version": file_fact(module / "version"),
        "parameters": attempt(
            lambda: {path.name: file_fact(path) for path in sorted((module / "parameters").iterdir())}
        ),
        "dataset": attempt(lambda: _properties(ask(("zfs", "get", "-Hp", "all", mount.source)))),
    }


def _pool_facts(backing: Backing, ask: Ask) -> Json:
    if not backing.pool:
        return None
    return attempt(lambda: _properties(ask(("zpool", "get", "-Hp", "all", backing.pool))))


def _properties(text: str) -> Facts:
    """Return name and value of ``zfs get -Hp`` and ``zpool get -Hp``: name, property, value, source."""
    rows = (line.split("\t") for line in text.splitlines())
    return {row[1]: parse_value(row[2]) for row in rows if len(row) >= 3}


def device_facts(device: BackingDevice, sys: Path) -> Facts:
    """Return identity, size and queue settings of a block device."""
    folder = sys / "block" / device.name
    facts: Facts = {
        "kind": device.kind,
        "is_leaf": device.is_leaf,
        "is_counted": device.is_counted,
        "size_bytes": attempt(lambda: int(read_text(folder / "size")) * SECTOR_BYTES),
        "read_only": file_fact(folder / "ro"),
        "removable": file_fact(folder / "removable"),
        "queue": folder_facts(folder / "queue", _QUEUE),
        "scheduler": selected_fact(folder / "queue/scheduler"),
    }
    if device.kind == "md":
        facts["array"] = folder_facts(folder / "md", _MD)
    elif device.kind == "dm":
        facts["mapping"] = {**folder_facts(folder / "dm", ("name", "uuid")), "table": unreadable(_NEEDS_ROOT)}
    elif device.kind == "loop":
        facts["loop"] = folder_facts(folder / "loop", ("backing_file", "offset", "dio"))
    if device.is_leaf:
        facts["identity"] = folder_facts(folder / "device", _IDENTITY)
        facts["serial"] = file_fact(folder / "serial")
        facts["udev"] = attempt(lambda: _udev_facts(read_text(folder / "dev")))
        facts["link"] = _link_facts(folder)
        facts["temperatures_celsius"] = device_temperatures(folder)
        facts["smart"] = unreadable(_NEEDS_ROOT)
    return facts


_NEEDS_ROOT: Final = tr("needs root, which pgFooting does not use for a folder target")


def _udev_facts(number: str) -> Facts:
    """Return the properties from udev's database, including the serial number."""
    properties = dict(
        line[2:].split("=", 1)
        for line in read_text(Path("/run/udev/data", f"b{number}")).splitlines()
        if line.startswith("E:") and "=" in line
    )
    return {name: properties[name] for name in _UDEV if name in properties}


def _link_facts(folder: Path) -> Json:
    """Return speed and width of the nearest PCI Express link above a device."""
    place = Path(os.path.realpath(folder))
    for parent in place.parents:
        if (parent / "current_link_speed").exists():
            return folder_facts(
                parent, ("current_link_speed", "current_link_width", "max_link_speed", "max_link_width")
            )
    return unreadable(tr("not shown for this device"))


def device_temperatures(folder: Path) -> Json:
    """Return the temperatures that drivers (nvme, drivetemp) show without root."""
    paths = sorted((folder / "device").glob("hwmon*/temp*_input")) + sorted(
        (folder / "device").glob("hwmon/hwmon*/temp*_input")
    )
    if not paths:
        return unreadable(tr("not shown for this device"))
    return {path.name.removesuffix("_input"): celsius(path) for path in paths}


FACTS_FORMAT: Final = 1
"""Increased when a key changes its meaning, not for new keys."""


@dataclass(frozen=True, slots=True)
class FactSources:
    """Where facts are looked for.

    Attributes:
        proc: procfs.
        sys: sysfs.
        resolver: finds mounts and backing devices.
    """

    proc: Path = Path("/proc")
    sys: Path = Path("/sys")
    resolver: Resolver = field(default_factory=Resolver)


def read_facts(server: ServerSources, places: FactSources | None = None) -> Facts:
    """Return all facts about the machine and about the storage of the server's data.

    Args:
        server: if its data directory is known, that folder or its parent exists.
        places: replaces this machine's paths in tests.
    """
    where = places or FactSources()
    proc, sys, resolver = where.proc, where.sys, where.resolver
    parts: dict[str, Callable[[], Json]] = {
        "kernel": lambda: kernel_facts(proc, sys),
        "processor": lambda: processor_facts(proc, sys),
        "memory": lambda: memory_facts(proc, sys),
        "power": lambda: power_facts(sys),
        "virtualisation": lambda: virtualisation_facts(proc, sys, resolver.ask),
        "thermal": lambda: thermal_facts(sys),
        "storage": lambda: storage_facts(server.data_folder, resolver),
        "load": lambda: load_facts(proc),
        "identity": identity_facts,
    }
    for name, folder in server.further.items():
        parts[f"{name}_storage"] = partial(storage_facts, _there(folder), resolver)
    facts: Facts = {"format": FACTS_FORMAT}
    for name, read in parts.items():
        facts[name] = attempt(read)
    return facts


def _there(folder: str) -> str:
    """Return a folder, or its parent on the same filesystem: initdb has not created pg_wal yet."""
    return folder if Path(folder).exists() else str(Path(folder).parent)


def read_changing_facts(places: FactSources | None = None) -> Facts:
    """Return the facts that a run may change: frequency control, temperatures, throttling, memory, load."""
    where = places or FactSources()
    return {
        "format": FACTS_FORMAT,
        "processor": attempt(lambda: frequency_facts(where.sys)),
        "thermal": attempt(lambda: thermal_facts(where.sys)),
        "power": attempt(lambda: power_facts(where.sys)),
        "memory": attempt(lambda: _memory_now(where.proc)),
        "load": attempt(lambda: load_facts(where.proc)),
    }


def load_facts(proc: Path) -> Facts:
    """Return current load averages and pressure, and the uptime."""
    return {
        "average": attempt(lambda: [float(word) for word in read_text(proc / "loadavg").split()[:3]]),
        "uptime_s": attempt(lambda: float(read_text(proc / "uptime").split()[0])),
        "pressure": {name: file_fact(proc / "pressure" / name) for name in ("cpu", "io", "memory")},
    }


def _memory_now(proc: Path) -> Facts:
    fields = parse_meminfo((proc / "meminfo").read_bytes())
    names = ("MemAvailable", "Cached", "Dirty", "Writeback", "SwapFree")
    return {name: fields.get(name) for name in names}
