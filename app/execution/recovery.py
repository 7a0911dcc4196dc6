"""Where a run file grows, and how those of campaigns with a dead runner are finished.

Runs at every start of pgFooting. Other remains of the campaign (processes, folders) are handled by
`app.hosts.recovery.cleanup`.
"""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.domain.errors import FootingError, RunFileError
from app.domain.run import RunState
from app.domain.text import tr
from app.execution.control import SOCKET_NAME
from app.hosts.recovery.cleanup import SweepEvent, sweep
from app.hosts.recovery.resource_journal import Owner, ResourceRecord
from app.library.entries import LibraryEntry, is_live
from app.runfile.finalize import finish_run_file
from app.runfile.reader import RunFile
from app.runfile.summary import marks_after, summarise, summarise_phases
from app.runfile.writer import SUFFIX

# Where a run file grows: in the library, or in memory if writing it would disturb the measurement.
#
# While it is in memory (tmpfs), the library contains a symbolic link, so that the growing file has its final
# name; when the run ends the file replaces the link.


@dataclass(frozen=True, slots=True)
class LiveFile:
    """A growing run file.

    Attributes:
        final: its path in the library.
        live: where it grows; the same as `final` unless it is kept in memory.
    """

    final: Path
    live: Path

    @property
    def in_memory(self) -> bool:
        """Whether it grows in memory."""
        return self.live != self.final


def begin_live_file(final: Path, memory_folder: Path | None) -> LiveFile:
    """Return where the run file will grow; create the link if that is in memory.

    Raises:
        RunFileError: the library cannot be written.
    """
    if memory_folder is None:
        return LiveFile(final, final)
    live = memory_folder / final.name
    try:
        final.symlink_to(live)
    except OSError as error:
        message = tr("{path} cannot be written: {reason}.")
        raise RunFileError(message.format(path=final, reason=error.strerror)) from error
    return LiveFile(final, live)


def move_to_library(file: LiveFile) -> None:
    """Move a finished file from memory to its final path, atomically.

    Raises:
        RunFileError: the library is full or gone; the file stays in memory and its path is reported.
    """
    if not file.in_memory:
        return
    part = file.final.with_name(file.final.name + ".part")
    try:
        with file.live.open("rb") as source, part.open("wb") as copy:
            os.fchmod(copy.fileno(), 0o600)
            shutil.copyfileobj(source, copy, 1 << 20)
            copy.flush()
            os.fsync(copy.fileno())
        part.replace(file.final)
        _sync_folder(file.final.parent)
    except OSError as error:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        message = tr(
            "The run file could not be moved to {path} ({reason}). It is complete and in memory: {live}."
        )
        hint = tr(
            "Free some space and run `pgfooting list`, which moves it, before the machine is switched off."
        )
        reason = error.strerror
        raise RunFileError(
            message.format(path=file.final, reason=reason, live=file.live), hint=hint
        ) from error
    with suppress(OSError):  # it is safe in the library; cleanup removes the rest in memory
        file.live.unlink()


def discard_live_file(file: LiveFile) -> None:
    """Remove a run file and SQLite's files for it.

    Raises:
        RunFileError: one of them cannot be removed.
    """
    for path in {file.final, file.live}:
        for suffix in ("", "-wal", "-shm", "-journal"):
            companion = path.with_name(path.name + suffix)
            try:
                companion.unlink(missing_ok=True)
            except OSError as error:
                message = tr("{path} could not be removed: {reason}.")
                raise RunFileError(message.format(path=companion, reason=error.strerror)) from error


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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
            message = tr("{path} could not be finished: {reason}.")
            problems.append(RunFileError(message.format(path=path, reason=error.strerror)))
    with suppress(OSError):
        (folder / SOCKET_NAME).unlink(missing_ok=True)
    if problems:
        raise problems[0]


def _finish(path: Path) -> None:
    if path.is_symlink() and not path.exists():
        # It grew in memory, and the machine was switched off.
        note = tr("The run file {name} was still in memory and was lost when the machine restarted.")
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
                message = tr("the run file {live} is still in memory and has not been moved to {folder}")
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
