"""The pages of a campaign, from the wizard to the result, and of a replay; created when first needed.

Also the dialogs on closing the window during a campaign, and on resuming a campaign that loads foreign
servers, whose names are typed each time. Never blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QObject, QSettings, Qt, QTimer, Signal, SignalInstance
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFrame,
    QMessageBox,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from app.domain.errors import FootingError
from app.domain.text import quoted, tr
from app.draft.servers import agreed_names, contact_words, server_confirmations
from app.execution.control import Request, send_request
from app.library.entries import why_not_writable
from app.preferences import read_preferences
from ui.background import BackgroundOp
from ui.theme import MEDIUM, Theme
from ui.widgets.layouts import fill
from ui.widgets.tab_order import set_reading_tab_order
from ui.widgets.texts import Text, one_line
from ui.window.campaigns.live_campaigns import CampaignStarter
from ui.window.commands.deferred import load_replay, look_at_servers, read_begun, servers_of_begun
from ui.window.commands.tools import ShownRuns
from ui.wizard.editors.confirmations import ConfirmServers

if TYPE_CHECKING:
    from app.domain.campaign.configuration import Campaign
    from app.draft.draft import CampaignDraft
    from app.draft.fields.state import DraftParts
    from app.execution.servers import OpenServer
    from app.live.campaign_follower import CampaignStatus
    from app.live.snapshot import ReplaySource
    from ui.compare.result import CampaignResult
    from ui.live.page import LivePage
    from ui.wizard.wizard import Wizard


Role = QMessageBox.ButtonRole

_MOST_OF_BUTTONS: Final = 760
"""Total width in pixels; a message box of Qt is at most 800 wide on a screen of 1280."""


def ask_runner(
    folder: Path, request: Request, notify: Callable[[str], None], done: Callable[[], None] = lambda: None
) -> None:
    """Send a request to a campaign's runner in the background; show a refusal."""

    def refused(error: FootingError) -> None:
        notify(error.message)

    BackgroundOp(lambda: send_request(folder, request), lambda _none: done(), refused).start()


def _box(parent: QWidget, title: str, text: str, more: str) -> QMessageBox:
    box = QMessageBox(QMessageBox.Icon.Question, title, text, QMessageBox.StandardButton.NoButton, parent)
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setInformativeText(more)
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    return box


def _stack_where_large(box: QMessageBox) -> None:
    """Stack the buttons vertically if Qt would cut their text because of large type."""
    buttons = box.findChild(QDialogButtonBox)
    if buttons is not None and buttons.sizeHint().width() > _MOST_OF_BUTTONS:
        buttons.setOrientation(Qt.Orientation.Vertical)


def ask_whether_it_goes_on(
    parent: QWidget, name: str, go_on: Callable[[], None], stop: Callable[[], None]
) -> QMessageBox:
    """Ask what to do with a running campaign when the window closes.

    Args:
        parent: the window.
        name: of the campaign.
        go_on: closes the window.
        stop: stops the campaign and closes the window.
    """
    box = _box(
        parent,
        tr("Close the window"),
        tr("“{name}” is still being measured.").format(name=one_line(name)),
        tr("The campaign continues without this window. pgFooting shows it again at the next start."),
    )
    return _ask_whether_to_leave(box, tr("&Stop and keep the data"), go_on, stop)


def ask_whether_it_waits(
    parent: QWidget, words: str, close: Callable[[], None], stop: Callable[[], None]
) -> QMessageBox:
    """Ask what to do with a campaign that waits for another user's when the window closes.

    Args:
        parent: the window.
        words: the waiting campaign, and what it waits for.
        close: closes the window.
        stop: ends the waiting.
    """
    box = _box(
        parent,
        tr("Close the window"),
        words,
        tr("The campaign keeps waiting when this window is closed, but nothing on the screen shows it."),
    )

    def stop_and_close() -> None:
        stop()
        close()

    return _ask_whether_to_leave(box, tr("&Stop waiting"), close, stop_and_close)


