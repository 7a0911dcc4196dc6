"""Distribution of latencies: merged histograms of runs, as shares and as percentiles by their nines."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.domain.run import Phase
from app.postgres.pgbench.histogram import Histogram, bucket_high
from app.runfile.histogram_decoding import merge_encoded
from app.runfile.reader import RunFile
from app.runfile.summary import EDGE_S

Array = NDArray[np.float64]

FEWEST_ABOVE: Final = 10
"""A percentile with fewer transactions above it depends on chance (practice of HdrHistogram and wrk2)."""


@dataclass(frozen=True)
class Distribution:
    """The latencies of the measured phase of one or several runs.

    Attributes:
        histogram: of all logged transactions.
        one_in: one in n was logged; the largest n if runs differ.
        partial: seconds with possibly missing lines.
    """

    histogram: Histogram = field(repr=False, compare=False)
    one_in: int
    partial: int

    @cached_property
    def _edges_ms(self) -> Array:
        return np.array([bucket_high(bucket) for bucket in self.histogram.buckets.tolist()]) / 1000

    def shares(self) -> tuple[Array, Array]:
        """Return (latency in ms, share of the transactions that took at most as long), ascending."""
        ends = np.cumsum(self.histogram.counts)
        return self._edges_ms, ends / max(1, self.histogram.total)

    def nines(self) -> tuple[Array, Array]:
        """Return (number of nines, latency in ms): 1 is the 90th percentile, 2 the 99th, 3 the 99.9th.

        It ends where fewer than `FEWEST_ABOVE` transactions are above.
        """
        total = self.histogram.total
        ends = np.cumsum(self.histogram.counts)
        kept = total - ends >= FEWEST_ABOVE
        above: Array = (total - ends[kept]) / max(1, total)
        return -np.log10(above), self._edges_ms[kept]


def read_distribution(path: Path, cut_s: float = 0.0) -> Distribution:
    """Return the latencies of a run's measured phase.

    Args:
        path: of the run file.
        cut_s: seconds excluded at the start.

    Raises:
        RunFileError: the file cannot be read, or a histogram is damaged.
    """
    with RunFile(path) as run:
        measured, one_in = run.phase(Phase.MEASURE), run.metadata.transaction_log_one_in
        start_ms = float("inf") if measured is None else measured.started_ms
        if cut_s:
            start_ms += 1000 * (cut_s - EDGE_S)
        end_ms = float("inf") if measured is None or measured.ended_ms is None else measured.ended_ms
        seconds = [second for second in run.latency_seconds() if start_ms <= second.t_ms <= end_ms]
    return Distribution(
        merge_encoded([second.buckets for second in seconds]),
        one_in if isinstance(one_in, int) and one_in > 0 else 1,
        sum(second.partial for second in seconds),
    )


def merge_distributions(distributions: Iterable[Distribution]) -> Distribution:
    """Return the latencies of several runs as one; a sampled run is scaled by its sampling.

    Its percentiles are those of all transactions together, never means of percentiles.
    """
    found = list(distributions)
    rates = {each.one_in for each in found}
    parts = [each.histogram if len(rates) == 1 else _scaled(each.histogram, each.one_in) for each in found]
    return Distribution(Histogram.merged(parts), max(rates, default=1), sum(each.partial for each in found))


def _scaled(histogram: Histogram, times: int) -> Histogram:
    return Histogram(histogram.buckets, histogram.counts * times)
