"""fio and pg_test_fsync: the arguments of a declared job, and the output. Pure.

Sources: fio(1) of 3.33; the JSON as recorded (tests/data/io_baseline). ``--thread`` keeps a job in one
process: forked jobs have their own sessions and would survive when fio is killed.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any, Final

from app.domain.errors import FootingError
from app.domain.io_baseline import FSYNC_METHODS, FSYNC_SECONDS, FioJob, JobResult, SyncMethod
from app.domain.text import tr

FIO: Final = "fio"
_NS_PER_US: Final = 1000.0
_INVALID: Final = 22
"""EINVAL: the error of a filesystem without direct I/O (open(2))."""
_NO_SPACE: Final = 28


class FioError(FootingError):
    """fio failed.

    Attributes:
        is_direct_refused: the filesystem has no direct I/O.
    """

    code = "fio"

    def __init__(self, message: str, *, is_direct_refused: bool = False) -> None:
        super().__init__(message)
        self.is_direct_refused = is_direct_refused


@dataclass(frozen=True, slots=True)
class FioTask:
    """A job on a file.

    Attributes:
        job: declaration of the job.
        path: of the file; absolute.
        file_bytes: maximum size of the file.
        is_direct: bypasses the page cache.
        seconds: time limit.
    """

    job: FioJob
    path: str
    file_bytes: int
    is_direct: bool
    seconds: int


@dataclass(frozen=True, slots=True)
class FioAnswer:
    """Result of a job: the figures, fio's version, and the bytes read or written."""

    result: JobResult
    version: str
    size_bytes: int


def fio_argv(program: str, task: FioTask) -> tuple[str, ...]:
    """Return the command; only the path is foreign text."""
    job = task.job
    queues = task.is_direct and job.depth > 1
    words = [
        program,
        "--output-format=json",
        "--eta=never",
        "--thread",
        "--group_reporting",
        f"--name={job.id.value}",
        f"--filename={task.path}",
        f"--rw={job.pattern}",
        f"--bs={job.block_bytes}",
        "--fallocate=none",  # allocate by writing only, also on a nearly full disk
        "--refill_buffers",  # with its own random bytes: nothing compresses
        f"--direct={int(task.is_direct)}",
        f"--runtime={task.seconds}",
    ]
    if queues:  # Linux queues nothing but direct I/O
        words += ["--ioengine=libaio", f"--iodepth={job.depth}", f"--size={task.file_bytes}"]
    elif job.depth > 1:  # parallel jobs on separate parts: none reads another's cached data
        part = task.file_bytes // job.depth // job.block_bytes * job.block_bytes
        words += [
            "--ioengine=psync",
            f"--numjobs={job.depth}",
            f"--size={part}",
            f"--offset_increment={part}",
        ]
    else:
        words += ["--ioengine=psync", f"--size={task.file_bytes}"]
    if job.syncs:
        words.append("--fdatasync=1")
    elif job.pattern == "write":
        words.append("--end_fsync=1")
    elif task.is_direct or job.writes:  # the cache would answer a second pass
        words.append("--time_based")
    return tuple(words)


