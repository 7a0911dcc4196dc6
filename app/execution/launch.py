"""Start a runner that outlives the process that starts it, and find the running ones.

It runs the same command as the command line: `pgfooting run FILE --library LIBRARY --progress json`, in its
own session, with files for its input and output. It is watched through the campaign's folder; its output only
serves to find that folder, or the reason why there is none.

Each launch has its own folder in the state folder. The runner's output file is locked by the open file
description that it inherits, so the lock lasts exactly as long as the runner; later launches remove folders
without a lock, except the newest few, which keep the reasons of failures.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import shutil
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from app import COMMAND, TOP
from app.campaign_file.reader import parse_campaign
from app.campaign_file.trust import campaign_digest, find_concerns, has_own_scripts
from app.campaign_file.writer import format_campaign
from app.domain.campaign.configuration import Campaign
from app.domain.errors import FootingError, UsageError
from app.domain.text import tr
from app.hosts.folders.own_folders import create_state_folder
from app.hosts.machine_lock import may_measure_beside
from app.hosts.recovery.resource_journal import list_live
from app.library.entries import is_live, is_locked
from app.library.trusted_campaigns import trust

LAUNCHES: Final = "launches"
KEPT_LAUNCHES: Final = 3
_CAMPAIGN: Final = "campaign.toml"
_PROGRESS: Final = "progress.jsonl"
_ERRORS: Final = "errors.txt"
_WORDS_LIMIT_BYTES: Final = 64 * 1024


class LaunchError(FootingError):
    """The runner ended before it measured anything; carries its message.

    Attributes:
        status: its exit status; negative if a signal ended it.
    """

    code = "launch"

    def __init__(self, message: str, *, hint: str = "", status: int) -> None:
        super().__init__(message, hint=hint)
        self.status = status


@dataclass(frozen=True, slots=True)
class LiveCampaign:
    """A running campaign of this user.

    Attributes:
        folder: in its library.
        name: of the campaign.
        started: local time with zone, ISO 8601.
    """

    folder: Path
    name: str
    started: str


class LaunchedCampaign:
    """A runner that this process started. No method blocks.

    Attributes:
        pid: of the runner; it leads its own session and process group.
        launch_folder: contains its input and output.
        folder: of the campaign in the library; None until the runner reports it.
        exit_status: None while it runs; negative if a signal ended it.
        problem: error and hint of the newest failed run, reported even if its run file cannot be written, as
            in a full library. Empty if none failed.
        asking: the runner's question to the user before the first run; empty if there is none.
        waiting: the runner's message about another campaign that it waits for; empty if it does not wait.
    """

    def __init__(self, pid: int, launch_folder: Path) -> None:
        self.pid = pid
        self.launch_folder = launch_folder
        self.folder: Path | None = None
        self.exit_status: int | None = None
        self.problem = ""
        self.asking = self.waiting = ""
        self._begun = False
        self._read_bytes = 0

    def poll(self) -> Path | None:
        """Return the campaign's folder once a run has started in it, None before.

        Raises:
            LaunchError: the runner ended before its first run; carries the reason.
        """
        ended = self._reap()  # before its output is read, which is then complete
        self._read_progress()
        if self._begun:
            return self.folder
        if ended:
            raise self._failure()
        return None

    def stop(self) -> None:
        """End a runner that has not started its first run."""
        if self.exit_status is None:  # not reaped: the number is still its own
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGTERM)

    def _reap(self) -> bool:
        if self.exit_status is None:
            try:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:  # reaped elsewhere: only its output is left
                self.exit_status = 0
            else:
                if pid:
                    self.exit_status = os.waitstatus_to_exitcode(status)
        return self.exit_status is not None

    def _read_progress(self) -> None:
        """Process the complete new lines of the progress file."""
        with suppress(OSError), (self.launch_folder / _PROGRESS).open("rb") as file:
            file.seek(self._read_bytes)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                self._read_bytes += len(line)
                self._take(json.loads(line))

    def _take(self, event: dict[str, Any]) -> None:
        messages = {event.get("kind"): str(event.get("message", ""))} if event.get("event") == "told" else {}
        self.waiting = messages.get("waiting", "")  # until the next message
        self.asking = messages.get("asking", self.asking)
        if event.get("event") == "campaign":
            self.folder = Path(str(event["folder"]))
        elif event.get("event") == "run":
            self._begun = True
        elif event.get("event") == "finished" and event.get("error"):
            self.problem = " ".join(str(event[key]) for key in ("message", "hint") if event.get(key))

    def _failure(self) -> LaunchError:
        status = self.exit_status or 0
        words = ""
        with suppress(OSError), (self.launch_folder / _ERRORS).open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _WORDS_LIMIT_BYTES))  # the reason comes last
            words = file.read(_WORDS_LIMIT_BYTES).decode("utf-8", "replace")
        message, hint = _sentences(words)
        if message:
            return LaunchError(message, hint=hint, status=status)
        if status < 0:
            message = tr("The runner was killed by signal {number} before it measured anything.")
            return LaunchError(message.format(number=-status), status=status)
        message = tr("The runner ended with status {status} and no message; nothing was measured.")
        return LaunchError(message.format(status=status), status=status)


def _sentences(words: str) -> tuple[str, str]:
    """Return (message, hint) from the command's output for an error; the hint is indented."""
    prefix = f"{COMMAND}: "
    lines = words.splitlines()
    start = max((i for i, line in enumerate(lines) if line.startswith(prefix)), default=None)
    if start is None:
        return words.strip(), ""
    message = [lines[start].removeprefix(prefix)]
    hint: list[str] = []
    for line in lines[start + 1 :]:
        (hint if line.startswith("  ") else message).append(line.strip())
    return "\n".join(message).strip(), "\n".join(hint).strip()


