"""What a picture of runs shows: their lines over each other, one chart below the other, and the sources."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from app.domain.errors import FootingError
from app.domain.text import tr
from app.export.anonymize import Anonymizer
from app.report.blocks import Block, Report, Text, TextRole
from app.report.figures import MOST_LINES, charts_of, key_of, overlay, sources
from app.report.findings import Findings, find
from app.report.report import newest_end
from app.report.report_data import read_runs

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
    blocks = tuple(_blocks(found))
    if not blocks:
        message = tr("There is nothing to draw: no run measured a single second.")
        raise FootingError(message)
    return Report(found.title, blocks, tuple(run.data for run in found.runs), newest_end(facts))


def _blocks(found: Findings) -> Iterable[Block]:
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