def parse_fio(text: str, task: FioTask) -> FioAnswer:
    """Parse the result of a job.

    Args:
        text: fio's output; error messages may precede the JSON.
        task: the job that was run.

    Raises:
        FioError: it has no result, or failed; with fio's message.
    """
    document = _document(text)
    job = document["jobs"][0] if isinstance(document.get("jobs"), list) and document["jobs"] else None
    if not isinstance(job, dict):
        raise FioError(_error_text(text) or tr("fio printed no result."))
    code = job.get("error")
    if code:
        message = tr("{label} failed: {reason}").format(
            label="fio", reason=_error_text(text) or _reason(code)
        )
        raise FioError(message, is_direct_refused=task.is_direct and code == _INVALID)
    direction = "write" if task.job.writes else "read"
    side = job.get(direction)
    if not isinstance(side, dict):
        raise _lacking(direction)
    try:
        seconds = _number(side["runtime"]) / 1000
        operations, size = int(side["total_ios"]), int(side["io_bytes"])
        latency = _number(side["lat_ns"]["mean"])
        spread = side["clat_ns"]
        if task.job.syncs:
            latency += _number(job["sync"]["lat_ns"]["mean"])
            spread = job["sync"]["lat_ns"]
        p99 = spread.get("percentile", {}).get("99.000000")
        p99_us = None if p99 is None else _number(p99) / _NS_PER_US
        version = str(document.get("fio version", ""))[:40]
    except KeyError as err:
        raise _lacking(str(err.args[0])) from err
    except (TypeError, ValueError, AttributeError, OverflowError) as err:  # no number, or one without end
        raise FioError(tr("pgFooting cannot parse fio's output ({what}).").format(what=err)) from err
    if operations < 1 or seconds <= 0:
        raise FioError(tr("fio completed no request."))
    result = JobResult(
        job=task.job.id.value,
        operations_per_s=operations / seconds,
        bytes_per_s=size / seconds,
        latency_mean_us=latency / _NS_PER_US,
        latency_p99_us=p99_us,
        seconds=seconds,
        is_direct=task.is_direct,
    )
    return FioAnswer(result, version, size)


def _number(value: Any) -> float:  # noqa: ANN401 - of JSON
    """Return a number from the JSON; raises as `float` does, and for infinite ones (1e999 is infinite)."""
    number = float(value)
    if not math.isfinite(number):
        raise OverflowError(value)
    return number


def _lacking(name: str) -> FioError:
    return FioError(tr("pgFooting cannot parse fio's output ({what}).").format(what=name))


def _document(text: str) -> dict[str, Any]:
    """Parse the JSON, which begins with a brace at the start of a line."""
    start = 0 if text.startswith("{") else text.find("\n{") + 1
    try:
        document = json.loads(text[start:])
    except (ValueError, RecursionError) as err:
        raise FioError(_error_text(text) or tr("fio printed no result.")) from err
    if not isinstance(document, dict):
        raise FioError(tr("fio printed no result."))
    return document


def _error_text(text: str) -> str:
    """Return fio's first error message before the JSON; empty if there is none."""
    for line in text.partition("\n{")[0].splitlines():
        if line.startswith("fio: ") and "error=" in line:
            return line.rpartition("error=")[2].strip()[:200]
    return ""


def _reason(code: object) -> str:
    return tr("the disk is full") if code == _NO_SPACE else tr("error {code}").format(code=code)


# pg_test_fsync: its arguments, and the relevant part of its output. Pure.
#
# It runs sixteen tests of at least a second each. The first ones, one write of 8 kB by each method,
# correspond to WAL writes; it is ended after them. Sources: src/bin/pg_test_fsync/pg_test_fsync.c (13 to 19);
# recorded output in tests/data/io_baseline.


PG_TEST_FSYNC: Final = "pg_test_fsync"
_SECTION: Final = re.compile(r"^Compare file sync methods using one [0-9]+kB write:$", re.MULTILINE)
_NEXT: Final = re.compile(r"^Compare file sync methods using two ", re.MULTILINE)
_ROW: Final = re.compile(r"^\s+(\w+)\s+([0-9]+\.[0-9]+) ops/sec\s+[0-9]+ usecs/op\s*$", re.MULTILINE)


def pg_test_fsync_argv(program: str, path: str) -> tuple[str, ...]:
    """Return the command.

    Args:
        program: absolute.
        path: of its test file of 16 MiB, which it removes again.
    """
    return (program, f"--secs-per-test={FSYNC_SECONDS}", f"--filename={path}")


def has_all_methods(text: str) -> bool:
    """Return whether the relevant tests are done, so that it may be ended."""
    return _NEXT.search(text) is not None


def parse_pg_test_fsync(text: str) -> tuple[SyncMethod, ...]:
    """Return the methods measured so far with one write."""
    begun = _SECTION.search(text)
    if begun is None:
        return ()
    following = _NEXT.search(text, begun.end())
    section = text[begun.end() : following.start() if following else len(text)]
    rates = {name: float(rate) for name, rate in _ROW.findall(section)}
    return tuple(SyncMethod(method=name, per_s=rates[name]) for name in FSYNC_METHODS if name in rates)
