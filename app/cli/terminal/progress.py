"""Show a running campaign: on a terminal, as plain lines, as JSON lines."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text
from typing_extensions import override

from app.analysis.labels import DISK_MARKS
from app.cli.terminal.tables import print_line
from app.domain.campaign.configuration import PlannedRun, ServerTarget
from app.domain.json_value import Json
from app.domain.run import Phase, RunState
from app.domain.text import format_duration, number_text, tr
from app.export.runs import finite
from app.recording.events import CampaignListener, ProgressReport, RunResult
from app.terminal.plain_text import json_text, plain

if TYPE_CHECKING:
    from collections.abc import Mapping

_PLAIN_EVERY_S: Final = 10.0
_REDRAW_S: Final = 1.2
"""Slightly longer than pgbench's reporting interval of a second, to avoid drawing twice."""


def phase_words(phase: Phase, planned: PlannedRun | None) -> str:
    """Return the name of a run's phase for users."""
    if planned is not None and isinstance(planned.configuration.target, ServerTarget):
        # Words that cannot worry the owner of an existing server.
        if phase is Phase.INITDB:
            return tr("creating pgFooting's database")
        if phase is Phase.TEARDOWN:
            return tr("dropping pgFooting's database")
    words: Mapping[Phase, str] = {
        Phase.BASELINE: tr("fio and pg_test_fsync benchmark the raw storage"),
        Phase.PREPARE: tr("checking and preparing"),
        Phase.INITDB: tr("creating the database cluster"),
        Phase.LOAD: tr("loading the data"),
        Phase.SETTLE: tr("vacuum and checkpoint"),
        Phase.WARM_UP: tr("warming up"),
        Phase.MAINTENANCE: tr("maintenance before a phase"),
        Phase.PART: tr("measuring"),
        Phase.MEASURE: tr("measuring"),
        Phase.COLLECT: tr("collecting facts and figures"),
        Phase.TEARDOWN: tr("stopping the server and removing its data"),
    }
    return words[phase]


def result_words(result: RunResult) -> str:
    """Return how a run ended, in one line."""
    tps, p99 = result.summary.get("tps"), result.summary.get("latency_p99_ms")
    figures = ""
    if tps is not None:
        figures = f"{number_text(tps, ',.0f')} TPS"
        if p99 is not None:
            figures += ", " + f"p99 {number_text(p99, '.3g')} ms"
    marks = ", ".join(sorted({kind for kind, _ in result.marks}))
    if result.state is RunState.DONE:
        return f"{figures} [{marks}]" if marks else figures
    if result.error is not None:
        return tr("failed: {reason}").format(reason=result.error.message)
    return tr("stopped, {figures}").format(figures=figures or tr("nothing measured yet"))


def run_words(planned: PlannedRun, total: int) -> str:
    """Return a run's number, configuration and repeat."""
    return tr("run {number} of {total}: {name}, repeat {repeat}").format(
        number=planned.number, total=total, name=planned.configuration.name, repeat=planned.repeat + 1
    )


