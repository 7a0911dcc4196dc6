"""Facts of a remote machine, parsed from the lines of `machine.sh`, with the keys of local facts. Pure.

Unknown values have no key. Only Linux was tested; all other systems, and the tools that describe their
filesystems, are based on sources, manuals and recorded output (tests/data/probes/remote names each).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from app.domain.json_value import Json
from app.domain.text import tr
from app.probes.base.backing_devices import MEMORY_FILESYSTEMS, NETWORK_FILESYSTEMS
from app.probes.base.probe import Facts, attempt, parse_value, selected, unreadable
from app.probes.facts.environment import hashed_machine_id
from app.probes.remote.connection import LineKind, RemoteLine
from app.probes.sources.block_devices import SECTOR_BYTES

_DEVICE_NUMBER: Final = "dev="
_MADE: Final = "newfs "
_SIZE_AND_DEVICE: Final = re.compile(r"(?: -s \d+)? (?:/\S+)$")
_HAMMER_VERSION: Final = re.compile(r"\s*HAMMER Version\s+(\d{1,4})")
_STAT_HEADING: Final = ("PATH", "ncp", "data-use", "inode-use", "comp", "check")
_LONGEST: Final = 300


def facts_of_filesystem(output: Mapping[str, Sequence[str]]) -> Facts:
    """Return facts about the filesystem from its tools: made_with, format_version, compression, check.

    Args:
        output: lines by program, as `machine.sh` names them.
    """
    facts: Facts = {}
    made = _made_with(output.get("dumpfs", ()))
    if made:
        facts["made_with"] = made
    facts |= _of_hammer2(output.get("hammer2-stat", ()))
    for line in output.get("hammer-info", ()):
        if matched := _HAMMER_VERSION.fullmatch(line):
            facts["format_version"] = matched[1]
    return facts


def _made_with(lines: Iterable[str]) -> str:
    """Return the newfs(8) command of a UFS (``dumpfs -m``), without size and device.

    Those two depend on the disk; without them, equal filesystems have equal commands.
    """
    line = next((each for each in lines if each.startswith(_MADE)), "").rstrip()
    return _SIZE_AND_DEVICE.sub("", line)[:_LONGEST]


def _of_hammer2(lines: Sequence[str]) -> Facts:
    """Parse ``hammer2 stat`` of a folder: how its new files are compressed and checked."""
    if (
        len(lines) < 2
        or not lines[1].strip()
        or tuple(lines[0].split())[: len(_STAT_HEADING)] != _STAT_HEADING
    ):
        return {}
    words = lines[1].split()
    if "/" in words[-1]:  # a quota of bytes and inodes
        words.pop()
    return dict(zip(("compression", "check"), words[-2:], strict=True)) if len(words) >= 6 else {}


def mounts_of_mnttab(lines: Iterable[str]) -> list[Facts]:
    """Return the mounts of mnttab(5): source, point, type, options, time; skip malformed lines."""
    found: list[Facts] = []
    for line in lines:
        words = line.split()
        if len(words) == 5 and words[1].startswith("/"):
            found.append(mount_of(words[0], words[1], words[2], words[3].split(",")))
    return found


def mount_of(source: str, point: str, kind: str, options: Iterable[str]) -> Facts:
    """Return a mount, without the device number among its options."""
    kept: list[Json] = [
        word for each in options if (word := each.strip()) and not word.startswith(_DEVICE_NUMBER)
    ]
    return {"source": source, "mount_point": point, "filesystem": kind, "options": kept}


TRIED_SYSTEMS: Final = frozenset({"Linux"})
"""Systems (``uname -s``) on which this was tested."""

_FORMAT: Final = 1
_MOST_OF_A_KIND: Final = 500
_MOUNTED: Final = re.compile(
    r"(?P<source>.+?) on (?P<point>/.*?) (?:type (?P<type>\S+)\s*)?\(?(?P<rest>[^()]*)\)?"
)
_PHYSICAL_MEMORY: Final = ("sysctl.hw.physmem64", "sysctl.hw.physmem")


@dataclass(frozen=True, slots=True)
class RemoteFacts:
    """The parsed lines of a machine.

    Attributes:
        named: single values by name.
        devices: names and values by device, in the order of arrival.
        properties: of "dataset" and "pool": names and values.
        output: lines by program.
    """

    named: dict[str, str] = field(default_factory=dict)
    devices: dict[str, dict[str, str]] = field(default_factory=dict)
    properties: dict[str, dict[str, str]] = field(default_factory=dict)
    output: dict[str, list[str]] = field(default_factory=dict)

    @property
    def system(self) -> str:
        """The machine's name for its system."""
        return self.named.get("kernel.system", "")

    @property
    def cpus(self) -> int:
        """Number of online CPUs; 0 if unknown."""
        for name in ("processor.online", "sysctl.hw.ncpuonline", "sysctl.hw.ncpu"):
            if self.named.get(name, "").isdigit():
                return int(self.named[name][:6])
        matched = re.findall(r"(\d+) virtual processors?", " ".join(self.output.get("psrinfo", ())))
        return sum(int(each[:6]) for each in matched)

    def mount(self) -> Facts:
        """Return source, point, filesystem and options of the mount of the data."""
        if "mount.filesystem" in self.named:
            return {
                "source": self.named.get("mount.source"),
                "mount_point": self.named.get("mount.point"),
                "filesystem": self.named["mount.filesystem"],
                "options": _split(self.named.get("mount.options", "")),
                "super_options": _split(self.named.get("mount.super_options", "")),
            }
        place = self.named.get("place.found", "")
        table = mounts_of_mnttab(self.output.get("mnttab", ()))
        return _mount_of(table, place) or _mount_of(map(_mounted, self.output.get("mount", ())), place)


