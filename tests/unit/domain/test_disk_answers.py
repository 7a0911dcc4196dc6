"""The sentences that say what was looked at on a disk, and what can escape that."""

from __future__ import annotations

import pytest

from app.domain.disk import InspectionReport
from app.domain.disk_answers import looked_words
from app.domain.text import GIB, KIB, MIB

SAMPLED = InspectionReport(16 * MIB, 1280, 64 * KIB, 2 * GIB - 5 * MIB)


def test_sampled_report_and_undetected() -> None:
    sentence = looked_words(SAMPLED)
    assert ("Both ends (16 MiB each) and 1,280 samples of 64 KiB were checked; all are zero.") in sentence
    assert "Contiguous existing data of 2 GiB or more is always found" in sentence
    assert "Smaller or sparser data may go undetected" in sentence
    assert "blank" not in sentence


@pytest.mark.parametrize(
    ("size_bytes", "expected"),
    [
        (2 * GIB, "2 GiB"),
        (int(1.4541 * GIB), "1.46 GiB"),
        (9_000_000_000, "8.39 GiB"),
        (5 * MIB - 1, "5 MiB"),
    ],
)
def test_certain_size_never_understated(size_bytes: int, expected: str) -> None:
    assert f" of {expected} or more" in looked_words(InspectionReport(16 * MIB, 1, 64 * KIB, size_bytes))


def test_full_read_with_time() -> None:
    sentence = looked_words(InspectionReport(16 * MIB, 1280, 64 * KIB, 2 * GIB, read_s=1.8e9))
    assert sentence.startswith("Every byte was read on 2027-01-1")
    assert "undetected" not in sentence


def test_a_released_disk_is_not_called_zeros() -> None:
    counted = looked_words(InspectionReport(16 * MIB, 0, 64 * KIB, 2 * GIB, released_s=1.8e9))
    assert "the kernel has counted no write" in counted
    compared = looked_words(InspectionReport(16 * MIB, 1000, 64 * KIB, 2 * GIB, released_s=1.8e9))
    assert "1,000 random samples of 64 KiB are zero or unchanged since the release" in compared
    assert "may go undetected" in compared
    for sentence in (counted, compared):
        assert "still holds old benchmark data." in sentence
