"""A foreign run, ready to be written, with its known and missing values."""

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
        values: in the metric's unit; NaN is not written.
        source: of the numbers, in words.
    """

    metric: str
    t_s: Array
    values: Array
    source: str


@dataclass(frozen=True, slots=True)
class ForeignEvent:
    """An event, see table `event`."""

    t_s: float
    kind: str
    message: str
    data: Mapping[str, Json]


@dataclass(slots=True)
class ForeignRun:
    """One run.

    Attributes:
        digest: of its sources; the same for the same files.
        name: configuration and repeat.
        campaign: its name.
        folder: its campaign as a path below the imported root.
        started_epoch_s: None if unknown.
        duration_s: measured time.
        metadata: all that is known except name, campaign and start.
        facts: of the environment, under the probes' names.
        series: by the second.
        seconds: latencies by the second, None if there are none; may be called once.
        events: of the server.
        outputs: of programs, verbatim.
        marks: (kind, reason) labels.
        missing: (source, reason) of unknown values.
        notes: skipped lines and decisions, by file and line.
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