def sort_facts(lines: Iterable[RemoteLine]) -> RemoteFacts:
    """Sort lines into facts; limit the number of each kind."""
    facts = RemoteFacts()
    for line in lines:
        if line.kind is LineKind.FACT and len(facts.named) < _MOST_OF_A_KIND:
            facts.named.setdefault(line.fields[0], line.fields[1])
        elif line.kind is LineKind.DEVICE:
            _put(facts.devices, line.fields)
        elif line.kind is LineKind.PROPERTY:
            _put(facts.properties, line.fields)
        elif line.kind is LineKind.OUTPUT and len(facts.output) < _MOST_OF_A_KIND:
            printed = facts.output.setdefault(line.fields[0], [])
            if len(printed) < _MOST_OF_A_KIND:
                printed.append(line.fields[1])
    return facts


def _put(groups: dict[str, dict[str, str]], fields: tuple[str, ...]) -> None:
    group, name, value = fields[:3]
    if (group in groups or len(groups) < _MOST_OF_A_KIND) and len(groups.get(group, ())) < _MOST_OF_A_KIND:
        groups.setdefault(group, {})[name] = value


def remote_fact_tree(remote_facts: RemoteFacts) -> Facts:
    """Return the facts of a run's environment, as `app.probes.facts.environment.read_facts` does."""
    facts: Facts = {
        "format": _FORMAT,
        "reached": {
            "over": "ssh",
            "system": remote_facts.system,
            "tried": remote_facts.system in TRIED_SYSTEMS,
        },
        "kernel": _group(remote_facts, "kernel."),
        "processor": _processor(remote_facts),
        "memory": _memory(remote_facts),
        "virtualisation": _virtualisation(remote_facts),
        "storage": _storage(remote_facts),
        "load": _load(remote_facts),
    }
    machine_id = remote_facts.named.get("identity.machine_id")
    if machine_id:
        facts["identity"] = {"machine_id": attempt(lambda: hashed_machine_id(machine_id))}
    return facts


def _group(facts: RemoteFacts, prefix: str) -> Facts:
    """Return the values with this prefix in their names, without the prefix."""
    return {
        name.removeprefix(prefix): parse_value(value)
        for name, value in facts.named.items()
        if name.startswith(prefix)
    }


