"""How well the round trip to a server is told: behind lines that delay by 0, 5 and 50 ms.

To reach: what is told (the median) is within 10 % of the delay. Rounds are interleaved, and their median
counts; the shortest trip without delay is what line and ends themselves cost, and is taken off.

    python -m tests.bench.bench_round_trip
    tests/machine/run-guest -- python3 -m tests.bench.bench_round_trip --netem
"""

from __future__ import annotations

import statistics
from typing import Final

from app.postgres.connection import ROLE
from app.postgres.existing.address import open_address
from app.postgres.existing.look import RoundTrip, measure_round_trip
from tests.bench._elsewhere import line_to, options_of_lines, server_elsewhere

ROUNDS: Final = 5


def main() -> None:
    """Start a server, measure it over each line, and print what was told."""
    options = options_of_lines(__doc__)
    told: dict[float, list[RoundTrip]] = {delay_ms: [] for delay_ms in sorted({0.0, *options.delay})}
    with server_elsewhere() as port:
        for _ in range(ROUNDS):
            for delay_ms, trips in told.items():
                with line_to(port, delay_ms, netem=options.netem) as entry:
                    _, connection = open_address(f"host=127.0.0.1 port={entry} user={ROLE}")
                    with connection:
                        trips.append(measure_round_trip(connection))
    itself_ms = min(trip.least_ms for trip in told[0.0])
    for delay_ms, trips in told.items():
        median_ms = statistics.median(trip.median_ms for trip in trips)
        least_ms, most_ms = min(trip.least_ms for trip in trips), max(trip.most_ms for trip in trips)
        error = f", {100 * (median_ms - itself_ms - delay_ms) / delay_ms:+.1f} %" if delay_ms else ""
        print(f"{delay_ms:4.0f} ms: told {median_ms:.2f} ms ({least_ms:.2f} to {most_ms:.2f}){error}")


if __name__ == "__main__":
    main()