class Progress(CampaignListener):
    """Shows a campaign on a terminal, as plain lines in a pipe, or as one JSON object per line for programs.

    On a terminal three lines are redrawn with every second that pgbench reports, and otherwise once a second
    by a thread: loading takes minutes, and a stopped clock would look like a hanging program.

    The run continues when standard output is closed (``| head``, a lost terminal, a full disk): the run files
    matter. SIGINT, SIGTERM and SIGHUP stop it.

    Attributes:
        lost: why the output has stopped; None while it works.
    """

    def __init__(self, stream: TextIO, mode: str = "auto", console: Console | None = None) -> None:
        """Prepare the output.

        Args:
            stream: destination.
            mode: ``--progress``: auto (terminal or pipe), json, none.
            console: of the terminal; by default one on `stream` if that is a terminal.
        """
        self.lost: OSError | ValueError | None = None
        self._stream, self._mode = stream, mode
        if console is None and mode == "auto" and stream.isatty():
            console = Console(file=stream)
        self._live = Live(console=console, auto_refresh=False, transient=True) if console else None
        self._total = 0
        self._run: PlannedRun | None = None
        self._phase = Phase.PREPARE
        self._phase_started_s = self._shown_s = 0.0
        self._planned_s: float | None = None
        self._step = self._words = ""
        self._closing = threading.Event()
        self._clock = threading.Thread(target=self._keep_time, name="progress", daemon=True)

    def close(self) -> None:
        """Release the terminal, even a lost one."""
        self._closing.set()
        if self._clock.ident is not None:
            self._clock.join()
        if self._live is not None:
            with suppress(OSError, ValueError):
                self._live.stop()

    def _keep_time(self) -> None:
        while not self._closing.wait(_REDRAW_S):
            if time.monotonic() - self._shown_s >= _REDRAW_S:
                self._draw()

    @contextmanager
    def _unless_lost(self) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError) as error:  # ValueError: the stream is closed
            self.lost = error

    def _show(self, event: str, line: str = "", style: str | None = None, **values: Json) -> None:
        """Write an object for programs, a line in a pipe; on a terminal only a line with a style."""
        if self.lost is not None or self._mode == "none":
            return
        with self._unless_lost():
            if self._mode == "json":
                text = json.dumps(finite({"event": event, **values}), ensure_ascii=False, allow_nan=False)
                self._stream.write(json_text(text) + "\n")
                self._stream.flush()
            elif self._live is None and line:
                self._stream.write(plain(line) + "\n")
                self._stream.flush()
            elif self._live is not None and style is not None:
                print_line(self._live.console, line.strip(), style=style)

    def _show_words(self, event: str, words: str, *, at_once: bool, **values: Json) -> None:
        """Show the current activity of a phase: in a pipe every tenth second, or at once."""
        self._words = words
        now_s, line = time.monotonic(), ""
        if at_once or now_s - self._shown_s >= _PLAIN_EVERY_S:
            line = f"    {words}"
            if self._live is None:
                self._shown_s = now_s
        self._show(event, line, None, **values)
        self._draw()

    @override
    def campaign_started(self, folder: str, total: int) -> None:
        self._total = total
        line = tr("campaign folder: {folder}").format(folder=folder)
        self._show("campaign", line, style="", folder=folder, runs=total)
        if self._live is not None:
            with self._unless_lost():
                self._live.start()
            self._clock.start()

    @override
    def run_started(self, planned: PlannedRun, path: str) -> None:
        self._run, self._words = planned, ""
        name, repeat = planned.configuration.name, planned.repeat
        line = run_words(planned, self._total)
        self._show("run", line, number=planned.number, configuration=name, repeat=repeat, path=path)

    @override
    def phase_started(self, phase: Phase, planned_s: float | None) -> None:
        self._phase, self._planned_s, self._words = phase, planned_s, ""
        self._phase_started_s = self._shown_s = time.monotonic()
        length = f" ({format_duration(planned_s)})" if planned_s else ""
        self._show(
            "phase", f"  {phase_words(phase, self._run)}{length}", phase=phase.value, planned_s=planned_s
        )
        self._draw()

    @override
    def second(self, second: ProgressReport) -> None:
        words = _second_words(second)
        if self._live is None:
            words = f"{format_duration(second.elapsed_s)}  {words}"
        self._show_words(
            "second",
            words,
            at_once=False,
            phase=second.phase.value,
            elapsed_s=round(second.elapsed_s, 3),
            tps=second.tps,
            latency_mean_ms=second.latency_mean_ms,
            p99_ms=second.p99_ms,
        )

    @override
    def reported(self, kind: str, message: str) -> None:
        style = "red" if kind in DISK_MARKS else "yellow"
        self._show("told", f"  {kind}: {message}", style, kind=kind, message=message)

    @override
    def step(self, text: str, fraction: float | None) -> None:
        words = text if fraction is None else f"{text}  {100 * fraction:.0f} %"
        at_once = text != self._step
        self._step = text
        self._show_words("step", words, at_once=at_once, text=text, fraction=fraction)

    @override
    def run_finished(self, result: RunResult) -> None:
        error, words = result.error, result_words(result)
        self._show(
            "finished",
            f"  {words}",
            number=result.planned.number,
            state=result.state.value,
            path=result.path,
            tps=result.summary.get("tps"),
            error=error.code if error else None,
            message=error.message if error else None,
            hint=error.hint if error else None,
        )
        if self._live is not None and self.lost is None:
            good = result.state is RunState.DONE
            line = Text("✔ " if good else "✘ ", style="green" if good else "red")
            line.append(plain(run_words(result.planned, self._total)), style="default")
            line.append(plain("  " + words), style="bold" if good else "red")
            with self._unless_lost():
                self._live.console.print(line, soft_wrap=True)

    def _draw(self) -> None:
        if self._live is not None and self.lost is None:
            self._shown_s = time.monotonic()
            with self._unless_lost():
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
        figures = Text(plain(self._words), style="cyan", no_wrap=True, overflow="ellipsis")
        return Group(title, row, figures)


def _second_words(second: ProgressReport) -> str:
    words = tr("{tps} TPS   latency mean {mean} ms").format(
        tps=number_text(second.tps, ",.0f"), mean=number_text(second.latency_mean_ms, ".3g")
    )
    return words if second.p99_ms is None else words + f"   p99 {number_text(second.p99_ms, '.3g')} ms"
