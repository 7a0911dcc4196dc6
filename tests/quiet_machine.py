"""What the kernel's counters say of a measured phase beside which others did nothing."""

from __future__ import annotations

from typing import Final

from app.domain.json_value import Json
from app.runfile.writer import WHOLE_PHASE, RunFileWriter

QUIET: Final[dict[str, float]] = {
    "cpu.user": 1.2,
    "cpu.system": 0.5,
    "cpu.steal": 0.0,
    "process.cpu_user postgres": 0.8,
    "process.cpu_system postgres": 0.3,
    "process.cpu_user pgbench": 0.38,
    "process.cpu_system pgbench": 0.19,
    "process.cpu_user pgfooting": 0.01,
    "process.cpu_system pgfooting": 0.01,
}
"""Means over the phase by metric and instance, in cores of two."""


def write_quiet(writer: RunFileWriter, others: float = 0.0, seconds: float = 20.0) -> None:
    """Store that others used so many cores; called in a transaction."""
    values: dict[str, Json] = {**QUIET, "cpu.user": QUIET["cpu.user"] + others}
    writer.add_facts(WHOLE_PHASE, {"seconds": seconds, "cpus": 2, "means": values})
