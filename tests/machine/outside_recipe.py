"""Recipes in the guest for tests that drive it from outside: run as a user would, and handed out."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import subprocess
import sys
import time
from pathlib import Path

from tests.machine.outside_campaign import devices
from tests.machine.rig import SHARE
from tests.machine.rig_campaigns import USER, as_user, install, nothing_left_on, start_service

__all__ = ["install", "run_recipe"]


def run_recipe(name: str, *serials: str) -> None:
    """Run the quick variant of a recipe on virtio disks and hand its campaign's folder out.

    Prints as JSON its status, what it wrote to both outputs, seconds, and what is left of it.
    """
    start_service()
    account = pwd.getpwnam(USER)
    folder = Path("/home", USER, name)
    folder.mkdir()
    os.chown(folder, account.pw_uid, account.pw_gid)
    erase = [word for serial in serials for word in ("--erase", serial)]
    words = ["run", name, "--quick", "--disks", ",".join(serials), "--output", f"{folder}/library", *erase]
    begun_s = time.monotonic()
    ended = subprocess.run(
        as_user(*words), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    seconds = time.monotonic() - begun_s
    # Its programs may still be ending.
    left = nothing_left_on(devices(serials))
    found = sorted(folder.glob("library/*/*.footing"))
    if found:
        shutil.copytree(
            found[0].parent,
            Path(SHARE, name),
            ignore=shutil.ignore_patterns("control", "lock"),
            symlinks=True,
        )
    shutil.rmtree(folder)
    output = {"status": ended.returncode, "out": ended.stdout, "said": ended.stderr}
    sys.stdout.write(json.dumps({**output, "seconds": seconds, "left": left}))
