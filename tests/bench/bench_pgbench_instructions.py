"""What our arguments cost pgbench itself, in instructions: the same on a busy machine as on a quiet one.

`bench_cost_of_measuring` compares times, and a machine that others use needs hours to tell 1 % from their
noise. This counts what pgbench executes in user mode (callgrind) for a transaction: bare, with the log of
every transaction, and with the log as a campaign samples it. Each count is the difference of a long and a
short run, so that start and end of the program do not show. Progress lines are no part of it: one a second,
82 ns a transaction at 53,000 TPS (measured with times).

Converted with the CPU time in user mode that bare pgbench needs for one of its instructions on this machine.
Log lines are buffered, so that the kernel's share of writing them is small.
"""

from __future__ import annotations

import argparse
import re
import resource
import shutil
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from app.domain.campaign.configuration import BuiltinScript, Workload
from app.domain.errors import FootingError
from app.postgres.pgbench.argv import BenchmarkRequest, TransactionLog, benchmark_argv
from app.postgres.pgbench.log_sampling import sampling_rate
from app.recording.events import NullListener
from tests.bench._figures import describe_machine
from tests.bench._rig import Cost, Rig, builtin_workload, rig

SCRIPTS: Final = (BuiltinScript.SELECT_ONLY, BuiltinScript.TPCB_LIKE)
_COLLECTED: Final = re.compile(r"Collected : (\d+)")


@dataclass(frozen=True, slots=True)
class Counted:
    """Instructions of pgbench for a transaction.

    Attributes:
        bare: without a log.
        full: every transaction logged.
        sampled: one in `one_in` logged.
        one_in: as a campaign chooses it at the TPS of bare pgbench.
    """

    bare: float
    full: float
    sampled: float
    one_in: int


def executed(bench: Rig, valgrind: str, workload: Workload, one_in: int | None) -> int:
    """Return the instructions of one pgbench.

    Args:
        bench: the server.
        valgrind: its program.
        workload: with a number of transactions.
        one_in: sampling of the log; None for no log.
    """
    prefix = f"{bench.place.folder.path}/counted"
    request = BenchmarkRequest(
        seed=bench.planned.seed,
        scale=bench.resolved.scale.scale,
        threads=workload.threads or bench.resolved.threads,
        log=None if one_in is None else TransactionLog(prefix, one_in),
    )
    runner = bench.runner(workload, NullListener())
    pgbench = bench.pgbench(runner)
    argv = benchmark_argv(pgbench._program(), bench.server.address, workload, request)
    argv = tuple(word for word in argv if not word.startswith("--progress"))
    child = pgbench._spawn((valgrind, "--tool=callgrind", "--callgrind-out-file=/dev/null", *argv), "counted")
    status = child.wait()
    told = Path(bench.place.folder.path, "counted.stderr").read_text()
    bench.finish(runner)
    found = _COLLECTED.search(told)
    if status or found is None:
        raise RuntimeError(told)
    return int(found[1])


def per_transaction(bench: Rig, valgrind: str, workload: Workload, one_in: int | None, count: int) -> float:
    """Return the instructions for a transaction, from a short run and one that is five times as long."""
    short = replace(workload, duration_s=None, transactions=count)
    long = replace(short, transactions=5 * count)
    more = executed(bench, valgrind, long, one_in) - executed(bench, valgrind, short, one_in)
    return more / (4 * count * workload.clients)


def tell(script: BuiltinScript, counted: Counted, bare: Cost, user_s: float) -> None:
    """Print one workload."""
    user_ns = user_s / bare.transactions * 1e9
    all_ns = (bare.pgbench_s + bare.server_s) / bare.transactions * 1e9
    print(f"{script.value}: bare pgbench executes {counted.bare:,.0f} instructions a transaction")
    print(f"  in {user_ns:,.0f} ns of user mode; server and pgbench together need {all_ns:,.0f} ns of CPU")
    for name, value in (
        ("every one logged", counted.full),
        (f"1 in {counted.one_in} logged", counted.sampled),
    ):
        more = value - counted.bare
        share = more / counted.bare * user_ns / all_ns
        print(f"  {name:18} {more:+8,.0f} instructions, {100 * share:.2f} % of the CPU time of all")


def children_user_s() -> float:
    """Return the CPU time in user mode of all children that ended."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime


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
    try:
        with rig(builtin_workload(SCRIPTS[0], 5), None) as bench:
            for script in SCRIPTS:
                workload = builtin_workload(script, 5)
                user_s = children_user_s()
                bare = bench.bare(workload)
                user_s = children_user_s() - user_s
                one_in = sampling_rate(workload, bare.summary.tps)
                bare_count, full, sampled = (
                    per_transaction(bench, valgrind, workload, each, options.transactions)
                    for each in (None, 1, one_in)
                )
                tell(script, Counted(bare_count, full, sampled, one_in), bare, user_s)
    except FootingError as error:
        print(f"could not measure: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
