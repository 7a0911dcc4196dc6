"""Facts about the machine for the run file, read before and after a run.

Keys are stable; no root is needed; reading takes well under a second. Unreadable values have a reason (see
`app.probes.base.fact_tree`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from app.domain.json_value import Json
from app.probes.base.backing_devices import Resolver
from app.probes.base.fact_tree import Facts, attempt, file_fact, read_text
from app.probes.base.probe import ServerSources
from app.probes.facts.machine import (
    frequency_facts,
    identity_facts,
    kernel_facts,
    memory_facts,
    power_facts,
    processor_facts,
    thermal_facts,
    virtualisation_facts,
)
from app.probes.facts.storage import storage_facts
from app.process.memory import parse_meminfo

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
