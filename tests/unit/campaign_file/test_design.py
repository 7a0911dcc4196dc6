"""The keys of a sequential design: meaning, what they do not go together with, and that they are kept."""

from __future__ import annotations

import pytest

from app.campaign_file.reader import parse_campaign
from app.campaign_file.writer import changed_scripts, format_campaign, state_campaign
from app.domain.campaign.configuration import Campaign
from app.domain.campaign.matrix import DEFAULT_CAP, Design

TOP = 'name = "x"\norder = "AB BA"\n{keys}\n[target.memory]\n'
TWO = '[[configuration]]\nname = "a"\n[[configuration]]\nname = "b"\n'


def campaign_of(keys: str, configurations: str = TWO) -> Campaign:
    return parse_campaign(TOP.format(keys=keys) + configurations, base_directory="/", source_name="x")


def test_fixed_matrix_is_the_default() -> None:
    assert campaign_of("").design is Design.FIXED
    assert campaign_of('design = "fixed"') == campaign_of("")


def test_sequential_defaults_to_ten_rounds() -> None:
    campaign = campaign_of('design = "sequential"')
    assert (campaign.design, campaign.repeats, campaign.precision) == (Design.SEQUENTIAL, DEFAULT_CAP, None)
    assert campaign_of('design = "sequential"\nrepeats = 6\nprecision = 2').repeats == 6


def test_competition_within_one_workload() -> None:
    more = TWO + '[[configuration]]\nname = "c"\n[configuration.workload]\nrate = 10\n'
    assert campaign_of('design = "sequential"', more).design is Design.SEQUENTIAL


@pytest.mark.parametrize(
    "keys", ['design = "sequential"', 'design = "sequential"\nprecision = 1.5\nrepeats = 7']
)
def test_design_round_trip(keys: str) -> None:
    campaign = campaign_of(keys)
    assert parse_campaign(format_campaign(campaign), base_directory="/", source_name="x") == campaign
    assert changed_scripts(state_campaign(campaign), campaign) == ()
    assert changed_scripts(state_campaign(campaign), campaign_of("repeats = 7")) is None


def test_resume_campaign_older_than_designs() -> None:
    fixed = campaign_of("repeats = 5")
    before = "".join(line for line in state_campaign(fixed).splitlines(keepends=True) if "design" not in line)
    assert changed_scripts(before, fixed) == ()
