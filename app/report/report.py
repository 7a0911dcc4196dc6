"""A report, or a picture of charts, from run files: reads, compares, says all in order. Paints nothing."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from app.analysis.facts import RunFacts
from app.domain.errors import FootingError
from app.domain.text import tr
from app.export.anonymize import Anonymizer
from app.report.appendix import appendix
from app.report.blocks import Block, Report, Text, TextRole
from app.report.figures import MOST_LINES, charts_of, key_of, overlay, sources
from app.report.findings import Findings, find
from app.report.first_page import first_page
from app.report.pages import (
    configuration_pages,
    difference_pages,
    overlay_pages,
    verdict_pages,
)
from app.report.report_data import read_runs
from app.report.run_tables import figure_pages

_LATEST_EPOCH_S: Final = 253402300799.0
"""The end of the year 9999, after which there are no dates; a foreign file may say anything."""


def read_report(paths: Iterable[Path], *, anonymous: bool = False) -> Report:
    """Return the report of these run files.

    Args:
        paths: at least one; the first one's configuration is the baseline.
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
    yield from overlay_pages(found)
    yield from figure_pages(found)
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
        for reason in configuration.unsafe:
            sentence = tr("UNSAFE: {tag} {name}: {reason}")
            told = sentence.format(tag=configuration.tag, name=configuration.name, reason=reason)
            yield Text(TextRole.WARNING, told)
    if len(found.configurations) <= MOST_LINES:
        yield key_of(found.configurations)
    for chart in charts:
        yield from overlay(found.configurations, chart, _HEIGHT_MM)
    yield Text(TextRole.NOTE, sources(found.runs))
