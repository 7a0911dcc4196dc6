"""Where a run file grows: in the library, or in memory if writing it would disturb the measurement.

While it is in memory (tmpfs), the library contains a symbolic link, so that the growing file has its final
name; when the run ends the file replaces the link.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from app.domain.errors import RunFileError
from app.domain.text import tr


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
        message = tr("The library cannot be written at {path}: {reason}.")
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
        message = tr("The run file could not be moved to {path}: {reason}. It is whole, in memory at {live}.")
        hint = tr("Make room and run `pgfooting list`, which moves it, before the machine is switched off.")
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
                message = tr("The run file {path} could not be removed: {reason}.")
                raise RunFileError(message.format(path=companion, reason=error.strerror)) from error


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
