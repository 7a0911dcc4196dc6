"""Campaigns of an ordinary user on the rig's disks: the installed helper, who may, what is seen meanwhile."""

from __future__ import annotations

import functools
import os
import pwd
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import pytest

from app.dbus.helper_errors import RULE_FILE, rule_of
from app.runfile.reader import RunFile
from app.storage.spare.spare import SpareDisks
from tests.disks.layout_proof import leftovers, output
from tests.fix_campaign import Running
from tests.machine.conftest import RigBlockDevice

VIRTIO, SCSI, SENTINEL = slice(5), 5, 6
"""Where `inside` has its disks."""

inside = pytest.mark.inside(*["virtio:1G"] * 5, "scsi:1G:1", "virtio:16M", group="campaigns")

PROGRAM = Path(__file__).parents[2] / "packaging" / "helper"
PROJECT = Path(__file__).parents[2]
USER = "tester"
RUN = Path("/run/pgfooting")
JOURNAL = Path("/var/lib/pgfooting/journal")
PATIENCE_S = 600
_HEAD = """name = "On the rig"
repeats = 1
order = "AB BA"
io_baseline = false
[postgresql]
preset = "defaults"
checksums = false
[postgresql.settings]
shared_buffers = "32MB"
max_wal_size = "128MB"
min_wal_size = "32MB"
[workload]
scale = 1
clients = 2
warmup = "1s"
duration = "{duration}"
"""


def wait_until(true: Callable[[], bool], what: str = "") -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


@functools.cache
def install() -> None:
    """Put the helper's copy in place as an administrator would, and let the user use it; once."""
    for command in ("install", "status"):
        done = subprocess.run([str(PROGRAM), command], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    Path(RULE_FILE).write_text(rule_of(USER))
    # Imported by the user for every campaign: byte code must be there already.
    subprocess.run(["python3", "-m", "compileall", "-q", str(PROJECT / "app")], check=True)
    subprocess.run(["systemctl", "restart", "polkit.service"], check=True)


def start_service() -> None:
    """The bus waits 25 s for a service that it starts; an emulated machine may need them for Python alone."""
    subprocess.run(["systemctl", "start", "pgfooting-helper.service"], check=True, timeout=PATIENCE_S)


def serial_of(disk: RigBlockDevice) -> str:
    return SpareDisks().identify(disk.path).serial


def target(
    disks: Sequence[RigBlockDevice],
    filesystem: str,
    *,
    level: str = "single",
    extra: str = "",
    size: int = 700,
) -> str:
    """The table of a configuration; `size` is the partition's in MiB."""
    names = ", ".join(f'"{serial_of(disk)}"' for disk in disks)
    return (
        f'[configuration.target.disks]\ndata = [{names}]\nlevel = "{level}"\nfilesystem = "{filesystem}"\n'
        f'partition_size = "{size} MiB"\n{extra}\n'
    )


def campaign(*configurations: tuple[str, str], duration: str = "5s") -> str:
    return _HEAD.format(duration=duration) + "".join(
        f'[[configuration]]\nname = "{name}"\n{text}' for name, text in configurations
    )


def erase(disks: Sequence[RigBlockDevice]) -> list[str]:
    return [word for disk in disks for word in ("--erase", serial_of(disk))]


def nothing_left(disks: Sequence[RigBlockDevice]) -> list[str]:
    """Return what is left of campaigns: on the disks, in the helper's journal, as units, as processes."""
    return nothing_left_on([disk.path for disk in disks])


def nothing_left_on(nodes: Sequence[str]) -> list[str]:
    """Return what is left of campaigns, the disks given by their nodes."""
    left = leftovers(nodes, RUN) if RUN.exists() else []
    left = [each for each in left if each != f"{RUN}/lock"]
    left += [str(path) for path in JOURNAL.glob("*.json")]
    options = ("--all", "--plain", "--no-legend")
    left += output("systemctl", "list-units", *options, "pgfooting-*.scope").split()
    return left + output("pgrep", "--list-full", "-x", "postgres|pgbench").splitlines()


def as_user(*arguments: str) -> list[str]:
    """Return the command that runs pgFooting as the user in a session of PAM without a seat, as by ssh."""
    command = ("env", f"PYTHONPATH={PROJECT}", "python3", "-P", "-m", "app", *arguments)
    inside = f"cd {shlex.quote(str(PROJECT))} && exec {shlex.join(command)}"
    return ["runuser", "--login", USER, "--command", inside]


@dataclass(slots=True)
class Campaign(Running):
    """A campaign of the user, in a session of PAM without a seat; all of it is in one folder."""

    folder: Path = Path()

    @classmethod
    def start(cls, text: str, *words: str) -> Self:
        account = pwd.getpwnam(USER)
        folder = Path(tempfile.mkdtemp(prefix="campaign-", dir=account.pw_dir))
        (folder / "campaign.toml").write_text(text)
        os.chown(folder, account.pw_uid, account.pw_gid)
        arguments = ("run", f"{folder}/campaign.toml", "--output", f"{folder}/library", "--progress", "json")
        with (folder / "said").open("w") as said:
            process = subprocess.Popen(
                as_user(*arguments, *words),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=said,
                text=True,
            )
        return cls(process, folder / "said", folder=folder)

    @property
    def said(self) -> str:
        """Its standard error."""
        return (self.folder / "said").read_text()

    def runner(self) -> int:
        """Return the process id of the program itself."""
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = path.read_bytes().decode().split("\0")
            except OSError:
                continue
            if words[0].startswith("python3") and str(self.folder / "campaign.toml") in words:
                return int(path.parent.name)
        raise AssertionError("the runner is not there")

    def kill(self) -> None:
        os.kill(self.runner(), signal.SIGKILL)
        self.end()

    def run_files(self) -> list[RunFile]:
        """Open the run files, by name."""
        return [RunFile(path) for path in sorted(self.folder.glob("library/*/*.footing"))]

    def close(self) -> None:
        """End what still runs, and forget the library."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()
        shutil.rmtree(self.folder)


def mounted() -> dict[str, tuple[str, str]]:
    """Return by mount point below the helper's folder what mountinfo says: filesystem, all options."""
    found: dict[str, tuple[str, str]] = {}
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        head, _, tail = line.partition(" - ")
        place, options = head.split()[4:6]
        kind, _, of_filesystem = tail.split()[:3]
        if place.startswith(f"{RUN}/") and place.endswith(("/storage", "/wal")):
            found[Path(place).name] = (kind, f"{options},{of_filesystem}")
    return found


def zfs_properties() -> dict[str, str]:
    """Return what `zfs get all` says of the one dataset that is mounted below the helper's folder."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        head, _, tail = line.partition(" - ")
        if head.split()[4].startswith(f"{RUN}/") and tail.startswith("zfs "):
            listing = output("zfs", "get", "-H", "-p", "-o", "property,value", "all", tail.split()[1])
            return {name: value for name, _, value in (row.partition("\t") for row in listing.splitlines())}
    return {}


def campaigns() -> Iterator[Callable[..., Campaign]]:
    """Yield a function that starts a campaign; all that it started end."""
    started: list[Campaign] = []

    def start(text: str, *words: str) -> Campaign:
        started.append(Campaign.start(text, *words))
        return started[-1]

    yield start
    for each in started:
        each.close()
