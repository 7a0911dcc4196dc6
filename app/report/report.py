"""A whole report from run files: reads, compares, and says everything in order. Paints nothing."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from app.analysis.facts import RunFacts
from app.export.anonymize import Anonymizer
from app.report.appendix import appendix
from app.report.blocks import Block, Report
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
