"""A run of others, ready to be written: what is known of it, and what is not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from app.domain.json_value import Json
from app.importers.runs.per_second_store import StoredSecond
from app.runfile.metadata.run_metadata import RunMetadata

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ForeignSeries:
    """One series.

    Attributes:
        metric: see app/domain/metrics.py.
        t_s: end of each interval since the start of the run.
        values: in the metric's unit; what is no number is left out when written.
        source: where the numbers come from, in words.
    """

    metric: str
    t_s: Array
    values: Array
    source: str


@dataclass(frozen=True, slots=True)
class ForeignEvent:
    """Something that happened, see table `event`."""

    t_s: float
    kind: str
    message: str
    data: Mapping[str, Json]


@dataclass(slots=True)
class ForeignRun:
    """One run.

    Attributes:
        digest: of what it was read from; the same for the same files.
        name: configuration and repeat.
        campaign: what it belonged to, in words.
        folder: the same as a path below the root that was imported.
        started_epoch_s: None where nothing tells it.
        duration_s: measured time.
        metadata: what is known of it beside name, campaign and start.
        facts: of the environment, as the probes name them.
        series: by the second.
        seconds: latencies by the second, None where there are none; may be called once.
        events: of the server.
        outputs: what programs printed, verbatim.
        marks: (kind, reason) labels.
        missing: (source, reason) of what is not known.
        notes: what was left out or decided while reading, by file and line.
    """

    digest: str
    name: str
    campaign: str
    folder: str
    started_epoch_s: float | None = None
    duration_s: float = 0.0
    metadata: RunMetadata = field(default_factory=RunMetadata)
    facts: dict[str, Json] = field(default_factory=dict)
    series: list[ForeignSeries] = field(default_factory=list)
    seconds: Callable[[], Iterator[StoredSecond]] | None = None
    events: list[ForeignEvent] = field(default_factory=list)
    outputs: dict[str, str] = field(default_factory=dict)
    marks: list[tuple[str, str]] = field(default_factory=list)
    missing: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
