"""Define the input of charts: a run with its colour and name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from app.analysis.labels import one_line, with_warning
from app.comparison.label_shortening import identity_of, name_runs
from app.domain.text import tr
from app.runfile.reader import RunEvent
from app.runfile.series import PhaseRegion, RunData

Array = NDArray[np.float64]

STORAGE: Final = "storage."
"""Metrics with this prefix are sums over the chosen disks."""

MOST_DEVICES: Final = 3
"""Most different sets of devices listed in the heading of a chart."""


class PlotDataset(Protocol):
    """Data of a run, or of anything drawn like one; see `app.runfile.series`."""

    @property
    def begin_s(self) -> float:
        """Start of its axis, at most 0."""

    @property
    def end_s(self) -> float:
        """End of its axis."""

    @property
    def planned_s(self) -> float | None:
        """Planned end of its axis."""

    def series_keys(self) -> tuple[tuple[str, str], ...]:
        """Return (metric, instance) of every series."""

    def series(self, metric: str, instance: str = "") -> tuple[Array, Array]:
        """Return (positions, values), ascending."""

    def percentile(self, percent: float) -> tuple[Array, Array]:
        """Return (positions, latency in ms)."""

    def stalls(self) -> list[tuple[float, float]]:
        """Return (start, end) of shaded intervals."""

    def checkpoints(self) -> list[tuple[float, float, RunEvent]]:
        """Return (start, end, event) of marked events."""


@runtime_checkable
class WithBand(Protocol):
    """Data with an interval around its values."""

    def band(self, metric: str) -> tuple[Array, Array]:
        """Return lower and upper limits of the values of `series`."""


def phases_of(data: PlotDataset) -> tuple[PhaseRegion, ...]:
    """Return the phases of a workload with several, in order; empty if there is only one."""
    return data.regions if isinstance(data, RunData) else ()


def notes_of(data: PlotDataset) -> tuple[tuple[float, str], ...]:
    """Return (position, words) of the user's notes about moments of a run."""
    found = data.notes if isinstance(data, RunData) else ()
    return tuple((t_s, one_line(words)) for t_s, words in found)


def devices_words(runs: Iterable[PlotDataset]) -> str:
    """Return the devices of the sums of these runs, for the heading of a chart; empty for no run."""
    with_sums = (run for run in runs if any(name.startswith(STORAGE) for name, _ in run.series_keys()))
    known = [run.devices for run in with_sums if isinstance(run, RunData)]
    sentences = list(dict.fromkeys(each or tr("devices not known") for each in known))
    if len(sentences) > MOST_DEVICES:
        return tr("the devices of each run")
    return "; ".join(sentences)


def load_words(runs: Iterable[PlotDataset]) -> str:
    """Return what the latencies of these runs omit, for the heading of a chart; empty for nothing."""
    if any(isinstance(run, RunData) and run.is_closed_loop for run in runs):
        return tr("closed loop: waiting to start not counted")
    return ""


@dataclass(frozen=True, slots=True)
class RunTrace:
    """A saved run on a chart.

    Attributes:
        run_id: identity, for signals and focus.
        data: its series.
        colour_index: number of its configuration; determines colour and mark, the same everywhere.
        label: its name in lists and boxes.
        visible: whether it is drawn.
        pale: whether it is in the background, as the earlier runs of a campaign.
        group: the same for repeats of one configuration; empty for a run without one.
        group_label: name of the configuration.
        warning: part of its name that is never shortened, such as UNSAFE.
    """

    run_id: str
    data: PlotDataset = field(repr=False, compare=False)
    colour_index: int
    label: str
    visible: bool = True
    pale: bool = False
    group: str = ""
    group_label: str = ""
    warning: str = ""


def named_traces(runs: Sequence[tuple[str, RunData, int]]) -> tuple[RunTrace, ...]:
    """Return runs as traces, each with the shortest unique name.

    Args:
        runs: (identity, series, number of its configuration).
    """
    identities = [identity_of(data) for _, data, _ in runs]
    names = name_runs(identities)
    return tuple(
        RunTrace(
            run_id,
            data,
            number,
            with_warning(name.run, name.warning),
            group="\n".join(identity.group),
            group_label=with_warning(name.configuration, name.warning),
            warning=name.warning,
        )
        for (run_id, data, number), identity, name in zip(runs, identities, names, strict=True)
    )
