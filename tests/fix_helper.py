"""The helper as root on a real bus with a real polkit and loop devices: started, asked, ended."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import ClassVar

import pytest

from tests.bus.client import Client, RemoteError
from tests.disks.helper_owner import NAME, NOBODY

PROJECT = Path(__file__).parents[1]
SYSTEM = PROJECT / "packaging" / "system"
ACTIONS = Path("/usr/share/polkit-1/actions")
SERVICES = Path("/usr/share/dbus-1/system-services")
JOURNAL = Path("/var/lib/pgfooting/journal")
LIMIT_S = 120


@pytest.fixture(scope="session")
def installed_helper(system_daemons: None) -> Iterator[None]:
    """Policies where bus and polkit look for them, loop devices allowed; gone with the namespace."""
    others = {path.name: path.read_bytes() for path in ACTIONS.glob("*.policy")}  # polkit knows them as ever
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(ACTIONS)], check=True)
    for name, policy in others.items():
        (ACTIONS / name).write_bytes(policy)
    copy(SYSTEM / "org.pgfooting.helper.policy", ACTIONS)
    copy(SYSTEM / "org.pgfooting.Helper1.conf", Path("/etc/dbus-1/system.d"))
    Path("/etc/pgfooting").mkdir(mode=0o755, exist_ok=True)
    Path("/etc/pgfooting/helper.conf").write_text("accept_loop_devices = true\n")
    _reload_bus()
    restart_polkit()
    yield
    subprocess.run(["umount", str(ACTIONS)], check=True)


def copy(path: Path, folder: Path) -> None:
    (folder / path.name).write_bytes(path.read_bytes())


def restart_polkit() -> None:
    """It notices changed files by itself, but not in a time that it promises."""
    status = ["busctl", "--system", "status", "org.freedesktop.PolicyKit1"]
    for line in subprocess.run(status, capture_output=True, text=True, check=False).stdout.splitlines():
        if line.startswith("PID="):
            os.kill(int(line[4:]), 15)
            wait_until(lambda pid=line[4:]: not Path(f"/proc/{pid}/exe").exists())  # type: ignore[misc]
    bus = "org.freedesktop.DBus"
    start = ["busctl", "--system", "--timeout=60", "call", bus, "/", bus, "StartServiceByName", "su"]
    subprocess.run([*start, "org.freedesktop.PolicyKit1", "0"], check=True, capture_output=True)


def wait_until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def capabilities() -> list[str]:
    """Return the capabilities that the unit gives the helper."""
    (names,) = re.findall(
        r"^CapabilityBoundingSet=(.*)$", (SYSTEM / "pgfooting-helper.service").read_text(), re.MULTILINE
    )
    return str(names).split()


def with_capabilities(*names: str) -> list[str]:
    """Return what starts a program of root's with these capabilities and no others, as systemd would."""
    kept = ",".join(f"+{name.removeprefix('CAP_').lower()}" for name in names)
    return ["setpriv", f"--bounding-set=-all,{kept}", "--no-new-privs"]


class Running:
    """One helper process, which ends the one before; its log is what the system's log would get.

    It has the capabilities that its unit gives it.
    """

    last: ClassVar[Running | None] = None
    process: subprocess.Popen[bytes]

    def __init__(
        self,
        *arguments: str,
        environment: dict[str, str] | None = None,
        less: str = "",
        waits: bool = True,
    ) -> None:
        """Start it and wait until it has recovered what is left.

        Args:
            arguments: of it.
            environment: of it, beside that of the tests.
            less: a capability that it does not get.
            waits: False where what is left hangs.
        """
        if Running.last is not None and Running.last.process.poll() is None:
            Running.last.kill()  # of a test that failed
        Running.last = self
        self.log = Path(f"/run/helper-{time.monotonic_ns()}.log")
        left = [path.stem for path in journaled()] if waits else []
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [
                    *with_capabilities(*(name for name in capabilities() if name != less)),
                    *(sys.executable, "-m", "tests.disks.helper_here", *arguments),
                ],
                cwd=PROJECT,
                stderr=log,
                env={**os.environ, **(environment or {})},
            )
        with Client("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus") as bus:
            wait_until(lambda: self.process.poll() is not None or self._serves(bus))
        wait_until(lambda: self.process.poll() is not None or all(map(self._has_recovered, left)))
        assert self.process.poll() is None, self.log.read_text()

    def _has_recovered(self, session: str) -> bool:
        path = JOURNAL / f"{session}.json"
        log = self.log.read_text()
        return f"{path} is kept and not acted upon" in log or bool(
            re.search(rf"recovery of {session[:8]}\S+ has ended", log)
        )

    def _serves(self, bus: Client) -> bool:
        """Whether the name is this process's, and not yet that of one that was killed a moment ago."""
        try:
            return bool(bus.call("GetConnectionUnixProcessID", "(s)", NAME) == (self.process.pid,))
        except RemoteError:
            return False

    def end(self) -> None:
        self.process.terminate()
        assert self.process.wait(LIMIT_S) == 0, self.log.read_text()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def said(self, text: str) -> bool:
        return text in self.log.read_text()

    def resident_bytes(self) -> int:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) * 1024


