"""The live page: large numbers, phases, charts, command and log of a current or replayed run.

Polls a source outside of the GUI thread, one poll at a time. Also announces each phase, each end, and figures
now and then to screen readers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from PySide6.QtCore import QObject, QSettings, QSize, Qt, QTimer, Signal, SignalInstance
from PySide6.QtGui import QHideEvent, QKeySequence, QShortcut, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QPlainTextEdit, QPushButton, QStackedWidget, QVBoxLayout, QWidget
from typing_extensions import override

from app.analysis.labels import one_line
from app.domain.errors import FootingError
from app.domain.run import Phase, RunState
from app.domain.text import format_duration, titled, tr
from app.execution.control import Request, send_request
from app.live.campaign_follower import CampaignFollower, LiveSource, LiveState, SingleRun
from app.live.snapshot import LiveNumbers, LogLine, ReplaySource, RunSnapshot, RunSource
from ui.background import BackgroundOp
from ui.charts.data.registry import CHARTS, DEFAULT_CHARTS, PERCENTILE
from ui.charts.stack.chart_window import open_chart_window
from ui.charts.stack.stack import ChartStack
from ui.live.chart_feed import ChartFeed
from ui.live.header import (
    Banner,
    Header,
    PhaseBar,
    StopDialog,
    ask_how_to_stop,
    banner_text,
    join_problems,
    run_problem,
    usual_lengths,
)
from ui.live.number_tiles import BigNumbers, shown_numbers
from ui.live.presentation_window import TalkWindow
from ui.live.replay_bar import ReplayBar
from ui.live.words import (
    NOTHING,
    PHASE_NAMES,
    awaited_words,
    campaign_words,
    clock_words,
    format_number,
    format_rate,
    signed_clock,
)
from ui.theme import MEDIUM, SMALL, Theme
from ui.widgets.layouts import fill
from ui.widgets.texts import ElidedLabel, announce, announce_change, is_listened_to

EVERY_S: Final = 60.0
"""Seconds between announcements of figures: the listener does something else in between."""


class Announcer:
    """Announce changes: a start, an end, or figures after a while."""

    def __init__(self, speak: Callable[[str], None], clock_s: Callable[[], float] = time.monotonic) -> None:
        """Create an announcer without history.

        Args:
            speak: called with each sentence.
            clock_s: the listener's clock: a fast replay is not announced more often.
        """
        self._speak = speak
        self._clock_s = clock_s
        self._shown_s = -EVERY_S
        self._announced: tuple[Path, str, bool, bool] | None = None
        self._figures = ""

    def follow(self, watched: LiveState) -> None:
        """Announce changes, if any."""
        run = watched.run
        if run is None:
            return
        stage = run.data.path, PHASE_NAMES[run.phase] + run.phase_label, run.finished, watched.ended
        if stage != self._announced:
            self._announced = stage
            self._announce(" ".join(filter(None, (_stage_words(run), _end_words(watched)))))
        elif not run.finished and self._clock_s() >= self._shown_s + EVERY_S:
            figures = figures_words(run)
            if figures != self._figures:  # a paused replay has nothing to announce
                self._figures = figures
                self._announce(figures)

    def _announce(self, sentence: str) -> None:
        self._shown_s = self._clock_s()
        self._speak(sentence)


def figures_words(run: RunSnapshot) -> str:
    """Return phase, clock and newest figures of a current run, in a sentence."""
    phase = f"{_phase_of(run)}, {clock_words(run.phase_elapsed_s, run.phase_planned_s)}."
    return " ".join((phase, *_figures(run.numbers)))


def _figures(numbers: LiveNumbers) -> Iterator[str]:
    if numbers.tps is not None:
        yield f"{format_rate(numbers.tps)} " + tr("transactions per second") + "."
    if numbers.p99_ms is not None:
        yield tr("99th percentile {latency} ms.").format(latency=format_number(numbers.p99_ms))


def _phase_of(run: RunSnapshot) -> str:
    name = PHASE_NAMES[run.phase]
    return f"{name}, {one_line(run.phase_label)}" if run.phase_label and run.phase is Phase.PART else name


def _stage_words(run: RunSnapshot) -> str:
    name = one_line(run.data.name)
    if not run.finished:
        if run.phase_planned_s is None:
            return f"{name}: {_phase_of(run)}."
        planned = format_duration(run.phase_planned_s)
        return tr("{run}: {phase}, for {time}.").format(run=name, phase=_phase_of(run), time=planned)
    if run.state is not RunState.DONE:
        return f"{name}: {run_problem(run)}"
    numbers = shown_numbers(run)
    if format_rate(numbers.tps) == NOTHING:
        return tr("{run} has ended.").format(run=name)
    return " ".join((tr("{run} has ended.").format(run=name), *_figures(numbers)))


def _end_words(watched: LiveState) -> str:
    if not watched.ended or watched.status is None:
        return ""
    return tr("Campaign {state}.").format(state=campaign_words(watched, None))


LIVE_MS: Final = 1_000
"""A runner writes once a second; polling more often would only load the machine under test."""

REPLAY_MS: Final = 100


class FeedPoller(QObject):
    """Polls one feed until it is stopped.

    Signals:
        watched: a `LiveState`.
        failed: a `FootingError`: nothing could be read; polling continues.
    """

    watched = Signal(object)
    failed = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._feed: LiveSource | None = None
        self._op: BackgroundOp[LiveState] | None = None
        self._again = False
        self._timer = QTimer(self, singleShot=True)
        self._timer.timeout.connect(self.look)

    @property
    def is_running(self) -> bool:
        """Whether polling continues."""
        return self._op is not None or self._timer.isActive()

    def start(self, feed: LiveSource, interval_ms: int) -> None:
        """Poll this feed from now on, first at once."""
        self.stop()
        self._feed = feed
        self._timer.setInterval(interval_ms)
        self.look()

    def stop(self) -> None:
        """Stop polling; the result of a pending poll is dropped."""
        self._timer.stop()
        self._again = False
        self._feed = None
        if self._op is not None:
            self._op.cancel()
            self._op = None

    def look(self) -> None:
        """Poll now, or as soon as the pending poll has ended."""
        self._timer.stop()
        if self._feed is None:
            return
        if self._op is not None:
            self._again = True
            return
        self._op = BackgroundOp(self._feed.poll, self._take, self._fail).start()

    def rest(self) -> None:
        """Pause until the next call of `look`: nothing changes on its own."""
        self._timer.stop()

    def _take(self, watched: LiveState) -> None:
        self._ended_a_look()
        self.watched.emit(watched)

    def _fail(self, error: FootingError) -> None:
        self._ended_a_look()
        self.failed.emit(error)

    def _ended_a_look(self) -> None:
        self._op = None
        if self._again:
            self._again = False
            self.look()
        else:
            self._timer.start()


_ROWS: Final = 7
_LONGEST_LINES: Final = 20_000


def line_text(line: LogLine) -> str:
    """Return a line as shown: time in the run, kind, text."""
    text = " ".join("".join(c if c.isprintable() else " " for c in line.text).split())
    return f"{signed_clock(line.t_ms / 1000):>8}  {line.kind:<20}  {text}"


class LogDrawer(QPlainTextEdit):
    """Follow the newest line while it is visible."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._lines: tuple[LogLine, ...] = ()
        self.setReadOnly(True)
        self.setUndoRedoEnabled(False)
        self.setMaximumBlockCount(_LONGEST_LINES)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setAccessibleName(tr("Run log"))
        self.setPlaceholderText(tr("Nothing has happened yet."))
        self.setTabChangesFocus(True)
        self._apply_theme()
        theme.changed.connect(self._apply_theme)

    def _apply_theme(self) -> None:
        self.setFont(self._theme.fixed_font(0.95))

    def show_lines(self, lines: Sequence[LogLine]) -> None:
        """Show lines; if they only add to the shown ones, the scroll position is kept."""
        fresh = tuple(lines)
        known = len(self._lines)
        if fresh == self._lines:
            return
        bar = self.verticalScrollBar()
        follows = bar.value() >= bar.maximum() - 1
        if known and fresh[:known] == self._lines:
            self.appendPlainText("\n".join(map(line_text, fresh[known:])))
        else:
            self.setPlainText("\n".join(map(line_text, fresh)))
        self._lines = fresh
        if follows:
            bar.setValue(bar.maximum())

    @override
    def sizeHint(self) -> QSize:
        return QSize(400, self.fontMetrics().lineSpacing() * _ROWS + 12)

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(100, self.fontMetrics().lineSpacing() * 3)


