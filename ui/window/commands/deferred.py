"""Background work that imports its modules on first use, so that the window appears sooner."""

# ruff: noqa: PLC0415

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6 import QtCore, QtGui, QtWidgets

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from app.domain.campaign.configuration import Campaign
    from app.draft.fields.state import DraftEnvironment, DraftParts
    from app.execution.launch import LaunchedCampaign
    from app.execution.resume.begun import UnfinishedCampaign
    from app.execution.servers import OpenServer
    from app.hosts.recovery.cleanup import SweepEvent
    from app.live.snapshot import ReplaySource


def look_at_machine() -> DraftEnvironment:
    """Return the PostgreSQL installations and targets of this machine."""
    from app.draft.fields.state import read_environment

    return read_environment()


def sweep() -> tuple[SweepEvent, ...]:
    """Finish and clean up this user's dead campaigns."""
    from app.execution.recovery import sweep_abandoned

    return sweep_abandoned()


def import_wizard_parts() -> None:
    """Import what the wizard's pages import from app, which takes as long as Qt's part; for any thread."""
    import app.draft.from_campaign
    import app.draft.matrix.offers
    import app.draft.recipe_choice
    import app.hosts.disk_watch  # noqa: F401


def import_pages() -> Iterator[None]:
    """Import charts and wizard in steps of 0.2 s at most, so that no first click waits for them.

    In the GUI thread only: PySide creates its classes when they are first named, and pyqtgraph names all. A
    class half created in another thread crashed the painter in one start of 90.
    """
    for module in (QtCore, QtGui, QtWidgets):
        for name in dir(module):
            getattr(module, name)
        yield
    import ui.charts.stack.stack

    yield
    import ui.wizard.wizard  # noqa: F401


def find_live_folders() -> tuple[Path, ...]:
    """Return the folders of this user's running campaigns, the oldest first."""
    from app.execution.launch import live_campaigns

    try:
        return tuple(campaign.folder for campaign in live_campaigns())
    except OSError:  # no state folder: nothing of ours was ever started here
        return ()


def launch(campaign: Campaign, library: Path, load: Sequence[str], *, wait: bool = False) -> LaunchedCampaign:
    """Start the runner of a campaign from the wizard, where its disks were confirmed.

    Args:
        campaign: to measure.
        library: parent of the campaign's folder.
        load: names of foreign servers, typed by the user as consent.
        wait: root's runner waits for the campaign of another user.
    """
    from app.execution.launch import start_campaign
    from app.execution.resume.begun import disks_of

    return start_campaign(campaign, library, disks_of(campaign), load, wait=wait)


def launch_again(folder: Path, library: Path, load: Sequence[str]) -> LaunchedCampaign:
    """Start the runner of an earlier campaign, from its first run on and in a new order."""
    return launch(read_begun(folder), library, load)


def launch_going_on(folder: Path, load: Sequence[str]) -> LaunchedCampaign:
    """Start a runner that resumes a campaign; its disks were confirmed at its first start.

    Root checks again whether each of them is spare, and polkit names them. Consent to load servers is needed
    each time.
    """
    from app.execution.launch import resume_campaign
    from app.execution.resume.begun import begun_campaign, disks_of

    return resume_campaign(folder, disks_of(begun_campaign(folder)), load)


def servers_of_begun(folder: Path) -> Mapping[str, str]:
    """Return the foreign servers of a campaign's folder: connection, and name for ssh."""
    from app.execution.servers import servers_of

    return servers_of(read_begun(folder))


def look_at_servers(servers: Mapping[str, str]) -> tuple[tuple[str, OpenServer], ...]:
    """Inspect foreign servers and the activity there: ten seconds for each."""
    from app.execution.servers import look_there

    return tuple((connection, look_there(connection, ssh)) for connection, ssh in servers.items())


def read_begun(folder: Path) -> Campaign:
    """Return the campaign of a folder without its drawn order."""
    from dataclasses import replace

    from app.execution.resume.begun import begun_campaign

    return replace(begun_campaign(folder), order_seed=None)


def find_interrupted(library: Path) -> tuple[UnfinishedCampaign, ...]:
    """Return the interrupted campaigns of a library, the newest first."""
    from app.execution.resume.begun import interrupted_campaigns

    return interrupted_campaigns(library)


def read_kept() -> DraftParts | None:
    """Return the wizard's draft from before the window was closed; None if there is none."""
    from app.draft.from_campaign import read_kept_draft

    return read_kept_draft()


def forget_kept() -> None:
    """Delete the stored draft."""
    from app.draft.from_campaign import forget_draft

    forget_draft()


def put_away(folder: Path) -> None:
    """Do not offer to resume a campaign any more."""
    from app.library.campaign_end import CampaignEnd, write_end

    write_end(folder, CampaignEnd.PUT_AWAY)


def load_replay(path: Path, speed: float) -> ReplaySource:
    """Read a run for its replay."""
    from app.live.snapshot import load_replay as load

    return load(path, speed=speed)
