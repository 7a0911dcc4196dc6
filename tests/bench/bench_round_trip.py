"""How well the round trip to a server is told: behind proxies that delay by 0, 5 and 50 ms.

To reach: what is told (the median) is within 10 % of the delay. Rounds are interleaved, and their median
counts; the shortest trip without delay is what the proxy itself costs, and is taken off.

    python -m tests.bench.bench_round_trip
"""

from __future__ import annotations

import statistics
from typing import Final

from app.postgres.connection import ROLE
from app.postgres.existing.address import open_address
from app.postgres.existing.look import RoundTrip, measure_round_trip
from tests.bench._elsewhere import server_elsewhere
from tests.delaying_proxy import delaying_proxy

DELAYS_MS: Final = (0.0, 5.0, 50.0)
ROUNDS: Final = 5


def main() -> None:
    """Start a server, measure it through each proxy, and print what was told."""
    told: dict[float, list[RoundTrip]] = {delay_ms: [] for delay_ms in DELAYS_MS}
    with server_elsewhere() as port:
        for _ in range(ROUNDS):
            for delay_ms, trips in told.items():
                with delaying_proxy(port, delay_ms / 1000) as proxy:
                    _, connection = open_address(f"host=127.0.0.1 port={proxy.port} user={ROLE}")
                    with connection:
                        trips.append(measure_round_trip(connection))
    proxy_ms = min(trip.least_ms for trip in told[0.0])
    for delay_ms, trips in told.items():
        median_ms = statistics.median(trip.median_ms for trip in trips)
        least_ms, most_ms = min(trip.least_ms for trip in trips), max(trip.most_ms for trip in trips)
        error = f", {100 * (median_ms - proxy_ms - delay_ms) / delay_ms:+.1f} %" if delay_ms else ""
        print(f"{delay_ms:4.0f} ms: told {median_ms:.2f} ms ({least_ms:.2f} to {most_ms:.2f}){error}")


if __name__ == "__main__":
    main()
