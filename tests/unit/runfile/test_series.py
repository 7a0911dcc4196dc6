from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pytest

from app.domain.errors import CorruptRunFileError, RunFileError
from app.domain.metrics import Sample
from app.domain.run import Phase, RunState
from app.live.campaign_follower import GrowingRun
from app.postgres.pgbench.histogram import Histogram
from app.runfile.finalize import finish_run_file
from app.runfile.reader import RunFile
from app.runfile.series import load_run_data, running_mean
from app.runfile.writer import LatencySecond
from tests.fix_runs import WARM_UP_S, Shape, add_seconds, begin_run, tps_of, write_run

SHAPE = Shape(seconds=60, checkpoint_every_s=25, stall=(40, 4))


@pytest.fixture
def run_file(tmp_path: Path) -> Path:
    return write_run(tmp_path / "run.footing", SHAPE, "ext4 #1")


def test_time_zero_at_measured_phase(run_file: Path) -> None:
    data = load_run_data(run_file)
    t_s, tps = data.series("pgbench.tps")
    assert t_s.tolist() == [float(second + 1 - WARM_UP_S) for second in range(WARM_UP_S + 60)]
    assert tps == pytest.approx(tps_of(SHAPE), rel=1e-5)
    assert (data.begin_s, data.end_s, data.duration_s, data.planned_s) == (-10.0, 60.0, 60.0, 60.0)
    assert (data.name, data.campaign, data.state) == ("ext4 #1", "Trial", RunState.DONE)


def test_missing_series_empty(run_file: Path) -> None:
    assert [len(part) for part in load_run_data(run_file).series("cpu.steal")] == [0, 0]


def test_percentiles_are_those_of_each_seconds_histogram(run_file: Path) -> None:
    data = load_run_data(run_file)
    for percent in (50.0, 99.0, 99.9):
        t_s, latency_ms = data.percentile(percent)
        with RunFile(run_file) as run:
            seconds = list(run.latency_seconds())
        assert t_s.tolist() == [(second.t_ms + 1000) / 1000 - WARM_UP_S for second in seconds]
        expected = [Histogram.decode(second.buckets).percentile(percent) / 1000 for second in seconds]
        assert latency_ms == pytest.approx(expected, rel=1e-5)


def test_percentiles_without_stored_series(run_file: Path) -> None:
    stored = load_run_data(run_file).percentile(99)
    connection = sqlite3.connect(run_file)
    connection.execute("DELETE FROM series WHERE metric LIKE 'latency.p%'")
    connection.commit()
    connection.close()
    decoded = load_run_data(run_file).percentile(99)
    assert decoded[0].tolist() == stored[0].tolist()
    assert decoded[1] == pytest.approx(stored[1], rel=1e-5)


def test_stalls_below_tenth_of_median(run_file: Path) -> None:
    assert load_run_data(run_file).stalls() == [(40.0, 44.0)]


def test_short_run_no_stalls(run_file: Path) -> None:
    assert load_run_data(run_file).until(9).stalls() == []


def test_checkpoints_begin_end_and_data(run_file: Path) -> None:
    checkpoints = load_run_data(run_file).checkpoints()
    assert [(start, end) for start, end, _ in checkpoints] == [(16.0, 24.0), (41.0, 49.0)]
    assert checkpoints[0][2].data["buffers"] == 2983


def test_until_knows_nothing_later(run_file: Path) -> None:
    data = load_run_data(run_file)
    early = data.until(18.0)
    assert early.series("pgbench.tps")[0][-1] == 18.0
    assert early.percentile(99)[0][-1] == 18.0
    assert [(start, end) for start, end, _ in early.checkpoints()] == [(16.0, 18.0)]
    assert early.stalls() == []
    assert (early.state, early.duration_s, early.summary) == (RunState.RUNNING, 18.0, {})
    assert [times.ended_ms for times in early.phases] == [10000, None]
    assert data.until(1000.0) is data


def test_until_before_measured_phase(run_file: Path) -> None:
    early = load_run_data(run_file).until(-4.0)
    assert early.series("pgbench.tps")[0].tolist() == [-9.0, -8.0, -7.0, -6.0, -5.0, -4.0]
    assert early.duration_s == 0.0


def test_running_mean_of_fifteen_seconds() -> None:
    t_s = np.arange(1.0, 101.0)
    values = np.random.default_rng(5).random(100)
    means = running_mean(t_s, values)
    assert means[50] == pytest.approx(values[43:58].mean())
    assert means[0] == pytest.approx(values[:8].mean())
    assert means[-1] == pytest.approx(values[-8:].mean())


def test_running_mean_within_phase() -> None:
    t_s = np.arange(-19.0, 21.0)
    values = np.where(t_s > 0, 100.0, 10.0)
    assert running_mean(t_s, values).tolist() == values.tolist()


def test_the_running_mean_of_nothing_is_nothing() -> None:
    assert running_mean(np.empty(0), np.empty(0)).tolist() == []


