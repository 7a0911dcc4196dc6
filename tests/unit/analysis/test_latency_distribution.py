"""Merged histograms, percentiles by nines, and cycles laid over each other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.analysis.latency_distribution import Distribution, merge_distributions, read_distribution
from app.analysis.stability import since_checkpoint
from app.domain.errors import CorruptRunFileError
from app.domain.metrics import Sample
from app.domain.run import Phase, RunState
from app.postgres.pgbench.histogram import Histogram
from app.runfile.finalize import finish_run_file
from app.runfile.histogram_decoding import merge_encoded
from app.runfile.series import TPS, load_run_data
from app.runfile.writer import LatencySecond, RunFileWriter
from tests.made_runs import finished_run

LATENCIES = st.lists(st.integers(0, 2**40), max_size=40)


def histogram(latency_us: list[int]) -> Histogram:
    return Histogram.of(np.array(latency_us, np.int64)) if latency_us else Histogram.empty()


@given(st.lists(LATENCIES, max_size=12))
def test_merged_histograms_equal_whole(seconds: list[list[int]]) -> None:
    whole = histogram([value for second in seconds for value in second])
    found = merge_encoded([histogram(second).encode() for second in seconds])
    assert (found.buckets.tolist(), found.counts.tolist()) == (whole.buckets.tolist(), whole.counts.tolist())


def test_merge_large_counts_and_damage() -> None:
    huge = Histogram(np.array([5, 900]), np.array([2**40, 7]))
    assert merge_encoded([huge.encode()] * 3).counts.tolist() == [3 * 2**40, 21]
    with pytest.raises(CorruptRunFileError):
        merge_encoded([huge.encode(), b"\x01nonsense"])


def test_shares_and_nines() -> None:
    # 0 ... 999 us once each, below 256 exactly
    found = Distribution(histogram(list(range(1000))), 1, 0)
    latency_ms, shares = found.shares()
    assert shares[list(latency_ms).index(0.099)] == pytest.approx(0.1)
    assert shares[-1] == 1
    nines, latency_ms = found.nines()
    at_90 = float(np.interp(1.0, nines, latency_ms))
    assert at_90 == pytest.approx(0.9, rel=0.01)
    assert 1.9 < nines[-1] <= 2  # ten of a thousand above: two nines and no more


def test_nothing_has_no_shares_and_no_nines() -> None:
    empty = merge_distributions([])
    assert len(empty.shares()[0]) == len(empty.nines()[0]) == 0


def test_sampled_run_weighted() -> None:
    full, sampled = Distribution(histogram([100] * 90), 1, 0), Distribution(histogram([200] * 9), 10, 2)
    whole = merge_distributions([full, sampled])
    assert whole.histogram.counts.tolist() == [90, 90]
    assert (whole.one_in, whole.partial) == (10, 2)
    assert merge_distributions([sampled, sampled]).histogram.total == 18


def test_distribution_of_measured_phase(tmp_path: Path) -> None:
    found = read_distribution(finished_run(tmp_path / "a.footing"))
    assert found.histogram.total == 600
    assert found.histogram.percentile(50) == pytest.approx(2000, rel=0.008)


# --- since the last checkpoint --------------------------------------------------------------------


def saw_tooth(path: Path, *, checkpoints: bool = True) -> Path:
    """Forty seconds with a checkpoint at 10 and 20 s: TPS count the seconds since, latencies likewise."""
    writer = RunFileWriter(path, started_monotonic_s=0.0)
    with writer.transaction():
        writer.set_run({"id": "ab", "name": "saw", "state": RunState.RUNNING.value})
        writer.begin_phase(Phase.MEASURE, 1000)
        for second in range(40):
            t_ms = 1000 * (second + 2)
            since = (second % 10) + 1 if second < 30 else second - 20 + 1
            if checkpoints and second in {10, 20}:
                writer.add_event(t_ms - 1000, "checkpoint-start", "checkpoint starting: time", {})
                writer.add_event(t_ms + 1000, "checkpoint-complete", "checkpoint complete", {})
            tick = [(t_ms, Sample("pgbench.tps", 100.0 * since))]
            writer.add_tick(second, t_ms, lateness_us=0, missed=0, samples=tick)
            encoded = histogram([since] * 10).encode()
            writer.put_latency_second(
                LatencySecond(t_ms - 1000, 10, since * 10, 0, 0, partial=False, buckets=encoded)
            )
    with writer.transaction():
        writer.end_phase(41_000)
    writer.close()
    finish_run_file(path, RunState.DONE, {"tps": 1.0})
    return path


def test_cycles_are_laid_over_each_other(tmp_path: Path) -> None:
    folded = since_checkpoint(load_run_data(saw_tooth(tmp_path / "a.footing")))
    assert folded is not None
    t_s, tps = folded.series(*TPS)
    assert t_s.tolist() == [float(second) for second in range(1, 21)]
    assert tps.tolist() == pytest.approx([100.0 * second for second in range(1, 21)])
    latency_s, latency_ms = folded.percentile(99.0)
    assert latency_s.tolist() == t_s.tolist()
    assert latency_ms.tolist() == pytest.approx([second / 1000 for second in range(1, 21)])
    assert (folded.begin_s, folded.end_s) == (0.0, 20.0)
    assert folded.checkpoints() == []


def test_since_checkpoint_without_checkpoint(tmp_path: Path) -> None:
    data = load_run_data(saw_tooth(tmp_path / "a.footing", checkpoints=False))
    assert since_checkpoint(data) is None