def start_campaign(
    campaign: Campaign | str,
    library: Path,
    erase: Sequence[str] = (),
    load: Sequence[str] = (),
    *,
    wait: bool = False,
) -> LaunchedCampaign:
    """Start the runner of a campaign; it outlives this process.

    Args:
        campaign: the campaign, or the text of a campaign file; paths of scripts in it are absolute.
        library: the campaign's folder is created in it.
        erase: serial numbers or WWNs of the spare disks that the user confirmed.
        load: names of the servers that the user confirmed.
        wait: root's runner waits for another campaign on this machine; any other user's always does.

    Raises:
        UsageError: the launch cannot be written, or Python cannot be started; nothing runs.
    """
    text = campaign if isinstance(campaign, str) else format_campaign(campaign)
    with suppress(FootingError):  # then the runner reports the error, or asks
        _keep_choice(text)
    return _launch(("--library", str(library.absolute())), _consents(erase, load), text, wait=wait)


def _keep_choice(text: str) -> None:
    """Let the runner read the scripts that were chosen here: they are outside of its folder.

    Anything else that a campaign may do was confirmed where it was chosen, or the runner asks.
    """
    campaign = parse_campaign(text, base_directory="/", source_name="")
    if has_own_scripts(campaign) and not find_concerns(campaign):
        trust(campaign_digest(text, campaign))


def resume_campaign(folder: Path, erase: Sequence[str] = (), load: Sequence[str] = ()) -> LaunchedCampaign:
    """Start a runner that continues the campaign of a folder; it outlives this process.

    Args:
        folder: of a started campaign.
        erase: as in `start_campaign`.
        load: as in `start_campaign`.

    Raises:
        UsageError: as in `start_campaign`.
    """
    return _launch(("--resume", str(folder.absolute())), _consents(erase, load))


def _consents(erase: Sequence[str], load: Sequence[str]) -> tuple[str, ...]:
    """Return options, each one word: a serial number may start with a hyphen."""
    return (*(f"--erase={name}" for name in erase), *(f"--load={name}" for name in load))


def _launch(
    words: Sequence[str], consents: Sequence[str], text: str | None = None, *, wait: bool = False
) -> LaunchedCampaign:
    """Start `pgfooting run` with these words, and the text of a campaign file if it needs one."""
    folder = None
    if wait or not may_measure_beside():
        words = (*words, "--wait")
    try:
        folder = _launch_folder()
        if text is not None:
            (folder / _CAMPAIGN).write_text(text, encoding="utf-8")
            words = (str(folder / _CAMPAIGN), *words)
        pid = _spawn(folder, (*words, *consents))
    except OSError as error:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
        message = tr("The runner could not be started ({path}: {reason}). Nothing was measured.")
        path = error.filename or sys.executable
        raise UsageError(message.format(path=path, reason=error.strerror)) from error
    return LaunchedCampaign(pid, folder)


def live_campaigns() -> tuple[LiveCampaign, ...]:
    """Return all running campaigns of this user, the oldest first.

    Raises:
        FootingError: the state folder cannot be trusted.
        OSError: it cannot be read.
    """
    found = [
        LiveCampaign(Path(leaving.campaign_folder), leaving.campaign_name, leaving.started)
        for leaving in list_live()
        if is_live(Path(leaving.campaign_folder))  # excludes one that is only being swept
    ]
    return tuple(sorted(found, key=lambda campaign: campaign.started))


def _launch_folder() -> Path:
    """Create the folder of a launch, and remove older ones of runners that have ended."""
    around = create_state_folder() / LAUNCHES
    around.mkdir(mode=0o700, exist_ok=True)
    _forget_old(around)
    folder = around / f"{time.time_ns():020}-{secrets.token_hex(4)}"
    folder.mkdir(mode=0o700)
    return folder


def _forget_old(around: Path) -> None:
    ended = [path for path in sorted(around.iterdir()) if path.is_dir() and not is_locked(path / _PROGRESS)]
    for path in ended[: max(0, len(ended) - KEPT_LAUNCHES)]:
        shutil.rmtree(path, ignore_errors=True)


def _spawn(folder: Path, words: Sequence[str]) -> int:
    """Start the runner and return its process id.

    By posix_spawn and not `subprocess`, which expects its children to be waited for: the runner may outlive
    this process.
    """
    argv = [sys.executable, "-P", "-m", "app", "run", *words, "--progress", "json"]
    with ExitStack() as stack:

        def opened(path: Path | str, flags: int) -> int:
            descriptor = os.open(path, flags | os.O_CLOEXEC, 0o600)
            stack.callback(os.close, descriptor)
            return descriptor

        new = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
        nothing = opened(os.devnull, os.O_RDONLY)
        progress, errors = opened(folder / _PROGRESS, new), opened(folder / _ERRORS, new)
        fcntl.flock(progress, fcntl.LOCK_EX)  # of the open file description: the runner inherits it
        streams = [
            (os.POSIX_SPAWN_DUP2, source, number) for number, source in enumerate((nothing, progress, errors))
        ]
        return os.posix_spawn(
            sys.executable,
            argv,
            _environment(),
            file_actions=streams,
            setsid=True,
            setsigmask=(),
            setsigdef=(signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE),
        )


def _environment() -> dict[str, str]:
    """Return our environment, plus the folder of `app`, which -P hides."""
    top = str(TOP)
    others = [part for part in os.environ.get("PYTHONPATH", "").split(os.pathsep) if part and part != top]
    return {**os.environ, "PYTHONPATH": os.pathsep.join([top, *others])}
