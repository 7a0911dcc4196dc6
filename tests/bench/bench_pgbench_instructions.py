"""What our arguments cost pgbench itself, in instructions: the same on a busy machine as on a quiet one.

`bench_cost_of_measuring` compares times, and a machine that others use needs hours to tell 1 % from their
noise. This counts what pgbench executes in user mode (callgrind) for a transaction: bare, with progress
lines, with the log of every transaction, and with the log as a campaign samples it. Each count is the
difference of a long and a short run, so that start and end of the program do not show. With progress lines
the first thread looks at the clock in each turn of its loop.

No pgbench keeps histograms itself (15 to 19rc1; a patch of October 2026, CF 7567, would print percentiles of
the whole run and nothing by second): the log is what there is. What `--help` says of percentiles is printed.

Told in per cent of what pgbench and the session of a client of it execute in user mode together. The kernel's
part is left out, which is as much with our arguments as without: log lines are buffered, and progress lines
change neither the number of pgbench's system calls nor that of its context switches (perf: within 1 %).

Limit: progress lines and the sampled log take at most `MOST_PERCENT`.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from app.domain.campaign.configuration import BuiltinScript, Workload
from app.domain.errors import FootingError
from app.postgres.pgbench.transaction_log import sampling_rate
from tests.bench._counting import CALLGRIND, collected
from tests.bench._figures import describe_machine
from tests.bench._rig import SETTINGS, Rig, builtin_workload, rig
from tests.bench.bench_server_instructions import SCRIPTS, STEADY, count_sessions

MOST_PERCENT: Final = 2.0


@dataclass(frozen=True, slots=True)
class Counted:
    """Instructions of pgbench for a transaction.

    Attributes:
        bare: without a log.
        progress: without a log, with progress lines.
        full: every transaction logged.
        sampled: one in `one_in` logged.
        one_in: as a campaign chooses it at the TPS of bare pgbench.
    """

    bare: float
    progress: float
    full: float
    sampled: float
    one_in: int


def executed(bench: Rig, valgrind: str, workload: Workload, one_in: int | None, *, progress: bool) -> int:
    """Return the instructions of one pgbench.

    Args:
        bench: the server.
        valgrind: its program.
        workload: with a number of transactions.
        one_in: sampling of the log; None for no log.
        progress: whether there are progress lines.
    """
    lines: list[str] = []
    bench.bare(
        workload,
        "" if one_in is None else "counted",
        lambda folder: lines.append((folder / "bare.stderr").read_text()),
        one_in=one_in or 1,
        progress=progress,
        under=(valgrind, *CALLGRIND),
    )
    (count,) = collected(lines[0]).values()
    return count


def per_transaction(
    bench: Rig, valgrind: str, workload: Workload, count: int, one_in: int | None, *, progress: bool = False
) -> float:
    """Return the instructions for a transaction, from a short run and one that is five times as long."""
    short = replace(workload, duration_s=None, transactions=count)
    long = replace(short, transactions=5 * count)
    most, few = (executed(bench, valgrind, each, one_in, progress=progress) for each in (long, short))
    return (most - few) / (4 * count * workload.clients)


def print_counts(script: BuiltinScript, counted: Counted, server: float) -> bool:
    """Print one workload, and return whether the limit is kept.

    Args:
        script: of the workload.
        counted: of pgbench.
        server: instructions of a session for a transaction.
    """
    percent = 100 / (counted.bare + server)
    print(f"{script.value}: bare pgbench executes {counted.bare:,.0f} instructions a transaction,", end="")
    print(f" the session that serves it {server:,.0f}")
    for name, value in (
        ("progress lines", counted.progress),
        ("every one logged", counted.full),
        (f"1 in {counted.one_in} logged", counted.sampled),
    ):
        more = value - counted.bare
        print(f"  {name:18} {more:+8,.0f} instructions, {more * percent:.2f} % of both")
    ours = (counted.progress + counted.sampled - 2 * counted.bare) * percent
    verdict = "reached" if ours <= MOST_PERCENT else "MISSED"
    print(f"  what a campaign asks for: {ours:.2f} %, limit {MOST_PERCENT} %: {verdict}")
    return ours <= MOST_PERCENT


def print_percentiles(bench: Rig) -> None:
    """Print what pgbench's own help says of percentiles or histograms."""
    argv = (bench.resolved.installation.program("pgbench"), "--help")
    output = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.splitlines()
    lines = [line.strip() for line in output if "percentile" in line or "histogram" in line]
    print(f"percentiles in pgbench --help: {'; '.join(lines) or 'none'}")


def main() -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--transactions", type=int, default=500, help="of each client in a short run")
    options = parser.parse_args()
    print(describe_machine())
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        print("not counted: valgrind is not installed")
        return 0
    found: dict[BuiltinScript, Counted] = {}
    try:
        with rig(builtin_workload(SCRIPTS[0], 5), None, settings=(*SETTINGS, *STEADY)) as bench:
            print_percentiles(bench)
            for script in SCRIPTS:
                workload = builtin_workload(script, 5)
                one_in = sampling_rate(workload, bench.bare(workload).summary.tps)
                count = partial(per_transaction, bench, valgrind, workload, options.transactions)
                found[script] = Counted(
                    count(None), count(None, progress=True), count(1), count(one_in), one_in
                )
            server = count_sessions(bench, valgrind, options.transactions)
    except FootingError as error:
        print(f"could not measure: {error}", file=sys.stderr)
        return 1
    kept = [print_counts(script, counted, server[script]) for script, counted in found.items()]
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
