"""The helper as it is, in a namespace of processes: ``python -m tests.disks.helper_here [--recover]``.

The rules refuse every disk where not all processes can be seen, and rightly. In the namespace of the tests
the others are no business of theirs: the helper is told that this is the first namespace of processes.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
from pathlib import Path
from threading import Thread
from typing import Any
from unittest.mock import patch

from app.helper import service
from app.helper.__main__ import main
from app.helper.session import session
from app.storage.inspect import processes as inspect_processes
from app.storage.system.device import OpenDevice, reading

_PR_SET_MDWE = 65
_PR_MDWE_REFUSE_EXEC_GAIN = 1


def view_of_proc(folder: Path) -> Path:
    """Make a view of /proc in which this is the first namespace of processes."""
    view = folder / "proc"
    view.mkdir()
    for entry in Path("/proc").iterdir():
        if entry.name != "self":
            (view / entry.name).symlink_to(entry)
    own = view / "self"
    (own / "ns").mkdir(parents=True)
    (own / "ns" / "pid").symlink_to(inspect_processes._FIRST_PID_NAMESPACE)
    (own / "mountinfo").symlink_to("/proc/self/mountinfo")
    return view


def live_for(seconds: str) -> None:
    """Have sessions live for so long, which the owner is told half of it before; looked at often."""
    patch.object(session, "LIFETIME_S", float(seconds)).start()
    patch.object(session, "WARNING_S", float(seconds) / 2).start()
    patch.object(service, "LOOK_S", 0.1).start()


def trace_programs(path: Path) -> None:
    """Write arguments and environment of every program that is started as a line of JSON."""

    def record(name: str, values: tuple[Any, ...]) -> None:
        if name == "subprocess.Popen":
            _, argv, _, environment = values
            with path.open("a") as file:
                file.write(json.dumps([list(argv), list(environment.values())]) + "\n")

    sys.addaudithook(record)


def gain_no_program_text() -> None:
    """Have the kernel refuse memory that is written and executed: MemoryDenyWriteExecute= (Linux 6.3)."""
    ctypes.CDLL(None).prctl(_PR_SET_MDWE, _PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0)


def be_killed_after_zeroing(count: int) -> None:
    """Die as soon as so many areas were filled with zeros."""
    zero, left = OpenDevice.zero, [count]

    def zeroed(self: OpenDevice, offset: int, length: int) -> None:
        zero(self, offset, length)
        self.flush()
        left[0] -= 1
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)

    patch.object(OpenDevice, "zero", zeroed).start()


def begin_to_read(node: str) -> None:
    """Have a thread wait for a disk, as one does whose disk begins to hang while it is looked at."""

    def read() -> None:
        with reading(node) as device:
            device.read(0, 4096)

    Thread(target=read, daemon=True).start()


if __name__ == "__main__":
    gain_no_program_text()
    if os.environ.get("TEST_KILLED_AFTER_ZEROING"):
        be_killed_after_zeroing(int(os.environ["TEST_KILLED_AFTER_ZEROING"]))
    if os.environ.get("TEST_STARTED_PROGRAMS"):
        trace_programs(Path(os.environ["TEST_STARTED_PROGRAMS"]))
    if os.environ.get("TEST_SESSION_LIFETIME"):
        live_for(os.environ["TEST_SESSION_LIFETIME"])
    if os.environ.get("TEST_READS"):
        begin_to_read(os.environ["TEST_READS"])
    if os.environ.get("TEST_STOP_S"):
        patch.object(service, "STOP_S", float(os.environ["TEST_STOP_S"])).start()
    patch.object(inspect_processes, "_FIRST_PID_NAMESPACE", Path("/proc/self/ns/pid").readlink().name).start()
    os._exit(main(sys.argv[1:]))
