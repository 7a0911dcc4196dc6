from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.analysis.labels import mark_words
from app.analysis.stability import read_shape
from app.domain.errors import CorruptRunFileError
from app.domain.metrics import Sample
from app.runfile.figures import FIGURES
from app.runfile.reader import RunFile
from app.runfile.summary import marks_after, summarise, without_sampling_noise
from app.statistics.series import steady_state
from tests.fix_runs import Shape
from tests.fix_runs import write_run as write_shape
from tests.made_runs import finished_run, write_run


def figures_of(path: Path) -> dict[str, float | None]:
    with RunFile(path) as run:
        return summarise(run)


@pytest.mark.parametrize(
    ("cv", "one_in", "expected"),
    [
        (0.05, 1, 0.05),
        (0.0, 1, 0.0),
        (0.048, 100, None),
        (0.0487, 100, None),
        (0.05, 100, None),
        (0.1, 100, 0.0871),
    ],
)
def test_jitter_below_sampling_noise(cv: float, one_in: float, expected: float | None) -> None:
    found = without_sampling_noise(cv, 42_000, one_in, 500)
    assert found == (None if expected is None else pytest.approx(expected, abs=1e-3))


def test_printed_pgbench_figures_preferred(tmp_path: Path) -> None:
    path = tmp_path / "a.footing"
    printed = {"tps": 205.5, "transactions": 617, "latency_ms": 1.9, "failed": 2, "skipped": None}
    writer = write_run(path, values={"pgbench": printed})
    with writer.transaction():
        writer.end_phase(4000)
    writer.close()
    found = figures_of(path)
    assert found["tps"] == 205.5
    assert found["transactions"] == 617
    assert found["failed"] == 2
    assert found["skipped"] is None
    assert found["latency_mean_ms"] == 1.9
    assert found["duration_s"] == 3.0


def test_interrupted_run_weighted_by_report_length(tmp_path: Path) -> None:
    path = tmp_path / "a.footing"
    write_run(path, (100.0, 200.0, 300.0), partial=1).close()
    found = figures_of(path)
    assert found["tps"] == pytest.approx(200.0)
    assert found["transactions"] == pytest.approx(600.0)
    assert found["duration_s"] == 3.0
    assert found["latency_mean_ms"] == pytest.approx(2.0)
    assert found["latency_p99_ms"] == pytest.approx(2.0, rel=0.01)
    assert found["partial_seconds"] == 1
    assert found["stall_s"] == 0


def test_costs_are_rates_divided_by_tps(tmp_path: Path) -> None:
    path = tmp_path / "a.footing"
    samples = [
        Sample("storage.write_bytes", 400_000.0),
        Sample("process.cpu_user", 0.5, "postgres"),
        Sample("process.cpu_system", 0.3, "postgres"),
    ]
    write_run(path, (200.0, 200.0, 200.0), samples=samples).close()
    found = figures_of(path)
    assert found["device_write_bytes"] == pytest.approx(2000.0)
    assert found["server_cpu_us"] == pytest.approx(0.8e6 / 200)
    assert found["wal_bytes"] is None


WRITTEN = (Sample("storage.write_bytes", 1_000_000.0), Sample("wal.bytes", 300_000.0))


@pytest.mark.parametrize(
    ("samples", "amplification"),
    [
        ((*WRITTEN, Sample("server.io_write_bytes", 200_000.0)), 2.0),
        (
            (
                *WRITTEN,
                Sample("server.buffers_checkpoint", 20.0),
                Sample("server.buffers_clean", 1.0),
                Sample("server.buffers_backend", 4.0),
            ),
            1_000_000 / (300_000 + 25 * 8192),
        ),
        (WRITTEN, None),
        (WRITTEN[1:], None),
        ((Sample("storage.write_bytes", 1.0), Sample("wal.bytes", 0.0)), None),
    ],
)
def test_write_amplification(
    tmp_path: Path, samples: tuple[Sample, ...], amplification: float | None
) -> None:
    path = tmp_path / "a.footing"
    write_run(path, samples=samples, values={"installation": {"block_size": 8192}}).close()
    found = figures_of(path)["write_amplification"]
    assert found == (None if amplification is None else pytest.approx(amplification))


@pytest.mark.parametrize("page_bytes", [4096, 16384, 32768])
def test_buffers_in_server_block_size(tmp_path: Path, page_bytes: int) -> None:
    path = tmp_path / "a.footing"
    samples = (*WRITTEN, Sample("server.buffers_checkpoint", 25.0))
    write_run(path, samples=samples, values={"installation": {"block_size": page_bytes}}).close()
    assert figures_of(path)["write_amplification"] == pytest.approx(1_000_000 / (300_000 + 25 * page_bytes))


def test_unmeasured_run_no_figures(tmp_path: Path) -> None:
    path = tmp_path / "a.footing"
    write_run(path, measured=False).close()
    assert figures_of(path) == {}


def test_empty_measure_phase_all_none(tmp_path: Path) -> None:
    path = tmp_path / "a.footing"
    write_run(path, ()).close()
    found = figures_of(path)
    assert set(found) == {figure.name for figure in FIGURES}
    assert {name for name, value in found.items() if value is not None} <= {"missed_ticks", "partial_seconds"}


def test_one_second_run(tmp_path: Path) -> None:
    path = tmp_path / "a.footing"
    write_run(path, (150.0,)).close()
    found = figures_of(path)
    assert found["tps"] == pytest.approx(150.0)
    assert found["jitter_cv"] is None
    assert found["drift"] is None


