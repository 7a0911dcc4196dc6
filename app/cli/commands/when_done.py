"""When campaigns have ended: the desktop is told, and the command that the user prefers is run.

Neither ever changes what became of a campaign: what fails here is a sentence.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.dbus.desktop.notifications import notify
from app.domain.errors import ProgramError
from app.domain.text import tr
from app.preferences import Preferences
from app.process.starter import current_account, run_command

TIMEOUT_S: Final = 300.0
"""A command that takes longer is ended."""


@dataclass(frozen=True, slots=True)
class EndedCampaign:
    """What is told of a campaign that has ended.

    Attributes:
        name: of the campaign.
        sentence: what became of it.
        folder: where its run files are; None where it did not begin.
    """

    name: str
    sentence: str
    folder: Path | None = None


def tell_desktop(ended: Sequence[EndedCampaign], preferences: Preferences) -> bool:
    """Show that campaigns have ended; return whether the desktop has taken it."""
    if not preferences.notify or not ended:
        return False
    summary = (
        ended[0].name if len(ended) == 1 else tr("{count} campaigns have ended").format(count=len(ended))
    )
    lines = [each.sentence if len(ended) == 1 else f"{each.name}: {each.sentence}" for each in ended]
    return notify(summary, "\n".join(lines))


def run_when_done(
    command: str,
    ended: Sequence[EndedCampaign],
    status: int,
    environment: Mapping[str, str] | None = None,
    timeout_s: float = TIMEOUT_S,
) -> str:
    """Run the command of a user's preference and return what became of it, a sentence; empty without one.

    It runs as the caller, without a shell, with the environment of the caller and PGFOOTING_STATUS (exit
    status of the campaigns) and PGFOOTING_FOLDERS (their folders, a line each). It cannot gain privileges.

    Args:
        command: as typed, quoted as for a shell.
        ended: the campaigns.
        status: exit status that the campaigns come to.
        environment: of the caller; None for this process's.
        timeout_s: after which it is ended.
    """
    try:
        argv = shlex.split(command)
    except ValueError as error:
        return tr("The command when done is not run: {reason}.").format(reason=error)
    if not argv:
        return ""
    folders = "\n".join(str(each.folder) for each in ended if each.folder is not None)
    own = {"PGFOOTING_STATUS": str(status), "PGFOOTING_FOLDERS": folders}
    given = os.environ if environment is None else environment
    try:
        outcome = run_command(
            argv,
            account=current_account(),
            timeout_s=timeout_s,
            record=lambda _outcome: None,
            env={**given, **own},
        )
    except ProgramError as error:
        return tr("The command when done could not be started. {reason}").format(reason=error.message)
    return tr("The command when done: {outcome}").format(outcome=outcome.describe())
