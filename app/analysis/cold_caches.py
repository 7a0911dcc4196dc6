"""How cold emptied caches were when measuring began, as it was read back. Pure."""

from __future__ import annotations

from typing import Final

from app.domain.text import tr
from app.runfile.metadata.run_metadata import CachedMetadata

STILL_CACHED: Final = "still-cached"
"""Kind of the mark of a run whose caches were to be cold and were not."""

MOST_CACHED: Final = 0.05
"""Of the data; our own choice: above it, more than one read in twenty would not have come from storage."""


def still_cached(cached: CachedMetadata) -> str:
    """Return the sentence for caches that were not cold; empty where they were, or there was no data."""
    if cached.data_bytes <= 0 or cached.cached_bytes <= MOST_CACHED * cached.data_bytes:
        return ""
    sentence = tr("{percent:.0f} % of the data was still cached when measuring began with cold caches.")
    if cached.is_bound:
        sentence = tr(
            "Up to {percent:.0f} % of the data was still cached when measuring began with cold caches: ZFS "
            "gives back its cache (ARC) in part only."
        )
    return sentence.format(percent=100 * cached.cached_bytes / cached.data_bytes)
