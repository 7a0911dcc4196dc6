"""The main window: its pages and commands, and the connections between them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, QSize, Qt, QTimer
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QMainWindow, QStackedWidget, QVBoxLayout, QWidget
from typing_extensions import override

from app.domain.errors import FootingError
from app.domain.text import quoted, tr
from app.execution.control import Request
from app.library.scan import ListedRun
from ui.background import BackgroundOp
from ui.theme import Theme
from ui.widgets.layouts import fill, screen_room
from ui.widgets.message_bar import Notice
from ui.widgets.texts import one_line, tooltip
from ui.window.campaigns.campaign_pages import (
    CampaignPages,
    ask_runner,
    ask_whether_it_goes_on,
    ask_whether_it_waits,
)
from ui.window.campaigns.live_campaigns import CampaignLine, LiveCampaigns
from ui.window.commands import tools
from ui.window.commands.commands import ToolBar, make_actions
from ui.window.commands.deferred import (
    find_interrupted,
    find_live_folders,
    forget_kept,
    import_pages,
    import_wizard_parts,
    look_at_machine,
    put_away,
    read_kept,
    sweep,
)
from ui.window.commands.tools import ShownRuns, ToolContext, ToolUser
from ui.window.files.run_actions import RunFileActions, RunOpener, holds_runs, open_folder_of
from ui.window.library.model import MIME_TYPE
from ui.window.library.reader import LibraryReader
from ui.window.pages.runs_page import RunsPage
from ui.window.pages.start_page import StartPage
from ui.window.pages.window_settings import WindowSettings

if TYPE_CHECKING:
    from app.draft.fields.state import DraftEnvironment, DraftParts
    from app.execution.resume.begun import UnfinishedCampaign
    from app.hosts.recovery.cleanup import SweepEvent
    from app.live.campaign_follower import CampaignStatus
    from ui.window.commands.manual_window import HelpWindow

_DEFAULT_SIZE = QSize(1280, 800)


class MainWindow(QMainWindow):
    """Start page, saved runs, live campaign, replay.

    Attributes:
        start_page: shown while the library is empty.
        runs_page: library, charts, facts.
        opener: opens run files from elsewhere.
        campaigns: the pages of live campaign and replay, and the wizard.
        notice: shows errors and unattended changes over the foot of the page.
        campaign_line: the running campaign.
        commands: actions by the id of their `Command`.
        care: renames, tags, deletes and copies run files.
        tools: runs the tools of other packages.
        reader: follows the library.
        live: follows running campaigns.
    """

    def __init__(
        self,
        library: Path,
        theme: Theme,
        settings: WindowSettings,
        find_live: Callable[[], tuple[Path, ...]] = find_live_folders,
    ) -> None:
        super().__init__()
        self._theme = theme
        self._settings = settings
        self._page_chosen = False
        self._may_close = False
        self._help: HelpWindow | None = None
        self._kept: DraftParts | None = None
        self._ops: list[BackgroundOp[Any]] = []
        self.setWindowTitle("pgFooting")
        self.setAcceptDrops(True)
        self.reader = LibraryReader(library, self)
        self.live = LiveCampaigns(find_live, self)
        self.start_page = StartPage(theme)
        self.runs_page = RunsPage(theme)
        self.campaign_line = CampaignLine()
        self._around = QWidget()
        self.setCentralWidget(self._around)
        self.pages = QStackedWidget(self._around)
        self.notice = Notice(theme, self.pages, self._around)
        self.opener = RunOpener(self, settings, library)
        self.campaigns = CampaignPages(self, theme, library, settings.qt)
        self.care = RunFileActions(self, theme, self.runs_page, self.reader, self.notice.show_message)
        self.runs_page.library.folder = library
        self.tools = ToolUser(self, self._tool_context)
        self.commands = make_actions(self, {**self._deeds(), **self.tools.deeds()})
        self._lay_out()
        self._connect()
        self._restore()

    # Making

    def _deeds(self) -> dict[str, Callable[[], None]]:
        """Return the function of each command."""
        page = self.runs_page
        return {
            "new": self.campaigns.open_wizard,
            "open": self.opener.choose_files,
            "charts": self._choose_charts,
            "replay": lambda: self.campaigns.replay(page.focus),
            "runs": self.show_runs,
            "live": self._show_live,
            "start": lambda: self._go(self.start_page),
            "search": self._search,
            "edit": lambda: self.care.edit(page.library.current_paths),
            "library": self._follow_panels,
            "facts": self._follow_panels,
            "panel": page.focus_next_panel,
            "campaign": lambda: page.choose_campaign(page.focus),
            "clear": self._clear,
            "undo": self.care.undo,
            "refresh": self.refresh,
            "example": self.opener.open_example,
            "help": self.show_help,
            "close": self._ask_to_close,
        }

    def _lay_out(self) -> None:
        self.tool_bar = ToolBar(self.commands, self._theme, self)
        self.addToolBar(Qt.ToolBarArea.TopToolBarArea, self.tool_bar)
        self.tool_bar.menu.insertMenu(self.commands["compare"], self.opener.recent)
        for name in self.commands.keys() & {"replay", "race"}:
            self.runs_page.facts.add_button(self.commands[name], of_several=name == "race")
        for page in (self.start_page, self.runs_page):
            self.pages.addWidget(page)
        fill(QVBoxLayout(self._around), (self.pages, 1), self.campaign_line, spacing=0, margins=0)
        self.setMinimumSize(640, 400)

    def _connect(self) -> None:
        start = self.start_page
        self.campaigns.follow_doors(start.new_asked, start.disks_asked)
        start.open_asked.connect(self.opener.choose_files)
        start.example_asked.connect(self.opener.open_example)
        start.look_again_asked.connect(self._look_at_machine)
        start.library_asked.connect(self.show_runs)
        start.waiting.go_on_asked.connect(self._go_on)
        start.waiting.put_away_asked.connect(self._put_away)
        start.waiting.draft_put_away.connect(self._put_draft_away)
        start.waiting.draft_asked.connect(self._open_kept)
        self.runs_page.notified.connect(self.notice.show_message)
        self.runs_page.benchmark_asked.connect(self.campaigns.open_wizard)
        self.runs_page.focus_changed.connect(lambda _path: self._enable_commands())
        self.runs_page.model.chosen_changed.connect(self._enable_commands)
        self.runs_page.library.replay_asked.connect(self.campaigns.replay)
        self.runs_page.library.folder_asked.connect(open_folder_of)
        self.runs_page.library.edit_asked.connect(self.care.edit)
        self.runs_page.charts.note_asked.connect(lambda path, t_s: self.care.edit([path], t_s))
        self.runs_page.library.remove_asked.connect(self.care.remove)
        self.runs_page.library.replaced.connect(self.care.remember_ticks)
        self.runs_page.library.go_on_asked.connect(self.campaigns.go_on)
        self.runs_page.library.again_asked.connect(self.campaigns.again)
        self.runs_page.library.changes_asked.connect(self.campaigns.again_with_changes)
        self.opener.elsewhere.connect(self.care.offer_copy)
        self.reader.read.connect(self._take_runs)
        self.reader.failed.connect(self.notice.show_message)
        self.live.changed.connect(self._take_live)
        self.live.ended.connect(lambda _folder: self.reader.refresh())
        self.campaign_line.show_asked.connect(self.campaigns.show_live)
        self.campaign_line.stop_asked.connect(lambda: self.campaigns.ask_to_stop(self.live.statuses))
        self.campaigns.starter.waits.connect(lambda _sentence: self._show_campaign_line())
        for maker in (self.campaigns, self.tools):
            maker.page_made.connect(self.pages.addWidget)
            maker.page_wanted.connect(self._go)
        for signal in (self.campaigns.notified, self.campaigns.refused, self.opener.notified):
            signal.connect(self.notice.show_message)
        self.opener.opened.connect(self._show_opened)
        self.campaigns.begun.connect(lambda _folder: self.live.look())
        self.campaigns.ended.connect(self._announce_end)
        self.campaigns.runs_wanted.connect(self._show_campaign)
        self.campaigns.runs_used.connect(self.tools.use)
        self.campaigns.result_settled.connect(self._enable_commands)
        self._following = self.pages.currentChanged.connect(self._follow_page)

    def _restore(self) -> None:
        self.resize(_DEFAULT_SIZE.boundedTo(screen_room(self)))
        self.restoreGeometry(self._settings.geometry)
        state = self._settings.runs
        self.runs_page.restore(state)
        self.commands["library"].setChecked(state.library)
        self.commands["facts"].setChecked(state.facts)
        self.pages.setCurrentWidget(self.runs_page if self._settings.had_runs else self.start_page)
        self._follow_page()
        if reason := self.opener.why_no_example():
            self.start_page.show_example(reason)
            self.commands["example"].setEnabled(False)
            self.commands["example"].setToolTip(tooltip(reason))
        self._enable_commands()

    # Work that begins once the window is on the screen

    def begin(self) -> None:
        """Look for runs, campaigns and PostgreSQL, all in the background."""
        self._focus_page()
        self.reader.refresh()
        self.live.look()
        self._look_at_machine()
        steps = import_pages()
        import_next = partial(self._import_next, steps)
        self._do(BackgroundOp(import_wizard_parts, import_next, import_next))
        self._do(
            BackgroundOp(read_kept, self._take_kept, lambda error: self.notice.show_message(error.message))
        )
        self._do(BackgroundOp(sweep, self._take_swept, _ignore))

    def _import_next(self, steps: Iterator[None], _done: object = None) -> None:
        """Take a step, and the next when the events that arrived meanwhile are handled."""
        with suppress(ImportError, StopIteration):  # a failed import shows up on use
            next(steps)
            QTimer.singleShot(0, self, lambda: self._import_next(steps))

    def refresh(self) -> None:
        """Look again at everything."""
        self.reader.refresh()
        self.live.look()
        self._look_at_machine()
        self._look_for_waiting()

    def _look_at_machine(self) -> None:
        show = self.start_page.show_problem
        self._do(BackgroundOp(look_at_machine, self._take_environment, lambda error: show(error.message)))

    def _take_swept(self, swept: tuple[SweepEvent, ...]) -> None:
        """Look for interrupted campaigns after the files of dead runners were finished."""
        if swept:
            self.reader.refresh()
        self._look_for_waiting()

    def _look_for_waiting(self) -> None:
        library = self.reader.library
        self._do(BackgroundOp(lambda: find_interrupted(library), self._take_waiting, _ignore))

    def _take_waiting(self, found: tuple[UnfinishedCampaign, ...]) -> None:
        """Offer to resume interrupted campaigns."""
        self.start_page.waiting.show_waiting(found)
        if found and self.pages.currentWidget() is not self.start_page and not self.notice.isVisible():
            folder = found[0].folder
            self.notice.show_message(one_line(found[0].sentence), tr("Re&sume"), lambda: self._go_on(folder))

    def _take_kept(self, parts: DraftParts | None) -> None:
        """Offer the draft from before the window was closed."""
        self._kept = parts
        if parts is None:
            return
        name = parts.values["name"].strip()
        sentence = tr("You have an unfinished benchmark setup")
        sentence += f": {quoted(name)}." if name else "."
        self.start_page.waiting.show_draft(sentence)
        if self.pages.currentWidget() is not self.start_page and not self.notice.isVisible():
            self.notice.show_message(one_line(sentence), tr("Continue ed&iting …"), self._open_kept)

    def _open_kept(self) -> None:
        kept, self._kept = self._kept, None
        self.start_page.waiting.show_draft("")
        if kept is not None:
            self.campaigns.open_wizard_with_kept(kept)

    def _put_draft_away(self) -> None:
        self._kept = None
        self.start_page.waiting.show_draft("")
        self._do(BackgroundOp(forget_kept, lambda _none: None, _ignore))

    def _go_on(self, folder: Path) -> None:
        self.start_page.waiting.show_waiting(())
        self.campaigns.go_on(folder)

    def _put_away(self, folder: Path) -> None:
        self._do(BackgroundOp(lambda: put_away(folder), lambda _none: self._look_for_waiting(), _ignore))

    def _do(self, op: BackgroundOp[Any]) -> None:
        """Start background work that is cancelled when the window closes."""
        self._ops = [*self._ops[-3:], op.start()]

    def _take_environment(self, environment: DraftEnvironment) -> None:
        self.start_page.show_environment(environment)

    def _take_runs(self, runs: list[ListedRun], complete: bool) -> None:  # noqa: FBT001 - a signal's argument
        self.runs_page.show_runs(runs, complete=complete)
        self.start_page.show_library_size(len(runs))
        if complete:
            self._settings.had_runs = bool(runs)
        if not self._page_chosen and (complete or runs):
            page = self.runs_page if runs else self.start_page
            if self.pages.currentWidget() is not page:
                self.pages.setCurrentWidget(page)
                self._focus_page()
        self._enable_commands()

    def _take_live(self, statuses: tuple[CampaignStatus, ...]) -> None:
        self.campaigns.take_live(statuses)
        # Only what ran before the window: a campaign that begins later tears nobody away from a page. All
        # campaigns of root share one place, whatever session and library they are of.
        library = self.reader.library.resolve()
        own = [each.folder for each in statuses if each.folder.resolve().is_relative_to(library)]
        if own and not self._page_chosen and not self.live.has_looked:
            self.campaigns.show_live(own[0])
        self._show_campaign_line()
        self._enable_commands()

    def _show_campaign_line(self) -> None:
        statuses = self.live.statuses
        self.campaign_line.show_campaigns(statuses, self.campaigns.waiting_words())
        share = f"{100 * statuses[0].share(time.time()):.0f} % \N{MIDDLE DOT} " if statuses else ""
        self.setWindowTitle(f"{share}pgFooting")
        self._update_line()

    # Pages

    def show_runs(self) -> None:
        """Show library and charts."""
        self._go(self.runs_page)

    def _go(self, page: QWidget) -> None:
        self._page_chosen = True
        self.pages.setCurrentWidget(page)
        self._focus_page()
        self._enable_commands()

    def _focus_page(self) -> None:
        if (page := self.pages.currentWidget()) is not None:
            page.setFocus()

    def _clear(self) -> None:
        self.care.remember_ticks()
        self.runs_page.model.choose(())

    def _choose_charts(self) -> None:
        """Let the user choose the charts of the current page."""
        live = [page for page in (self.campaigns.live_page, self.campaigns.replay_page) if page is not None]
        shown = [page for page in live if page is self.pages.currentWidget()]
        if shown:
            shown[0].choose_charts()
        else:
            self.runs_page.choose_charts()

    def _show_live(self) -> None:
        if self.live.statuses:
            self.campaigns.show_live(self.live.statuses[0].folder)
        elif self.campaigns.live_page is not None:
            self._go(self.campaigns.live_page)

    def _search(self) -> None:
        self.show_runs()
        self.commands["library"].setChecked(True)
        self._follow_panels()
        self.runs_page.library.enter_search()

    def _show_campaign(self, folder: Path) -> None:
        """Show the runs of a campaign once the library has them."""
        self.runs_page.choose_folder(str(folder))
        self.reader.refresh()
        self.show_runs()

    def _announce_end(self, folder: Path) -> None:
        self.reader.refresh()
        if self.pages.currentWidget() is self.campaigns.live_page:
            return  # it says so itself
        sentence = tr("The campaign has ended; its runs are in the library.")
        self.notice.show_message(sentence, tr("S&how the runs"), lambda: self._show_campaign(folder))

    def _follow_page(self) -> None:
        page = self.pages.currentWidget()
        self.notice.hide()  # it belongs to the page before
        if page is self.start_page:  # it has the same choices, with the same mnemonics
            wanted: tuple[str, ...] = ()
        elif page is self.runs_page:
            wanted = ("new", "open", "compare", "report", "charts")
        elif page in {self.campaigns.live_page, self.campaigns.replay_page}:
            wanted = ("new", "open", "runs", "charts")
        else:  # of a tool: it works with the ticked runs and has ways of its own
            wanted = ("new", "open", "race", "report")
        self.tool_bar.show_commands(wanted)
        self._update_line()
        self._enable_commands()

    def _show_opened(self, files: list[Path]) -> None:
        self.runs_page.choose(map(str, files))
        self.reader.add_files(files)
        self.show_runs()

    def _update_line(self) -> None:
        """Show the line, except on the live page, which has its own Stop."""
        shown = self.pages.currentWidget() is self.campaigns.live_page
        waits = bool(self.campaigns.starter.waiting)
        self.campaign_line.setVisible(waits or (bool(self.live.statuses) and not shown))

    def _enable_commands(self) -> None:
        in_library = self.pages.currentWidget() is self.runs_page
        focus, chosen = (
            in_library and bool(self.runs_page.focus),
            in_library and bool(self.runs_page.model.chosen),
        )
        live = bool(self.live.statuses) or self.campaigns.live_page is not None
        states = {
            "replay": focus,
            "edit": focus,
            "campaign": in_library and bool(self.runs_page.model.runs),
            "clear": chosen,
            "live": live,
        }
        shown = self._shown_runs().runs
        states |= {command: len(shown) >= tool.least_runs for command, tool in tools.TOOLS.items()}
        for name, enabled in states.items():
            self.commands[name].setEnabled(enabled)

    def _shown_runs(self) -> ShownRuns:
        """Return the runs for commands: those of the current page only."""
        page, model = self.pages.currentWidget(), self.runs_page.model
        if page is self.runs_page:
            runs = (run for path in model.chosen if (run := model.run(path)) is not None)
            return ShownRuns(tuple(runs), model.chosen) if self.runs_page.is_ready else ShownRuns()
        if page is not None and page is self.campaigns.replay_page:
            run = model.run(self.campaigns.replayed)
            return ShownRuns((run,), {run.entry.path: 0}) if run is not None else ShownRuns()
        return self.campaigns.shown_by(page) or self.tools.shown_by(page)

    def _tool_context(self, page: QWidget | None, show_page: Callable[[QWidget], None]) -> ToolContext:
        shown, is_library = self._shown_runs(), self.pages.currentWidget() is self.runs_page
        return ToolContext(
            window=self,
            theme=self._theme,
            settings=self._settings.qt,
            library=self.reader.library,
            runs=shown.runs,
            colours=shown.colours,
            focus=self.runs_page.focus if is_library else "",
            page=page,
            show_page=show_page,
            notify=self.notice.show_message,
            open_files=self.opener.open_files,
            refresh=self.reader.refresh,
            ask_campaign=self.campaigns.open_wizard_with,
        )

    def _follow_panels(self) -> None:
        self.runs_page.library.setVisible(self.commands["library"].isChecked())
        self.runs_page.facts.setVisible(self.commands["facts"].isChecked())

    def show_help(self) -> None:
        """Show the help window, or bring it to the front."""
        from ui.window.commands.manual_window import HelpWindow  # noqa: PLC0415 - not needed to show the window

        if self._help is None:
            self._help = HelpWindow(self._theme, self)
            self._help.destroyed.connect(self._forget_help)
        self._help.show()
        self._help.activateWindow()

    def _forget_help(self) -> None:
        self._help = None

    # Opening

    def open_files(self, paths: Iterable[Path]) -> None:
        """List and show run files from anywhere; a folder means the run files in it."""
        self.opener.open_files(paths)

    @override
    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if event.mimeData().hasUrls() and not event.mimeData().hasFormat(MIME_TYPE):  # not our own rows
            event.acceptProposedAction()

    @override
    def dropEvent(self, event: QDropEvent) -> None:
        """Show dropped run files; pass other files to the import."""
        paths = [Path(url.toLocalFile()) for url in event.mimeData().urls() if url.isLocalFile()]
        runs = [path for path in paths if holds_runs(path)]
        if runs:
            self.opener.open_files(runs)
        if others := [path for path in paths if path not in runs]:
            self.tools.use("import", others)

    # Closing

    @override
    def closeEvent(self, event: QCloseEvent) -> None:
        if self.campaigns.starter.waiting and not self._may_close:
            event.ignore()
            close = self.close_without_question
            ask_whether_it_waits(
                self, self.campaigns.waiting_words(), close, self.campaigns.starter.stop_waiting
            )
            return
        if self.live.statuses and not self._may_close:
            event.ignore()
            status, close = self.live.statuses[0], self.close_without_question
            ask_whether_it_goes_on(
                self,
                status.name,
                close,
                partial(ask_runner, status.folder, Request.STOP, self.notice.show_message, close),
            )
            return
        self._remember()
        QObject.disconnect(self._following)  # what is torn down has no commands to show
        self.reader.stop()
        self.live.stop()
        self.runs_page.stop()
        self.campaigns.stop()
        for op in self._ops:
            op.cancel()
        super().closeEvent(event)

    def _ask_to_close(self) -> None:
        self.close()

    def close_without_question(self) -> None:
        """Close the window; a campaign continues."""
        self._may_close = True
        self.close()

    def _remember(self) -> None:
        self._settings.geometry = self.saveGeometry()
        self._settings.runs = self.runs_page.state()


def _ignore(_error: FootingError) -> None:
    """Ignore: the doctor reports failed cleanup, and failed imports show up on use."""