def _ask_whether_to_leave(
    box: QMessageBox, ending: str, go_on: Callable[[], None], stop: Callable[[], None]
) -> QMessageBox:
    leave = box.addButton(tr("Close, keep it runnin&g"), Role.AcceptRole)
    end = box.addButton(ending, Role.DestructiveRole)
    stay = box.addButton(tr("&Cancel"), Role.RejectRole)
    box.setDefaultButton(leave)
    box.setEscapeButton(stay)

    def clicked(button: QPushButton) -> None:
        if button is leave:
            go_on()
        elif button is end:
            stop()

    box.buttonClicked.connect(clicked)
    _stack_where_large(box)
    box.open()
    return box


_KEEP_MS: Final = 1_000
"""Delay after the last change before a draft is written."""


class CampaignPages(QObject):
    """Wizard, live page and replay page of one window.

    Attributes:
        starter: starts runners.
        wizard: while it is open.
        live_page: of the running or last campaign; None before the first.
        replay_page: of the last replay; None before the first.
        replayed: path of the replayed run; empty before the first.
        load_consent: asks for consent to load foreign servers; None before the first question.

    Signals:
        page_made: a new page for the window's stack.
        page_wanted: a page to show.
        begun: folder of a campaign that this window started.
        ended: folder of a campaign that was watched to its end.
        runs_wanted: folder of a campaign whose runs are to be shown.
        runs_used: id of a command for the runs of the result.
        result_settled: the result is shown, or the reason why there is none.
        notified: a sentence for the user.
        refused: why nothing can be measured, text and action of a button that helps.
    """

    page_made = Signal(QWidget)
    page_wanted = Signal(QWidget)
    begun = Signal(Path)
    ended = Signal(Path)
    runs_wanted = Signal(Path)
    runs_used = Signal(str)
    result_settled = Signal()
    notified = Signal(str)
    refused = Signal(str, str, object)

    def __init__(self, window: QWidget, theme: Theme, library: Path, settings: QSettings) -> None:
        super().__init__(window)
        self._window = window
        self._theme = theme
        self._settings = settings
        self._library = library
        self.live_page: LivePage | None = None
        self.replay_page: LivePage | None = None
        self.replayed = ""
        self.result: CampaignResult | None = None
        self._folder: Path | None = None
        self.wizard: Wizard | None = None
        self._loading: BackgroundOp[ReplaySource] | None = None
        self._draft: CampaignDraft | None = None
        self._untouched = ""
        self._live: CampaignStatus | None = None
        self._reading: BackgroundOp[Campaign] | None = None
        self._keeping = QTimer(self, singleShot=True, interval=_KEEP_MS)
        self._keeping.timeout.connect(self.keep_draft)
        self.starter = CampaignStarter(library, self)
        self.starter.started.connect(self._on_started)
        self.starter.asking.connect(self.notified)
        self.starter.waits.connect(lambda _sentence: self.notified.emit(""))
        self.starter.failed.connect(self._on_failed)
        for ends in (self.starter.ended, self.starter.failed):
            ends.connect(self._show_running)
        self.starter.run_failed.connect(self._on_run_failed)
        self.load_consent: LoadConsent | None = None

    # The wizard

    def follow_doors(self, here: SignalInstance, disks: SignalInstance) -> None:
        """Open the wizard when the start page asks for it."""
        here.connect(self.open_wizard)
        disks.connect(lambda: self.open_wizard(on_disks=True))

    def open_wizard(self, *, on_disks: bool = False) -> None:
        """Open the wizard; one at a time.

        Args:
            on_disks: tick spare disks, and untick other targets in an unchanged draft.
        """
        from ui.wizard.wizard import Wizard  # noqa: PLC0415 - not needed to show the window

        if self.wizard is not None:
            self.wizard.activateWindow()
            return
        if reason := why_not_writable(self._library):  # said before a person fills in all the pages
            hint = tr("Choose another library folder in the preferences; it takes effect after a restart.")
            self.refused.emit(f"{reason} {hint}", tr("Pre&ferences …"), self._show_preferences)
            return
        self._fill_in(on_disks=on_disks)
        self.wizard = Wizard(
            self._theme, self._draft, self._window, settings=self._settings, library=self._library
        )
        self._show_running()
        self.wizard.accepted_campaign.connect(self._on_accepted)
        self.wizard.draft_changed.connect(self._keeping.start)
        self.wizard.finished.connect(self._forget_wizard)
        self.wizard.open()

    def _fill_in(self, *, on_disks: bool) -> None:
        """Create a draft unless a changed one exists; tick spare disks if requested."""
        from app.draft.draft import CampaignDraft  # noqa: PLC0415 - not needed to show the window
        from app.draft.from_campaign import first_parts, tick_disks  # noqa: PLC0415 - likewise

        if self._draft is None or repr(self._draft.parts) == self._untouched:
            environment = None if self._draft is None else self._draft.environment
            parts = first_parts(read_preferences()[0].repeats, on_disks=on_disks)
            self._draft = CampaignDraft(parts, environment)
            self._untouched = repr(parts)
        elif on_disks:
            tick_disks(self._draft.parts)

    def _show_preferences(self) -> None:
        from ui.window.commands.preferences_dialog import PreferencesDialog  # noqa: PLC0415 - first used

        dialog = PreferencesDialog(self._theme, self._library, self._window)
        dialog.notified.connect(self.notified)
        dialog.open()

    def open_wizard_with(self, campaign: Campaign) -> None:
        """Open the wizard with the fields of a campaign, replacing the draft."""
        from app.draft.draft import CampaignDraft  # noqa: PLC0415 - not needed to show the window

        if self.wizard is None:
            environment = None if self._draft is None else self._draft.environment
            try:
                self._draft = CampaignDraft.of(campaign, environment)
            except FootingError as error:
                self._on_failed(error.message, error.hint)
                return
        self.open_wizard()

    def open_wizard_with_kept(self, parts: DraftParts) -> None:
        """Open the wizard with the draft from before the window was closed."""
        from app.draft.draft import CampaignDraft  # noqa: PLC0415 - not needed to show the window

        if self.wizard is None and self._draft is None:
            self._draft = CampaignDraft(parts)
        self.open_wizard()

    def keep_draft(self) -> None:
        """Write the draft, so that it survives the window: a few kilobytes."""
        from app.draft.from_campaign import draft_text, keep_draft  # noqa: PLC0415 - not needed to show the window

        self._keeping.stop()
        draft = self.wizard.draft if self.wizard is not None else self._draft
        if draft is not None:
            keep_draft(draft_text(draft.parts))

    def _forget_kept(self) -> None:
        """Delete the stored draft: its campaign was started."""
        from app.draft.from_campaign import forget_draft  # noqa: PLC0415 - not needed to show the window

        self._keeping.stop()
        forget_draft()

    def _forget_wizard(self) -> None:
        if self.wizard is not None:
            self._draft = self.wizard.draft  # what was filled in is there the next time
            self.wizard.deleteLater()
        self.wizard = None

    # A campaign

    @property
    def running(self) -> str:
        """Name of the current campaign, running or starting; empty for none."""
        if self._live is not None:
            return self._live.name
        return self.starter.name if self.starter.is_busy else ""

    def take_live(self, statuses: tuple[CampaignStatus, ...]) -> None:
        """Show the running campaigns of this user, including those started elsewhere."""
        self._live = statuses[0] if statuses else None
        self._show_running()

    def _show_running(self, *_signals: object) -> None:
        if self.wizard is not None:
            self.wizard.show_running(self.running)

    def _refuses(self) -> bool:
        """Show which campaign is still running; return whether there is one."""
        if self.running:
            self.notified.emit(tr("“{name}” is still being measured.").format(name=one_line(self.running)))
        return bool(self.running)

    def start(self, campaign: Campaign, load: tuple[str, ...] = (), *, wait: bool = False) -> None:
        """Start the runner of a campaign, unless another one is running.

        Args:
            campaign: to measure.
            load: names of the foreign servers that the user agreed to load.
            wait: root's runner waits for the campaign of another user; those of other users always do.
        """
        if not self._refuses():
            self.notified.emit(tr("Starting “{name}” …").format(name=campaign.name))
            self.starter.start(campaign, load, wait=wait)

    def go_on(self, folder: Path) -> None:
        """Resume a campaign, after consent if it loads foreign servers."""
        self._begin(folder, tr("Starting “{name}” …"), self.starter.go_on)

    def again(self, folder: Path) -> None:
        """Repeat a campaign in a new folder, after consent if it loads foreign servers."""
        self._begin(folder, tr("Starting “{name}” …"), self.starter.again)

    def _begin(self, folder: Path, words: str, start: Callable[[Path, tuple[str, ...]], None]) -> None:
        def begin(load: tuple[str, ...]) -> None:
            if not self._refuses():
                self.notified.emit(words.format(name=one_line(folder.name)))
                start(folder, load)

        self._agree(folder, begin)

    def _agree(self, folder: Path, begin: Agreed) -> None:
        """Call `begin` at once if no consent is needed, or after consent."""
        if self._refuses():
            return
        if self.load_consent is None:
            self.load_consent = LoadConsent(self._window, self._theme)
            self.load_consent.failed.connect(self.notified)
        self.load_consent.ask(folder, begin)

    def _on_accepted(self, campaign: Campaign) -> None:
        load = () if self._draft is None else self._draft.agreed_servers()
        wait = self.wizard is not None and self.wizard.waits
        self.start(campaign, load, wait=wait)

    def again_with_changes(self, folder: Path) -> None:
        """Open the wizard with the fields of an earlier campaign."""
        self._read(folder, self.open_wizard_with)

    def _read(self, folder: Path, use: Callable[[Campaign], None]) -> None:
        work = BackgroundOp(
            lambda: read_begun(folder), use, lambda error: self._on_failed(error.message, error.hint)
        )
        self._reading = work.start()

    def _on_started(self, folder: Path) -> None:
        self._forget_confirmations()
        self._forget_kept()
        self.notified.emit("")
        self.begun.emit(folder)
        self.show_live(folder)

    def _forget_confirmations(self) -> None:
        """Require the typed confirmations again for the next campaign; keep them after a refusal."""
        if self.wizard is not None:
            self.wizard.forget_confirmations()
        elif self._draft is not None:
            self._draft.forget_confirmations()

    def _on_failed(self, message: str, hint: str) -> None:
        self.notified.emit(" ".join(part for part in (message, hint) if part))

    def _on_run_failed(self, folder: Path, problem: str) -> None:
        if self.live_page is not None and self.live_page.folder == folder:
            self.live_page.add_problem(problem)

    def show_live(self, folder: Path) -> None:
        """Show a campaign while it runs."""
        if self.live_page is None:
            self.live_page = self._make_page()
            self.live_page.finished.connect(self._on_finished)
            self.live_page.runs_wanted.connect(self.runs_wanted)
            self.live_page.go_on_wanted.connect(self.go_on)
            self.live_page.again_wanted.connect(self.again)
            self.live_page.changes_wanted.connect(self.again_with_changes)
        if folder != self._folder:
            self._folder = folder
            self.live_page.set_campaign(folder)
        self.page_wanted.emit(self.live_page)

    def _on_finished(self, folder: Path) -> None:
        self._folder = None
        if self._live is not None and self._live.folder == folder:
            self.take_live(())
        self._show_result(folder)
        self.ended.emit(folder)

    def _show_result(self, folder: Path) -> None:
        """Show the result of a campaign on the live page; nothing if no run started."""
        from ui.compare.result import CampaignResult  # noqa: PLC0415 - not needed to show the window
        from ui.live.chart_feed import colours_of  # noqa: PLC0415 - as above

        page = self.live_page
        if page is None or page.watched.run is None or page.watched.status is None:
            return
        self.result = CampaignResult(self._theme)
        self.result.wanted.connect(self.runs_used)
        self.result.settled.connect(self.result_settled)
        self.result.show_campaign(folder, colours_of(page.watched), self._library)
        page.show_result(self.result)

    def shown_by(self, page: QWidget | None) -> ShownRuns | None:
        """Return the runs of the result on the live page; None for another page."""
        if page is None or page is not self.live_page:
            return None
        if self.result is None or self.live_page.result is not self.result:
            return ShownRuns()
        return ShownRuns(self.result.listed, self.result.colours)

    def waiting_words(self) -> str:
        """Return which campaign waits, and for what; empty for none."""
        sentence, name = self.starter.waiting, one_line(self.starter.name)
        return f"{quoted(name)}: {sentence}" if sentence else ""

    def ask_to_stop(self, statuses: tuple[CampaignStatus, ...]) -> None:
        """End the waiting, or ask how to stop the running campaign, and send that to its runner."""
        if self.starter.waiting:
            self.starter.stop_waiting()
            return
        from ui.live.header import ask_how_to_stop  # noqa: PLC0415 - as above

        if statuses:
            status = statuses[0]
            ask_how_to_stop(
                self._window,
                self._theme,
                status.name,
                lambda request: ask_runner(status.folder, request, self.notified.emit),
            )

    # Replay

    def replay(self, path: str, speed: float = 1.0, *, talk: bool = False) -> None:
        """Replay a run as if it were live, optionally in talk mode."""
        if path:

            def show(source: ReplaySource) -> None:
                self.replayed = path
                self._show_replay(source, talk=talk)

            self._loading = BackgroundOp(
                lambda: load_replay(Path(path), speed), show, self._on_no_replay
            ).start()

    def _show_replay(self, source: ReplaySource, *, talk: bool) -> None:
        if self.replay_page is None:
            self.replay_page = self._make_page()
        self.replay_page.set_source(source)
        self.page_wanted.emit(self.replay_page)
        if talk:
            self.replay_page.talk_when_there()

    def _on_no_replay(self, error: FootingError) -> None:
        self.notified.emit(error.message)

    def _make_page(self) -> LivePage:
        from ui.live.page import LivePage  # noqa: PLC0415 - see above

        page = LivePage(self._theme, self._settings)
        self.page_made.emit(page)
        return page

    def stop(self) -> None:
        """Stop all background work."""
        for work in (self._loading, self._reading):
            if work is not None:
                work.cancel()
        if self.result is not None:
            self.result.stop()
        if self._keeping.isActive():
            self.keep_draft()
        if self.load_consent is not None:
            self.load_consent.stop()
        self.starter.stop()
        for page in (self.live_page, self.replay_page):
            if page is not None:
                page.stop()


