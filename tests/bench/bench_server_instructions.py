"""What the server executes for a transaction beside our measuring, in counts: does it notice us?

`bench_cost_of_measuring` compares times; where others use the machine too, 1 % is far below their noise. This
counts what the session that serves one client of pgbench does for a transaction: instructions in user mode
(callgrind), and system calls, context switches and page faults (perf, at full speed). A count is the
difference of a long and a short run, so that beginning and end of a session do not show. Variants:

- bare: pgbench without --log and --progress, and nobody looks at the server; before and after the others;
- our pgbench: with --log and --progress as we ask for them;
- measured: the product's own Runner, with everything that it does while it measures, probes that ask the
  server included. Callgrind makes the server some fifty times slower, and what we do once a second weighs as
  much more in a transaction: an upper bound;
- default settings: bare, with what pgFooting itself adds to the settings as PostgreSQL has it.

What is left between two runs of the same variant (0.1 % of the instructions of select-only) is how often the
session had to wait for its client (WaitEventSetWait, secure_read, recv; up to 4 system calls a command
instead of 2) and how many seconds it reported its statistics in (pgstat_report_stat); by function nothing
else differs.

The sessions that answer our probes are counted apart: their instructions a second, in per cent of what the
session of one client executes in a second at its TPS without callgrind.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Final
from unittest.mock import patch

import psycopg

from app.domain.campaign.configuration import BuiltinScript, Workload
from app.domain.errors import FootingError
from app.execution.phases import Runner
from app.postgres.pgbench.transaction_log import sampling_rate
from app.postgres.settings import Origin
from app.probes.sources import postgres_statistics
from tests.bench import _rig
from tests.bench._counting import (
    INSTRUCTIONS,
    OF_PROBES,
    CountedServer,
    Counter,
    CountingError,
    KernelCounter,
)
from tests.bench._figures import describe_machine
from tests.bench._rig import SETTINGS, Rig, builtin_workload, rig

BARE: Final = "bare"
OURS: Final = "our pgbench"
MEASURED: Final = "measured"
DEFAULTS: Final = "default settings"
VARIANTS: Final = (BARE, OURS, MEASURED, BARE)
SCRIPTS: Final = (BuiltinScript.SELECT_ONLY, BuiltinScript.TPCB_LIKE)
MOST_INSTRUCTIONS: Final = {BuiltinScript.SELECT_ONLY: 1.005, BuiltinScript.TPCB_LIKE: 1.01}
"""Of bare, for our pgbench and measured: what runs of one variant differ by on a busy machine, where the
report of statistics, once a second, is much of a transaction (tpcb-like under callgrind: 20 to 60 TPS)."""
MOST_OF_KERNEL: Final = 1.05
"""Of bare, system calls and context switches: whether a command is waited for is the scheduler's choice."""
MOST_PERCENT_OF_PROBES: Final = 0.5
_LONGER: Final = 5
_SHORT_S: Final = 1.5
_SLOW_S: Final = 60
STEADY: Final = (("autovacuum", "off"), ("full_page_writes", "off"))
"""What happens now and then, and so in one run more often than in another."""
_LEFT_ALONE: Final = frozenset(
    {"lc_messages", "listen_addresses", "port", "unix_socket_group", "unix_socket_permissions"}
)
"""Settings of ours that keep others out, and the language of messages, whose default is the environment's."""


@dataclass(frozen=True, slots=True)
class Transaction:
    """What a transaction takes.

    Attributes:
        counts: by what was counted; of the sessions of probes, a second instead.
        tps: of the long run.
    """

    counts: Mapping[str, float]
    tps: float


def run_once(
    bench: Rig, counter: Counter, variant: str, workload: Workload, one_in: int
) -> tuple[dict[str, int], float, float]:
    """Return the counts of one run, its seconds and its TPS."""
    begun_s = 0.0

    def begin(_runner: Runner | None = None) -> None:
        nonlocal begun_s
        counter.begin()
        begun_s = time.monotonic()

    if variant == MEASURED:
        cost = bench.measured(workload, one_in, prepare=begin)
    elif variant == OURS:
        cost = bench.bare(workload, "transactions", one_in=one_in, progress=True, begin=begin)
    else:
        cost = bench.bare(workload, begin=begin)
    return counter.end(), time.monotonic() - begun_s, cost.summary.tps


