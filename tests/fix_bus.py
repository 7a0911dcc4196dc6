"""A private bus of its own for a test, and programs of the tests that serve on it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

CONFIGURATION = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>custom</type><listen>unix:path={socket}</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/>
<allow user="*"/></policy>{more}</busconfig>
"""

Serving = subprocess.Popen[str]


@contextmanager
def private_bus(folder: Path, more: str = "") -> Iterator[Serving]:
    """Run a bus daemon in a folder, with more of a configuration; it is the system bus meanwhile."""
    program = shutil.which("dbus-daemon")
    if program is None:
        pytest.skip("dbus-daemon is not installed")
    configuration = folder / "bus.conf"
    configuration.write_text(CONFIGURATION.format(socket=folder / "bus", more=more))
    daemon = subprocess.Popen(
        [program, f"--config-file={configuration}", "--nofork", "--print-address"],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert daemon.stdout is not None
    address = daemon.stdout.readline().strip()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DBUS_SYSTEM_BUS_ADDRESS", address)
        yield daemon
    daemon.terminate()
    daemon.wait()
    daemon.stdout.close()


@pytest.fixture
def bus(tmp_path: Path) -> Iterator[Serving]:
    """A private system bus without any service; the value is its daemon."""
    with private_bus(tmp_path) as daemon:
        yield daemon


@pytest.fixture
def serve() -> Iterator[Callable[..., Serving]]:
    """A function that starts a module of the tests as a program: ``serve("tests.bus.x", "argument")``."""
    with ExitStack() as stack:

        def start(module: str, *arguments: str) -> Serving:
            process = subprocess.Popen(
                [sys.executable, "-m", module, *arguments],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                cwd=Path(__file__).parents[1],
            )
            stack.callback(_end, process)
            return process

        yield start


def _end(process: Serving) -> None:
    process.kill()
    process.wait()
    for stream in (process.stdout, process.stderr):
        assert stream is not None
        stream.close()


def next_line(process: Serving) -> str:
    """The next line that a program prints; empty at its end."""
    assert process.stdout is not None
    return process.stdout.readline().strip()
