"""An hour of recording: size of the run file, opening it, writing it, and the memory of who writes it.

A short real run in a folder on a disk gives the series, their values and the latencies. A fresh process then
records an hour of such seconds with the product's Recorder, its clock not waiting: ticks, progress lines,
blocks of the transaction log (which are written, followed, parsed and punched as in a run), server log. The
device's series are doubled to those of an array of four disks. Another fresh process opens the file.

Targets: at most 10 MB; under 50 ms from opening to the first series; under 120 MB of memory.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

import app.cli.commands.run  # the recording process imports what the runner imports
import app.dbus.login  # noqa: F401
from app.cli.commands.run import keep_freed_memory
from app.domain.campaign.configuration import BuiltinScript, FolderTarget
from app.domain.errors import FootingError
from app.domain.metrics import Sample
from app.hosts.folders.account import server_account
from app.hosts.folders.private_folder import PrivateFolder, open_private
from app.hosts.local import LocalHost
from app.hosts.recovery.resource_journal import ResourceJournal
from app.postgres.pgbench.argv import TransactionLog
from app.postgres.pgbench.transaction_log import LogFormat
from app.probes.base.probe import rounded
from app.probes.sampling.sampler import ProbeReading, Tick
from app.recording.recorder import Recorder
from app.runfile.finalize import finish_run_file
from app.runfile.reader import RunFile
from app.runfile.summary import summarise
from app.runfile.writer import Phase, RunFileWriter, RunState
from tests.bench._figures import describe_machine, resident_bytes
from tests.bench._rig import builtin_workload, rig

MOST_FILE_BYTES = 10_000_000
MOST_OPENING_S = 0.05
MOST_RESIDENT_BYTES = 120_000_000
BLOCKS = 60
"""Different seconds of the transaction log that are recorded in random order."""
_ORIGIN_S = 1_795_171_066
_STATISTICS = ("server.", "wal.")
_DISKS = ("sdb", "sdc", "sdd", "sde")
_CHECKPOINT_S = 300
_RECORD = "--record"
_OPEN = "--open"


@dataclass(slots=True)
class Template:
    """What a real run gave.

    Attributes:
        series: values by (metric, instance), and in which share of the seconds there was one.
        latency_us: of its transactions.
    """

    series: list[tuple[str, str, list[float], float]]
    latency_us: list[int]


@dataclass(slots=True)
class Recorded:
    """What the recording process found.

    Attributes:
        flush_ms: wall time of each flush.
        cpu_s: of all flushes.
        written_bytes: by SQLite in each flush.
        finish_s: summary and rewriting at the end.
        live_bytes: file and journal before that.
        resident_before: memory before the first second, bytes.
        resident_after: after the last one.
        resident_most: at any time, the rewriting included.
        live_open_s: opening and reading the first series just before the end.
        transactions: in the log.
    """

    flush_ms: list[float] = field(default_factory=list)
    cpu_s: float = 0.0
    written_bytes: list[int] = field(default_factory=list)
    finish_s: float = 0.0
    live_bytes: int = 0
    resident_before: int = 0
    resident_after: int = 0
    resident_most: int = 0
    live_open_s: float = 0.0
    transactions: int = 0


def real_run(seconds: int, folder: Path) -> Template:
    """Measure for some seconds in a folder on a disk and return what its run file holds."""
    workload = builtin_workload(BuiltinScript.TPCB_LIKE, seconds)
    latencies: list[bytes] = []

    def keep(private: Path) -> None:
        latencies.extend(path.read_bytes() for path in private.glob("transactions.*"))

    with rig(workload, None, FolderTarget(str(folder))) as bench:
        bench.bare(workload, "transactions", keep)
        kept: list[Path] = []
        bench.measured(workload, 1, keep=kept.append)
        with RunFile(kept[0]) as run:
            series = []
            seconds_seen = len(run.samples("cpu.user")[0])
            for each in run.series():
                if not each.metric.startswith("pgbench."):
                    values = run.samples(each.metric, each.instance)[1].tolist()
                    series.append((each.metric, each.instance, values, min(1.0, len(values) / seconds_seen)))
    rows = b"".join(latencies).split()
    return Template(_with_four_disks(series), [int(word) for word in rows[2::6]])


def _with_four_disks(
    series: list[tuple[str, str, list[float], float]],
) -> list[tuple[str, str, list[float], float]]:
    """Make an array of four disks of the one that there is."""
    found = []
    for metric, instance, values, share in series:
        found.append((metric, instance, values, share))
        if metric.startswith("device."):
            found += [(metric, disk, values, share) for disk in _DISKS]
    return found


def write_blocks(template: Template, tps: int, folder: Path) -> None:
    """Write seconds of a transaction log; the epoch is a word to be replaced."""
    draw = np.random.default_rng(20030401)
    for number in range(BLOCKS):
        count = max(1, round(tps * draw.normal(1, 0.07)))
        latency_us = (draw.choice(template.latency_us, count) * draw.normal(1, 0.04, count)).astype(np.int64)
        moments = np.sort(draw.integers(0, 1_000_000, count))
        rows = zip(range(count), latency_us.tolist(), moments.tolist(), strict=True)
        text = b"".join(b"%d %d %d 0 %d %d\n" % (i % 4, i, lat, _ORIGIN_S, us) for i, lat, us in rows)
        (folder / f"block{number}").write_bytes(text)


class Hour:
    """Feeds a recorder with seconds as a run does."""

    def __init__(self, recorder: Recorder, folder: PrivateFolder, template: Template, blocks: Path) -> None:
        self._recorder = recorder
        self._template = template
        self._blocks = blocks
        self._random = random.Random(20220912)  # noqa: S311 - data of a bench
        self._private = Path(folder.path)
        self._pid = os.getpid()
        self.transactions = 0
        self.started_s = time.monotonic()
        self.started_epoch_s = recorder.clock.epoch_of(self.started_s)
        for name in (
            "measure.stderr",
            "server.log",
            f"transactions.{self._pid}",
            f"transactions.{self._pid}.1",
        ):
            (self._private / name).touch()
        recorder.begin_phase(Phase.MEASURE)
        recorder.begin_pgbench(Phase.MEASURE, folder, self.started_s)
        log = TransactionLog(str(self._private / "transactions"))
        recorder.follow_transactions(log, self._pid, LogFormat())
        recorder.follow_server_log(partial(open_private, folder, "server.log"))

    def second(self, number: int) -> None:
        """Make everything happen that happens in the second that ends now."""
        self._transactions(number)
        tps = self._random.gauss(7500, 500)
        latency_ms = 4000 / tps
        self._append(
            "measure.stderr",
            f"progress: {self.started_epoch_s + number + 1:.3f} s, {tps:.1f} tps,"
            f" lat {latency_ms:.3f} ms stddev {latency_ms * self._random.uniform(0.3, 0.9):.3f}, 0 failed\n",
        )
        if number % _CHECKPOINT_S == _CHECKPOINT_S - 1:
            moment_s = self.started_epoch_s + number
            begun = f"{moment_s:.3f} [4711] LOG:  checkpoint starting: time\n"
            done = (
                f"{moment_s + 0.9:.3f} [4711] LOG:  checkpoint complete: wrote 31234 buffers (5.9%);"
                " 0 WAL file(s) added, 0 removed, 21 recycled; write=269.6 s, sync=0.1 s, total=269.8 s;"
                " sync files=52, longest=0.1 s, average=0.01 s; distance=345000 kB, estimate=345000 kB\n"
            )
            self._append("server.log", begun + done)
        self._recorder.tick(self._tick(number))

    def _append(self, name: str, text: str) -> None:
        with (self._private / name).open("a") as file:
            file.write(text)

    def _transactions(self, number: int) -> None:
        """Append a second of log lines, half of them in each thread's file."""
        text = (self._blocks / f"block{self._random.randrange(BLOCKS)}").read_bytes()
        second = b"%d" % int(self.started_epoch_s + number)
        text = text.replace(b"%d" % _ORIGIN_S, second)
        middle = text.rfind(b"\n", 0, len(text) // 2) + 1
        self.transactions += text.count(b"\n")
        for suffix, part in (("", text[:middle]), (".1", text[middle:])):
            with (self._private / f"transactions.{self._pid}{suffix}").open("ab") as file:
                file.write(part)

    def _tick(self, number: int) -> Tick:
        now = self.started_s + number + 1 + abs(self._random.gauss(0, 0.0002))
        plain: list[Sample] = []
        statistics_: list[Sample] = []
        for metric, instance, values, share in self._template.series:
            if share < 1 and self._random.random() > share:
                continue
            value = self._random.choice(values) * self._random.gauss(1, 0.05)
            sample = Sample(metric, rounded(value), instance)
            (statistics_ if metric.startswith(_STATISTICS) else plain).append(sample)
        reading = ProbeReading("postgres-statistics", number, now - 0.999, tuple(statistics_))
        return Tick(number, now, 0.0002, 1.0, tuple(plain), delayed=(reading,))


def sqlite_written_bytes() -> int:
    """Return what this process has written with system calls so far (proc(5), wchar)."""
    return int(re.search(r"wchar: (\d+)", Path("/proc/self/io").read_text())[1])  # type: ignore[index]


def record_hour(seconds: int, template: Template, blocks: Path, path: Path) -> Recorded:
    """Record an hour and finish the file."""
    found = Recorded()
    keep_freed_memory()
    account = server_account(lambda _outcome: None)
    with ResourceJournal.create(str(path.parent), "bench", account) as resources:
        host = LocalHost(account, resources, lambda _outcome: None)
        site = host.prepare(FolderTarget(str(path.parent / "target")), 1)
        try:
            recorder = Recorder(RunFileWriter(path))
            hour = Hour(recorder, site.private, template, blocks)
            found.resident_before = resident_bytes()
            for number in range(seconds):
                hour.second(number)
                _timed_flush(recorder, found)
            found.live_bytes = sum(file.stat().st_size for file in path.parent.glob(f"{path.name}*"))
            found.live_open_s = _seconds_of(lambda: _first_series(path))
            recorder.end_pgbench(Phase.MEASURE, hour.started_s + seconds, complete=True)
            recorder.close()
            found.resident_after = resident_bytes()
            found.finish_s = _seconds_of(lambda: _finish(path))
            found.transactions = hour.transactions
        finally:
            host.release(site)
    status = Path("/proc/self/status").read_text()
    found.resident_most = int(re.search(r"VmHWM:\s+(\d+)", status)[1]) * 1024  # type: ignore[index]
    return found


def _timed_flush(recorder: Recorder, found: Recorded) -> None:
    written, cpu_s, begun_s = sqlite_written_bytes(), time.thread_time(), time.perf_counter()
    recorder.flush()
    found.flush_ms.append((time.perf_counter() - begun_s) * 1000)
    found.cpu_s += time.thread_time() - cpu_s
    found.written_bytes.append(sqlite_written_bytes() - written)


def _finish(path: Path) -> None:
    with RunFile(path) as run:
        summary = summarise(run)
    finish_run_file(path, RunState.DONE, summary)


def _first_series(path: Path) -> int:
    with RunFile(path) as run:
        return len(run.samples("pgbench.tps")[0])


def _seconds_of(work: Callable[[], object]) -> float:
    begun_s = time.perf_counter()
    work()
    return time.perf_counter() - begun_s


def open_file(path: Path) -> dict[str, float]:
    """Open a file in this process, which did not touch it before: first cold, then warm."""
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)
    count = 0

    def first() -> None:
        nonlocal count
        count = _first_series(path)

    cold_s = _seconds_of(first)
    warm_s = statistics.median(_seconds_of(first) for _ in range(9))

    def whole() -> None:
        with RunFile(path) as run:
            for each in run.series():
                run.samples(each.metric, each.instance)

    return {"count": count, "cold_s": cold_s, "warm_s": warm_s, "all_s": _seconds_of(whole)}