METRICS = frozenset(
    metric
    for chart in CHARTS.values()
    for curve in chart.curves
    for metric, _ in curve.parts
    if not metric.startswith(PERCENTILE)
)
"""Metrics that charts may need of earlier runs: read outside of the GUI thread."""


class LivePage(QWidget):
    """Show one campaign, one growing run, or one replay at a time.

    Attributes:
        header: names, and Stop.
        banner: problems.
        phases: progress of the run.
        numbers: the latest ones.
        charts: of the run and earlier ones.
        chart_feed: updates the charts.
        command: the current command.
        log: the drawer.
        queue: queued campaigns; hidden if there are none.
        replay: controls a replay; hidden otherwise.
        poller: polls the feed.
        announcer: for screen readers.
        result: of an ended campaign, instead of its charts; None before.

    Signals:
        finished: folder of a campaign that has just ended.
        stop_requested: the chosen `Request`; the page itself sends it to the runner.
        runs_wanted: folder of an ended campaign, to show its runs.
        go_on_wanted: folder of an ended campaign, to measure its missing runs.
        again_wanted: folder of an ended campaign, to measure it again.
        changes_wanted: folder of an ended campaign, to measure it again with changes.
    """

    finished = Signal(Path)
    stop_requested = Signal(object)
    runs_wanted = Signal(Path)
    go_on_wanted = Signal(Path)
    again_wanted = Signal(Path)
    changes_wanted = Signal(Path)

    def __init__(
        self, theme: Theme, settings: QSettings | None = None, parent: QWidget | None = None
    ) -> None:
        """Create an empty page.

        Args:
            theme: colours and fonts.
            settings: to remember charts and drawer; None to not remember them.
            parent: Qt's.
        """
        super().__init__(parent)
        self._theme = theme
        self._settings = settings
        self._folder: Path | None = None
        self._request: Request | None = None
        self._watched = LiveState()
        self._announced_end = False
        self._problem = ""
        self._dialog: StopDialog | None = None
        self._talk: TalkWindow | None = None
        self.header = Header(theme, self)
        self.banner = Banner(theme, self)
        self.phases = PhaseBar(theme, self)
        self.numbers = BigNumbers(theme, self)
        self.charts = ChartStack(theme, self)
        self.result: QWidget | None = None
        self.middle = QStackedWidget(self)
        self.charts_button = QPushButton(tr("C&harts"), self)
        self.command = ElidedLabel(self, Qt.TextElideMode.ElideMiddle)
        self.log_button = QPushButton(tr("&Log"), self)
        self.log = LogDrawer(theme, self)
        self.replay = ReplayBar(theme, self)
        self.poller = FeedPoller(self)
        self.chart_feed = ChartFeed(self.charts)
        self.announcer = Announcer(self._announce)
        self._lay_out()
        self._connect()
        self._restore()

    def _lay_out(self) -> None:
        foot = fill(QHBoxLayout(), (self.command, 1), self.charts_button, self.log_button, spacing=SMALL)
        layout = fill(
            QVBoxLayout(self),
            self.header,
            self.banner,
            self.phases,
            self.numbers,
            spacing=SMALL,
            margins=(MEDIUM, SMALL),
        )
        self.middle.addWidget(self.charts)
        layout.addWidget(self.middle, 1)
        layout.addWidget(self.replay)
        layout.addLayout(foot)
        layout.addWidget(self.log)
        self.replay.hide()
        self.command.setFont(self._theme.fixed_font(0.95))
        self.command.setAccessibleName(titled(tr("commands")))
        self.charts_button.setCheckable(True)
        self.charts_button.hide()
        self.log_button.setCheckable(True)

    def _connect(self) -> None:
        self.poller.watched.connect(self._on_watched)
        self.poller.failed.connect(self._on_failed)
        self.header.stop.clicked.connect(self.ask_to_stop)
        self.header.runs.clicked.connect(lambda: self._pass_on(self.runs_wanted))
        self.header.go_on.clicked.connect(lambda: self._pass_on(self.go_on_wanted))
        self.header.again.as_it_was.triggered.connect(lambda: self._pass_on(self.again_wanted))
        self.header.again.with_changes.triggered.connect(lambda: self._pass_on(self.changes_wanted))
        self.header.talk.clicked.connect(self.talk)
        self.replay.steered.connect(self.poller.look)
        self.charts_button.toggled.connect(self._on_charts)
        self.log_button.toggled.connect(self._on_log_toggled)
        self.charts.charts_changed.connect(lambda ids: self._remember("live/charts", list(ids)))
        full = QShortcut(QKeySequence("F11"), self)
        full.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        full.activated.connect(self.talk)

    # Content

    def set_campaign(self, folder: Path) -> None:
        """Show a running or ended campaign from now on."""
        self._begin(folder)
        self.replay.hide()
        self.header.clear(folder.name, awaited_words(self._watched))
        self.charts.set_awaited(awaited_words(self._watched))
        self.poller.start(CampaignFollower(folder, METRICS), LIVE_MS)

    def set_source(self, source: RunSource) -> None:
        """Show a single run from now on: a replay, or a growing run file."""
        self._begin(None)
        self.header.clear("", "")
        self.charts.set_awaited(tr("Reading the run …"))
        is_replay = isinstance(source, ReplaySource)
        self.replay.setVisible(is_replay)
        if isinstance(source, ReplaySource):
            self.replay.steer(source)
        self.poller.start(SingleRun(source), REPLAY_MS if is_replay else LIVE_MS)

    def add_problem(self, sentence: str) -> None:
        """Show the runner's message about a failed run, in addition to the run file's."""
        self._problem = sentence
        if self.isVisible():
            self._show()

    def show_result(self, result: QWidget) -> None:
        """Show the result of an ended campaign instead of the last second of its last run."""
        self._forget_result()
        self.result = result
        self.middle.addWidget(result)
        self.charts_button.setChecked(False)
        self._show_middle()
        self._show()

    def _forget_result(self) -> None:
        if self.result is not None:
            self.middle.removeWidget(self.result)
            self.result.deleteLater()
            self.result = None
        self._show_middle()

    def _show_middle(self) -> None:
        """Show the result, or the charts if there is none or the user chose them."""
        result = None if self.charts_button.isChecked() else self.result
        self.middle.setCurrentWidget(self.charts if result is None else result)
        self.charts_button.setVisible(self.result is not None)
        for of_a_run in (self.phases, self.numbers):
            of_a_run.setVisible(result is None)

    def _on_charts(self) -> None:
        self._show_middle()
        self._show()  # the header shows the last run, or the campaign

    def stop(self) -> None:
        """Stop polling, as when the window closes; the runner continues."""
        self.poller.stop()
        if self._talk is not None:
            self._talk.close()

    @property
    def folder(self) -> Path | None:
        """Folder of the shown campaign; None for a single run."""
        return self._folder

    @property
    def watched(self) -> LiveState:
        """The latest state."""
        return self._watched

    def _begin(self, folder: Path | None) -> None:
        self.poller.stop()
        self._folder, self._request, self._watched, self._announced_end = folder, None, LiveState(), False
        self._problem = ""
        self.charts_button.setChecked(False)
        self._forget_result()
        self.chart_feed.clear()
        self.numbers.clear()
        self.phases.clear()
        self.banner.show_sentences("")
        self.command.show_line("")
        self.log.show_lines(())

    def _on_watched(self, watched: LiveState) -> None:
        self._watched = watched
        if watched.ended:
            self.poller.rest()
            self._close_dialog()
        if self.isVisible() or self._talk is not None:
            self._show()
        if is_listened_to() and (self.isVisible() or watched.ended):
            self.announcer.follow(watched)
        if watched.ended and self._folder is not None and not self._announced_end:
            self._announced_end = True
            self.finished.emit(self._folder)

    def _announce(self, sentence: str) -> None:
        """Let a screen reader say it, and update the accessible text of the charts."""
        announce(self, sentence)
        announce_change(self.charts)

    def _on_failed(self, error: FootingError) -> None:
        """Report that nothing could be read; polling continues."""
        self.banner.show_sentences(" ".join(part for part in (error.message, error.hint) if part))

    def _show(self) -> None:
        watched, source = self._watched, self.replay.source if self.replay.isVisibleTo(self) else None
        is_whole = self.middle.currentWidget() is not self.charts
        self.header.show_watched(watched, self._request, replay=source is not None, whole=is_whole)
        self.banner.show_sentences(self._banner_text(watched))
        if source is not None:
            self.replay.follow()
            if source.paused:
                self.poller.rest()
        run = watched.run
        if run is None:
            self.charts.set_awaited(awaited_words(watched))
            return
        self.chart_feed.show(watched)
        self.numbers.set_colour(self.chart_feed.colour)
        self.numbers.show_run(run)
        self.phases.show_run(run, usual_lengths(each.data for each in watched.earlier))
        self.command.show_line(run.command)
        if self.log.isVisibleTo(self):
            self.log.show_lines(run.log)
        if self._talk is not None:
            self._talk.show_watched(watched)

    def _banner_text(self, watched: LiveState) -> str:
        if watched.ended and self._request is Request.DISCARD:
            return tr("The run was discarded, as you asked.")
        return join_problems(banner_text(watched), self._problem)

    # Stopping

    def ask_to_stop(self) -> None:
        """Ask how the campaign should stop; no effect if none runs."""
        status = self._watched.status
        if self._folder is None or status is None or self._watched.ended or self._dialog is not None:
            return
        self._dialog = ask_how_to_stop(self, self._theme, status.name, self.request_stop)
        self._dialog.destroyed.connect(self._forget_dialog)

    def request_stop(self, request: Request) -> None:
        """Send a request to the runner; a refusal is shown."""
        folder = self._folder
        if folder is None:
            return
        self.stop_requested.emit(request)

        def accepted(_none: None) -> None:
            if self._folder == folder:
                self._request = request
                self._show()

        BackgroundOp(lambda: send_request(folder, request), accepted, self._on_failed).start()

    def _close_dialog(self) -> None:
        if self._dialog is not None:
            self._dialog.close()

    def _forget_dialog(self) -> None:
        self._dialog = None

    # Charts, talk mode, log, settings

    def choose_charts(self) -> None:
        """Let the user choose and order the charts and their lines."""
        open_chart_window(self.charts)

    def talk(self) -> None:
        """Show the run on the full screen, with large type."""
        if self._talk is None and self._watched.run is not None:
            source = self.replay.source if self.replay.isVisibleTo(self) else None
            self._talk = TalkWindow(self._theme.scheme, source)
            self._talk.steered.connect(self.poller.look)
            self._talk.closed.connect(self._forget_talk)
            self._talk.show_watched(self._watched)
            self._talk.showFullScreen()

    def talk_when_there(self) -> None:
        """Show the run on the full screen as soon as there is data."""
        self.poller.watched.connect(lambda _watched: self.talk(), Qt.ConnectionType.SingleShotConnection)

    def _forget_talk(self) -> None:
        self._talk = None

    def _pass_on(self, signal: SignalInstance) -> None:
        if self._folder is not None:
            signal.emit(self._folder)

    def _on_log_toggled(self, shown: bool) -> None:  # noqa: FBT001 - the signal's signature
        self.log.setVisible(shown)
        if shown and self._watched.run is not None:
            self.log.show_lines(self._watched.run.log)
        self._remember("live/log", shown)

    def _restore(self) -> None:
        shown, charts = False, list(DEFAULT_CHARTS)
        if self._settings is not None:
            shown = str(self._settings.value("live/log", "false")).lower() == "true"
            stored = self._settings.value("live/charts")
            names = [stored] if isinstance(stored, str) else stored
            if isinstance(names, list):
                charts = [name for name in names if name in CHARTS] or charts
        self.log.setVisible(shown)
        self.log_button.setChecked(shown)
        self.charts.set_charts(charts)

    def _remember(self, key: str, value: object) -> None:
        if self._settings is not None:
            self._settings.setValue(key, value)

    @override
    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._watched.run is not None or self._watched.status is not None:
            self._show()

    @override
    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        source = self.replay.source
        if source is not None and self._talk is None and not source.at_end:
            source.pause()  # an invisible replay pauses
