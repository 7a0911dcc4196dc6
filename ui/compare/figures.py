"""Make the figures of the compare page from a comparison: bars, tables of bars. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from app.analysis.labels import mark_words
from app.analysis.stability import WITHIN_RUN_NOTE, own_interval_words
from app.comparison.comparison import RunComparison
from app.comparison.factors import number_of
from app.comparison.figures import COSTS, LATENCIES, LOADING, figure
from app.comparison.groups import ComparedGroup, is_disturbed
from app.comparison.matrix import Cell
from app.domain.metrics import Direction
from app.domain.text import number_text, tr, trn
from app.published.figures import PublishedFigure
from app.report.blocks import Bar
from app.runfile.disturbance import DISTURBED
from app.statistics.verdict import RunInterval, run_interval
from ui.charts.data.scale import format_value
from ui.charts.figures.bars import BarFigure, BarGroup, Panel, PanelFigure
from ui.charts.painting.sheet_painting import LOST
from ui.compare.content import Content

OFFERED: Final = (
    *("tps", *LATENCIES, "jitter_cv", "stall_s", "longest_stall_s", "checkpoint_share"),
    *COSTS,
    *LOADING,
)
"""Names of the figures available as bars."""

TPS: Final = "tps"


def figure_label(name: str) -> str:
    """Return the name of a figure with its unit, capitalised."""
    chosen = figure(name)
    label = chosen.label[:1].upper() + chosen.label[1:]
    unit = "" if chosen.unit in {"", "1/s"} else f", {chosen.unit}"
    return f"{label}{unit}"


def measured_label(comparison: RunComparison, name: str) -> str:
    """Return the name of a figure with the part of the runs that it covers."""
    return comparison.measured(figure_label(name))


def figure_heading(name: str) -> str:
    """Return the shortest name of a figure, for a column with units in its cells."""
    chosen = figure(name)
    return chosen.heading.removesuffix(f" {chosen.unit}") or figure_label(name)


def better_words(name: str) -> str:
    """Return whether lower or higher is better, in words."""
    words = {Direction.HIGHER: tr("higher is better"), Direction.LOWER: tr("lower is better")}
    return words.get(figure(name).better, "")


def known_figures(groups: Sequence[ComparedGroup]) -> tuple[str, ...]:
    """Return the available figures that any run of these configurations has."""
    return tuple(name for name in OFFERED if any(group.values(name) for group in groups))


def make_figure(
    content: Content, name: str, published: tuple[PublishedFigure, ...] = ()
) -> BarFigure | PanelFigure | None:
    """Return a figure of all configurations: the tables of a matrix, else bars; None without a comparison.

    Args:
        content: with the comparison.
        name: of the figure.
        published: published figures that may be shown beside bars.
    """
    if content.comparison is None:
        return None
    return make_bars(content, name, published) if content.matrix is None else _make_panels(content, name)


def make_bars(content: Content, name: str, published: tuple[PublishedFigure, ...] = ()) -> BarFigure | None:
    """Return a figure of all configurations as bars, the best first; None without a comparison.

    Args:
        content: with the comparison.
        name: of the figure; configurations that are not ranked are last.
        published: published figures that may be shown too.
    """
    comparison = content.comparison
    if comparison is None:
        return None
    groups = []
    for part in comparison.parts:
        bars = [bar_of(content, group, name) for group in _best_first(part.groups, name)]
        marks = marks_for(part.groups, published) if name == TPS else ()
        groups.append(BarGroup(part.condition, (*bars, *marks)))
    note = tr("{better}; whiskers: 95 % CI; dotted: within one run; dots: individual runs")
    return BarFigure(measured_label(comparison, name), tuple(groups), note.format(better=better_words(name)))


def _make_panels(content: Content, name: str) -> PanelFigure | None:
    comparison, matrix = content.comparison, content.matrix
    if comparison is None or matrix is None:
        return None
    panels = tuple(
        Panel(
            block.part.condition,
            block.rows,
            block.columns,
            {at: _cell_bar(content, cell, name) for at, cell in block.cells.items()},
            block.best(comparison.effect) if name == TPS else frozenset(),
        )
        for block in matrix.blocks
    )
    note = tr("{better}; bold: the fastest, or not significantly slower; whiskers: 95 % CI")
    if name != TPS:
        note = tr("{better}; whiskers: 95 % CI")
    shown = {bar.warning for panel in panels for bar in panel.bars.values()} - {""}
    signs = [
        (tr("ring: {warning}") if each == LOST else tr("triangle: {warning}")).format(warning=each)
        for each in sorted(shown)
    ]
    words = "; ".join((note.format(better=better_words(name)), *signs))
    return PanelFigure(measured_label(comparison, name), matrix.down, panels, words)


def _cell_bar(content: Content, cell: Cell, name: str) -> Bar:
    """Return the bar of a cell: of its ranked configurations if it has any."""
    rows = [row for row in cell.rows if row.is_ranked] or cell.rows
    bars = [bar_of(content, row.group, name) for row in rows]
    if len(bars) == 1:
        return bars[0]
    known = [bar.value for bar in bars if bar.value is not None]
    return replace(
        bars[0],
        value=math.fsum(known) / len(known) if known else None,
        interval=None,
        tip="\n".join(f"{bar.label}: {format_value(bar.value or 0.0)}" for bar in bars),
    )


def _best_first(groups: Sequence[ComparedGroup], name: str) -> list[ComparedGroup]:
    sign = 1 if figure(name).better is Direction.LOWER else -1

    def key(group: ComparedGroup) -> tuple[bool, float]:
        mean = run_interval(tuple(group.values(name))).mean
        return group.not_durable, math.inf if mean is None else sign * mean

    return sorted(groups, key=key)


def bar_of(content: Content, group: ComparedGroup, name: str) -> Bar:
    """Return the bar of a configuration, for whole runs or one of their phases."""
    values = tuple(group.values(name))
    mean = run_interval(values)
    interval, within, tips = _interval(group, name, mean)
    notes = []
    if any(map(is_disturbed, group.disturbed)):
        notes.append(mark_words(DISTURBED))
    if mean.runs > 0 and mean.indicative_only:
        notes.append(tr("indicative only"))
    if not mean.runs:
        notes.append(tr("no result"))
    return Bar(
        label=group.name,
        value=mean.mean,
        interval=interval,
        within=within,
        points=values if mean.runs > 1 else (),
        colour_index=content.group_colour(group),
        note=", ".join(notes),
        warning=group.warning,
        tip="\n".join(tips),
    )


def _interval(
    group: ComparedGroup, name: str, mean: RunInterval
) -> tuple[tuple[float, float] | None, bool, list[str]]:
    """Return (whiskers, whether they are those within a run, lines that explain them)."""
    if mean.ends is not None:
        return mean.ends, False, [_runs_words(mean.runs)]
    members = group.included_runs
    if name != TPS or len(members) != 1:
        return None, False, [_runs_words(mean.runs)] if mean.runs else []
    own = members[0].own_interval
    if own is None:
        return None, False, [_runs_words(mean.runs)]
    tips = [own_interval_words(own), WITHIN_RUN_NOTE]
    return (own.low, own.high), True, tips


def _runs_words(runs: int) -> str:
    return trn("{count} run", "{count} runs", runs).format(count=runs)


# --- Published figures to show with one's own bars: same filesystem, RAID level and workload. Of several
# with the same name the one with the nearest scale.


_MOST = 8
_ALIKE = math.log(1.5)
_FILESYSTEM = (tr("Target"), tr("filesystem"))
_RAID = (tr("Target"), "RAID")
_WORKLOAD = (tr("Workload"), tr("transactions"))
_SCALE = (tr("Workload"), tr("scale"))


def marks_for(groups: tuple[ComparedGroup, ...], published: tuple[PublishedFigure, ...]) -> tuple[Bar, ...]:
    """Return published marks that match these groups, those of the nearest scale first."""
    wanted = [_properties(group) for group in groups]
    found = [each for each in published if any(_fits(each, one) for one in wanted)]
    scales = [
        number for one in wanted if (number := number_of(one.get(_SCALE, ""))) is not None and number > 0
    ]
    nearest: dict[str, PublishedFigure] = {}
    for each in sorted(found, key=lambda each: _distance(each, scales)):
        nearest.setdefault(each.label, each)
    # With a figure at the same scale, figures at others would only confuse.
    least = min((_distance(each, scales) for each in nearest.values()), default=0.0)
    kept = [each for each in nearest.values() if _distance(each, scales) <= max(least, _ALIKE)]
    return tuple(_mark(each) for each in kept[:_MOST])


def _distance(figure: PublishedFigure, scales: Sequence[float]) -> float:
    """Return the distance of a figure's scale from one's own, in powers of e; large if unknown."""
    if not figure.scale or not scales:
        return math.inf
    return min(abs(math.log(figure.scale / scale)) for scale in scales)


def _properties(group: ComparedGroup) -> dict[tuple[str, str], str]:
    return {(item.topic, item.name): item.value for item in group.facts.properties}


def _fits(figure: PublishedFigure, wanted: dict[tuple[str, str], str]) -> bool:
    filesystem, raid = wanted.get(_FILESYSTEM, ""), wanted.get(_RAID, "")
    if not filesystem or filesystem not in figure.filesystem.split("/"):
        return False
    if raid and figure.raid and figure.raid != raid:
        return False
    return bool(figure.workload) and figure.workload == wanted.get(_WORKLOAD)


def _mark(figure: PublishedFigure) -> Bar:
    scale = (
        ""
        if figure.scale is None
        else ", " + tr("scale {scale}").format(scale=number_text(figure.scale, ","))
    )
    tip = [figure.quotation, *figure.conditions, tr("Published result, for reference only.")]
    return Bar(
        label=f"{figure.label}{scale}",
        value=figure.value,
        note=tr("published"),
        tip="\n".join(tip),
        published=True,
    )
