"""How long importing takes, and how much memory a long log needs.

    python tests/bench/bench_import.py [FOLDER ...]

Each FOLDER holds the results of others (such as i5/20220907-mdraid/0/xfs/1000/run-rw-1 of T. Vondra's
measurements): it is imported alone, three times, into a fresh library; goal: an hour-long run below 3 s.
Then logs of growing length are written and imported by a process of its own, whose largest resident memory
is read from the kernel: what a ten times longer log needs more is what would grow with 10 GB.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from app.importers.importing import import_paths
from tests.bench._figures import describe_machine

GOAL_S = 3.0


def import_once(folder: Path) -> tuple[float, float, list[tuple[str, float | None]]]:
    """Return wall time, CPU time, and (name, TPS) of the runs."""
    with tempfile.TemporaryDirectory() as library:
        begin, begin_cpu = time.perf_counter(), time.process_time()
        report = import_paths([folder], Path(library), lambda _done, _total, _what: None)
        wall, cpu = time.perf_counter() - begin, time.process_time() - begin_cpu
        return wall, cpu, [(each.name, each.tps) for each in report.imported]


def print_folder(folder: Path) -> bool:
    """Print three imports of a folder; return whether the best one reaches the goal."""
    tries = [import_once(folder) for _ in range(3)]
    walls = sorted(wall for wall, _, _ in tries)
    cpu = min(cpu for _, cpu, _ in tries)
    runs = ", ".join(f"{name} {tps}" for name, tps in tries[0][2])
    print(f"  {walls[0]:6.2f} {walls[1]:6.2f} {walls[2]:6.2f} s, CPU {cpu:5.2f} s  {folder.name}: {runs}")
    return walls[0] < GOAL_S


def write_log(path: Path, lines: int, a_second: int) -> None:
    """Write a full log of so many transactions."""
    random = np.random.default_rng(1)
    with path.open("w") as file:
        for begin in range(0, lines, a_second):
            latencies = random.lognormal(7, 1.2, a_second).astype(int).tolist()
            second = 1_700_000_000 + begin // a_second
            file.writelines(
                f"0 {begin + place + 1} {latency} 0 {second} {1_000_000 // a_second * place}\n"
                for place, latency in enumerate(latencies)
            )


def measure_memory(log: Path, library: Path) -> None:
    """Import a log in this process and print the largest resident memory of it, in bytes."""
    import_paths([log], library, lambda _done, _total, _what: None)
    print(1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def print_memory(lengths: list[int], a_second: int) -> None:
    """Print time and memory for logs of so many lines."""
    for lines in lengths:
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder, "pgbench_log.1")
            write_log(log, lines, a_second)
            begin = time.perf_counter()
            arguments = [sys.executable, __file__, "--memory-of", str(log), "--library", f"{folder}/library"]
            done = subprocess.run(arguments, check=True, capture_output=True, text=True)
            wall = time.perf_counter() - begin
            size = log.stat().st_size / 1e6
            memory = int(done.stdout) / 2**20
            print(f"  {size:7.0f} MB, {lines / a_second:6.0f} s of log: {memory:6.1f} MiB, {wall:6.1f} s")


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--lines", type=int, nargs="*", default=[2_000_000, 20_000_000])
    parser.add_argument("--per-second", type=int, default=20_000, help="transactions of each second")
    parser.add_argument("--memory-of", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--library", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.memory_of is not None:
        measure_memory(options.memory_of, options.library)
        return 0
    load = os.getloadavg()[0] / (os.cpu_count() or 1)
    print(describe_machine() + (", UNDER LOAD" if load > 0.5 else ""))
    reached = True
    if options.folders:
        print(f"importing, three times each; goal below {GOAL_S:g} s")
        reached = min(map(print_folder, options.folders))
    print("memory of a process that imports one log")
    print_memory(options.lines, options.per_second)
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
