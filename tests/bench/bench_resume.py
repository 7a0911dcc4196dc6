"""kill -9 at random moments of real campaigns, each then gone on with: no run lost, none counted twice.

Two configurations (a folder and memory) x 2 repeats, scale 1, 1 s each. A runner is started, killed after a
time drawn between nothing and a whole campaign, the campaign goes on from its folder, its runner is killed,
and so on; the next campaign begins where one has ended, until so many kills were made. Checked after each
campaign: every planned run is done in exactly one file that counts; at the end nothing is left in the target.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from app.domain.campaign.configuration import interleaved_order
from app.execution.resume.begun import begun_campaign, begun_runs
from app.hosts.folders.account import server_account
from app.library.campaign_end import CampaignEnd, read_end
from app.runfile.reader import RunFile
from app.runfile.writer import RunState

TOML = """name = "Resume"
repeats = 2
[postgresql]
preset = "defaults"
checksums = false
[workload]
scale = 1
clients = 1
warmup = "0s"
duration = "1s"
[[configuration]]
name = "folder"
[configuration.target.folder]
path = "{target}"
[[configuration]]
name = "memory"
[configuration.target.memory]
"""
MOST_S = 120.0


@dataclass(slots=True)
class Tally:
    """What was counted.

    Attributes:
        moments: phase of the newest run at the moment of the kill, or what was done there.
        campaigns: that were begun.
        lost: runs that were done at a kill and do not count any more, or never came to be.
        twice: runs that count more than once.
        measured_again: files of runs that were killed, which are kept and do not count.
        late: seconds from `--resume` to the begin of its first run.
    """

    moments: Counter[str] = field(default_factory=Counter)
    campaigns: int = 0
    lost: int = 0
    twice: int = 0
    measured_again: int = 0
    late: list[float] = field(default_factory=list)

    @property
    def kills(self) -> int:
        """How many runners were killed."""
        return self.moments.total()


@dataclass(frozen=True, slots=True)
class Place:
    """Where it happens.

    Attributes:
        folder: everything lies below it.
        environment: of the command.
    """

    folder: Path
    environment: Mapping[str, str]

    @property
    def library(self) -> Path:
        """Of the campaigns."""
        return self.folder / "library"

    def command(self, *arguments: str) -> list[str]:
        """Return the command line of a campaign."""
        return [sys.executable, "-m", "app", "run", *arguments, "--progress", "none"]

    def begin(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start a runner."""
        return subprocess.Popen(
            self.command(*arguments),
            env=dict(self.environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )

    def newest(self) -> Path | None:
        """Return the folder of the newest campaign."""
        folders = sorted(path.parent for path in self.library.glob("*/campaign.toml"))
        return folders[-1] if folders else None


def counted(folder: Path) -> dict[int, list[str]]:
    """Return the files that count, by number of the run."""
    runs = begun_runs(folder, begun_campaign(folder)).done
    return {number: [each.path or "" for each in attempts] for number, attempts in runs.items()}


def moment_of(folder: Path | None) -> str:
    """Return where a campaign is: the phase of its growing run."""
    if folder is None:
        return "before its folder"
    for path in sorted(folder.glob("*.footing"), reverse=True):
        try:
            with RunFile(path) as run:
                if run.state is RunState.RUNNING:
                    phases = run.phases()
                    return phases[-1].phase.value if phases else "run file begun"
        except Exception:  # noqa: BLE001, S112 - it grows: whatever cannot be read is looked at again
            continue
    return "between runs"


def kill_once(place: Place, arguments: tuple[str, ...], after_s: float, tally: Tally) -> bool:
    """Start a runner and kill it after a while; return whether it ended by itself before."""
    runner, words = place.begin(*arguments), ""
    try:
        runner.wait(after_s)
    except subprocess.TimeoutExpired:
        tally.moments[moment_of(place.newest())] += 1
        runner.send_signal(signal.SIGKILL)
        runner.wait()
        return False
    finally:
        if runner.stderr is not None:
            words = runner.stderr.read().decode(errors="replace") if runner.returncode not in {0, -9} else ""
            runner.stderr.close()
    # Its last run had just been finished when it was killed before.
    nothing_missing = arguments[0] == "--resume" and "Nothing is missing of the campaign" in words
    if runner.returncode and not nothing_missing:
        raise RuntimeError(f"{arguments}: {runner.returncode}\n{words}")
    return True


def one_campaign(place: Place, kills: int, longest_s: float, draw: random.Random, tally: Tally) -> None:
    """Begin a campaign, kill it at most so often, go on until nothing is missing, and check it."""
    file = place.folder / "resume.toml"
    before = place.newest()
    arguments: tuple[str, ...] = (str(file), "--output", str(place.library))
    had: dict[int, list[str]] = {}
    tally.campaigns += 1
    while tally.kills < kills:
        ended = kill_once(place, arguments, draw.uniform(0.2, longest_s), tally)
        folder = place.newest()
        if ended:
            break
        if folder is None or folder == before:
            continue  # killed before there was a folder: begun anew
        tally.lost += sum(
            not set(paths) <= set(counted(folder).get(number, [])) for number, paths in had.items()
        )
        had = counted(folder)
        arguments = ("--resume", str(folder))
    folder = place.newest()
    if folder is None or folder == before:
        return
    if read_end(folder) is None:
        begun_s = time.monotonic()
        resumed = subprocess.run(
            place.command("--resume", str(folder)),
            env=dict(place.environment),
            check=False,
            capture_output=True,
            timeout=MOST_S,
        )
        tally.late.append(time.monotonic() - begun_s)
        # 2: the last run had just been finished when the runner was killed; nothing was missing
        if resumed.returncode not in {0, 2}:
            raise RuntimeError(resumed.stderr.decode())
    found = counted(folder)
    planned = {run.number for run in interleaved_order(begun_campaign(folder))}
    tally.lost += len(planned - found.keys())
    tally.lost += sum(not set(paths) <= set(found.get(number, [])) for number, paths in had.items())
    tally.twice += sum(len(paths) > 1 for paths in found.values())
    tally.measured_again += len(list(folder.glob("*.footing"))) - sum(map(len, found.values()))
    end = read_end(folder)
    if end not in {CampaignEnd.FINISHED, None}:
        raise RuntimeError(f"{folder}: {end}")


def kill_often(kills: int, seed: int, folder: Path) -> Tally:
    """Kill so many runners of campaigns below a folder and return what became of the runs."""
    target = folder / "target"
    target.mkdir(mode=0o700)
    account = server_account(lambda _outcome: None)
    os.chown(target, account.uid, account.gid)
    environment = {
        **os.environ,
        **{f"XDG_{name}_HOME": str(folder / name) for name in ("DATA", "STATE", "CACHE", "CONFIG")},
    }
    os.environ["XDG_STATE_HOME"] = environment["XDG_STATE_HOME"]
    place = Place(folder, environment)
    (folder / "resume.toml").write_text(TOML.format(target=target))
    tally, draw = Tally(), random.Random(seed)  # noqa: S311 - no secret
    begun_s = time.monotonic()
    whole = subprocess.run(
        place.command(str(folder / "resume.toml"), "--output", str(place.library)),
        env=environment,
        check=True,
    )
    longest_s = time.monotonic() - begun_s
    print(f"a whole campaign takes {longest_s:.1f} s", flush=True)
    del whole
    while tally.kills < kills:
        one_campaign(place, kills, longest_s, draw, tally)
        print(
            f"{tally.kills} kills, {tally.campaigns} campaigns: lost {tally.lost}, twice {tally.twice}",
            flush=True,
        )
    left = [path.name for path in target.iterdir()]
    if left:
        raise RuntimeError(f"left in the target: {left}")
    return tally


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pgf-", dir="/var/tmp") as name:
        Path(name).chmod(0o755)
        tally = kill_often(arguments.kills, arguments.seed, Path(name))
    print(f"{tally.kills} kills in {tally.campaigns} campaigns of 4 runs")
    print("killed in: " + ", ".join(f"{phase} {count}" for phase, count in tally.moments.most_common()))
    print(f"runs lost: {tally.lost}; counted twice: {tally.twice}")
    print(f"files of killed runs, kept and not counted: {tally.measured_again}")


if __name__ == "__main__":
    main()
