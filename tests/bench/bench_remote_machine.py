"""What asking a machine over ssh costs there, and how far charts are behind.

    python -m tests.bench.bench_remote_machine [--seconds 30] [--delay 0 5 50]

An sshd of its own on this machine plays the far side, behind a line that delays both directions together by
so many milliseconds. Far side: the CPU time of the shell with all that it starts, and of sshd's processes for
the connection. Limits: 1 % of a core there, 2 s from reading the counters to the tick that brings them.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from app.probes.base.probe import ProbeContext, ServerSources
from app.probes.base.ssh import RemoteMachine
from app.probes.remote.probe import RemoteMachineProbe
from app.probes.sampling.sampler import Sampler
from tests.bench._elsewhere import MOST_BEHIND_S, Seen, line_to, options_of_lines
from tests.fix_sshd import SshServer, make_server

MOST_PERCENT: Final = 1.0
TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")


def cpu_s(pid: int) -> float:
    """Return the CPU time of a process with the children that it has reaped."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(int(word) for word in words[11:15]) / TICKS_PER_S


def below(pid: int) -> list[int]:
    """Return a process and all below it."""
    children = [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return [pid, *(each for child in children for each in below(child))]


def measure(server: SshServer, seconds: float, delay_ms: float, *, netem: bool) -> bool:
    """Ask for so long and print; return whether both limits were kept."""
    probe, seen = RemoteMachineProbe(), Seen()
    with line_to(server.port, delay_ms, netem=netem) as entry:
        server.configure_client(Port=str(entry), HostKeyAlias=f"[127.0.0.1]:{server.port}")
        context = ProbeContext(ServerSources(elsewhere=RemoteMachine(server.destination, "/var/lib")))
        sampler = Sampler([probe], context, seen.tick)
        sampler.start()
        while not seen.behind_s:
            time.sleep(0.1)
        (session,) = server.sessions()
        names = {pid: Path(f"/proc/{pid}/comm").read_text().strip() for pid in below(session)}
        before = {pid: cpu_s(pid) for pid in names if names[pid] != "sleep"}
        seen.behind_s.clear()
        begun_s = time.monotonic()
        time.sleep(seconds)
        took_s = time.monotonic() - begun_s
        used = {pid: cpu_s(pid) - was for pid, was in before.items() if Path(f"/proc/{pid}").exists()}
        sampler.stop()
    of_sshd = sum(value for pid, value in used.items() if names[pid].startswith("sshd"))
    percent = 100 * sum(used.values()) / took_s
    behind_s = seen.most_behind_s(delay_ms)
    print(
        f"round trip {delay_ms:g} ms, {took_s:.0f} s: {len(seen.behind_s)} seconds told, {seen.missed}"
        f" missed, {len(seen.series)} series:\n"
        f"  CPU there {sum(used.values()):.2f} s = {percent:.2f} % of a core (of it sshd {of_sshd:.2f} s),"
        f" limit {MOST_PERCENT:g} %\n"
        f"  charts at most {behind_s:.2f} s behind, limit {MOST_BEHIND_S:g} s"
    )
    return percent <= MOST_PERCENT and behind_s <= MOST_BEHIND_S


def main() -> int:
    """Measure and print."""
    options = options_of_lines(__doc__, seconds=30)
    with tempfile.TemporaryDirectory() as folder:
        server = make_server(Path(folder) / "ssh")
        server.start()
        try:
            kept = [
                measure(server, options.seconds, delay_ms, netem=options.netem) for delay_ms in options.delay
            ]
        finally:
            server.stop()
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
