"""Whether the cause is named right in runs whose bottleneck was made on purpose; as root, on two CPUs.

Each run is the product's own (runner, sampler, run file) over a real server; what limits it is made by CPU
affinity, by throttling of a loop device (cgroup v1, blkio), by a quota of CPU time, by one hot row, or by a
limit of memory. Target: 9 of 10. `--keep FILE` stores what each run recorded, for the tests.

On a machine with other work `--alone` gives the measured processes 200 times the weight of all others (cgroup
v1, cpu): these then get only what is left over.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from app.analysis.bottleneck import METRICS_READ, Cause, read_bottleneck
from app.domain.campaign.configuration import BuiltinScript, FolderTarget, Script, Workload
from app.domain.run import Phase
from app.execution.phases import Runner
from app.probes.base.probe import ProbeContext
from app.probes.facts.environment import read_facts
from app.runfile.reader import RunFile
from tests.bench._figures import describe_machine
from tests.bench._rig import SETTINGS, Rig, rig

CGROUPS = Path("/sys/fs/cgroup")
DISK_BYTES = 4 * 1024**3
SCALE = 40
_TICK_MS = 1000

HOT_ROW = "UPDATE pgbench_branches SET bbalance = bbalance + 1 WHERE bid = 1;\n"
COMPUTING = (
    "".join(f"\\set v{number} random_gaussian(1, 100000, 2.5)\n" for number in range(200)) + "SELECT 1;\n"
)

Make = Callable[["Bench", Runner, ExitStack], None]


@dataclass(frozen=True, slots=True)
class Made:
    """A run with a bottleneck.

    Attributes:
        name: of what was made.
        causes: that are right.
        workload: of pgbench.
        make: makes the bottleneck before pgbench starts.
    """

    name: str
    causes: frozenset[Cause]
    workload: Workload
    make: Make


@dataclass(slots=True)
class Bench:
    """The server, its device and what was recorded."""

    rig: Rig
    device: str
    folder: Path

    def server_pids(self) -> list[int]:
        """Return the postmaster and its children."""
        pid = self.rig.server.sources.postmaster_pid
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
        return [int(pid or 0), *map(int, text.split())]


@contextmanager
def control_group(controller: str, pids: list[int], **values: str) -> Iterator[Path]:
    """Yield a control group with these processes; they are given back to where they were."""
    home = {pid: _group_of(pid, controller) for pid in pids}
    folder = Path(tempfile.mkdtemp(prefix="pgf-bench-", dir=CGROUPS / controller))
    try:
        for name, value in values.items():
            (folder / name.replace("__", ".")).write_text(value)
        for pid in pids:
            (folder / "cgroup.procs").write_text(str(pid))
        yield folder
    finally:
        for line in (folder / "cgroup.procs").read_text().split():
            back = home.get(int(line), next(iter(home.values())))
            with suppress(ProcessLookupError):
                (CGROUPS / controller / back.lstrip("/") / "cgroup.procs").write_text(line)
        folder.rmdir()


def _group_of(pid: int, controller: str) -> str:
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, names, path = line.split(":", 2)
        if controller in names.split(","):
            return path
    return "/"


def nothing(_bench: Bench, _runner: Runner, _stack: ExitStack) -> None:
    """Make nothing: the workload alone is the bottleneck."""


def on_cpu(*cpus: int) -> Make:
    """Keep the server, and what it forks, on these CPUs."""

    def make(bench: Bench, _runner: Runner, stack: ExitStack) -> None:
        pids = bench.server_pids()
        before = os.sched_getaffinity(pids[0])
        for pid in pids:
            os.sched_setaffinity(pid, cpus)
        stack.callback(give_back, pids, before)

    return make


def give_back(pids: list[int], cpus: set[int]) -> None:
    """Let those processes that are still there run everywhere."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.sched_setaffinity(pid, cpus)


def throttled(**limits: int) -> Make:
    """Let the device do only so many requests a second for the server."""

    def make(bench: Bench, _runner: Runner, stack: ExitStack) -> None:
        values = {
            f"blkio__throttle__{name}_device": f"{bench.device} {rate}" for name, rate in limits.items()
        }
        stack.enter_context(control_group("blkio", bench.server_pids(), **values))

    return make


