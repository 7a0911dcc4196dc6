"""fio's arguments, and what is made of what it prints: recorded output, broken output, none."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app import TOP
from app.domain.io_baseline import FIO_JOBS, JobId
from app.domain.text import KIB, MIB
from app.io_baseline.fio import FioError, FioTask, fio_argv, parse_fio

DATA = TOP / "tests" / "data" / "io_baseline"
JOBS = {job.id: job for job in FIO_JOBS}


def task(job: JobId, *, is_direct: bool = True) -> FioTask:
    return FioTask(JOBS[job], "/srv/spare/file", 512 * MIB, is_direct, 3)


def recorded(name: str) -> str:
    return (DATA / name).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("job", "per_s", "mib_per_s", "mean_us", "p99_us"),
    [
        (JobId.SEQUENTIAL_WRITE, 537.8, 537.8, 14308, 16908),
        (JobId.RANDOM_READ, 17059, 133.3, 57.9, 142.3),
        (JobId.RANDOM_READ_DEEP, 21010, 164.1, 1514, 38011),
    ],
)
def test_recorded_results_are_read(
    job: JobId, per_s: float, mib_per_s: float, mean_us: float, p99_us: float
) -> None:
    answer = parse_fio(recorded(f"{job.value}.json"), task(job))
    assert answer.version == "fio-3.33"
    assert answer.result.job == job.value
    assert answer.result.operations_per_s == pytest.approx(per_s, rel=2e-3)
    assert answer.result.bytes_per_s / MIB == pytest.approx(mib_per_s, rel=2e-3)
    assert answer.result.latency_mean_us == pytest.approx(mean_us, rel=2e-3)
    assert answer.result.latency_p99_us == pytest.approx(p99_us, rel=2e-3)
    assert answer.result.is_direct


def test_append_time_includes_sync() -> None:
    document = json.loads(recorded("sync-append.json"))
    (job,) = document["jobs"]
    answer = parse_fio(recorded("sync-append.json"), task(JobId.SYNC_APPEND, is_direct=False))
    wrote, synced = job["write"]["lat_ns"]["mean"], job["sync"]["lat_ns"]["mean"]
    assert synced > 10 * wrote
    assert answer.result.latency_mean_us == pytest.approx((wrote + synced) / 1000)
    assert answer.result.latency_p99_us == job["sync"]["lat_ns"]["percentile"]["99.000000"] / 1000
    assert answer.size_bytes == job["write"]["io_bytes"]


def test_fio_error_quoted() -> None:
    with pytest.raises(FioError, match="fio failed: No space left on device") as caught:
        parse_fio(recorded("no-space.txt"), task(JobId.SEQUENTIAL_WRITE))
    assert not caught.value.is_direct_refused


def test_filesystem_without_direct_io() -> None:
    with pytest.raises(FioError, match="Invalid argument") as caught:
        parse_fio(recorded("no-direct.txt"), task(JobId.SEQUENTIAL_WRITE))
    assert caught.value.is_direct_refused
    with pytest.raises(FioError) as caught:
        parse_fio(recorded("no-direct.txt"), task(JobId.SEQUENTIAL_WRITE, is_direct=False))
    assert not caught.value.is_direct_refused


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "fio printed no result"),
        ("fio: unrecognized option '--x'\n", "fio printed no result"),
        ("[1, 2]", "fio printed no result"),
        ('{"jobs": []}', "fio printed no result"),
        ('{"jobs": [3]}', "fio printed no result"),
        ('{"jobs": [{"error": 5}]}', "fio failed: error 5"),
        ('{"jobs": [{"error": 28}]}', "the disk is full"),
        ('{"jobs": [{"error": 0}]}', "fio's output \\(read"),
        ('{"jobs": [{"error": 0, "read": [1]}]}', "fio's output \\(read"),
        ('{"jobs": [{"error": 0, "read": {"runtime": 1}}]}', "fio's output \\(total_ios"),
        ('{"jobs": [{"error": 0, "read": {"runtime": "x"}}]}', "fio's output \\(could not convert"),
        ('{"jobs": [{"error": 0, "read": {"runtime": 1, "total_ios": 1e999}}]}', "fio's output \\(cannot"),
        ("{" * 200_000, "fio printed no result"),
    ],
)
def test_non_result_is_an_error(text: str, said: str) -> None:
    with pytest.raises(FioError, match=said):
        parse_fio(text, task(JobId.RANDOM_READ))


def test_read_figures_not_used_for_writes() -> None:
    document = json.loads(recorded("random-read.json"))
    del document["jobs"][0]["write"]
    text = json.dumps(document)
    assert parse_fio(text, task(JobId.RANDOM_READ)).result.operations_per_s > 0
    with pytest.raises(FioError, match="write"):
        parse_fio(text, task(JobId.RANDOM_WRITE))


def test_unfinished_job_has_no_figures() -> None:
    document = json.loads(recorded("random-read.json"))
    document["jobs"][0]["read"]["total_ios"] = 0
    with pytest.raises(FioError, match="no request"):
        parse_fio(json.dumps(document), task(JobId.RANDOM_READ))


@example(791, "1e999")  # a runtime without end
@given(st.integers(0, 9000), st.sampled_from(["", "0", "null", "{", '"x"', "[]", "-1", "1e999"]))
def test_mutated_output_read_or_refused(at: int, inserted: str) -> None:
    text = recorded("random-read.json")
    at = min(at, len(text))
    for broken in (text[:at], text[:at] + inserted + text[at + 1 :]):
        with suppress(FioError):
            assert parse_fio(broken, task(JobId.RANDOM_READ)).result.operations_per_s > 0


@pytest.mark.parametrize("job", JOBS)
@pytest.mark.parametrize("is_direct", [True, False])
def test_job_is_one_process_with_limits(job: JobId, *, is_direct: bool) -> None:
    argv = fio_argv("/usr/bin/fio", task(job, is_direct=is_direct))
    assert {"--thread", "--refill_buffers", "--runtime=3", f"--direct={int(is_direct)}"} <= set(argv)
    assert f"--rw={JOBS[job].pattern}" in argv
    assert f"--bs={JOBS[job].block_bytes}" in argv
    assert [each for each in argv if each.startswith("--filename=")] == ["--filename=/srv/spare/file"]


def test_queue_depth_by_threads_without_direct_io() -> None:
    argv = fio_argv("fio", task(JobId.RANDOM_READ_DEEP, is_direct=False))
    assert {"--numjobs=32", f"--size={16 * MIB}", f"--offset_increment={16 * MIB}"} <= set(argv)
    assert "--time_based" not in argv  # a second pass would be answered by the cache
    small = replace(task(JobId.RANDOM_READ_DEEP, is_direct=False), file_bytes=33 * 8 * KIB)
    assert f"--size={8 * KIB}" in fio_argv("fio", small)


def test_append_job_buffered_with_sync() -> None:
    argv = fio_argv("fio", task(JobId.SYNC_APPEND, is_direct=False))
    assert {"--fdatasync=1", "--fallocate=none", "--direct=0", "--rw=write"} <= set(argv)
    assert "--time_based" not in argv
