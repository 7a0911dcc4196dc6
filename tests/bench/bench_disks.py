"""How long `pgfooting disks` takes with twenty disks, as root: loop devices over sparse files.

Promise: under 0.5 s. The whole command is timed apart, on the disks that this machine has.
"""

from __future__ import annotations

import io
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from rich.console import Console

from app.cli.commands.disks import show_disks
from app.domain.disk import SpareAnswer
from app.domain.units import MIB
from app.storage.inspect.snapshot import Policy
from app.storage.inspect.sources import SourceFolders
from app.storage.spare.disks import list_disks
from tests.bench._figures import describe_machine
from tests.disks.workshop import attach, images, readable_proc

DISKS = 20
TURNS = 7
LIMIT_S = 0.5


def inspect_and_show(places: SourceFolders) -> tuple[float, float]:
    """Return seconds on the clock and of CPU for one list of all disks."""
    started, cpu = time.perf_counter(), time.process_time()
    listing = list_disks(Policy(accept_loop_devices=True), places)
    show_disks(listing, Console(file=io.StringIO(), width=80, force_terminal=True))
    taken = time.perf_counter() - started, time.process_time() - cpu
    spare = sum(disk.answer is SpareAnswer.SPARE for disk in listing.disks)
    if spare < DISKS:
        raise SystemExit(f"only {spare} of {DISKS} disks are spare: {listing.disks}")
    return taken


def command() -> float:
    """Return seconds of the whole command on this machine's own disks."""
    started = time.perf_counter()
    top = Path(__file__).resolve().parents[2]
    subprocess.run([sys.executable, "-m", "app", "disks"], stdout=subprocess.DEVNULL, check=True, cwd=top)
    return time.perf_counter() - started


def main() -> int:
    print(describe_machine())
    if os.geteuid() != 0:
        print("left out: loop devices need root")
        return 0
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        files = images(folder, 640 * MIB)
        for _ in range(DISKS):
            attach(stack, next(files))
        with readable_proc(folder) as proc:
            places = SourceFolders(proc=proc, as_root=True)
            turns = [inspect_and_show(places) for _ in range(TURNS)]
    wall = statistics.median(taken for taken, _ in turns)
    cpu = statistics.median(used for _, used in turns)
    print(f"{DISKS} disks: {wall:.2f} s (first {turns[0][0]:.2f}), {cpu:.2f} s of CPU; promise {LIMIT_S} s")
    print(
        f"the command with this machine's disks: {statistics.median(command() for _ in range(TURNS)):.2f} s"
    )
    return 0 if wall < LIMIT_S else 1


if __name__ == "__main__":
    raise SystemExit(main())