def cold(make: Make) -> Make:
    """Forget the pages of the data before."""

    def both(bench: Bench, runner: Runner, stack: ExitStack) -> None:
        bench.rig.server.checkpoint()
        for path in bench.folder.rglob("*"):
            if path.is_file():
                file = os.open(path, os.O_RDONLY)
                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
                os.close(file)
        make(bench, runner, stack)

    return both


def limited_memory(megabytes: int) -> Make:
    """Give the server so much memory, page cache included."""

    def make(bench: Bench, _runner: Runner, stack: ExitStack) -> None:
        limit = str(megabytes * 1024**2)
        stack.enter_context(control_group("memory", bench.server_pids(), memory__limit_in_bytes=limit))

    return make


def starved(cores: float) -> Make:
    """Give pgbench so much CPU time."""

    def make(_bench: Bench, runner: Runner, stack: ExitStack) -> None:
        over = threading.Event()

        def hold() -> None:
            context = runner_context(runner)
            while context.pgbench_pid is None:
                if over.wait(0.01):
                    return
            quota = str(int(100_000 * cores))
            values = {"cpu__cfs_period_us": "100000", "cpu__cfs_quota_us": quota}
            with control_group("cpu", [context.pgbench_pid], **values):
                over.wait()

        thread = threading.Thread(target=hold)
        thread.start()
        stack.callback(thread.join)
        stack.callback(over.set)

    return make


def runner_context(runner: Runner) -> ProbeContext:
    """Return the context that knows pgbench's process."""
    assert runner._sampler is not None
    return runner._sampler._workers[0].source._context


def with_memory_and_reads(*makes: Make) -> Make:
    """Make several things at once."""

    def make(bench: Bench, runner: Runner, stack: ExitStack) -> None:
        for each in makes:
            each(bench, runner, stack)

    return make


def made_runs(seconds: int) -> list[Made]:
    """Return the runs in their order."""

    def workload(script: Script, clients: int, threads: int = 2) -> Workload:
        return Workload(
            scripts=(script,), scale=SCALE, size=None, clients=clients, threads=threads,
            duration_s=seconds, warmup_s=1,
        )  # fmt: skip

    select, update, tpcb = (
        Script(each)
        for each in (BuiltinScript.SELECT_ONLY, BuiltinScript.SIMPLE_UPDATE, BuiltinScript.TPCB_LIKE)
    )
    hot = Script(None, "/hot-row.sql", HOT_ROW)
    computing = Script(None, "/computing.sql", COMPUTING)
    return [
        Made("select-only on all CPUs", frozenset({Cause.CPU}), workload(select, 8), nothing),
        Made("server on one CPU, 8 clients", frozenset({Cause.CPU}), workload(select, 8), on_cpu(1)),
        Made("server on one CPU, 32 clients", frozenset({Cause.CPU}), workload(select, 32), on_cpu(1)),
        Made("100 writes a second, simple-update", frozenset({Cause.WAL}), workload(update, 8),
             throttled(write_iops=100)),
        Made("200 writes a second, tpcb-like", frozenset({Cause.WAL}), workload(tpcb, 16),
             throttled(write_iops=200)),
        Made("one hot row", frozenset({Cause.LOCKS}), workload(hot, 16), nothing),
        Made("one hot row, 200 writes a second", frozenset({Cause.LOCKS}), workload(hot, 16),
             throttled(write_iops=200)),
        Made("pgbench with a tenth of a CPU", frozenset({Cause.PGBENCH}), workload(select, 16), starved(0.1)),
        Made("pgbench computes, one thread", frozenset({Cause.PGBENCH}), workload(computing, 16, 1), nothing),
        Made("300 reads a second, cold", frozenset({Cause.DEVICE}), workload(select, 8),
             cold(throttled(read_iops=300))),
        Made("1,000 reads a second, cold, 16 clients", frozenset({Cause.DEVICE}), workload(select, 16),
             cold(throttled(read_iops=1000))),
        Made("memory for a fifth of the data", frozenset({Cause.MEMORY}), workload(select, 8),
             limited_memory(100)),
    ]  # fmt: skip


