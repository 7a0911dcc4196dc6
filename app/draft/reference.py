"""A reference beside a server that already runs: what two campaigns there are ranked by. Pure."""

from __future__ import annotations

from typing import Final

from app.domain.text import tr
from app.draft.fields.state import ConfigurationDraft, DraftParts, Place
from app.statistics.sample_size import RUNS_FOR_A_REFERENCE

_PAGE_SSH: Final = "target.server.ssh"


def reference_words() -> str:
    """Return what a reference is for, and what it needs."""
    sentence = tr(
        "Two campaigns, such as before and after a disk there was made anew, are ranked only by a reference: "
        "a second server on that machine, on a port of its own, whose filesystem stays as it is. It has the "
        "same name in both and is measured beside the other at least {runs} times in each. Without ssh to "
        "its machine it is measured, but nobody knows whether its filesystem stayed the same, and nothing is "
        "ranked by it; for its disks its role wants pg_monitor."
    )
    return sentence.format(runs=RUNS_FOR_A_REFERENCE)


def has_reference(parts: DraftParts) -> bool:
    """Whether a server is called reference already."""
    return any(each.name.strip() in {"reference", tr("reference")} for each in parts.on_servers())


def add_reference(parts: DraftParts) -> ConfigurationDraft:
    """Add a server as a reference to the list, last, and return it; its connection is to be typed.

    ssh reaches it as it reaches the server of the first page: they are on one machine.
    """
    made = ConfigurationDraft(tr("reference"), Place.OTHER_SERVER, ssh=parts.values[_PAGE_SSH])
    parts.configurations.append(made)
    return made
