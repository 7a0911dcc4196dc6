"""Volumes of clouds that may have burst credit: a short run on one is not what one gets later."""

from __future__ import annotations

from typing import Final

from app.analysis.labels import one_line
from app.domain.text import tr
from app.runfile.metadata.environment import MOST_NAMED, EnvironmentFacts

BURST_CREDIT: Final = "burst-credit"
"""Of the mark of such runs."""
_LONGEST: Final = 80


def bursting(environment: EnvironmentFacts, service: str = "") -> str:
    """Return the names of what may have burst credit; empty where nothing is known that may.

    Args:
        environment: of the machine whose devices were measured.
        service: that runs the server, as `app.postgres.existing.managed` names it; empty for none.
    """
    found = [each.played_words for each in environment.devices if each.is_counted and each.may_burst]
    named = [*found[:MOST_NAMED], *([tr("the volume of {name}").format(name=service)] if service else [])]
    return ", ".join(one_line(each)[:_LONGEST] for each in named)


def burst_sentence(what: str) -> str:
    """Return the reason of the mark, of what `bursting` names."""
    words = tr(
        "{what} may have burst credit, which neither a device nor SQL tells: a short run may be faster than "
        "what one gets once that is used up"
    )
    return words.format(what=what)
