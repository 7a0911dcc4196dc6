"""Run files of campaigns whose runner died: marked incomplete, made whole, moved out of memory.

Called at every start of anything of pgFooting. What the campaign left behind otherwise (processes,
folders) is the business of `app.hosts.sweeping`.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Final

from app.domain.errors import FootingError, RunFileError
from app.domain.text import tr
from app.hosts.leaving_record import Leaving
from app.hosts.sweeping import SweepEvent, sweep
from app.runs.control import SOCKET_NAME
from app.runs.library import is_live
from app.runs.live_file import LiveFile, settle_live_file
from app.runs.run_identity import marks_after
from app.runs.runfile import SUFFIX, RunState, finish_run_file
from app.runs.runfile_reader import RunFile
from app.runs.summary import summarise

LOST_NOTE: Final = ".lost.txt"

_log = logging.getLogger(__name__)


def finish_abandoned(folder: Path) -> None:
    """Finish every run file of a campaign folder that still says running; may be repeated.

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
    (folder / SOCKET_NAME).unlink(missing_ok=True)
    if problems:
        raise problems[0]


def _finish(path: Path) -> None:
    if path.is_symlink() and not path.exists():
        # It grew in memory and the machine was switched off.
        note = tr("The run file {name} grew in memory and was lost when the machine was switched off.")
        path.with_name(path.name + LOST_NOTE).write_text(note.format(name=path.name) + "\n", encoding="utf-8")
        path.unlink()
        return
    file = LiveFile(path, path.readlink() if path.is_symlink() else path)
    with RunFile(file.live) as run:
        if run.state is not RunState.RUNNING and not file.in_memory:
            return
        state = RunState.INCOMPLETE if run.state is RunState.RUNNING else run.state
        summary = summarise(run)
        marks = marks_after(summary)
    finish_run_file(file.live, state, summary, marks)
    settle_live_file(file)


def _on_abandoned(leaving: Leaving) -> None:
    try:
        finish_abandoned(Path(leaving.campaign_folder))
    except RunFileError as error:
        # A damaged file stays as it is and is listed as such; the folders must go all the same, unless
        # the run file lies in one of them.
        if any(entry.volatile for entry in leaving.entries):
            raise
        _log.info("%s", error.message)


def sweep_abandoned() -> tuple[SweepEvent, ...]:
    """Finish the run files and remove the remains of dead campaigns of this user; quick where there are none.

    Never raises for what it cannot remove: the next sweep tries again.
    """
    try:
        return sweep(_on_abandoned)
    except (FootingError, OSError) as error:
        _log.info("sweep: %s", error)
        return ()