def in_fresh_process(*arguments: str) -> dict[str, object]:
    """Run a part of this bench in a process of its own and return what it prints."""
    done = subprocess.run(
        [sys.executable, __file__, *arguments], stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{arguments[0]} ended with status {done.returncode}")
    found: dict[str, object] = json.loads(done.stdout)
    return found


def _verdict(value: float, most: float) -> str:
    return "reached" if value <= most else "MISSED"


def print_contents(path: Path) -> None:
    """Print what the bytes of a file are."""
    with RunFile(path) as run:
        series = len(run.series())
        samples = sum(count for _, _, count in run.totals(-1, 2**53).values())
        histograms = [len(second.buckets) for second in run.latency_seconds()]
        text = len(run.output("measure.stderr") or "")
    print(
        f"  {series} series, {samples} samples; histograms {sum(histograms) / 1e6:.2f} MB;"
        f" {text / 1e6:.2f} MB of pgbench's words"
    )


def print_recorded(found: Recorded, path: Path, seconds: int, tps: int) -> None:
    """Print figures and targets of one hour."""
    size = path.stat().st_size
    hour_bytes = size * 3600 / seconds
    print(f"\n{seconds} s at {tps} TPS ({found.transactions} transactions logged)")
    print_contents(path)
    print(
        f"  size {size / 1e6:.2f} MB, an hour {hour_bytes / 1e6:.2f} MB;"
        f" target at most {MOST_FILE_BYTES / 1e6:.0f} MB: {_verdict(hour_bytes, MOST_FILE_BYTES)}"
    )
    written = found.written_bytes
    print(
        f"  while live: {found.live_bytes / 1e6:.2f} MB with journal at the end;"
        f" {statistics.mean(written) / 1000:.1f} KB written a second"
        f" (median {statistics.median(written) / 1000:.1f}, most {max(written) / 1000:.1f};"
        f" promised at most 50: {_verdict(statistics.mean(written), 50_000)})"
    )
    ordered = sorted(found.flush_ms)
    p95 = ordered[int(len(ordered) * 0.95)]
    print(
        f"  a flush: median {statistics.median(ordered):.2f} ms, p95 {p95:.2f} ms,"
        f" most {ordered[-1]:.2f} ms; {found.cpu_s / seconds * 1000:.2f} ms of CPU (with reading the log)"
    )
    early, late = (statistics.median(part) for part in (found.flush_ms[:300], found.flush_ms[-300:]))
    print(f"    median of the first 300 {early:.2f} ms, of the last 300 {late:.2f} ms")
    print(f"  summary and finishing {found.finish_s:.2f} s")
    before_mb, after_mb = found.resident_before / 1e6, found.resident_after / 1e6
    print(
        f"  memory: {before_mb:.0f} MB at the start, {after_mb:.0f} MB after the last second,"
        f" {found.resident_most / 1e6:.0f} MB at most; target under"
        f" {MOST_RESIDENT_BYTES / 1e6:.0f} MB: {_verdict(found.resident_most, MOST_RESIDENT_BYTES)}"
    )


def print_opening(path: Path, live_s: float) -> None:
    """Print how long it takes until the first series is there."""
    opened = in_fresh_process(_OPEN, str(path))
    cold_s, warm_s, all_s = (float(str(opened[name])) for name in ("cold_s", "warm_s", "all_s"))
    print(
        f"  opening to the {opened['count']} values of pgbench.tps: {cold_s * 1000:.1f} ms in a fresh process"
        f" from the disk, {warm_s * 1000:.1f} ms again; target under {MOST_OPENING_S * 1000:.0f} ms:"
        f" {_verdict(cold_s, MOST_OPENING_S)}"
    )
    print(f"    all series {all_s * 1000:.0f} ms; the first one while still live {live_s * 1000:.0f} ms")


def measure(seconds: int, rates: list[int], real_s: int) -> None:
    """Measure hours of several rates, and print."""
    account = server_account(lambda _outcome: None)
    with tempfile.TemporaryDirectory(prefix="pgf-bench-", dir="/var/tmp") as name:
        folder = Path(name)
        folder.chmod(0o711)
        (folder / "target").mkdir(mode=0o700)
        os.chown(folder / "target", account.uid, account.gid)
        template = real_run(real_s, folder / "target")
        (folder / "template.json").write_text(json.dumps(asdict(template)))
        for tps in rates:
            write_blocks(template, tps, folder)
            path = folder / f"{tps}.footing"
            values = in_fresh_process(_RECORD, str(seconds), str(folder), str(path))
            found = Recorded(**values)  # type: ignore[arg-type]
            print_recorded(found, path, seconds, tps)
            print_opening(path, found.live_open_s)


def main() -> int:
    """Measure and print; with the inner options, be one of the fresh processes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="300 s at one rate")
    parser.add_argument("--tps", type=int, nargs="*", default=[5_000, 10_000])
    parser.add_argument(_RECORD, nargs=3, help=argparse.SUPPRESS)
    parser.add_argument(_OPEN, help=argparse.SUPPRESS)
    options = parser.parse_args()
    try:
        if options.record:
            seconds, folder, path = int(options.record[0]), Path(options.record[1]), Path(options.record[2])
            template = Template(**json.loads((folder / "template.json").read_text()))
            print(json.dumps(asdict(record_hour(seconds, template, folder, path))))
        elif options.open:
            print(json.dumps(open_file(Path(options.open))))
        else:
            print(describe_machine())
            if options.quick:
                measure(300, options.tps[:1], 4)
            else:
                measure(3600, options.tps, 20)
    except FootingError as error:
        print(f"could not measure: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
