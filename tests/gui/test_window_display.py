from __future__ import annotations

import ctypes.util
import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from app.domain.errors import UsageError
from app.process.qt_libraries import QT, SCREEN, missing_library, report_error, window_error
from tests.fix_window import write_campaign
from ui.program.application import (
    check_display,
    check_plugin,
    plugin_path,
    read_arguments,
    run_window,
)

TOP = Path(__file__).resolve().parents[2]


@pytest.fixture
def server(tmp_path: Path) -> socket.socket:
    """Something that listens where a Wayland compositor would."""
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(tmp_path / "wayland-7"))
    listening.listen()
    return listening


def test_no_display_is_usage_error() -> None:
    with pytest.raises(UsageError, match="DISPLAY not set") as caught:
        check_display({})
    assert "ssh -X" in caught.value.hint


def test_a_dead_display_is_named(tmp_path: Path) -> None:
    environment = {"WAYLAND_DISPLAY": "wayland-9", "XDG_RUNTIME_DIR": str(tmp_path), "DISPLAY": ":987"}
    with pytest.raises(UsageError, match="WAYLAND_DISPLAY=wayland-9 DISPLAY=:987"):
        check_display(environment)


def test_dead_forwarded_display_detected() -> None:
    with pytest.raises(UsageError, match="localhost:5987"):
        check_display({"DISPLAY": "localhost:5987.0"})


