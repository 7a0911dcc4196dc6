"""A recipe on a spare disk, as `pgfooting run RECIPE --quick --disks` makes it of a loop device."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pypdf import PdfReader

from app.campaign_file.reader import load_campaign
from app.campaign_file.recipes.head import MOST_QUICK_CONFIGURATIONS
from app.domain.campaign.configuration import interleaved_order
from app.domain.text import GIB
from app.runfile.reader import RunFile
from tests.disks.test_campaign import erase, nothing_left, serial_of
from tests.fix_campaign import CampaignBench
from tests.fix_helper import Running

pytestmark = [
    pytest.mark.disks,
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can start the helper"),
]

# Others by hand: PGFOOTING_RECIPES=barriers:1,vondra-2022-rate:2 (and how many disks).
RECIPES = [
    each.partition(":")[::2] for each in os.environ.get("PGFOOTING_RECIPES", "lentfer-2009:1").split(",")
]


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("recipe", RECIPES, ids=[each[0] for each in RECIPES])
def test_quick_recipe_on_spare_disks(
    helper: Running,
    make_loop: Callable[..., str],
    campaign_bench: CampaignBench,
    recipe: tuple[str, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    name, count = recipe
    disks = [make_loop(2 * GIB, partscan=True) for _ in range(int(count))]
    serials = ",".join(map(serial_of, disks))
    begun_s = time.monotonic()
    library = str(campaign_bench.library)
    words = ("--quick", "--disks", serials, *erase(*disks), "--output", library)
    running = campaign_bench.start_command("run", name, *words)
    status, said = running.end(), (campaign_bench.folder / "stderr.txt").read_text()
    assert status == 0, said
    seconds = time.monotonic() - begun_s
    (folder,) = Path(library).iterdir()
    campaign = load_campaign(folder / "campaign.toml")
    assert len(campaign.configurations) <= MOST_QUICK_CONFIGURATIONS
    runs = campaign_bench.run_files()
    assert len(runs) == len(interleaved_order(campaign))
    for path in runs:
        with RunFile(path) as run:
            run.check()
            assert run.values["state"] == "done", path
    # What this machine has not is told once, and stands in the campaign, the runs and the comparison.
    lines = [line for line in said.splitlines() if " left out" in line]
    compared = campaign_bench.command("compare", "--json", str(folder), "--library", library)
    notes = json.loads(compared.stdout)["notes"]
    assert notes[: len(campaign.remarks)] == list(campaign.remarks)
    assert campaign.remarks[0].startswith("The quick variant cannot show")
    assert len(lines) == len(campaign.remarks) - 1
    assert nothing_left(*disks)
    pdf = tmp_path / f"{name}.pdf"
    painted = campaign_bench.command("report", str(folder), "-o", str(pdf), "--library", library)
    assert painted.returncode == 0, painted.stderr
    assert len(PdfReader(pdf).pages) > 1
    came_to = (
        f"{len(campaign.configurations)} cells, {len(runs)} runs, {seconds:.0f} s; {campaign.remarks}, {pdf}"
    )
    with capsys.disabled():
        print(f"\n{name}: {came_to}")  # noqa: T201 - the table of recipes
