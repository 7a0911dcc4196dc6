"""What the charts cost: a live frame, a pan, a click to twelve runs on the screen, memory.

Plain pyqtgraph is measured beside them.

A frame is the whole way from a new second to pixels: the data's new view, the lines, painting, all events.
Plain pyqtgraph is what one writes first: PlotItem.plot() for every curve, setData() with everything a second,
grid on. Offscreen, 1600x1000, three charts. Each setting runs in a process of its own.
CPU is the mean of a frame and that of a click, which a busy machine changes less than the time on the clock.

Figures promised (medians): live frame with 12 hour-long runs behind 4 ms, 95th percentile 8 ms; pan 16 ms;
20 day-long runs: frame 20 ms; click to 12 hour-long runs 300 ms; 250 MB. 60 hour-long runs in 12 bands, a
line and a band for each 5 repeats: frame 4 ms, pan 16 ms. Plain pyqtgraph draws each of them as a line.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP))
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import numpy as np  # noqa: E402
import psutil  # noqa: E402
import pyqtgraph as pg  # noqa: E402
from PySide6.QtWidgets import QApplication  # noqa: E402
from typing_extensions import override  # noqa: E402

from app.runfile.series import (  # noqa: E402  # noqa: E402
    Array,
    GrownSource,
    LatencySeries,
    RunData,
    SeriesKey,
    load_run_data,
)
from tests.fix_runs import Shape, write_run  # noqa: E402
from ui.charts.data.curves import curve_samples  # noqa: E402
from ui.charts.data.registry import (  # noqa: E402
    CHARTS,
    DEFAULT_CHARTS,
    PERCENTILE,
    RunTrace,
)
from ui.charts.stack.stack import ChartStack, prefetch  # noqa: E402
from ui.theme import Scheme, Theme  # noqa: E402

SIZE = (1600, 1000)
DAY_S = 86400


class _MemorySource(GrownSource):
    """Day-long runs exist in memory only: writing twenty of them would take longer than the bench."""

    @override
    def percentile(self, percent: float) -> tuple[Array, Array]:
        return self.samples((f"{PERCENTILE}{percent:g}", ""))


def day_long(template: RunData, seed: int) -> RunData:
    """Return a run of a day with noisy seconds, from the small tables of a short one."""
    noise = np.random.default_rng(seed)
    t_ms: Array = np.arange(1, DAY_S + 1).astype(np.float64) * 1000
    series: dict[SeriesKey, tuple[Array, Array]] = {}
    for chart_id in DEFAULT_CHARTS:
        for number, curve in enumerate(CHARTS[chart_id].curves):
            for part in curve.parts:
                level = (seed + 3) * (number + 1) * 100.0
                series[part] = t_ms, level * (1 + 0.05 * noise.standard_normal(DAY_S))
    return replace(
        template,
        id=str(seed),
        phases=(),
        measure_start_ms=0,
        planned_s=float(DAY_S),
        duration_s=float(DAY_S),
        events=(),
        last_ms=1000.0 * DAY_S,
        source=_MemorySource(series, LatencySeries()),
    )


class Ours:
    """The program's own charts."""

    def __init__(self, app: QApplication, repeats: int) -> None:
        self._app, self._repeats = app, repeats
        self.stack = ChartStack(Theme(Scheme.LIGHT))
        self.stack.resize(*SIZE)
        self.stack.show()
        app.processEvents()

    def show_runs(self, runs: Sequence[RunData]) -> None:
        for data in runs:
            prefetch(data, self.stack.chart_ids, len(runs) // self._repeats)
        self.stack.set_runs(
            [
                RunTrace(f"{number}", data, number // self._repeats, data.name, group=self._group(number))
                for number, data in enumerate(runs)
            ]
        )
        self._app.processEvents()

    def _group(self, number: int) -> str:
        return f"configuration {number // self._repeats}" if self._repeats > 1 else ""

    def begin(self, data: RunData) -> None:
        self.stack.set_live(data, len(self.stack.runs))
        self._app.processEvents()

    def second(self, data: RunData) -> None:
        self.stack.update_live(data)
        self._app.processEvents()

    def pan(self, start_s: float, end_s: float) -> None:
        self.stack.show_times(start_s, end_s)
        self._app.processEvents()

    def rest(self) -> None:
        end_s = time.monotonic() + 0.3
        while time.monotonic() < end_s:
            self._app.processEvents()
            time.sleep(0.01)


class Plain:
    """What one writes first."""

    def __init__(self, app: QApplication) -> None:
        self._app = app
        self._window = pg.GraphicsLayoutWidget(size=SIZE)
        self._plots: list[pg.PlotItem] = []
        for row, chart_id in enumerate(DEFAULT_CHARTS):
            plot = self._window.addPlot(row=row, col=0, title=CHARTS[chart_id].title)
            plot.showGrid(x=True, y=True)
            plot.setLogMode(y=CHARTS[chart_id].log_y)
            if self._plots:
                plot.setXLink(self._plots[0])
            self._plots.append(plot)
        self._live: list[pg.PlotDataItem] = []
        self._window.resize(*SIZE)
        self._window.show()
        app.processEvents()

    def _plot_all(self, data: RunData, number: int) -> list[pg.PlotDataItem]:
        return [
            plot.plot(*curve_samples(data, curve), pen=pg.intColor(number, alpha=150))
            for plot, chart_id in zip(self._plots, DEFAULT_CHARTS, strict=True)
            for curve in CHARTS[chart_id].curves
        ]

    def show_runs(self, runs: Sequence[RunData]) -> None:
        for number, data in enumerate(runs):
            self._plot_all(data, number)
        self._app.processEvents()

    def begin(self, data: RunData) -> None:
        self._live = self._plot_all(data, 40)
        self._app.processEvents()

    def second(self, data: RunData) -> None:
        curves = [curve for chart_id in DEFAULT_CHARTS for curve in CHARTS[chart_id].curves]
        for item, curve in zip(self._live, curves, strict=True):
            item.setData(*curve_samples(data, curve))
        self._app.processEvents()

    def pan(self, start_s: float, end_s: float) -> None:
        self._plots[0].setXRange(start_s, end_s, padding=0)
        self._app.processEvents()

    def rest(self) -> None:
        self._app.processEvents()


def timed(action: Callable[[], None]) -> float:
    """Return how many ms an action takes."""
    began_s = time.perf_counter()
    action()
    return 1000 * (time.perf_counter() - began_s)


def measure(
    kind: str, folder: Path, runs: int, frames: int, repeats: int, *, days: bool
) -> dict[str, object]:
    """Measure one setting in this process."""
    app = QApplication([])
    paths = sorted(folder.glob("*.footing"))
    charts = Ours(app, repeats) if kind == "ours" else Plain(app)
    charts.show_runs([load_run_data(paths[-1])])
    if kind == "ours":
        charts.show_runs([])
    if days:
        template = load_run_data(paths[0])
        shown = [day_long(template, number) for number in range(runs)]
        live, span_s = day_long(template, runs), float(DAY_S)
        cpu_s = time.process_time()
        click_ms = timed(lambda: charts.show_runs(shown))
    else:
        live, span_s = load_run_data(paths[-1]), 3600.0
        cpu_s = time.process_time()
        click_ms = timed(
            lambda: charts.show_runs([load_run_data(paths[number % 12]) for number in range(runs)])
        )
    click_cpu_ms = 1000 * (time.process_time() - cpu_s)
    rss_mb = psutil.Process().memory_info().rss / 1e6
    prefetch(live, DEFAULT_CHARTS)
    begin_s = span_s / 2
    charts.begin(live.until(begin_s))
    looks = [live.until(begin_s + number) for number in range(1, frames + 1)]
    cpu_s = time.process_time()
    frame_ms = [timed(partial(charts.second, look)) for look in looks]
    frame_cpu_ms = 1000 * (time.process_time() - cpu_s) / frames
    charts.rest()
    pans = max(10, frames // 4)
    zoom_ms = timed(lambda: charts.pan(0.1 * span_s, 0.6 * span_s))
    shares = [0.002 * step for step in range(1, pans + 1)]
    pan_ms = [timed(partial(charts.pan, (0.1 + part) * span_s, (0.6 + part) * span_s)) for part in shares]
    charts.rest()
    return {
        "click": click_ms,
        "click_cpu": click_cpu_ms,
        "frame_cpu": frame_cpu_ms,
        "rss": rss_mb,
        "frame": statistics.median(frame_ms),
        "frame95": float(np.percentile(frame_ms, 95)),
        "frame_worst": max(frame_ms),
        "zoom": zoom_ms,
        "pan": statistics.median(pan_ms),
        "pan95": float(np.percentile(pan_ms, 95)),
    }


def run(kind: str, folder: Path, runs: int, frames: int, repeats: int, *, days: bool) -> dict[str, float]:
    """Measure one setting in a process of its own."""
    argv = [sys.executable, __file__, "--measure", kind, "--folder", str(folder)]
    argv += ["--runs", str(runs), "--frames", str(frames), "--repeats", str(repeats)] + (
        ["--days"] if days else []
    )
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def print_results(label: str, results: Sequence[dict[str, float]]) -> None:
    """Print the medians of several processes."""
    median = {name: statistics.median(result[name] for result in results) for name in results[0]}
    names = ("frame_cpu", "frame", "frame95", "frame_worst", "pan", "pan95", "zoom")
    milliseconds = "".join(f" {median[name]:8.1f}" for name in names)
    whole = "".join(f" {median[name]:8.0f}" for name in ("click_cpu", "click", "rss"))
    print(f"{label:34}{milliseconds}{whole}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a minute instead of several")
    parser.add_argument("--measure", choices=("ours", "plain"))
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--runs", type=int, default=12)
    parser.add_argument("--frames", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--days", action="store_true")
    given = parser.parse_args()
    if given.measure:
        found = measure(given.measure, given.folder, given.runs, given.frames, given.repeats, days=given.days)
        print(json.dumps(found))
        return
    rounds, frames = (1, 60) if given.quick else (3, 300)
    with tempfile.TemporaryDirectory(prefix="pgf-charts-", dir="/tmp") as name:
        folder = Path(name)
        for number in range(13):
            shape = Shape(3600, 3500.0 + 200 * number, number + 1, 300, (600 + 30 * number, 6))
            write_run(folder / f"{number:02}.footing", shape, f"configuration {number % 4} #{number // 4}")
        print(f"offscreen {SIZE[0]}x{SIZE[1]}, 3 charts, ms and MB")
        print(f"medians of {rounds} process(es) with {frames} frames each")
        columns = ("CPU", "frame", "p95", "worst", "pan", "p95", "zoom", "CPU", "click", "RSS")
        print(f"{'':34}" + "".join(f" {column:>8}" for column in columns))
        settings = [
            ("12 runs of an hour", 12, 1, False),
            ("60 runs of an hour in 12 bands", 60, 5, False),
            ("20 runs of a day", 20, 1, True),
        ]
        for label, runs, repeats, days in settings:
            ours, plain = [], []
            for _ in range(rounds):
                ours.append(run("ours", folder, runs, frames, repeats, days=days))
                few = max(10, frames // (20 if days else 5))
                plain.append(run("plain", folder, runs, few, 1, days=days))
            print_results(f"{label}, ours", ours)
            print_results(f"{label}, plain pyqtgraph", plain)


if __name__ == "__main__":
    main()
