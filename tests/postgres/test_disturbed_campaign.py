"""A real campaign beside programs that take the CPUs: marked, measured again, and no clean verdict."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from app.runfile.disturbance import DISTURBED, REPEATED, marks_of
from app.runfile.reader import RunFile
from tests.fix_campaign import CampaignBench, campaign_text

pytestmark = pytest.mark.long


@pytest.fixture
def busy_cpus() -> Iterator[None]:
    """Programs that use what they get of every CPU, as long as the test lasts."""
    burn = [sys.executable, "-c", "while True: pass"]
    burners = [subprocess.Popen(burn) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()


@pytest.mark.usefixtures("busy_cpus")
@pytest.mark.longest
def test_disturbed_run_repeated_within_limit(campaign_bench: CampaignBench) -> None:
    workload = 'scale = 1\nclients = 2\nwarmup = "0s"\nduration = "5s"'
    text = campaign_text(memory=True, workload=workload, repeats=1)
    ended = campaign_bench.run(text.replace("repeats = 1", "repeats = 1\nrepeat_disturbed = 1"), status=0)
    again, first = campaign_bench.run_files()
    assert (first.name, again.name) == ("01-memory-r1.footing", "01-memory-r1-2.footing")
    with RunFile(first) as run:
        values = dict(marks_of(run))
        assert run.metadata.attempt == 1
    assert values[DISTURBED].startswith("other programs used ")
    assert values[REPEATED] == f"measured again as {again.name}"
    with RunFile(again) as run:
        values = dict(marks_of(run))
        assert (run.metadata.attempt, run.metadata.name) == (2, "memory, attempt 2")
    assert DISTURBED in values
    assert REPEATED not in values
    assert "disturbed" in ended.stdout
