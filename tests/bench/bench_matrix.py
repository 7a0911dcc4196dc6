"""What a matrix of 1,000 configurations, five runs of each, takes to be planned, shown, and gone on with.

Planned: file read, order drawn. Shown: `pgfooting run --dry-run` without the start of Python, on a folder.
Each figure is the median of several, in seconds of processor and of the clock.
"""

from __future__ import annotations

import argparse
import io
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP))

from app.campaign_file.reader import parse_campaign, read_campaign_file  # noqa: E402
from app.campaign_file.trust import refuse_concerns  # noqa: E402
from app.campaign_file.writer import changed_scripts, state_campaign  # noqa: E402
from app.cli.commands.plan import plan_command  # noqa: E402
from app.domain.campaign.configuration import Campaign, interleaved_order, with_drawn_order  # noqa: E402
from app.domain.errors import CampaignError  # noqa: E402
from app.execution.resume.begun import begun_runs  # noqa: E402
from app.execution.resume.known_runs import DoneRun, KnownRuns  # noqa: E402
from app.runfile.reader import RunFile  # noqa: E402
from tests.bench._figures import describe_machine  # noqa: E402
from tests.fix_window import Trial, write_trial  # noqa: E402

TIMES = 5

FILE = """name = "Thousand"
repeats = 5
{target}
[[dimension]]
key = "postgresql.settings.wal_compression"
values = ["off", "lz4", "pglz", "on"]
[[dimension]]
key = "workload.caches"
values = ["warm", "cold"]
[[dimension]]
key = "workload.clients"
doubling = [1, 16]
[[dimension]]
key = "workload.scale"
values = [1, 2, 3, 4, 5]
"""
FOLDER = '[[dimension]]\nkey = "workload.rate"\nvalues = [100, 200, 300, 400, 500]\n'
DISKS = """[[dimension]]
key = "target.disks.filesystem"
values = ["ext4", "xfs", "btrfs", "zfs", "f2fs"]
"""
TEN_TIMES = '[[dimension]]\nkey = "workload.duration"\nvalues = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\n'


def told(name: str, measured: Callable[[], object]) -> None:
    """Print how long something takes."""
    cpu_s, wall_s = [], []
    for _ in range(TIMES):
        began, began_cpu = time.perf_counter(), time.process_time()
        measured()
        wall_s.append(time.perf_counter() - began)
        cpu_s.append(time.process_time() - began_cpu)
    print(
        f"{name:34} {statistics.median(cpu_s):6.3f} s of processor,"
        f" {statistics.median(wall_s):6.3f} s ({min(wall_s):.3f})"
    )


def plan(text: str, seed: int) -> Campaign:
    """Read a file and draw its order, as a campaign that starts does."""
    campaign = parse_campaign(f"order_seed = {seed}\n{text}", base_directory="/", source_name="bench")
    assert len(interleaved_order(with_drawn_order(campaign))) == 5000
    return campaign


def refused(text: str) -> None:
    """Read a file of ten thousand cells."""
    try:
        parse_campaign(text, base_directory="/", source_name="bench")
    except CampaignError:
        return
    raise AssertionError


def resume(folder: Path) -> None:
    """Find 5,000 runs that are done, of which the cache knows: links to one file stand for them."""
    folder.mkdir()
    path = write_trial(folder / "0001-x-r1.footing", Trial(seconds=30))
    run = DoneRun("", dict.fromkeys(map(str, range(40)), 1.5), ("fresh",), 60.0, is_weak=False)
    with RunFile(path) as file:
        run = replace(run, configuration=str(file.values["configuration"]))
    known = KnownRuns.of(folder)
    for number in range(1, 5001):
        link = folder / f"{number:04}-x-r1.footing"
        if number > 1:
            os.link(path, link)
        known.keep(link, run)
    text = f'name = "{run.configuration}"\norder = "AB BA"\nrepeats = {{}}\n[target.folder]\n'
    campaign = parse_campaign(text.format(1000), base_directory="/", source_name="bench")
    campaign = replace(campaign, repeats=5000)
    assert len(begun_runs(folder, campaign).done) == 5000
    told("done runs found (--resume)", lambda: begun_runs(folder, campaign))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, help="with a folder target that the server's account can use")
    arguments = parser.parse_args()
    print(describe_machine())
    print(f"load {' '.join(f'{value:.1f}' for value in os.getloadavg())}; medians of {TIMES} (best)")
    with tempfile.TemporaryDirectory(prefix="pgf-bench-") as scratch:
        place = arguments.folder or Path(scratch)
        place.chmod(0o777)
        folder = FILE.format(target=f'[target.folder]\npath = "{place}"') + FOLDER
        disks = FILE.format(target='[target.disks]\ndata = ["S1", "S2"]\nlevel = "mirror"') + DISKS
        seeds = iter(range(1000))  # an order that was drawn before is remembered
        told("planned, on a folder", lambda: plan(folder, next(seeds)))
        told("planned, on disks", lambda: plan(disks, next(seeds)))
        told("10,000 cells refused", lambda: refused(folder + TEN_TIMES))
        campaign = plan(folder, 1)
        told("stated and known again", lambda: changed_scripts(state_campaign(campaign), campaign))
        path = Path(scratch, "thousand.toml")
        path.write_text(folder, encoding="utf-8")

        def show() -> None:
            with redirect_stdout(io.StringIO()):
                plan_command(read_campaign_file(path), refuse_concerns)

        told("shown (--dry-run)", show)
        os.environ["XDG_CACHE_HOME"] = str(Path(scratch, "cache"))
        resume(Path(scratch, "begun"))


if __name__ == "__main__":
    main()
