"""How the data set of a run came where it was measured, in words. Pure."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from app.domain.campaign.configuration import DataSet
from app.domain.text import tr, trn
from app.domain.units import format_size
from app.runfile.metadata.environment import MOST_CHARACTERS
from app.runfile.metadata.run_metadata import DataSetMetadata

_STATES: Final = {
    DataSet.LOADED.value: tr("loaded there"),
    DataSet.COPIED.value: tr("copied there"),
}


class CopiedCaches(StrEnum):
    """What the cache of the operating system held of a copy when the run began on it.

    FILLED: what copying left in it. EMPTIED: nothing of the data.
    """

    FILLED = "filled"
    EMPTIED = "emptied"


_CACHES: Final[dict[str, str]] = {
    CopiedCaches.FILLED: tr("caches as copying left them"),
    CopiedCaches.EMPTIED: tr("caches emptied then"),
}


def data_set_words(state: str) -> str:
    """Return a state as people read it."""
    return _STATES.get(state, state[:MOST_CHARACTERS])


def describe_data_set(told: DataSetMetadata | None) -> str:
    """Return how the data came there, in a line; empty where the file does not tell."""
    if told is None or not told.state:
        return ""
    words = [data_set_words(told.state)]
    if told.copy_s is not None and told.size_bytes is not None:
        sentence = tr("{size} in {seconds:.1f} s")
        words.append(sentence.format(size=format_size(told.size_bytes), seconds=told.copy_s))
    if told.extents is not None:
        words.append(
            trn("tables in {count} extent", "tables in {count} extents", told.extents).format(
                count=told.extents
            )
        )
    if told.template:
        words.append(tr("template {id}").format(id=told.template[:MOST_CHARACTERS]))
    if told.caches:
        words.append(_CACHES.get(told.caches, told.caches[:MOST_CHARACTERS]))
    if told.reason:
        words.append(told.reason[:MOST_CHARACTERS])
    return ", ".join(words)
