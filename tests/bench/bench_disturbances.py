"""How often a verdict is false beside others, and how often a true one is told: simulated, and real.

Simulated: A/A campaigns beside other programs, with every mark and verdict made by the program itself.
`--real DIR` measures: campaigns of two equal configurations in memory, without a load of our own and beside
two kinds of it; its run files stay in DIR.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.analysis.facts import read_run_facts
from app.comparison.comparison import compare_runs
from app.comparison.disturbed_runs import DisturbedRuns, is_disturbed
from app.library.entries import run_paths
from app.probes.base.disturbances import DisturbanceKind
from tests.simulated_disturbances import CLEAN, Campaigns, Others, outcome_of

TOML = """name = "{name}"
repeats = {repeats}
[workload]
script = "select-only"
scale = 10
clients = 2
warmup = "1s"
duration = "{seconds}s"
[target.memory]
[[configuration]]
name = "one"
[[configuration]]
name = "two"
"""
BURN = "while True: pass"
COME_AND_GO = "import time\nwhile True:\n e=time.time()+12\n while time.time()<e: pass\n time.sleep(20)"
LOADS = {"none of ours": (), "one CPU all the time": (BURN,), "two CPUs, 12 of 32 s": (COME_AND_GO,) * 2}


def simulate(count: int) -> None:
    """Print the table of the simulation."""
    print(f"{count} campaigns each; standard error of 5 %: {100 * (0.05 * 0.95 / count) ** 0.5:.1f} points")
    print("conf. repeats  false clean verdicts  coverage (judged)  undisturbed marked   others")
    for others in Others:
        for configurations, repeats in ((2, 3), (2, 5), (4, 5), (2, 10)):
            found = outcome_of(Campaigns(others, configurations, repeats), count, seed=repeats)
            print(
                f"{configurations:5} {repeats:7} {100 * found.clean:16.1f} % {100 * found.covered:14.1f} %"
                f" ({found.judged}) {100 * found.marked:10.2f} %         {others.value}"
            )
    quiet = outcome_of(Campaigns(Others.NOTHING, ratio=1.1), count, seed=1)
    print(f"true 10 %, cv 2.5 %, 5 repeats, quiet: told cleanly in {100 * quiet.clean:.1f} % of campaigns")
    print("below the threshold, always beside the same configuration, 5 repeats:")
    for share in (0.01, 0.02, 0.03, 0.04):
        setup = Campaigns(Others.ONE_CONFIGURATION, least=share, most=share)
        print(
            f"  others use {100 * share:.0f} %: false in {100 * outcome_of(setup, count, seed=2).clean:.1f} %"
        )


@contextmanager
def beside(programs: tuple[str, ...]) -> Iterator[None]:
    """Let programs run as long as the block lasts."""
    running = [subprocess.Popen([sys.executable, "-c", program]) for program in programs]
    try:
        yield
    finally:
        for each in running:
            each.kill()
            each.wait()


def measure(folder: Path, campaigns: int, repeats: int, seconds: int) -> None:
    """Measure real campaigns and print what the program says of them."""
    folder.mkdir(parents=True, exist_ok=True)
    for load, programs in LOADS.items():
        for number in range(campaigns):
            name = f"{load} {number + 1}"
            library = folder / name.replace(" ", "-").replace(",", "")
            if not any(run_paths(library)):
                source = folder / "campaign.toml"
                source.write_text(TOML.format(name=name, repeats=repeats, seconds=seconds))
                command = [sys.executable, "-m", "app", "run", str(source), "--output", str(library)]
                with beside(programs):
                    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=dict(os.environ))
            tell(name, library)


def tell(name: str, library: Path) -> None:
    """Print the verdicts of one campaign with and without its marks."""
    runs = [read_run_facts(path) for path in run_paths(library)]
    amounts = [
        next((f"{each.amount:.0f}" for each in run.disturbances.found if each.kind is _CPU), "-")
        for run in runs
    ]
    told = compare_runs(runs)
    blind = compare_runs(runs, disturbed=DisturbedRuns.ALL)
    ways = [
        "clean" if any(row.comparison and row.comparison.verdict in CLEAN for row in each.rows) else "none"
        for each in (blind, told)
    ]
    print(f"{name}: {sum(map(is_disturbed, runs))} of {len(runs)} marked, others' CPU % {' '.join(amounts)}")
    print(f"   verdict blind to it: {ways[0]}, told: {ways[1]}")
    for verdict in told.verdicts:
        print(f"   {verdict}")


_CPU = DisturbanceKind.OTHERS_CPU


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="simulated campaigns of each kind")
    parser.add_argument("--real", type=Path, help="measure into this folder")
    parser.add_argument("--campaigns", type=int, default=2, help="real ones of each kind")
    parser.add_argument("--repeats", type=int, default=4)
    parser.add_argument("--seconds", type=int, default=6)
    arguments = parser.parse_args()
    if arguments.real is not None:
        measure(arguments.real, arguments.campaigns, arguments.repeats, arguments.seconds)
    else:
        simulate(arguments.count)


if __name__ == "__main__":
    main()
