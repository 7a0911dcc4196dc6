"""kill -9 of the runner at ten moments: what was measured is there, and nothing else is left."""

from __future__ import annotations

import os
import select
import signal
from pathlib import Path

import numpy as np
import pytest

from app.domain.run import Phase
from app.runfile.reader import RunFile
from tests.fix_campaign import PATIENCE_S, CampaignBench, Running, campaign_text, check_ticks, remains

pytestmark = pytest.mark.long

LONG = 'scale = 1\nclients = 2\nwarmup = "2s"\nduration = "60s"'
SHORT = 'scale = 1\nclients = 2\nwarmup = "0s"\nduration = "1s"'

MOMENTS = [
    pytest.param("prepare", 0, marks=pytest.mark.longest),
    pytest.param("initdb", 0, marks=pytest.mark.longest),
    ("load", 0),
    pytest.param("settle", 0, marks=pytest.mark.longest),
    pytest.param("warm-up", 0, marks=pytest.mark.longest),
    pytest.param("measure", 0, marks=pytest.mark.longest),
    ("measure", 1),
    pytest.param("measure", 3, marks=pytest.mark.longest),
    pytest.param("collect", 0, marks=pytest.mark.longest),
    ("teardown", 0),
]


def processes_of(pid: int) -> set[int]:
    """Return all descendants of a process."""
    found: set[int] = set()
    waiting = [pid]
    while waiting:
        try:
            tasks = list(Path(f"/proc/{waiting.pop()}/task").iterdir())
            children = {int(word) for task in tasks for word in (task / "children").read_text().split()}
        except OSError:
            continue
        waiting += children - found
        found |= children
    return found


def await_end(pids: set[int]) -> None:
    """Wait until none of these processes is there; a process that stays fails the test by its time-out."""
    for pid in pids:
        try:
            descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        try:
            ready, _, _ = select.select([descriptor], [], [], PATIENCE_S)
            assert ready, f"process {pid} outlived its runner"
        finally:
            os.close(descriptor)


@pytest.mark.parametrize("target", ["folder", pytest.param("memory", marks=pytest.mark.longest)])
@pytest.mark.parametrize(("phase", "seconds"), MOMENTS)
def test_killed_runner_leaves_readable_file(
    campaign_bench: CampaignBench, phase: str, seconds: int, target: str
) -> None:
    late = phase in {"collect", "teardown"}
    folder = campaign_bench.target if target == "folder" else None
    workload = SHORT if late else LONG
    text = campaign_text(folder=folder, memory=target == "memory", workload=workload)
    before = remains()
    running = campaign_bench.start(text)
    running.until_phase(phase)
    if seconds:
        running.until_second(seconds)
    children = processes_of(running.process.pid)
    if phase == "measure":
        assert len(children) > 3
    running.process.send_signal(signal.SIGKILL)
    running.process.wait(PATIENCE_S)
    await_end(children)
    shown = printed_seconds(running)

    (listed,) = campaign_bench.listed()  # the first thing of pgFooting that runs again

    assert remains() - before == set()
    assert list(campaign_bench.target.iterdir()) == []
    assert sorted(path.name for path in Path(listed["path"]).parent.iterdir()) == [
        f"01-{target}-r1.footing",
        "campaign.toml",
        "lock",
    ]
    assert listed["state"] == "incomplete"
    with RunFile(Path(listed["path"])) as run:
        run.check()
        check_seconds(run, shown)
    assert campaign_bench.listed() == [listed]


def printed_seconds(running: Running) -> list[float]:
    """Return the TPS of every second of measurement that the runner had shown."""
    return [e["tps"] for e in running.events if e["event"] == "second" and e["phase"] == "measure"]


def check_seconds(run: RunFile, shown: list[float]) -> None:
    """Every second that was shown is in the file, with samples, and the unsure percentiles are marked."""
    measured = run.phase(Phase.MEASURE)
    if measured is None:
        assert shown == []
        return
    t_ms, tps = run.samples("pgbench.tps", after_ms=measured.started_ms)
    # Of seconds that a busy machine brought at once, the newest was shown.
    left = iter(tps.tolist())
    assert all(any(each == pytest.approx(value) for each in left) for value in shown), (shown, tps)
    ticks = run.ticks()
    check_ticks(ticks)
    measuring = int((ticks[:, 1] > measured.started_ms).sum())
    assert run.samples("cpu.user", after_ms=measured.started_ms)[1].size >= measuring - 1
    one_in = int(str(run.values.get("transaction_log_one_in", 1)))
    latencies = list(run.latency_seconds())
    partial = [second.partial for second in latencies]
    assert partial == sorted(partial)
    whole = [second for second in latencies if not second.partial]
    for second in whole[1:]:
        inside = np.abs(t_ms - second.t_ms - 1000) < 300
        if inside.any():
            # A complete second has all its transactions; the two clocks cut it a little differently.
            logged = second.transactions * one_in
            assert logged == pytest.approx(tps[inside][0], rel=0.4, abs=50 * one_in)
    summary = run.summary()
    assert bool(shown) <= ((summary["tps"] or 0) > 0)
