"""A campaign in the guest for tests that drive the guest from outside: started, and looked at."""

from __future__ import annotations

import json
import os
import pwd
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from app.domain.run import Phase
from app.helper.storage.devices import node_of
from app.helper.storage.journal import Journal
from app.helper.storage.leftovers import Leftovers
from app.runfile.reader import RunFile
from app.storage.inspect.snapshot import Policy
from app.storage.inspect.sources import SourceFolders
from app.storage.spare.spare import SpareDisks
from tests.machine.rig_campaigns import (
    USER,
    as_user,
    campaign,
    install,
    nothing_left_on,
    start_service,
    wait_until,
)

__all__ = [
    "begin_rounds",
    "go_on",
    "install",
    "print_seconds",
    "print_waiting",
    "release_outside",
    "start_outside",
]

_ROUNDS = Path("/home", USER, "rounds")
_COUNTING = "/etc/polkit-1/rules.d/00-asked.rules"
_TAG = "pgfooting-rig"
_COUNTED = "asked for org.pgfooting.helper.erase"


def devices(serials: Sequence[str]) -> list[str]:
    """Return the nodes of virtio disks that are there, by serial."""
    links = [Path("/dev/disk/by-id", f"virtio-{serial}") for serial in serials]
    return [str(link.resolve()) for link in links if link.exists()]


def folder_of(serials: Sequence[str]) -> Path:
    return Path("/home", USER, serials[0])


def start_outside(*serials: str) -> None:
    """Start a campaign on a mirror of virtio disks; it goes on when this returns. `install` comes before."""
    start_service()
    account = pwd.getpwnam(USER)
    folder = folder_of(serials)
    folder.mkdir()
    os.chown(folder, account.pw_uid, account.pw_gid)
    names = ", ".join(f'"{serial}"' for serial in serials)
    table = (
        f'[configuration.target.disks]\ndata = [{names}]\nlevel = "mirror"\nfilesystem = "ext4"\n'
        'partition_size = "800 MiB"\ninitial_sync = "assume-clean"\n'
    )
    (folder / "campaign.toml").write_text(campaign(("mirror", table), duration="5min"))
    words = ["run", f"{folder}/campaign.toml", "--output", f"{folder}/library", "--progress", "json"]
    words += [word for serial in serials for word in ("--erase", serial)]
    with (folder / "told").open("wb") as output, (folder / "said").open("wb") as said:
        subprocess.Popen(
            as_user(*words), stdin=subprocess.DEVNULL, stdout=output, stderr=said, start_new_session=True
        )


def print_seconds(*serials: str) -> None:
    """Print as JSON what the campaign has told, what its run file holds, and what is left of it."""
    folder = folder_of(serials)
    lines = [line for line in (folder / "told").read_text().splitlines() if line.endswith("}")]
    events = [json.loads(line) for line in lines]
    seconds = [each for each in events if each["event"] == "second" and each["phase"] == "measure"]
    nodes = devices(serials)
    left = nothing_left_on(nodes)
    state, kept = "", []
    for path in folder.glob("library/*/*.footing") if not left else ():
        subprocess.run(as_user("list", "--json", "--library", f"{folder}/library"), check=True, stdout=-3)
        with RunFile(path) as run:
            run.check()
            state = str(run.values["state"])
            measured = run.phase(Phase.MEASURE)
            if measured is not None:
                kept = run.samples("pgbench.tps", after_ms=measured.started_ms)[1].tolist()
    print(  # noqa: T201 - the answer
        json.dumps(
            {
                "told": [each["tps"] for each in seconds],
                "finished": [each for each in events if each["event"] == "finished"],
                "said": (folder / "said").read_text(),
                "disks": len(nodes),
                "left": left,
                "state": state,
                "kept": kept,
            }
        )
    )


