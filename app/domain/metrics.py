"""Every quantity that is sampled: one frozen object each, in one registry.

A series of a run file is a metric and an instance (a device, a kernel thread; empty for the machine
or the server as a whole). A probe may only yield metrics that stand here.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Group(StrEnum):
    """Which chart a metric belongs to."""

    TPS = "tps"
    LATENCY = "latency"
    IOPS = "iops"
    THROUGHPUT = "throughput"
    DEVICE = "device"
    CPU = "cpu"
    MEMORY = "memory"
    PRESSURE = "pressure"
    WAL = "wal"
    SERVER = "server"


class Better(StrEnum):
    """Which direction is better."""

    HIGHER = "higher"
    LOWER = "lower"
    NEITHER = "neither"


@dataclass(frozen=True, slots=True)
class Metric:
    """A sampled quantity.

    Attributes:
        id: stable name, stored in run files.
        label: what people read.
        unit: SI or plain unit of the stored value; rates are per second.
        group: chart.
        source: where the number comes from, for the facts panel and the documentation.
        better: direction.
    """

    id: str
    label: str
    unit: str
    group: Group
    source: str
    better: Better = Better.NEITHER


@dataclass(frozen=True, slots=True)
class Sample:
    """One value of one series.

    Attributes:
        metric: `Metric.id`.
        value: in the metric's unit.
        instance: device, thread name ...; empty for the whole.
    """

    metric: str
    value: float
    instance: str = ""
