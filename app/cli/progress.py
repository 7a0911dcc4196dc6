"""Listeners that show a campaign: on a terminal, as plain lines, as JSON lines."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Final, TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text
from typing_extensions import override

from app.domain.configuration import PlannedRun
from app.domain.text import tr
from app.domain.units import format_duration
from app.runs.progress import Listener, RunResult, Second, Silence
from app.runs.runfile import Phase, RunState

if TYPE_CHECKING:
    from collections.abc import Mapping

_PLAIN_EVERY_S: Final = 10.0


def phase_words(phase: Phase) -> str:
    """Return what a phase does, in words for people."""
    words: Mapping[Phase, str] = {
        Phase.PREPARE: tr("checking and preparing"),
        Phase.INITDB: tr("making the database cluster"),
        Phase.LOAD: tr("loading the data"),
        Phase.SETTLE: tr("vacuum and checkpoint"),
        Phase.WARM_UP: tr("warming up"),
        Phase.MEASURE: tr("measuring"),
        Phase.COLLECT: tr("collecting"),
        Phase.TEARDOWN: tr("removing server and data"),
    }
    return words[phase]


def result_words(result: RunResult) -> str:
    """Return how a run ended, in one line."""
    tps, p99 = result.summary.get("tps"), result.summary.get("latency_p99_ms")
    figures = ""
    if tps is not None:
        figures = tr("{tps} TPS").format(tps=f"{tps:,.0f}")
        if p99 is not None:
            figures += ", " + tr("p99 {p99} ms").format(p99=f"{p99:.3g}")
    marks = ", ".join(sorted({kind for kind, _ in result.marks}))
    if result.state is RunState.DONE:
        return f"{figures} [{marks}]" if marks else figures
    if result.error is not None:
        return tr("failed: {reason}").format(reason=result.error.message)
    return tr("stopped, {figures}").format(figures=figures or tr("nothing measured yet"))


def run_words(planned: PlannedRun, total: int) -> str:
    """Return which run this is: its place, configuration and repeat."""
    return tr("run {number} of {total}: {name}, repeat {repeat}").format(
        number=planned.number, total=total, name=planned.configuration.name, repeat=planned.repeat + 1
    )


class PlainProgress(Silence):
    """Plain lines for pipes and log files: phases, every tenth second, results."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._total = 0
        self._last_line_s = 0.0

    def _line(self, text: str) -> None:
        self._stream.write(text + "\n")
        self._stream.flush()

    @override
    def campaign_started(self, folder: str, total: int) -> None:
        self._total = total
        self._line(tr("campaign folder: {folder}").format(folder=folder))

    @override
    def run_started(self, planned: PlannedRun, path: str) -> None:
        self._line(run_words(planned, self._total))

    @override
    def phase_started(self, phase: Phase, planned_s: float | None) -> None:
        length = f" ({format_duration(planned_s)})" if planned_s else ""
        self._line(f"  {phase_words(phase)}{length}")
        self._last_line_s = time.monotonic()

    @override
    def second(self, second: Second) -> None:
        if time.monotonic() - self._last_line_s >= _PLAIN_EVERY_S:
            self._last_line_s = time.monotonic()
            self._line(f"    {format_duration(second.elapsed_s)}  {_second_words(second)}")

    @override
    def told(self, kind: str, message: str) -> None:
        self._line(f"  {kind}: {message}")

    @override
    def run_finished(self, result: RunResult) -> None:
        self._line(f"  {result_words(result)}")


