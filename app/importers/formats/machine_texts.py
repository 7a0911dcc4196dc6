"""Machines in a README: a heading with the name of a folder, below it lines such as ``* RAM: 8GB``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from app.domain.units import GIB, MIB, TIB
from app.probes.base.fact_tree import Facts

_HEADING: Final = re.compile(r"#{1,4}\s+(.+?)\s*#*")
_ITEM: Final = re.compile(
    r"\s*[*•-]\s+(?:(CPU|processor|RAM|memory|storage|disks?|kernel|OS|system)\s*:?\s+)(.+)", re.IGNORECASE
)
_SIZE: Final = re.compile(r"(\d{1,6})\s*(MB|MiB|GB|GiB|TB|TiB)\b", re.IGNORECASE)
_UNITS: Final = {"m": MIB, "g": GIB, "t": TIB}
_KERNEL: Final = re.compile(r"\d+\.\d+(?:\.\d+)?\S*")
_NAMES: Final = {
    "cpu": "processor",
    "ram": "memory",
    "disk": "storage",
    "disks": "storage",
    "os": "system",
}

Machine = Mapping[str, str]


def parse_machines(text: str) -> dict[str, Machine]:
    """Return what a README says of machines, by heading; headings without such lines are left out."""
    found: dict[str, dict[str, str]] = {}
    heading = ""
    for line in text.splitlines():
        if match := _HEADING.fullmatch(line):
            heading = match[1]
        elif (match := _ITEM.fullmatch(line)) and heading:
            kind = match[1].lower()
            found.setdefault(heading, {}).setdefault(_NAMES.get(kind, kind), match[2].strip())
    return dict(found)


def machine_facts(name: str, machine: Machine) -> Facts:
    """Return facts as the probes name them, of what a README says."""
    facts: Facts = {"machine": {"name": name, **machine}}
    if processor := machine.get("processor"):
        facts["processor"] = {"info": {"model_name": processor}}
    if size := _SIZE.search(machine.get("memory", "")):
        # Memory is sold in powers of two, whatever unit is written.
        facts["memory"] = {"info": {"MemTotal": int(size[1]) * _UNITS[size[2][0].lower()]}}
    if kernel := _KERNEL.search(machine.get("kernel", "")):
        facts["kernel"] = {"release": kernel[0]}
    return facts
