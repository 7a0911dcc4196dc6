"""The kernel's counters over a whole phase: what a child used that has ended is in them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from app.probes.base.probe import ProbeContext, RemoteMachine, ServerSources, SshDestination
from app.probes.sampling.sampler import WholePhase

_BUSY = "import time\nwhile time.process_time() < 0.6: pass"


def test_ended_child_is_counted_whole() -> None:
    whole = WholePhase(ProbeContext(ServerSources(postmaster_pid=os.getpid())))
    subprocess.run([sys.executable, "-c", _BUSY], check=True)
    seconds, means = whole.read()
    used = seconds * (means["process.cpu_user pgbench"] + means["process.cpu_system pgbench"])
    assert used == pytest.approx(0.65, abs=0.1)
    assert seconds * (means["cpu.user"] + means["cpu.system"]) >= 0.5
    assert {"cpu.steal", "process.cpu_user postgres", "process.cpu_user pgfooting"} <= means.keys()


def test_other_machine_is_not_read_here() -> None:
    context = ProbeContext(ServerSources(elsewhere=RemoteMachine(SshDestination("db1"), "/")))
    assert WholePhase(context).read()[1] == {}