@pytest.fixture
def helper(installed_helper: None) -> Iterator[Running]:
    """A helper that runs; when the test ends, its journal is empty."""
    running = Running()
    yield running
    if running.process.poll() is None:
        running.end()
    assert forgotten_journal() == [], running.log.read_text()


@contextmanager
def started_by_bus() -> Iterator[Path]:
    """Let the bus start the helper for whoever calls it, as where it is installed; gives the helpers' log."""
    services, log, script = SERVICES, Path("/run/started-by-bus.log"), ByBus.script
    words = [sys.executable, "-m", "tests.disks.helper_here"]
    path = f"PYTHONPATH={shlex.quote(os.environ.get('PYTHONPATH', ''))}"
    script.write_text(
        f"#!/bin/sh\ncd {shlex.quote(str(PROJECT))}\nexec env {path} {shlex.join(words)} 2>>{log}\n"
    )
    script.chmod(0o755)
    log.write_text("")
    others = {each.name: each.read_bytes() for each in services.glob("*.service")}
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(services)], check=True)
    try:
        for name, content in others.items():
            (services / name).write_bytes(content)
        (services / f"{NAME}.service").write_text(f"[D-BUS Service]\nName={NAME}\nExec={script}\nUser=root\n")
        _reload_bus()
        yield log
    finally:
        subprocess.run(["umount", str(services)], check=True)
        _reload_bus()
        bus = Client("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus")
        with bus, suppress(RemoteError):  # it may have ended
            (pid,) = bus.call("GetConnectionUnixProcessID", "(s)", NAME)
            os.kill(pid, signal.SIGTERM)
            wait_until(lambda: not Path(f"/proc/{pid}/exe").exists())


class ByBus:
    """The helper that the bus starts for whoever calls it."""

    script: ClassVar[Path] = Path("/run/start-helper.sh")

    def kill(self) -> None:
        """Kill the one that runs, or none."""
        bus = Client("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus")
        with bus, suppress(RemoteError):
            (pid,) = bus.call("GetConnectionUnixProcessID", "(s)", NAME)
            os.kill(pid, signal.SIGKILL)
            wait_until(lambda: not Path(f"/proc/{pid}/exe").exists())

    @contextmanager
    def after(self, commands: str) -> Iterator[None]:
        """Let something happen before each that starts: commands of a shell."""
        works = self.script.read_text()
        self.script.write_text(works.replace("exec ", f"{commands}\nexec ", 1))
        try:
            yield
        finally:
            self.script.write_text(works)

    @contextmanager
    def broken(self) -> Iterator[None]:
        """Let none start."""
        works = self.script.read_text()
        self.script.write_text("#!/bin/sh\nexit 1\n")
        try:
            yield
        finally:
            self.script.write_text(works)


@pytest.fixture
def by_bus(installed_helper: None) -> Iterator[ByBus]:
    """A helper that the bus starts; when the test ends, its journal is empty."""
    with started_by_bus():
        yield ByBus()
        with suppress(AssertionError):
            wait_until(lambda: journaled() == [])
    assert forgotten_journal() == []


def _reload_bus() -> None:
    bus = "org.freedesktop.DBus"
    subprocess.run(["busctl", "--system", "call", bus, "/", bus, "ReloadConfig"], check=True)


@contextmanager
def standing_in(program: str, script: str) -> Iterator[None]:
    """Have a shell script in the place of a program of the system, in the namespace of the tests."""
    path = Path(shutil.which(program) or "").resolve(strict=True)
    other = Path(f"/run/{program}.sh")
    other.write_text(f"#!/bin/sh\n{script}\n")
    other.chmod(0o755)
    subprocess.run(["mount", "--bind", str(other), str(path)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", str(path)], check=True)


def journaled() -> list[Path]:
    return sorted(JOURNAL.glob("*.json"))


def forgotten_journal() -> list[Path]:
    """Empty the journal and return what was in it, so that the next test does not fail of it as well."""
    left = journaled()
    for path in left:
        path.unlink()
    return left


def as_user(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["setpriv", f"--reuid={NOBODY}", "--clear-groups", sys.executable, "-c", code, *arguments],
        capture_output=True, text=True, check=False, cwd=PROJECT, timeout=LIMIT_S,
    )  # fmt: skip


def error_of(call: Callable[[], object]) -> tuple[str, str]:
    with pytest.raises(RemoteError) as refused:
        call()
    return refused.value.name.removeprefix(f"{NAME}.Error."), refused.value.text
