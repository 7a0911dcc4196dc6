"""How much of the transaction log is written, so that writing it does not slow what it measures.

Measured (prepared select-only, 53 000 TPS): a full log costs 541 ns of pgbench's CPU time a transaction and
about 5 % of the TPS of a saturated CPU, a tenth of it 212 ns. Measured with everything on one CPU
(tests/bench/bench_cost_of_measuring.py, tpcb-like at 8 700 TPS): with a full log all that is ours takes
1.3 % of the CPU time; hence the limits below. Counted (tests/bench/bench_pgbench_instructions.py): a line of
the log takes 4 000 to 5 600 instructions, two thirds of what pgbench executes for a prepared select. No
pgbench up to 19 keeps histograms itself; with one that does, by second, this module is not needed.
"""

from __future__ import annotations

import math
from typing import Final

from app.domain.campaign.configuration import Workload

FULL_LOG_TPS: Final = 5_000
"""Up to here every transaction is logged."""
SAMPLED_TPS: Final = 1_250
"""Above, as many a second as this: the standard error of the rank of the 99th percentile is then 3.5 of 12.5
in one second, and 27 of 750 over a minute."""
UNKNOWN_READS_ONE_IN: Final = 40
"""For reads without expectation: even a small machine serves 50 000 a second from memory."""


def sampling_rate(workload: Workload, expected_tps: float | None = None) -> int:
    """Return n: one in n transactions is logged; 1 for all of them.

    Args:
        workload: its rate bounds the TPS.
        expected_tps: as measured by a warm-up or an earlier run; None where nothing is known. Workloads that
            write are then logged in full, the built-in select-only as `UNKNOWN_READS_ONE_IN` says.
    """
    known = [tps for tps in (workload.rate_tps, expected_tps) if tps is not None]
    if not known:
        return 1 if workload.writes else UNKNOWN_READS_ONE_IN
    tps = min(known)
    return 1 if tps <= FULL_LOG_TPS else math.ceil(tps / SAMPLED_TPS)
