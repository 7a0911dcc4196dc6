"""When campaigns have ended: notify the desktop, and run the command of the user's preferences.

Neither changes a campaign's result: a failure is only a sentence.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.dbus.desktop import notify
from app.domain.errors import ProgramError
from app.domain.text import tr
from app.preferences import Preferences
from app.process.starter import current_account, run_command

TIMEOUT_S: Final = 300.0
"""A command that takes longer is ended."""


@dataclass(frozen=True, slots=True)
class EndedCampaign:
    """Description of an ended campaign.

    Attributes:
        name: of the campaign.
        sentence: how it ended.
        folder: of its run files; None if it did not start.
    """

    name: str
    sentence: str
    folder: Path | None = None


def notify_desktop(ended: Sequence[EndedCampaign], preferences: Preferences) -> bool:
    """Notify the desktop that campaigns have ended; return whether it accepted the notification."""
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
    """Run the command of the user's preferences and return a sentence about its outcome; empty without one.

    It runs as the caller, without a shell, with the caller's environment plus PGFOOTING_STATUS (exit status
    of the campaigns) and PGFOOTING_FOLDERS (their folders, one per line). It cannot gain privileges.

    Args:
        command: as typed, quoted as for a shell.
        ended: the campaigns.
        status: exit status of the campaigns together.
        environment: of the caller; None for this process's.
        timeout_s: after which it is ended.
    """
    try:
        argv = shlex.split(command)
    except ValueError as error:
        return tr("The when_done command is not run: {reason}.").format(reason=error)
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
        return tr("The when_done command could not be started. {reason}").format(reason=error.message)
    return tr("The when_done command: {outcome}").format(outcome=outcome.describe())
