"""What benches share: on which machine, how noisy, medians with intervals."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
RESAMPLES = 10_000


def describe_machine() -> str:
    """Return the CPU, the kernel and the load of the last minutes in one line."""
    text = Path("/proc/cpuinfo").read_text()
    models = [line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("model name")]
    model = models[0] if models else platform.machine()
    load = " ".join(Path("/proc/loadavg").read_text().split()[:3])
    python = platform.python_version()
    return f"{os.cpu_count()} x {model}, Linux {platform.release()}, Python {python}, load {load}"


def resident_bytes() -> int:
    """Return the memory of this process that is resident now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def cpu_times(cpu: int) -> tuple[float, float]:
    """Return the seconds that one CPU was busy, and that the hypervisor took from it, since the start."""
    for line in Path("/proc/stat").read_text().splitlines():
        name, *fields = line.split()
        if name == f"cpu{cpu}":
            user, nice, system, _idle, _iowait, irq, softirq, steal = (int(field) for field in fields[:8])
            return (user + nice + system + irq + softirq) / TICKS_PER_S, steal / TICKS_PER_S
    raise LookupError(f"cpu{cpu}")


@dataclass(frozen=True, slots=True)
class Spread:
    """A median with its quartiles and the 95 % bootstrap interval of the median and of the mean."""

    median: float
    low_quartile: float
    high_quartile: float
    mean: float
    median_interval: tuple[float, float]
    mean_interval: tuple[float, float]


def spread_of(values: Sequence[float]) -> Spread:
    """Return the spread of `values`; the resampling is the same at each call."""
    data = np.asarray(values, np.float64)
    picks = np.random.default_rng(20030401).integers(0, len(data), (RESAMPLES, len(data)))
    samples = data[picks]
    return Spread(
        median=float(np.median(data)),
        low_quartile=float(np.quantile(data, 0.25)),
        high_quartile=float(np.quantile(data, 0.75)),
        mean=float(data.mean()),
        median_interval=_interval(np.median(samples, axis=1)),
        mean_interval=_interval(samples.mean(axis=1)),
    )


def _interval(estimates: NDArray[np.float64]) -> tuple[float, float]:
    return float(np.quantile(estimates, 0.025)), float(np.quantile(estimates, 0.975))
