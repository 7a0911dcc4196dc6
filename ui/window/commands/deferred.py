"""Work for the background whose imports come with it: the window is on the screen before."""

# ruff: noqa: PLC0415

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from app.domain.campaign.configuration import Campaign
    from app.draft.fields.environment import DraftEnvironment
    from app.execution.launch import LaunchedCampaign
    from app.hosts.recovery.cleanup import SweepEvent
    from app.live.replay import ReplaySource


def look_at_machine() -> DraftEnvironment:
    """Return which PostgreSQL and targets can be used here."""
    from app.draft.fields.environment import read_environment

    return read_environment()


def sweep() -> tuple[SweepEvent, ...]:
    """Finish and remove what dead campaigns of this user left."""
    from app.execution.recovery import sweep_abandoned

    return sweep_abandoned()


def import_pages() -> None:
    """Import charts and wizard, so that the first click on a run or on New benchmark need not wait."""
    import ui.charts.stack.stack
    import ui.wizard.wizard  # noqa: F401


def find_live_folders() -> tuple[Path, ...]:
    """Return the folders of this user's running campaigns, the oldest first."""
    from app.execution.launch import live_campaigns

    try:
        return tuple(campaign.folder for campaign in live_campaigns())
    except OSError:  # no state folder: nothing of ours was ever started here
        return ()


def launch(campaign: Campaign, library: Path) -> LaunchedCampaign:
    """Start the runner of a campaign that a person put together: each of its disks was confirmed there."""
    from app.domain.campaign.configuration import DiskTarget
    from app.execution.launch import start_campaign

    targets = [each.target for each in campaign.configurations]
    named = [name for target in targets if isinstance(target, DiskTarget) for name in target.names]
    return start_campaign(campaign, library, tuple(dict.fromkeys(named)))


def load_replay(path: Path, speed: float) -> ReplaySource:
    """Read a run for its replay."""
    from app.live.replay import load_replay as load

    return load(path, speed=speed)
