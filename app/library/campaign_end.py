"""How a campaign ended, kept in its folder: without it nobody ended it, and somebody may want to go on.

Written when a runner ends by itself, whatever the reason; a runner that is killed, logged out or switched off
(SIGTERM and SIGHUP) writes nothing. Best effort: on a full library a campaign looks as if it had been
interrupted.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Final

from app.library.entries import END_NAME

_LONGEST_BYTES: Final = 4096


class CampaignEnd(StrEnum):
    """Why a campaign ended."""

    FINISHED = "finished"
    STOPPED = "stopped"
    """A person ended it early."""
    FAILED = "failed"
    """Runs are missing that could not be measured."""
    BUDGET = "time budget"
    """What was left would not have ended within it."""
    PUT_AWAY = "put away"
    """A person does not want to be asked about it any more."""


def write_end(folder: Path, end: CampaignEnd) -> None:
    """Keep how the campaign of a folder ended, in place of what was kept before."""
    part = folder / f".{END_NAME}"
    with suppress(OSError):
        part.write_text(json.dumps({"end": end.value}) + "\n", encoding="utf-8")
        os.replace(part, folder / END_NAME)  # noqa: PTH105 - whole or not at all


def clear_end(folder: Path) -> None:
    """Forget how it ended: it goes on."""
    with suppress(OSError):
        (folder / END_NAME).unlink(missing_ok=True)


def read_end(folder: Path) -> CampaignEnd | None:
    """Return how the campaign of a folder ended; None where nobody ended it, or nobody can read it."""
    try:
        with (folder / END_NAME).open("rb") as file:
            return CampaignEnd(json.loads(file.read(_LONGEST_BYTES))["end"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
