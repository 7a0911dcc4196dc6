"""What the table below the charts says of each run or configuration: figures of the time that is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from app.analysis.labels import mark_words
from app.runfile.metadata.safety import NOT_DURABLE, UNSAFE
from app.runfile.series import RunData
from ui.charts.data.curves import CurveData
from ui.charts.data.min_max_pyramid import Array
from ui.charts.data.plotted_run import RunTrace
from ui.charts.data.registry import ChartSpec, CurveSpec
from ui.charts.data.scale import Range
from ui.charts.stack.chart_model import ChartModel

_HIGH: Final = 95.0


@dataclass(frozen=True, slots=True)
class LegendRow:
    """A run, or a configuration with its repeats.

    Attributes:
        key: the same for the same one.
        trace: how it is drawn and called.
        run_ids: of its runs.
        visible: how many of them are drawn.
        mean: of the seconds shown, in the chart's unit; None where there are none.
        high: 95th percentile of the same seconds of all its runs.
        most: highest of these seconds.
        last: value of its line at the right edge.
        marks: of its runs, in words; those that its name has already are left out.
    """

    key: str
    trace: RunTrace
    run_ids: tuple[str, ...]
    visible: int
    mean: float | None
    high: float | None
    most: float | None
    last: float | None
    marks: tuple[str, ...]


def main_curve(chart: ChartSpec) -> CurveSpec:
    """Return the curve whose figures stand for a chart."""
    return next((curve for curve in chart.curves if curve.main), chart.curves[0])


def legend_rows(model: ChartModel, chart: ChartSpec, times: Range) -> tuple[LegendRow, ...]:
    """Return a row for everything that may be drawn, hidden ones included, in the order of the runs.

    Args:
        model: what is shown.
        chart: whose main curve the figures are of.
        times: that are shown; what lies before the measurement does not count.
    """
    curve = main_curve(chart)
    rows = []
    for bundle in model.all_bundles:
        members = [model.curve_of(trace, chart, curve) for trace in bundle.members]
        values = [_inside(data, times) for data in members]
        pooled = np.concatenate(values) if values else np.empty(0)
        means = [float(each.mean()) for each in values if len(each)]
        rows.append(
            LegendRow(
                bundle.trace.run_id,
                bundle.trace,
                tuple(trace.run_id for trace in bundle.members),
                sum(trace.visible for trace in bundle.members),
                float(np.mean(means)) if means else None,
                float(np.percentile(pooled, _HIGH)) if len(pooled) else None,
                float(pooled.max()) if len(pooled) else None,
                _last(members, times),
                _marks(bundle.members),
            )
        )
    return tuple(rows)


def _inside(data: CurveData, times: Range) -> Array:
    t_s, values = data.seconds.t_s, data.seconds.values
    begin_s = max(times[0], 0.0)
    first = int(np.searchsorted(t_s, begin_s, side="right"))
    return values[first : int(np.searchsorted(t_s, times[1], side="right"))]


def _last(members: Sequence[CurveData], times: Range) -> float | None:
    """Return the mean of what the lines say at the end of what is shown."""
    found = []
    for data in members:
        end = int(np.searchsorted(data.main.t_s, times[1], side="right")) - 1
        if end >= 0 and float(data.main.t_s[end]) >= times[0]:
            found.append(float(data.main.values[end]))
    return float(np.mean(found)) if found else None


def _marks(traces: Sequence[RunTrace]) -> tuple[str, ...]:
    kinds = {kind for trace in traces if isinstance(trace.data, RunData) for kind in trace.data.marks}
    return tuple(mark_words(kind) for kind in sorted(kinds - {UNSAFE, NOT_DURABLE}))
