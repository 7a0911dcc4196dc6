from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.probes.base.probe import ProbeContext, ProbeUnavailable, ServerSources
from app.probes.sources.processes import (
    Children,
    ProcessesProbe,
    ProcessTimes,
    ServerTree,
    parse_process_stat,
)
from tests.unit.probes.fakes import HandClock, add_process, process_stat, set_children, values, write

# recorded on Linux 6.18
RECORDED = b"9 (kworker/0:0-events) I 2 0 0 0 -1 69238880 0 0 0 0 0 3 0 0 20 0 1 0 24 0 0 0 0\n"

# a parent that, for each line of input, has a child burn a quarter of a second of CPU, and waits for it
PARENT = """
import os, sys, time
for _ in sys.stdin:
    pid = os.fork()
    if pid == 0:
        while time.process_time() < 0.25: pass
        os._exit(0)
    os.waitpid(pid, 0)
    print("done", flush=True)
"""


def test_times_and_parent_are_found() -> None:
    assert parse_process_stat(RECORDED) == ProcessTimes(2, 0, 3, 0, 0)


@pytest.mark.parametrize("name", ["a b", "a) S 1 1 (x", "(sd-pam)", "\t"])
def test_a_name_may_hold_anything(name: str) -> None:
    text = process_stat(7, name, 3, (1, 2, 3, 4)).encode()
    assert parse_process_stat(text) == ProcessTimes(3, 1, 2, 3, 4)


def test_a_cut_text_is_an_error() -> None:
    with pytest.raises(ValueError, match=".*"):
        parse_process_stat(b"7 (x) S 1 2")


@pytest.fixture
def parent() -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-S", "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    yield process
    process.communicate()


def test_cpu_of_ended_children_counted(parent: subprocess.Popen[str]) -> None:
    tree = ServerTree(parent.pid)
    before = tree.read()
    assert parent.stdin is not None
    assert parent.stdout is not None
    parent.stdin.write("once\n")
    parent.stdin.flush()
    highest = before[0] + before[1]
    while True:  # as often as the machine can, while the child lives and ends
        user, system, _ = tree.read()
        assert user + system >= highest
        highest = user + system
        if highest >= before[0] + before[1] + 20:
            break
    assert parent.stdout.readline() == "done\n"
    after = tree.read()
    assert after[0] + after[1] >= highest
    assert after[2] == 1
    tree.close()


def test_living_children_and_waits_counted(tmp_path: Path) -> None:
    add_process(tmp_path, 100, "postgres", 1, (10, 1, 100, 10))
    add_process(tmp_path, 101, "postgres", 100, (5, 2, 0, 0))
    add_process(tmp_path, 102, "postgres", 100, (7, 3, 2, 1))
    set_children(tmp_path, 100, [101, 102])
    tree = ServerTree(100, str(tmp_path))
    assert tree.read() == (10 + 100 + 5 + 7 + 2, 1 + 10 + 2 + 3 + 1, 3)
    tree.close()


def test_child_missing_from_list_counted(tmp_path: Path) -> None:
    add_process(tmp_path, 100, "postgres", 1, (0, 0, 0, 0))
    add_process(tmp_path, 101, "postgres", 100, (50, 0, 0, 0))
    set_children(tmp_path, 100, [101])
    tree = ServerTree(100, str(tmp_path))
    assert tree.read() == (50, 0, 2)
    set_children(tmp_path, 100, [])
    assert tree.read() == (50, 0, 2)
    tree.close()


def test_reused_pid_not_counted(tmp_path: Path) -> None:
    add_process(tmp_path, 100, "postgres", 1, (10, 0, 0, 0))
    add_process(tmp_path, 101, "bash", 1, (5000, 0, 0, 0))
    set_children(tmp_path, 100, [101])
    tree = ServerTree(100, str(tmp_path))
    assert tree.read() == (10, 0, 1)
    tree.close()