def _processor(remote_facts: RemoteFacts) -> Facts:
    info = {name.replace(" ", "_"): value for name, value in _group(remote_facts, "cpuinfo.").items()}
    model = remote_facts.named.get("sysctl.hw.model")
    chips = [line.strip() for line in remote_facts.output.get("psrinfo", ()) if line.strip()]
    if "model_name" not in info and (model or chips):
        info["model_name"] = model or chips[-1]
    facts = _group(remote_facts, "processor.")
    if remote_facts.cpus:
        facts["online"] = remote_facts.cpus
    return {**facts, "info": info}


def _memory(remote_facts: RemoteFacts) -> Facts:
    info: Facts = {}
    for name, value in _group(remote_facts, "meminfo.").items():
        words = str(value).split()
        if words and words[0].isdigit():
            info[name] = int(words[0][:18]) * (1024 if words[1:] == ["kB"] else 1)
    sizes = (remote_facts.named.get(name, "") for name in _PHYSICAL_MEMORY)
    size = next((text for text in sizes if text.isdigit()), "")
    if "MemTotal" not in info and size:
        info["MemTotal"] = int(size[:18])
    mib = "".join(remote_facts.output.get("prtconf", ())[:1]).strip()
    if "MemTotal" not in info and mib.isdigit():
        info["MemTotal"] = int(mib[:12]) * 1024 * 1024
    facts: Facts = {"info": info, "vm": _group(remote_facts, "vm.")}
    huge = remote_facts.named.get("memory.transparent_huge_pages")
    if huge:
        facts["transparent_huge_pages"] = {"enabled": selected(huge)}
    return facts


def _virtualisation(remote_facts: RemoteFacts) -> Facts:
    facts = _group(remote_facts, "virtualisation.")
    guest = remote_facts.named.get("sysctl.kern.vm_guest")
    if guest and "machine" not in facts:
        facts["machine"] = guest
    if facts.get("hypervisor_flag") == "true":
        facts["hypervisor_flag"] = True
    product = _group(remote_facts, "product.")
    for name, key in (
        ("sys_vendor", "sysctl.hw.vendor"),
        ("product_name", "sysctl.hw.product"),
        ("sys_vendor", "sysctl.machdep.dmi.system-vendor"),
        ("product_name", "sysctl.machdep.dmi.system-product"),
    ):
        if key in remote_facts.named:
            product.setdefault(name, remote_facts.named[key])
    return {**facts, "product": product}


def _storage(remote_facts: RemoteFacts) -> Facts:
    facts: Facts = {
        "path": remote_facts.named.get("place.asked"),
        "looked_at": remote_facts.named.get("place.found"),
    }
    mount = remote_facts.mount()
    if mount:
        filesystem = str(mount.get("filesystem") or "")
        mount["in_memory"] = filesystem in MEMORY_FILESYSTEMS
        mount["on_network"] = filesystem in NETWORK_FILESYSTEMS
        facts["mount"] = mount
    else:
        facts["mount"] = unreadable(tr("it reports no mounts"))
    dataset = remote_facts.properties.get("dataset")
    if dataset:
        version, limit = remote_facts.named.get("zfs.version"), remote_facts.named.get("zfs.zfs_arc_max")
        facts["filesystem"] = {
            **({"version": version} if version else {}),
            **({"parameters": {"zfs_arc_max": parse_value(limit)}} if limit else {}),
            "dataset": {name: parse_value(value) for name, value in dataset.items()},
        }
    else:
        filesystem_facts = facts_of_filesystem(remote_facts.output)
        if volumes := remote_facts.output.get("hammer2-info"):
            filesystem_facts["volumes"] = list(volumes)
        if filesystem_facts:
            facts["filesystem"] = filesystem_facts
    if remote_facts.properties.get("pool"):
        facts["pool"] = {name: parse_value(value) for name, value in remote_facts.properties["pool"].items()}
        facts["pool_layout"] = list(remote_facts.output.get("zpool-status", ()))
    if remote_facts.devices:
        facts["devices"] = {name: _device(name, values) for name, values in remote_facts.devices.items()}
    elif remote_facts.system in TRIED_SYSTEMS:
        facts["devices"] = unreadable(tr("not shown for this device"))
    else:
        facts["devices"] = unreadable(
            tr("only available on Linux; this is {system}").format(system=remote_facts.system)
        )
    return facts


