"""A runner that gets killed: prepares a target, starts children, and dies at a stated moment.

``victim.py STATE BENCH ACCOUNT MOMENT``: killed by its own hand right before the MOMENT-th step of preparing
(a line written to the record, a folder made), or, where there are fewer steps, ready for the test to kill it.
"""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

from app.domain.campaign.configuration import FolderTarget
from app.hosts import local
from app.hosts.folders.private_folder import write_private
from app.hosts.recovery import resource_journal
from app.process.starter import CommandOutcome, current_account, named_account, spawn

P = ParamSpec("P")
T = TypeVar("T")


def forget(_outcome: CommandOutcome) -> None:
    """Record nothing."""


def main(state: str, bench: str, account_name: str, moment: str) -> None:
    steps = itertools.count()

    def mortal(step: Callable[P, T]) -> Callable[P, T]:
        def wrapped(*arguments: P.args, **options: P.kwargs) -> T:
            if next(steps) == int(moment):
                os.kill(os.getpid(), signal.SIGKILL)
            return step(*arguments, **options)

        return wrapped

    for name in ("_write", "_sync_folder", "as_account"):
        setattr(resource_journal, name, mortal(getattr(resource_journal, name)))
    for name, value in (("SOCKET_PLACES", (bench,)), ("private_places", lambda: (bench,))):
        setattr(local, name, value)
    account = current_account() if account_name == "self" else named_account(account_name)
    with resource_journal.ResourceJournal.create(
        "/runs/1", "killed", account, state_folder=Path(state)
    ) as left:
        host = local.LocalHost(account, left, forget)
        site = host.prepare(FolderTarget(bench), 1)
        write_private(site.private, "script1", "SELECT 1;", forget)
        program = Path(bench).parent / "postgres"
        shutil.copy(shutil.which("sleep") or "", program)
        program.chmod(0o755)
        # The first dies with this process; the others would not, and are for the sweep: a server that ignores
        # the signal (SIGWINCH does nothing), and a program that only happens to work in the same folder.
        children = [
            spawn((argv, "1000"), account=account, death_signal=death_signal, cwd=site.data_directory)
            for argv, death_signal in (
                (str(program), signal.SIGKILL),
                (str(program), signal.SIGWINCH),
                ("sleep", signal.SIGWINCH),
            )
        ]
        sys.stdout.write("\t".join([site.data_directory, *[str(child.pid) for child in children]]) + "\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
