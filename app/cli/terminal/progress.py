"""Listeners that show a campaign: on a terminal, as plain lines, as JSON lines."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final, TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text
from typing_extensions import override

from app.analysis.labels import DISK_MARKS
from app.cli.terminal.plain_text import json_text, plain
from app.cli.terminal.tables import print_line
from app.domain.campaign.configuration import PlannedRun, ServerTarget
from app.domain.text import number_text, tr
from app.domain.units import format_duration
from app.export.runs import finite
from app.recording.events import CampaignListener, NullListener, ProgressReport, RunResult
from app.runfile.writer import Json, Phase, RunState

if TYPE_CHECKING:
    from collections.abc import Mapping

_PLAIN_EVERY_S: Final = 10.0
_REDRAW_S: Final = 1.2
"""A little more than the second in which pgbench reports, so that it is not drawn twice."""


def phase_words(phase: Phase, planned: PlannedRun | None) -> str:
    """Return what a phase of a run does, in words for people."""
    if planned is not None and isinstance(planned.configuration.target, ServerTarget):
        # Nobody should have to fear for a server of his.
        if phase is Phase.INITDB:
            return tr("making pgFooting's database")
        if phase is Phase.TEARDOWN:
            return tr("dropping pgFooting's database")
    words: Mapping[Phase, str] = {
        Phase.BASELINE: tr("asking the storage what it can do"),
        Phase.PREPARE: tr("checking and preparing"),
        Phase.INITDB: tr("making the database cluster"),
        Phase.LOAD: tr("loading the data"),
        Phase.SETTLE: tr("vacuum and checkpoint"),
        Phase.WARM_UP: tr("warming up"),
        Phase.MAINTENANCE: tr("maintenance before a phase"),
        Phase.PART: tr("measuring"),
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
        figures = tr("{tps} TPS").format(tps=number_text(tps, ",.0f"))
        if p99 is not None:
            figures += ", " + tr("p99 {p99} ms").format(p99=number_text(p99, ".3g"))
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


class PlainProgress(NullListener):
    """Plain lines for pipes and log files: phases, every tenth second, results."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._total = 0
        self._run: PlannedRun | None = None
        self._last_line_s = 0.0
        self._step = ""

    def _line(self, text: str) -> None:
        self._stream.write(plain(text) + "\n")
        self._stream.flush()

    @override
    def campaign_started(self, folder: str, total: int) -> None:
        self._total = total
        self._line(tr("campaign folder: {folder}").format(folder=folder))

    @override
    def run_started(self, planned: PlannedRun, path: str) -> None:
        self._run = planned
        self._line(run_words(planned, self._total))

    @override
    def phase_started(self, phase: Phase, planned_s: float | None) -> None:
        length = f" ({format_duration(planned_s)})" if planned_s else ""
        self._line(f"  {phase_words(phase, self._run)}{length}")
        self._last_line_s = time.monotonic()

    @override
    def second(self, second: ProgressReport) -> None:
        if time.monotonic() - self._last_line_s >= _PLAIN_EVERY_S:
            self._last_line_s = time.monotonic()
            self._line(f"    {format_duration(second.elapsed_s)}  {_second_words(second)}")

    @override
    def told(self, kind: str, message: str) -> None:
        self._line(f"  {kind}: {message}")

    @override
    def step(self, text: str, fraction: float | None) -> None:
        if text != self._step or time.monotonic() - self._last_line_s >= _PLAIN_EVERY_S:
            self._step, self._last_line_s = text, time.monotonic()
            self._line(f"    {_step_words(text, fraction)}")

    @override
    def run_finished(self, result: RunResult) -> None:
        self._line(f"  {result_words(result)}")


