"""`pgfooting --temp`: window or command with a library, a state and settings that are thrown away at the end.

A program of its own runs with them, so that they go however it ends; this one waits for it and passes signals
on. A runner that outlives the window is stopped, and what a dead one left is swept, before its records go.
Data directories lie where they always do, and root's service is what it always is.

What starts threads (numpy, which the engine needs) is imported only when the command has ended: signals are
waited for, and a thread from before would get them instead, because it does not block them.
"""

# ruff: noqa: PLC0415

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from app.cli.commands.window import window_environment
from app.cli.terminal.plain_text import plain_lines
from app.domain.errors import CancelledError, FootingError
from app.domain.text import tr
from app.hosts.folders.own_folders import TEMPORARY

_FOLDERS: Final = {
    "XDG_DATA_HOME": "data",
    "XDG_STATE_HOME": "state",
    "XDG_CONFIG_HOME": "settings",
}
_SI_KERNEL: Final = 0x80
"""Who sent a signal (sigaction(2)): the kernel, such as for Ctrl-C, to everybody of the terminal's group."""

_SIGNALS: Final = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD})
_LOOK_S: Final = 0.2


def is_temporary() -> bool:
    """Return whether this program is the one that `run_temporarily` started."""
    return TEMPORARY in os.environ


def run_temporarily(argv: Sequence[str]) -> int:
    """Run the command with these arguments in a temporary folder, and return its exit status.

    Raises:
        CancelledError: somebody does not want to wait for a runner that is being stopped; the folder is kept.
    """
    folder = Path(tempfile.mkdtemp(prefix="pgfooting-temp-"))
    made = folder.stat()
    for name, part in _FOLDERS.items():
        (folder / part).mkdir(mode=0o700)
        os.environ[name] = str(folder / part)  # of this process too: it looks at the state when all is over
    os.environ[TEMPORARY] = str(folder)
    _tell(tr("Library, state and settings lie in {folder} and are thrown away at the end."), folder)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        status = _run(argv, window_environment(os.environ), before)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        _end_runners(folder)
    except KeyboardInterrupt:
        message = tr("A campaign is still being stopped; {folder} is kept.").format(folder=folder)
        raise CancelledError(message, hint=tr("Remove it when nothing runs any more.")) from None
    else:
        _throw_away(folder, made)
        return status
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _tell(sentence: str, folder: Path, **values: object) -> None:
    with suppress(OSError):  # nobody hears it
        sys.stderr.write(f"{plain_lines(sentence.format(folder=folder, **values))}\n")
        sys.stderr.flush()


def _run(argv: Sequence[str], environment: Mapping[str, str], mask: set[int]) -> int:
    """Run the command to its end, passing on the signals that only this process got."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # where it is ignored, nobody learns how a child ended
    command = [sys.executable, "-P", "-m", "app", *argv]
    pid = os.posix_spawn(sys.executable, command, environment, setsigmask=mask)
    while True:
        received = signal.sigwaitinfo(_SIGNALS)
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code
        if received.si_signo != signal.SIGCHLD and received.si_code != _SI_KERNEL:
            os.kill(pid, received.si_signo)


def _end_runners(folder: Path) -> None:
    """Stop the campaigns that the window has started and that outlive it, and sweep what dead ones left."""
    from app.execution.control import Request, send_request
    from app.execution.launch import live_campaigns
    from app.execution.recovery import sweep_abandoned

    asked: set[Path] = set()
    while _some_runner_lives():
        for campaign in live_campaigns():
            if campaign.folder not in asked:
                asked.add(campaign.folder)
                _tell(tr("The campaign “{name}” still runs: it is stopped."), folder, name=campaign.name)
                with suppress(FootingError, OSError):  # it ends just now
                    send_request(campaign.folder, Request.STOP)
        time.sleep(_LOOK_S)
    sweep_abandoned()


def _some_runner_lives() -> bool:
    from app.execution.launch import LAUNCHES, live_campaigns
    from app.hosts.folders.own_folders import create_state_folder
    from app.library.entries import is_locked

    launches = create_state_folder() / LAUNCHES
    return bool(live_campaigns()) or any(is_locked(path) for path in launches.glob("*/*.jsonl"))


def _throw_away(folder: Path, made: os.stat_result) -> None:
    """Remove the folder, where it is still the one that was made and nothing speaks against it."""
    from app.hosts.recovery.resource_journal import read_records

    if list(read_records()):
        _tell(tr("{folder} is kept: it says what is left of a campaign and has to be removed."), folder)
        return
    mounts = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    if any(Path(place).is_relative_to(folder) for place in mounts):
        _tell(tr("{folder} is kept: something is mounted there."), folder)
        return
    try:
        found = folder.lstat()
        if (found.st_dev, found.st_ino) == (made.st_dev, made.st_ino):
            shutil.rmtree(folder)
    except OSError as error:
        _tell(tr("{folder} cannot be removed: {reason}."), folder, reason=error.strerror)