def test_read_repeated_after_child_ended(tmp_path: Path) -> None:
    add_process(tmp_path, 100, "postgres", 1, (1, 0, 0, 0))
    set_children(tmp_path, 100, [])
    tree = ServerTree(100, str(tmp_path))
    texts = [process_stat(100, "p", 1, (1, 0, ended, 0)).encode() for ended in (0, 9, 9, 9)]
    tree._postmaster = _Sequence(texts)  # type: ignore[assignment]
    assert tree.read() == (10, 0, 1)
    assert texts == []


class _Sequence:
    def __init__(self, texts: list[bytes]) -> None:
        self._texts = texts

    def read(self) -> bytes:
        return self._texts.pop(0)


def test_kernel_without_list_of_children(tmp_path: Path) -> None:
    (tmp_path / "100/task/100").mkdir(parents=True)
    with pytest.raises(ProbeUnavailable, match="CONFIG_PROC_CHILDREN"):
        Children(100, str(tmp_path))


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    write(tmp_path / "self" / "stat", "")
    return tmp_path


def test_postgres_and_pgbench_are_told_apart(proc: Path) -> None:
    clock = HandClock()
    add_process(proc, 100, "postgres", 1)
    add_process(proc, 200, "pgbench", 1)
    set_children(proc, 100, [])
    context = ProbeContext(ServerSources(postmaster_pid=100), pgbench_pid=200, pgbench_threads=1)
    probe = ProcessesProbe(str(proc), clock)
    probe.open(context)
    assert probe.read() == []
    clock.advance(2)
    add_process(proc, 100, "postgres", 1, (100, 40, 0, 0))
    add_process(proc, 200, "pgbench", 1, (150, 30, 0, 0))
    found = values(probe.read())
    assert found["process.cpu_user postgres"] == 0.5
    assert found["process.cpu_system postgres"] == 0.2
    assert found["process.cpu_user pgbench"] == 0.75
    assert found["process.cpu_system pgbench"] == 0.15
    assert found["process.pgbench_share"] == 90
    assert found["process.server_processes"] == 1
    assert "process.cpu_user pgfooting" in found
    probe.close()


def test_restarted_program_restarts_counters(proc: Path) -> None:
    clock = HandClock()
    for pid in (200, 201):
        add_process(proc, pid, "pgbench", 1, (500, 0, 0, 0))
    context = ProbeContext(ServerSources(), pgbench_pid=200)
    probe = ProcessesProbe(str(proc), clock)
    probe.open(context)
    probe.read()
    clock.advance(1)
    context.pgbench_pid = 201
    assert "process.cpu_user pgbench" not in values(probe.read())
    clock.advance(1)
    add_process(proc, 201, "pgbench", 1, (550, 0, 0, 0))
    assert values(probe.read())["process.cpu_user pgbench"] == 0.5
    probe.close()


def test_programs_not_running(proc: Path) -> None:
    clock = HandClock()
    context = ProbeContext(ServerSources(), pgbench_pid=999)
    probe = ProcessesProbe(str(proc), clock)
    probe.open(context)
    probe.read()
    clock.advance(1)
    context.server = ServerSources(postmaster_pid=998)
    assert {sample.instance for sample in probe.read()} == {"pgfooting"}
    probe.close()


def test_foreign_server_gives_only_reason(proc: Path) -> None:
    clock = HandClock()
    probe = ProcessesProbe(str(proc), clock)
    probe.open(ProbeContext(ServerSources(reason="started elsewhere")))
    probe.read()
    clock.advance(1)
    assert {sample.instance for sample in probe.read()} == {"pgfooting"}
    entries = {(each.metric, each.instance): each.reason for each in probe.omissions}
    assert entries == {
        ("process.cpu_user", "postgres"): "started elsewhere",
        ("process.cpu_system", "postgres"): "started elsewhere",
        ("process.server_processes", "postgres"): "started elsewhere",
    }
    probe.close()


def test_without_proc_there_is_a_reason(tmp_path: Path) -> None:
    with pytest.raises(ProbeUnavailable, match="not mounted"):
        ProcessesProbe(str(tmp_path)).open(ProbeContext(ServerSources()))
