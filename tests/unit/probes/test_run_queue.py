"""How many processes wait for a CPU, from their run delays."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from app.domain.metrics import METRICS
from app.probes.base.probe import ProbeContext, ProbeUnavailable, ServerSources
from app.probes.sources.processes import MOST_PROCESSES, RunQueueProbe, parse_run_delay
from tests.unit.probes.fakes import HandClock, set_children, values, write

RECORDED = b"77216393 2033413 96\n"  # Linux 6.18, a backend


def test_second_number_is_run_delay() -> None:
    assert parse_run_delay(RECORDED) == 2033413


@pytest.mark.parametrize("text", [b"", b"1 2", b"a b c", b"1 x 3"])
def test_another_text_is_an_error(text: bytes) -> None:
    with pytest.raises(ValueError, match=".*"):
        parse_run_delay(text)


def set_delay(proc: Path, pid: str, seconds: float) -> None:
    write(proc / pid / "schedstat", f"5 {round(seconds * 1e9)} 7\n")


def opened(proc: Path, clock: HandClock, context: ProbeContext) -> RunQueueProbe:
    set_delay(proc, "self", 0)
    probe = RunQueueProbe(str(proc), clock)
    probe.open(context)
    return probe


def test_server_delays_add_up(tmp_path: Path) -> None:
    clock = HandClock()
    set_children(tmp_path, 10, [11, 12])
    for pid in ("11", "12"):
        set_delay(tmp_path, pid, 3)
    probe = opened(tmp_path, clock, ProbeContext(ServerSources(postmaster_pid=10)))
    assert probe.read() == []
    clock.advance(2)
    set_delay(tmp_path, "11", 4)
    set_delay(tmp_path, "12", 3.5)
    assert values(probe.read()) == {"process.queueing postgres": 0.75}
    probe.close()


def test_new_and_ended_processes(tmp_path: Path) -> None:
    clock = HandClock()
    set_children(tmp_path, 10, [11, 12])
    set_delay(tmp_path, "11", 1)
    set_delay(tmp_path, "12", 1)
    probe = opened(tmp_path, clock, ProbeContext(ServerSources(postmaster_pid=10)))
    probe.read()
    clock.advance(1)
    set_children(tmp_path, 10, [12, 13])
    set_delay(tmp_path, "12", 1.5)
    set_delay(tmp_path, "13", 9)
    assert values(probe.read()) == {"process.queueing postgres": 0.5}
    clock.advance(1)
    set_delay(tmp_path, "12", 0.1)  # the pid belongs to another process now
    assert values(probe.read()) == {"process.queueing postgres": 0}
    probe.close()


@pytest.mark.long
def test_many_processes_are_sampled(tmp_path: Path) -> None:
    clock = HandClock()
    pids = list(range(1000, 1000 + 2 * MOST_PROCESSES))
    set_children(tmp_path, 10, pids)
    for pid in pids:
        set_delay(tmp_path, str(pid), 0)
    probe = opened(tmp_path, clock, ProbeContext(ServerSources(postmaster_pid=10)))
    probe.read()
    clock.advance(1)
    for pid in pids:
        set_delay(tmp_path, str(pid), 0.5)
    assert values(probe.read()) == {"process.queueing postgres": MOST_PROCESSES}
    probe.close()


def test_pgbench_threads_counted_while_running(tmp_path: Path) -> None:
    clock = HandClock()
    context = ProbeContext(ServerSources())
    probe = opened(tmp_path, clock, context)
    assert probe.read() == []
    for thread in ("20", "21"):
        set_delay(tmp_path / "20" / "task", thread, 1)
    context.pgbench_pid = 20
    assert probe.read() == []
    clock.advance(1)
    for thread in ("20", "21"):
        set_delay(tmp_path / "20" / "task", thread, 1.25)
    assert values(probe.read()) == {"process.queueing pgbench": 0.5}
    context.pgbench_pid = 404
    assert probe.read() == []
    probe.close()


def test_a_kernel_without_it_is_a_reason(tmp_path: Path) -> None:
    with pytest.raises(ProbeUnavailable, match="not counted"):
        RunQueueProbe(str(tmp_path)).open(ProbeContext(ServerSources()))


def test_unknown_server_process(tmp_path: Path) -> None:
    probe = opened(tmp_path, HandClock(), ProbeContext(ServerSources(reason="started elsewhere")))
    assert probe.read() == []
    [omission] = probe.omissions
    assert (omission.metric, omission.instance, omission.reason) == (
        "process.queueing",
        "postgres",
        "started elsewhere",
    )
    probe.close()


def test_a_server_that_ended_gives_nothing(tmp_path: Path) -> None:
    probe = opened(tmp_path, HandClock(), ProbeContext(ServerSources(postmaster_pid=10)))
    assert probe.read() == []
    probe.close()


def test_two_programs_on_one_cpu() -> None:
    cpu = min(os.sched_getaffinity(0))
    burn = (
        "import os\nparent = os.getpid()\n"
        f"os.sched_setaffinity(0, {{{cpu}}})\n"
        "for _ in range(2):\n"
        "    if os.fork() == 0:\n"
        "        os.write(1, b'ready\\n')\n"
        "        while os.getppid() == parent: pass\n"
        "        os._exit(0)\n"
        "input()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-S", "-c", burn],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as parent:  # fmt: skip
        assert parent.stdout is not None
        assert [parent.stdout.readline() for _ in range(2)] == ["ready\n"] * 2
        probe = RunQueueProbe()
        probe.open(ProbeContext(ServerSources(postmaster_pid=parent.pid)))
        probe.read()
        time.sleep(0.5)
        found = values(probe.read())["process.queueing postgres"]
        probe.close()
        parent.communicate("\n")
    assert 0.5 < found < 2.1  # one of them, more where others want that CPU too
    assert "process.queueing" in METRICS
