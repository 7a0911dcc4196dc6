"""A campaign in the guest for tests that drive the guest from outside: started, and looked at."""

from __future__ import annotations

import json
import os
import pwd
import subprocess
from collections.abc import Sequence
from pathlib import Path

from app.runfile.reader import RunFile
from app.runfile.writer import Phase
from tests.machine.rig_campaigns import USER, as_user, campaign, install, nothing_left_on, start_service

__all__ = ["install", "start_outside", "tell_outside"]


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
    with (folder / "told").open("wb") as told, (folder / "said").open("wb") as said:
        subprocess.Popen(
            as_user(*words), stdin=subprocess.DEVNULL, stdout=told, stderr=said, start_new_session=True
        )


def tell_outside(*serials: str) -> None:
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
