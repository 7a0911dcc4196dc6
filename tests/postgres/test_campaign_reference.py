"""Two real campaigns with a configuration in common: their files say that it is one and the same."""

from __future__ import annotations

import json

import pytest

from app.analysis.facts import read_run_facts
from app.comparison.differences import what_differs
from tests.fix_campaign import CampaignBench, campaign_text

pytestmark = [pytest.mark.postgres, pytest.mark.slow]

SHORT = 'scale = 1\nclients = 2\nwarmup = "0s"\nduration = "1s"'


@pytest.mark.longest
def test_repeats_across_campaigns_as_reference(campaign_bench: CampaignBench) -> None:
    texts = (
        campaign_text(folder=campaign_bench.target, memory=True, workload=SHORT),
        campaign_text(folder=campaign_bench.target, workload=SHORT),
    )
    for text in texts:
        campaign_bench.run(text, status=0)
    files = campaign_bench.run_files()
    facts = {path: read_run_facts(path) for path in files}
    folders = [path for path in files if "folder" in path.name]
    (memory,) = set(files) - set(folders)
    assert len({path.parent for path in folders}) == 2, "two campaigns"
    assert what_differs([facts[path] for path in folders]).are_repeats
    assert not what_differs([facts[memory], facts[folders[1]]]).are_repeats
    output = json.loads(campaign_bench.command("compare", "--json", *map(str, files)).stdout)
    assert "different campaigns" in json.dumps(output), "one run of each is no verdict"
