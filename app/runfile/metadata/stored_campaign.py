"""What a run file of an earlier version tells of its configuration in the campaign's text only."""

from __future__ import annotations

from dataclasses import replace

from app.campaign_file.reader import parse_stored_campaign
from app.domain.campaign.configuration import Configuration, DiskTarget
from app.domain.errors import CampaignError
from app.runfile.metadata.run_metadata import RunMetadata
from app.runfile.metadata.typed_json import NotKnown


def completed(run: RunMetadata) -> RunMetadata:
    """Return what is known of a run, with what only the campaign's text tells of target and workload.

    Format 1 of before did not say which presets and which memory limit a target had, nor what the caches
    held: they were always warm.
    """
    is_without_presets = run.target.kind == DiskTarget.kind and isinstance(run.target.preset, NotKnown)
    if not is_without_presets and not isinstance(run.workload.caches, NotKnown):
        return run
    configuration = stored_configuration(run)
    if configuration is None:
        return run
    if isinstance(run.workload.caches, NotKnown):
        run = replace(run, workload=replace(run.workload, caches=configuration.workload.caches.value))
    asked = configuration.target
    if not is_without_presets or not isinstance(asked, DiskTarget):
        return run
    told = replace(
        run.target,
        preset=asked.data.preset,
        wal_preset=asked.wal.preset if asked.wal else None,
        memory_limit_bytes=asked.memory_limit_bytes,
    )
    return replace(run, target=told)


def stored_configuration(run: RunMetadata) -> Configuration | None:
    """Return the configuration of a run as its campaign's text states it; None where it cannot be read.

    Own scripts are not looked for: their texts stand in the run file.
    """
    if isinstance(run.campaign_file, NotKnown):
        return None
    try:
        campaign = parse_stored_campaign(run.campaign_file)
    except CampaignError:
        return None
    return next((each for each in campaign.configurations if each.name == run.configuration), None)
