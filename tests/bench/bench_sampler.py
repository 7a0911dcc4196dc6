"""What sampling costs: microseconds of CPU a read for each source, per cent of a core at 1 Hz, lateness.

With PostgreSQL at hand a real server with idle backends is watched (`--backends`, default 200), whose side
of the statistics statement is told too. `--seconds 600` is the run of the promise (default 20).
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg

from app.domain.campaign.configuration import PostgresChoice, Workload
from app.domain.errors import FootingError
from app.hosts.folders.account import server_account
from app.postgres.installations.find import choose_installation, find_installations
from app.postgres.machine import read_machine
from app.postgres.server import Server
from app.postgres.settings import server_settings
from app.probes.base.probe import Probe, ProbeContext, ProbeUnavailable, ServerSources
from app.probes.sampling.registry import PROBES, make_probes
from app.probes.sampling.sampler import Sampler, Tick
from app.probes.sources.postgres_statistics import statement_of

ROUNDS = 9
READS = 50
MOST_PERCENT = 1.0
MOST_DRIFT_MS = 1.0


@contextmanager
def watched_server(backends: int) -> Iterator[ProbeContext]:
    """Yield a context with a real server and idle backends; without them where there is no PostgreSQL."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pgf-bench-", dir="/tmp")))
        folder.chmod(0o711)
        context = ProbeContext(ServerSources(data_directory=str(folder)))
        try:
            server = start_server(folder, backends, stack)
        except FootingError as err:
            print(f"without a server: {err}")
        else:
            for _ in range(backends):
                stack.enter_context(psycopg.connect(server.conninfo, autocommit=True))
            context.server = ServerSources(server.conninfo, server.pid, server.data_directory)
            context.pgbench_pid = os.getpid()  # any process of this user: a read costs the same
        yield context


def start_server(folder: Path, backends: int, stack: ExitStack) -> Server:
    """Start a server that lets `backends` and the probe in; it ends with `stack`."""
    account = server_account(lambda _outcome: None)
    installation = choose_installation("newest", find_installations(account))
    paths = {}
    for name in ("data", "socket", "private"):
        paths[name] = folder / name
        paths[name].mkdir(mode=0o700)
        os.chown(paths[name], account.uid, account.gid)
    choice = PostgresChoice(settings=(("max_connections", str(backends + 20)),))
    settings = server_settings(choice, read_machine(), Workload(), target_free_bytes=1024**3)
    server = Server(
        installation=installation,
        account=account,
        data_directory=str(paths["data"]),
        socket_directory=str(paths["socket"]),
        log_path=str(paths["private"] / "server.log"),
        settings=settings,
        record=lambda _outcome: None,
    )
    server.initdb(checksums=True)
    server.write_configuration()
    server.start()
    stack.callback(server.stop)
    print(f"watching PostgreSQL {installation.version} with {backends} idle backends")
    return server


def cost_of(probe: Probe, context: ProbeContext) -> tuple[float, float, int] | None:
    """Return CPU and wall microseconds a read, median of rounds, and the number of series."""
    try:
        probe.open(context)
        probe.read()
        time.sleep(0.05)
        series = len(probe.read())
    except (ProbeUnavailable, OSError) as err:
        print(f"  {probe.id:22} unavailable: {err}")
        return None
    cpu_us, wall_us = [], []
    for _ in range(ROUNDS):
        cpu_s, wall_s = time.thread_time(), time.perf_counter()
        for _ in range(READS):
            probe.read()
        cpu_us.append((time.thread_time() - cpu_s) / READS * 1e6)
        wall_us.append((time.perf_counter() - wall_s) / READS * 1e6)
    probe.close()
    return statistics.median(cpu_us), statistics.median(wall_us), series


def print_costs(context: ProbeContext) -> None:
    """Print the table of sources; rounds of a tight loop, so caches are warm (a real tick costs more)."""
    print(
        f"\n{'source':24} {'CPU us':>8} {'wall us':>8} {'series':>7}   (median of {ROUNDS} x {READS} reads)"
    )
    total_us, total_series = 0.0, 0
    for kind in PROBES:
        found = cost_of(kind(), context)
        if found is None:
            continue
        cpu_us, wall_us, series = found
        total_us, total_series = total_us + cpu_us, total_series + series
        print(f"  {kind.id:22} {cpu_us:8.1f} {wall_us:8.1f} {series:7}")
    print(f"  {'all':22} {total_us:8.1f} {'':8} {total_series:7}")
    if context.server.conninfo:
        print(f"  the server's side of the statement: {server_side_us(context):.0f} us of a backend")


