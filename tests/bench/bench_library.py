"""How long a library of many runs takes to be listed, searched and scrolled, with and without its index.

Runs are copies of one small run file under ids, names and times of their own. Every listing is one of a new
process, so that nothing is known but what the index says; `listed` ends when the list has painted all rows.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP))

from tests.fix_window import Trial, write_trial  # noqa: E402

FILESYSTEMS = ("ext4", "xfs", "btrfs", "zfs", "f2fs")
STARTS = 5

CHILD = """
import json, sys, time
from pathlib import Path
from PySide6.QtCore import QEventLoop, QTimer
from PySide6.QtGui import QPixmap
from ui.program.program import make_application
from ui.style import apply_theme
from ui.theme import Scheme, Theme
from ui.window.library.model import LibraryModel
from ui.window.library.panel import LibraryPanel
from ui.window.library.reader import LibraryReader

app = make_application()
theme = Theme(Scheme.LIGHT)
apply_theme(app, theme)
library = Path(sys.argv[1])
panel = LibraryPanel(LibraryModel(), theme)
panel.resize(320, 800)
panel.show()
app.processEvents()
reader = LibraryReader(library)
loop = QEventLoop()
first = []

def read(runs, complete):
    panel.show_runs(runs, complete=complete)
    panel.repaint()
    first.append(time.perf_counter())
    if complete:
        loop.quit()

reader.read.connect(read)
began = time.perf_counter()
reader.refresh()
loop.exec()
told = {"listed_ms": 1000 * (time.perf_counter() - began), "first_ms": 1000 * (first[0] - began)}

def timed(do):
    began = time.perf_counter()
    do()
    panel.repaint()
    return 1000 * (time.perf_counter() - began)

line = panel.search.line
typed = ("x", "xf", "xfs", "xfs tag:a", "")
told["search_ms"] = max(timed(lambda text=text: line.setText(text)) for text in typed)
bar = panel.list.verticalScrollBar()
steps = [timed(lambda step=step: bar.setValue(bar.maximum() * step // 60)) for step in range(61)]
told["scroll_ms"], told["scroll_worst_ms"] = sorted(steps)[30], max(steps)
began = time.perf_counter()
reader.refresh()
loop.exec()
told["again_ms"] = 1000 * (time.perf_counter() - began)
keys = [row.key for number in range(panel.list.model().rowCount())
        if hasattr(row := panel.list.model().row(panel.list.model().index(number)), "run")]
told["tick_ms"] = timed(lambda: panel.list.model().toggle(keys[len(keys) // 2]))
reader.stop()
print(json.dumps(told))
"""


def write_library(library: Path, runs: int) -> None:
    """Write so many runs, six to a campaign."""
    pattern = write_trial(library / "pattern.footing", Trial(seconds=120))
    for number in range(runs):
        path = library / f"campaign-{number // 6:04}" / f"{number % 6:02}.footing"
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(pattern, path)
        filesystem = FILESYSTEMS[number % len(FILESYSTEMS)]
        values = {
            "id": f"{number:016x}",
            "name": f"{filesystem} raid10 #{number % 6 + 1}",
            "campaign": f"Campaign {number // 6}",
            "started_epoch_s": 1.79e9 + 600 * number,
        }
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.executemany(
                "UPDATE run SET value = ? WHERE key = ?",
                [(json.dumps(value), key) for key, value in values.items()],
            )
    pattern.unlink()


def list_once(library: Path, environment: dict[str, str]) -> dict[str, float]:
    """List a library in a new process."""
    argv = [sys.executable, "-c", CHILD, str(library)]
    done = subprocess.run(
        argv, cwd=TOP, env=environment, capture_output=True, text=True, check=True, timeout=300
    )
    output: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return output


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, nargs="*", default=[306, 1000])
    arguments = parser.parse_args()
    print(f"load {' '.join(f'{value:.1f}' for value in os.getloadavg())}; medians of {STARTS} (best)")
    for runs in arguments.runs:
        with tempfile.TemporaryDirectory(prefix="pgf-bench-") as scratch:
            library, cache = Path(scratch, "library"), Path(scratch, "cache")
            write_library(library, runs)
            environment = {
                **os.environ,
                "XDG_CACHE_HOME": str(cache),
                "PYTHONPATH": str(TOP),
                "QT_QPA_PLATFORM": "offscreen",
            }
            list_once(library, environment)  # byte code and page cache
            shutil.rmtree(cache)
            began_s = time.monotonic()
            cold = list_once(library, environment)
            print(
                f"{runs:5} runs without an index: first rows after {cold['first_ms']:.0f} ms, all after"
                f" {cold['listed_ms']:.0f} ms ({time.monotonic() - began_s:.1f} s with the start of Qt)"
            )
            found = [list_once(library, environment) for _ in range(STARTS)]
            parts = []
            for name, words in (
                ("listed_ms", "listed"),
                ("again_ms", "read again"),
                ("search_ms", "a key in the search"),
                ("scroll_ms", "scrolled"),
                ("scroll_worst_ms", "worst"),
                ("tick_ms", "ticked"),
            ):
                values = [one[name] for one in found]
                parts.append(f"{words} {statistics.median(values):.1f} ms ({min(values):.1f})")
            print(f"{runs:5} runs with one: " + ", ".join(parts))


if __name__ == "__main__":
    main()