class JsonProgress(Silence):
    """One JSON object a line, for programs."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def _object(self, event: str, **values: object) -> None:
        self._stream.write(json.dumps({"event": event, **values}, ensure_ascii=False) + "\n")
        self._stream.flush()

    @override
    def campaign_started(self, folder: str, total: int) -> None:
        self._object("campaign", folder=folder, runs=total)

    @override
    def run_started(self, planned: PlannedRun, path: str) -> None:
        self._object(
            "run",
            number=planned.number,
            configuration=planned.configuration.name,
            repeat=planned.repeat,
            path=path,
        )

    @override
    def phase_started(self, phase: Phase, planned_s: float | None) -> None:
        self._object("phase", phase=phase.value, planned_s=planned_s)

    @override
    def second(self, second: Second) -> None:
        self._object(
            "second",
            phase=second.phase.value,
            elapsed_s=round(second.elapsed_s, 3),
            tps=second.tps,
            latency_mean_ms=second.latency_mean_ms,
            p99_ms=second.p99_ms,
        )

    @override
    def told(self, kind: str, message: str) -> None:
        self._object("told", kind=kind, message=message)

    @override
    def run_finished(self, result: RunResult) -> None:
        self._object(
            "finished",
            number=result.planned.number,
            state=result.state.value,
            path=result.path,
            tps=result.summary.get("tps"),
            error=result.error.code if result.error else None,
        )


class TerminalProgress(Silence):
    """A live display of four lines on a terminal; finished runs scroll away above it."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._total = 0
        self._run: PlannedRun | None = None
        self._phase = Phase.PREPARE
        self._phase_started_s = 0.0
        self._planned_s: float | None = None
        self._second: Second | None = None

    def close(self) -> None:
        """Give the terminal back."""
        self._live.stop()

    @override
    def campaign_started(self, folder: str, total: int) -> None:
        self._total = total
        self._console.print(tr("Run files go to {folder}").format(folder=escape(folder)), soft_wrap=True)
        self._live.start()

    @override
    def run_started(self, planned: PlannedRun, path: str) -> None:
        self._run, self._second = planned, None

    @override
    def phase_started(self, phase: Phase, planned_s: float | None) -> None:
        self._phase, self._planned_s, self._phase_started_s = phase, planned_s, time.monotonic()
        self._second = None
        self._show()

    @override
    def second(self, second: Second) -> None:
        self._second = second
        self._show()

    @override
    def told(self, kind: str, message: str) -> None:
        self._console.print(Text(f"{kind}: {message}", style="yellow"), soft_wrap=True)

    @override
    def run_finished(self, result: RunResult) -> None:
        good = result.state is RunState.DONE
        line = Text("✔ " if good else "✘ ", style="green" if good else "red")
        line.append(run_words(result.planned, self._total), style="default")
        line.append("  " + result_words(result), style="bold" if good else "red")
        self._console.print(line, soft_wrap=True)

    def _show(self) -> None:
        self._live.update(self._render(), refresh=True)

    def _render(self) -> RenderableType:
        if self._run is None:
            return Text("")
        elapsed = time.monotonic() - self._phase_started_s
        row = Table.grid(padding=(0, 2))
        clock = format_duration(elapsed)
        if self._planned_s:
            clock += f" / {format_duration(self._planned_s)}"
        bar = ProgressBar(total=self._planned_s or None, completed=elapsed, width=30, pulse=False)
        row.add_row(Text(phase_words(self._phase)), bar if self._planned_s else Text(""), Text(clock))
        title = Text(run_words(self._run, self._total), style="bold")
        figures = Text(_second_words(self._second) if self._second else "", style="cyan")
        return Group(title, row, figures)


def _second_words(second: Second) -> str:
    words = tr("{tps} TPS   latency mean {mean} ms").format(
        tps=f"{second.tps:,.0f}", mean=f"{second.latency_mean_ms:.3g}"
    )
    return words if second.p99_ms is None else words + f"   p99 {second.p99_ms:.3g} ms"


def choose_listener(mode: str, stream: TextIO) -> Listener:
    """Return the listener for ``--progress``: auto (terminal or pipe), json, none."""
    if mode == "none":
        return Silence()
    if mode == "json":
        return JsonProgress(stream)
    if stream.isatty():
        return TerminalProgress(Console(file=stream))
    return PlainProgress(stream)
