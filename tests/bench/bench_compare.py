"""What the compare page costs: from the click to the result, to charts over each other, and a run's tick.

Offscreen, 1600x1000. The click begins with files on disk of which nothing was read and ends when the result
is painted; that of another tab, when the charts are. A tick hides or shows one run there. CPU beside time on
the clock, which a busy machine changes less. Runs are an hour long: twelve, and sixty (five repeats each).

Figures promised: result in 300 ms from the click, also of sixty runs; a tick in 16 ms.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP))
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import QEventLoop, QTimer  # noqa: E402
from PySide6.QtWidgets import QApplication  # noqa: E402

from app.library.entries import read_entry  # noqa: E402
from app.library.scan import ListedRun  # noqa: E402
from tests.bench._figures import describe_machine  # noqa: E402
from tests.fix_report import Case, write_cases  # noqa: E402
from tests.fix_runs import Shape  # noqa: E402
from ui.background import finish_background  # noqa: E402
from ui.compare.page import ComparePage  # noqa: E402
from ui.compare.views import OverTimeView  # noqa: E402
from ui.theme import Scheme, Theme  # noqa: E402

SIZE = (1600, 1000)
REPEATS = 5


def milliseconds(do: Callable[[], None]) -> tuple[float, float]:
    """Return (time on the clock, CPU) of something."""
    began_s, cpu_s = time.perf_counter(), time.process_time()
    do()
    return 1000 * (time.perf_counter() - began_s), 1000 * (time.process_time() - cpu_s)


def until(page: ComparePage, done: Callable[[], bool]) -> None:
    """Let the page work until something is so, and paint it."""
    while not done():
        QApplication.processEvents(QEventLoop.ProcessEventsFlag.WaitForMoreEvents)
    page.repaint()
    QApplication.processEvents()


def click(runs: list[ListedRun]) -> tuple[tuple[float, float], tuple[float, float], ComparePage]:
    """Return what the result and then the charts over each other took, and the page."""
    page = ComparePage(Theme(Scheme.LIGHT))
    page.resize(*SIZE)
    page.show()
    QApplication.processEvents()
    colours = {run.entry.path: number for number, run in enumerate(runs)}

    def ask() -> None:
        page.show_runs(runs, colours)
        until(page, lambda: page.content.comparison is not None)

    def look_at_charts() -> None:
        page.choose_view("over-time")
        until(page, lambda: isinstance(page.view, OverTimeView) and len(page.view.stack.runs) == len(runs))

    result = milliseconds(ask)
    return result, milliseconds(look_at_charts), page


def ticks(page: ComparePage, count: int) -> list[tuple[float, float]]:
    """Return what hiding and showing a run took."""
    view = page.view
    if not isinstance(view, OverTimeView):
        raise TypeError(view)
    taken = []
    for number in range(count):
        trace = view.stack.runs[number // 2 % len(view.stack.runs)]

        def tick(run_id: str = trace.run_id, visible: bool = not trace.visible) -> None:  # noqa: FBT001
            view.stack.set_run_visible(run_id, visible=visible)
            QApplication.processEvents()

        taken.append(milliseconds(tick))
        rest(30)
    return taken


def rest(ms: int) -> None:
    """Let pass some time."""
    loop = QEventLoop()
    QTimer.singleShot(ms, loop.quit)
    loop.exec()


def print_times(name: str, taken: list[tuple[float, float]]) -> None:
    """Print medians and extremes."""
    clock, cpu = sorted(each[0] for each in taken), sorted(each[1] for each in taken)
    line = f"{name:34} {statistics.median(clock):8.1f} {clock[0]:8.1f} {clock[-1]:8.1f}"
    print(f"{line} {statistics.median(cpu):8.1f} {cpu[0]:8.1f}")


def measure(runs: list[ListedRun], rounds: int) -> None:
    """Print the figures of these runs."""
    results, charts, toggles = [], [], []
    for _ in range(rounds):
        result, chart, page = click(runs)
        results.append(result)
        charts.append(chart)
        rest(200)
        toggles += ticks(page, 24)
        page.stop()
        page.hide()
        finish_background(120)
    print_times("click to the result (300)", results)
    print_times("and from there to the charts", charts)
    print_times("tick of a run (16)", toggles)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, nargs="+", default=[12, 60])
    parser.add_argument("--seconds", type=int, default=3600)
    parser.add_argument("--rounds", type=int, default=7)
    chosen = parser.parse_args()
    app = QApplication([])
    with tempfile.TemporaryDirectory(prefix="pgf-bench-") as folder:
        cases = []
        for number in range(max(chosen.runs)):
            configuration, repeat = divmod(number, REPEATS)
            shape = Shape(chosen.seconds, 5000 - 100 * configuration, number + 1, checkpoint_every_s=300)
            cases.append(Case(f"configuration {configuration}", repeat, shape))
        paths = write_cases(Path(folder), cases)
        runs = [ListedRun(read_entry(path), ()) for path in paths]
        print(describe_machine())
        for count in chosen.runs:
            print(f"{count} runs of {chosen.seconds} s, {SIZE[0]}x{SIZE[1]}, ms")
            print(f"{'':34} {'median':>8} {'best':>8} {'worst':>8} {'CPU':>8} {'best CPU':>8}")
            measure(runs[:count], chosen.rounds)
    app.quit()


if __name__ == "__main__":
    main()
