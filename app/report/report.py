"""A report, or a picture of charts, from run files: reads, compares, says all in order. Paints nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from app.analysis.facts import RunFacts
from app.analysis.labels import one_line
from app.comparison.differences import describe_sameness, what_differs
from app.comparison.overall.factor_wording import EXPLANATION, describe_factors, describe_not_counted
from app.domain.errors import FootingError
from app.domain.text import tr
from app.domain.units import format_duration
from app.export.anonymize import Anonymizer
from app.report.appendix import appendix
from app.report.blocks import Bar, BarFigure, Block, Facts, Report, Text, TextRole
from app.report.figures import MOST_LINES, charts_of, details, has_chart, key_of, overlay, sources
from app.report.findings import Findings, find
from app.report.first_page import first_page, told_first, warned_first
from app.report.phase_pages import phase_pages
from app.report.report_data import ReportedConfiguration, ReportedRun, clip, read_runs
from app.report.run_tables import (
    SharedValue,
    baseline_blocks,
    compression_table,
    cost_table,
    figure_pages,
    shared_value_table,
    speed_table,
)
from app.runfile.disturbance import DISTURBED
from app.runfile.metadata.safety import NOT_DURABLE, UNSAFE

_LATEST_EPOCH_S: Final = 253402300799.0
"""The end of the year 9999, after which there are no dates; a foreign file may say anything."""


def read_report(paths: Iterable[Path], *, anonymous: bool = False) -> Report:
    """Return the report of these run files.

    Args:
        paths: at least one; the first configuration of the first one's campaign is the baseline.
        anonymous: whether serials, host, user and folders are replaced.

    Raises:
        RunFileError: a file cannot be read.
    """
    facts, data = read_runs(paths, Anonymizer.of_this_machine() if anonymous else Anonymizer.none())
    found = find(facts, data)
    runs = tuple(run.data for run in found.runs)
    return Report(found.title, tuple(_blocks(found)), runs, newest_end(facts))


def _blocks(found: Findings) -> Iterable[Block]:
    yield from first_page(found)
    yield from difference_pages(found)
    yield from verdict_pages(found)
    yield from phase_pages(found)
    yield from overlay_pages(found)
    yield from figure_pages(found)
    yield from checkpoint_figure(found.configurations)
    for configuration in found.configurations:
        yield from configuration_pages(found, configuration)
    yield from appendix(found)


def newest_end(runs: Iterable[RunFacts]) -> float:
    """Return when the newest run ended; 0 where nothing is known."""
    ends = [
        run.started_epoch_s + (run.shape.duration_s if run.shape else 0.0)
        for run in runs
        if run.started_epoch_s is not None
    ]
    return max((end for end in ends if 0 <= end <= _LATEST_EPOCH_S), default=0.0)


# --- What a picture of runs shows: their lines over each other, one chart below the other, and the sources.


_CHARTS: Final = ("tps", "latency", "iops")
_HEIGHT_MM: Final = 55.0


def read_picture(paths: Iterable[Path], *, anonymous: bool = False) -> Report:
    """Return the charts of these run files as a report of one sheet.

    Args:
        paths: at least one.
        anonymous: whether serials, host, user and folders are replaced.

    Raises:
        RunFileError: a file cannot be read.
        FootingError: there is nothing to draw.
    """
    facts, data = read_runs(paths, Anonymizer.of_this_machine() if anonymous else Anonymizer.none())
    found = find(facts, data)
    blocks = tuple(_picture_blocks(found))
    if not blocks:
        message = tr("There is nothing to draw: no run measured a single second.")
        raise FootingError(message)
    return Report(found.title, blocks, tuple(run.data for run in found.runs), newest_end(facts))


def _picture_blocks(found: Findings) -> Iterable[Block]:
    charts = charts_of(found.runs, _CHARTS)
    if not charts:
        return
    yield Text(TextRole.HEADING, found.title)
    for configuration in found.configurations:
        for reason in (*configuration.not_durable, *configuration.unsafe):
            sentence = tr("{warning}: {tag} {name}: {reason}")
            told = sentence.format(
                warning=configuration.warning, tag=configuration.tag, name=configuration.name, reason=reason
            )
            yield Text(TextRole.WARNING, told)
    if len(found.configurations) <= MOST_LINES:
        yield key_of(found.configurations)
    for chart in charts:
        yield from overlay(found.configurations, chart, _HEIGHT_MM)
    yield Text(TextRole.NOTE, sources(found.runs))


# --- The pages behind the first: verdicts, what differs, overlays, one page per configuration.


_OVERLAYS: Final = ("tps", "latency", "iops", "cpu")
MOST_ON_FIRST_PAGE: Final = 12
"""Values that differ and still stand on the first page."""


def verdict_pages(found: Findings) -> Iterator[Block]:
    """Yield the verdicts and reservations where the first page had no room for them all."""
    few = len(found.verdicts) <= told_first(found) and len(found.warnings) <= warned_first(found)
    if few and not found.factors.verdicts:
        return
    yield Text(TextRole.HEADING, tr("Verdicts"), bookmark=tr("Verdicts"), new_page=True)
    for verdict in found.verdicts:
        yield Text(TextRole.BODY, verdict)
    if found.factors.verdicts:
        yield Text(TextRole.SUBHEADING, tr("Over all cells"))
        told = (EXPLANATION, *describe_factors(found.factors), describe_not_counted(found.factors))
        yield from (Text(TextRole.BODY, sentence) for sentence in told if sentence)
    if found.warnings:
        yield Text(TextRole.SUBHEADING, tr("Reservations"))
    for warning in found.warnings:
        yield Text(TextRole.BODY, warning)


def overlay_pages(found: Findings) -> Iterator[Block]:
    """Yield all runs over each other, one chart a metric; nothing for a single configuration."""
    configurations, runs = found.configurations, found.runs
    charts = charts_of(runs, _OVERLAYS)
    if len(configurations) < 2 or not charts:
        return
    yield Text(TextRole.HEADING, tr("All runs over time"), bookmark=tr("All runs over time"), new_page=True)
    if len(configurations) <= MOST_LINES:
        yield key_of(configurations)
    height = 37.0 if len(charts) > 3 else 66.0
    for chart in charts:
        yield from overlay(configurations, chart, height)
    sentence = tr(
        "Lines are means over 15 s around each second, for the eye only: no figure is made from them."
    )
    drawn = [run for run in runs if any(has_chart(run.data, chart) for chart in charts)]
    yield Text(TextRole.NOTE, f"{sentence} {sources(drawn)}")


_MOST_DRAWN: Final = 9.0
"""An interval of few uneven cycles may reach to tenfold and on: then it has no line."""


def checkpoint_figure(configurations: Sequence[ReportedConfiguration]) -> Iterator[Block]:
    """Yield what checkpoints cost the shown runs, with the interval of their cycles."""
    bars = []
    for configuration in configurations:
        shape = configuration.shown.compared.shape
        effect = None if shape is None else shape.checkpoint_effect
        if effect is not None:
            told = tr("{percent:+.0f} % over {cycles} cycles")
            drawn = effect.high < _MOST_DRAWN
            bars.append(
                Bar(
                    look=configuration.look,
                    name=configuration.name,
                    value=100 * (1 + effect.change),
                    low=100 * (1 + effect.low) if drawn else None,
                    high=100 * (1 + effect.high) if drawn else None,
                    runs=(),
                    told=told.format(percent=100 * effect.change, cycles=effect.cycles),
                    warning=configuration.warning,
                )
            )
    if bars:
        sentence = tr(
            "TPS in the first fifth of a checkpoint cycle, in percent of those in its last fifth, without"
            " drift: at 100 checkpoints cost nothing. Lines: 95 % interval over the cycles. {runs}"
        )
        shown = [each.shown for each in configurations if each.look in {bar.look for bar in bars}]
        yield BarFigure(
            tr("After a checkpoint began"),
            tr("percent of the TPS before the next one"),
            tuple(bars),
            sentence.format(runs=sources(shown)),
        )


def difference_pages(found: Findings) -> Iterator[Block]:
    """Yield what is not the same in all runs; on the first page where it is little."""
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
    """Return the tags of whole configurations, else of runs."""
    having = {run.number for run in runs}
    tags: list[str] = []
    for configuration in configurations:
        mine = [run for run in configuration.runs if run.number in having]
        tags += [configuration.tag] if len(mine) == len(configuration.runs) else [run.tag for run in mine]
    return ", ".join(tags)


_MOST_OF_A_VALUE: Final = 240
"""Letters of a value on the page of a configuration: the options of a build fill half of one, and stand whole
in the environment."""


def configuration_pages(found: Findings, configuration: ReportedConfiguration) -> Iterator[Block]:
    """Yield the page of one configuration."""
    title = f"{configuration.tag}  {configuration.full_name}"
    yield Text(TextRole.HEADING, title, bookmark=title, level=1, new_page=True)
    for reason in (*configuration.not_durable, *configuration.unsafe):
        sentence = tr("{warning}: {reason}")
        yield Text(TextRole.WARNING, sentence.format(warning=configuration.warning, reason=one_line(reason)))
    yield speed_table(configuration.runs, compared=bool(found.comparison.cut.seconds))
    yield from cost_table(configuration.runs)
    yield from compression_table(configuration.runs)
    yield from baseline_blocks(configuration)
    if found.comparison.cut.seconds:
        sentence = tr("Figures, but for the TPS of the whole run, without the first {time} of each run.")
        yield Text(TextRole.NOTE, sentence.format(time=format_duration(found.comparison.cut.seconds)))
    yield from _sentences(configuration)
    figures = details(configuration)
    yield from figures
    if figures:
        sentence = tr(
            "Thin: every second; thick: mean over 15 s, for the eye only. Shaded: stalled seconds; dotted: a "
            "checkpoint began."
        )
        yield Text(TextRole.NOTE, f"{sentence} {sources([configuration.shown])}")
    yield Facts(
        tuple(
            (f"{item.topic}: {one_line(item.name)}", clip(one_line(item.value), _MOST_OF_A_VALUE))
            for item in configuration.shown.facts.properties
        )
    )


def _sentences(configuration: ReportedConfiguration) -> Iterator[Block]:
    """Yield what the seconds of the shown run say, and of each run what its figures do not."""
    runs, shown = configuration.runs, configuration.shown
    for run in runs:
        told = list(run.compared.sentences) if run is shown else []
        if run.compared.left_out:
            told.insert(0, tr("Takes no part in the comparison: {why}.").format(why=run.compared.left_out))
        if run.facts.error:
            told.insert(0, one_line(run.facts.error))
        told += [
            f"{one_line(reason)[:1].upper()}{one_line(reason)[1:]}."
            for kind, reason in run.facts.marks
            if kind not in {UNSAFE, NOT_DURABLE} and reason and not (run is shown and kind == DISTURBED)
        ]
        if told:
            yield Text(TextRole.NOTE, f"{run.tag}: {' '.join(told)}")