def release_outside(*serials: str) -> None:
    """Release what a session left on disks, as a person does who has seen it; print as JSON what was offered.

    What is in the way is ended by the commands that are told, and each disk is released by itself.
    """
    spare = SpareDisks(Policy(), SourceFolders.of_this_machine())
    left = Leftovers(Journal(), spare)
    identities = [spare.identify(node) for node in devices(serials)]
    seen = {disk: found for disk in identities if (found := left.offered(disk)) is not None}
    refused = [
        [each.rule for each in left.refusals({node: spare.identify(node)})[node]] for node in devices(serials)
    ]
    output = {user.remedy for disk in seen for user in spare.users(node_of(disk.device_number), disk)}
    commands = {each.partition(": ")[2] for each in output if "mdadm --stop" in each}
    for command in commands:
        subprocess.run(shlex.split(command), check=True)
    wiped = [
        disk in left.release({disk: found.digest})
        for disk in seen
        if (found := left.offered(disk)) is not None
    ]
    held = [[each.type for each in found.held] for found in seen.values()]
    ours = [found.is_ours for found in seen.values()]
    answer = {"ours": ours, "held": held, "refused": refused, "stopped": len(commands), "wiped": wiped}
    print(json.dumps(answer))  # noqa: T201


def begin_rounds(serial: str) -> None:
    """Start a campaign of three runs on one virtio disk, in the user's own library; wait for the second one.

    It returns when the second run measures. From now on polkit writes into the journal whenever somebody asks
    whether disks may be erased.
    """
    Path(_COUNTING).write_text(
        "polkit.addRule(function(action, subject) {\n"
        # polkit.log() goes to the standard error of polkitd, which Debian's unit throws away.
        f'    polkit.spawn(["/usr/bin/logger", "--tag", "{_TAG}", "asked for " + action.id]);\n'
        "    return polkit.Result.NOT_HANDLED;\n"
        "});\n"
    )
    subprocess.run(["systemctl", "restart", "polkit.service"], check=True)
    start_service()
    account = pwd.getpwnam(USER)
    _ROUNDS.mkdir()
    os.chown(_ROUNDS, account.pw_uid, account.pw_gid)
    table = f'[configuration.target.disks]\ndata = ["{serial}"]\nfilesystem = "ext4"\n'
    text = campaign(("ext4", table), duration="20s").replace("repeats = 1", "repeats = 3")
    (_ROUNDS / "campaign.toml").write_text(text)
    words = as_user("run", f"{_ROUNDS}/campaign.toml", "--progress", "json", "--erase", serial)
    with (_ROUNDS / "told").open("wb") as output, (_ROUNDS / "said").open("wb") as said:
        runner = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=output, stderr=said, start_new_session=True
        )

    def is_measuring_the_second() -> bool:
        assert runner.poll() is None, (_ROUNDS / "said").read_text()
        lines = [line for line in (_ROUNDS / "told").read_text().splitlines() if line.endswith("}")]
        events = [json.loads(line) for line in lines]
        names = [each["event"] for each in events]
        after = events[names.index("finished") :] if "finished" in names else []
        return any(each["event"] == "second" and each["phase"] == "measure" for each in after)

    wait_until(is_measuring_the_second, "the second run does not measure")


def print_waiting(serial: str) -> None:
    """Wait until nothing is left of campaigns on a virtio disk and print as JSON what waits."""
    wait_until(lambda: nothing_left_on(devices([serial])) == [], "something is left")
    sys.stdout.write(_shown_to_user("unfinished", "--json").replace("\n", ""))


def go_on(serial: str, folder: str) -> None:
    """Go on with a campaign and print as JSON how it ended, its files, and how often polkit was asked."""
    start_service()
    before = _times_asked()
    words = as_user("run", "--resume", folder, "--progress", "json", "--erase", serial)
    ended = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    runs = []
    for path in sorted(Path(folder).glob("*.footing")):
        with RunFile(path) as run:
            run.check()
            runs.append([path.name, run.values["number"], str(run.values["state"])])
    events = [json.loads(line) for line in ended.stdout.splitlines()]
    output = {
        "status": ended.returncode,
        "said": ended.stderr,
        "measured": len([each for each in events if each["event"] == "finished"]),
        "runs": runs,
        "asked": _times_asked() - before,
        "left": nothing_left_on(devices([serial])),
        "waiting": json.loads(_shown_to_user("unfinished", "--json")),
    }
    print(json.dumps(output))  # noqa: T201 - the answer


def _shown_to_user(*words: str) -> str:
    return subprocess.run(as_user(*words), check=True, capture_output=True, text=True).stdout


def _times_asked() -> int:
    command = ["journalctl", "--boot", "--no-pager", "--identifier", _TAG]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.count(_COUNTED)
