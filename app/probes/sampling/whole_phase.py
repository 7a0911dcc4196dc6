"""Read the kernel's counters at the start and at the end of a phase, however short it was.

The sampler has one value per whole second inside a phase: two for a phase of three seconds. Cumulative
counters cover the whole phase with two reads.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Mapping
from typing import Final

from app.domain.metrics import Sample
from app.probes.base.probe import Counters, Probe, ProbeContext
from app.probes.sampling.sampler import ProbeSlot
from app.probes.sources.cpu import CpuProbe
from app.probes.sources.kernel_threads import KernelThreadsProbe
from app.probes.sources.others.swap_in import SwapInProbe
from app.probes.sources.pressure import PressureProbe
from app.probes.sources.processes import ProcessesProbe

_PROBES: Final[tuple[type[Probe], ...]] = (
    CpuProbe,
    ProcessesProbe,
    KernelThreadsProbe,
    PressureProbe,
    SwapInProbe,
)
"""The probes whose cumulative counters are needed to judge disturbances."""


class WholePhase:
    """Reads the counters twice: on creation, and in `read`. Used once.

    Args:
        context: of the probes. Nothing is read if the server is on another machine.
    """

    def __init__(self, context: ProbeContext) -> None:
        self._slots: list[ProbeSlot] = []
        self._ended = Counters()
        if context.server.elsewhere is None:
            # pgbench counts as an ended child: /proc no longer has it by then.
            own = ProbeContext(context.server)
            self._slots = [ProbeSlot(probe(), own) for probe in _PROBES]
        for slot in self._slots:
            slot.open()
            slot.read()
        self._started_s = time.monotonic()
        self._ended.step(_ended_children())

    def read(self) -> tuple[float, Mapping[str, float]]:
        """Return the seconds since the start, and means over them by metric and instance.

        A key is the metric, a blank and the instance, without the blank if there is no instance. Unreadable
        values are missing.
        """
        seconds = time.monotonic() - self._started_s
        samples = [sample for slot in self._slots for sample in slot.read()]
        if self._slots and (used := self._ended.step(_ended_children())) is not None:
            user, system = (gain / used.interval_s for gain in used.deltas)
            samples.append(Sample("process.cpu_user", round(user, 3), "pgbench"))
            samples.append(Sample("process.cpu_system", round(system, 3), "pgbench"))
        self.close()
        return seconds, {f"{each.metric} {each.instance}".strip(): each.value for each in samples}

    def close(self) -> None:
        """Close all files; a second call does nothing."""
        for slot in self._slots:
            slot.close()


def _ended_children() -> tuple[float, float]:
    """Return the CPU time of this process's ended children, which include pgbench."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime, usage.ru_stime
