"""Whether caches that were to be cold were cold, as it was read back."""

from __future__ import annotations

import pytest

from app.analysis.data_set import MOST_CACHED, STILL_CACHED, still_cached
from app.analysis.labels import mark_words
from app.domain.text import GIB
from app.probes.facts.files import CachedBytes


@pytest.mark.parametrize("cached_bytes", [0, 1, int(MOST_CACHED * 100)])
def test_cold_up_to_five_percent_cached(cached_bytes: int) -> None:
    assert still_cached(CachedBytes(data_bytes=100, cached_bytes=cached_bytes)) == ""


def test_still_cached_share() -> None:
    found = still_cached(CachedBytes(data_bytes=4 * GIB, cached_bytes=GIB))
    assert found == "25 % of the data was still cached when measuring began; caches were not cold."
    assert mark_words(STILL_CACHED) == "not cold"


def test_zfs_cached_share_is_bound() -> None:
    found = still_cached(CachedBytes(data_bytes=4 * GIB, cached_bytes=GIB, is_bound=True))
    assert found.startswith("Up to 25 % of the data was still cached")
    assert "ARC" in found


def test_of_no_data_nothing_is_said() -> None:
    assert still_cached(CachedBytes()) == ""
