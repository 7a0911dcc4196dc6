"""Repeat compared runs at a rate that all configurations can keep, to compare their latencies.

In a closed loop each configuration sets its own pace, so percentiles belong to different loads and omit the
wait of transactions that could not start. At one rate, well below the slowest one's TPS, the load is the
same, and latencies count from the scheduled start of each transaction.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Final

from app.analysis.labels import format_number
from app.campaign_file.reader import CampaignFile, parse_campaign
from app.campaign_file.writer import format_campaign
from app.comparison.comparison import RunComparison
from app.comparison.groups import ComparedGroup
from app.comparison.offered_load import AGAIN_SHARE
from app.domain.campaign.configuration import Campaign, Configuration
from app.domain.campaign.matrix import LONGEST_NAME
from app.domain.errors import UsageError
from app.domain.text import tr
from app.runfile.metadata.run_metadata import RunMetadata
from app.runfile.metadata.typed_json import NotKnown, known
from app.runfile.reader import RunFile

_LEAST_TPS: Final = 0.01
"""Smallest rate that a campaign file accepts."""

_DIGITS: Final = 2
_MOST_NAME: Final = 50
"""Letters of a lengthened name; a campaign file accepts 80."""


def common_rate(comparison: RunComparison) -> float:
    """Return one rate for all configurations: a share of the slowest one's TPS.

    Args:
        comparison: of one condition (`RunComparison.parts`).

    Raises:
        UsageError: the runs kept a rate already, or nothing was measured.
    """
    rows = [row for row in comparison.rows if row.mean.mean]
    if not rows:
        raise UsageError(tr("No run was completed, so there is no throughput to take a percentage of."))
    if all(row.load.at_a_rate and row.load.kept is not False for row in rows):
        message = tr("These runs had a target rate, so the capacity of the slowest is not known.")
        raise UsageError(message, hint=tr("Compare runs without a target rate."))
    slowest = min(row.mean.mean for row in rows if row.mean.mean is not None)
    return max(_LEAST_TPS, _rounded_down(AGAIN_SHARE * slowest))


def _rounded_down(rate: float) -> float:
    """Return a rate rounded down to two significant digits, easy to read and type."""
    step = 10.0 ** (math.floor(math.log10(rate)) - _DIGITS + 1)
    return round(math.floor(rate / step + 1e-9) * step, 6)


def campaign_again(comparison: RunComparison) -> CampaignFile:
    """Return the campaign that runs the compared configurations again, each condition at its `common_rate`.

    Everything else stays the same: targets, settings, scripts, repeats.

    Raises:
        UsageError: there is no such rate; a run is not ours; its script has changed since.
        CampaignError: the campaign of a run is no longer readable.
        RunFileError: a run file is no longer readable.
    """
    measured = [part for part in comparison.parts if any(row.mean.mean for row in part.rows)]
    found = [
        (*_stored(group), rate)
        for part, rate in [(part, common_rate(part)) for part in measured or [comparison]]
        for group, row in zip(part.groups, part.rows, strict=True)
        if row.mean.mean
    ]
    names: set[str] = set()
    configurations = []
    for _, configuration, rate in found:
        name, number = configuration.name, 1
        while name in names:
            number += 1
            name = f"{configuration.name[:_MOST_NAME].rstrip()} {number}"
        names.add(name)
        workload = replace(configuration.workload, rate_tps=rate)
        configurations.append(replace(configuration, name=name, workload=workload))
    first = found[0][0]
    rates = dict.fromkeys(rate for _, _, rate in found)
    name = tr("{name} at {rate} per second").format(
        name=first.name[:_MOST_NAME].rstrip(), rate=", ".join(map(format_number, rates))
    )
    campaign = replace(
        first,
        name=name[:LONGEST_NAME],
        configurations=tuple(configurations),
        repeats=max(campaign.repeats for campaign, _, _ in found),
        order_seed=None,
    )
    return CampaignFile(format_campaign(campaign), campaign)


def _stored(group: ComparedGroup) -> tuple[Campaign, Configuration]:
    """Return the campaign of a group and its configuration, as stored by the first of its runs."""
    facts = group.facts
    with RunFile(facts.file if facts.file is not None else Path(facts.path)) as run:
        metadata = run.metadata
    if isinstance(metadata.campaign_file, NotKnown):
        message = tr("pgFooting did not run {name}, so it does not know how to repeat it.")
        raise UsageError(message.format(name=group.name))
    source = tr("The campaign of {name}").format(name=group.name)
    campaign = parse_campaign(metadata.campaign_file, base_directory="/", source_name=source)
    for each in campaign.configurations:
        if each.name == metadata.configuration:
            _check_scripts(group.name, each, metadata)
            return campaign, each
    message = tr("The campaign of {name} does not record how this configuration was run.")
    raise UsageError(message.format(name=group.name))


def _check_scripts(name: str, configuration: Configuration, metadata: RunMetadata) -> None:
    now = [script.text for script in configuration.workload.scripts if script.path is not None]
    if now != [script.text for script in known(metadata.workload.scripts, ()) if script.path is not None]:
        message = tr("A script of {name} has changed since the run: a repeat would differ.")
        raise UsageError(message.format(name=name), hint=tr("The original text is in the run file."))
