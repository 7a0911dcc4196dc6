"""What benches of a server elsewhere share: a server on a loopback port, what arrived, options."""

from __future__ import annotations

import argparse
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from app.hosts.folders.account import server_account
from app.postgres.installations.find import choose_installation, find_installations
from app.postgres.server import Server
from app.probes.sampling.sampler import Tick
from tests.delaying_proxy import delaying_proxy
from tests.fix_existing import start_server
from tests.fix_postgres import give


@contextmanager
def server_elsewhere() -> Iterator[int]:
    """Yield the port of a server, which ends afterwards."""
    account = server_account(lambda _outcome: None)
    installation = choose_installation("newest", find_installations(account))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o711)
        data = give(folder / "data", account)
        made = Server(installation, account, str(data), "/unused", "/unused", (), lambda _outcome: None)
        made.initdb(checksums=True)
        process, port = start_server(installation, account, data)
        try:
            yield port
        finally:
            process.send_signal(signal.SIGQUIT)
            process.wait()


@contextmanager
def line_to(port: int, delay_ms: float, *, netem: bool) -> Iterator[int]:
    """Yield a port that leads to this one over a line with such a round trip: a proxy, or the kernel's netem.

    netem (tc-netem(8)) delays all of the loopback interface, each direction by half; ``sch_netem`` has to be
    there, and `options_of_lines` made sure that nothing else is reached through this network namespace.
    """
    if not netem:
        with delaying_proxy(port, delay_ms / 1000) as proxy:
            yield proxy.port
        return
    delay = ("netem", "delay", f"{delay_ms * 500:.0f}us", "limit", "100000")
    subprocess.run(("tc", "qdisc", "replace", "dev", "lo", "root", *delay), check=True)
    try:
        yield port
    finally:
        subprocess.run(("tc", "qdisc", "del", "dev", "lo", "root"), check=True)


MOST_BEHIND_S: Final = 2.0
"""Charts of a server elsewhere are at most so far behind."""


@dataclass(slots=True)
class Seen:
    """What arrived: how long after it was read there."""

    behind_s: list[float] = field(default_factory=list)
    series: set[str] = field(default_factory=set)
    missed: int = 0

    def tick(self, tick: Tick) -> None:
        """Take what a sampler tells."""
        now = time.monotonic()
        self.missed += len(tick.missed_readings)
        for reading in tick.delayed:
            self.behind_s.append(now - reading.monotonic_s)
            self.series |= {f"{sample.metric} {sample.instance}" for sample in reading.samples}

    def most_behind_s(self, delay_ms: float) -> float:
        """Return how far charts were behind, with a round trip of so many milliseconds."""
        return max(self.behind_s, default=float("inf")) + delay_ms / 1000


def options_of_lines(about: str | None, *, seconds: float | None = None) -> argparse.Namespace:
    """Return the options of such a bench: the ``delay`` of each line in milliseconds and ``netem``.

    Also ``seconds``, where a number of them is given as what goes without saying.
    """
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawTextHelpFormatter)
    if seconds is not None:
        parser.add_argument("--seconds", type=float, default=seconds)
    parser.add_argument("--netem", action="store_true", help="the kernel delays, in a namespace of its own")
    parser.add_argument("--delay", type=float, nargs="+", default=[0.0, 5.0, 50.0], help="milliseconds")
    options = parser.parse_args()
    if options.netem:
        if [name for _, name in socket.if_nameindex()] != ["lo"]:
            parser.error(
                "--netem slows loopback down: for a network namespace or a guest that has nothing else"
            )
        subprocess.run(("ip", "link", "set", "lo", "up"), check=True)
    return options
