"""Finish the run files of campaigns with a dead runner: mark, complete, move them out of memory.

Runs at every start of pgFooting. Other remains of the campaign (processes, folders) are handled by
`app.hosts.recovery.cleanup`.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from app.domain.errors import FootingError, RunFileError
from app.domain.run import RunState
from app.domain.text import tr
from app.execution.control import SOCKET_NAME
from app.hosts.recovery.cleanup import SweepEvent, sweep
from app.hosts.recovery.resource_journal import Owner, ResourceRecord
from app.library.entries import LibraryEntry, is_live
from app.recording.live_file import LiveFile, move_to_library
from app.runfile.finalize import finish_run_file
from app.runfile.reader import RunFile
from app.runfile.summary import marks_after, summarise, summarise_phases
from app.runfile.writer import SUFFIX

LOST_NOTE: Final = ".lost.txt"

_log = logging.getLogger(__name__)


def finish_abandoned(folder: Path) -> None:
    """Finish every run file of a campaign folder that is still in state running; may be repeated.

    Raises:
        FootingError: one cannot be finished; the others are.
    """
    if not folder.is_dir() or is_live(folder):
        return
    problems: list[FootingError] = []
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        try:
            _finish(path)
        except FootingError as error:
            problems.append(error)
        except OSError as error:
            message = tr("The run file {path} could not be finished: {reason}.")
            problems.append(RunFileError(message.format(path=path, reason=error.strerror)))
    with suppress(OSError):
        (folder / SOCKET_NAME).unlink(missing_ok=True)
    if problems:
        raise problems[0]


def _finish(path: Path) -> None:
    if path.is_symlink() and not path.exists():
        # It grew in memory, and the machine was switched off.
        note = tr("The run file {name} was still in memory and was lost when the machine was switched off.")
        path.with_name(path.name + LOST_NOTE).write_text(note.format(name=path.name) + "\n", encoding="utf-8")
        path.unlink()
        return
    file = LiveFile(path, path.readlink() if path.is_symlink() else path)
    with RunFile(file.live) as run:
        if run.state is not RunState.RUNNING and not file.in_memory:
            return
        state = RunState.INCOMPLETE if run.state is RunState.RUNNING else run.state
        summary, phases = summarise(run), summarise_phases(run)
        marks = marks_after(summary)
    finish_run_file(file.live, state, summary, marks, phases=phases)
    move_to_library(file)


def finish_incomplete(entries: Iterable[LibraryEntry]) -> bool:
    """Finish listed run files that their runner could not finish, because the disk was full.

    Returns:
        Whether any was finished, and the library must be read again.
    """
    finished = False
    for path in [Path(each.path) for each in entries if each.state == RunState.INCOMPLETE.value]:
        try:
            with RunFile(path) as run:
                unfinished = run.state is RunState.RUNNING
            if unfinished and path.stat().st_uid == os.geteuid() and not is_live(path.parent):
                _finish(path)
                finished = True
        except (FootingError, OSError) as error:
            _log.info("%s is left as it is: %s", path, error)
    return finished


def _on_abandoned(leaving: ResourceRecord) -> None:
    try:
        finish_abandoned(Path(leaving.campaign_folder))
    except RunFileError as error:
        # A damaged file, or one on a full disk, stays and is listed as such; the folders must still be
        # removed, unless the run file is in one of them.
        _log.info("%s", error.message)
    _refuse_unmoved(leaving)


def _refuse_unmoved(leaving: ResourceRecord) -> None:
    """Keep a run file in memory that has not reached its library, e.g. because that is not mounted now.

    Raises:
        RunFileError: there is such a file.
    """
    for entry in leaving.entries:
        if not entry.volatile or entry.owner is not Owner.RUNNER:
            continue
        for live in sorted(Path(entry.path).glob(f"*{SUFFIX}")):
            final = Path(leaving.campaign_folder, live.name)
            if final.is_symlink() or not final.is_file():
                message = tr("the run file {live} is still in memory, because {folder} has no link to it")
                raise RunFileError(message.format(live=live, folder=leaving.campaign_folder))


def sweep_abandoned() -> tuple[SweepEvent, ...]:
    """Finish the run files and remove the remains of dead campaigns of this user; quick if there are none.

    Does not raise for what it cannot remove: the next sweep tries again.
    """
    try:
        return sweep(_on_abandoned)
    except (FootingError, OSError) as error:
        _log.info("sweep: %s", error)
        return ()