def server_side_us(context: ProbeContext, reads: int = 1000) -> float:
    """Return the CPU of the backend that answers the statistics statement, microseconds a read."""
    with psycopg.connect(context.server.conninfo or "", autocommit=True) as connection:
        statement = statement_of(connection.info.server_version // 10000).encode()
        path = Path(f"/proc/{connection.info.backend_pid}/schedstat")
        connection.execute(statement, prepare=True)
        before_ns = int(path.read_text().split()[0])
        for _ in range(reads):
            connection.execute(statement, prepare=True)
        return (int(path.read_text().split()[0]) - before_ns) / reads / 1000


def run_sampler(probes: list[Probe], context: ProbeContext, seconds: int) -> tuple[list[Tick], float]:
    """Return the ticks of a real sampler and the CPU seconds this process used meanwhile."""
    ticks: list[Tick] = []
    sampler = Sampler(probes, context, ticks.append)
    sampler.start()
    time.sleep(0.2)
    cpu_s = time.process_time()
    time.sleep(seconds)
    cpu_s = time.process_time() - cpu_s
    sampler.stop()
    return ticks, cpu_s


def print_run(name: str, ticks: list[Tick], cpu_s: float, seconds: int) -> None:
    """Print share of a core, lateness and drift of one run."""
    lateness_us = sorted(tick.lateness_s * 1e6 for tick in ticks)
    missed = sum(len(tick.missed) for tick in ticks)
    numbers = [tick.number for tick in ticks]
    slope = statistics.linear_regression(numbers, [tick.lateness_s * 1000 for tick in ticks]).slope
    print(f"\n{name}, {seconds} s at 1 Hz")
    print(f"  CPU of this process           {cpu_s / seconds * 100:.3f} % of one core")
    print(
        f"  lateness                      median {statistics.median(lateness_us):.0f} us,"
        f" p99 {lateness_us[int(len(lateness_us) * 0.99)]:.0f} us, most {lateness_us[-1]:.0f} us"
    )
    print(f"  drift                         {slope:+.4f} ms/s (deadlines are start + number)")
    print(f"  ticks                         {len(ticks)} of {numbers[-1] + 1} deadlines, {missed} missed")
    late = sum(len(tick.missed_readings) for tick in ticks)
    most = max((len(tick.samples) + sum(len(d.samples) for d in tick.delayed) for tick in ticks), default=0)
    reads_us = statistics.median(tick.read_s * 1e6 for tick in ticks)
    print(f"  readings of blocking probes   {late} missed")
    print(f"  samples in a tick             at most {most}; reading took {reads_us:.0f} us in the median")
    percent = cpu_s / seconds * 100
    for what, reached in (
        (f"under {MOST_PERCENT} % of a core", percent < MOST_PERCENT),
        (f"every second of {seconds} has its tick", set(range(seconds + 1)) <= set(numbers)),
        (f"drift under {MOST_DRIFT_MS} ms/s", abs(slope) < MOST_DRIFT_MS),
    ):
        print(f"  target: {what:40} {'reached' if reached else 'MISSED'}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--backends", type=int, default=200)
    parser.add_argument("--quick", action="store_true", help="5 s, 20 backends: to see that it works")
    options = parser.parse_args()
    if options.quick:
        options.seconds, options.backends = 5, 20
    load = " ".join(Path("/proc/loadavg").read_text().split()[:3])
    print(f"{os.cpu_count()} CPUs, {os.uname().release}, load before {load}")
    with watched_server(options.backends) as context:
        print_costs(context)
        short_s = min(options.seconds, 20)
        ticks, cpu_s = run_sampler([], context, short_s)
        print_run("an empty tick", ticks, cpu_s, short_s)
        ticks, cpu_s = run_sampler(make_probes(), context, options.seconds)
        print_run("all probes", ticks, cpu_s, options.seconds)


if __name__ == "__main__":
    main()