def test_seconds_beyond_hundred_days_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.footing"
    writer = write_run(path)
    with writer.transaction():
        writer.add_tick(9, 10**15, lateness_us=0, missed=0, samples=[(10**15, Sample("pgbench.tps", 1.0))])
    writer.close()
    with pytest.raises(CorruptRunFileError, match="a hundred days"):
        figures_of(path)


def change(path: Path, statement: str) -> Path:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)
    return path


def test_infinite_sum_no_figure(tmp_path: Path) -> None:
    path = change(finished_run(tmp_path / "run.footing"), "UPDATE tick SET missed = 1e308")
    found = figures_of(path)
    assert found["missed_ticks"] is None
    assert found["tps"] == pytest.approx(200.0)


def test_seconds_with_impossible_throughput_are_damage(tmp_path: Path) -> None:
    for value in ("-1", "-1e308", "1e308"):
        path = finished_run(tmp_path / f"{value}.footing")
        with pytest.raises(CorruptRunFileError, match="impossible TPS"):
            figures_of(change(path, f"UPDATE sample SET value = {value}"))


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    tps=st.lists(st.integers(0, 5000), min_size=3, max_size=40),
    cut_s=st.integers(1, 39),
    rate=st.floats(0, 1e6),
)
def test_cut_equals_later_start(tmp_path: Path, tps: list[int], cut_s: int, rate: float) -> None:
    cut_s = min(cut_s, len(tps) - 1)
    samples = [Sample("wal.bytes", rate), Sample("process.cpu_user", 0.5, "postgres")]
    found = []
    for name, seconds, left_out in (("whole", tps, cut_s), ("later", tps[cut_s:], 0)):
        path = tmp_path / f"{name}.footing"
        path.unlink(missing_ok=True)
        write_run(path, [float(value) for value in seconds], samples=samples).close()
        with RunFile(path) as run:
            found.append(summarise(run, left_out))
    counted = {"latency_mean_ms", "failed", "skipped"}  # of a whole run from other sources
    assert {name: value for name, value in found[0].items() if name not in counted} == {
        name: value if value is None else pytest.approx(value, rel=1e-9, abs=1e-12)
        for name, value in found[1].items()
        if name not in counted
    }


def test_printed_figures_ignored_after_cut(tmp_path: Path) -> None:
    path = tmp_path / "a.footing"
    printed = {"tps": 205.5, "transactions": 617, "latency_ms": 1.9, "failed": 2, "skipped": 7, "lag_ms": 3.0}
    samples = [
        Sample("pgbench.latency_mean", 4.0),
        Sample("pgbench.failed", 1.0),
        Sample("pgbench.skipped", 2.0),
        Sample("pgbench.lag", 0.5),
    ]
    write_run(path, (100.0, 200.0, 300.0), values={"pgbench": printed}, samples=samples).close()
    with RunFile(path) as run:
        found = summarise(run, 1)
    assert found["tps"] == 250
    assert found["transactions"] == 500
    assert (found["failed"], found["skipped"]) == (2, 4)
    assert (found["latency_mean_ms"], found["lag_mean_ms"]) == (4, 0.5)
    assert found["duration_s"] == 2


def test_cut_beyond_end(tmp_path: Path) -> None:
    path = tmp_path / "a.footing"
    write_run(path).close()
    with RunFile(path) as run:
        found = summarise(run, 60)
    assert found["tps"] is None
    assert found["latency_p99_ms"] is None


def test_checkpoint_cycles_and_mark(tmp_path: Path) -> None:
    """Cycles of 40 s, each 40 % lower at its begin; a run of 50 s has one checkpoint and no whole cycle."""
    found = figures_of(write_shape(tmp_path / "long.footing", Shape(seconds=400, checkpoint_every_s=40)))
    assert found["checkpoint_cycles"] == 9
    assert found["checkpoint_share"] == pytest.approx(0.78, abs=0.05)
    assert "no-checkpoint-cycle" not in {kind for kind, _ in marks_after(found)}
    short = figures_of(write_shape(tmp_path / "short.footing", Shape(seconds=50, checkpoint_every_s=40)))
    assert (short["checkpoint_cycles"], short["checkpoint_share"]) == (0, None)
    assert [kind for kind, _ in marks_after(short)] == ["no-checkpoint-cycle"]
    assert mark_words("no-checkpoint-cycle") == "no checkpoint cycle"


def test_unknown_checkpoints_and_read_only(tmp_path: Path) -> None:
    silent = figures_of(write_shape(tmp_path / "silent.footing", Shape(seconds=50)))
    assert silent["checkpoint_cycles"] is None
    reading = write_shape(tmp_path / "reading.footing", Shape(seconds=50, checkpoint_every_s=40))
    with closing(sqlite3.connect(reading)) as file, file:
        file.execute(
            "UPDATE run SET value = replace(value, 'tpcb-like', 'select-only') WHERE key = 'workload'"
        )
    assert figures_of(reading)["checkpoint_cycles"] is None
    assert not marks_after(figures_of(reading))


def test_steady_same_in_summary_and_shape(tmp_path: Path) -> None:
    """A saw of 50 s cycles: by fifths of 322 s it would not be steady, by its cycles it is."""
    path = write_shape(tmp_path / "saw.footing", Shape(seconds=322, checkpoint_every_s=50))
    with RunFile(path) as run:
        shape = read_shape(run)
    assert shape is not None
    assert figures_of(path)["steady"] == float(shape.steady.steady is True) == 1
    assert steady_state(shape.seconds).rounds != shape.steady.rounds
