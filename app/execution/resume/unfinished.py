"""Which campaigns of a library were interrupted and wait, and what is missing of one. Reads only."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.domain.campaign.configuration import Campaign, DiskTarget
from app.domain.errors import FootingError
from app.domain.text import tr, trn
from app.execution.resume.begun import begun_campaign, begun_runs, nothing_to_do
from app.library.campaign_end import CampaignEnd, read_end
from app.library.entries import CAMPAIGN_NAME, is_live

OFFERED_S: Final = 30 * 86_400.0
"""How long ago a campaign may have begun so that it is still offered by itself."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class UnfinishedCampaign:
    """A campaign of which something is missing.

    Attributes:
        folder: of the campaign.
        name: what people call it.
        done: how many of its runs are done.
        total: how many it has.
        end: how it ended; None where it was interrupted: killed, logged out, switched off.
    """

    folder: Path
    name: str
    done: int
    total: int
    end: CampaignEnd | None = None

    @property
    def sentence(self) -> str:
        """Return what is missing of it."""
        if self.done >= self.total:
            message = tr("“{name}”: all runs are done, and disturbed ones are still to be measured again.")
            return message.format(name=self.name)
        verb = tr("was interrupted") if self.end is None else tr("is not finished")
        message = trn(
            "“{name}” {verb}: {done} of {total} run is done.",
            "“{name}” {verb}: {done} of {total} runs are done.",
            self.total,
        )
        return message.format(name=self.name, verb=verb, done=self.done, total=self.total)


def look_at_campaign(folder: Path) -> UnfinishedCampaign | None:
    """Return what is missing of a campaign that does not run; None where nothing is, or where it runs.

    Raises:
        FootingError: its campaign file, or a script that it names, cannot be read.
    """
    if is_live(folder):
        return None
    campaign = begun_campaign(folder)
    runs = begun_runs(folder, campaign)
    if nothing_to_do(campaign, runs.results):
        return None
    return UnfinishedCampaign(folder, campaign.name, len(runs.done), campaign.total_runs, read_end(folder))


def interrupted_campaigns(library: Path, now_epoch_s: float | None = None) -> tuple[UnfinishedCampaign, ...]:
    """Return the campaigns of a library that nobody ended, the newest first; not those of long ago.

    Args:
        library: folder of the campaigns.
        now_epoch_s: None for now.
    """
    now_s = time.time() if now_epoch_s is None else now_epoch_s
    found = []
    for path in sorted(library.glob(f"*/{CAMPAIGN_NAME}"), reverse=True):
        try:
            is_recent = abs(now_s - path.stat().st_mtime) <= OFFERED_S
            waiting = look_at_campaign(path.parent) if is_recent and read_end(path.parent) is None else None
        except (FootingError, OSError) as error:
            _log.info("%s: %s", path, error)
            continue
        if waiting is not None:
            found.append(waiting)
    return tuple(found)


def disks_of(campaign: Campaign) -> tuple[str, ...]:
    """Return the serials or WWNs of the spare disks that a campaign names, each once."""
    targets = (each.target for each in campaign.configurations)
    named = (name for target in targets if isinstance(target, DiskTarget) for name in target.names)
    return tuple(dict.fromkeys(named))
