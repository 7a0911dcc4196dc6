"""One window per user and library: a second start passes its request to the first, and ends.

The first one listens on a Unix socket in the user's runtime folder (XDG_RUNTIME_DIR, XDG Base Directory
specification 0.8), which other users cannot access. A lock shows whether it is alive; the socket of a killed
one is replaced. Without such a folder, every start has its own window. Nothing here needs Qt, so that a
second start answers at once.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import socket
import stat
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ACTIVATION: Final = "XDG_ACTIVATION_TOKEN"
"""Token that lets a window come to the front (xdg-activation, Startup Notification)."""
TAKEN: Final = b"taken\n"
MOST_BYTES: Final = 1024**2
ANSWER_S: Final = 5.0
_STARTING_S: Final = 3.0
"""How long to wait for a window that is just starting."""
_LOOK_S: Final = 0.05


@dataclass(frozen=True, slots=True)
class OpenRequest:
    """The request of a second start.

    Attributes:
        runs: absolute paths of run files and folders to show.
        token: of the desktop, to come to the front; empty for none.
    """

    runs: tuple[str, ...] = ()
    token: str = ""

    def line(self) -> bytes:
        """Return it as one line of JSON."""
        return json.dumps({"runs": list(self.runs), "token": self.token}).encode() + b"\n"

    @classmethod
    def of(cls, line: bytes) -> OpenRequest:
        """Parse such a line.

        Raises:
            ValueError: it is invalid.
        """
        values = json.loads(line)
        found = values if isinstance(values, dict) else {}
        runs, token = found.get("runs"), found.get("token")
        if (
            isinstance(runs, list)
            and isinstance(token, str)
            and all(isinstance(each, str) and _is_path(each) for each in runs)
        ):
            return cls(tuple(runs), token)
        raise ValueError("neither runs nor token")


def instance_socket(library: Path, environment: Mapping[str, str]) -> Path | None:
    """Return the socket of a library's window; None if the user has no private runtime folder."""
    folder = environment.get("XDG_RUNTIME_DIR", "")
    if not folder.startswith("/"):
        return None
    try:
        found = Path(folder).stat()
    except OSError:
        return None
    # SECURITY: another user with write access could show files in this user's window, or intercept requests.
    if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
        return None
    name = hashlib.sha256(os.fsencode(os.path.realpath(library))).hexdigest()[:16]
    return Path(folder, f"pgfooting-window-{name}")


def lock_place(place: Path) -> int | None:
    """Take the lock of a socket; return its descriptor, None if another process has it."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(f"{place}.lock", flags, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def send_request(place: Path, request: OpenRequest) -> bool:
    """Ask the open window to show the request; return whether it does.

    Waits for a window that holds the lock and does not listen yet, but not for one that does not answer.
    """
    until_s = time.monotonic() + _STARTING_S
    while not _send(place, request):
        try:
            held = lock_place(place)
        except OSError:
            return False
        if held is not None or time.monotonic() > until_s:
            if held is not None:
                os.close(held)
            return False
        time.sleep(_LOOK_S)
    return True


def _is_path(text: str) -> bool:
    return text.startswith("/") and "\0" not in text


def _send(place: Path, request: OpenRequest) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as peer:
        peer.settimeout(ANSWER_S)
        try:
            peer.connect(str(place))
            peer.sendall(request.line())
            return peer.recv(len(TAKEN)) == TAKEN
        except OSError:
            return False
