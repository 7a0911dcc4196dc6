"""The registry of probes: the one place that lists them. A new probe is one file and one line here."""

from __future__ import annotations

from typing import Final

from app.probes.base.probe import Probe
from app.probes.sources.arrays import ArraysProbe
from app.probes.sources.block_devices import BlockDevicesProbe
from app.probes.sources.btrfs import BtrfsProbe
from app.probes.sources.cpu import CpuProbe
from app.probes.sources.kernel_threads import KernelThreadsProbe
from app.probes.sources.memory import MemoryProbe
from app.probes.sources.others.foreign_io import ForeignIoProbe
from app.probes.sources.others.frequency import FrequencyProbe
from app.probes.sources.others.maintenance import MaintenanceProbe
from app.probes.sources.others.pool_scan import PoolScanProbe
from app.probes.sources.others.swap_in import SwapInProbe
from app.probes.sources.others.throttling import ThrottlingProbe
from app.probes.sources.postgres_statistics import PostgresStatisticsProbe
from app.probes.sources.pressure import PressureProbe
from app.probes.sources.processes import ProcessesProbe
from app.probes.sources.run_queue import RunQueueProbe
from app.probes.sources.wait_events import WaitEventsProbe
from app.probes.sources.zfs import ZfsProbe

PROBES: Final[tuple[type[Probe], ...]] = (
    CpuProbe,
    ProcessesProbe,
    RunQueueProbe,
    KernelThreadsProbe,
    BlockDevicesProbe,
    ArraysProbe,
    ZfsProbe,
    BtrfsProbe,
    MemoryProbe,
    PressureProbe,
    SwapInProbe,
    ThrottlingProbe,
    FrequencyProbe,
    ForeignIoProbe,
    MaintenanceProbe,
    PoolScanProbe,
    PostgresStatisticsProbe,
    WaitEventsProbe,
)


def make_probes() -> list[Probe]:
    """Return one fresh object of every probe, for one sampler."""
    return [probe() for probe in PROBES]
