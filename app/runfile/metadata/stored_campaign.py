"""Recover metadata that a run file of an earlier version only has in the campaign's text."""

from __future__ import annotations

from dataclasses import replace

from app.campaign_file.reader import parse_stored_campaign
from app.domain.campaign.configuration import Configuration, DiskTarget
from app.domain.errors import CampaignError
from app.runfile.metadata.run_metadata import RunMetadata
from app.runfile.metadata.typed_json import NotKnown


def completed(run: RunMetadata) -> RunMetadata:
    """Return a run's metadata, with the target's presets and memory limit from the campaign's text.

    Earlier files of format 1 did not record them.
    """
    if run.target.kind != DiskTarget.kind or not isinstance(run.target.preset, NotKnown):
        return run
    configuration = stored_configuration(run)
    asked = None if configuration is None else configuration.target
    if not isinstance(asked, DiskTarget):
        return run
    target = replace(
        run.target,
        preset=asked.data.preset,
        wal_preset=asked.wal.preset if asked.wal else None,
        memory_limit_bytes=asked.memory_limit_bytes,
    )
    return replace(run, target=target)


def stored_configuration(run: RunMetadata) -> Configuration | None:
    """Return the configuration of a run as stated in its campaign's text; None if that cannot be read.

    Own scripts are not looked up: their texts are in the run file.
    """
    if isinstance(run.campaign_file, NotKnown):
        return None
    try:
        campaign = parse_stored_campaign(run.campaign_file)
    except CampaignError:
        return None
    return next((each for each in campaign.configurations if each.name == run.configuration), None)
