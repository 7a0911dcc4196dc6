"""Compose a report, or a picture of charts, from run files: read, compare, arrange. Paints nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from app.analysis.facts import RunFacts
from app.analysis.labels import one_line
from app.domain.errors import FootingError
from app.domain.text import tr
from app.export.anonymize import Anonymizer
from app.report.blocks import Block, Report, Text, TextRole
from app.report.findings import Findings, find
from app.report.options import DEFAULT_OPTIONS, SECTION_LABELS, ReportOptions, Section
from app.report.pages.comparison_pages import (
    MANY,
    condition_pages,
    difference_pages,
    method,
    phase_pages,
    take_with_you_page,
    verdict_pages,
)
from app.report.pages.configuration_pages import (
    attachments,
    command_pages,
    configuration_pages,
    environment,
    run_list,
)
from app.report.pages.first_page import first_page
from app.report.report_data import clip, read_runs
from app.report.run_tables import MOST_LINES, charts_of, figure_pages, key_of, overlay, sources

_LATEST_EPOCH_S: Final = 253402300799.0
"""The end of the year 9999, after which there are no dates; files from elsewhere may contain any number."""


def read_findings(paths: Iterable[Path], *, anonymous: bool = False, baseline: str = "") -> Findings:
    """Read and compare the runs of a report; the slow part.

    Args:
        paths: at least one; the first configuration of the first one's campaign is the baseline.
        anonymous: whether to replace serials, host, user and folders.
        baseline: see `ReportOptions`.

    Raises:
        RunFileError: a file cannot be read.
        UsageError: there is no such baseline.
    """
    return find(*read_runs(paths, Anonymizer.of_this_machine() if anonymous else Anonymizer.none()), baseline)


MOST_TITLE: Final = 200
"""Most letters of title and author."""

MOST_WORDS: Final = 4000
"""Most letters of purpose and conclusion: a page."""


def _bounded(options: ReportOptions) -> ReportOptions:
    """Return the wishes with printable texts; long ones are shortened with a note."""
    return replace(
        options,
        title=clip(one_line(options.title), MOST_TITLE),
        author=clip(one_line(options.author), MOST_TITLE),
        purpose=clip(options.purpose.strip(), MOST_WORDS),
        conclusion=clip(options.conclusion.strip(), MOST_WORDS),
    )


def compose(found: Findings, options: ReportOptions) -> Report:
    """Return the report of findings, as wanted."""
    words = _bounded(options)
    sections = [*words.sections, *({Section.RUNS} - set(words.sections))]
    blocks = [*first_page(found, words)]
    for section in sections:
        blocks += _PAGES[section](found, words)
    runs = found.runs
    return Report(
        title=words.title or found.title,
        blocks=tuple(blocks),
        runs=tuple(run.series for run in runs),
        moment_epoch_s=newest_end(run.facts for run in runs),
        attachments=attachments(runs),
        author=words.author,
    )


def read_report(paths: Iterable[Path], options: ReportOptions = DEFAULT_OPTIONS) -> Report:
    """Return the report of these run files.

    Args:
        paths: at least one; the first one's configuration is the baseline.
        options: its options.

    Raises:
        RunFileError: a file cannot be read.
    """
    return compose(read_findings(paths, anonymous=options.anonymous, baseline=options.baseline), options)


def _environment(found: Findings, options: ReportOptions) -> Iterator[Block]:
    title = SECTION_LABELS[Section.ENVIRONMENT]
    yield Text(TextRole.HEADING, title, bookmark=title, new_page=len(found.configurations) <= MANY)
    yield from environment(found.runs, differences=Section.DIFFERENCES in options.sections)


_Pages = Callable[[Findings, ReportOptions], Iterable[Block]]

_PAGES: Final[Mapping[Section, _Pages]] = {
    Section.DIFFERENCES: lambda found, _: difference_pages(found),
    Section.VERDICTS: lambda found, _: verdict_pages(found),
    Section.PHASES: lambda found, _: phase_pages(found),
    Section.TIME: lambda found, _: condition_pages(found),
    Section.COSTS: lambda found, _: figure_pages(found),
    Section.CONFIGURATIONS: lambda found, _: configuration_pages(found),
    Section.RUNS: lambda found, _: run_list(found),
    Section.METHOD: lambda found, _: method(found),
    Section.ENVIRONMENT: _environment,
    Section.COMMANDS: lambda found, _: command_pages(found),
    Section.TAKE_WITH_YOU: lambda found, _: take_with_you_page(found),
}


def newest_end(runs: Iterable[RunFacts]) -> float:
    """Return the end of the newest run; 0 if unknown."""
    ends = [
        run.started_epoch_s + (run.shape.duration_s if run.shape else 0.0)
        for run in runs
        if run.started_epoch_s is not None
    ]
    return max((end for end in ends if 0 <= end <= _LATEST_EPOCH_S), default=0.0)


# --- A picture of runs: their lines in common charts, one below the other, and the sources.


_CHARTS: Final = ("tps", "latency", "iops")
_HEIGHT_MM: Final = 55.0


def read_picture(paths: Iterable[Path], *, anonymous: bool = False) -> Report:
    """Return the charts of these run files as a report of one sheet.

    Args:
        paths: at least one.
        anonymous: whether to replace serials, host, user and folders.

    Raises:
        RunFileError: a file cannot be read.
        FootingError: there is nothing to draw.
    """
    facts, series = read_runs(paths, Anonymizer.of_this_machine() if anonymous else Anonymizer.none())
    found = find(facts, series)
    blocks = tuple(_picture_blocks(found))
    if not blocks:
        message = tr("There is nothing to draw: no run has per-second data.")
        raise FootingError(message)
    return Report(found.title, blocks, tuple(run.series for run in found.runs), newest_end(facts))


def _picture_blocks(found: Findings) -> Iterable[Block]:
    charts = charts_of(found.runs, _CHARTS, one_line=True)
    if not charts:
        return
    yield Text(TextRole.HEADING, found.title)
    for configuration in found.configurations:
        for reason in (*configuration.not_durable, *configuration.unsafe):
            yield Text(TextRole.WARNING, f"{configuration.warning}: {configuration.full_name}: {reason}")
    if len(found.configurations) <= MOST_LINES:
        yield key_of(found.configurations)
    for chart in charts:
        yield from overlay(found.configurations, chart, _HEIGHT_MM)
    yield Text(TextRole.NOTE, sources(found.runs))
