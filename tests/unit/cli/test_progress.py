from __future__ import annotations

import errno
import io
import json
import time

import pytest
from rich.console import Console
from typing_extensions import override

from app.cli.terminal.progress import Progress, _second_words, result_words
from app.domain.campaign.configuration import Configuration, MemoryTarget, PlannedRun, ServerTarget
from app.domain.errors import ServerError
from app.domain.run import Phase, RunState
from app.recording.events import CampaignListener, ProgressReport, RunResult

PLANNED = PlannedRun(2, Configuration("zfs \x1b[2J[red]", MemoryTarget()), 1, 7)
SECOND = ProgressReport(Phase.MEASURE, 12.4, 3546.2, 0.564, 3.321)
DONE = RunResult(
    PLANNED, RunState.DONE, "/x.footing", {"tps": 3546.2, "latency_p99_ms": 3.321}, (("unsafe", "y"),)
)
FAILED = RunResult(PLANNED, RunState.FAILED, "/x.footing", {}, error=ServerError("it died\x07"))


def report_everything(listener: CampaignListener) -> None:
    """A campaign as a runner tells it."""
    listener.campaign_started("/library/a", 6)
    listener.reported("warning", "others work\x1b]0;x\x07")
    listener.run_started(PLANNED, "/x.footing")
    listener.phase_started(Phase.LOAD, None)
    listener.phase_started(Phase.MEASURE, 60.0)
    listener.second(SECOND)
    listener.run_finished(DONE)
    listener.run_finished(FAILED)


def test_plain_lines_say_run_phase_and_result() -> None:
    stream = io.StringIO()
    report_everything(Progress(stream))
    lines = stream.getvalue().splitlines()
    assert lines[0] == "campaign folder: /library/a"
    assert "run 2 of 6: zfs \\x1b[2J[red], repeat 2" in lines
    assert "  loading the data" in lines
    assert "  measuring (01:00)" in lines
    assert lines[-2:] == ["  3,546 TPS, p99 3.32 ms [unsafe]", "  failed: it died\\x07"]


def test_plain_seconds_come_every_tenth_second(monkeypatch: pytest.MonkeyPatch) -> None:
    stream, now_s = io.StringIO(), 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now_s)
    progress = Progress(stream)
    progress.phase_started(Phase.MEASURE, None)
    for _ in range(30):
        now_s += 1.0
        progress.second(SECOND)
    assert stream.getvalue().count("3,546 TPS   latency mean 0.564 ms   p99 3.32 ms") == 3


def test_json_lines_valid_for_any_figures() -> None:
    stream = io.StringIO()
    progress = Progress(stream, "json")
    report_everything(progress)
    progress.second(ProgressReport(Phase.MEASURE, 1.0, float("nan"), float("inf"), None))
    events = [json.loads(line, parse_constant=pytest.fail) for line in stream.getvalue().splitlines()]
    assert [event["event"] for event in events] == [
        "campaign", "told", "run", "phase", "phase", "second", "finished", "finished", "second",
    ]  # fmt: skip
    assert events[5]["tps"] == 3546.2
    assert events[6]["state"] == "done"
    assert events[7]["error"] == "server"
    assert events[8]["tps"] is None
    assert "\x9b" not in stream.getvalue()


def terminal(width: int) -> Console:
    return Console(file=io.StringIO(), width=width, height=20, force_terminal=True, color_system=None)


@pytest.mark.parametrize("width", [40, 80, 120])
def test_the_display_fits_the_terminal(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    console = terminal(width)
    progress = Progress(io.StringIO(), console=console)
    progress._total = 6
    progress.run_started(PLANNED, "/x.footing")
    monkeypatch.setattr(time, "monotonic", lambda: 100.0)
    progress._phase, progress._planned_s, progress._phase_started_s = Phase.MEASURE, 60.0, 70.0
    progress._words = _second_words(SECOND)
    with console.capture() as capture:
        console.print(progress._render())
    lines = capture.get().splitlines()
    assert all(len(line) <= width for line in lines)
    assert lines[0].startswith("run 2 of 6: zfs \\x1b[2J[red]")
    assert "00:30 / 01:00" in capture.get()
    assert "3,546 TPS" in capture.get()


def test_terminal_results_and_restore() -> None:
    console = terminal(80)
    progress = Progress(io.StringIO(), console=console)
    report_everything(progress)
    progress.close()
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    assert "✔ run 2 of 6" in shown
    assert "✘ run 2 of 6" in shown
    assert "\x1b]0;" not in shown
    assert "\x07" not in shown
    assert not progress._clock.is_alive()
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l")  # the cursor is visible again


def test_clock_of_long_phase_redrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.cli.terminal.progress._REDRAW_S", 0.001)
    progress = Progress(io.StringIO(), console=terminal(80))
    drawn = []

    def draw(self: Progress) -> None:
        drawn.append(1)
        self._closing.set()

    monkeypatch.setattr(Progress, "_draw", draw)
    progress._keep_time()
    assert drawn == [1]


class Gone(io.StringIO):
    """A stream whose reader has left after the first line."""

    error = errno.EPIPE

    @override
    def write(self, text: str, /) -> int:
        if self.getvalue():
            raise OSError(self.error, "")
        return super().write(text)


@pytest.mark.parametrize("mode", ["auto", "json"])
def test_a_reader_that_leaves(mode: str) -> None:
    stream = Gone()
    progress = Progress(stream, mode)
    report_everything(progress)
    assert isinstance(progress.lost, BrokenPipeError)
    assert stream.getvalue().count("\n") == 1
    progress.close()


def test_a_terminal_that_is_gone() -> None:
    stream = Gone()
    stream.error = errno.EIO
    progress = Progress(stream, console=Console(file=stream, force_terminal=True, color_system=None))
    report_everything(progress)
    assert isinstance(progress.lost, OSError)
    assert progress.lost.errno == errno.EIO
    progress.close()


def test_no_progress() -> None:
    stream = io.StringIO()
    report_everything(Progress(stream, "none"))
    assert stream.getvalue() == ""


def test_stopped_run_words() -> None:
    stopped = RunResult(PLANNED, RunState.STOPPED, "/x", {})
    assert result_words(stopped) == "stopped, nothing measured yet"
    measured = RunResult(PLANNED, RunState.STOPPED, "/x", {"tps": 12.0})
    assert result_words(measured) == "stopped, 12 TPS"


def test_running_server_database_created_and_dropped() -> None:
    stream = io.StringIO()
    listener = Progress(stream)
    there = Configuration("volume", ServerTarget("host=db.example"))
    listener.run_started(PlannedRun(1, there, 0, 7), "/x.footing")
    for phase in (Phase.INITDB, Phase.TEARDOWN):
        listener.phase_started(phase, None)
    lines = stream.getvalue().splitlines()[1:]
    assert lines == ["  creating pgFooting's database", "  dropping pgFooting's database"]
