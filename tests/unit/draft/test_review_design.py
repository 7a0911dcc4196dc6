"""What the review says of the time of a sequential campaign: from its third round to its last."""

from __future__ import annotations

import pytest

from app.campaign_file.reader import parse_campaign
from app.draft.review import time_sentence

TOP = 'name = "x"\nrepeats = 10\n{keys}\n[target.memory]\n'
FOUR = "".join(f'[[configuration]]\nname = "{name}"\n' for name in "abcd")


def design_text(keys: str, about_s: float | None) -> str:
    campaign = parse_campaign(TOP.format(keys=keys) + FOUR, base_directory="/", source_name="x")
    return time_sentence(campaign, about_s)


@pytest.mark.parametrize(
    ("keys", "about_s", "words"),
    [
        ("", 6000.0, "40 runs, about 1.7 h in total."),
        ("", None, "40 runs; the time depends"),
        ('design = "sequential"', 6000.0, "12 to 40 runs, about 30 min to 1.7 h: configurations unlikely"),
        ('design = "sequential"', None, "12 to 40 runs: configurations unlikely"),
    ],
)
def test_sequential_minimum_and_maximum_time(keys: str, about_s: float | None, words: str) -> None:
    assert design_text(keys, about_s).startswith(words)
