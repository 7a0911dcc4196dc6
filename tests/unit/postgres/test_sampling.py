"""How much of the transaction log is written."""

from __future__ import annotations

import pytest

from app.domain.campaign.configuration import BuiltinScript, Script, Workload
from app.postgres.pgbench.transaction_log import sampling_rate

READS = Workload(scripts=(Script(builtin=BuiltinScript.SELECT_ONLY),))


@pytest.mark.parametrize(
    ("expected_tps", "one_in"),
    [(0.0, 1), (5_000.0, 1), (5_001.0, 5), (7_500.0, 6), (50_000.0, 40), (53_000.0, 43), (1e6, 800)],
)
def test_sampling_begins_above_5000_tps(expected_tps: float, one_in: int) -> None:
    assert sampling_rate(Workload(), expected_tps) == one_in
    assert sampling_rate(READS, expected_tps) == one_in


def test_only_reads_sampled_without_expectation() -> None:
    assert sampling_rate(READS) == 40
    assert sampling_rate(Workload()) == 1
    own = Script(builtin=None, path="/home/u/own.sql")
    assert sampling_rate(Workload(scripts=(own,))) == 1


def test_measured_rate_only_lowers_expectation() -> None:
    limited = Workload(scripts=READS.scripts, rate_tps=20_000.0)
    assert sampling_rate(limited) == 16
    assert sampling_rate(limited, 100_000.0) == 16
    assert sampling_rate(limited, 4_000.0) == 1