class JsonProgress(NullListener):
    """One JSON object a line, for programs."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def _object(self, event: str, **values: Json) -> None:
        text = json.dumps(finite({"event": event, **values}), ensure_ascii=False, allow_nan=False)
        self._stream.write(json_text(text) + "\n")
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
    def second(self, second: ProgressReport) -> None:
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
    def step(self, text: str, fraction: float | None) -> None:
        self._object("step", text=text, fraction=fraction)

    @override
    def run_finished(self, result: RunResult) -> None:
        self._object(
            "finished",
            number=result.planned.number,
            state=result.state.value,
            path=result.path,
            tps=result.summary.get("tps"),
            error=result.error.code if result.error else None,
            message=result.error.message if result.error else None,
            hint=result.error.hint if result.error else None,
        )


class TerminalProgress(NullListener):
    """A live display of three lines on a terminal; finished runs scroll away above it.

    Redrawn with every second that pgbench reports, and once a second by a thread while it reports none:
    loading takes minutes, in which a clock that stands still would look like a program that hangs.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._total = 0
        self._run: PlannedRun | None = None
        self._phase = Phase.PREPARE
        self._phase_started_s = 0.0
        self._planned_s: float | None = None
        self._second: ProgressReport | None = None
        self._step = ""
        self._shown_s = 0.0
        self._closing = threading.Event()
        self._clock = threading.Thread(target=self._keep_time, name="progress", daemon=True)

    def close(self) -> None:
        """Give the terminal back."""
        self._closing.set()
        if self._clock.ident is not None:
            self._clock.join()
        self._live.stop()

    def _keep_time(self) -> None:
        with suppress(OSError, ValueError):  # the terminal is gone
            while not self._closing.wait(_REDRAW_S):
                if time.monotonic() - self._shown_s >= _REDRAW_S:
                    self._show()

    @override
    def campaign_started(self, folder: str, total: int) -> None:
        self._total = total
        print_line(self._console, tr("Run files go to {folder}").format(folder=folder))
        self._live.start()
        self._clock.start()

    @override
    def run_started(self, planned: PlannedRun, path: str) -> None:
        self._run, self._second = planned, None

    @override
    def phase_started(self, phase: Phase, planned_s: float | None) -> None:
        self._phase, self._planned_s, self._phase_started_s = phase, planned_s, time.monotonic()
        self._second, self._step = None, ""
        self._show()

    @override
    def second(self, second: ProgressReport) -> None:
        self._second = second
        self._show()

    @override
    def told(self, kind: str, message: str) -> None:
        print_line(self._console, f"{kind}: {message}", style="red" if kind in DISK_MARKS else "yellow")

    @override
    def step(self, text: str, fraction: float | None) -> None:
        self._step = _step_words(text, fraction)
        self._show()

    @override
    def run_finished(self, result: RunResult) -> None:
        good = result.state is RunState.DONE
        line = Text("✔ " if good else "✘ ", style="green" if good else "red")
        line.append(plain(run_words(result.planned, self._total)), style="default")
        line.append(plain("  " + result_words(result)), style="bold" if good else "red")
        self._console.print(line, soft_wrap=True)

    def _show(self) -> None:
        self._shown_s = time.monotonic()
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
        row.add_row(
            Text(phase_words(self._phase, self._run)), bar if self._planned_s else Text(""), Text(clock)
        )
        title = Text(
            plain(run_words(self._run, self._total)), style="bold", no_wrap=True, overflow="ellipsis"
        )
        words = _second_words(self._second) if self._second else self._step
        figures = Text(plain(words), style="cyan", no_wrap=True, overflow="ellipsis")
        return Group(title, row, figures)


def _step_words(text: str, fraction: float | None) -> str:
    return text if fraction is None else f"{text}  {100 * fraction:.0f} %"


def _second_words(second: ProgressReport) -> str:
    words = tr("{tps} TPS   latency mean {mean} ms").format(
        tps=number_text(second.tps, ",.0f"), mean=number_text(second.latency_mean_ms, ".3g")
    )
    return words if second.p99_ms is None else words + f"   p99 {number_text(second.p99_ms, '.3g')} ms"


class BrokenPipeGuard:
    """Passes everything on until nobody can take it any more; a lost reader costs no measurement.

    The run goes on when standard output is closed (``| head``, a terminal that is gone, a full disk): what
    counts is in the run files. Whoever wants to stop it sends SIGINT, SIGTERM or SIGHUP.

    Attributes:
        lost: why nothing is passed on; None while everything is.
    """

    def __init__(self, listener: CampaignListener) -> None:
        self.lost: OSError | ValueError | None = None
        self._listener = listener

    def _pass(self, tell: Callable[[CampaignListener], None]) -> None:
        if self.lost is None:
            try:
                tell(self._listener)
            except (OSError, ValueError) as error:  # ValueError: the stream is closed
                self.lost = error

    def campaign_started(self, folder: str, total: int) -> None:
        """Pass it on."""
        self._pass(lambda listener: listener.campaign_started(folder, total))

    def run_started(self, planned: PlannedRun, path: str) -> None:
        """Pass it on."""
        self._pass(lambda listener: listener.run_started(planned, path))

    def phase_started(self, phase: Phase, planned_s: float | None) -> None:
        """Pass it on."""
        self._pass(lambda listener: listener.phase_started(phase, planned_s))

    def second(self, second: ProgressReport) -> None:
        """Pass it on."""
        self._pass(lambda listener: listener.second(second))

    def told(self, kind: str, message: str) -> None:
        """Pass it on."""
        self._pass(lambda listener: listener.told(kind, message))

    def step(self, text: str, fraction: float | None) -> None:
        """Pass it on."""
        self._pass(lambda listener: listener.step(text, fraction))

    def run_finished(self, result: RunResult) -> None:
        """Pass it on."""
        self._pass(lambda listener: listener.run_finished(result))

    def close(self) -> None:
        """Give a terminal back, also one that is gone."""
        if isinstance(self._listener, TerminalProgress):
            with suppress(OSError, ValueError):
                self._listener.close()


def choose_listener(mode: str, stream: TextIO) -> CampaignListener:
    """Return the listener for ``--progress``: auto (terminal or pipe), json, none."""
    if mode == "none":
        return NullListener()
    if mode == "json":
        return JsonProgress(stream)
    if stream.isatty():
        return TerminalProgress(Console(file=stream))
    return PlainProgress(stream)
