"""Locations of a snapshot's sources, and reading them into a `Reading`."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from app.domain.messages.message import error_text, joined, say
from app.storage.inspect.snapshot import Reading, absent, needs_root, read, unreadable

T = TypeVar("T")

RELEASED_FOLDER: Final = Path("/var/lib/pgfooting/disks")
"""Root's record of the disks that pgFooting released (design.md, section 4)."""


@dataclass(frozen=True, slots=True)
class SourceFolders:
    """Folders to read from; others only in tests.

    Attributes:
        sys, proc, etc, run, dev, lib: as their names say.
        released: see `RELEASED_FOLDER`.
        as_root: whether a denial means "unreadable" and not "only root may".
    """

    sys: Path = Path("/sys")
    proc: Path = Path("/proc")
    etc: Path = Path("/etc")
    run: Path = Path("/run")
    dev: Path = Path("/dev")
    lib: Path = Path("/usr/lib")
    released: Path = RELEASED_FOLDER
    as_root: bool = False

    @property
    def read_whole(self) -> Path:
        """Root's record of the disks of which every byte was read."""
        return self.released.parent / "read"

    @classmethod
    def of_this_machine(cls) -> SourceFolders:
        """Return the folders of this machine for this user."""
        return cls(as_root=os.geteuid() == 0)

    def denied(self, reason: str, part: T | None = None) -> Reading[T]:
        """Return the reading of a source that the kernel denied to this process."""
        return unreadable(reason, part) if self.as_root else needs_root(reason, part)

    def attempt(self, root: Path, source: Callable[[], T]) -> Reading[T]:
        """Read one source.

        It is absent only if `root` does not exist: a missing part below it (it went away in between) is
        unreadable like every other error, and a denial is `denied`.
        """
        try:
            root.stat()
            return read(source())
        except PermissionError as err:
            return self.denied(_reason(err))
        except (FileNotFoundError, NotADirectoryError) as err:
            if not root.exists():
                return absent(say("path-absent", path=root))
            return unreadable(_reason(err))
        except (OSError, ValueError) as err:
            return unreadable(_reason(err))


def _reason(err: Exception) -> str:
    if isinstance(err, OSError) and err.strerror:
        return joined(": ", (str(err.filename or ""), err.strerror))
    return error_text(err)


def text_of(path: Path) -> str:
    """Return a file of procfs, sysfs or a configuration as text, without the last line break.

    Raises:
        OSError: it cannot be read.
    """
    return path.read_text(encoding="utf-8", errors="surrogateescape").rstrip("\n")


def number_of(status: os.stat_result) -> str:
    """Return ``major:minor`` of the device of a node."""
    return f"{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}"
