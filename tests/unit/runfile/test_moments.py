"""Moments in the note of a run are read as they are written; any other line is only text."""

from __future__ import annotations

import pytest

from app.runfile.metadata.run_metadata import moment_words, read_moments


@pytest.mark.parametrize("t_s", [0.0, 59.6, 3599.0, 90_061.0, -30.0])
def test_moments_read_as_written(t_s: float) -> None:
    assert read_moments(f"{moment_words(t_s)}backup started") == ((float(round(t_s)), "backup started"),)


def test_other_lines_are_no_moments() -> None:
    assert read_moments("[12:30] lunch\n[0:00:05]\n at [0:00:05] it failed\n[0:99:00] late") == (
        (5940.0, "late"),
    )
    assert len(read_moments("[0:00:01] a\n" * 1000)) == 50
