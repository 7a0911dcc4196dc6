"""How long from the start of the process until the window is on the screen, and how much memory it takes.

Each start is a process of its own; the time runs from before it is forked until the first paint of the
window is through Qt, offscreen and, where Xvfb is installed, under X11. Memory is the resident set after
the library has been read, and after twelve hour-long runs are shown. `--library DIR` uses another library.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from app.domain.errors import UsageError
from tests.fix_runs import Shape, write_run
from ui.program.application import check_plugin

TOP = Path(__file__).resolve().parents[2]
STARTS = 7

CHILD = """
import json, os, sys, time
began = float(sys.argv[1])
library, chosen = sys.argv[2], int(sys.argv[3])

def tell(**told):
    sys.stdout.write(json.dumps(told) + chr(10))
    sys.stdout.flush()

def memory_mib():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmRSS"))

from ui.program.application import ICON, check_display, read_arguments
request = read_arguments(["--library", library])
os.environ.update(check_display(os.environ))
from PySide6.QtCore import QTimer
import ui.program.program
from ui.window.main_window import MainWindow

class Watched(MainWindow):
    painted = told = False
    last = None
    def begin(self):
        self.reader.read.connect(self.was_read)
        super().begin()
    def paintEvent(self, event):
        super().paintEvent(event)
        if not self.painted:
            self.painted = True
            QTimer.singleShot(0, self.on_screen)
    def on_screen(self):
        tell(painted_s=time.monotonic() - began, cpu_s=time.process_time(), memory_mib=memory_mib())
        self.told = True
        if self.last is not None:
            self.was_read(self.last, True)
    def was_read(self, runs, complete):
        if not complete:
            return
        if not self.told:  # an indexed library is read before the window is painted
            self.last = runs
            return
        self.reader.read.disconnect(self.was_read)
        tell(read_s=time.monotonic() - began, runs=len(runs), memory_mib=memory_mib())
        if not chosen:
            self.close_without_question()
            return
        QTimer.singleShot(1500, self.click)  # nobody is faster
    def click(self):
        runs = [row.run for row in self.runs_page.model._rows if hasattr(row, "run")]
        self.show_runs()
        self.runs_page.model.choose(())
        self.clicked = time.monotonic()
        self.runs_page._loader.loaded.connect(self.was_loaded)
        self.runs_page.choose(run.entry.path for run in runs[:chosen])
    def was_loaded(self, loaded):
        if len(loaded) == chosen:
            self.repaint()
            tell(shown_s=time.monotonic() - self.clicked, memory_mib=memory_mib())
            QTimer.singleShot(1500, self.settled)
    def settled(self):
        tell(settled_memory_mib=memory_mib())
        self.close_without_question()

ui.program.program.MainWindow = Watched
sys.exit(ui.program.program.show_window(request, ICON))
"""


def start(library: Path, environment: dict[str, str], chosen: int = 0) -> list[dict[str, float]]:
    """Start the window once and return what it printed."""
    argv = [sys.executable, "-c", CHILD, str(time.monotonic()), str(library), str(chosen)]
    done = subprocess.run(
        argv, cwd=TOP, env=environment, stdout=subprocess.PIPE, text=True, check=True, timeout=120
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def write_hours(library: Path, runs: int, seconds: int = 3600) -> None:
    """Write hour-long runs of invented seconds."""
    folder = library / "hours"
    folder.mkdir(parents=True)
    for number in range(runs):
        shape = Shape(seconds=seconds, seed=number, checkpoint_every_s=300)
        write_run(folder / f"{number:02}.footing", shape, f"run {number}")


def environment_for(scratch: Path, platform: str, **more: str) -> dict[str, str]:
    """Return an environment in which nothing of the user is touched."""
    folders = {f"XDG_{name}_HOME": str(scratch / name) for name in ("CONFIG", "DATA", "STATE", "CACHE")}
    return {**os.environ, **folders, "PYTHONPATH": str(TOP), "QT_QPA_PLATFORM": platform, **more}


def measure(name: str, library: Path, environment: dict[str, str]) -> None:
    """Start several times and print medians."""
    found = [start(library, environment) for _ in range(STARTS)]
    painted = [one[0]["painted_s"] for one in found]
    cpu = statistics.median(one[0]["cpu_s"] for one in found)
    memory = statistics.median(one[-1]["memory_mib"] for one in found)
    print(
        f"{name:<12} on screen after {statistics.median(painted):.2f} s (best {min(painted):.2f},"
        f" worst {max(painted):.2f}; {cpu:.2f} s of CPU), library read after"
        f" {statistics.median(one[1]['read_s'] for one in found):.2f} s, {memory:.0f} MiB"
    )


def measure_x11(library: Path, environment: dict[str, str]) -> None:
    """Measure under X11, or say what is missing for it."""
    try:
        check_plugin("xcb")
    except UsageError as error:
        print(f"not measured under X11: {error.message} {error.hint}")
        return
    start(library, environment)
    measure("Xvfb", library, environment)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", type=Path)
    parser.add_argument("--runs", type=int, default=12)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pgf-bench-") as name:
        scratch = Path(name)
        library = arguments.library
        if library is None:
            library = scratch / "library"
            write_hours(library, arguments.runs)
        offscreen = environment_for(scratch, "offscreen")
        start(library, offscreen)  # byte code and page cache
        measure("offscreen", library, offscreen)
        if shutil.which("Xvfb"):
            with tempfile.TemporaryFile("w+") as display:
                argv = ["Xvfb", "-displayfd", str(display.fileno()), "-screen", "0", "1600x1000x24"]
                server = subprocess.Popen(argv, pass_fds=[display.fileno()], stderr=subprocess.DEVNULL)
                try:
                    number = ""
                    while not number.endswith("\n"):
                        time.sleep(0.05)
                        display.seek(0)
                        number = display.read()
                    measure_x11(library, environment_for(scratch, "xcb", DISPLAY=f":{number.strip()}"))
                finally:
                    server.terminate()
                    server.wait()
        else:
            print("Xvfb is not installed: not measured under X11")
        found = [start(library, offscreen, arguments.runs) for _ in range(5)]
        times = [one[2]["shown_s"] for one in found]
        shown = statistics.median(times)
        settled = statistics.median(one[3]["settled_memory_mib"] for one in found)
        words = f"{1000 * shown:.0f} ms from choosing to painted (best {1000 * min(times):.0f})"
        print(f"{arguments.runs} runs of an hour: {words}, then {settled:.0f} MiB")


if __name__ == "__main__":
    main()