_SIZE: Final = (720, 520)

Agreed = Callable[[tuple[str, ...]], None]
"""Called with the typed names; empty if a campaign loads no foreign servers."""


class LoadDialog(QDialog):
    """Dialog that shows the servers of a campaign, inspects them and asks for consent; deleted on close.

    The folder of a campaign may come from someone else, and libpq sends the password it finds to the server:
    nothing is connected before the user has seen the name.

    Attributes:
        servers: the findings, and the fields for the names.
        connect_: starts the inspection.
        load: starts the campaign; enabled once every name was typed.
        summary: current activity or error.

    Signals:
        agreed: the typed names.
    """

    agreed = Signal(object)

    def __init__(self, theme: Theme, servers: Mapping[str, str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        set_reading_tab_order(self)
        self.setWindowTitle(tr("Put servers under load"))
        self.setWindowModality(Qt.WindowModality.WindowModal)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._servers = servers
        self.summary = Text(theme, contact_words(servers))
        self.servers = ConfirmServers(theme)
        self.servers.typed.connect(self._on_typed)
        self.connect_ = QPushButton(tr("C&onnect"))
        self.connect_.setDefault(True)
        self.connect_.clicked.connect(self._look)
        self.load = QPushButton(tr("&Load and measure"))
        self.load.setEnabled(False)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        buttons.addButton(self.connect_, QDialogButtonBox.ButtonRole.ActionRole)
        buttons.addButton(self.load, QDialogButtonBox.ButtonRole.AcceptRole)
        buttons.accepted.connect(self._on_accepted)
        buttons.rejected.connect(self.reject)
        layout = fill(QVBoxLayout(self), self.summary, spacing=MEDIUM)
        area = QScrollArea(widgetResizable=True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setWidget(self.servers)
        layout.addWidget(area, 1)
        layout.addWidget(buttons)
        self.resize(*_SIZE)
        self._typed: dict[str, str] = {}
        self._found: tuple[tuple[str, OpenServer], ...] = ()
        self._op: BackgroundOp[tuple[tuple[str, OpenServer], ...]] | None = None
        self.finished.connect(self._stop)

    def _stop(self) -> None:
        if self._op is not None:
            self._op.cancel()

    def _look(self) -> None:
        self.connect_.setEnabled(False)
        self.summary.setText(tr("Checking the servers and other sessions on them …"))
        servers = self._servers
        self._op = BackgroundOp(lambda: look_at_servers(servers), self._take, self._fail).start()

    def _take(self, found: tuple[tuple[str, OpenServer], ...]) -> None:
        self._found = found
        self.connect_.hide()
        self.load.setDefault(True)
        self.summary.setText(tr("Servers that will be put under load"))
        self._show()
        next(iter(self.servers.fields.values())).setFocus()

    def _fail(self, error: FootingError) -> None:
        self.connect_.setEnabled(True)
        self.summary.setText(f"{error.message} {error.hint}".strip())

    def _on_typed(self, connection: str, typed: str) -> None:
        self._typed[connection] = typed
        self._show()

    def _show(self) -> None:
        confirmations = server_confirmations(self._typed, self._found)
        self.servers.show_servers(confirmations)
        self.load.setEnabled(all(each.matches for each in confirmations))

    def _on_accepted(self) -> None:
        self.agreed.emit(agreed_names(server_confirmations(self._typed, self._found)))
        self.accept()


class LoadConsent(QObject):
    """Asks for consent to load foreign servers when an earlier campaign is started again.

    Attributes:
        dialog: while it is open.

    Signals:
        failed: why a campaign cannot be read.
    """

    failed = Signal(str)

    def __init__(self, window: QWidget, theme: Theme) -> None:
        super().__init__(window)
        self._window = window
        self._theme = theme
        self._reading: BackgroundOp[Mapping[str, str]] | None = None
        self.dialog: LoadDialog | None = None

    def ask(self, folder: Path, agreed: Agreed) -> None:
        """Call `agreed` at once if the campaign loads no servers, else after the names were typed.

        Only one question is open at a time.
        """
        if self._reading is not None:
            return
        if self.dialog is not None:
            self.dialog.activateWindow()
            return

        def take(servers: Mapping[str, str]) -> None:
            self._reading = None
            if servers:
                self._ask(servers, agreed)
            else:
                agreed(())

        def fail(error: FootingError) -> None:
            self._reading = None
            self.failed.emit(f"{error.message} {error.hint}".strip())

        self._reading = BackgroundOp(lambda: servers_of_begun(folder), take, fail).start()

    def _ask(self, servers: Mapping[str, str], agreed: Agreed) -> None:
        self.dialog = LoadDialog(self._theme, servers, self._window)
        self.dialog.agreed.connect(agreed)
        self.dialog.finished.connect(self._forget)
        self.dialog.open()

    def _forget(self) -> None:
        self.dialog = None

    def stop(self) -> None:
        """Close the question."""
        if self._reading is not None:
            self._reading.cancel()
        if self.dialog is not None:
            self.dialog.reject()
