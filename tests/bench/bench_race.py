"""What a race costs: the frames of six hour-long runs at 60 times the speed, for a minute.

Each frame is a new moment and its pixels, offscreen, 1920x1080. The race's clock is the bench's own, so that
every frame of the minute is drawn however long one takes; CPU beside time on the clock, which a busy machine
changes less. Plain pyqtgraph is what one writes first: a curve for every run, given its samples up to the
moment.

Figure promised: no frame above 16 ms in 60 s. The worst of each round is printed, and the median of all.
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
from typing import Final

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP))
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import numpy as np  # noqa: E402
import pyqtgraph as pg  # noqa: E402
from PySide6.QtWidgets import QApplication, QWidget  # noqa: E402

from tests.bench._figures import describe_machine  # noqa: E402
from tests.fix_runs import Shape, write_run  # noqa: E402
from ui.race.content import RaceContent, load_race  # noqa: E402
from ui.race.window import FRAME_MS, RaceWindow  # noqa: E402
from ui.theme import Scheme  # noqa: E402

SIZE: Final = (1920, 1080)
SPEED: Final = 60.0
Frame = Callable[[float], None]
"""Shows the moment so many seconds after the begin, as one sees them."""


class Clock:
    """Goes on when it is told to."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def our_race(content: RaceContent) -> tuple[QWidget, Frame]:
    """Return the window of a race, and what shows a moment."""
    clock = Clock()
    window = RaceWindow(Scheme.DARK, content, speed=SPEED, clock_s=clock)
    window._timer.stop()

    def show(seconds: float) -> None:
        clock.now_s = seconds
        window.advance()

    return window, show


def plain_race(content: RaceContent) -> tuple[QWidget, Frame]:
    """Return a plot with a curve of each run, and what shows a moment."""
    window = pg.PlotWidget()
    window.showGrid(x=True, y=True)
    window.setXRange(0.0, content.race.end_s)
    chart = content.charts[0]
    curves = [window.plot(pen=pg.mkPen(number, width=2)) for number, _ in enumerate(chart.lines)]

    def show(seconds: float) -> None:
        for curve, line in zip(curves, chart.lines, strict=True):
            until = int(np.searchsorted(line.t_s, seconds * SPEED))
            curve.setData(line.t_s[:until], line.values[:until])

    return window, show


def frames_of(window: QWidget, show: Frame, seconds: int) -> list[tuple[float, float]]:
    """Return (time on the clock, CPU) in ms of each frame."""
    window.resize(*SIZE)
    window.show()
    QApplication.processEvents()
    taken = []
    for number in range(1, seconds * 1000 // FRAME_MS):
        began_s, cpu_s = time.perf_counter(), time.process_time()
        show(number * FRAME_MS / 1000)
        QApplication.processEvents()
        taken.append((1000 * (time.perf_counter() - began_s), 1000 * (time.process_time() - cpu_s)))
    window.hide()
    return taken


def tell(name: str, rounds: list[list[tuple[float, float]]]) -> None:
    """Print medians and the worst frames."""
    every = [frame for taken in rounds for frame in taken]
    columns = [statistics.median(clock for clock, _ in every), statistics.median(cpu for _, cpu in every)]
    late = statistics.fmean(cpu > 16 for _, cpu in every) * 100
    worst = " ".join(
        f"{max(clock for clock, _ in taken):.1f}/{max(cpu for _, cpu in taken):.1f}" for taken in rounds
    )
    print(f"{name:18}{columns[0]:8.2f}{columns[1]:8.2f}{late:9.2f} %   {worst}")


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=6)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    app = QApplication([])
    with tempfile.TemporaryDirectory(prefix="pgf-bench-") as folder:
        paths = [
            write_run(
                Path(folder) / f"{number}.footing",
                Shape(3600, 7000 - 400 * number, number + 1, 300, (1800, 6)),
                f"filesystem {number}",
            )
            for number in range(chosen.runs)
        ]
        content = load_race(paths)
        print(describe_machine())
        print(
            f"{chosen.runs} runs of an hour at {SPEED:g} times, {SIZE[0]}x{SIZE[1]}, {chosen.seconds} s, ms"
        )
        print(f"{'':18}{'median':>8}{'CPU':>8}{'CPU > 16':>11}   worst/its CPU of each round")
        for name, make in (("race", our_race), ("plain pyqtgraph", plain_race)):
            rounds = []
            for _ in range(chosen.rounds):
                window, show = make(content)
                rounds.append(frames_of(window, show, chosen.seconds))
                window.close()
            tell(name, rounds)
    app.quit()


if __name__ == "__main__":
    main()
