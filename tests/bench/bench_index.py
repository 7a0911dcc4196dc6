"""How long the index of a library of many runs takes to list, search and grow; its runs are made up.

Each figure is the median of several calls in a process that has just opened the index, with its slowest call.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP))

from app.library.entries import LibraryEntry  # noqa: E402
from app.library.index import BY_START, LibraryIndex, ListedRun, Read  # noqa: E402
from app.library.query import FIELDS, parse_query  # noqa: E402

CAMPAIGN_RUNS = 50
REPEATS = 5
PAGE = 60
CALLS = 9
QUERIES = (
    "xfs noatime baseline",
    "campaign-17 raid10 epyc",
    "fs:xfs scale:250 tag:baseline",
    'pg:17 clients:32 -state:failed machine:"epyc"',
    "recordsize:8KiB date:2025-03 workload:rate",
    "slow controller x",
    "42",
)


def entries(count: int) -> Iterator[LibraryEntry]:
    """Yield distinct runs, each campaign's configurations with their repeats."""
    dice = random.Random(38)  # noqa: S311 - made up
    for number in range(count):
        campaign, place = divmod(number, CAMPAIGN_RUNS)
        configuration = place // REPEATS
        filesystem = ("ext4", "xfs", "btrfs", "zfs", "f2fs")[configuration % 5]
        clients, scale = (8, 16, 32, 64)[campaign % 4], (100, 250, 1000)[campaign % 3]
        settings = [f"setting_{each}={(campaign * each) % 17}" for each in range(20)]
        yield LibraryEntry(
            id=f"{dice.getrandbits(64):016x}",
            path=f"/library/2026-campaign-{campaign:04}/{place:02}-{filesystem}.footing",
            name=f"{filesystem} raid10 c{clients} #{place % REPEATS + 1}",
            state="failed" if number % 97 == 0 else "done",
            campaign=f"Campaign-{campaign} of the night",
            configuration=f"{filesystem} raid10 c{clients} {configuration}",
            target="disks",
            filesystem=filesystem,
            raid="raid10",
            scale=scale,
            workload="tpcb-like",
            clients=clients,
            tps=dice.uniform(100, 90_000),
            p99_ms=dice.uniform(1, 100),
            jitter_cv=dice.random(),
            started=1.7e9 + 700 * number,
            duration_s=600.0,
            marks=("noisy",) if number % 11 == 0 else (),
            postgresql=f"{15 + campaign % 4}.{campaign % 9}",
            machine=f"AMD EPYC 9{campaign % 7}54, 64 CPUs, 251.5 GiB",
            kernel=f"6.{campaign % 15}.0-{campaign % 30}-amd64",
            options=(
                "noatime",
                f"recordsize={2 ** (configuration % 5)}KiB",
                f"disk=S{campaign % 40:07}",
                *settings,
            ),
            keys=(f"clients={clients}", f"scale={scale}", f"seed={campaign}", f"rate={100 * configuration}"),
            tags=("baseline",) if campaign % 20 == 0 else (),
            note="Slow since the new controller." if number % 50 == 0 else "",
        )


def fill(path: Path, count: int) -> float:
    """Fill an index; return the seconds it took."""
    index, batch, began_s = LibraryIndex(path), [], time.monotonic()
    for entry in entries(count):
        batch.append(Read(ListedRun(entry, tuple(float(each) for each in range(60)))))
        if len(batch) == 1000:
            index.put(batch)
            batch = []
    index.put(batch)
    return time.monotonic() - began_s


def timed(do: Callable[[], object]) -> str:
    """Return the median and the longest time of several calls."""
    times = []
    for _ in range(CALLS):
        began = time.perf_counter()
        do()
        times.append(1000 * (time.perf_counter() - began))
    return f"{statistics.median(times):7.1f} ms (first {times[0]:.1f}, worst {max(times):.1f})"


def measure(path: Path) -> None:
    """Print the figures of a filled index."""
    index = LibraryIndex(path)
    print(f"first page by start     {timed(lambda: index.runs((), BY_START, PAGE))}")
    print(f"first page by campaign  {timed(lambda: index.runs((), limit=PAGE))}")
    print(f"page in the middle      {timed(lambda: index.runs((), limit=PAGE, offset=50_000))}")
    for query in QUERIES:
        terms = parse_query(query)
        print(f"{query}: {index.count(terms)} runs")
        print(f"  first page by start   {timed(partial(index.runs, terms, BY_START, PAGE))}")
        print(f"  counted               {timed(partial(index.count, terms))}")
    print(f"values of an option     {timed(lambda: index.count_values(FIELDS['option']))}")
    print(f"repeats                 {timed(index.repeats)}")
    new = iter(list(entries(1000))[-CALLS:])

    def add() -> None:
        entry = next(new)
        index.put([Read(ListedRun(replace(entry, path=f"{entry.path}.new")))])

    def tidy() -> None:
        index.delete(["/library/none"])
        index.tidy()

    print(f"add a run               {timed(add)}")
    print(f"tidy                    {timed(tidy)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        measure(arguments.measure)
        return
    print(f"load {' '.join(f'{value:.1f}' for value in os.getloadavg())}")
    with tempfile.TemporaryDirectory(prefix="pgf-bench-") as scratch:
        path = Path(scratch, "index.sqlite")
        took_s = fill(path, arguments.runs)
        size = path.stat().st_size / 2**20
        print(f"{arguments.runs} runs stored in {took_s:.1f} s, {size:.0f} MiB", flush=True)
        subprocess.run([sys.executable, __file__, "--measure", str(path)], check=True, timeout=600)


if __name__ == "__main__":
    main()
