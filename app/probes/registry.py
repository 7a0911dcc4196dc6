"""The registry of probes: the one place that lists them. A new probe is one file and one line here."""

from __future__ import annotations

from typing import Final

from app.probes.arrays import ArraysProbe
from app.probes.base import Probe
from app.probes.block_devices import BlockDevicesProbe
from app.probes.btrfs import BtrfsProbe
from app.probes.cpu import CpuProbe
from app.probes.kernel_threads import KernelThreadsProbe
from app.probes.memory import MemoryProbe
from app.probes.postgres_statistics import PostgresStatisticsProbe
from app.probes.pressure import PressureProbe
from app.probes.processes import ProcessesProbe
from app.probes.zfs import ZfsProbe

PROBES: Final[tuple[type[Probe], ...]] = (
    CpuProbe,
    ProcessesProbe,
    KernelThreadsProbe,
    BlockDevicesProbe,
    ArraysProbe,
    ZfsProbe,
    BtrfsProbe,
    MemoryProbe,
    PressureProbe,
    PostgresStatisticsProbe,
)


def make_probes() -> list[Probe]:
    """Return one fresh object of every probe, for one sampler."""
    return [probe() for probe in PROBES]
