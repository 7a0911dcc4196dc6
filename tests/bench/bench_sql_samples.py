"""How far charts of a server elsewhere are behind, as far as SQL tells them: behind 0, 5 and 50 ms of delay.

To reach: at most 2 s from the question to the tick that brings the answer, with the delay of the line.

    python -m tests.bench.bench_sql_samples [--seconds 30] [--delay 0 5 50]
"""

from __future__ import annotations

import sys
import time

from app.postgres.connection import ROLE
from app.probes.base.probe import ProbeContext, ServerSources
from app.probes.sampling.sampler import Sampler
from app.probes.sources.postgres_statistics import PostgresStatisticsProbe
from app.probes.sources.wait_events import WaitEventsProbe
from tests.bench._elsewhere import MOST_BEHIND_S, Seen, seconds_and_delays, server_elsewhere
from tests.delaying_proxy import delaying_proxy


def measure(port: int, seconds: float, delay_ms: float) -> bool:
    """Sample for so long and print; return whether the limit was kept."""
    seen = Seen()
    with delaying_proxy(port, delay_ms / 1000) as proxy:
        conninfo = f"host=127.0.0.1 port={proxy.port} user={ROLE} dbname=postgres"
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
    options = seconds_and_delays(__doc__)
    with server_elsewhere() as port:
        kept = [measure(port, options.seconds, delay_ms) for delay_ms in options.delay]
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
