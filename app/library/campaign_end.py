"""How a campaign ended, stored in its folder: without it the campaign was interrupted and may be resumed.

Written when a runner ends by itself, for any reason; a runner that is killed (also by SIGTERM and SIGHUP, at
logout or shutdown) writes nothing. Best effort: on a full library a campaign looks interrupted.
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
    """The user ended it early."""
    FAILED = "failed"
    """Some runs failed."""
    BUDGET = "time budget"
    """The remaining runs would not have fit into it."""
    PUT_AWAY = "put away"
    """The user dismissed it."""


def write_end(folder: Path, end: CampaignEnd) -> None:
    """Store how the campaign of a folder ended, replacing an earlier end."""
    part = folder / f".{END_NAME}"
    with suppress(OSError):
        part.write_text(json.dumps({"end": end.value}) + "\n", encoding="utf-8")
        os.replace(part, folder / END_NAME)  # noqa: PTH105 - whole or not at all


def clear_end(folder: Path) -> None:
    """Delete the stored end, because the campaign continues."""
    with suppress(OSError):
        (folder / END_NAME).unlink(missing_ok=True)


def read_end(folder: Path) -> CampaignEnd | None:
    """Return how the campaign of a folder ended; None if there is no readable end."""
    try:
        with (folder / END_NAME).open("rb") as file:
            return CampaignEnd(json.loads(file.read(_LONGEST_BYTES))["end"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
