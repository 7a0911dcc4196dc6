"""The system's own daemons (bus, polkit, udev, UDisks2) and loop devices, for tests of tier `disks`.

They run in the namespaces of ``tests/system/in-namespace``, in which ``packaging/test --root`` starts
this tier. By hand, as root: ``tests/system/in-namespace python -m pytest tests/disks``.
There /run, /etc and /var/lib are the test's own (a rule of polkit, a line of fstab, a mount need no undoing
beyond the next test), no systemd and no logind runs, and the system bus is where every program looks for it.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

_START = Path(__file__).parent / "system" / "start-daemons"
_NAMESPACE = Path("/run/pgfooting-namespace")


@pytest.fixture(scope="session")
def system_namespace() -> None:
    """Skips where /etc, /run and mounts are the host's own."""
    if not _NAMESPACE.exists():
        pytest.skip("only in tests/system/in-namespace (packaging/test --root)")


@pytest.fixture(scope="session")
def system_daemons(system_namespace: None) -> None:
    """A real dbus-daemon, polkitd, udevd and udisksd, from the first test that wants them on.

    udevd and UDisks2 then see every loop device of every test; ``udevadm settle`` waits until they have.
    """
    started = subprocess.run([str(_START)], capture_output=True, text=True, timeout=120, check=False)
    assert started.returncode == 0, started.stderr


@pytest.fixture
def make_loop(system_namespace: None) -> Iterator[Callable[..., str]]:
    """A function that makes a loop device over a new sparse file of so many bytes and returns its path.

    ``make_loop(size_bytes, partscan=True, read_only=True, block_bytes=4096)``; gone when the test ends.
    """
    folder = Path(os.environ.get("PGFOOTING_DEVICE_TESTS") or tempfile.gettempdir())
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:

        def make(
            size_bytes: int, *, partscan: bool = False, read_only: bool = False, block_bytes: int = 512
        ) -> str:
            with tempfile.NamedTemporaryFile(
                prefix="disk-", suffix=".img", dir=folder, delete=False
            ) as image:
                image.truncate(size_bytes)
            stack.callback(os.unlink, image.name)
            options = ["--partscan"] * partscan + ["--read-only"] * read_only
            device = subprocess.run(
                ["losetup", "--find", "--show", f"--sector-size={block_bytes}", *options, image.name],
                capture_output=True,
                text=True,
                check=True,
            ).stdout.strip()
            stack.callback(_detach, device, image.name)
            return device

        yield make


def _detach(device: str, file: str) -> None:
    """Only while it is still ours: a test may have detached it, and its number be somebody else's by now."""
    backing = Path("/sys/class/block") / Path(device).name / "loop" / "backing_file"
    if backing.exists() and backing.read_text().strip() == file:
        subprocess.run(["losetup", "--detach", device], check=True)
