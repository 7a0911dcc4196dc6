"""What all runs of a report share, in words and units: workload, server, settings, storage, machine. Pure.

What nobody chose and no machine differs in stands in the file that the PDF carries
(`app.report.attachments`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from app.analysis.labels import one_line
from app.analysis.properties import MACHINE, POSTGRESQL, SETTING, TARGET, WORKLOAD, Property
from app.domain.text import tr
from app.report.attachments import FACTS_NAME
from app.report.blocks import Block, Facts, Text, TextRole
from app.report.report_data import ReportedConfiguration, ReportedRun, clip

MOST_OF_A_VALUE: Final = 240
"""Letters of a value: the options of a build would fill half of a page; the attached facts have all of it."""

_TOPICS: Final = (MACHINE, TARGET, POSTGRESQL, SETTING, WORKLOAD)
_HEADINGS: Final = {SETTING: tr("Settings that are not the server's own")}


def environment(runs: Sequence[ReportedRun], *, differences: bool) -> Iterator[Block]:
    """Yield what is the same for all runs, topic by topic, and what nobody could measure.

    Args:
        runs: of the report.
        differences: whether what differs stands elsewhere in it.
    """
    shared = shared_properties(runs)
    if not shared:
        yield Text(TextRole.BODY, tr("Nothing is known that is the same for all runs."))
    for topic in dict.fromkeys((*_TOPICS, *(item.topic for item in shared))):
        pairs = tuple(_pair(item) for item in shared if item.topic == topic)
        if pairs:
            yield Text(TextRole.SUBHEADING, _HEADINGS.get(topic, topic))
            yield Facts(pairs)
    if differences and len(runs) > 1:
        yield Text(TextRole.NOTE, tr("What is not the same for all runs stands under “What differs”."))
    if any(run.facts.environment for run in runs):
        told = tr("Everything else that was read of the machine is in the file {name} in this PDF.")
        yield Text(TextRole.NOTE, told.format(name=FACTS_NAME))
    yield from _unavailable(runs)


def shared_properties(runs: Sequence[ReportedRun]) -> tuple[Property, ...]:
    """Return the properties that all runs have with the same value."""
    tables = [{item.key: item.value for item in run.facts.properties} for run in runs]
    return tuple(
        item
        for item in runs[0].facts.properties
        if all(table.get(item.key) == item.value for table in tables)
    )


def own_properties(configuration: ReportedConfiguration, runs: Sequence[ReportedRun]) -> Facts:
    """Return what the shown run of a configuration has and not all runs of the report."""
    shared = {item.key for item in shared_properties(runs)}
    return Facts(
        tuple(
            (f"{item.topic}: {one_line(item.name)}", clip(one_line(item.value), MOST_OF_A_VALUE))
            for item in configuration.shown.facts.properties
            if item.key not in shared
        )
    )


def _pair(item: Property) -> tuple[str, str]:
    return one_line(item.name), clip(one_line(item.value), MOST_OF_A_VALUE)


def _unavailable(runs: Sequence[ReportedRun]) -> Iterator[Block]:
    """Yield the series that do not exist, those with the same reason together."""
    reasons: dict[str, list[str]] = {}
    for source, reason in dict.fromkeys(pair for run in runs for pair in run.facts.unavailable):
        reasons.setdefault(one_line(reason), []).append(one_line(source))
    if reasons:
        yield Text(TextRole.SUBHEADING, tr("Not measured"))
    for reason, names in reasons.items():
        yield Text(TextRole.NOTE, f"{', '.join(names)}: {reason}.")