def _device(name: str, values: Mapping[str, str]) -> Facts:
    size, is_disk = values.get("size", ""), values.get("role") == "disk"
    facts: Facts = {
        "kind": _kind(name),
        "is_leaf": is_disk,
        "is_counted": is_disk,
        "read_only": parse_value(values.get("ro", "")),
        "queue": _below(values, "queue/"),
        "scheduler": selected(values.get("queue/scheduler", "")),
    }
    if size.isdigit():
        facts["size_bytes"] = int(size[:18]) * SECTOR_BYTES
    if array := _below(values, "md/"):
        facts["array"] = array
    if loop := _below(values, "loop/"):
        facts["loop"] = loop
    if is_disk:
        facts["identity"] = _below(values, "device/")
        if "serial" in values:
            facts["serial"] = values["serial"]
    return facts


def _below(values: Mapping[str, str], prefix: str) -> Facts:
    return {
        key.removeprefix(prefix): parse_value(value.strip())
        for key, value in values.items()
        if key.startswith(prefix) and key != "queue/scheduler"
    }


def _kind(name: str) -> str:
    """Return the kind of a Linux device by its name, as in `app.probes.base.backing_devices`."""
    for prefix, kind in (
        ("md", "md"),
        ("dm-", "dm"),
        ("loop", "loop"),
        ("bcache", "bcache"),
        ("zram", "zram"),
    ):
        if name.startswith(prefix):
            return kind
    return "disk"


def _load(remote_facts: RemoteFacts) -> Facts:
    text = remote_facts.named.get("load.average", "")
    if not text:
        matched = re.search(r"load averages?:\s*(.*)", " ".join(remote_facts.output.get("uptime", ())))
        text = matched[1].replace(",", " ") if matched else ""
    facts: Facts = {"average": attempt(lambda: [float(word) for word in text.split()[:3]])} if text else {}
    if uptime := remote_facts.named.get("load.uptime_s", "").split()[:1]:
        facts["uptime_s"] = attempt(lambda: float(uptime[0]))
    return facts


def _split(text: str) -> list[Json]:
    return [word for word in text.split(",") if word]


def _mount_of(mounts: Iterable[Facts], place: str) -> Facts:
    """Return the mount that contains a folder; empty if there is none."""
    best: Facts = {}
    for found in mounts:
        point = str(found.get("mount_point") or "")
        inside = f"{place}/".startswith(f"{point.rstrip('/')}/")
        if found and inside and len(point) >= len(str(best.get("mount_point") or "")):
            best = found
    return best


def _mounted(line: str) -> Facts:
    """Parse a line of mount(8) on BSDs and illumos; return an empty mapping if it does not match.

    ``SOURCE on POINT (TYPE, OPTION, ...)`` (FreeBSD, DragonFly), ``SOURCE on POINT type TYPE (OPTION, ...)``
    (NetBSD, OpenBSD) and ``POINT on SOURCE OPTION/OPTION/... on DATE`` (illumos, without the type).
    """
    if line.startswith("/") and (illumos := re.fullmatch(r"(/\S*) on (\S+) (\S+/\S+) on .*", line)):
        kind = "zfs" if not illumos[2].startswith("/dev/") else ""
        return mount_of(illumos[2], illumos[1], kind, illumos[3].split("/"))
    matched = _MOUNTED.fullmatch(line.strip())
    if matched is None:
        return {}
    words = [word.strip() for word in matched["rest"].split(",") if word.strip()]
    kind = matched["type"] or (words.pop(0) if words else "")
    return mount_of(matched["source"], matched["point"], kind, words)
