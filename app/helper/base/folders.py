"""Folders of the helper: all root's own, none named by a caller."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

RUN: Final = Path("/run/pgfooting")
"""Holds a folder for each session, with the mount points."""
STATE: Final = Path("/var/lib/pgfooting")
JOURNAL: Final = STATE / "journal"
CONFIGURATION: Final = Path("/etc/pgfooting/helper.conf")
INTERFACE: Final = Path(__file__).parents[1] / "interface.xml"
PRIVATE: Final = "private"
"""Name of the mount point for socket, logs and scripts, beside those of the storage."""
PRIVATE_BYTES: Final = 2 * 1024**3
"""What the caller may put into memory there: transaction logs are thinned by the runner while they grow."""


def session_folder(session: str) -> str:
    """Return the folder of a session, given its identifier without hyphens."""
    return str(RUN / session[:16])


def make_private_folder(path: Path, mode: int) -> None:
    """Make a folder of root's, or make sure that it is one.

    Raises:
        OSError: it cannot be made, or somebody else owns it or can write to it.
    """
    path.mkdir(mode=mode, parents=True, exist_ok=True)
    found = path.lstat()
    # SECURITY: what lies in it decides what is unmounted and wiped. The helper is root.
    if path.is_symlink() or found.st_uid != os.geteuid() or found.st_mode & 0o022:
        raise PermissionError(1, "not root's alone", str(path))
    path.chmod(mode)
