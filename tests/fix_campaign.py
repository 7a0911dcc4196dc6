"""Whole campaigns for tests: the command in a process of its own, library and target in one folder."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from app.hosts.folders.descriptors import OWN_NAME
from app.hosts.folders.own_folders import create_state_folder
from app.process.starter import Account
from app.runfile.reader import RunFile

TOP = Path(__file__).resolve().parents[1]
PATIENCE_S = 240.0

SETTINGS = """
[postgresql]
preset = "defaults"
checksums = false
[postgresql.settings]
shared_buffers = "32MB"
"""


ORDINARY_EVENTS = frozenset(
    {"checkpoint-start", "checkpoint-complete", "autovacuum", "autoanalyze", "missed", "missed-reading"}
)
"""What a server does by itself, and what a machine that is busy with other tests does to a sampler."""


def check_ticks(ticks: NDArray[np.float64]) -> None:
    """Each deadline has its tick, or the next one tells that it was missed: on a busy machine some are."""
    numbers, missed = ticks[:, 0], ticks[:, 3]
    assert numbers.tolist() == (np.cumsum(1 + missed) - 1).tolist()
    assert (np.diff(ticks[:, 1]) - 1000 * missed[1:] < 3000).all()


def campaign_text(
    *, folder: Path | None = None, memory: bool = False, repeats: int = 1, workload: str = "", extra: str = ""
) -> str:
    """A small campaign: one configuration per target, in an order that is always the same."""
    lines = ['name = "Trial"', f"repeats = {repeats}", 'order = "AB BA"', SETTINGS, "[workload]"]
    lines.append(workload or 'scale = 1\nclients = 2\nwarmup = "1s"\nduration = "3s"')
    lines.append(extra)
    if folder is not None:
        lines += ["[[configuration]]", 'name = "folder"', f"[configuration.target.folder]\npath = '{folder}'"]
    if memory:
        lines += ["[[configuration]]", 'name = "memory"', "[configuration.target.memory]"]
    return "\n".join(lines) + "\n"


@dataclass(slots=True)
class Running:
    """A campaign that runs; its events are read as they come, what it says on standard error is in a file."""

    process: subprocess.Popen[str]
    errors: Path | None = None
    events: list[dict[str, Any]] = field(default_factory=list)

    def until(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Read events until one is wanted."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            event: dict[str, Any] = json.loads(line)
            self.events.append(event)
            if wanted(event):
                return event
        words = self.errors.read_text() if self.errors is not None else ""
        raise AssertionError(f"it ended before: {self.events}\n{words}")

    def until_phase(self, phase: str) -> None:
        """Read events until a phase begins."""
        self.until(lambda event: event["event"] == "phase" and event["phase"] == phase)

    def until_second(self, number: int) -> None:
        """Read events until that many seconds were measured."""
        seen = 0

        def counted(event: dict[str, Any]) -> bool:
            nonlocal seen
            seen += event["event"] == "second" and event["phase"] == "measure"
            return bool(seen >= number)

        self.until(counted)

    def end(self) -> int:
        """Read the rest and return the exit status."""
        assert self.process.stdout is not None
        self.events += [json.loads(line) for line in self.process.stdout]
        return self.process.wait(PATIENCE_S)


@dataclass(frozen=True, slots=True)
class CampaignBench:
    """Where campaigns of a test live.

    Attributes:
        folder: everything lies below it.
        target: an empty folder of the server's account.
        library: for the run files.
        environment: for the command.
        started: runners that `start` started; ended with the test at the latest.
    """

    folder: Path
    target: Path
    library: Path
    environment: Mapping[str, str]
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def command(
        self, *arguments: str, text: bool = True, status: int | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run the command to its end, which has this exit status where one is given."""
        ended = subprocess.run(
            [sys.executable, "-m", "app", *arguments],
            cwd=TOP,
            env=self.environment,
            capture_output=True,
            text=text,
            check=False,
            timeout=PATIENCE_S,
            stdin=subprocess.DEVNULL,
        )
        assert status is None or ended.returncode == status, ended.stdout + ended.stderr
        return ended

    def write(self, text: str, name: str = "campaign.toml") -> str:
        """Write a campaign file."""
        path = self.folder / name
        path.write_text(text)
        return str(path)

    def run(self, text: str, *arguments: str, status: int | None = None) -> subprocess.CompletedProcess[str]:
        """Run a campaign to its end, which has this exit status where one is given."""
        output = ("--output", str(self.library))
        return self.command("run", self.write(text), *output, *arguments, status=status)

    def start(self, text: str, *arguments: str) -> Running:
        """Start a campaign."""
        return self.start_command("run", self.write(text), "--output", str(self.library), *arguments)

    def start_command(self, *arguments: str) -> Running:
        """Start the command; its progress is read as it comes."""
        written = self.folder / "stderr.txt"
        with written.open("w") as errors:
            process = subprocess.Popen(
                [sys.executable, "-m", "app", *arguments, "--progress", "json"],
                cwd=TOP,
                env=self.environment,
                stdout=subprocess.PIPE,
                stderr=errors,
                stdin=subprocess.DEVNULL,
                text=True,
            )
        self.started.append(process)
        return Running(process, written)

    def listed(self) -> list[dict[str, Any]]:
        """What `pgfooting list --json` says; also sweeps."""
        found: list[dict[str, Any]] = json.loads(
            self.command("list", "--json", "--library", str(self.library)).stdout
        )
        return found

    def run_files(self) -> list[Path]:
        """Return the run files by name."""
        return sorted(self.library.glob("*/*.footing"))


