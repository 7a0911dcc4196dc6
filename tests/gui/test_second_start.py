"""A second start of the window: the one that is open shows what was asked for, whatever happened before."""

from __future__ import annotations

import fcntl
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app import TOP
from ui.program.application import TAKEN, OpenRequest, instance_socket, lock_place, send_request
from ui.program.program import FirstWindow, bring_to_front


@pytest.fixture
def runtime() -> Iterator[Path]:
    """A runtime folder whose path is short enough for a socket."""
    with tempfile.TemporaryDirectory(prefix="pgf-") as folder:
        yield Path(folder)


@pytest.fixture
def place(runtime: Path, tmp_path: Path) -> Path:
    found = instance_socket(tmp_path / "library", {"XDG_RUNTIME_DIR": str(runtime)})
    assert found is not None
    return found


class Window:
    """Keeps what it is handed."""

    def __init__(self, place: Path) -> None:
        self.taken: list[OpenRequest] = []
        self.first = FirstWindow(place, self.taken.append)


@pytest.fixture
def window(qtbot: QtBot, place: Path) -> Iterator[Window]:
    assert qtbot is not None
    made = Window(place)
    assert made.first.is_listening
    yield made
    made.first.close()


def send(place: Path, words: bytes) -> bytes:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as peer:
        peer.settimeout(30)
        peer.connect(str(place))
        peer.sendall(words)
        peer.shutdown(socket.SHUT_WR)
        return peer.recv(64)


def beside(qtbot: QtBot, call: Callable[..., object], *arguments: object) -> list[object]:
    """Call it in a thread while the window lives; return what it returned."""
    requests: list[object] = []
    thread = threading.Thread(target=lambda: requests.append(call(*arguments)))
    thread.start()
    qtbot.waitUntil(lambda: not thread.is_alive())
    return requests


def test_second_start_shows_runs_in_first(qtbot: QtBot, runtime: Path, tmp_path: Path) -> None:
    library, run = tmp_path / "library", tmp_path / "one.footing"
    library.mkdir()
    run.write_text("a run file, to whoever only hands it over")
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(runtime), "XDG_ACTIVATION_TOKEN": "from-the-menu"}
    environment["QT_QPA_PLATFORM"] = "there is none"  # Qt would end the process
    found = instance_socket(library, environment)
    assert found is not None
    window = Window(found)
    argv = [sys.executable, "-P", "-m", "ui", "--library", str(library), str(run)]
    second = subprocess.Popen(
        argv, cwd=TOP, env={**environment, "PYTHONPATH": str(TOP)}, stdout=subprocess.PIPE, text=True
    )
    qtbot.waitUntil(lambda: second.poll() is not None)
    out, _ = second.communicate()
    window.first.close()
    assert (second.returncode, out) == (0, "Shown in the pgFooting window that is already open.\n")
    assert window.taken == [OpenRequest((str(run),), "from-the-menu")]


def test_each_library_has_own_window(runtime: Path, tmp_path: Path) -> None:
    environment = {"XDG_RUNTIME_DIR": str(runtime)}
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "one")
    assert instance_socket(tmp_path / "one", environment) != instance_socket(tmp_path / "two", environment)
    assert instance_socket(tmp_path / "one", environment) == instance_socket(link, environment)


@pytest.mark.parametrize("folder", ["", "relative", "/nowhere/at/all"])
def test_own_window_without_runtime_folder(tmp_path: Path, folder: str) -> None:
    assert instance_socket(tmp_path, {"XDG_RUNTIME_DIR": folder}) is None


def test_shared_runtime_folder_not_used(runtime: Path, tmp_path: Path) -> None:
    runtime.chmod(0o755)
    assert instance_socket(tmp_path, {"XDG_RUNTIME_DIR": str(runtime)}) is None


def test_what_a_killed_window_left_is_replaced(qtbot: QtBot, place: Path) -> None:
    left = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    left.bind(str(place))
    left.close()  # as the kernel does: the file stays
    assert not send_request(place, OpenRequest())
    window = Window(place)
    assert beside(qtbot, send_request, place, OpenRequest(("/a run",))) == [True]
    window.first.close()
    assert window.taken == [OpenRequest(("/a run",))]
    assert not place.exists()


def test_two_windows_never_listen_at_one_place(window: Window, place: Path) -> None:
    second = Window(place)
    assert not second.first.is_listening
    second.first.close()
    assert place.exists()
    assert window.first.is_listening


def test_hung_window_delays_start_briefly(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ui.program.application._STARTING_S", 0.2)
    held = lock_place(place)
    assert held is not None
    assert not send_request(place, OpenRequest())
    os.close(held)


def test_own_window_without_lock(qtbot: QtBot, place: Path) -> None:
    Path(f"{place}.lock").symlink_to("/etc/passwd")
    assert not send_request(place, OpenRequest())
    window = Window(place)
    assert qtbot is not None
    assert not window.first.is_listening


@pytest.mark.parametrize(
    "words",
    [
        b"",
        b"\n",
        b"{}\n",
        b"[1]\n",
        b'{"runs": ["relative"], "token": ""}\n',
        b'{"runs": ["/a\\u0000b"], "token": ""}\n',
        b'{"runs": "x", "token": ""}\n',
        b'{"runs": [], "token": 1}\n',
        b"\xff\xfe\n",
        b"x" * 100_000,
    ],
)
def test_malformed_request_ignored_next_taken(
    qtbot: QtBot, window: Window, place: Path, words: bytes
) -> None:
    assert beside(qtbot, send, place, words) == [b""]
    assert beside(qtbot, send, place, OpenRequest(("/b",)).line()) == [TAKEN]
    assert window.taken == [OpenRequest(("/b",))]


def test_the_lock_ends_with_the_window(window: Window, place: Path) -> None:
    window.first.close()
    with Path(f"{place}.lock").open() as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_window_that_is_minimised_comes_back(qtbot: QtBot) -> None:
    shown = QWidget()
    qtbot.addWidget(shown)
    shown.showMinimized()
    bring_to_front(shown, "")
    qtbot.waitUntil(lambda: shown.isVisible() and not shown.isMinimized())