def test_answering_compositor_left_to_qt(
    tmp_path: Path, server: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ui.program.application.check_plugin", lambda _platform: None)
    with server:
        assert check_display({"WAYLAND_DISPLAY": "wayland-7", "XDG_RUNTIME_DIR": str(tmp_path)}) == {}


def test_x11_fallback_from_absent_wayland(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ui.program.application._x11_answers", lambda display: display == ":3")
    monkeypatch.setattr("ui.program.application.check_plugin", lambda _platform: None)
    environment = {"WAYLAND_DISPLAY": "wayland-9", "XDG_RUNTIME_DIR": str(tmp_path), "DISPLAY": ":3"}
    assert check_display(environment) == {"QT_QPA_PLATFORM": "xcb"}
    assert check_display({"DISPLAY": ":3"}) == {}


def test_chosen_platform_not_questioned() -> None:
    assert check_display({"QT_QPA_PLATFORM": "offscreen"}) == {}


def test_chosen_x11_needs_display() -> None:
    with pytest.raises(UsageError, match="DISPLAY not set"):
        check_display({"QT_QPA_PLATFORM": "xcb"})


@pytest.fixture
def needy(tmp_path: Path) -> Path:
    """A plugin that was linked against a library which has been removed since."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler makes a plugin with a missing library")
    (tmp_path / "empty.c").write_text("int nothing;\n")
    needed, plugin = tmp_path / "libxcb-cursor.so.0", tmp_path / "libqxcb.so"
    common = [compiler, "-shared", "-fPIC", str(tmp_path / "empty.c")]
    subprocess.run([*common, "-Wl,-soname,libxcb-cursor.so.0", "-o", str(needed)], check=True)
    subprocess.run([*common, "-Wl,--no-as-needed", str(needed), "-o", str(plugin)], check=True)
    needed.unlink()
    return plugin


def test_missing_qt_library_is_named(needy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if ctypes.util.find_library("xcb-cursor"):  # the linker would find the system's
        renamed = needy.read_bytes().replace(b"libxcb-cursor.so.0", b"libxcb-cursos.so.0")
        needy.write_bytes(renamed)
    monkeypatch.setattr("ui.program.application.plugin_path", lambda _platform: needy)
    monkeypatch.setattr("ui.program.application._x11_answers", lambda _display: True)
    with pytest.raises(UsageError, match=r"libxcb-curso[rs]\.so\.0"):
        check_display({"DISPLAY": ":3"})


def test_whole_or_absent_plugin_lacks_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("ui.program.application.plugin_path", lambda _platform: tmp_path / "none.so")
        check_plugin("xcb")
    offscreen = plugin_path("xcb")
    assert offscreen is not None
    assert missing_library(offscreen.with_name("libqoffscreen.so")) == ""


def test_all_missing_qt_libraries_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    lacked = {"libglib-2.0.so.0", "libGL.so.1"}
    monkeypatch.setattr(
        "app.process.qt_libraries.missing_library", lambda name: name if name in lacked else ""
    )
    found = window_error("libGL.so.1")
    assert "libGL.so.1, libglib-2.0.so.0" in found.message
    assert "libX11.so.6" in _alone(monkeypatch).message


def _alone(monkeypatch: pytest.MonkeyPatch) -> UsageError:
    monkeypatch.setattr("app.process.qt_libraries.missing_library", lambda _name: "")
    return report_error("libX11.so.6")


def test_screen_libraries_named_with_qt_libraries(needy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a fresh system all of it is missing; the linker names one at a time."""
    monkeypatch.setattr("ui.program.application.plugin_path", lambda _platform: needy)
    monkeypatch.setattr("ui.program.application.missing_library", lambda _path: "libGL.so.1")
    monkeypatch.setattr("app.process.qt_libraries.missing_library", lambda name: name)
    with pytest.raises(UsageError) as caught:
        check_plugin("xcb")
    named = set(caught.value.message.rstrip(".").replace(",", "").split())
    assert named >= {*QT, *SCREEN["xcb"]}
    assert not named & set(SCREEN["wayland"])


def _packaged(name: str) -> set[str]:
    """The libraries of a list of packaging/system.sh."""
    text = (TOP / "packaging" / "system.sh").read_text()
    found = re.search(rf"^{name}=\(([^)]*)\)$", text, re.MULTILINE)
    assert found
    return set(found[1].split())


def test_what_qt_needs_is_what_packaging_installs() -> None:
    """GLib comes with PyGObject there, which a checkout needs and a wheel does not."""
    assert set(QT) == {"libglib-2.0.so.0", *_packaged("QT_LIBRARIES")}
    assert {name for names in SCREEN.values() for name in names} == _packaged("SCREEN_LIBRARIES")


@pytest.mark.parametrize("module", ["ui", "ui.report"])
def test_missing_qt_library_is_usage_error(module: str, tmp_path: Path) -> None:
    """As where PySide6 comes from PyPI and the system has no screen: the import of Qt fails."""
    (tmp_path / "PySide6").mkdir()
    failing = 'raise ImportError("libGL.so.1: cannot open shared object file: No such file or directory")'
    (tmp_path / "PySide6" / "__init__.py").write_text(failing)
    options = ["--output", "out.pdf", "run.footing"] if module == "ui.report" else []
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{TOP}", "QT_QPA_PLATFORM": "offscreen"}
    done = subprocess.run(
        [sys.executable, "-P", "-m", module, *options],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "libGL.so.1" in done.stderr
    assert "Traceback" not in done.stderr


def test_program_without_display_reports_it(tmp_path: Path) -> None:
    hidden = {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"}
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    done = subprocess.run(
        [sys.executable, "-m", "ui"], cwd=TOP, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.startswith("pgfooting: There is no display for the window (DISPLAY not set).\n  ")


def test_arguments_name_library_runs_replay_and_speed(tmp_path: Path) -> None:
    run = tmp_path / "a.footing"
    run.touch()
    arguments = ["--library", str(tmp_path), "--replay", str(run), "--speed", "60", "--talk", "--", str(run)]
    request = read_arguments(arguments)
    assert (request.library, request.runs, request.replay) == (tmp_path, (run,), (run,))
    assert (request.speed, request.talk) == (60.0, True)
    several = read_arguments(["--library", str(tmp_path), "--replay", str(run), str(run)])
    assert (several.replay, several.speed, several.talk) == ((run, run), None, False)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["/no/such.footing"], "/no/such.footing does not exist"),
        (["--replay", "abcdef", "--library", "/no/such"], "abcdef is neither a run file"),
        (["--speed", "0"], "use a number above 0"),
        (["--sped", "1"], "--sped"),
    ],
)
def test_wrong_arguments_exit_2(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_window(arguments) == 2
    errors = capsys.readouterr().err
    assert errors.startswith("pgfooting: ")
    assert words in errors


def test_no_opengl_and_qt_in_gui_thread_only(own_state: Path, tmp_path: Path) -> None:
    """No driver of OpenGL gets into the process; no class of Qt is first named while the window paints."""
    script = """
import sys, threading
elsewhere = []
def watch(event, values):
    if event == "import" and threading.current_thread() is not threading.main_thread():
        elsewhere.append(values[0])
sys.addaudithook(watch)
from PySide6.QtCore import QTimer
import ui.program.program
from ui.window.main_window import MainWindow
class Watched(MainWindow):
    def begin(self):
        super().begin()
        self.reader.read.connect(self.seen)
    def seen(self, runs, complete):
        if complete:
            self.runs_page.choose([run.entry.path for run in runs])
            QTimer.singleShot(1500, self.finish)
    def finish(self):
        if self.runs_page.charts.stack is None or "ui.wizard.wizard" not in sys.modules:
            QTimer.singleShot(200, self.finish)
            return
        self.grab()
        with open("/proc/self/maps") as file:
            maps = file.read()
        print([name for name in ("_dri.so", "libgallium", "libGLX_", "libEGL_") if name in maps])
        painted = ("PySide6", "pyqtgraph", "ui.charts.stack", "ui.wizard")
        print([name for name in elsewhere if name.startswith(painted)])
        print("app.hosts.disk_watch" in elsewhere)
        self.close_without_question()
ui.program.program.MainWindow = Watched
from ui.program.application import ICON, read_arguments
sys.exit(ui.program.program.show_window(read_arguments(["--library", sys.argv[1]]), ICON))
"""
    write_campaign(tmp_path / "library", repeats=1)
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "LIBGL_DRIVERS_PATH": "/nowhere"}
    argv = [sys.executable, "-W", "error", "-c", script, str(tmp_path / "library")]
    done = subprocess.run(argv, cwd=TOP, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "[]\n[]\nTrue\n"), done.stderr
