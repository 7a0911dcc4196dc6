"""The program with a window: the one place that wires arguments, display, theme and window."""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import json
import os
import socket
import stat
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app import APPLICATION_ID, COMMAND, TOP, VERSION
from app.arguments.parser import Parser, speed
from app.domain.errors import FootingError, UsageError
from app.domain.text import CALLED, tr
from app.process.qt_libraries import missing_library, soname_in, window_error
from app.terminal.log import configure_logging

# One window per user and library: a second start passes its request to the first, and ends.
#
# The first one listens on a Unix socket in the user's runtime folder (XDG_RUNTIME_DIR, XDG Base Directory
# specification 0.8), which other users cannot access. A lock shows whether it is alive; the socket of a
# killed one is replaced. Without such a folder, every start has its own window. Nothing here needs Qt, so
# that a second start answers at once.


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


ICON: Final = TOP / "resources" / "icons" / f"{APPLICATION_ID}.svg"


@dataclass(frozen=True, slots=True)
class WindowRequest:
    """The request of the command line.

    Attributes:
        library: folder of the runs.
        runs: files or folders to show.
        replay: run to replay; several race.
        speed: of the replay, recorded seconds per second; None if not given.
        talk: replay a single run on the full screen.
    """

    library: Path
    runs: tuple[Path, ...] = ()
    replay: tuple[Path, ...] = ()
    speed: float | None = None
    talk: bool = False


def read_arguments(argv: Sequence[str]) -> WindowRequest:
    """Parse the command line.

    Raises:
        UsageError: it is invalid.
    """
    parser = Parser(prog=CALLED)
    parser.add_argument("--version", action="version", version=f"{COMMAND} {VERSION}")
    parser.add_argument("--library", type=Path, metavar="DIR")
    parser.add_argument(
        "--replay",
        nargs="+",
        default=[],
        metavar="RUN",
    )
    parser.add_argument("--speed", type=speed, metavar="N")
    parser.add_argument("--talk", action="store_true")
    parser.add_argument("runs", nargs="*", type=Path, metavar="RUN")
    found = parser.parse_args(list(argv))
    from app.library.entries import default_library  # noqa: PLC0415 - `--help` answers at once
    from app.library.scan import find_run  # noqa: PLC0415

    library: Path = found.library if found.library is not None else default_library()
    runs = tuple(path if path.exists() else find_run(str(path), library) for path in found.runs)
    replay = tuple(find_run(each, library) for each in found.replay)
    return WindowRequest(library.absolute(), runs, replay, found.speed, found.talk)


def check_display(environment: Mapping[str, str]) -> dict[str, str]:
    """Return environment variables that Qt needs to find the display.

    Qt aborts the process if it cannot reach a display, or lacks a library for it, so both are checked first.

    Raises:
        UsageError: there is no display, or a library is missing.
    """
    chosen = environment.get("QT_QPA_PLATFORM", "")
    if chosen and chosen != "xcb":
        return {}  # the user's own choice
    wayland, x11 = environment.get("WAYLAND_DISPLAY", ""), environment.get("DISPLAY", "")
    if not chosen and wayland and _answers(Path(environment.get("XDG_RUNTIME_DIR", "/")) / wayland):
        check_plugin("wayland")
        return {}
    if x11 and _x11_answers(x11):
        check_plugin("xcb")
        return {"QT_QPA_PLATFORM": "xcb"} if wayland else {}
    where = " ".join(
        f"{name}={value}" for name, value in (("WAYLAND_DISPLAY", wayland), ("DISPLAY", x11)) if value
    )
    message = tr("There is no display for the window ({where}).").format(where=where or tr("DISPLAY not set"))
    hint = tr(
        "`pgfooting run quick` measures without a window, in two minutes; `pgfooting --help` lists all "
        "commands. `ssh -X` opens the window on your own display."
    )
    raise UsageError(message, hint=hint)


def _answers(path: Path | str) -> bool:
    """Return whether a process listens on a Unix socket; a str starts with a null byte (abstract)."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as peer:
        peer.settimeout(2)
        try:
            peer.connect(str(path))
        except OSError:
            return False
    return True


def _x11_answers(display: str) -> bool:
    """Return whether the X server of a DISPLAY is alive; assumed for one on another machine.

    Sockets as in X(7) and, for forwarding by ssh, TCP port 6000 + display number of this machine.
    """
    host, _, rest = display.rpartition(":")
    number = rest.partition(".")[0]
    if not number.isdigit():
        return True
    if host in {"", "unix"}:
        path = f"/tmp/.X11-unix/X{number}"  # noqa: S108 - where X servers listen
        return _answers(path) or _answers(f"\0{path}")
    if host not in {"localhost", "127.0.0.1"}:
        return True
    try:
        socket.create_connection((host, 6000 + int(number)), timeout=2).close()
    except OSError:
        return False
    return True


def run_window(argv: Sequence[str]) -> int:
    """Show the window until it is closed; return the exit status."""
    try:
        configure_logging(os.environ)
        request = read_arguments(argv)
        if _is_shown_already(request):
            sys.stdout.write(tr("Shown in the pgFooting window that is already open.") + "\n")
            return 0
        os.environ.update(check_display(os.environ))
    except FootingError as error:
        return _show_error(error)
    try:
        from ui.program.program import show_window  # noqa: PLC0415 - mistakes are told before Qt is loaded
    except ImportError as error:
        soname = soname_in(str(error))
        if not soname:
            raise
        return _show_error(window_error(soname))
    return show_window(request, ICON)


def _is_shown_already(request: WindowRequest) -> bool:
    """Pass the request to this library's open window; return False for a replay."""
    place = instance_socket(request.library, os.environ)
    if place is None or request.replay:
        return False
    runs = tuple(str(path.absolute()) for path in request.runs)
    return send_request(place, OpenRequest(runs, os.environ.get(ACTIVATION, "")))


def _show_error(error: FootingError) -> int:
    sys.stderr.write(f"{COMMAND}: {error.message}\n")
    if error.hint:
        sys.stderr.write(f"  {error.hint}\n")
    return int(error.exit_status)


# Qt aborts if a system library of its display plugin is missing: try to load the plugin before Qt, through
# the dynamic linker, as Qt will do.


PLUGINS: Final = {"xcb": "libqxcb.so", "wayland": "libqwayland.so"}


def plugin_path(platform: str) -> Path | None:
    """Return the path of a platform's plugin in PySide6; None if that is unknown without Qt."""
    spec = importlib.util.find_spec("PySide6")
    if platform not in PLUGINS or spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0], "Qt", "plugins", "platforms", PLUGINS[platform])


def check_plugin(platform: str) -> None:
    """Check that Qt can show windows on this platform, `xcb` or `wayland`.

    Raises:
        UsageError: a library of the system is missing.
    """
    path = plugin_path(platform)
    soname = missing_library(path) if path is not None and path.is_file() else ""
    if soname:
        raise window_error(soname, platform)
