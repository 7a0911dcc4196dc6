"""Charts in words, for those who do not see them: quantity, unit, figures of each line, what happened."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from app.domain.text import tr, trn
from app.domain.units import format_duration
from ui.charts.data.lines import Line
from ui.charts.data.registry import ChartSpec
from ui.charts.data.scale import Range, format_moment, format_value
from ui.charts.data.x_axis import TIME, XAxisKind
from ui.charts.painting.crosshair import Reading
from ui.charts.stack.chart import Chart
from ui.charts.stack.chart_model import ChartModel

MOST_LINES: Final = 24
"""Of a chart that are told; beyond, the table of figures is what can be heard row by row."""
_HIGH: Final = 95.0
_PLACES: Final = 6
"""Of a line that is no line over time."""


def told_charts(charts: Sequence[Chart], model: ChartModel, kind: XAxisKind, times: Range) -> str:
    """Return what charts show, in sentences: the part shown, each chart with its lines, and the marks."""
    shown = [chart for chart in charts if chart.lines]
    if not shown:
        return model.words_for_nothing
    begin, end = (kind.moment(each, times[1]) for each in times)
    told = [tr("Shown from {begin} to {end}.").format(begin=begin, end=end)]
    told += [_told_chart(chart, kind, times) for chart in shown]
    if kind is TIME:
        told += _told_marks(model, times)
    return " ".join(told)


def told_reading(charts: Sequence[Chart]) -> str:
    """Return what the crosshair says in all charts; empty where it is nowhere."""
    read = [(chart.spec, chart.crosshair.reading) for chart in charts if chart.lines]
    known = [(spec, reading) for spec, reading in read if reading is not None]
    if not known:
        return ""
    told = [f"{known[0][1].title}."]
    told += [_told_reading(spec, reading) for spec, reading in known]
    return " ".join(told)


def _told_reading(spec: ChartSpec, reading: Reading) -> str:
    """Return the values of one chart; where lines have several columns, only what the first one says."""
    several = reading.columns if not reading.is_detailed else ()
    rows = [f"{name} {_joined(several, values)}" for _, name, values in reading.rows]
    return tr("{chart}, {unit}: {values}.").format(chart=spec.title, unit=spec.unit, values="; ".join(rows))


def _joined(columns: Sequence[str], values: Sequence[str]) -> str:
    if not columns:
        return values[0]
    return ", ".join(f"{column} {value}" for column, value in zip(columns, values, strict=True) if value)


def _told_chart(chart: Chart, kind: XAxisKind, times: Range) -> str:
    lines = sorted(chart.lines, key=lambda line: -line.rank)
    parts = [
        tr("{line}: {figures}").format(line=_name_of(line, lines), figures=figures)
        for line in lines[:MOST_LINES]
        if (figures := _over_time(line, times) if kind is TIME else _over_places(line, times, kind))
    ]
    parts += [
        tr("{line}: {figures}").format(line=limit.label, figures=format_value(float(limit.main.values[-1])))
        for limit in chart.limits
    ]
    left_out = len(lines) - MOST_LINES
    if left_out > 0:
        parts.append(trn("and {count} more line", "and {count} more lines", left_out).format(count=left_out))
    values = "; ".join(parts) or tr("nothing in this part")
    sentence = tr("{chart}, {unit}: {values}.")
    return sentence.format(chart=chart.spec.title, unit=chart.spec.unit, values=values)


def _name_of(line: Line, lines: Sequence[Line]) -> str:
    """Return the name of a run, its curve, or both: what tells a line from the others."""
    runs = {each.run_id for each in lines}
    curves = {each.curve.id for each in lines}
    if len(curves) < 2:
        return line.label
    return line.curve.label if len(runs) < 2 else f"{line.label}, {line.curve.label}"


def _over_time(line: Line, times: Range) -> str:
    """Return the newest value of a line, mean and 95th percentile; what is no measurement does not count."""
    seconds, main = line.data.seconds, line.main
    first, last = (
        int(np.searchsorted(seconds.t_s, each, side="right")) for each in (max(times[0], 0.0), times[1])
    )
    values = seconds.values[first:last]
    end = int(np.searchsorted(main.t_s, times[1], side="right"))
    if end == 0 or float(main.t_s[end - 1]) < times[0]:
        return ""
    newest = tr("newest {value}").format(value=format_value(float(main.values[end - 1])))
    if not len(values):
        return newest
    figures = tr("{newest}, mean {mean}, 95th percentile {high}")
    return figures.format(
        newest=newest,
        mean=format_value(float(values.mean())),
        high=format_value(float(np.percentile(values, _HIGH))),
    )


def _over_places(line: Line, times: Range, kind: XAxisKind) -> str:
    """Return the values of a line at the labels of an axis that is no time."""
    read = ((place, line.read(place)) for place in kind.ticks(*times, _PLACES))
    return ", ".join(
        tr("{place} {value}").format(place=kind.label(place, times[1]), value=format_value(value))
        for place, value in read
        if value is not None
    )


def _told_marks(model: ChartModel, times: Range) -> Iterator[str]:
    """Yield a sentence about checkpoints and one about stalls of the run whose marks are drawn."""
    if model.told is None:
        return
    name = model.name_of_told
    begun = [
        begin_s for begin_s, end_s, _ in model.told.checkpoints() if end_s >= times[0] and begin_s <= times[1]
    ]
    stalls = [
        (max(a, times[0]), min(b, times[1])) for a, b in model.told.stalls() if b > times[0] and a < times[1]
    ]
    sentences = []
    if begun:
        told = trn("{count} checkpoint, at {time}.", "{count} checkpoints, the last at {time}.", len(begun))
        sentences.append(told.format(count=len(begun), time=format_moment(max(begun), times[1])))
    if stalls:
        told = trn(
            "{count} stall, {duration} in all, at {time}.",
            "{count} stalls, {duration} in all, the last at {time}.",
            len(stalls),
        )
        whole = format_duration(sum(b - a for a, b in stalls))
        last = format_moment(stalls[-1][0], times[1])
        sentences.append(told.format(count=len(stalls), duration=whole, time=last))
    for sentence in sentences:
        yield tr("{run}: {sentence}").format(run=name, sentence=sentence) if name else sentence
