"""How far charts of a server elsewhere are behind, as far as SQL tells them: behind 0, 5 and 50 ms of delay.

To reach: at most 2 s from the question to the tick that brings the answer, with the delay of the line.

    python -m tests.bench.bench_sql_samples [--seconds 30] [--delay 0 5 50]
    tests/machine/run-guest -- python3 -m tests.bench.bench_sql_samples --netem
"""

from __future__ import annotations

import sys
import time

from app.postgres.connection import ROLE
from app.probes.base.probe import ProbeContext, ServerSources
from app.probes.sampling.sampler import Sampler
from app.probes.sources.postgres_statistics import PostgresStatisticsProbe
from app.probes.sources.wait_events import WaitEventsProbe
from tests.bench._elsewhere import MOST_BEHIND_S, Seen, line_to, options_of_lines, server_elsewhere


def measure(port: int, seconds: float, delay_ms: float, *, netem: bool) -> bool:
    """Sample for so long and print; return whether the limit was kept."""
    seen = Seen()
    with line_to(port, delay_ms, netem=netem) as entry:
        conninfo = f"host=127.0.0.1 port={entry} user={ROLE} dbname=postgres"
        context = ProbeContext(ServerSources(conninfo=conninfo, database="postgres"))
        sampler = Sampler([PostgresStatisticsProbe(), WaitEventsProbe()], context, seen.tick)
        sampler.start()
        time.sleep(seconds)
        sampler.stop()
    behind_s = seen.most_behind_s(delay_ms)
    print(
        f"round trip {delay_ms:g} ms, {seconds:.0f} s: {len(seen.behind_s)} answers, {seen.missed} missed, "
        f"{len(seen.series)} series; charts at most {behind_s:.2f} s behind, limit {MOST_BEHIND_S:g} s"
    )
    return behind_s <= MOST_BEHIND_S


def main() -> int:
    """Measure and print."""
    options = options_of_lines(__doc__, seconds=30)
    with server_elsewhere() as port:
        kept = [measure(port, options.seconds, delay_ms, netem=options.netem) for delay_ms in options.delay]
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
