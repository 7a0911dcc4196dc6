"""Pages about all configurations, after the first page: verdicts, differences, charts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from app.analysis.labels import one_line
from app.comparison.differences import describe_sameness, what_differs
from app.comparison.overall.factor_verdicts import EXPLANATION, describe_factors, describe_not_counted
from app.domain.text import tr, trn
from app.report.blocks import Bar, BarFigure, Block, Text, TextRole
from app.report.figures import (
    MOST_DRAWN,
    MOST_LINES,
    charts_of,
    has_chart,
    key_of,
    longest_s,
    overlay,
    sources,
)
from app.report.findings import Findings
from app.report.pages.first_page import configuration_table, rows_first, shown_first, warned_first
from app.report.report_data import ReportedConfiguration, ReportedRun
from app.report.run_tables import SharedValue, shared_value_table
from app.runfile.series import mean_width

_OVERLAYS: Final = ("tps", "latency", "iops", "cpu")
MOST_ON_FIRST_PAGE: Final = 12
"""Most differing values on the first page."""


def verdict_pages(found: Findings) -> Iterator[Block]:
    """Yield all verdicts and reservations if the first page had no space for them."""
    few = len(found.verdicts) <= shown_first(found) and len(found.warnings) <= warned_first(found)
    many = [each for each in found.conditions if len(rows_first(found, each)) < len(each.configurations)]
    if few and not many and not found.factors.verdicts:
        return
    yield Text(TextRole.HEADING, tr("Verdicts"), bookmark=tr("Verdicts"), new_page=True)
    for verdict in found.verdicts[:MOST_DRAWN]:
        yield Text(TextRole.SMALL, verdict)
    if len(found.verdicts) > MOST_DRAWN:
        more = len(found.verdicts) - MOST_DRAWN
        sentence = trn(
            "{count} more comparison stands in the table only.",
            "{count} more comparisons stand in the table only.",
            more,
        )
        yield Text(TextRole.SMALL, sentence.format(count=more))
    for condition in many:
        if condition.name:
            yield Text(TextRole.SUBHEADING, condition.name)
        yield configuration_table(condition.configurations, len(condition.configurations))
    if found.factors.verdicts:
        yield Text(TextRole.SUBHEADING, tr("Over all cells"))
        sentences = (EXPLANATION, *describe_factors(found.factors), describe_not_counted(found.factors))
        yield from (Text(TextRole.SMALL, sentence) for sentence in sentences if sentence)
    if found.warnings:
        yield Text(TextRole.SUBHEADING, tr("Reservations"))
    for warning in found.warnings:
        yield Text(TextRole.SMALL, warning)


def overlay_pages(found: Findings) -> Iterator[Block]:
    """Yield all runs in common charts, one per metric; nothing for a single configuration."""
    configurations, runs = found.configurations, found.runs
    wanted = _OVERLAYS if len(configurations) <= MOST_DRAWN else _OVERLAYS[:1]
    charts = charts_of(runs, wanted, one_line=True)
    if len(configurations) < 2 or not charts:
        return
    yield Text(TextRole.HEADING, tr("All runs over time"), bookmark=tr("All runs over time"), new_page=True)
    if len(configurations) <= MOST_LINES:
        yield key_of(configurations)
    height = 42.0 if len(charts) > 3 else 66.0
    for chart in charts:
        yield from overlay(configurations, chart, height)
    sentence = tr(
        "Lines are means over {seconds:g} s around each second, for the eye only: no figure is made from "
        "them."
    )
    drawn = [run for run in runs if any(has_chart(run.data, chart, one_line=True) for chart in charts)]
    yield Text(TextRole.NOTE, f"{sentence.format(seconds=mean_width(longest_s(runs)))} {sources(drawn)}")


_MOST_TIMES: Final = 9.0
"""Upper limit of an interval with a line: with few uneven cycles it may reach tenfold and more."""


def checkpoint_figure(configurations: Sequence[ReportedConfiguration]) -> Iterator[Block]:
    """Yield the cost of checkpoints in the shown runs, with the interval of their cycles."""
    bars = []
    for configuration in configurations:
        shape = configuration.shown.compared.shape
        effect = None if shape is None else shape.checkpoint_effect
        if effect is not None:
            message = tr("{percent:+.0f} % over {cycles} cycles")
            drawn = effect.high < _MOST_TIMES
            bars.append(
                Bar(
                    label=configuration.name,
                    value=100 * (1 + effect.change),
                    interval=(100 * (1 + effect.low), 100 * (1 + effect.high)) if drawn else None,
                    colour_index=configuration.look,
                    tag=configuration.tag,
                    value_text=message.format(percent=100 * effect.change, cycles=effect.cycles),
                    warning=configuration.warning,
                )
            )
    if bars:
        sentence = tr(
            "TPS in the first fifth of a checkpoint cycle, in percent of those in its last fifth, without"
            " drift: at 100 checkpoints cost nothing. Lines: 95 % interval over the cycles. {runs}"
        )
        shown = [each.shown for each in configurations if each.look in {bar.colour_index for bar in bars}]
        yield BarFigure(
            tr("After a checkpoint began"),
            tr("percent of the TPS before the next one"),
            tuple(bars),
            sentence.format(runs=sources(shown)),
        )


def difference_pages(found: Findings) -> Iterator[Block]:
    """Yield the properties that differ between runs; if few, they are on the first page instead."""
    if len(found.runs) < 2:
        return
    comparability = what_differs([run.facts for run in found.runs])
    differences = comparability.differences
    values = sum(len(difference.variants) for difference in differences)
    brief = values <= MOST_ON_FIRST_PAGE and len(found.configurations) <= MOST_ON_FIRST_PAGE // 2
    brief = brief or not differences
    role = TextRole.SUBHEADING if brief else TextRole.HEADING
    yield Text(role, tr("What differs"), bookmark=tr("What differs"), new_page=not brief)
    if not differences:
        yield Text(TextRole.BODY, describe_sameness(comparability))
        return
    rows = (
        SharedValue(
            f"{difference.topic}: {one_line(difference.name)}" if place == 0 else "",
            one_line(variant.value),
            _whose(found.configurations, [found.runs[index] for index in variant.runs]),
        )
        for difference in differences
        for place, variant in enumerate(difference.variants)
    )
    yield shared_value_table(tr("Property"), rows)


def _whose(configurations: Sequence[ReportedConfiguration], runs: Sequence[ReportedRun]) -> str:
    """Return the tags of whole configurations, else of single runs."""
    having = {run.number for run in runs}
    tags: list[str] = []
    for configuration in configurations:
        mine = [run for run in configuration.runs if run.number in having]
        tags += [configuration.tag] if len(mine) == len(configuration.runs) else [run.tag for run in mine]
    return ", ".join(tags)
