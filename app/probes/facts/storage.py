"""Facts about the storage of a folder: mount, filesystem, block devices; no root needed.

Sources: mountinfo, statvfs, Documentation/ABI/stable/sysfs-block, sysfs of md, dm, loop, ext4, btrfs and ZFS,
udev's database for serial numbers. Values that only root may read are recorded as such.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from app.domain.json_value import Json
from app.domain.text import tr
from app.probes.base.backing_devices import Backing, BackingDevice, Mount, Resolver
from app.probes.base.fact_tree import (
    Ask,
    Facts,
    attempt,
    file_fact,
    folder_facts,
    parse_value,
    read_text,
    selected_fact,
    unreadable,
)
from app.probes.base.probe import ProbeUnavailable
from app.probes.facts.machine import celsius
from app.probes.sources.block_devices import SECTOR_BYTES

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


_NEEDS_ROOT: Final = tr("needs root, which is not used for a folder target")


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
    return unreadable(tr("no PCI Express link is shown for this device"))


def device_temperatures(folder: Path) -> Json:
    """Return the temperatures that drivers (nvme, drivetemp) show without root."""
    paths = sorted((folder / "device").glob("hwmon*/temp*_input")) + sorted(
        (folder / "device").glob("hwmon/hwmon*/temp*_input")
    )
    if not paths:
        return unreadable(tr("no driver shows a temperature of this device"))
    return {path.name.removesuffix("_input"): celsius(path) for path in paths}