def per_transaction(
    bench: Rig, counter: Counter, variant: str, workload: Workload, one_in: int
) -> Transaction:
    """Return what a transaction takes, from a short run and a long one.

    Args:
        bench: the server.
        counter: of it.
        variant: of `VARIANTS`, or `DEFAULTS`.
        workload: the short run, with a number of transactions.
        one_in: sampling of the log.
    """
    count = workload.transactions or 0
    few, few_s, _ = run_once(bench, counter, variant, workload, one_in)
    long = replace(workload, transactions=_LONGER * count)
    many, many_s, tps = run_once(bench, counter, variant, long, one_in)
    more = (_LONGER - 1) * count * workload.clients
    counts = {
        name: (many[name] - few[name]) / (many_s - few_s if name == OF_PROBES else more) for name in many
    }
    return Transaction(counts, tps)


def print_counts(found: Sequence[tuple[str, Transaction]]) -> None:
    """Print a line for each variant: counts, and their ratio to the mean of what is bare."""
    bare = [each.counts for name, each in found if name == BARE]
    for name, each in found:
        seen = []
        for counted, value in each.counts.items():
            base = sum(counts[counted] for counts in bare) / len(bare)
            if counted != OF_PROBES:
                seen.append(f"{value:12,.3f} {counted} ({value / base:.4f})")
        print(f"  {name:18}{' '.join(seen)}   {each.tps:8,.0f} TPS", flush=True)


def judge(script: BuiltinScript, found: Sequence[tuple[str, Transaction]]) -> bool:
    """Print whether the limits are kept, and return it."""
    bare = [each.counts for name, each in found if name == BARE]
    kept = True
    limits = {INSTRUCTIONS: MOST_INSTRUCTIONS[script]}
    limits |= dict.fromkeys(("system calls", "context switches"), MOST_OF_KERNEL)
    for counted in [name for name in bare[0] if name in limits]:
        base = sum(counts[counted] for counts in bare) / len(bare)
        worst = max(each.counts[counted] / base for name, each in found if name in {OURS, MEASURED})
        verdict = "reached" if worst <= limits[counted] else "MISSED"
        kept &= worst <= limits[counted]
        print(f"  {script.value}: {counted} at most {worst:.4f} of bare, limit {limits[counted]}: {verdict}")
    return kept


def judge_probes(script: BuiltinScript, found: Sequence[tuple[str, Transaction]], native_tps: float) -> bool:
    """Print whether the sessions of probes keep their limit, and return it."""
    bare = [each.counts[INSTRUCTIONS] for name, each in found if name == BARE]
    probes = next(each.counts[OF_PROBES] for name, each in found if name == MEASURED)
    percent = 100 * probes / (sum(bare) / len(bare) * native_tps)
    verdict = "reached" if percent <= MOST_PERCENT_OF_PROBES else "MISSED"
    print(
        f"  {script.value}: the sessions of probes execute {probes:,.0f} a second, {percent:.3f} % of what"
        f" the session of a client does at {native_tps:,.0f} TPS, limit {MOST_PERCENT_OF_PROBES} %: {verdict}"
    )
    return percent <= MOST_PERCENT_OF_PROBES


def defaults_of(bench: Rig) -> dict[str, str]:
    """Return what PostgreSQL has by itself for the settings that pgFooting adds."""
    ours = {each.name for each in bench.server.setup.settings if each.origin is Origin.PGFOOTING}
    conninfo = bench.server.sources.conninfo
    assert conninfo is not None
    with psycopg.connect(conninfo) as connection:
        rows = connection.execute(
            "SELECT name, boot_val FROM pg_settings WHERE name = ANY(%s)", (sorted(ours - _LEFT_ALONE),)
        )
        return dict(rows.fetchall())


def workload_of(script: BuiltinScript, transactions: int) -> Workload:
    """Return a built-in script for one client: who has nobody to wait for does the same in each run."""
    usual = builtin_workload(script, 5)
    return replace(usual, clients=1, threads=1, warmup_s=0, duration_s=None, transactions=transactions)


