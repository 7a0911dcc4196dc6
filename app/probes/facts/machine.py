"""Facts about kernel, processors, memory and power that change PostgreSQL's speed; no root needed."""

from __future__ import annotations

import hashlib
import hmac
import os
import platform
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from app.domain.json_value import Json
from app.probes.base.fact_tree import (
    Ask,
    Facts,
    ask_program,
    attempt,
    file_fact,
    folder_facts,
    parse_value,
    read_text,
    selected_fact,
)
from app.process.memory import parse_meminfo

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