def server_settings_of(run: RunFile, origin: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return what somebody chose for the server, and what the server of that run said of the same."""
    settings: Any = run.values["settings"]
    facts: Any = run.facts("before")["server"]
    chosen = {each["name"]: each["value"] for each in settings if each["origin"] == origin}
    return chosen, {name: facts["settings"][name]["value"] for name in chosen}


def remains() -> set[str]:
    """Everything that a campaign could leave outside its library."""
    places = [Path("/dev/shm"), Path("/tmp"), Path(f"/run/user/{os.getuid()}")]
    folders = (path for place in places if place.is_dir() for path in place.iterdir())
    found = {str(path) for path in folders if OWN_NAME.fullmatch(path.name)}
    found |= {str(path) for path in create_state_folder().glob("campaign-*")}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            cwd = str((path / "cwd").readlink())
        except OSError:
            continue
        # Below /var others may work, in a root of their own.
        if not cwd.startswith("/var/") and any(OWN_NAME.fullmatch(part) for part in cwd.split("/")):
            found.add(f"process {path.name} in {cwd}")
    return found


@pytest.fixture
def campaign_bench(
    open_folder: Path, database_account: Account, monkeypatch: pytest.MonkeyPatch
) -> Iterator[CampaignBench]:
    """Folders for campaigns. One test at a time on this machine, because campaigns exclude each other."""
    environment = {
        **os.environ,
        "XDG_DATA_HOME": str(open_folder / "data"),
        "XDG_STATE_HOME": str(open_folder / "state"),
        "XDG_CACHE_HOME": str(open_folder / "cache"),
        "PGFOOTING_TEMPLATES": str(open_folder / "templates"),
        "PYTHONWARNINGS": "error",
    }
    monkeypatch.setenv("XDG_STATE_HOME", environment["XDG_STATE_HOME"])
    target = open_folder / "target"
    target.mkdir(mode=0o700)
    os.chown(target, database_account.uid, database_account.gid)
    with (Path(tempfile.gettempdir()) / "pgfooting-tests-campaign.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        before = remains()
        bench = CampaignBench(open_folder, target, open_folder / "library", environment)
        try:
            yield bench
        finally:
            for process in bench.started:
                if process.poll() is None:
                    process.terminate()
                process.wait(PATIENCE_S)
                if process.stdout is not None:
                    process.stdout.close()
        bench.listed()
        assert remains() - before == set()
        assert list(target.iterdir()) == []


def kill(process: subprocess.Popen[str], number: signal.Signals = signal.SIGKILL) -> None:
    """Send a signal to the runner alone and wait for its end."""
    process.send_signal(number)
    if number is signal.SIGKILL:
        process.wait(PATIENCE_S)
