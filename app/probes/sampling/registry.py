"""The registry of probes. A new probe is one file and one line here."""

from __future__ import annotations

from typing import Final

from app.probes.base.probe import Probe, ServerSources
from app.probes.remote.machine import RemoteMachineProbe
from app.probes.sources.block_devices import ArraysProbe, BlockDevicesProbe, BtrfsProbe, ZfsProbe
from app.probes.sources.cpu import (
    CpuProbe,
    FrequencyProbe,
    MemoryProbe,
    PressureProbe,
    SwapInProbe,
    ThrottlingProbe,
)
from app.probes.sources.others.foreign_io import ForeignIoProbe, MaintenanceProbe, PoolScanProbe
from app.probes.sources.postgres_statistics import PostgresStatisticsProbe, WaitEventsProbe
from app.probes.sources.processes import KernelThreadsProbe, ProcessesProbe, RunQueueProbe

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


def make_probes(server: ServerSources | None = None) -> list[Probe]:
    """Return a new object of every probe that fits a server, for one sampler.

    If the server's machine is read over ssh, it replaces this one in all series of machines.
    """
    if server is None or server.elsewhere is None:
        return [probe() for probe in PROBES]
    return [*(probe() for probe in PROBES if not probe.of_machine), RemoteMachineProbe()]