def test_growing_run_equals_finished(tmp_path: Path) -> None:
    path = tmp_path / "run.footing"
    writer = begin_run(path, SHAPE, "ext4 #1")
    growing = GrowingRun(path)
    looks = []
    for begin in range(0, WARM_UP_S + 60, 7):
        add_seconds(writer, SHAPE, begin, min(begin + 7, WARM_UP_S + 60))
        looks.append(growing.refresh())
    assert [len(look.series("cpu.user")[0]) for look in looks] == [7, 14, 21, 28, 35, 42, 49, 56, 63, 70]
    assert looks[0].measure_start_ms is None
    assert looks[0].series("pgbench.tps")[0][-1] == -3.0
    with writer.transaction():
        writer.end_phase(1000 * (WARM_UP_S + 60))
    writer.close()
    live = looks[-1]
    finish_run_file(path, RunState.DONE, {})
    done = growing.refresh()
    assert done.state is RunState.DONE
    assert set(done.series_keys()) - set(live.series_keys()) == {
        (f"latency.p{each}", "") for each in (50, 95, 99)
    }
    for key in live.series_keys():
        assert [part.tolist() for part in live.series(*key)] == [part.tolist() for part in done.series(*key)]
    assert live.percentile(95)[0].tolist() == done.percentile(95)[0].tolist()
    assert live.percentile(95)[1] == pytest.approx(done.percentile(95)[1], rel=1e-5)
    assert live.checkpoints() == done.checkpoints()


def test_snapshot_of_growing_run_unchanged(tmp_path: Path) -> None:
    writer = begin_run(tmp_path / "run.footing", SHAPE, "ext4 #1")
    growing = GrowingRun(writer.path)
    add_seconds(writer, SHAPE, 0, 30)
    first = growing.refresh()
    before = [part.tolist() for part in first.series("pgbench.tps")]
    add_seconds(writer, SHAPE, 30, 70)
    growing.refresh()
    assert [part.tolist() for part in first.series("pgbench.tps")] == before
    assert first.percentile(50)[0][-1] == 20.0
    writer.close()


def test_late_log_lines_correct_second(tmp_path: Path) -> None:
    writer = begin_run(tmp_path / "run.footing", SHAPE, "ext4 #1")
    growing = GrowingRun(writer.path)

    def latency(t_ms: int, latency_us: int, *, partial: bool) -> LatencySecond:
        encoded = Histogram.of(np.array([latency_us], np.int64)).encode()
        return LatencySecond(t_ms, 1, latency_us, skipped=0, failed=0, partial=partial, buckets=encoded)

    with writer.transaction():
        writer.begin_phase(Phase.MEASURE, 0)
        writer.add_tick(0, 3000, lateness_us=0, missed=0, samples=[(3000, Sample("pgbench.tps", 1.0))])
        writer.put_latency_second(latency(1000, 1000, partial=True))
        writer.put_latency_second(latency(2000, 2000, partial=True))
    data = growing.refresh()
    assert data.percentile(50)[1] == pytest.approx([1.0, 2.0], rel=0.01)
    assert data.partial_seconds().tolist() == [2.0, 3.0]
    with writer.transaction():
        writer.put_latency_second(latency(0, 5000, partial=False))
        writer.put_latency_second(latency(1000, 10000, partial=False))
    data = growing.refresh()
    assert data.percentile(50)[1] == pytest.approx([5.0, 10.0, 2.0], rel=0.01)
    assert data.partial_seconds().tolist() == [3.0]
    writer.close()


def test_late_pgbench_second_counted_once(tmp_path: Path) -> None:
    writer = begin_run(tmp_path / "run.footing", SHAPE, "ext4 #1")
    growing = GrowingRun(writer.path)
    with writer.transaction():
        writer.begin_phase(Phase.MEASURE, 0)
        writer.add_tick(0, 1000, lateness_us=0, missed=0, samples=[(1000, Sample("pgbench.tps", 1.0))])
        writer.add_tick(-1, 2000, lateness_us=0, missed=0, samples=[(2000, Sample("pgbench.tps", 2.0))])
    for _ in range(2):
        assert growing.refresh().series("pgbench.tps")[1].tolist() == [1.0, 2.0]
    writer.close()


def test_run_deleted_while_shown(run_file: Path) -> None:
    data = load_run_data(run_file)
    data.load([("pgbench.tps", "")])
    run_file.unlink()
    assert len(data.series("pgbench.tps")[0]) == 70
    with pytest.raises(RunFileError, match="cannot be read"):
        data.series("cpu.user")


def test_a_damaged_histogram_is_told_as_damage(tmp_path: Path) -> None:
    writer = begin_run(tmp_path / "run.footing", SHAPE, "ext4 #1")
    add_seconds(writer, SHAPE, 0, 30)
    with writer.transaction():
        writer.put_latency_second(
            LatencySecond(15000, 5, 5, skipped=0, failed=0, partial=False, buckets=b"\x01nonsense")
        )
    writer.close()
    with pytest.raises(CorruptRunFileError, match="damaged"):
        load_run_data(writer.path).percentile(50)
