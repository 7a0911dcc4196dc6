"""What a report costs: runs as PDF, from the command to the file.

Promised: no picture in it, and the seconds of CPU, bytes and pages of `LIMITS` at most. Each round is a
process of its own, as `pgfooting report` is; CPU is what a busy machine changes less than the time on the
clock. Runs are an hour long, of eight configurations, and of two with four repeats each; and five minutes
long, of twelve configurations with five repeats each, and of 110 with a run each in two conditions.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from itertools import product
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP))

from pypdf import PdfReader  # noqa: E402

from tests.bench._figures import describe_machine  # noqa: E402
from tests.fix_report import Case, write_cases  # noqa: E402
from tests.fix_runs import Shape  # noqa: E402


@dataclass(frozen=True)
class Limit:
    """What the report of some runs may cost."""

    cpu_s: float
    size_bytes: int
    pages: int


EIGHT, REPEATS, TWELVE, MATRIX = (
    "8 configurations, a run each",
    "2 configurations, 4 runs each",
    "12 configurations, 5 runs each",
    "110 configurations, a run each",
)
LIMITS = {
    EIGHT: Limit(4.0, 2_000_000, 10),
    REPEATS: Limit(4.0, 2_000_000, 10),
    TWELVE: Limit(4.0, 1_500_000, 10),
    MATRIX: Limit(4.0, 1_500_000, 12),
}


def write_runs(folder: Path) -> dict[str, list[Path]]:
    """Write the runs of every setting."""

    def shape(tps: float) -> Shape:
        return Shape(3600, tps, 1, 300, (1800, 6))

    eight = [Case(f"configuration {number}", 0, shape(7000.0 - 400 * number)) for number in range(8)]
    repeats = [
        Case(name, repeat, shape(tps))
        for repeat in range(4)
        for name, tps in (("ext4", 7000.0), ("xfs", 6500.0))
    ]
    twelve = [
        Case(f"configuration {number}", repeat, Shape(300, 7000.0 - 300 * number, 1, 60, (150, 4)))
        for repeat in range(5)
        for number in range(12)
    ]
    matrix = [
        Case(
            f"{filesystem} with {wal}GB at {scale}",
            0,
            Shape(300, 7000.0 - 500 * place + 40 * wal - scale, 1 + wal, 60, (150, 4)),
            filesystem,
            values=(
                ("scale", scale),
                ("settings", [{"name": "max_wal_size", "value": f"{wal}GB", "origin": "user"}]),
            ),
        )
        for scale, (place, filesystem), wal in product(
            (100, 1000), enumerate(("xfs", "ext4", "zfs", "btrfs", "f2fs")), range(1, 12)
        )
    ]
    return {
        EIGHT: write_cases(folder / "eight", eight),
        REPEATS: write_cases(folder / "repeats", repeats),
        TWELVE: write_cases(folder / "twelve", twelve),
        MATRIX: write_cases(folder / "matrix", matrix),
    }


def measure(paths: list[Path], output: Path) -> tuple[float, float]:
    """Return seconds on the clock and of CPU from the command to the file."""
    argv = (sys.executable, "-m", "app", "report", *map(str, paths), "-o", str(output), "--force")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began_s = time.perf_counter()
    subprocess.run(argv, cwd=TOP, check=True)
    clock_s = time.perf_counter() - began_s
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return clock_s, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two rounds instead of seven")
    rounds = 2 if parser.parse_args().quick else 7
    print(describe_machine())
    kept = True
    with tempfile.TemporaryDirectory(prefix="pgf-report-", dir="/tmp") as name:
        os.environ["XDG_DATA_HOME"] = os.environ["XDG_STATE_HOME"] = name
        for label, paths in write_runs(Path(name)).items():
            output = Path(name) / "out.pdf"
            times = [measure(paths, output) for _ in range(rounds)]
            clock_s, cpu_s = (statistics.median(column) for column in zip(*times, strict=True))
            reader = PdfReader(output)
            pictures = sum(len(page.images) for page in reader.pages)
            size = output.stat().st_size
            print(
                f"{label}: {clock_s:.2f} s on the clock, {cpu_s:.2f} s of CPU, {size / 1e6:.2f} MB,"
                f" {len(reader.pages)} pages, {pictures} pictures"
            )
            limit = LIMITS[label]
            within = cpu_s < limit.cpu_s and size < limit.size_bytes and len(reader.pages) <= limit.pages
            if not within or pictures:
                kept = False
                print(f"  NOT KEPT: {limit}, no picture")
    print("kept" if kept else "NOT KEPT")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
