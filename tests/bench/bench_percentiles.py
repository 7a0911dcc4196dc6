"""How right latency percentiles are: against the exact ones of a real transaction log.

pgbench writes a full log of a short run; numpy sorts it for the exact percentiles (percentile_disc). Beside
them stand those of the product's histograms by window.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from app.domain.campaign.configuration import BuiltinScript, Workload
from app.domain.errors import FootingError
from app.postgres.pgbench.histogram import Histogram
from app.postgres.pgbench.second_histograms import SecondHistograms
from app.postgres.pgbench.summary import PgbenchSummary
from app.postgres.pgbench.transaction_log import (
    Integers,
    LogFormat,
    TransactionBatch,
    parse_transactions,
)
from tests.bench._figures import describe_machine
from tests.bench._rig import Rig, builtin_workload, rig
from tests.transactions import concatenate

PERCENTS = (50.0, 95.0, 99.0, 99.9)
WINDOWS_S = (1, 10)


@dataclass(frozen=True, slots=True)
class Recording:
    """A full log.

    Attributes:
        workload: what ran.
        summary: pgbench's own figures.
        batch: all its transactions.
    """

    workload: Workload
    summary: PgbenchSummary
    batch: TransactionBatch


def record(bench: Rig, workload: Workload) -> Recording:
    """Run pgbench with a full log and read it at the end."""
    texts: list[bytes] = []

    def keep(folder: Path) -> None:
        texts.extend(path.read_bytes() for path in sorted(folder.glob("transactions.*")))

    cost = bench.bare(workload, log_prefix="transactions", take=keep)
    batch = concatenate(parse_transactions(text, LogFormat()) for text in texts)
    return Recording(workload, cost.summary, batch)


def windows(batch: TransactionBatch, length_s: int) -> Iterator[Integers]:
    """Yield the latencies of each whole window, sorted."""
    begin_us = int(batch.epoch_us.min())
    numbers = (batch.epoch_us - begin_us) // (length_s * 1_000_000)
    for number in range(int(numbers.max())):  # the last one is cut
        yield np.sort(batch.latency_us[numbers == number])


def exact(ordered: Integers, percent: float) -> int:
    """Return the smallest latency that at least `percent` of them do not exceed."""
    rank = max(1, int(np.ceil(round(percent * len(ordered) / 100, 6))))
    return int(ordered[rank - 1])


def print_sums(recording: Recording) -> None:
    """Print whether the seconds add up to pgbench's count."""
    seconds = SecondHistograms(int(recording.batch.epoch_us.min()))
    seconds.add(recording.batch)
    added = sum(second.histogram.total for second in seconds)
    equal = "equal" if added == recording.summary.transactions else "NOT EQUAL"
    print(f"  seconds add up to {added}, pgbench counted {recording.summary.transactions}: {equal}")


def print_errors(recording: Recording) -> None:
    """Print the error of the histogram's percentiles, target below 1 %."""
    print("  full log, error of the histogram's percentile against the exact one: median, most")
    for length_s in WINDOWS_S:
        ordered = list(windows(recording.batch, length_s))
        words = []
        for percent in PERCENTS:
            errors = [
                abs(Histogram.of(latencies).percentile(percent) / exact(latencies, percent) - 1) * 100
                for latencies in ordered
                if len(latencies) and exact(latencies, percent) > 0
            ]
            if errors:
                words.append(f"p{percent:g} {np.median(errors):.3f} % {max(errors):.3f} %")
        print(f"    {len(ordered):3} windows of {length_s:2} s: " + "   ".join(words))


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=int, default=31, help="length of each run")
    parser.add_argument("--quick", action="store_true", help="runs of 11 s")
    options = parser.parse_args()
    seconds = 11 if options.quick else options.seconds
    print(describe_machine())
    try:
        with rig(builtin_workload(BuiltinScript.SELECT_ONLY, seconds), None) as bench:
            for script in (BuiltinScript.SELECT_ONLY, BuiltinScript.TPCB_LIKE):
                recording = record(bench, builtin_workload(script, seconds))
                tps = recording.summary.tps
                print(f"\n{script.value}: {seconds} s at {tps:.0f} TPS, {recording.batch.lines} lines")
                print_sums(recording)
                print_errors(recording)
    except FootingError as error:
        print(f"could not measure: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
