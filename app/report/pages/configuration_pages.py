"""Each configuration of a report: what its runs did, the charts of one of them, what only it has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from app.analysis.labels import one_line
from app.domain.text import tr, trn
from app.report.blocks import Block, Text, TextRole, Together
from app.report.figures import MOST_DRAWN, MOST_LINES, details, small_details, sources
from app.report.findings import Findings
from app.report.pages.environment import own_properties
from app.report.report_data import ReportedConfiguration
from app.report.run_tables import (
    baseline_blocks,
    compression_table,
    cost_table,
    devices_sentence,
    speed_table,
)
from app.runfile.disturbance import DISTURBED
from app.runfile.metadata.safety import NOT_DURABLE, UNSAFE

_TITLE: Final = tr("Each configuration")
_LINES: Final = tr(
    "Charts: thin every second; thick mean over 15 s, for the eye only; shaded stalled seconds; dotted a "
    "checkpoint began."
)
_MOST_RUNS: Final = 10
"""Runs of one of many configurations that have a row."""


def configuration_pages(found: Findings) -> Iterator[Block]:
    """Yield every configuration; where there are many their charts are small and beside each other."""
    yield Text(TextRole.HEADING, _TITLE, bookmark=_TITLE, new_page=True)
    told = [_LINES]
    if any(part.cut.seconds for part in found.comparison.parts):
        told.append(tr("Figures are of the part that the heading of TPS names, but for the whole run's."))
    yield Text(TextRole.NOTE, " ".join((*told, devices_sentence(found.runs))).strip())
    for configuration in found.configurations:
        if len(found.configurations) > MOST_LINES:
            yield from _small(found, configuration)
        else:
            yield from _whole(found, configuration)


def _whole(found: Findings, configuration: ReportedConfiguration) -> Iterator[Block]:
    """Yield a page or a part of one."""
    yield from _begin(configuration, new_page=True)
    yield speed_table(configuration.runs)
    yield from cost_table(configuration.runs)
    yield from compression_table(configuration.runs)
    yield from baseline_blocks(configuration)
    yield from _sentences(configuration)
    yield from _with_source(configuration, details(configuration))
    if len(found.configurations) > 1:
        yield own_properties(configuration, found.runs)


def _small(found: Findings, configuration: ReportedConfiguration) -> Iterator[Block]:
    """Yield a third of a page: one of many configurations."""
    runs = configuration.runs
    told = [*_begin(configuration, new_page=False)]
    told.append(speed_table(runs[:_MOST_RUNS]))
    if len(runs) > _MOST_RUNS:
        more = len(runs) - _MOST_RUNS
        sentence = trn(
            "{count} more run is in its run file.", "{count} more runs are in the run files.", more
        )
        told.append(Text(TextRole.NOTE, sentence.format(count=more)))
    yield Together(tuple(told))
    yield from _sentences(configuration)
    if len(found.configurations) <= MOST_DRAWN:
        figures = tuple(_with_source(configuration, small_details(configuration)))
        if figures:
            yield Together(figures)
    yield own_properties(configuration, found.runs)


def _begin(configuration: ReportedConfiguration, *, new_page: bool) -> Iterator[Block]:
    title = f"{configuration.tag}  {configuration.full_name}"
    yield Text(TextRole.SUBHEADING, title, bookmark=title, level=1, new_page=new_page)
    for reason in (*configuration.not_durable, *configuration.unsafe):
        sentence = tr("{warning}: {reason}")
        yield Text(TextRole.WARNING, sentence.format(warning=configuration.warning, reason=one_line(reason)))


def _with_source(configuration: ReportedConfiguration, figures: tuple[Block, ...]) -> Iterator[Block]:
    yield from figures
    if figures:
        yield Text(TextRole.NOTE, sources([configuration.shown]))


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