def count_by_kernel(bench: Rig, native: Mapping[BuiltinScript, float]) -> bool:
    """Print what the kernel counts, and return whether the limits are kept."""
    pid = bench.server.sources.postmaster_pid
    assert pid is not None
    kept: list[bool] = []
    try:
        for script in SCRIPTS:
            print(f"{script.value}, for a transaction (ratio to bare), at full speed:")
            one_in, workload = one_in_of(script, native), workload_of(script, int(native[script] * _SHORT_S))
            per_transaction(
                bench, KernelCounter(pid), BARE, workload, one_in
            )  # reads the same rows into memory
            found = [(v, per_transaction(bench, KernelCounter(pid), v, workload, one_in)) for v in VARIANTS]
            print_counts(found)
            kept.append(judge(script, found))
    except CountingError as error:
        print(f"  not counted: {error}")
    return all(kept)


def one_in_of(script: BuiltinScript, native: Mapping[BuiltinScript, float]) -> int:
    """Return the sampling of the log that a campaign would choose."""
    return sampling_rate(builtin_workload(script, 5), native[script])


def counted_server(bench: Rig, valgrind: str) -> CountedServer:
    """Return the server of a rig, to be started under callgrind."""
    folder = bench.library / "counted"
    folder.mkdir()
    bench.library.chmod(0o755)
    return CountedServer(bench.server._prepared[0], valgrind, folder)


def count_sessions(bench: Rig, valgrind: str, count: int) -> dict[BuiltinScript, float]:
    """Return the instructions of the session of one client for a transaction, beside bare pgbench."""
    counted = counted_server(bench, valgrind)
    counted.start({})
    found: dict[BuiltinScript, float] = {}
    for script in SCRIPTS:
        workload = workload_of(script, count // 4)
        per_transaction(bench, counted, BARE, workload, 1)  # reads the same rows into memory
        found[script] = per_transaction(bench, counted, BARE, workload, 1).counts[INSTRUCTIONS]
    return found


def count_instructions(bench: Rig, valgrind: str, count: int, native: Mapping[BuiltinScript, float]) -> bool:
    """Print what callgrind counts, and return whether the limits are kept."""
    counted = counted_server(bench, valgrind)
    defaults = defaults_of(bench)
    found: dict[BuiltinScript, list[tuple[str, Transaction]]] = {script: [] for script in SCRIPTS}
    kept = []
    for settings, variants in (({}, VARIANTS), (defaults, (DEFAULTS,))):
        counted.start(settings)
        for script, result in found.items():
            workload = workload_of(script, count if script is BuiltinScript.SELECT_ONLY else count // 4)
            per_transaction(bench, counted, BARE, workload, 1)  # reads the same rows into memory
            for variant in variants:
                each = per_transaction(bench, counted, variant, workload, one_in_of(script, native))
                result.append((variant, each))
            print(f"{script.value}, for a transaction (ratio to bare), under callgrind:")
            print_counts(result)
            if variants is VARIANTS:
                kept += [judge(script, result), judge_probes(script, result, native[script])]
    print("default settings: " + ", ".join(f"{name} = '{value}'" for name, value in defaults.items()))
    return all(kept)


def main() -> int:
    """Count and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--transactions", type=int, default=1000, help="of a short run under callgrind")
    parser.add_argument("--no-kernel", action="store_true", help="only instructions")
    options = parser.parse_args()
    print(describe_machine())
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        print("not counted: valgrind is not installed")
        return 0
    with ExitStack() as stack:
        # Under callgrind everything takes longer, and a probe that gives up would ask less than it does.
        stack.enter_context(
            patch.multiple(
                postgres_statistics, STATEMENT_TIMEOUT_MS=1000 * _SLOW_S, CONNECT_TIMEOUT_S=_SLOW_S
            )
        )
        stack.enter_context(patch.object(_rig, "_CONNECTED_S", _SLOW_S))
        try:
            first = workload_of(SCRIPTS[0], 5000)
            bench = stack.enter_context(rig(first, None, settings=(*SETTINGS, *STEADY)))
            native = {s: bench.bare(workload_of(s, 5000)).summary.tps for s in SCRIPTS}
            kept = options.no_kernel or count_by_kernel(bench, native)
            kept &= count_instructions(bench, valgrind, options.transactions, native)
        except (FootingError, CountingError) as error:
            print(f"could not count: {error}", file=sys.stderr)
            return 1
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