@contextmanager
def loop_filesystem() -> Iterator[tuple[str, Path]]:
    """Yield (major:minor, folder) of a new ext4 on a loop device."""
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pgf-bench-", dir="/var/tmp")))
        home.chmod(0o755)
        image, folder = home / "image", home / "data"
        folder.mkdir()
        with image.open("wb") as file:
            file.truncate(DISK_BYTES)
        device = _run("losetup", "--find", "--show", str(image))
        stack.callback(_run, "losetup", "--detach", device)
        _run("mkfs.ext4", "-q", device)
        _run("mount", device, str(folder))
        stack.callback(_run, "umount", str(folder))
        folder.chmod(0o777)
        number = Path(device).stat().st_rdev
        yield f"{os.major(number)}:{os.minor(number)}", folder


def _run(*argv: str) -> str:
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()


@contextmanager
def weighted(wanted: bool) -> Iterator[None]:  # noqa: FBT001
    """Give this process and its children a weight beside which all others have next to none."""
    if not wanted:
        yield
        return
    with control_group("cpu", [os.getpid()], cpu__shares=str(2**18)):
        yield


def recorded(path: Path, made: Made) -> dict[str, object]:
    """Return what a run recorded of its bottleneck, small enough for a test."""
    with RunFile(path) as run:
        measured = run.phase(Phase.MEASURE)
        assert measured is not None
        assert measured.ended_ms is not None
        totals = run.totals(measured.started_ms + _TICK_MS, measured.ended_ms, metrics=METRICS_READ)
        facts = run.facts("before")
        storage = facts["storage"]
        assert isinstance(storage, dict)
        devices = storage["devices"]
        assert isinstance(devices, dict)
        return {
            "made": made.name,
            "causes": sorted(made.causes),
            "facts": {
                "processor": {"online": os.cpu_count(), "allowed": os.cpu_count()},
                "storage": {
                    "devices": {
                        name: {
                            key: value
                            for key, value in each.items()
                            if key in {"kind", "is_leaf", "is_counted"}
                        }
                        for name, each in devices.items()
                        if isinstance(each, dict)
                    }
                },
            },
            "totals": [
                [metric, instance, round(total, 3), count]
                for (metric, instance), (total, _, count) in sorted(totals.items())
            ],
        }


def main() -> int:
    """Make the runs and print what was named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=int, default=12, help="length of each run")
    parser.add_argument("--keep", type=Path, help="store what the runs recorded")
    parser.add_argument("--only", help="runs whose name has this in it")
    parser.add_argument("--alone", action="store_true", help="see above")
    options = parser.parse_args()
    print(describe_machine())
    wanted = [made for made in made_runs(options.seconds) if (options.only or "") in made.name]
    kept: list[dict[str, object]] = []
    right = 0
    small = (*(pair for pair in SETTINGS if pair[0] != "shared_buffers"), ("shared_buffers", "64MB"))
    with (
        weighted(options.alone),
        loop_filesystem() as (device, folder),
        rig(wanted[0].workload, None, FolderTarget(str(folder)), small) as made_rig,
    ):
        bench = Bench(made_rig, device, folder)
        for made in wanted:
            with ExitStack() as stack:

                def prepare(runner: Runner, made: Made = made, stack: ExitStack = stack) -> None:
                    runner.recorder.facts("before", read_facts(runner.server.sources))
                    made.make(bench, runner, stack)

                def keep(path: Path, made: Made = made, stack: ExitStack = stack) -> None:
                    nonlocal right
                    stack.close()
                    with RunFile(path) as run:
                        found = read_bottleneck(run)
                    is_right = found.cause in made.causes
                    right += is_right
                    kept.append(recorded(path, made))
                    print(f"{'right' if is_right else 'WRONG'}  {made.name}: {found.sentence}", flush=True)
                    path.unlink()

                made_rig.measured(made.workload, None, prepare=prepare, keep=keep)
            time.sleep(1)
    print(f"{right} of {len(wanted)} right")
    if options.keep:
        options.keep.write_text(
            json.dumps(kept, indent=None, separators=(",", ":")).replace('{"made"', '\n{"made"')
        )
    return 0 if right >= 0.9 * len(wanted) else 1


if __name__ == "__main__":
    sys.exit(main())
