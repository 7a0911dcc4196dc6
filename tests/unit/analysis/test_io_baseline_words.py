"""What a baseline says in words: limits, how much a run used, tables; of old files nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from app.analysis.io_baseline import (
    JOB_COLUMNS,
    job_cell,
    read_used_shares,
    sync_cell,
    sync_sentences,
    used_shares,
)
from app.domain.columns import texts
from app.domain.io_baseline import (
    BaselineDevice,
    DeviceRates,
    IoBaseline,
    JobId,
    JobResult,
    SyncMethod,
)
from app.domain.metrics import METRICS, Sample
from app.domain.run import RunState
from app.postgres.settings import Setting
from app.runfile.finalize import finish_run_file
from app.runfile.metadata.run_metadata import RunMetadata
from app.runfile.metadata.typed_json import values_of
from app.runfile.reader import RunFile
from tests.made_runs import write_run

NVME = BaselineDevice(name="nvme0n1", kind="disk", is_rotating=False, write_cache="write back")
KNOWN = IoBaseline(
    measured_epoch_s=1.8e9,
    jobs=(
        JobResult(
            job=JobId.RANDOM_READ_DEEP.value,
            operations_per_s=200_000.4,
            bytes_per_s=1.6e9,
            latency_mean_us=158.2,
            latency_p99_us=412.0,
            device=DeviceRates(reads=200_001.0, writes=3.0, flushes=0.0, read_bytes=1.6e9),
        ),
        JobResult(
            job=JobId.SEQUENTIAL_WRITE.value,
            operations_per_s=2000.0,
            bytes_per_s=2.1e9,
            device=DeviceRates(writes=4000.0, flushes=2.0, write_bytes=2.1e9),
        ),
        JobResult(job=JobId.SYNC_APPEND.value, operations_per_s=480.0, is_direct=False, bytes_per_s=3.9e6),
    ),
    sync_methods=(
        SyncMethod(method="fdatasync", per_s=9800.0),
        SyncMethod(method="open_datasync", per_s=9000.0),
    ),
    sync_device=DeviceRates(flushes=9900.0, writes=9950.0),
    devices=(NVME,),
)


def test_series_limit_is_highest_measured() -> None:
    assert KNOWN.limits == {
        "storage.reads": 200_001.0,
        "storage.writes": 9950.0,
        "storage.flushes": 9900.0,
        "storage.read_bytes": 1.6e9,
        "storage.write_bytes": 2.1e9,
    }
    assert IoBaseline().limits == {}
    assert set(KNOWN.limits) <= set(METRICS)


def test_used_shares_with_available_limits() -> None:
    means = {"wal.syncs": 6860.0, "storage.flushes": 6930.0, "storage.reads": 20.0, "cpu.user": 1.0}
    found = used_shares(KNOWN, means)
    assert [each.sentence for each in found] == [
        "The storage can do 9,800 durable writes/s; the run used 70 %.",
        "The storage can do 9,900 flushes/s; the run used 70 %.",
        "The storage can do 200,001 reads/s; the run used less than 1 %.",
    ]
    assert used_shares(KNOWN, {"wal.syncs": 6860.0}, "open_datasync")[0].able == 9000
    assert used_shares(KNOWN, {"wal.syncs": 6860.0}, "fsync_writethrough") == ()
    assert used_shares(IoBaseline(), means) == ()


def test_bytes_are_told_in_megabytes() -> None:
    (found,) = used_shares(KNOWN, {"storage.write_bytes": 1.05e9})
    assert found.sentence == "The storage can do 2,100 MB/s written; the run used 50 %."


def test_job_table_cells() -> None:
    cells = [texts(JOB_COLUMNS, row) for row in KNOWN.jobs]
    assert cells[0] == {
        "job": "random reads of 8 KiB, 32 in flight",
        "operations": "200,000",
        "throughput": "1,600",
        "mean": "158",
        "p99": "412",
    }
    assert (cells[1]["mean"], cells[1]["p99"]) == ("", "")
    assert cells[2]["job"] == "appends of 8 KiB, each made durable"  # as it should be through the cache
    cached = replace(KNOWN.jobs[0], is_direct=False)
    assert texts(JOB_COLUMNS, cached)["job"].endswith(", through the cache")
    assert job_cell(KNOWN, JobId.RANDOM_READ_DEEP) == "200,000"
    assert job_cell(KNOWN, JobId.SEQUENTIAL_WRITE) == "2,100"
    assert job_cell(KNOWN, JobId.RANDOM_READ) == job_cell(None, JobId.RANDOM_READ) == sync_cell(None) == ""
    assert sync_cell(KNOWN) == "9,800"


def test_unknown_job_keeps_its_name() -> None:
    assert texts(JOB_COLUMNS, JobResult(job="zone-append", operations_per_s=1.0))["job"] == "zone-append"


def test_sync_rate_judgement() -> None:
    first, second = sync_sentences(KNOWN)
    assert "fdatasync 9,800, open_datasync 9,000" in first
    assert "only with power-loss protection, or if they ignore flushes" in second
    assert sync_sentences(replace(KNOWN, sync_methods=())) == ()


def written(path: Path, metadata: RunMetadata) -> Path:
    samples = (Sample("wal.syncs", 4900.0), Sample("storage.flushes", 4950.0))
    writer = write_run(path, values=values_of(metadata), samples=samples)
    with writer.transaction():
        writer.end_phase(4000)
    writer.close()
    finish_run_file(path, RunState.DONE, {}, [], is_durable=False)
    return path


@pytest.mark.parametrize(("method", "share"), [("fdatasync", 0.5), ("open_datasync", 4900 / 9000)])
def test_used_share_by_sync_method(tmp_path: Path, method: str, share: float) -> None:
    settings = (Setting(name="wal_sync_method", value=method, origin="user"),)
    path = written(tmp_path / "a.footing", RunMetadata(io_baseline=KNOWN, settings=settings))
    with RunFile(path) as run:
        assert run.metadata.io_baseline == KNOWN
        syncs, flushes = read_used_shares(run)
    assert syncs.share == pytest.approx(share)
    assert flushes.share == pytest.approx(0.5)


@pytest.mark.parametrize("metadata", [RunMetadata(), RunMetadata(io_baseline=None)])
def test_no_baseline_no_used_shares(tmp_path: Path, metadata: RunMetadata) -> None:
    with RunFile(written(tmp_path / "a.footing", metadata)) as run:
        assert read_used_shares(run) == ()
        assert run.metadata.io_baseline is metadata.io_baseline
